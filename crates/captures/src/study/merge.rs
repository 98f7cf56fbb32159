//! Totals that grow by those of another part of a capture, in any order.

use crate::analysis::Vantages;
use recoup_support::stats::Durations;
use recoup_trace::finding::{LostTime, Tally, TimeByState};
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

impl Merge for Duration {
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

macro_rules! by_own_method {
    ($($total:ty),+) => {$(
        impl Merge for $total {
            fn merge(&mut self, other: &Self) {
                self.merge(other);
            }
        }
    )+};
}

by_own_method!(Durations, LostTime, Tally, TimeByState, Vantages);

/// The least and the greatest value.
impl<T: Ord + Copy> Merge for Option<(T, T)> {
    fn merge(&mut self, other: &Self) {
        let both = self.zip(*other).map(|(mine, theirs)| (mine.0.min(theirs.0), mine.1.max(theirs.1)));
        *self = both.or(*self).or(*other);
    }
}

impl<A: Merge, B: Merge> Merge for (A, B) {
    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
        self.1.merge(&other.1);
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

/// Merges a structure field by field, or some fields of one into another.
#[macro_export]
macro_rules! merge_fields {
    ($mine:ident, $theirs:ident: $($field:ident),+ $(,)?) => {
        $($crate::study::Merge::merge(&mut $mine.$field, &$theirs.$field);)+
    };
    ($total:ty: $($field:ident),+ $(,)?) => {
        impl $crate::study::Merge for $total {
            fn merge(&mut self, other: &Self) {
                $crate::merge_fields!(self, other: $($field),+);
            }
        }
    };
}
