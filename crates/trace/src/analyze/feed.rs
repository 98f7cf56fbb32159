//! Deals packets out round by round, and gives each a time that never goes back by much.
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

use super::{
    TimeWindow,
    round::{Round, RoundFacts, RoundOrder},
};
use crate::read::{CapturedPacket, ClockAnomalies, Packet};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::mem::replace;

/// Packets of the first rounds. What a round shows of hosts is known to the next one, so early rounds are
/// short.
const FIRST_ROUND: usize = 1 << 12;

/// Later, a round is this fraction (1/n) of the capture so far.
const ROUNDS: u64 = 64;

/// Packets of the longest rounds: enough that most connections get several, since taking these together costs
/// less, and few enough to take little memory.
const LONGEST_ROUND: usize = 1 << 15;

/// A timestamp more than this before the latest is no late packet, in ns.
const MOST_LATE: u64 = 1_000_000_000;

/// No clock is right that shows a later time (the year 2262), in ns.
const LATEST: u64 = 1 << 63;

/// Where time begins if the first timestamp is impossible, in ns.
const FALLBACK: Instant = Instant::from_nanos(1 << 60);

/// Takes the packets of a round as they are dealt out.
pub(super) trait TakesRound {
    /// The next packet of the round, and its time.
    fn push(&mut self, packet: &Packet, time: Instant);

    /// A packet that is not analyzed, because it was captured after the end of the window.
    fn leave_out(&mut self, _: &Packet) {}

    /// Facts about the round.
    fn describe(&mut self, facts: RoundFacts);

    /// How many packets the round has.
    fn len(&self) -> usize;
}

impl TakesRound for Round {
    #[inline]
    fn push(&mut self, packet: &Packet, time: Instant) {
        Self::push(self, packet, time);
    }

    fn describe(&mut self, facts: RoundFacts) {
        self.facts = facts;
    }

    fn len(&self) -> usize {
        Self::len(self)
    }
}

/// Deals packets out in rounds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PacketFeed {
    /// Packets of the first rounds.
    pub round: usize,
    /// Packets of all complete rounds.
    dealt: u64,
    /// The latest time so far; `None` before the first packet.
    latest: Option<Instant>,
    /// Corrections added to timestamps and subtracted from them, in ns. One of them is 0.
    add: u64,
    take: u64,
    /// How much a packet was late at most, in ns; 0: none was late.
    most_late: u64,
    /// A packet read ahead, or one whose time depends on the packet after it. Boxed, because it is rare and the struct
    /// is moved.
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
            most_late: 0,
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
        round: &mut impl TakesRound,
        last: bool,
    ) -> bool {
        let is_full = self.deal(packets, round, last);
        round.describe(self.facts(match self.most_late {
            _ if !is_full => RoundOrder::Last,
            0 => RoundOrder::Sorted,
            late => RoundOrder::Unsorted { until: self.sorted_until(late) },
        }));
        if is_full {
            self.dealt = self.dealt.saturating_add(round.len() as u64);
        }
        is_full || (last && round.len() > 0)
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

    /// No packet that was captured before `now` will come: ends a round that is not complete. Returns its facts; `None` before
    /// the first packet.
    pub fn end_round(&mut self, round: &mut Round, now: Instant) -> Option<RoundFacts> {
        self.take_ahead(round);
        self.dealt = self.dealt.saturating_add(round.len() as u64);
        let latest = self.latest?.max(self.corrected(now));
        let order = match self.most_late {
            0 => RoundOrder::Sorted,
            late => RoundOrder::Unsorted { until: held_from(latest, late) },
        };
        let facts = self.facts(order);
        Some(RoundFacts { latest: latest.min(self.window_times.1), ..facts })
    }

    /// Goes on by the clock that shows the later time.
    pub fn merge(&mut self, other: Self, frames: u64) {
        self.most_late = self.most_late.max(other.most_late);
        self.dealt = self.dealt.saturating_add(other.dealt);
        self.clock.append(&other.clock, |frame| frame + frames);
        self.outside_window = self.outside_window.saturating_add(other.outside_window);
        if other.latest > self.latest {
            (self.latest, self.add, self.take) = (other.latest, other.add, other.take);
            self.window_times = other.window_times;
        }
    }

    /// Facts about a round in this order that ends here. Time stands still from the end of the window
    /// on.
    pub fn facts(&self, order: RoundOrder) -> RoundFacts {
        let (window_begins, window_ends) = self.window_times;
        RoundFacts { order, latest: self.latest.unwrap_or_default().min(window_ends), window_begins }
    }

    /// No packet will come that was captured before, if none is later than twice as late as those so far. All shards hold
    /// back packets of the same time, so that a connection's number does not depend on its shard.
    fn sorted_until(&self, most_late: u64) -> Instant {
        held_from(self.latest.unwrap_or_default(), most_late)
    }

    /// How many packets make the next round complete.
    fn packets_of_round(&self) -> usize {
        let grown = (self.dealt / ROUNDS).min(LONGEST_ROUND as u64) as usize;
        self.round.max(grown)
    }

    /// Adds packets to `round`; `false` if it is not full then.
    fn deal(&mut self, packets: &mut impl FnMut(&mut Packet) -> bool, round: &mut impl TakesRound, last: bool) -> bool {
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
                let is_segment = packet.message.is_none();
                self.outside_window += u64::from(is_segment);
                if time >= window_ends {
                    round.leave_out(&packet);
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
        let time = if timestamp.as_nanos() > LATEST { FALLBACK } else { timestamp };
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
            self.most_late = self.most_late.max(latest.nanos_since(time));
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
/// Packets that were captured after this time may still be overtaken, if none is later than twice as late as those so far.
fn held_from(latest: Instant, most_late: u64) -> Instant {
    let held = most_late.saturating_mul(2).min(MOST_LATE);
    Instant::from_nanos(latest.as_nanos().saturating_sub(held))
}
