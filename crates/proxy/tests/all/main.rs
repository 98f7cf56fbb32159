//! The program `recoup-proxy`: `recoup proxy`, `recoup serve` and `recoup fetch`; and inlets.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `inlet` | how packets come to a stack |
//! | `proxy` | `recoup proxy` |
//! | `serve`, `uploads`, `limits` | `recoup serve` |
//! | `fetch` | `recoup fetch` |
//! | `clients` | real clients through the proxy |
//! | `hosts` | hosts for tests: network namespaces |
//! | `http` | a server of the program, and requests as bytes |

#![cfg(target_os = "linux")]

mod clients;
mod fetch;
mod hosts;
mod http;
mod inlet;
mod limits;
mod proxy;
mod serve;
mod uploads;

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_recoup-proxy");
