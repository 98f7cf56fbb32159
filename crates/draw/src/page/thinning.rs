//! Merges marks where a diagram has too many.
//!
//! Time is cut into equal intervals. Within an interval, first transmissions of adjacent data become one
//! mark, and so do successive ACKs, windows and adjacent SACK blocks. Intervals double in length until
//! the marks are few enough. Retransmissions and notes stay as they are, and so do all marks near them,
//! as long as that suffices.

use super::encoding::{Item, Kind};
use std::collections::HashSet;

/// Protected intervals before and after each retransmission.
const PROTECTED: u64 = 2;

/// Nothing is protected once an interval is longer than this part of the diagram.
const LONGEST_PROTECTED: u64 = 100;

/// The marks of a panel after thinning.
#[derive(Debug, PartialEq)]
pub(super) struct Thinned {
    pub items: Vec<Item>,
    /// Marks that were merged into others.
    pub merged: usize,
    /// Marks that are left out.
    pub left_out: usize,
}

/// At most `limit` marks that show as much of `items` as possible. `items` are in order of time.
pub(super) fn thin(mut items: Vec<Item>, limit: usize) -> Thinned {
    let all = items.len();
    let ends = items.first().zip(items.last());
    let duration = ends.map_or(0, |(first, last)| last.at - first.at).max(1);
    let mut interval = (duration / limit.max(1) as u64).max(1);
    // An interval is two of the round before, so that each round can go on with what the last one left.
    while items.len() > limit && interval / 2 <= duration {
        let protected = (interval <= duration / LONGEST_PROTECTED).then_some(PROTECTED);
        items = merge(items, interval, protected);
        interval = interval.saturating_mul(2);
    }
    let merged = all - items.len();
    let items = keep_most_important(items, limit);
    let left_out = all - merged - items.len();
    Thinned { items, merged, left_out }
}

/// Merges marks within each interval. Those in intervals near a retransmission are `protected`.
fn merge(items: Vec<Item>, interval: u64, protected: Option<u64>) -> Vec<Item> {
    let number = |item: &Item| item.at / interval;
    let near: HashSet<u64> = match protected {
        Some(reach) => items
            .iter()
            .filter(|item| item.kind.stands_alone())
            .map(number)
            .flat_map(|n| n.saturating_sub(reach)..=n.saturating_add(reach))
            .collect(),
        None => HashSet::new(),
    };
    let mut output: Vec<Item> = Vec::new();
    let mut last_of_kind: [Option<usize>; Kind::COUNT] = [None; Kind::COUNT];
    for item in items {
        let last = &mut last_of_kind[item.kind as usize];
        let target = last.map(|at| &mut output[at]);
        let may_merge = |target: &&mut Item| {
            number(target) == number(&item) && !near.contains(&number(&item)) && joins(target, &item)
        };
        match target.filter(may_merge) {
            Some(target) => absorb(target, &item),
            None => {
                *last = Some(output.len());
                output.push(item);
            }
        }
    }
    output
}

/// Whether `next` can become a part of `target`, a mark of the same kind.
fn joins(target: &Item, next: &Item) -> bool {
    match target.kind {
        Kind::Data => target.high == next.low,
        Kind::Sacked => next.low <= target.high && target.low <= next.high,
        Kind::DuplicateAck => target.high == next.high,
        Kind::Acked | Kind::ReceiveWindow => true,
        kind => !kind.stands_alone(),
    }
}

fn absorb(target: &mut Item, next: &Item) {
    if target.kind.has_range() {
        target.low = target.low.min(next.low);
        target.high = target.high.max(next.high);
    } else {
        target.high = next.high;
    }
    target.until = next.until;
    target.count += next.count;
}

/// The first `limit` marks that readers look for, filled up with the first of the others.
fn keep_most_important(items: Vec<Item>, limit: usize) -> Vec<Item> {
    if items.len() <= limit {
        return items;
    }
    let important = items.iter().filter(|item| item.kind.stands_alone()).count();
    let mut alone = limit;
    let mut others = limit.saturating_sub(important);
    let keep = |item: &Item| {
        let left = if item.kind.stands_alone() { &mut alone } else { &mut others };
        let is_kept = *left > 0;
        *left = left.saturating_sub(1);
        is_kept
    };
    items.into_iter().filter(keep).collect()
}

#[cfg(test)]
mod tests;
