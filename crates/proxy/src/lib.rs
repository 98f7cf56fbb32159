//! Recoup's loss recovery before ordinary servers: a proxy, and a small server and client for HTTP, for trials and tests.
//!
//! ```text
//! clients ◄── network ──► inlet: a stack of Recoup's ◄── proxy: both ways, back-pressure ──► server, by the host's sockets
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `program` | the command lines |
//! | `inlet` | how packets for an address and port come to a stack |
//! | `proxy` | `recoup proxy` |
//! | `suggest` | `recoup proxy --suggest`: the command to run, from captures |
//! | `serve` | `recoup serve`: the files of a folder |
//! | `fetch` | `recoup fetch`: gets URLs |
//! | `descriptors` | raises the limit of open descriptors |
//! | `size_limit` | writes beyond the limit of file sizes fail, and do not end the process |

#![cfg(target_os = "linux")]

mod descriptors;
mod fetch;
pub mod inlet;
pub mod program;
mod proxy;
mod serve;
mod size_limit;
mod suggest;
