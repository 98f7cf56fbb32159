//! Bandwidths, and the maximum of those of the last round trips.

use super::{Gain, UNIT};
use core::time::Duration;
use recoup_units::Segments;

/// Linux's unit of bandwidth: 2⁻²⁴ segments per microsecond.
const SCALE: u32 = 24;
/// The share of the bandwidth that is sent, in percent: a little less than it, so that queues drain.
const PACED: u64 = 99;

/// A bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bandwidth(u32);

impl Bandwidth {
    /// `segments` in `time`. `None` below a microsecond.
    pub fn of(segments: u64, time: Duration) -> Option<Self> {
        let scaled = u128::from(segments) << SCALE;
        let bandwidth = scaled.checked_div(time.as_micros())?;
        Some(Self(u32::try_from(bandwidth).unwrap_or(u32::MAX)))
    }

    /// With a gain, rounded down.
    pub fn times(self, gain: Gain) -> Self {
        Self(u32::try_from(u64::from(self.0) * gain / UNIT).unwrap_or(u32::MAX))
    }

    /// The pacing rate in bytes per second.
    pub fn bytes_per_second(self, mss: u32, gain: Gain) -> u64 {
        let rate = u128::from(self.0) * u128::from(mss) * u128::from(gain) / u128::from(UNIT);
        let paced = rate * u128::from(1_000_000 / 100 * PACED);
        u64::try_from(paced >> SCALE).unwrap_or(u64::MAX)
    }

    /// The segments of `time` with a gain, rounded up.
    pub fn segments_in(self, time: Duration, gain: Gain) -> Segments {
        let scaled = self.scaled(time) * u128::from(gain) / u128::from(UNIT);
        segments(scaled.div_ceil(1 << SCALE))
    }

    /// The whole segments of `time`.
    pub fn segments_within(self, time: Duration) -> Segments {
        segments(self.scaled(time) >> SCALE)
    }

    fn scaled(self, time: Duration) -> u128 {
        // Longer times than a day of microseconds mean the same.
        u128::from(self.0) * time.as_micros().min(1 << 37)
    }

    /// The average of both.
    pub fn mean(self, other: Self) -> Self {
        Self(u32::midpoint(self.0, other.0))
    }

    pub fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

fn segments(count: u128) -> Segments {
    Segments(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The largest value of a window of time, by three samples: the best of the window, of the part after it, and of the part
/// after that (Linux lib/win_minmax.c, after Kathleen Nichols).
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MaxFilter {
    best: [Sample; 3],
}

#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Sample {
    round: u32,
    bandwidth: Bandwidth,
}

impl MaxFilter {
    pub fn max(&self) -> Bandwidth {
        self.best[0].bandwidth
    }

    /// A sample of round trip `round`. The window is of `window` round trips.
    pub fn update(&mut self, window: u32, round: u32, bandwidth: Bandwidth) {
        let sample = Sample { round, bandwidth };
        let age = |of: Sample| round.wrapping_sub(of.round);
        if bandwidth >= self.best[0].bandwidth || age(self.best[2]) > window {
            self.best = [sample; 3];
            return;
        }
        if bandwidth >= self.best[1].bandwidth {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if bandwidth >= self.best[2].bandwidth {
            self.best[2] = sample;
        }
        let [first, second, third] = self.best;
        if age(first) > window {
            self.best = match age(second) > window {
                false => [second, third, sample],
                true => [third, sample, sample],
            };
        } else if second.round == first.round && age(first) > window / 4 {
            self.best = [first, sample, sample];
        } else if third.round == second.round && age(first) > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests;
