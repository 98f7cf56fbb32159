//! Distributions of small whole numbers: windows and their differences, in segments.

use std::collections::BTreeMap;

/// An exact distribution of whole numbers. Memory grows with the number of distinct values. The order
/// of additions and merges does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Integers {
    counts: BTreeMap<i64, u64>,
    total: u64,
}

/// The numbers of negative, zero and positive values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Values below 0.
    pub below: u64,
    /// Values equal to 0.
    pub zero: u64,
    /// Values above 0.
    pub above: u64,
}

impl Integers {
    /// Adds a value.
    pub fn add(&mut self, value: i64) {
        self.insert(value, 1);
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|(&v, &n)| self.insert(v, n));
    }

    fn insert(&mut self, value: i64, n: u64) {
        *self.counts.entry(value).or_default() += n;
        self.total += n;
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The smallest value.
    pub fn min(&self) -> Option<i64> {
        self.counts.keys().next().copied()
    }

    /// The largest value.
    pub fn max(&self) -> Option<i64> {
        self.counts.keys().next_back().copied()
    }

    /// The smallest value that at least `percent` % of all values do not exceed.
    pub fn percentile(&self, percent: u8) -> Option<i64> {
        let rank = (u128::from(self.total) * u128::from(percent)).div_ceil(100);
        let mut seen = 0;
        let at_rank = self.counts.iter().find(|(_, n)| {
            seen += u128::from(**n);
            seen >= rank
        });
        at_rank.map(|(value, _)| *value)
    }

    /// Counts the values by sign.
    pub fn signs(&self) -> Signs {
        let mut signs = Signs::default();
        for (value, n) in &self.counts {
            *match value.signum() {
                -1 => &mut signs.below,
                0 => &mut signs.zero,
                _ => &mut signs.above,
            } += n;
        }
        signs
    }
}

#[cfg(test)]
mod tests;
