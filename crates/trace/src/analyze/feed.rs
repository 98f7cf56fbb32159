//! Divides packets among the shards, round by round, and gives each a time that never goes back by
//! much.
//!
//! The timestamps of a capture are not always that time: clocks are set, files are joined in any
//! order, and single timestamps are wrong. If a timestamp differs from the latest by [`MOST_LATE`]
//! or more, it is taken for:
//!
//! | the timestamp is | the next one | taken for |
//! | --- | --- | --- |
//! | earlier | is back at the latest | an outlier: the packet passed with its neighbours |
//! | earlier | is not | a clock set back: all that follows is shifted |
//! | later | is back at the latest | an outlier |
//! | later | is not | silence; after a clock was set back, the clock set right again |
//!
//! A clock set forward looks like silence, unless it shows an impossible time.

use super::{SHARDS, TimeWindow};
use crate::finding::Renumbering;
use crate::follow::packed::PackedPackets;
use crate::follow::points::Pair;
use crate::read::{CapturedPacket, ClockAnomalies, Packet};
use recoup_units::Instant;
use recoup_wire::{Endpoints, IpVersion};
use serde::{Deserialize, Serialize};
use std::mem::replace;
use std::net::{IpAddr, Ipv6Addr};

/// Packets of the first rounds. What a round shows of hosts is known to the next one, so early rounds are
/// short.
const FIRST_ROUND: usize = 1 << 12;

/// Later, a round is this fraction (1/n) of the capture so far.
const ROUNDS: u64 = 64;

/// Packets of the longest rounds: enough that most connections get several, since taking these together costs
/// less, and few enough to take little memory.
const LONGEST_ROUND: usize = 1 << 15;

/// A timestamp this much before the latest is no late packet, in ns.
const MOST_LATE: u64 = 1_000_000_000;

/// No clock is right that shows a later time (the year 2262), in ns.
const LATEST: u64 = 1 << 63;

/// Where time begins if the first timestamp is impossible, in ns.
const FALLBACK: Instant = Instant::from_nanos(1 << 60);

/// The order of packets in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RoundOrder {
    /// Ordered by time.
    #[default]
    Sorted,
    /// Some were late. Packets of the next round may belong before the last ones of this round.
    Unsorted,
    /// This is the last round.
    Last,
}

/// Packets that are analyzed together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Round {
    /// One part per shard.
    pub parts: [PackedPackets; SHARDS],
    pub facts: RoundFacts,
}

/// What is said of a round besides its packets.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct RoundFacts {
    pub order: RoundOrder,
    /// The latest time so far.
    pub latest: Instant,
    /// When the time begins that is analyzed.
    pub window_begins: Instant,
}

impl Round {
    /// Removes all packets.
    pub fn clear(&mut self) {
        self.parts.iter_mut().for_each(PackedPackets::clear);
        self.facts.order = RoundOrder::Sorted;
    }

    #[inline]
    fn push(&mut self, packet: &Packet, time: Instant) {
        self.parts[shard_of(packet)].push(packet, time);
    }

    /// Whether each packet is in the part of its shard.
    pub fn is_consistent(&self) -> bool {
        let mut parts = self.parts.iter().enumerate();
        parts.all(|(number, part)| {
            let mut packets = part.iter();
            packets.all(|timed| shard_of_ends(&timed.packet.endpoints) == number)
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

    fn is_empty(&self) -> bool {
        self.parts.iter().all(PackedPackets::is_empty)
    }

    fn len(&self) -> usize {
        self.parts.iter().map(PackedPackets::len).sum()
    }
}

/// Divides packets among the shards.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PacketFeed {
    /// Packets of the first rounds.
    pub round: usize,
    /// Packets of all complete rounds.
    dealt: u64,
    /// The latest time so far; `None` before the first packet.
    latest: Option<Instant>,
    /// What is added to timestamps and subtracted from them, in ns. One of them is 0.
    add: u64,
    take: u64,
    unsorted: bool,
    /// A packet read ahead, or one whose time depends on the packet after it. Boxed, because it is rare and the struct is moved.
    next: Option<Box<Packet>>,
    /// Anomalies of the timestamps so far.
    pub clock: ClockAnomalies,
    window: TimeWindow,
    /// When the window begins and ends, once there was a packet.
    window_times: (Instant, Instant),
    /// Segments outside the window.
    pub outside_window: u64,
}

impl PacketFeed {
    /// Passes on the packets up to the end of `window`.
    pub fn new(window: TimeWindow) -> Self {
        Self {
            round: FIRST_ROUND,
            dealt: 0,
            latest: None,
            add: 0,
            take: 0,
            unsorted: false,
            next: None,
            clock: ClockAnomalies::default(),
            window,
            window_times: window.instants(Instant::ZERO),
            outside_window: 0,
        }
    }

    /// Adds packets to `round` until it is complete; `false` if there are too few for that. `packets`
    /// gives them one by one until it returns `false`. `last`: none will come after those, so the last
    /// round may be smaller.
    pub fn fill(
        &mut self,
        packets: &mut impl FnMut(&mut Packet) -> bool,
        round: &mut Round,
        last: bool,
    ) -> bool {
        let is_full = self.deal(packets, round, last);
        round.facts = self.facts(match self.unsorted {
            _ if !is_full => RoundOrder::Last,
            true => RoundOrder::Unsorted,
            false => RoundOrder::Sorted,
        });
        if is_full {
            self.dealt = self.dealt.saturating_add(round.len() as u64);
        }
        is_full || (last && !round.is_empty())
    }

    /// Whether rounds have a usual size, and the clock is corrected in one direction.
    pub fn is_consistent(&self) -> bool {
        (1..=LONGEST_ROUND).contains(&self.round) && (self.add == 0 || self.take == 0)
    }

    /// The packet read ahead, if there is one.
    pub fn ahead(&self) -> Option<CapturedPacket> {
        self.next.as_deref().map(CapturedPacket::from)
    }

    /// The packets end here for now: adds one that was read ahead to `round`, which may grow by it.
    pub fn take_ahead(&mut self, round: &mut Round) {
        let most = replace(&mut self.round, usize::MAX);
        self.deal(&mut |_| false, round, true);
        self.round = most;
    }

    /// Goes on by the clock that shows the later time.
    pub fn merge(&mut self, other: Self, frames: u64) {
        self.unsorted |= other.unsorted;
        self.dealt = self.dealt.saturating_add(other.dealt);
        self.clock.append(&other.clock, |frame| frame + frames);
        self.outside_window = self.outside_window.saturating_add(other.outside_window);
        if other.latest > self.latest {
            (self.latest, self.add, self.take) = (other.latest, other.add, other.take);
            self.window_times = other.window_times;
        }
    }

    /// What is said of a round in this order that ends here. Time stands still from the end of the window
    /// on.
    pub fn facts(&self, order: RoundOrder) -> RoundFacts {
        let (window_begins, window_ends) = self.window_times;
        RoundFacts {
            order,
            latest: self.latest.unwrap_or_default().min(window_ends),
            window_begins,
        }
    }

    /// How many packets make the next round complete.
    fn packets_of_round(&self) -> usize {
        let grown = (self.dealt / ROUNDS).min(LONGEST_ROUND as u64) as usize;
        self.round.max(grown)
    }

    /// Adds packets to `round`; `false` if it is not full then.
    fn deal(
        &mut self,
        packets: &mut impl FnMut(&mut Packet) -> bool,
        round: &mut Round,
        last: bool,
    ) -> bool {
        let mut packet = Packet::default();
        let mut lacking = self.packets_of_round().saturating_sub(round.len());
        while lacking > 0 {
            if self.next.is_some() {
                self.take_next(&mut packet);
            } else if !packets(&mut packet) {
                return false;
            }
            let latest = match self.latest {
                Some(latest) => latest,
                None => self.start_clock(packet.at),
            };
            let mut time = self.corrected(packet.at);
            // If `time` is before the latest, the difference wraps and is large.
            if time.as_nanos().wrapping_sub(latest.as_nanos()) > MOST_LATE {
                if self.depends_on_next(time, latest) && self.next.is_none() {
                    let mut next = Box::<Packet>::default();
                    if packets(&mut next) {
                        self.next = Some(next);
                    } else if !last {
                        self.next = Some(Box::new(packet));
                        return false;
                    }
                }
                time = self.resolve_jump(&packet, time, latest);
            }
            self.latest = Some(latest.max(time));
            let (window_begins, window_ends) = self.window_times;
            if time < window_begins || time >= window_ends {
                let is_segment = packet.path_mtu.is_none();
                self.outside_window += u64::from(is_segment);
                if time >= window_ends {
                    continue;
                }
            }
            lacking -= 1;
            round.push(&packet, time);
        }
        true
    }

    /// Moves the packet read ahead to `packet`.
    #[cold]
    fn take_next(&mut self, packet: &mut Packet) {
        if let Some(next) = self.next.take() {
            *packet = *next;
        }
    }

    /// Whether a packet's `time` is too far from the latest to be taken as it is.
    #[cold]
    fn depends_on_next(&self, time: Instant, latest: Instant) -> bool {
        time >= latest || latest.nanos_since(time) > MOST_LATE
    }

    /// The first timestamp sets the time.
    #[cold]
    fn start_clock(&mut self, timestamp: Instant) -> Instant {
        let time = if timestamp.as_nanos() > LATEST {
            FALLBACK
        } else {
            timestamp
        };
        self.set(timestamp, time);
        self.window_times = self.window.instants(time);
        time
    }

    /// From here on, the timestamp `timestamp` means `time`.
    fn set(&mut self, timestamp: Instant, time: Instant) {
        (self.add, self.take) = (time.nanos_since(timestamp), timestamp.nanos_since(time));
    }

    #[inline]
    fn corrected(&self, timestamp: Instant) -> Instant {
        Instant::from_nanos(timestamp.as_nanos().saturating_sub(self.take)).plus_nanos(self.add)
    }

    /// The time of a packet whose timestamp, corrected to `time`, is far from the `latest`.
    #[cold]
    fn resolve_jump(&mut self, packet: &Packet, time: Instant, latest: Instant) -> Instant {
        if !self.depends_on_next(time, latest) {
            self.unsorted = true;
            return time;
        }
        let next = self.next.as_ref().map(|next| self.corrected(next.at));
        let timestamp = Instant::from_nanos(latest.as_nanos().saturating_sub(self.add));
        let timestamp = timestamp.plus_nanos(self.take);
        let by = timestamp.since(packet.at).max(packet.at.since(timestamp));
        let alone = next.is_some_and(|next| {
            let back = next.plus_nanos(MOST_LATE) >= latest;
            back && (time < latest || time.nanos_since(next) > MOST_LATE)
        });
        if alone {
            self.clock.outliers.add(packet.frame, by);
            return latest;
        }
        if time < latest || time.as_nanos() > LATEST {
            self.clock.set.add(packet.frame, by);
            self.set(packet.at, latest);
            return latest;
        }
        if self.add > 0 && packet.at >= latest {
            self.set(packet.at, packet.at);
            return packet.at;
        }
        time
    }
}

/// The shard of the connection of a packet, the same in both directions and in every run.
#[inline]
fn shard_of(packet: &Packet) -> usize {
    let headers = &packet.headers;
    let [src, dst] = match headers.ip_version() {
        IpVersion::V4 => headers.addresses.map(from_v4),
        IpVersion::V6 => packet.rare.addresses.map(from_v6),
    };
    let [src_port, dst_port] = headers.ports.map(u64::from);
    spread(src ^ src_port ^ dst ^ dst_port)
}

/// The shard of the connection between these ends.
pub(super) fn shard_of_ends(ends: &Endpoints) -> usize {
    let [src, dst] = [ends.src, ends.dst].map(|end| match end.ip() {
        IpAddr::V4(ip) => from_v4(ip.to_bits()) ^ u64::from(end.port()),
        IpAddr::V6(ip) => from_v6(ip) ^ u64::from(end.port()),
    });
    spread(src ^ dst)
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

/// The multiplication carries every bit to the upper ones (Knuth, The Art of Computer Programming,
/// §6.4).
#[inline]
fn spread(bits: u64) -> usize {
    (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SHARDS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_wire::{Headers, Segment};

    #[test]
    fn both_directions_share_a_shard_and_connections_spread() {
        let mut counts = [0; SHARDS];
        for i in 0..800_u16 {
            for (src, dst) in [
                ("192.0.2.1", "198.51.100.7"),
                ("2001:db8::1", "2001:db8::7"),
            ] {
                let ends = Endpoints {
                    src: (src.parse::<std::net::IpAddr>().unwrap(), 40_000 + i).into(),
                    dst: (dst.parse::<std::net::IpAddr>().unwrap(), 443).into(),
                };
                let shard = |ends: &Endpoints| {
                    let (headers, rare) = Headers::new(ends, &Segment::default());
                    shard_of(&Packet {
                        headers,
                        rare,
                        ..Packet::default()
                    })
                };
                assert_eq!(shard(&ends), shard(&ends.reverse()));
                counts[shard(&ends)] += 1;
            }
        }
        assert!(
            counts.iter().all(|count| (150..=250).contains(count)),
            "{counts:?}"
        );
    }
}
