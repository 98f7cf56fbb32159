//! Counts of the network's losses, holds and duplications, as sums that merge.
//!
//! Everything that [`estimate`](super::estimate) needs of any number of connections is here in bounded
//! memory. Merging is associative and commutative, up to the rounding of floating-point sums.

use super::{COPIES, GAPS, SplitMix, copy_class, gap_class};
use crate::transmission::{Fate, Transmission};
use recoup_units::Instant;
use std::time::Duration;

/// At most this many holds are kept: a uniform sample of all.
const HOLDS: usize = 256;

/// Counts of connections. The default is that of no connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossCounts {
    /// Packets sent after a packet that arrived, or first, by copy.
    pub(super) after_arrival: [Cell; COPIES],
    /// Packets sent after a lost packet, by copy and by the time since.
    pub(super) after_loss: [[Cell; GAPS]; COPIES],
    /// Losses of originals sent after a packet that arrived, by connection.
    pub(super) level: Spread,
    /// Holds among arrivals, by connection.
    pub(super) held: Spread,
    /// Duplications among arrivals, by connection.
    pub(super) duplicated: Spread,
    /// A sample of the holds, those with the smallest keys: merging keeps it uniform.
    pub(super) holds: Vec<(u64, Duration)>,
}

/// Packets in one context.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// How many were sent.
    pub sent: f64,
    /// How many of them were lost.
    pub lost: f64,
    /// How many would be lost if each connection lost them as it loses originals after an arrival.
    pub expected: f64,
}

/// Counts of events in trials, of several connections: what the method of moments needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub connections: f64,
    pub trials: f64,
    pub events: f64,
    /// The sum of the squares of each connection's trials.
    pub squared_trials: f64,
    /// The sum of each connection's events squared by its trials.
    pub squared_events_by_trials: f64,
}

impl LossCounts {
    /// Adds a connection: its transmissions in the order of sending. To be called once per connection and
    /// direction, because the connections' spread counts each call as one.
    pub fn observe(&mut self, transmissions: &[Transmission]) {
        self.observe_losses(transmissions.iter().map(|transmission| {
            let lost = match transmission.fate {
                Fate::Arrived(_) => Some(false),
                Fate::Lost => Some(true),
                Fate::Unknown => None,
            };
            (transmission.copy, transmission.sent, lost)
        }));
        let (mut arrivals, mut held, mut duplicated) = (0.0, 0.0, 0.0);
        for transmission in transmissions {
            let Fate::Arrived(arrival) = transmission.fate else {
                continue;
            };
            arrivals += 1.0;
            duplicated += f64::from(u8::from(arrival.duplicates > 0));
            if arrival.held > Duration::ZERO {
                held += 1.0;
                let identity = transmission.sent.as_nanos() ^ transmission.span.start.0.rotate_left(32);
                self.holds.push((SplitMix(identity).bits(), arrival.held));
            }
        }
        self.held.add(arrivals, held);
        self.duplicated.add(arrivals, duplicated);
        self.sample_holds();
    }

    /// Adds the counts of other connections.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.after_arrival.iter_mut().zip(&other.after_arrival) {
            mine.merge(theirs);
        }
        let mine = self.after_loss.as_flattened_mut().iter_mut();
        for (mine, theirs) in mine.zip(other.after_loss.as_flattened()) {
            mine.merge(theirs);
        }
        self.level.merge(&other.level);
        self.held.merge(&other.held);
        self.duplicated.merge(&other.duplicated);
        self.holds.extend_from_slice(&other.holds);
        self.sample_holds();
    }

    /// Whether any packet was lost.
    pub fn any_loss(&self) -> bool {
        let mut cells = self.after_arrival.iter().chain(self.after_loss.as_flattened());
        cells.any(|cell| cell.lost > 0.0)
    }

    fn observe_losses(&mut self, packets: impl Iterator<Item = (u16, Instant, Option<bool>)>) {
        let mut after_arrival = [Cell::default(); COPIES];
        let mut after_loss = [[Cell::default(); GAPS]; COPIES];
        let mut previous = Some((false, Instant::ZERO));
        for (copy, sent, lost) in packets {
            if let (Some(lost), Some((previous_lost, at))) = (lost, previous) {
                let copy = copy_class(copy);
                let cell = if previous_lost {
                    &mut after_loss[copy][gap_class(sent.since(at))]
                } else {
                    &mut after_arrival[copy]
                };
                cell.sent += 1.0;
                cell.lost += f64::from(u8::from(lost));
            }
            previous = lost.map(|lost| (lost, sent));
        }
        let originals = after_arrival[0];
        // Without one loss, because a retransmission exists only because an original was lost: of the other
        // originals, this share was lost. So the expectation has no bias for binomial losses.
        let share = (originals.lost - 1.0).max(0.0) / (originals.sent - 1.0).max(1.0);
        let seen = after_arrival.iter().chain(after_loss.as_flattened());
        let sums = self.after_arrival.iter_mut();
        for (sum, cell) in sums.chain(self.after_loss.as_flattened_mut()).zip(seen) {
            sum.merge(&Cell { expected: cell.sent * share, ..*cell });
        }
        self.level.add(originals.sent, originals.lost);
    }

    fn sample_holds(&mut self) {
        self.holds.sort_unstable();
        self.holds.truncate(HOLDS);
    }
}

impl Cell {
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.expected += other.expected;
    }

    pub fn sum<'a>(cells: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        cells.into_iter().for_each(|cell| sum.merge(cell));
        sum
    }
}

impl Spread {
    fn add(&mut self, trials: f64, events: f64) {
        if trials > 0.0 {
            self.merge(&Self {
                connections: 1.0,
                trials,
                events,
                squared_trials: trials * trials,
                squared_events_by_trials: events * events / trials,
            });
        }
    }

    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.trials += other.trials;
        self.events += other.events;
        self.squared_trials += other.squared_trials;
        self.squared_events_by_trials += other.squared_events_by_trials;
    }

    /// The share of trials with an event; 0 without trials.
    pub fn share(&self) -> f64 {
        if self.trials > 0.0 { self.events / self.trials } else { 0.0 }
    }
}
