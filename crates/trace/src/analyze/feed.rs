//! Packets dealt out to the shards, round by round, each with the time at which it passed.
//!
//! Stamps are not always that time: clocks are set, files are put together in any order, single stamps
//! are wrong. An analysis needs a time that goes on, so by [`LATE`] or more
//!
//! | a stamp is | and the next one | it is taken for |
//! | --- | --- | --- |
//! | before the latest | is there again | astray: it passed with its neighbours |
//! | before the latest | is not | a clock that was set back: what follows is shifted by as much |
//! | after the latest | is back there | astray |
//! | after the latest | is not | silence; or, after a clock was set back, the same set right again |
//!
//! A clock set forward cannot be told from silence, unless no clock shows what it is set to.

use super::SHARDS;
use crate::read::{Clock, Packet};
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::net::SocketAddr;

/// Packets of a round: so many that starting it costs little, and few enough to stay in the caches.
const ROUND: usize = 4096;

/// What lies further off is not a packet late, in ns.
const LATE: u64 = 1_000_000_000;

/// No clock shows later times than this (the year 2262), in ns: what does so is wrong.
const LAST: u64 = 1 << 63;

/// What a wrong clock is taken to show at first, in ns.
const SOME: Instant = Instant::from_nanos(1 << 60);

/// A packet, and when it passed by a clock that is never set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub time: Instant,
    pub packet: Packet,
}

/// How packets stand in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// In that of time.
    #[default]
    Kept,
    /// Some came late: those of the next round may belong before the last of this one.
    Disturbed,
    /// There is nothing after this round.
    Last,
}

/// Packets to be analyzed at once.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// By shard.
    pub parts: [Vec<Timed>; SHARDS],
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
    fn push(&mut self, timed: Timed) {
        self.parts[shard_of(&timed.packet.endpoints)].push(timed);
    }

    fn is_empty(&self) -> bool {
        self.parts.iter().all(Vec::is_empty)
    }
}

/// Deals packets out.
#[derive(Debug)]
pub(super) struct Feed<P> {
    packets: P,
    /// The latest time so far; `None` before the first packet.
    latest: Option<Instant>,
    /// What is to be added to stamps and what is to be taken from them, in ns: one of them is 0.
    add: u64,
    take: u64,
    disturbed: bool,
    /// A packet read ahead; boxed, as there hardly ever is one to be moved about.
    next: Option<Box<Packet>>,
    /// What was odd about the stamps so far.
    pub clock: Clock,
}

impl<P: Iterator<Item = Packet>> Feed<P> {
    /// Of these.
    pub fn new(packets: P) -> Self {
        Self {
            packets,
            latest: None,
            add: 0,
            take: 0,
            disturbed: false,
            next: None,
            clock: Clock::default(),
        }
    }

    /// The next round takes the place of what is in `round`; `false`: there is none.
    pub fn fill(&mut self, round: &mut Round) -> bool {
        round.clear();
        self.deal(round);
        round.latest = self.latest.unwrap_or_default();
        !round.is_empty()
    }

    fn deal(&mut self, round: &mut Round) {
        for _ in 0..ROUND {
            let packet = match self.next.take() {
                Some(ahead) => Some(*ahead),
                None => self.packets.next(),
            };
            let Some(packet) = packet else {
                round.order = Order::Last;
                return;
            };
            let latest = match self.latest {
                Some(latest) => latest,
                None => self.begin(packet.at),
            };
            let mut time = self.shifted(packet.at);
            // Before the latest this wraps, and is much.
            if time.as_nanos().wrapping_sub(latest.as_nanos()) > LATE {
                time = self.uneven(&packet, time, latest);
            }
            self.latest = Some(latest.max(time));
            round.push(Timed { time, packet });
        }
        if self.disturbed {
            round.order = Order::Disturbed;
        }
    }

    /// The first stamp: the time at which it all begins.
    #[cold]
    fn begin(&mut self, stamp: Instant) -> Instant {
        let time = if stamp.as_nanos() > LAST { SOME } else { stamp };
        self.set(stamp, time);
        time
    }

    /// From here on, what is stamped with `stamp` passed at `time`.
    fn set(&mut self, stamp: Instant, time: Instant) {
        (self.add, self.take) = (time.nanos_since(stamp), stamp.nanos_since(time));
    }

    #[inline]
    fn shifted(&self, stamp: Instant) -> Instant {
        Instant::from_nanos(stamp.as_nanos().saturating_sub(self.take)).plus_nanos(self.add)
    }

    /// When a packet passed whose stamp, which makes it `time`, does not simply follow from the `latest`.
    #[cold]
    fn uneven(&mut self, packet: &Packet, time: Instant, latest: Instant) -> Instant {
        if time < latest && latest.nanos_since(time) <= LATE {
            self.disturbed = true;
            return time;
        }
        if self.next.is_none() {
            self.next = self.packets.next().map(Box::new);
        }
        let next = self.next.as_ref().map(|next| self.shifted(next.at));
        let stamp = Instant::from_nanos(latest.as_nanos().saturating_sub(self.add));
        let stamp = stamp.plus_nanos(self.take);
        let by = stamp.since(packet.at).max(packet.at.since(stamp));
        let alone = next.is_some_and(|next| {
            let back = next.plus_nanos(LATE) >= latest;
            back && (time < latest || time.nanos_since(next) > LATE)
        });
        if alone {
            self.clock.astray.add(packet.frame, by);
            return latest;
        }
        if time < latest || time.as_nanos() > LAST {
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
