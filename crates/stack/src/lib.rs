//! A TCP/IP stack for programs that carry TCP themselves.
//!
//! | module | contents |
//! | --- | --- |
//! | `host` | connections over packets, without I/O and without a clock: demultiplexing, timers, checksums, ICMP, the budget of challenge ACKs |
//! | `vnet` | what a device with offloads leaves to its user, and its user to it |

pub mod host;
mod vnet;

pub use vnet::{LONGEST_SUPER_PACKET, VNET_HEADER_LEN, VnetHeader};
