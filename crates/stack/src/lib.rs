//! A TCP/IP stack for programs that carry TCP themselves.
//!
//! | module | contents |
//! | --- | --- |
//! | `config` | settings of a stack, and options of its TCP sockets |
//! | `device` | what carries the packets: the trait, and devices in memory |
//! | `driver` | runs a host over a device on one thread |
//! | `host` | connections over packets, without I/O and without a clock: demultiplexing, timers, checksums, ICMP, the budget of challenge ACKs |
//! | `vnet` | what a device with offloads leaves to its user, and its user to it |

mod config;
pub mod device;
mod driver;
pub mod host;
mod vnet;

pub use config::{Config, TcpOptions};
pub use driver::Driver;
pub use vnet::{LONGEST_SUPER_PACKET, VNET_HEADER_LEN, VnetHeader};
