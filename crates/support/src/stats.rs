//! Statistics of many flows in bounded memory.

mod bootstrap;
mod confidence;
mod integers;
pub mod recorded;

pub use bootstrap::{Bootstrap, Interval, RESAMPLES, Sample, Statistic, Statistics};
pub use confidence::{Estimate, Share};
pub use integers::{Integers, Signs};

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
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Durations {
        let mut d = Durations::default();
        values.into_iter().for_each(|ms| d.add(Duration::from_millis(ms)));
        d
    }

    #[test]
    fn small_distributions_are_exact() {
        let s = of([5, 1, 4, 2, 3]).summary().unwrap();
        assert_eq!((s.min, s.p50, s.p90, s.p99, s.max, s.mean), (1.0, 3.0, 5.0, 5.0, 5.0, 3.0));
        assert_eq!(of([]).summary(), None);
        let one = of([440]).summary().unwrap();
        assert_eq!((one.min, one.p50, one.p99, one.max, one.mean), (440.0, 440.0, 440.0, 440.0, 440.0));
    }

    #[test]
    fn large_distributions_are_nearly_exact_in_bounded_memory() {
        let d = of(1..=100_000);
        assert!(d.exact.is_empty());
        let s = d.summary().unwrap();
        for (value, expected) in [(s.p50, 50_000.0), (s.p90, 90_000.0), (s.p99, 99_000.0)] {
            assert!((value / expected - 1.0f64).abs() < 0.001, "{value} {expected}");
        }
        assert_eq!((s.min, s.max, s.mean), (1.0, 100_000.0, 50_000.5));
    }

    #[test]
    fn cumulative_counts_end_at_the_number_of_values() {
        let few = of([5, 1, 5, 2]).cumulative();
        assert_eq!(few, [(1_000_000, 1), (2_000_000, 2), (5_000_000, 4)]);
        assert_eq!(of([]).cumulative(), []);
        let many = of(1..=100_000).cumulative();
        assert_eq!(many.last(), Some(&(100_000_000_000, 100_000)));
        for (nanos, count) in many {
            let expected = nanos as f64 / 1e6;
            assert!((count as f64 / expected - 1.0).abs() < 0.01, "{nanos} {count}");
        }
    }

    #[test]
    fn a_saved_distribution_goes_on_as_if_it_was_not_saved() {
        for n in [10, 10_000] {
            let mut whole = of(0..n);
            let bytes = postcard::to_stdvec(&whole).unwrap();
            let mut loaded: Durations = postcard::from_bytes(&bytes).unwrap();
            for ms in [3, 7 * n] {
                whole.add(Duration::from_millis(ms));
                loaded.add(Duration::from_millis(ms));
            }
            assert_eq!(loaded.summary(), whole.summary());
        }
    }

    #[test]
    fn the_order_of_merging_does_not_matter() {
        for n in [100, 3000, 30_000] {
            let whole = of((0..n).map(|i| i * 7919 % 60_000));
            let parts: Vec<_> = (0..4).map(|k| of((0..n).filter(|i| i % 4 == k).map(|i| i * 7919 % 60_000))).collect();
            let mut forwards = Durations::default();
            parts.iter().for_each(|p| forwards.merge(p));
            let mut backwards = Durations::default();
            parts.iter().rev().for_each(|p| backwards.merge(p));
            assert_eq!(forwards.summary(), whole.summary());
            assert_eq!(backwards.summary(), whole.summary());
        }
    }
}
