//! Statistics of many flows in bounded memory.

mod bootstrap;
mod confidence;
mod integers;
pub mod recorded;
mod student;

pub use bootstrap::{Bootstrap, Interval, RESAMPLES, Sample, Statistic, Statistics};
pub use confidence::{Estimate, Share};
pub use integers::{Integers, Signs};
pub use student::{student, student_two_sided};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of distinct values that are kept exactly.
const EXACT: usize = 4096;

/// A distribution of durations.
///
/// It is exact up to 4,096 distinct values, and within 0.01 % beyond. Minimum, maximum and mean are
/// always exact. The order of additions and merges does not matter.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Durations {
    exact: BTreeMap<u64, u64>,
    #[serde(with = "recorded")]
    coarse: Option<Histogram<u64>>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Quantiles and mean of a distribution, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The smallest value.
    pub min: f64,
    /// The 5th percentile.
    pub p5: f64,
    /// The 10th percentile.
    pub p10: f64,
    /// The 25th percentile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The 75th percentile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest value.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

impl Durations {
    /// Adds a value.
    pub fn add(&mut self, d: Duration) {
        let nanos = u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        self.min = if self.count == 0 { nanos } else { self.min.min(nanos) };
        self.max = self.max.max(nanos);
        self.count += 1;
        self.sum += u128::from(nanos);
        self.insert(nanos, 1);
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        for (&nanos, &n) in &other.exact {
            self.insert(nanos, n);
        }
        if let Some(theirs) = &other.coarse {
            self.coarsen();
            if let Some(ours) = &mut self.coarse {
                // Adding cannot fail, because both histograms resize themselves.
                ours.add(theirs).unwrap_or_default();
            }
        }
    }

    fn insert(&mut self, nanos: u64, n: u64) {
        if let Some(coarse) = &mut self.coarse {
            // Recording cannot fail, because the histogram resizes itself.
            coarse.record_n(nanos, n).unwrap_or_default();
            return;
        }
        *self.exact.entry(nanos).or_default() += n;
        if self.exact.len() > EXACT {
            self.coarsen();
        }
    }

    /// Moves all values to a histogram, which is not exact but bounds memory.
    fn coarsen(&mut self) {
        if self.coarse.is_some() {
            return;
        }
        let Ok(mut coarse) = Histogram::new(4) else {
            return;
        };
        coarse.auto(true);
        for (nanos, n) in std::mem::take(&mut self.exact) {
            coarse.record_n(nanos, n).unwrap_or_default();
        }
        self.coarse = Some(coarse);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value, in ms, that at least the share `q` of all values do not exceed.
    pub fn quantile(&self, q: f64) -> f64 {
        let nanos = match &self.coarse {
            Some(coarse) => coarse.value_at_quantile(q),
            None => {
                let rank = ((self.count as f64 * q).ceil() as u64).max(1);
                let mut seen = 0;
                let at_rank = self.exact.iter().find(|(_, n)| {
                    seen += **n;
                    seen >= rank
                });
                at_rank.map_or(self.max, |(nanos, _)| *nanos)
            }
        };
        nanos.clamp(self.min, self.max) as f64 / 1e6
    }

    /// The distinct values in ns from the smallest to the largest, each with the number of values up to it. Beyond 4,096
    /// distinct values they are those of a histogram.
    pub fn cumulative(&self) -> Vec<(u64, u64)> {
        let counts: Vec<(u64, u64)> = match &self.coarse {
            None => self.exact.iter().map(|(nanos, n)| (*nanos, *n)).collect(),
            Some(coarse) => coarse
                .iter_recorded()
                .map(|step| {
                    let nanos = step.value_iterated_to().clamp(self.min, self.max);
                    (nanos, step.count_since_last_iteration())
                })
                .collect(),
        };
        let mut seen = 0;
        let counts = counts.into_iter().map(|(nanos, n)| {
            seen += n;
            (nanos, seen)
        });
        counts.collect()
    }

    /// Quantiles and mean; `None` without values.
    pub fn summary(&self) -> Option<Summary> {
        (self.count > 0).then(|| Summary {
            min: self.min as f64 / 1e6,
            p5: self.quantile(0.05),
            p10: self.quantile(0.1),
            p25: self.quantile(0.25),
            p50: self.quantile(0.5),
            p75: self.quantile(0.75),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max as f64 / 1e6,
            // Rounded to the nanosecond, the resolution of the other figures.
            mean: (self.sum as f64 / self.count as f64).round() / 1e6,
        })
    }
}

#[cfg(test)]
mod tests;
