//! A linked list through the scoreboard: the segments in flight in the order of their last transmission
//! (Linux's `tsorted_sent_queue`).
//!
//! A cursor remembers the newest segment sent before the newest delivered one. It only moves forward, so
//! RACK does not walk the whole flight on every ACK.

use super::{Id, Scoreboard, SentSegment};
use alloc::format;
use alloc::string::String;
use recoup_units::{Instant, Offset};

/// A segment's neighbours in the list, as the differences of their numbers and its own, or 0 for none. In the
/// oldest segment, `older` is meaningless. A SACKed segment is not in the list; its `newer` holds its
/// [run](SentSegment::run) instead.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Links {
    older: i32,
    pub newer: i32,
}

/// The number of the segment at `distance` from `id`; 0 for none.
#[inline]
fn neighbour(id: Id, distance: i32) -> Id {
    match distance {
        0 => 0,
        distance => id.wrapping_add_signed(distance.into()),
    }
}

/// The difference of two outstanding segments' numbers.
#[inline]
fn distance(from: Id, to: Id) -> i32 {
    to.wrapping_sub(from) as i32
}

/// The ends of the list and its cursor, or 0 for none.
//= RFC 8985 §6.2 step 5 MAY: "As an optimization, an implementation can choose to check only segments that have been
//=   sent before RACK.xmit_ts."
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Ends {
    oldest: Id,
    newest: Id,
    /// The newest segment found to be sent before the newest delivered one; 0 before the oldest.
    passed: Id,
}

/// The sort key of a transmission: time, then sequence (RFC 8985 §6.1 `RACK_sent_after`).
//= RFC 8985 §6.2 step 2 step: "If Segment.xmit_ts equals RACK.xmit_ts (e.g., due to clock granularity limits), then
//=   compare Segment.end_seq and RACK.end_seq to break the tie"
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sent {
    /// When it was sent.
    pub at: Instant,
    /// The end of the segment.
    pub end: Offset,
}

impl Sent {
    /// A segment's last transmission.
    pub fn of(segment: &SentSegment) -> Self {
        Self { at: segment.sent_at, end: segment.span.end }
    }
}

impl Scoreboard {
    /// Appends the segment `id`, which was just sent.
    pub(super) fn link_newest(&mut self, id: Id) {
        self.segments.named_mut(id).links = self.append_newest(id);
    }

    /// Appends a segment whose links the caller sets to the returned ones.
    #[inline]
    pub(super) fn append_newest(&mut self, id: Id) -> Links {
        let older = core::mem::replace(&mut self.order.newest, id);
        if older == 0 {
            self.order.oldest = id;
            return Links::default();
        }
        let back = distance(id, older);
        self.segments.named_mut(older).links.newer = back.wrapping_neg();
        Links { older: back, newer: 0 }
    }

    /// Removes the segment `id` from the list.
    #[inline]
    pub(super) fn unlink(&mut self, id: Id) {
        let links = self.segments.named(id).links;
        let newer = neighbour(id, links.newer);
        if self.order.oldest == id {
            // The common case of a cumulative ACK. `newer.older` stays stale: the oldest segment's `older` is
            // never read, and the write would slow the next acknowledgment.
            self.order.oldest = newer;
            if newer == 0 {
                self.order.newest = 0;
            }
            if self.order.passed == id {
                self.order.passed = 0;
            }
            return;
        }
        let older = neighbour(id, links.older);
        let between = links.newer.wrapping_sub(links.older);
        if newer == 0 {
            self.segments.named_mut(older).links.newer = 0;
            self.order.newest = older;
        } else {
            self.segments.named_mut(older).links.newer = between;
            self.segments.named_mut(newer).links.older = between.wrapping_neg();
        }
        if self.order.passed == id {
            self.order.passed = older;
        }
    }

    /// Rebuilds the list, after segments have come back into flight.
    pub(super) fn relink(&mut self) {
        // Every segment is visited, sorted and linked.
        self.work += 4 * self.segments.len() as u64;
        let mut next = self.sort_listed();
        self.order = Ends::default();
        while next != 0 {
            let id = next;
            next = self.newer(id);
            self.link_newest(id);
        }
    }

    /// Sorts the segments of the list by their last transmission with a merge sort of ascending runs: links them
    /// by `newer`, and returns the oldest.
    fn sort_listed(&mut self) -> Id {
        // The list at index k consists of 2^k runs; 0 is an empty list.
        let mut sorted: [Id; 32] = [0; 32];
        let mut from = 0;
        while let Some(mut run) = self.take_run(&mut from) {
            let mut k = 0;
            while sorted[k] != 0 {
                run = self.merge(core::mem::take(&mut sorted[k]), run);
                k += 1;
            }
            sorted[k] = run;
        }
        sorted.into_iter().fold(0, |all, list| self.merge(all, list))
    }

    /// Takes the next segments of the list in stream order, as long as each was sent after the one before, and
    /// links them. The search begins at index `from`, which is set to where it ended.
    fn take_run(&mut self, from: &mut usize) -> Option<Id> {
        let mut ends: Option<(Id, Id)> = None;
        while let Some(segment) = self.segments.get(*from) {
            let id = self.segments.id(*from);
            if segment.is_listed() {
                match ends {
                    Some((_, last)) if self.is_newer(last, id) => break,
                    Some((first, last)) => {
                        self.segments.named_mut(last).links.newer = distance(last, id);
                        ends = Some((first, id));
                    }
                    None => ends = Some((id, id)),
                }
            }
            *from += 1;
        }
        let (first, last) = ends?;
        self.segments.named_mut(last).links.newer = 0;
        Some(first)
    }

    /// Merges two sorted lists.
    fn merge(&mut self, mut a: Id, mut b: Id) -> Id {
        let (mut first, mut last) = (0, 0);
        loop {
            let rest = a == 0 || b == 0;
            if !rest && self.is_newer(a, b) {
                core::mem::swap(&mut a, &mut b);
            }
            let next = if a == 0 { b } else { a };
            if last == 0 {
                first = next;
            } else if next != 0 {
                self.segments.named_mut(last).links.newer = distance(last, next);
            }
            if rest {
                return first;
            }
            last = next;
            a = self.newer(a);
        }
    }

    /// Whether the last transmission of `a` came after that of `b`. Parts of a segment that was cut have one
    /// number.
    fn is_newer(&self, a: Id, b: Id) -> bool {
        let number = |id| self.segments.named(id).number;
        match number(a).wrapping_sub(number(b)) as i32 {
            0 => a > b,
            later => later > 0,
        }
    }

    /// The segment that follows `id` in the list; 0 for none.
    fn newer(&self, id: Id) -> Id {
        neighbour(id, self.segments.named(id).links.newer)
    }

    pub(super) fn oldest_in_flight(&self) -> Option<Id> {
        some(self.order.oldest)
    }

    pub(super) fn newer_than(&self, id: Id) -> Option<Id> {
        some(self.newer(id))
    }

    /// When the newest segment in flight before `before` was sent. `before` must not decrease from call to
    /// call.
    pub(super) fn newest_before(&mut self, before: Sent) -> Option<Instant> {
        let mut next = match self.order.passed {
            0 => self.order.oldest,
            passed => self.newer(passed),
        };
        while next != 0 && Sent::of(self.segments.named(next)) < before {
            self.order.passed = next;
            next = self.newer(next);
        }
        some(self.order.passed).map(|id| self.segments.named(id).sent_at)
    }

    /// Checks the list against the segments' flags.
    pub(super) fn check_order(&self) -> Result<(), String> {
        let mut next = self.oldest_in_flight();
        let mut last: Option<Id> = None;
        let mut count = 0;
        while let Some(id) = next {
            let segment = self.segments.named(id);
            if !segment.is_listed() || last.is_some_and(|last| self.is_newer(last, id)) {
                return Err(format!("{} is out of order in flight", segment.span));
            }
            last = Some(id);
            count += 1;
            next = self.newer_than(id);
        }
        let expected = self.segments.iter().filter(|s| s.is_listed()).count();
        if count != expected {
            return Err(format!("in flight: {count} listed, {expected} counted"));
        }
        Ok(())
    }
}

fn some(id: Id) -> Option<Id> {
    (id != 0).then_some(id)
}
