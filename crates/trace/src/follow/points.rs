//! Tells the packets of several capture points apart, where their captures were merged into one
//! file.
//!
//! A packet that passes two capture points is in such a file twice, one path delay apart. Taken as
//! one capture, the second copy looks like a retransmission. The copies differ in their [`Mark`]:
//! routers decrement the hop limit and replace the Ethernet addresses, pcapng files number their
//! interfaces, and a host receives what another one sends.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`sightings`] | finds copies of packets that have different marks |
//! | [`order`] | tells two points with the same marks apart by the order of the copies |
//! | [`lineup`] | orders the capture points along the path, and names the point of each packet |

pub(crate) mod lineup;
pub(crate) mod order;
pub(crate) mod sightings;

use super::{TimedPacket, connection::ConnectionState};
use crate::read::CapturedPacket;
use recoup_wire::Endpoints;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Values that may distinguish the copies of a packet that were captured at different points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    interface: u32,
    link: u32,
    hop_limit: u8,
    outgoing: Option<bool>,
}

impl Mark {
    /// The mark of a packet.
    #[inline]
    pub fn of(packet: &CapturedPacket) -> Self {
        Self { interface: packet.interface, link: packet.link, hop_limit: packet.hop_limit, outgoing: packet.outgoing }
    }

    /// The mark of a packet on the first interface of its file.
    #[inline]
    pub fn on_first_interface(link: u32, hop_limit: u8, outgoing: Option<bool>) -> Self {
        Self { interface: 0, link, hop_limit, outgoing }
    }

    /// Whether the capturing host sent such packets, if the capture says so.
    #[inline]
    pub fn outgoing(self) -> Option<bool> {
        self.outgoing
    }

    /// How much it differs from another: the interface counts most, the hop limit least.
    fn distance(&self, other: &Self) -> (bool, bool, bool, u8) {
        (
            self.interface != other.interface,
            self.outgoing != other.outgoing,
            self.link != other.link,
            self.hop_limit.abs_diff(other.hop_limit),
        )
    }
}

/// Two ends in ascending order, in one network. The lower one sends side 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Pair {
    ends: [SocketAddr; 2],
    network: u8,
}

impl Pair {
    /// The ends of a packet, in network 0.
    pub fn of(ends: &Endpoints) -> Self {
        Self { ends: [ends.src.min(ends.dst), ends.src.max(ends.dst)], network: 0 }
    }

    /// The ends of a packet in its network.
    pub fn in_network(timed: &TimedPacket) -> Self {
        Self { network: timed.network, ..Self::of(&timed.packet.endpoints) }
    }

    /// The ends of a connection in its network.
    pub fn of_connection(connection: &ConnectionState) -> Self {
        Self { network: connection.network(), ..Self::of(&connection.shared.endpoints) }
    }

    /// The network, numbered as in [`TimedPacket::network`].
    pub fn network(&self) -> u8 {
        self.network
    }

    /// The same ends in network 0.
    pub fn in_any_network(self) -> Self {
        Self { network: 0, ..self }
    }

    /// The side that a packet with these ends belongs to.
    pub fn side(&self, ends: &Endpoints) -> usize {
        usize::from(ends.src != self.ends[0])
    }

    /// The ends of the packets of side 0.
    pub fn ends(&self) -> Endpoints {
        let [src, dst] = self.ends;
        Endpoints { src, dst }
    }
}
