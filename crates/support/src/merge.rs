//! Results of parts as one result, field by field.

use crate::stats::{Durations, Integers};
use recoup_recovery::Counters;

/// A sum over parts, in any order.
pub trait Merge {
    /// Adds another part.
    fn merge(&mut self, other: &Self);
}

impl Merge for u64 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }
}

impl Merge for Durations {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl Merge for Integers {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }
}

impl Merge for Counters {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }
}

/// Merges these fields of `other` into those of `into`.
#[macro_export]
macro_rules! merge_fields {
    ($into:ident, $other:ident: $($field:ident),+ $(,)?) => {
        $($crate::merge::Merge::merge(&mut $into.$field, &$other.$field);)+
    };
}
