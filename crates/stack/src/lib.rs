//! A TCP/IP stack for programs that carry TCP themselves.
//!
//! | module | contents |
//! | --- | --- |
//! | `stack`, `stream`, `listener`, `datagrams` | sockets, for any runtime or none |
//! | `blocking`, `tokio` | sockets that wait; sockets for tokio |
//! | `shard`, `runner`, `notice` | a host that sockets share, what exchanges its packets, and what happens to it as a whole |
//! | `config` | settings of a stack, and options of its TCP sockets |
//! | `device` | what carries the packets: the trait, and devices in memory |
//! | `driver` | runs a host over a device on one thread |
//! | `host` | TCP, UDP, echoes and raw packets without I/O and without a clock: demultiplexing, timers, checksums, ICMP, fragments, budgets |
//! | `vnet` | what a device with offloads leaves to its user, and its user to it |

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub mod blocking;
mod config;
mod datagrams;
pub mod device;
mod driver;
pub mod host;
mod listener;
mod notice;
mod runner;
mod shard;
mod stack;
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;
mod vnet;

pub use config::{Config, TcpOptions};
pub use datagrams::{PingSocket, RawSocket, UdpSocket};
pub use driver::Driver;
pub use listener::{Incoming, TcpListener};
pub use notice::Notice;
pub use recoup_tcp::{Info, KeepAlive};
pub use runner::{Runner, Turn};
pub use stack::Stack;
pub use stream::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, TcpStream, WriteHalf};
pub use vnet::{LONGEST_SUPER_PACKET, VNET_HEADER_LEN, VnetHeader};
