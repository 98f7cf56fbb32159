//! Like requests, class by class.

use super::interval::{Divided, Pair};
use super::sums::{Class, Sums, Timed};
use std::cmp::Reverse;

/// At most so many classes are listed.
const MOST: usize = 100;

/// Requests to the same port, whose sizes differ by less than a factor of 2, and so do those of their responses.
#[derive(Clone, Debug, PartialEq)]
pub struct LikeRequests {
    /// The server's port; 0 stands for those from 32768 on.
    pub port: u16,
    /// The least and the greatest size of the requests in bytes.
    pub request_bytes: (u64, u64),
    /// That of the responses.
    pub response_bytes: (u64, u64),
    /// How many there are before and after.
    pub counts: [u64; 2],
    /// Their mean times before and after, in ms.
    pub mean_ms: [f64; 2],
    /// The 95 % interval of the change; `None`: too few.
    pub interval_ms: Option<(f64, f64)>,
}

/// The most frequent classes of both captures.
pub(super) fn like_requests(before: &Divided, after: &Divided) -> Vec<LikeRequests> {
    let of_requests = before.total.classes.iter().filter(|(class, _)| class.timed == Timed::Request);
    let in_both =
        of_requests.filter_map(|(class, of)| Some((*class, of.number, after.total.classes.get(class)?.number)));
    let mut classes: Vec<(Class, u64, u64)> = in_both.collect();
    classes.sort_by_key(|(class, n, m)| (Reverse((*n).min(*m)), *class));
    classes.truncate(MOST);
    classes.into_iter().filter_map(|(class, n, m)| of_class(class, [n, m], before, after)).collect()
}

fn of_class(class: Class, counts: [u64; 2], before: &Divided, after: &Divided) -> Option<LikeRequests> {
    let of = |sums: &Sums| sums.classes.get(&class).copied();
    let mean = |sums: &Sums| of(sums).map(|of| of.mean() / 1e6);
    let values = |before: &Sums, after: &Sums| Some([mean(before)?, mean(after)?]);
    let weight = |sums: &Sums| of(sums).map_or(0, |of| of.number);
    let mean_ms = values(&before.total, &after.total)?;
    let change = mean_ms[1] - mean_ms[0];
    let uncertainty = Pair { before, after, values, weight: &weight }.uncertainty();
    Some(LikeRequests {
        port: class.port,
        request_bytes: sizes(class.up),
        response_bytes: sizes(class.down),
        counts,
        mean_ms,
        interval_ms: uncertainty.map(|of| (change - of.half, change + of.half)),
    })
}

/// The least and the greatest size of a class.
fn sizes(class: u8) -> (u64, u64) {
    match class {
        0 => (0, 0),
        class => (1 << (class - 1), u64::MAX >> (64 - class)),
    }
}
