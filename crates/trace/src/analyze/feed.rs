//! Packets dealt out to the shards, round by round.

use super::SHARDS;
use crate::read::Packet;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::net::SocketAddr;
use std::time::Duration;

/// Packets of a round: so many that starting it costs little, and few enough to stay in the caches.
const ROUND: usize = 4096;

/// What lies further back is a clock that was set, not a packet late.
const LATE: Duration = Duration::from_secs(1);

/// How packets stand in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// In that of time.
    #[default]
    Kept,
    /// Some came late: those of the next round may belong before the last of this one.
    Disturbed,
    /// The clock is set back after this round, or there is nothing after it.
    Broken,
}

/// Packets to be analyzed at once.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// By shard.
    pub parts: [Vec<Packet>; SHARDS],
    pub order: Order,
    /// The latest time so far.
    pub latest: Instant,
}

impl Round {
    fn clear(&mut self) {
        self.parts.iter_mut().for_each(Vec::clear);
        self.order = Order::Kept;
    }

    #[inline]
    fn push(&mut self, packet: Packet) {
        self.parts[shard_of(&packet.endpoints)].push(packet);
    }

    fn is_empty(&self) -> bool {
        self.parts.iter().all(Vec::is_empty)
    }
}

/// Deals packets out.
#[derive(Debug)]
pub(super) struct Feed<P> {
    packets: P,
    latest: Instant,
    disturbed: bool,
    /// The first packet after the clock was set back.
    next: Option<Packet>,
}

impl<P: Iterator<Item = Packet>> Feed<P> {
    /// Of these.
    pub fn new(packets: P) -> Self {
        Self {
            packets,
            latest: Instant::ZERO,
            disturbed: false,
            next: None,
        }
    }

    /// The next round takes the place of what is in `round`; `false`: there is none.
    pub fn fill(&mut self, round: &mut Round) -> bool {
        round.clear();
        self.deal(round);
        round.latest = self.latest;
        !round.is_empty() || self.next.is_some()
    }

    fn deal(&mut self, round: &mut Round) {
        if let Some(first) = self.next.take() {
            self.latest = first.at;
            round.push(first);
        }
        for _ in 0..ROUND {
            let Some(packet) = self.packets.next() else {
                round.order = Order::Broken;
                return;
            };
            if packet.at < self.latest {
                if packet.at + LATE < self.latest {
                    self.next = Some(packet);
                    round.order = Order::Broken;
                    return;
                }
                self.disturbed = true;
            } else {
                self.latest = packet.at;
            }
            round.push(packet);
        }
        if self.disturbed {
            round.order = Order::Disturbed;
        }
    }
}

/// The shard of the connection between these ends, the same both ways and in every run.
#[inline]
fn shard_of(ends: &Endpoints) -> usize {
    let (src, dst) = (end(&ends.src), end(&ends.dst));
    // Multiplying carries every bit to the upper ones (Knuth, The Art of Computer Programming, §6.4).
    let spread = (src ^ dst).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread >> (u64::BITS - SHARDS.ilog2())) as usize
}

#[inline]
fn end(end: &SocketAddr) -> u64 {
    match end {
        SocketAddr::V4(end) => u64::from(end.ip().to_bits()) << 16 | u64::from(end.port()),
        SocketAddr::V6(end) => {
            let bits = end.ip().to_bits();
            (bits ^ (bits >> 64)) as u64 ^ u64::from(end.port())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_meet_and_connections_spread() {
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
                assert_eq!(shard_of(&ends), shard_of(&ends.reverse()));
                counts[shard_of(&ends)] += 1;
            }
        }
        assert!(
            counts.iter().all(|count| (150..=250).contains(count)),
            "{counts:?}"
        );
    }
}
