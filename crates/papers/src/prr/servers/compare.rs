//! Estimates of shares, means and their differences between arms, with 95 % confidence intervals.
//!
//! Users are the units: users are independent of each other, and the responses of one user are not. Each quantity is a
//! ratio of two sums over all users. Its interval follows from the first terms of its Taylor series (Cochran, "Sampling
//! Techniques", 1977, §6.5). User n meets the same network with all arms, so differences are paired. Quantiles
//! have the interval of a bootstrap whose weights are Poisson (Chamandy et al., "Estimating Uncertainty for
//! Massive Data Streams", 2012).

use super::Cell;
use super::connection::Connection;
use crate::claims::ClaimVerdict;
use recoup_support::stats::Estimate;

/// How often quantiles are resampled.
const RESAMPLES: u64 = 200;

/// Half the width of a 95 % interval, in standard deviations.
const Z: f64 = 1.959_964;

/// No data decide it.
pub const UNKNOWN: Estimate = Estimate { mean: 0.0, half: f64::INFINITY };

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
        let users = cell.connections.len() as f64;
        let pairs = cell.connections.iter();
        let pairs: Vec<(f64, f64)> = pairs.map(|one| (of(one), per(one))).collect();
        let (sum, all) = pairs.iter().fold((0.0, 0.0), |(x, n), pair| (x + pair.0, n + pair.1));
        let value = sum / all;
        let terms = pairs.iter().map(|(x, n)| (x - value * n) * users / all);
        (all > 0.0).then(|| Self { value, terms: terms.collect() })
    }
}

/// The sum of `of` divided by the sum of `per`.
pub fn ratio(cell: &Cell, of: impl Of, per: impl Of) -> Estimate {
    Ratio::new(cell, &of, &per)
        .map_or(UNKNOWN, |ratio| Estimate { mean: ratio.value, half: Estimate::of(ratio.terms.into_iter()).half })
}

/// The same in percent.
pub fn percent(cell: &Cell, of: impl Of, per: impl Of) -> Estimate {
    scaled(ratio(cell, of, per), 100.0)
}

/// By how much the ratio is larger with `arm` than with `base`, in percent of `base`.
pub fn relative(base: &Cell, arm: &Cell, of: impl Of, per: impl Of) -> Estimate {
    let ratios = Ratio::new(base, &of, &per).zip(Ratio::new(arm, &of, &per));
    let Some((a, b)) = ratios.filter(|(a, _)| a.value != 0.0) else {
        return UNKNOWN;
    };
    let quotient = b.value / a.value;
    let terms = a.terms.iter().zip(&b.terms);
    let terms: Vec<f64> = terms.map(|(x, y)| (y - quotient * x) / a.value).collect();
    let half = Estimate::of(terms.into_iter()).half;
    scaled(Estimate { mean: quotient - 1.0, half }, 100.0)
}

/// By how much a total is larger with `arm` than with `base`, in percent.
pub fn total(base: &Cell, arm: &Cell, of: impl Of) -> Estimate {
    relative(base, arm, of, |_| 1.0)
}

/// By how much the ratio is larger with `arm`, in percentage points.
pub fn points(base: &Cell, arm: &Cell, of: impl Of, per: impl Of) -> Estimate {
    let ratios = Ratio::new(base, &of, &per).zip(Ratio::new(arm, &of, &per));
    let Some((a, b)) = ratios else {
        return UNKNOWN;
    };
    let terms: Vec<f64> = a.terms.iter().zip(&b.terms).map(|(x, y)| y - x).collect();
    let half = Estimate::of(terms.into_iter()).half;
    let mean = b.value - a.value;
    scaled(Estimate { mean, half }, 100.0)
}

/// The effect of `both` on a total less the sum of the effects of `one` and `other`, in percent of `base`: 0 if the
/// effects add.
pub fn interaction(base: &Cell, [one, other, both]: [&Cell; 3], of: impl Of) -> Estimate {
    let sum = |cell: &Cell| cell.connections.iter().map(|c| of(c)).sum::<f64>();
    let mean = sum(base) / base.connections.len().max(1) as f64;
    if mean == 0.0 {
        return UNKNOWN;
    }
    let users = 0..base.connections.len();
    let terms: Vec<f64> = users
        .map(|user| {
            let [base, one, other, both] = [base, one, other, both].map(|cell| of(&cell.connections[user]));
            (both - one - other + base) / mean
        })
        .collect();
    scaled(Estimate::of(terms.into_iter()), 100.0)
}

fn scaled(estimate: Estimate, by: f64) -> Estimate {
    Estimate { mean: estimate.mean * by, half: estimate.half * by }
}

/// Values of users in ascending order, each with its user.
#[derive(Clone, Debug, Default)]
pub struct Values(Vec<(f64, u32)>);

impl Values {
    /// The values that `of` reads off each connection.
    pub fn new<I: IntoIterator<Item = f64>>(cell: &Cell, of: impl Fn(&Connection) -> I) -> Self {
        let mut values = Vec::new();
        for (user, connection) in (0..).zip(&cell.connections) {
            values.extend(of(connection).into_iter().map(|value| (value, user)));
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self(values)
    }

    /// The values alone.
    pub fn sorted(&self) -> Vec<f64> {
        self.0.iter().map(|(value, _)| *value).collect()
    }

    /// The quantiles where user `u` counts `weight(u)` times; NaN without values.
    fn quantiles(&self, shares: &[f64], weight: impl Fn(u32) -> u64) -> Vec<f64> {
        let all: u64 = self.0.iter().map(|(_, user)| weight(*user)).sum();
        let (mut seen, mut values, mut last) = (0, self.0.iter(), f64::NAN);
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
        let pairs = base.iter().zip(&arm);
        pairs.map(|(a, b)| 100.0 * (b / a - 1.0)).collect()
    };
    let whole = differences(&|_| 1);
    let resampled: Vec<Vec<f64>> =
        (0..RESAMPLES).map(|resample| differences(&|user| poisson(resample, user))).collect();
    let estimate = |(at, mean): (usize, &f64)| {
        let values = resampled.iter().map(|one| one[at]);
        let center = values.clone().sum::<f64>() / RESAMPLES as f64;
        let squares: f64 = values.map(|value| (value - center).powi(2)).sum();
        let half = Z * (squares / (RESAMPLES - 1) as f64).sqrt();
        match mean.is_finite() && half.is_finite() {
            true => Estimate { mean: *mean, half },
            false => UNKNOWN,
        }
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

/// Whether a difference has the paper's sign and size: the 95 % interval lies within half to twice the paper's value. It fails
/// if it lies outside, and is undecided if it reaches across a limit.
pub fn sized(difference: Estimate, paper: f64) -> ClaimVerdict {
    let Estimate { mean, half } = difference;
    let sign = paper.signum();
    let (low, high) = (mean * sign - half, mean * sign + half);
    let (least, most) = (paper.abs() / 2.0, paper.abs() * 2.0);
    if high < least || low > most {
        ClaimVerdict::Fails
    } else if low >= least && high <= most {
        ClaimVerdict::Holds
    } else {
        ClaimVerdict::Undecided
    }
}

/// Whether a quantity is larger than `limit`, by its whole interval.
pub fn above(quantity: Estimate, limit: f64) -> ClaimVerdict {
    ClaimVerdict::on_positive(Estimate { mean: quantity.mean - limit, ..quantity })
}

/// Whether a quantity is smaller than `limit`, by its whole interval.
pub fn below(quantity: Estimate, limit: f64) -> ClaimVerdict {
    ClaimVerdict::on_positive(Estimate { mean: limit - quantity.mean, ..quantity })
}

/// An estimate for reading: `-4.7 ± 0.3 %`.
pub fn shown(estimate: Estimate, unit: &str) -> String {
    let Estimate { mean, half } = estimate;
    match half.is_finite() {
        true => format!("{mean:.1} ± {half:.1}{unit}"),
        false => "no data".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prr::servers::{Arm, Cell};
    use std::sync::Arc;

    fn cell(values: impl IntoIterator<Item = f64>) -> Cell {
        let connection = |busy_ms| Arc::new(Connection { busy_ms, ..Connection::default() });
        Cell { arm: Arm::LINUX, connections: values.into_iter().map(connection).collect() }
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
        assert_eq!(total(&cell([0.0]), &cell([1.0]), |c: &Connection| c.busy_ms), UNKNOWN);
    }

    #[test]
    fn poisson_numbers_have_mean_and_variance_1() {
        let drawn = (0..100_u64).flat_map(|r| (0..200).map(move |user| poisson(r, user) as f64));
        let drawn: Vec<f64> = drawn.collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }

    #[test]
    fn a_size_is_the_papers_within_a_factor_of_two() {
        use ClaimVerdict::{Fails, Holds, Undecided};
        for (mean, half, paper, verdict) in [
            (-4.0, 1.0, -4.7, Holds),
            (-1.0, 0.5, -4.7, Fails),
            (-2.0, 0.5, -4.7, Undecided),
            (-3.0, 0.5, -4.7, Holds),
            (-2.0, 2.5, -4.7, Undecided),
            (4.0, 1.0, -4.7, Fails),
            (12.0, 1.0, 4.7, Fails),
            (0.0, 0.0, 4.7, Fails),
        ] {
            assert_eq!(sized(Estimate { mean, half }, paper), verdict, "{mean} {half}");
        }
        assert_eq!(sized(UNKNOWN, 4.7), Undecided);
    }
}
