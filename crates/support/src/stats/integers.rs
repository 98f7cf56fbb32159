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
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = i64>) -> Integers {
        let mut integers = Integers::default();
        values.into_iter().for_each(|v| integers.add(v));
        integers
    }

    #[test]
    fn percentiles_are_values_of_the_distribution() {
        let five = of([-7, 3, 0, 3, 12]);
        for (percent, value) in [(0, -7), (1, -7), (20, -7), (21, 0), (50, 3), (80, 3), (81, 12)] {
            assert_eq!(five.percentile(percent), Some(value), "{percent} %");
        }
        assert_eq!((five.min(), five.max(), five.count()), (Some(-7), Some(12), 5));
        let hundred = of(1..=100);
        for percent in [1, 5, 10, 25, 50, 75, 90, 95, 99] {
            assert_eq!(hundred.percentile(percent), Some(i64::from(percent)));
        }
    }

    #[test]
    fn an_empty_distribution_has_no_percentiles() {
        let none = of([]);
        assert_eq!((none.percentile(50), none.min(), none.max()), (None, None, None));
        assert_eq!(none.signs(), Signs::default());
    }

    #[test]
    fn signs_are_counted() {
        let signs = of([-3, -1, 0, 2, 2, 5]).signs();
        assert_eq!((signs.below, signs.zero, signs.above), (2, 1, 3));
    }

    #[test]
    fn parts_merge_into_the_whole_in_any_order() {
        let values = || (0..1000).map(|i| i * 7919 % 100 - 50);
        let parts: Vec<_> = (0..4).map(|k| of(values().skip(k).step_by(4))).collect();
        let mut merged = Integers::default();
        parts.iter().rev().for_each(|part| merged.merge(part));
        assert_eq!(merged, of(values()));
    }
}
