//! Distributions in bounded memory.

use super::Merge;
use hdrhistogram::Histogram;
use recoup_support::stats::recorded;
use serde::{Deserialize, Serialize};

/// Significant digits.
const DIGITS: u8 = 3;

/// The largest number of steps that an auto-resizing histogram can count.
const LARGEST: u64 = i64::MAX as u64 / 2;

/// About how many points a [`Cdf`] has: one per half percent.
const POINTS: u64 = 200;

/// A distribution of non-negative numbers: exact up to 2,048 steps, within 0.1 % beyond, in at most
/// half a MB. The order of merging does not matter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Distribution {
    /// The size of a step.
    step: f64,
    /// `None` until the first value.
    #[serde(with = "recorded")]
    histogram: Option<Histogram<u64>>,
    min: u64,
    max: u64,
}

/// A distribution in reports. A quantile is the smallest value that the given share of all values
/// does not exceed; `None` without values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cdf {
    /// The number of values.
    pub count: u64,
    /// The minimum.
    pub min: Option<f64>,
    /// The 10th percentile.
    pub p10: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The maximum.
    pub max: Option<f64>,
    /// The distribution function: a value, and the share of all values (0 to 1) that do not exceed
    /// it. At most a few hundred points, half a percent apart; fewer if there are fewer values.
    pub points: Vec<(f64, f64)>,
}

/// An empty distribution of whole numbers.
impl Default for Distribution {
    fn default() -> Self {
        Self::in_steps_of(1.0)
    }
}

/// The other distribution must have the same steps.
impl Merge for Distribution {
    fn merge(&mut self, other: &Self) {
        if let Some(theirs) = &other.histogram
            && self.with(|ours| ours.add(theirs).is_ok())
        {
            (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        }
    }
}

impl Distribution {
    /// An empty distribution in steps of `step`, which must be positive.
    pub(super) fn in_steps_of(step: f64) -> Self {
        Self { step, histogram: None, min: u64::MAX, max: 0 }
    }

    /// Adds a value. Ignores negative values and NaN.
    pub fn add(&mut self, value: f64) {
        if value.is_nan() || value < 0.0 {
            return;
        }
        // A value that does not fit counts as the largest that does.
        self.add_steps((value / self.step).round() as u64);
    }

    /// Adds a whole number of steps.
    pub(super) fn add_steps(&mut self, steps: u64) {
        let steps = steps.min(LARGEST);
        // The histogram resizes itself, so recording cannot fail.
        if self.with(|histogram| histogram.record(steps).is_ok()) {
            (self.min, self.max) = (self.min.min(steps), self.max.max(steps));
        }
    }

    /// Changes the histogram, creating it if there is none.
    fn with(&mut self, change: impl FnOnce(&mut Histogram<u64>) -> bool) -> bool {
        if self.histogram.is_none() {
            // Fails only for more than five digits.
            self.histogram = Histogram::new(DIGITS).ok();
        }
        self.histogram.as_mut().is_some_and(change)
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The smallest value that a share `q` (0 to 1) of all does not exceed; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let histogram = self.histogram.as_ref()?;
        Some(self.value(histogram.value_at_quantile(q)))
    }

    /// The mean, within a thousandth; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        let values = self.values().map(|(value, n)| value * n as f64);
        (self.count() > 0).then(|| values.sum::<f64>() / self.count() as f64)
    }

    /// The share of values (0 to 1) below `limit`; `None` without values.
    pub fn share_below(&self, limit: f64) -> Option<f64> {
        self.share(|value| value < limit)
    }

    /// The share of values (0 to 1) above `limit`; `None` without values.
    pub fn share_above(&self, limit: f64) -> Option<f64> {
        self.share(|value| value > limit)
    }

    fn share(&self, counts: impl Fn(f64) -> bool) -> Option<f64> {
        let values = self.values().filter(|(value, _)| counts(*value));
        let (all, some) = (self.count(), values.map(|(_, n)| n).sum::<u64>());
        (all > 0).then(|| some as f64 / all as f64)
    }

    /// Values in increasing order, and how many of each.
    fn values(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let recorded = self.histogram.iter().flat_map(|h| h.iter_recorded());
        recorded.map(|step| {
            let steps = step.value_iterated_to();
            (self.value(steps), step.count_at_value())
        })
    }

    /// The value of a number of steps: the lowest that the histogram does not distinguish from it.
    fn value(&self, steps: u64) -> f64 {
        let lowest = |h: &Histogram<u64>| h.lowest_equivalent(steps);
        let steps = self.histogram.as_ref().map_or(steps, lowest);
        // Divided, not multiplied, so that 1000 thousandths are exactly 1.
        steps.clamp(self.min, self.max) as f64 / (1.0 / self.step)
    }

    /// The distribution as reports show it.
    pub fn cdf(&self) -> Cdf {
        Cdf {
            count: self.count(),
            min: self.quantile(0.0),
            p10: self.quantile(0.1),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            max: self.quantile(1.0),
            points: self.points(),
        }
    }

    fn points(&self) -> Vec<(f64, f64)> {
        let all = self.count();
        let (mut seen, mut shown) = (0, 0);
        let mut points = Vec::new();
        for (value, n) in self.values() {
            seen += n;
            // The first, the last, and between them as few as show the shape.
            if points.is_empty() || seen == all || (seen - shown).saturating_mul(POINTS) >= all {
                points.push((value, seen as f64 / all as f64));
                shown = seen;
            }
        }
        points
    }
}

#[cfg(test)]
mod tests;
