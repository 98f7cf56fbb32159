//! Inlets in the running kernel: hosts are network namespaces.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `taken` | a port of the host's own address, beside the kernel's server on it |
//! | `paths` | routers, path MTU, routes |
//! | `processes` | several processes with the same port, drain, and a process that is killed |
//! | `others` | inlets without a port of the host |
//! | `cost` | what an inlet costs |

mod cost;
mod others;
mod paths;
mod processes;
mod taken;
