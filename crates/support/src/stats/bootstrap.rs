//! Bootstrap intervals of the mean and of quantiles.
//!
//! The values of some independent units (flows of their own network, runs of a world) are drawn with replacement,
//! [`RESAMPLES`] times as many units as there are. The interval of a statistic reaches from the 2.5th to the 97.5th
//! percentile of its values (the percentile interval of Efron and Tibshirani, "An Introduction to the Bootstrap",
//! 1993, §13.3). All samples are resampled with the same units, so that differences between them are paired.
//!
//! Draws are keyed by seed, resample and number. The number of cores changes nothing.

use crate::threads::{cores, in_parallel_with};
use recoup_path::draws::Draws;
use std::convert::Infallible;

/// How often the units are drawn.
pub const RESAMPLES: usize = 2000;

/// Keeps these draws apart from all others of the same seed.
const DOMAIN: u64 = u64::from_le_bytes(*b"bootstrp");

/// The steps of all samples times resamples from which on several threads are worth their start.
const WORTH_THREADS: usize = 4_000_000;

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The statistics that have intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The median.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

impl Statistic {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Mean, Self::P50, Self::P95, Self::P99];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    /// The share of the values that lie at or below it; `None` for the mean.
    pub const fn share(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(0.5),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
        }
    }

    /// The fewest values of which it has an interval. All of `n` values lie below the quantile `q` with the probability
    /// qⁿ. Unless this is at most 2.5 %, the largest value is no upper bound. The mean needs as many as the median.
    pub fn fewest(self) -> u64 {
        match self {
            Self::Mean | Self::P50 => 6,
            Self::P95 => 72,
            Self::P99 => 368,
        }
    }
}

/// The values of one statistic each, in the order of [`Statistic::ALL`].
pub type Statistics = [f64; 4];

/// Values of units.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Unit, number of equal values and value, from the smallest value to the largest.
    steps: Vec<(u32, u32, f64)>,
}

impl Sample {
    /// A sample of these values. Each has the number of its unit, from 0, and how often the unit has it.
    pub fn new(values: impl Iterator<Item = (u32, u32, f64)>) -> Self {
        let mut steps: Vec<_> = values.collect();
        // Sums round in an order that does not depend on the caller's.
        steps.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
        Self { steps }
    }

    /// The statistics where unit `u` counts `weights[u]` times; NaN without values.
    fn statistics(&self, weights: &[u32]) -> Statistics {
        let weigh = |unit: u32, count: u32| {
            let weight = weights.get(unit as usize).copied().unwrap_or(0);
            u64::from(weight) * u64::from(count)
        };
        let (mut total, mut sum) = (0_u64, 0.0);
        for (unit, count, value) in &self.steps {
            let weight = weigh(*unit, *count);
            total += weight;
            sum += weight as f64 * value;
        }
        let mut found = [f64::NAN; 4];
        if total == 0 {
            return found;
        }
        found[0] = sum / total as f64;
        let ranks = [0.5, 0.95, 0.99].map(|share| (total as f64 * share).ceil() as u64);
        let (mut seen, mut next) = (0, 0);
        for (unit, count, value) in &self.steps {
            seen += weigh(*unit, *count);
            while next < ranks.len() && seen >= ranks[next] {
                next += 1;
                found[next] = *value;
            }
            if next == ranks.len() {
                break;
            }
        }
        found
    }
}

/// The statistics of each sample, of all units and of each resample.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    whole: Vec<Statistics>,
    resampled: Vec<Vec<Statistics>>,
    /// The factor of deviations.
    scale: f64,
}

impl Bootstrap {
    /// Draws `units` units of all samples at a time. If the samples are a part of the units, intervals are as narrow as
    /// those of all `of` units: their width falls with the root of the number (Bickel, Götze and van Zwet, "Resampling
    /// fewer than n observations", 1997).
    pub fn new(samples: &[Sample], seed: u64, units: u32, of: u64) -> Self {
        let every = vec![1; units as usize];
        let steps: usize = samples.iter().map(|sample| sample.steps.len()).sum();
        let threads = match steps.saturating_mul(RESAMPLES) < WORTH_THREADS {
            true => 1,
            false => cores(),
        };
        let resampled = in_parallel_with(
            RESAMPLES,
            threads,
            || vec![0; units as usize],
            |weights: &mut Vec<u32>, number| {
                draw(weights, seed, number as u64);
                let statistics = samples.iter().map(|sample| sample.statistics(weights));
                Ok::<_, Infallible>(statistics.collect())
            },
        );
        let Ok(resampled) = resampled;
        Self {
            whole: samples.iter().map(|one| one.statistics(&every)).collect(),
            resampled,
            scale: (f64::from(units) / of.max(1) as f64).sqrt().min(1.0),
        }
    }

    /// The statistics of all units, of each sample.
    pub fn whole(&self) -> &[Statistics] {
        &self.whole
    }

    /// The interval of what `statistic` computes of the statistics of all samples, around its value `estimate`. `None`
    /// where it is not a number in some resample.
    pub fn interval(&self, estimate: f64, statistic: impl Fn(&[Statistics]) -> f64) -> Option<Interval> {
        let whole = statistic(&self.whole);
        let values = self.resampled.iter().map(|resample| statistic(resample));
        let mut values: Vec<f64> = values.collect();
        if !(whole.is_finite() && values.iter().all(|value| value.is_finite())) {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let tail = RESAMPLES / 40;
        let end = |value: f64| estimate + (value - whole) * self.scale;
        Some(Interval { low: end(values[tail - 1]), high: end(values[RESAMPLES - tail]) })
    }
}

/// Draws as many units as there are, and counts how often each was drawn.
fn draw(weights: &mut [u32], seed: u64, resample: u64) {
    weights.fill(0);
    let key = (Draws::new(seed, DOMAIN, resample).uniform(0, 0) * (1_u64 << 52) as f64) as u64;
    let units = weights.len() as u128;
    for number in 1..=weights.len() as u64 {
        // SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
        let mut bits = (key << 12).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        weights[((u128::from(bits) * units) >> 64) as usize] += 1;
    }
}

#[cfg(test)]
mod tests;
