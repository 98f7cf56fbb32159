//! Detects a policer: a token bucket that lets a burst pass and then drops everything above its rate.
//!
//! ```text
//! an interval    from a loss to a loss, 4 to 16 round trips, lost/delivered ≥ 50/256
//! policed        two intervals in succession with rates that differ by at most 1/8 of the earlier, or 4 kbit/s
//! then           pace at their mean for 48 round trips of ProbeBW
//! ```
//! Source: Linux `bbr_lt_bw_sampling`, after T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM
//! 2016.

use super::super::path::PathTotals;
use super::UNIT;
use super::bandwidth::Bandwidth;
use core::time::Duration;

/// The fewest round trips of an interval.
const LEAST_ROUNDS: u8 = 4;
/// lost/delivered of a policed interval, in 1/256.
const LOSS: u64 = 50;
/// The rates of policed intervals differ by at most this fraction of the rate, as 1/n.
const CLOSE: u32 = 8;
/// Or by at most these bytes per second.
const CLOSE_RATE: u64 = 4000 / 8;
/// Round trips with the policed rate.
const LONGEST_USE: u8 = 48;

/// The interval under way, and the rate of the last one.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Policer {
    is_sampling: bool,
    /// The rate is in use.
    is_policed: bool,
    rate: Bandwidth,
    rounds: u8,
    /// The connection's totals when the interval began.
    began: PathTotals,
}

impl Policer {
    /// The policed rate, while it is in use.
    pub fn rate(&self) -> Option<Bandwidth> {
        self.is_policed.then_some(self.rate)
    }

    /// Forgets everything.
    pub fn stop(&mut self, totals: &PathTotals) {
        *self = Self::default();
        self.begin(totals);
    }

    fn begin(&mut self, totals: &PathTotals) {
        self.began = *totals;
        self.rounds = 0;
    }

    /// The rate is in use. `is_round`: a round trip of ProbeBW began.
    pub fn count_use(&mut self, totals: &PathTotals, is_round: bool) {
        self.rounds += u8::from(is_round);
        if self.rounds >= LONGEST_USE {
            self.stop(totals);
        }
    }

    /// Takes in an ACK or a timeout. `rounds`: the round trips that it begins; `losses`: it marks segments lost.
    pub fn sample(&mut self, totals: &PathTotals, rounds: u8, losses: bool, app_limited: bool, mss: u32) {
        if !self.is_sampling {
            if !losses {
                return;
            }
            self.begin(totals);
            self.is_sampling = true;
        }
        if app_limited {
            return self.stop(totals);
        }
        self.rounds += rounds;
        if self.rounds < LEAST_ROUNDS {
            return;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            return self.stop(totals);
        }
        let lost = totals.lost.saturating_sub(self.began.lost);
        let delivered = totals.delivered.saturating_sub(self.began.delivered);
        let is_lossy = delivered > 0 && lost.saturating_mul(UNIT) >= LOSS.saturating_mul(delivered);
        if !losses || !is_lossy {
            return;
        }
        let millis = totals.at.since(self.began.at).as_millis();
        let length = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
        if let Some(rate) = Bandwidth::of(delivered, length) {
            self.end(rate, totals, mss);
        }
    }

    /// An interval ended with this rate.
    fn end(&mut self, rate: Bandwidth, totals: &PathTotals, mss: u32) {
        let last = self.rate;
        let known = last > Bandwidth::default();
        let apart = rate.abs_diff(last);
        let is_close = apart <= last.times(UNIT / u64::from(CLOSE)) || apart.bytes_per_second(mss, UNIT) <= CLOSE_RATE;
        if known && is_close {
            self.rate = rate.mean(last);
            self.is_policed = true;
            self.rounds = 0;
            return;
        }
        self.rate = rate;
        self.begin(totals);
    }
}
