//! Real packets: TUN devices, network namespaces, and the path emulator over them.
//!
//! [`Wire::open`] makes a network namespace joined to the caller's by a pair of TUN devices, so that
//! this process is the wire: every packet one side sends is read here, and nothing crosses that is
//! not written here. A [`Relay`] carries packets from one device to the other through two
//! [`Chain`](recoup_path::Chain)s, the hops of the simulator, driven by the system's monotonic clock.
//! [`Wire::run`] starts a command inside.
//!
//! Nothing here outlasts its process: the namespace has no name and the devices are not persistent,
//! so the kernel takes them back when their descriptors are closed, however that comes about.

#![cfg(target_os = "linux")]

mod address;
mod buffers;
mod capture;
mod clock;
mod command;
mod error;
pub mod host;
mod log;
mod namespace;
mod netlink;
mod packet;
mod relay;
mod report;
pub mod testbed;
mod tun;
mod vnet;
mod wire;

pub use address::{Addresses, Block};
pub use capture::{PacketCapture, Tap};
pub use clock::{Clock, be_punctual};
pub use command::{Running, Signaller};
pub use error::NetError;
pub use log::{PacketLog, PacketOutcome, PacketRecord};
pub use namespace::Namespace;
pub use packet::Tcp;
pub use relay::{Ends, Relay, carries_super_packets};
pub use report::{Counts, DeliveryError, Report};
pub use tun::Tun;
pub use vnet::{LONGEST_SUPER_PACKET, VNET_HEADER_LEN, VnetHeader};
pub use wire::Wire;
