//! Programs that run in the kernel: what they report, and what they are told. `bpf/` has their source in C and the
//! compiled objects, so that building Recoup needs Rust alone; `bpf/build` compiles them anew.
//!
//! ```text
//! bpf/NAME.bpf.c ─► bpf/NAME.bpf.o ─► load: fits it to the running kernel ◄─► tables and ring buffers ◄─► values with types
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `load` | loads and attaches programs, and says what is missing |
//! | `cgroup` | attaches programs to the sockets of a cgroup |
//! | `connection_key` | a connection as programs name it |
//! | `clock` | the kernel's time since it started, as the time since 1970 |
//! | `retransmissions` | each retransmission of this machine's TCP, and the kernel's reason for it |
//! | `network` | addresses with common leading bits |
//! | `timers` | sets timers of new connections, by the network of the other host |
//! | `sockets` | which connections belong to the sockets of a cgroup |
//! | `duplicate_reports` | hides reports of duplicates that another program of this host sent |
//! | `port_redirect` | takes TCP ports of the host's own addresses, for a stack in a TUN device |

#![cfg(target_os = "linux")]

mod cgroup;
mod clock;
mod connection_key;
mod duplicate_reports;
mod load;
mod network;
mod port_redirect;
mod retransmissions;
mod sockets;
mod timers;
#[cfg(test)]
mod two_hosts;

pub use duplicate_reports::{DuplicateReportCounts, DuplicateReports};
pub use load::KernelError;
pub use network::{Network, NetworkError};
pub use port_redirect::{ConnectionTable, PortRedirect, PortRedirectCounts};
pub use retransmissions::{KernelRetransmission, Reason, Retransmissions};
pub use sockets::{NOTE_COUNTS, Sockets};
pub use timers::{SocketTimers, TimerCounts, Timers, connect_time, jiffy, syn_retries, ticks};
