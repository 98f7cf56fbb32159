//! Shares and means of trials, with 95 % confidence intervals.

use serde::Serialize;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// The share of hits among independent trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Trials that were hits.
    pub hits: u64,
    /// All trials.
    pub trials: u64,
    /// The share of hits; 0 without trials.
    pub share: f64,
    /// The lower end of the 95 % confidence interval of the probability.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Share {
    /// `hits` of `trials`, with Wilson's score interval ("Probable inference, the law of succession, and
    /// statistical inference", 1927), which holds near 0 and 1 too.
    pub fn of(hits: u64, trials: u64) -> Self {
        let (k, n) = (hits.min(trials) as f64, trials as f64);
        let square = Z * Z;
        let middle = (k + square / 2.0) / (n + square);
        let spread = if trials == 0 { 0.0 } else { k * (n - k) / n };
        let half = Z * (spread + square / 4.0).sqrt() / (n + square);
        // Without hits the interval starts at 0, and with hits only it ends at 1. Rounding would miss
        // these values.
        let low = if hits == 0 { 0.0 } else { middle - half };
        let high = if hits >= trials { 1.0 } else { middle + half };
        Self { hits: hits.min(trials), trials, share: if trials == 0 { 0.0 } else { k / n }, low, high }
    }

    /// Whether the whole interval lies above 1/2.
    pub fn is_more_often_than_not(&self) -> bool {
        self.low > 0.5
    }
}

impl fmt::Display for Share {
    /// In percent, with the interval: `63.6 % [61.5, 65.7]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [share, low, high] = [self.share, self.low, self.high].map(|p| 100.0 * p);
        write!(f, "{share:.1} % [{low:.1}, {high:.1}]")
    }
}

/// A mean or a median, and half the width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean, or the median.
    pub mean: f64,
    /// The interval is this far to both sides; infinite if too few values say anything.
    pub half: f64,
}

impl Estimate {
    /// The estimate from these values. It assumes many values, so that their mean is normally
    /// distributed.
    pub fn of(values: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.clone().sum::<f64>() / n;
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        let variance = squares / (n - 1.0).max(1.0);
        Self { mean, half: Z * (variance / n).sqrt() }
    }

    /// The median of these values, which ascend. Its interval is from the value at rank n/2 − 0.98·√n to that at
    /// n/2 + 0.98·√n, because the number of values below the median is binomial with p = 1/2; the half is half of its
    /// width. Fewer than six values say nothing.
    pub fn of_median(values: &[f64]) -> Self {
        let n = values.len();
        let mean = match values.get(n / 2) {
            Some(upper) if n.is_multiple_of(2) => f64::midpoint(values[n / 2 - 1], *upper),
            Some(middle) => *middle,
            None => 0.0,
        };
        let spread = Z * (n as f64).sqrt() / 2.0;
        let low = (n as f64 / 2.0 - spread).floor();
        let half = match n {
            0..6 => f64::INFINITY,
            _ => {
                let low = low.max(1.0) as usize;
                (values[n - low] - values[low - 1]) / 2.0
            }
        };
        Self { mean, half }
    }

    /// No values: nothing is known.
    pub const UNKNOWN: Self = Self { mean: 0.0, half: f64::INFINITY };

    /// A number without an interval.
    pub const fn exactly(mean: f64) -> Self {
        Self { mean, half: 0.0 }
    }

    /// This value less another, of values that do not depend on these.
    pub fn minus(self, other: Self) -> Self {
        Self { mean: self.mean - other.mean, half: self.half.hypot(other.half) }
    }

    /// Whether the whole interval lies above 0.
    pub fn is_positive(&self) -> bool {
        self.mean > self.half
    }
}

/// The estimate from many values.
impl FromIterator<f64> for Estimate {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self::of(values.into_iter().collect::<Vec<_>>().into_iter())
    }
}

/// The estimate moved by a number.
impl Add<f64> for Estimate {
    type Output = Self;

    fn add(self, by: f64) -> Self {
        Self { mean: self.mean + by, ..self }
    }
}

/// The estimate moved down by a number.
impl Sub<f64> for Estimate {
    type Output = Self;

    fn sub(self, by: f64) -> Self {
        Self { mean: self.mean - by, ..self }
    }
}

/// As [`Estimate::minus`].
impl Sub for Estimate {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.minus(other)
    }
}

/// The estimate times a number.
impl Mul<f64> for Estimate {
    type Output = Self;

    fn mul(self, by: f64) -> Self {
        Self { mean: self.mean * by, half: self.half * by.abs() }
    }
}

/// The estimate divided by a number.
impl Div<f64> for Estimate {
    type Output = Self;

    fn div(self, by: f64) -> Self {
        Self { mean: self.mean / by, half: self.half / by.abs() }
    }
}

/// The estimate with the other sign.
impl Neg for Estimate {
    type Output = Self;

    fn neg(self) -> Self {
        Self { mean: -self.mean, ..self }
    }
}

impl fmt::Display for Estimate {
    /// The mean and half the width of the interval: `49.1 ± 4.4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ± {:.1}", self.mean, self.half)
    }
}

#[cfg(test)]
mod tests;
