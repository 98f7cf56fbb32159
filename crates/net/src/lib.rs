//! Real packets: TUN devices, network namespaces, and the path emulator over them.
//!
//! [`Wire::open`] makes a network namespace and joins it to the caller's by a pair of TUN devices. This
//! process is the wire between them: it reads every packet that one side sends, and only packets it
//! writes reach the other. A [`Relay`] carries them through two [`Chain`](recoup_path::Chain)s, the hops
//! of the simulator, driven by the system's monotonic clock. [`Wire::run`] starts a command inside.
//!
//! A [`TunDevice`] carries the packets of a stack ([`recoup_stack`]), with the kernel at its other end. [`testbed`] runs
//! single flows over a path, between the kernel's TCP and Recoup's.
//!
//! Nothing outlasts its process, even if it is killed. The namespace has no name and the devices are not
//! persistent, so the kernel removes them when their descriptors are closed. The command and all
//! processes it started are killed.
//!
//! | module | contents |
//! | --- | --- |
//! | `netlink`, `namespace`, `wire`, `address` | TUN devices and network namespaces that vanish with their process; the ends of an emulated path |
//! | `relay`, `packet`, `clock`, `log`, `capture`, `report` | the emulator: packets through two chains in real time, their outcomes and delays |
//! | `tun`, `vnet`, `buffers`, `write_batch` | devices with and without offloads; packets written in batches (io_uring) |
//! | `tun_device`, `link_state`, `waiting`, `async_device` | a TUN device for a stack; threads wait for it, or tasks of tokio |
//! | `packet_device` | an ordinary interface as a stack's device: ARP, neighbour discovery |
//! | `packet_socket`, `interface` | frames of interfaces: rings shared with the kernel, filters, several rings in the order of time |
//! | `testbed` (`meter`, `events`, `switch`) | a flow between two namespaces, with the kernel's TCP or a host of ours at either end; its cost, measured by its packets |

#![cfg(target_os = "linux")]

mod address;
#[cfg(feature = "tokio")]
mod async_device;
mod buffers;
mod capture;
mod clock;
mod command;
mod error;
mod interface;
mod link_state;
mod log;
mod namespace;
mod netlink;
mod packet;
mod packet_device;
mod packet_socket;
mod relay;
mod report;
mod socket;
pub mod testbed;
mod tun;
mod tun_device;
mod waiting;
mod wire;
mod write_batch;

pub use address::{Addresses, Block};
#[cfg(feature = "tokio")]
pub use async_device::AsyncDevice;
pub use capture::{PacketCapture, Tap};
pub use clock::{Clock, be_punctual};
pub use command::{Running, Signaller};
pub use error::NetError;
pub use interface::{Interface, InterfaceAddress, interface_addresses, interfaces};
pub use log::{PacketLog, PacketOutcome, PacketRecord};
pub use namespace::{Namespace, NamespaceTarget};
pub use packet::Tcp;
pub use packet_device::{PacketDevice, PacketOptions};
pub use packet_socket::{
    LinkLayer, MergedRings, PacketRing, PacketSocketOptions, Readiness, RingEvent, RingFrame, RingStatistics,
    USUAL_SNAP, VlanTag, attach_filter,
};
pub use recoup_stack::{LONGEST_SUPER_PACKET, VNET_HEADER_LEN, VnetHeader};
pub use relay::{Ends, Relay, carries_super_packets};
pub use report::{Counts, DeliveryError, Report};
pub use socket::{namespace_cookie, set_receive_low_water_mark};
pub use tun::Tun;
pub use tun_device::{Forwarding, TunDevice, TunOptions};
pub use wire::Wire;
