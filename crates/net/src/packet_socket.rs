//! Packet sockets: frames of interfaces as the kernel sees them (packet(7)).
//!
//! A [`PacketRing`] receives through memory that it shares with the kernel (TPACKET_V3; the kernel's documentation,
//! networking/packet_mmap). The kernel fills a block with frames and hands it over when it is full, or when its
//! timeout has passed. Frames are read where they are and never copied. A ring also sends frames.
//!
//! [`MergedRings`] reads several rings in the order of time.
//!
//! - **A program in the kernel filters and cuts frames** ([`bpf`](recoup_wire::bpf)). It is attached before the socket
//!   is bound, so that no other frame is ever in the ring.
//! - **An interface with Ethernet headers gives whole frames**, and loopback is one. Every other interface (TUN, PPP,
//!   IP tunnels) gives frames that begin at the network header, with their EtherType beside them. So do all interfaces
//!   together.
//! - **A loopback interface shows each packet twice**, when it is sent and when it is received. Only the latter is
//!   handed out, as in libpcap.
//! - **A VLAN tag is beside the frame** if the kernel or the device took it out of the frame, which Linux does for the
//!   outermost tag that it receives.
//! - **A frame may be longer than the MTU**: segmentation and receive offloads happen below packet sockets.
//! - **A socket does not see the frames that it sends itself.**
//!
//! # Several rings for one interface
//!
//! [`PacketRing::open_group`] shares the frames of an interface among rings (PACKET_FANOUT). The kernel chooses the
//! ring by a hash of addresses and ports that is the same in both directions (PACKET_FANOUT_HASH: `fanout_demux_hash`
//! in net/packet/af_packet.c), so that one ring has all packets of a connection, in order. Fragments of IPv4 are
//! reassembled first (PACKET_FANOUT_FLAG_DEFRAG): later fragments have no ports. Where a tunnel hides the connection
//! from the hash (VXLAN, Geneve, GTP-U), its directions may be in two rings. [`MergedRings`] brings them back in order.
//!
//! | module | contents |
//! | --- | --- |
//! | `ring` | receives: blocks, frames, and the order of reading them |
//! | `memory` | the memory shared with the kernel |
//! | `open` | opens sockets, joins them to groups |
//! | `merged` | several rings in the order of time; interfaces that go down or vanish |
//! | `options` | calls to the kernel that rustix lacks |

mod memory;
mod merged;
mod open;
pub(crate) mod options;
mod ring;

use recoup_units::Instant;
use recoup_wire::bpf::{Framing, Instruction, keep_all};
use std::time::Duration;

pub use merged::{MergedRings, RingEvent};
pub(crate) use open::open_socket;
pub use options::attach_filter;
pub use ring::{PacketRing, Readiness};

/// Bytes of a frame that are kept unless a filter says otherwise: headers, also those of tunnels.
pub const USUAL_SNAP: u32 = 256;

/// How a [`PacketRing`] receives.
#[derive(Clone, Debug)]
pub struct PacketSocketOptions {
    /// The filter for frames with an Ethernet header. It returns how many bytes to keep; 0 drops the frame.
    pub ethernet_filter: Vec<Instruction>,
    /// The filter for frames that begin at the network header.
    pub network_filter: Vec<Instruction>,
    /// The size of the ring in bytes, from 512 KiB to 4 GiB, rounded up to blocks of 256 KiB. The kernel does not swap
    /// it.
    pub ring_bytes: usize,
    /// The longest time that a frame waits in a block that is not full: 1 ms at least.
    pub block_timeout: Duration,
    /// Whether the interface also takes frames for other hosts. All interfaces together stay as they are.
    pub promiscuous: bool,
}

impl Default for PacketSocketOptions {
    /// The first [`USUAL_SNAP`] bytes of every frame; 32 MiB, which hold 90,000 of these or 90 ms at 1,000,000
    /// frames/s; 10 ms.
    fn default() -> Self {
        Self {
            ethernet_filter: keep_all(USUAL_SNAP),
            network_filter: keep_all(USUAL_SNAP),
            ring_bytes: 32 << 20,
            block_timeout: Duration::from_millis(10),
            promiscuous: false,
        }
    }
}

impl PacketSocketOptions {
    fn filter(&self, framing: Framing) -> &[Instruction] {
        match framing {
            Framing::Ethernet => &self.ethernet_filter,
            Framing::Network => &self.network_filter,
        }
    }
}

/// A frame in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingFrame<'a> {
    /// The index of its interface.
    pub interface: u32,
    /// What its bytes begin with.
    pub link: LinkLayer,
    /// Whether this host sent it. `None` for frames to other hosts, to groups, and of loopback interfaces.
    pub outgoing: Option<bool>,
    /// When the kernel saw it: nanoseconds since 1970.
    pub at: Instant,
    /// The VLAN tag that the kernel took out of it.
    pub vlan: Option<VlanTag>,
    /// Its first bytes.
    pub data: &'a [u8],
    /// Its length, from where `data` begins.
    pub on_wire: usize,
}

/// What the bytes of a frame begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// An Ethernet header.
    Ethernet,
    /// The network header that this EtherType names.
    Network(u16),
}

/// A VLAN tag (IEEE 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// The tag's EtherType: 0x8100 or 0x88a8.
    pub protocol: u16,
    /// Priority (3 bits), drop eligible (1) and VLAN identifier (12).
    pub control: u16,
}

impl VlanTag {
    /// The VLAN identifier.
    pub const fn id(self) -> u16 {
        self.control & 0xfff
    }
}

/// What a ring counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingStatistics {
    /// Frames that passed the filter, with those that were dropped.
    pub frames: u64,
    /// Frames that the kernel dropped because the ring was full.
    pub dropped: u64,
    /// How many times the ring became full.
    pub times_full: u64,
}

impl std::ops::AddAssign for RingStatistics {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.dropped += other.dropped;
        self.times_full += other.times_full;
    }
}

#[cfg(test)]
mod tests;
