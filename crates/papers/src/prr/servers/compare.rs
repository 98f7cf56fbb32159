//! Estimates of shares, means and their differences between arms, with 95 % confidence intervals.
//!
//! Users are the units: users are independent of each other, and the responses of one user are not. Users of one link are a unit. Each quantity is a
//! ratio of two sums over all users. Its interval follows from the first terms of its Taylor series (Cochran, "Sampling
//! Techniques", 1977, §6.5). User n meets the same network with all arms, so differences are paired. Quantiles
//! have the interval of a bootstrap whose weights are Poisson (Chamandy et al., "Estimating Uncertainty for
//! Massive Data Streams", 2012).

use super::Cell;
use super::connection::Connection;
use crate::prelude::*;

/// How often quantiles are resampled.
const RESAMPLES: u64 = 200;

/// Half the width of a 95 % interval, in standard deviations.
const Z: f64 = 1.959_964;

/// No data decide it.
pub const UNKNOWN: Estimate = Estimate::UNKNOWN;

/// A quantity of a connection.
pub trait Of: Fn(&Connection) -> f64 {}
impl<F: Fn(&Connection) -> f64> Of for F {}

/// A ratio, and how far each user moves it.
struct Ratio {
    value: f64,
    terms: Vec<f64>,
}

impl Ratio {
    /// The sum of `of` divided by the sum of `per`; `None` if that is 0.
    fn new(cell: &Cell, of: &impl Of, per: &impl Of) -> Option<Self> {
        let sum = |unit: &[Arc<Connection>]| unit.iter().fold((0.0, 0.0), |(x, n), one| (x + of(one), n + per(one)));
        let pairs: Vec<(f64, f64)> = cell.connections.chunks(cell.users_per_link).map(sum).collect();
        let users = pairs.len() as f64;
        let (sum, all) = pairs.iter().fold((0.0, 0.0), |(x, n), pair| (x + pair.0, n + pair.1));
        let value = sum / all;
        let terms = pairs.iter().map(|(x, n)| (x - value * n) * users / all);
        (all > 0.0).then(|| Self { value, terms: terms.collect() })
    }
}

/// The sum of `of` divided by the sum of `per`.
pub fn ratio(cell: &Cell, of: impl Of, per: impl Of) -> Estimate {
    Ratio::new(cell, &of, &per).map_or(Estimate::UNKNOWN, |ratio| Estimate {
        mean: ratio.value,
        half: Estimate::of(ratio.terms.into_iter()).half,
    })
}

/// As [`ratio`], in percent.
pub fn percent(cell: &Cell, of: impl Of, per: impl Of) -> Estimate {
    ratio(cell, of, per) * 100.0
}

/// By how much the ratio is larger with `arm` than with `base`, in percent of `base`.
pub fn relative(base: &Cell, arm: &Cell, of: impl Of, per: impl Of) -> Estimate {
    let ratios = Ratio::new(base, &of, &per).zip(Ratio::new(arm, &of, &per));
    let Some((a, b)) = ratios.filter(|(a, _)| a.value != 0.0) else {
        return Estimate::UNKNOWN;
    };
    let quotient = b.value / a.value;
    let terms: Estimate = a.terms.iter().zip(&b.terms).map(|(x, y)| (y - quotient * x) / a.value).collect();
    Estimate { mean: quotient - 1.0, ..terms } * 100.0
}

/// By how much a total is larger with `arm` than with `base`, in percent.
pub fn total(base: &Cell, arm: &Cell, of: impl Of) -> Estimate {
    relative(base, arm, of, |_| 1.0)
}

/// By how much the ratio is larger with `arm`, in percentage points.
pub fn points(base: &Cell, arm: &Cell, of: impl Of, per: impl Of) -> Estimate {
    let ratios = Ratio::new(base, &of, &per).zip(Ratio::new(arm, &of, &per));
    let Some((a, b)) = ratios else {
        return Estimate::UNKNOWN;
    };
    let terms: Estimate = a.terms.iter().zip(&b.terms).map(|(x, y)| y - x).collect();
    Estimate { mean: b.value - a.value, ..terms } * 100.0
}

/// The effect of `both` on a total less the sum of the effects of `one` and `other`, in percent of `base`: 0 if the
/// effects add.
pub fn interaction(base: &Cell, [one, other, both]: [&Cell; 3], of: impl Of) -> Estimate {
    let sum = |cell: &Cell| cell.connections.iter().map(|c| of(c)).sum::<f64>();
    let mean = sum(base) / base.connections.len().max(1) as f64;
    if mean == 0.0 {
        return Estimate::UNKNOWN;
    }
    let users = 0..base.connections.len();
    let terms: Vec<f64> = users
        .map(|user| {
            let [base, one, other, both] = [base, one, other, both].map(|cell| of(&cell.connections[user]));
            (both - one - other + base) / mean
        })
        .collect();
    Estimate::of(terms.into_iter()) * 100.0
}

/// Values of users in ascending order, each with its user.
#[derive(Clone, Debug, Default)]
pub struct Values(Vec<(f64, u32)>);

impl Values {
    /// The values that `of` reads off each connection.
    pub fn new<I: IntoIterator<Item = f64>>(cell: &Cell, of: impl Fn(&Connection) -> I) -> Self {
        let mut values = vec![];
        for (user, connection) in (0..).zip(&cell.connections) {
            values.extend(of(connection).into_iter().map(|value| (value, user)));
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self(values)
    }

    /// The quantiles where user `u` counts `weight(u)` times; NaN without values.
    fn quantiles(&self, shares: &[f64], weight: impl Fn(u32) -> u64) -> Vec<f64> {
        let all: u64 = self.0.iter().map(|(_, user)| weight(*user)).sum();
        let (mut seen, mut values, mut last) = (0, self.0.iter(), NAN);
        let at = |share: &f64| {
            let rank = ((all as f64 * share).ceil() as u64).max(1);
            while seen < rank {
                let Some((value, user)) = values.next() else {
                    break;
                };
                seen += weight(*user);
                last = *value;
            }
            last
        };
        shares.iter().map(at).collect()
    }

    /// The quantiles; NaN without values.
    pub fn at(&self, shares: &[f64]) -> Vec<f64> {
        self.quantiles(shares, |_| 1)
    }
}

/// By how much each quantile is larger with `arm` than with `base`, in percent of `base`. The shares ascend.
pub fn quantile_differences(base: &Values, arm: &Values, shares: &[f64]) -> Vec<Estimate> {
    let differences = |weight: &dyn Fn(u32) -> u64| -> Vec<f64> {
        let [base, arm] = [base, arm].map(|values| values.quantiles(shares, weight));
        base.iter().zip(&arm).map(|(a, b)| 100.0 * (b / a - 1.0)).collect()
    };
    let whole = differences(&|_| 1);
    let resampled: Vec<Vec<f64>> =
        (0..RESAMPLES).map(|resample| differences(&|user| poisson(resample, user))).collect();
    let estimate = |(at, mean): (usize, &f64)| {
        let values = resampled.iter().map(|one| one[at]);
        let center = values.clone().sum::<f64>() / RESAMPLES as f64;
        let squares: f64 = values.map(|value| (value - center).powi(2)).sum();
        let half = Z * (squares / (RESAMPLES - 1) as f64).sqrt();
        if mean.is_finite() && half.is_finite() { Estimate { mean: *mean, half } } else { Estimate::UNKNOWN }
    };
    whole.iter().enumerate().map(estimate).collect()
}

/// A Poisson number with the mean 1, by resample and user.
fn poisson(resample: u64, user: u32) -> u64 {
    // The distribution function of 0 to 5, times 2⁶⁴.
    const UP_TO: [u64; 6] = [
        6_786_177_901_268_885_000,
        13_572_355_802_537_770_000,
        16_965_444_753_172_212_000,
        18_096_474_403_383_692_000,
        18_379_231_815_936_562_000,
        18_435_783_298_447_137_000,
    ];
    // SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    let key = (resample << 32) | u64::from(user);
    let mut bits = key.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    UP_TO.iter().filter(|limit| bits >= **limit).count() as u64
}

/// An estimate for reading: `-4.7 ± 0.3 %`.
pub fn shown(estimate: Estimate, unit: &str) -> String {
    let Estimate { mean, half } = estimate;
    if half.is_finite() { format!("{mean:.1} ± {half:.1}{unit}") } else { "no data".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prr::servers::{Arm, Cell};
    use std::sync::Arc;

    fn cell(values: impl IntoIterator<Item = f64>) -> Cell {
        let connection = |busy_ms| Arc::new(Connection { busy_ms, ..Connection::default() });
        Cell { arm: Arm::LINUX, connections: values.into_iter().map(connection).collect(), users_per_link: 1 }
    }

    #[test]
    fn differences_are_paired() {
        let base = cell((1..=100).map(f64::from));
        let arm = cell((1..=100).map(|n| f64::from(n) * 0.9));
        let found = total(&base, &arm, |c: &Connection| c.busy_ms);
        assert!((found.mean + 10.0).abs() < 1e-9 && found.half < 1e-9);
        let both = interaction(&base, [&arm, &arm, &arm], |c: &Connection| c.busy_ms);
        assert!((both.mean - 10.0).abs() < 1e-9, "{both:?}");
        let values = [&base, &arm].map(|cell| Values::new(cell, |c| [c.busy_ms]));
        let found = quantile_differences(&values[0], &values[1], &[0.1, 0.9]);
        assert!(found.iter().all(|one| (one.mean + 10.0).abs() < 1e-9));
        assert!(found.iter().all(|one| one.half < 1e-9));
        assert_eq!(values[0].at(&[0.5, 0.99]), [50.0, 99.0]);
        assert_eq!(total(&cell([0.0]), &cell([1.0]), |c: &Connection| c.busy_ms), Estimate::UNKNOWN);
    }

    #[test]
    fn poisson_numbers_have_mean_and_variance_1() {
        let drawn = (0..100_u64).flat_map(|r| (0..200).map(move |user| poisson(r, user) as f64));
        let drawn: Vec<f64> = drawn.collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }
}
