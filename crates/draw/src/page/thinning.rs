//! Merges marks where a diagram has too many.
//!
//! Time is cut into equal intervals. Within an interval, first transmissions of adjacent data become one
//! mark, and so do successive ACKs, windows and adjacent SACK blocks. Intervals grow by half
//! until the marks are few enough. Retransmissions and notes stay as they are, and so do all marks near them,
//! as long as that suffices.

use super::encoding::{Item, Kind};
use std::collections::HashSet;

/// Protected intervals before and after each retransmission.
const PROTECTED: u64 = 2;

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
pub(super) fn thin(items: Vec<Item>, limit: usize) -> Thinned {
    let all = items.len();
    let result = |items: Vec<Item>, merged, left_out| Thinned {
        items,
        merged,
        left_out,
    };
    let (Some(first), Some(last)) = (items.first(), items.last()) else {
        return result(items, 0, 0);
    };
    if all <= limit {
        return result(items, 0, 0);
    }
    let duration = (last.at - first.at).max(1);
    for protected in [Some(PROTECTED), None] {
        let longest = if protected.is_some() {
            duration / 100
        } else {
            duration
        };
        let mut interval = (duration / limit.max(1) as u64).max(1);
        while interval <= longest.max(1) {
            let few = merge(&items, interval, protected);
            if few.len() <= limit {
                let merged = all - few.len();
                return result(few, merged, 0);
            }
            interval = interval.saturating_add(interval / 2 + 1);
        }
    }
    let few = merge(&items, u64::MAX, None);
    let merged = all - few.len();
    let kept = keep_most_important(few, limit);
    let left_out = all - merged - kept.len();
    result(kept, merged, left_out)
}

/// Merges marks within each interval. Those in intervals near a retransmission are `protected`.
fn merge(items: &[Item], interval: u64, protected: Option<u64>) -> Vec<Item> {
    let number = |item: &Item| item.at / interval;
    let alone = items.iter().filter(|item| item.kind.stands_alone());
    let near: HashSet<u64> = match protected {
        Some(reach) => alone
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
            number(target) == number(item) && !near.contains(&number(item)) && joins(target, item)
        };
        match target.filter(may_merge) {
            Some(target) => absorb(target, item),
            None => {
                *last = Some(output.len());
                output.push(item.clone());
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
    let important = items.iter().filter(|item| item.kind.stands_alone()).count();
    let mut alone = limit;
    let mut others = limit.saturating_sub(important);
    let mut keep = |item: &Item| {
        let left = if item.kind.stands_alone() {
            &mut alone
        } else {
            &mut others
        };
        let is_kept = *left > 0;
        *left = left.saturating_sub(1);
        is_kept
    };
    items.into_iter().filter(|item| keep(item)).collect()
}

#[cfg(test)]
mod tests;
