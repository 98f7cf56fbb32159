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
use recoup_support::threads::{cores, in_parallel_with};
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
    /// What deviations are multiplied by.
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
mod tests {
    use super::*;

    fn sample(values: impl IntoIterator<Item = f64>) -> Sample {
        let values = values.into_iter().enumerate();
        Sample::new(values.map(|(unit, value)| (unit as u32, 1, value)))
    }

    /// Independent exponential values with the mean 100.
    fn exponential(trial: u64, n: u64) -> Vec<f64> {
        let draw = |unit| Draws::new(5, trial, unit).exponential(100.0, 0, 0);
        (0..n).map(draw).collect()
    }

    #[test]
    fn statistics_count_each_unit_as_often_as_it_was_drawn() {
        let three = sample([30.0, 10.0, 20.0]);
        assert_eq!(three.statistics(&[1, 1, 1]), [20.0, 20.0, 30.0, 30.0]);
        assert_eq!(three.statistics(&[0, 3, 1]), [12.5, 10.0, 20.0, 20.0]);
        assert!(three.statistics(&[0, 0, 0])[0].is_nan());
        // A unit with several values, and one without any.
        let runs = Sample::new([(0, 2, 10.0), (0, 1, 70.0), (2, 1, 30.0)].into_iter());
        assert_eq!(runs.statistics(&[1, 5, 1]), [30.0, 10.0, 70.0, 70.0]);
        assert_eq!(runs.statistics(&[0, 2, 2]), [30.0; 4]);
    }

    #[test]
    fn every_unit_is_drawn_as_often_as_the_others() {
        let mut sum = [0_u32; 7];
        for resample in 0..2000 {
            let mut weights = [0; 7];
            draw(&mut weights, 3, resample);
            assert_eq!(weights.iter().sum::<u32>(), 7);
            sum.iter_mut().zip(weights).for_each(|(all, one)| *all += one);
        }
        // 14,000 draws of 7 units: each has 2,000, give or take 41.
        for drawn in sum {
            assert!((1850..=2150).contains(&drawn), "{sum:?}");
        }
    }

    #[test]
    fn about_95_of_100_intervals_cover_the_mean_and_the_median() {
        let (mut mean, mut median) = (0, 0);
        for trial in 0..100 {
            let values = exponential(trial, 60);
            let boot = Bootstrap::new(&[sample(values)], trial, 60, 60);
            let whole = boot.whole[0];
            let covers = |which: usize, truth: f64| {
                let interval = boot.interval(whole[which], |all| all[0][which]).unwrap();
                u32::from(interval.low <= truth && truth <= interval.high)
            };
            mean += covers(0, 100.0);
            median += covers(1, 100.0 * 2.0_f64.ln());
        }
        for covered in [mean, median] {
            assert!((88..=99).contains(&covered), "{mean} {median}");
        }
    }

    /// Every flow is 1 ms faster, which the spread of the flows would hide if they were not paired.
    #[test]
    fn a_difference_between_pairs_has_the_interval_of_the_differences() {
        let first = exponential(1, 80);
        let faster = first.iter().map(|ms| ms - 1.0);
        let samples = [sample(first.iter().copied()), sample(faster)];
        let boot = Bootstrap::new(&samples, 1, 80, 80);
        let paired = boot.interval(-1.0, |all| all[1][0] - all[0][0]).unwrap();
        assert!((paired.low + 1.0).abs() < 1e-9 && (paired.high + 1.0).abs() < 1e-9);
        let alone = boot.interval(100.0, |all| all[0][0]).unwrap();
        assert!(alone.high - alone.low > 20.0, "{alone:?}");
        // Four times as many flows halve the interval.
        let of_more = Bootstrap::new(&samples, 1, 80, 320);
        let narrow = of_more.interval(100.0, |all| all[0][0]).unwrap();
        let ratio = (narrow.high - narrow.low) / (alone.high - alone.low);
        assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn the_largest_value_bounds_a_quantile_of_enough_values() {
        for statistic in Statistic::ALL {
            let share = statistic.share().unwrap_or(0.5);
            let fewest = statistic.fewest() as i32;
            assert!(share.powi(fewest) <= 0.025, "{statistic:?}");
            assert!(share.powi(fewest - 1) > 0.025, "{statistic:?}");
        }
    }
}
