//! How far ACKs run ahead of the estimated bandwidth. Paths that hold ACKs (or data) back and release them together
//! need so much more window.
//!
//! ```text
//! excess = delivered since the epoch began − BtlBw · its length       a new epoch begins where this is not positive
//! the window grows by the largest excess of 5 to 10 round trips, at most BtlBw · 100 ms
//! ```

use super::super::path::PathSample;
use super::bandwidth::Bandwidth;
use core::time::Duration;
use recoup_units::{Instant, Segments};

/// Round trips after which the older of the two maxima is forgotten.
const ROUNDS: u8 = 5;
/// The segments delivered in an epoch, at which it ends.
const LONGEST: u32 = 1 << 20;
/// The window grows by no more than is delivered in this time.
const MOST: Duration = Duration::from_millis(100);

/// The excess of an epoch, and the largest of the last ones.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Aggregation {
    since: Instant,
    delivered: u32,
    /// The largest excess of the present round trips and of the last ones.
    largest: [u16; 2],
    rounds: u8,
}

impl Aggregation {
    /// A new epoch begins.
    pub fn restart(&mut self, now: Instant) {
        self.since = now;
        self.delivered = 0;
    }

    pub fn update(&mut self, ack: &PathSample, btl_bw: Bandwidth, round_started: bool) {
        let is_valid = ack.rate.is_some_and(|rate| rate.interval.is_some());
        if ack.delivered == Segments::ZERO || !is_valid {
            return;
        }
        if round_started {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.largest = [0, self.largest[0]];
            }
        }
        let expected = |since| btl_bw.segments_within(ack.totals.at.since(since)).0;
        let mut ahead_of = expected(self.since);
        let after = self.delivered.saturating_add(ack.delivered.0);
        if self.delivered <= ahead_of || after >= LONGEST {
            self.restart(ack.totals.at);
            ahead_of = 0;
        }
        self.delivered = self.delivered.saturating_add(ack.delivered.0).min(LONGEST - 1);
        let excess = self.delivered.saturating_sub(ahead_of).min(ack.cwnd.0);
        self.largest[0] = self.largest[0].max(u16::try_from(excess).unwrap_or(u16::MAX));
    }

    /// The segments by which the window grows.
    pub fn excess(&self, btl_bw: Bandwidth) -> Segments {
        let largest = self.largest[0].max(self.largest[1]);
        Segments(largest.into()).min(btl_bw.segments_within(MOST))
    }
}
