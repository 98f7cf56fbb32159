//! The points of Figures 4 and 5: senders by their best case.
//!
//! x is the best case, y the reduction of the connection's duration, both in the mean RTT of the sender. Bins of
//! x are logarithmic, five a decade, from 0.1 to 10⁴. A bin is plotted at the mean of its x, with the mean and the
//! 95th percentile of its y. The paper does not give its bins.
//!
//! # Deviations
//! - Percentiles are exact for bins with up to [`EXACT`] different values, and within 0.5 % beyond, to bound
//!   memory.

use std::collections::BTreeMap;

/// Bins with fewer senders are marked.
pub const FEW: u64 = 20;

/// Bins per decade.
const PER_DECADE: f64 = 5.0;
/// The lower end of the first bin: 0.1.
const FIRST: i32 = -5;
/// The upper end of the last bin: 10⁴.
const END: i32 = 20;

/// Different values that a distribution keeps exactly.
const EXACT: usize = 512;

/// Values whose size differs by less than this factor are one, in a distribution that is not exact.
const STEP: f64 = 1.005;

/// The bins of one instance.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    bins: BTreeMap<i32, Sums>,
    /// Senders whose best case is below the first bin, or beyond the last.
    outside: u64,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    x: f64,
    y: f64,
    values: Values,
}

/// A bin with its senders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The best case from which it begins, in RTTs.
    pub from: f64,
    /// The best case before which it ends, in RTTs.
    pub to: f64,
    /// Its senders.
    pub senders: u64,
    /// Their mean best case in RTTs.
    pub mean_best_case: f64,
    /// The mean reduction in RTTs; negative: longer.
    pub mean: f64,
    /// The 95th percentile of the reduction in RTTs.
    pub p95: f64,
}

impl Bins {
    pub(super) fn add(&mut self, best_case: f64, saved: f64) {
        let number = (PER_DECADE * best_case.log10()).floor();
        if !(f64::from(FIRST)..f64::from(END)).contains(&number) {
            self.outside += 1;
            return;
        }
        let bin = self.bins.entry(number as i32).or_default();
        bin.x += best_case;
        bin.y += saved;
        bin.values.add(saved);
    }

    /// Senders with a best case below 0.1 RTTs, or from 10⁴ on.
    pub fn outside(&self) -> u64 {
        self.outside
    }

    /// The bins that have senders, from the smallest best case on.
    pub fn all(&self) -> impl Iterator<Item = Bin> {
        self.bins.iter().map(|(number, sums)| {
            let end = |number: i32| 10f64.powf(f64::from(number) / PER_DECADE);
            let senders = sums.values.count;
            Bin {
                from: end(*number),
                to: end(number + 1),
                senders,
                mean_best_case: sums.x / senders as f64,
                mean: sums.y / senders as f64,
                p95: sums.values.p95(),
            }
        })
    }
}

/// A distribution of values of both signs, in bounded memory.
#[derive(Clone, Debug, Default)]
struct Values {
    count: u64,
    /// Counts by [`key`] of the value.
    counts: BTreeMap<i64, u64>,
    is_coarse: bool,
}

/// Orders finite values: their bits, negative ones reversed.
fn key(value: f64) -> i64 {
    // −0 is 0.
    let bits = (value + 0.0).to_bits().cast_signed();
    if bits < 0 { i64::MIN - bits } else { bits }
}

fn value(key: i64) -> f64 {
    let bits = if key < 0 { i64::MIN - key } else { key };
    f64::from_bits(bits.cast_unsigned())
}

/// The value in the middle of a step.
fn coarse(value: f64) -> f64 {
    const LEAST: f64 = 1e-6;
    match value.abs() {
        tiny if tiny < LEAST => 0.0,
        size => {
            let steps = ((size / LEAST).ln() / STEP.ln()).floor() + 0.5;
            value.signum() * LEAST * STEP.powf(steps)
        }
    }
}

impl Values {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let kept = if self.is_coarse { coarse(value) } else { value };
        *self.counts.entry(key(kept)).or_default() += 1;
        if self.counts.len() > EXACT && !self.is_coarse {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.is_coarse = true;
        for (exact, count) in std::mem::take(&mut self.counts) {
            *self.counts.entry(key(coarse(value(exact)))).or_default() += count;
        }
    }

    /// The smallest value that at least 95 % of all do not exceed.
    fn p95(&self) -> f64 {
        let rank = (self.count * 95).div_ceil(100);
        let mut seen = 0;
        let at_rank = self.counts.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        at_rank.map_or(0.0, |(key, _)| value(*key))
    }
}

#[cfg(test)]
mod tests;
