//! Totals that grow by those of another part of a capture, in any order.

use recoup_trace::finding::Tally;
use recoup_units::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// A total to which another is added.
pub trait Merge {
    /// Adds the other total.
    fn merge(&mut self, other: &Self);
}

impl Merge for u64 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl Merge for Duration {
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

/// The first and the last moment.
impl Merge for Option<(Instant, Instant)> {
    fn merge(&mut self, other: &Self) {
        let both = self.zip(*other).map(|(mine, theirs)| (mine.0.min(theirs.0), mine.1.max(theirs.1)));
        *self = both.or(*self).or(*other);
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

impl<K: Ord + Clone, T: Merge + Default> Merge for BTreeMap<K, T> {
    fn merge(&mut self, other: &Self) {
        for (key, theirs) in other {
            self.entry(key.clone()).or_default().merge(theirs);
        }
    }
}

/// Merges a structure field by field.
#[macro_export]
macro_rules! merge_fields {
    ($total:ty: $($field:ident),+) => {
        impl $crate::study::Merge for $total {
            fn merge(&mut self, other: &Self) {
                $($crate::study::Merge::merge(&mut self.$field, &other.$field);)+
            }
        }
    };
}
