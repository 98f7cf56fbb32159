//! The packets that are analyzed together, divided among the shards.

use crate::{
    finding::Renumbering,
    follow::{packed::PackedPackets, points::Pair},
    read::Packet,
};
use recoup_units::Instant;
use recoup_wire::{Endpoints, IpVersion};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};

/// The order of packets in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum RoundOrder {
    /// Ordered by time.
    #[default]
    Sorted,
    /// Some were late. Packets of the next round may belong before those of this round that were captured later than
    /// `until`.
    Unsorted { until: Instant },
    /// This is the last round.
    Last,
}

/// Packets that are analyzed together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Round {
    /// One part per shard.
    pub parts: Vec<PackedPackets>,
    pub facts: RoundFacts,
}

/// Facts about a round besides its packets.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize)]
pub(super) struct RoundFacts {
    pub order: RoundOrder,
    /// The latest time so far.
    pub latest: Instant,
    /// When the time begins that is analyzed.
    pub window_begins: Instant,
}

impl Round {
    /// A round without packets.
    pub fn new(shards: usize) -> Self {
        Self { parts: (0..shards).map(|_| PackedPackets::default()).collect(), facts: RoundFacts::default() }
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.parts.iter_mut().for_each(PackedPackets::clear);
        self.facts.order = RoundOrder::Sorted;
    }

    /// Adds a packet, which was captured at `time`, to the part of its shard.
    #[inline]
    pub fn push(&mut self, packet: &Packet, time: Instant) {
        let shard = shard_of(packet, self.parts.len());
        self.parts[shard].push(packet, time);
    }

    /// Whether there is a part per shard, and each packet is in the part of its shard.
    pub fn is_consistent(&self, shards: usize) -> bool {
        let mut parts = self.parts.iter().enumerate();
        self.parts.len() == shards
            && parts.all(|(number, part)| {
                let mut packets = part.iter();
                packets.all(|timed| shard_of_ends(&timed.packet.endpoints, shards) == number)
            })
    }

    /// The ends of all packets.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        let packets = self.parts.iter().flat_map(PackedPackets::iter);
        packets.map(|timed| Pair::of(&timed.packet.endpoints))
    }

    /// Gives all frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        self.parts.iter_mut().for_each(|part| part.renumber(by));
    }

    /// Adds the packets of `other`, ordered by time.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.merge(theirs);
        }
    }

    /// How many packets it has.
    pub fn len(&self) -> usize {
        self.parts.iter().map(PackedPackets::len).sum()
    }
}

/// The shard of the connection of a packet, the same in both directions and in every run.
#[inline]
pub(crate) fn shard_of(packet: &Packet, shards: usize) -> usize {
    let headers = &packet.headers;
    let [src, dst] = match headers.ip_version() {
        IpVersion::V4 => headers.addresses.map(from_v4),
        IpVersion::V6 => packet.rare.addresses.map(from_v6),
    };
    let [src_port, dst_port] = headers.ports.map(u64::from);
    spread(src ^ src_port ^ dst ^ dst_port, shards)
}

/// The shard of the connection between these ends.
pub(super) fn shard_of_ends(ends: &Endpoints, shards: usize) -> usize {
    let [src, dst] = [ends.src, ends.dst].map(|end| match end.ip() {
        IpAddr::V4(ip) => from_v4(ip.to_bits()) ^ u64::from(end.port()),
        IpAddr::V6(ip) => from_v6(ip) ^ u64::from(end.port()),
    });
    spread(src ^ dst, shards)
}

#[inline]
fn from_v4(bits: u32) -> u64 {
    u64::from(bits) << 16
}

#[inline]
fn from_v6(address: Ipv6Addr) -> u64 {
    let bits = address.to_bits();
    (bits ^ (bits >> 64)) as u64
}

/// The first multiplication carries every bit to the upper ones (Knuth, The Art of Computer Programming,
/// §6.4). The second takes as many of the upper bits as number the shards.
#[inline]
fn spread(bits: u64, shards: usize) -> usize {
    let hash = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(hash) * shards as u128) >> u64::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_wire::{Headers, Segment};

    #[test]
    fn both_directions_share_a_shard_and_connections_spread() {
        const SHARDS: usize = 8;
        let mut counts = [0; SHARDS];
        for i in 0..800_u16 {
            for (src, dst) in [("192.0.2.1", "198.51.100.7"), ("2001:db8::1", "2001:db8::7")] {
                let ends = Endpoints {
                    src: (src.parse::<std::net::IpAddr>().unwrap(), 40_000 + i).into(),
                    dst: (dst.parse::<std::net::IpAddr>().unwrap(), 443).into(),
                };
                let shard = |ends: &Endpoints| {
                    let (headers, rare) = Headers::new(ends, &Segment::default());
                    let packet = Packet { headers, rare, ..Packet::default() };
                    shard_of(&packet, SHARDS)
                };
                assert_eq!(shard(&ends), shard(&ends.reverse()));
                counts[shard(&ends)] += 1;
            }
        }
        assert!(counts.iter().all(|count| (150..=250).contains(count)), "{counts:?}");
    }
}
