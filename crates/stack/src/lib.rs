//! A TCP/IP stack for programs that carry packets themselves: VPNs, tun2socks, proxies, user-space WireGuard.
//!
//! Its loss recovery is the engine [`recoup_recovery`], with a profile for each stream. There is no C code and no `unsafe`.
//! A [`Stack`] runs over a [`device`](device::Device); sockets are made from it.
//!
//! ```
//! use recoup_stack::{Config, blocking::{Stack, TcpListener, TcpStream}, device::{Parking, Properties, pair}};
//! use std::io::{Read, Write};
//!
//! // Two stacks, joined in memory.
//! let (near, far) = pair(Properties { mtu: 1500, offloads: false }, 64);
//! let client = Stack::new(Parking::new(near), Config::new(["192.0.2.1".parse()?]))?;
//! let server = Stack::new(Parking::new(far), Config::new(["192.0.2.2".parse()?]))?;
//!
//! let listener = TcpListener::bind(&server, "192.0.2.2:80".parse()?)?;
//! let mut ours = TcpStream::connect(&client, "192.0.2.2:80".parse()?)?;
//! let (mut theirs, _) = listener.accept()?;
//! ours.write_all(b"hello")?;
//! ours.close()?;
//! let mut received = String::new();
//! theirs.read_to_string(&mut received)?;
//! assert_eq!(received, "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same sockets are `AsyncRead` and `AsyncWrite` with the feature `tokio`. Below them, [`host::Host`] is the stack
//! without I/O: packets and the time go in, packets and events come out.
//!
//! | module | contents |
//! | --- | --- |
//! | `stack`, `stream`, `listener`, `datagrams` | sockets, for any runtime or none |
//! | `blocking`, `tokio` | sockets that wait; sockets for tokio |
//! | `shard`, `waiters`, `runner`, `notice` | a host that sockets share, the tasks that wait for it, what exchanges its packets, and what happens to it as a whole |
//! | `config` | settings of a stack, and options of its TCP sockets |
//! | `device` | what carries the packets: the trait, and devices in memory |
//! | `driver` | runs a host over a device on one thread |
//! | `host` | TCP, UDP, echoes and raw packets without I/O and without a clock: demultiplexing, timers, checksums, ICMP, fragments, budgets |
//! | `guest` | a host with one connection as a guest of programs that compare stacks (feature `guest`) |
//! | `vnet` | what a device with offloads leaves to its user, and its user to it |

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub mod blocking;
mod config;
mod datagrams;
pub mod device;
mod driver;
#[cfg(feature = "guest")]
pub mod guest;
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
mod waiters;

pub use config::{Config, TcpOptions};
pub use datagrams::{PingSocket, RawSocket, UdpSocket};
pub use driver::Driver;
pub use host::{Datagram, EchoReply};
pub use listener::{Incoming, TcpListener};
pub use notice::Notice;
pub use recoup_tcp::{Info, KeepAlive};
pub use runner::{Runner, Turn};
pub use stack::Stack;
pub use stream::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, TcpStream, WriteHalf};
pub use vnet::{LONGEST_SUPER_PACKET, VNET_HEADER_LEN, VnetHeader};
