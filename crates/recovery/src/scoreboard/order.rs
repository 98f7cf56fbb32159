//! A linked list through the scoreboard: the segments in flight in the order of their last transmission
//! (Linux's `tsorted_sent_queue`).
//!
//! A cursor remembers the newest segment sent before the newest delivered one. It only moves forward, so
//! RACK does not walk the whole flight on every ACK.

use super::{Id, Scoreboard, SentSegment};
use alloc::format;
use alloc::string::String;
use recoup_units::{Instant, Offset};

/// A segment's neighbours in the list, or 0 for none. In the oldest segment, `older` is meaningless.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Links {
    older: Id,
    newer: Id,
}

/// The ends of the list and its cursor, or 0 for none.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Ends {
    oldest: Id,
    newest: Id,
    /// The newest segment found to be sent before the newest delivered one; 0 before the oldest.
    passed: Id,
}

/// The sort key of a transmission: time, then sequence (RFC 8985 §6.1 `RACK_sent_after`).
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
        Self {
            at: segment.sent_at,
            end: segment.span.end,
        }
    }
}

impl Scoreboard {
    /// Appends the segment at index `i`, which was just sent.
    pub(super) fn link_newest(&mut self, i: usize) {
        self.segments[i].links = self.append_newest(i);
    }

    /// Appends a segment whose links the caller sets to the returned ones.
    pub(super) fn append_newest(&mut self, i: usize) -> Links {
        let id = self.id(i);
        let older = core::mem::replace(&mut self.order.newest, id);
        if older == 0 {
            self.order.oldest = id;
        } else {
            let older = self.index(older);
            self.segments[older].links.newer = id;
        }
        Links { older, newer: 0 }
    }

    /// Removes the segment at index `i` from the list.
    pub(super) fn unlink(&mut self, i: usize) {
        let (id, Links { older, newer }) = (self.id(i), self.segments[i].links);
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
        let place = self.index(older);
        self.segments[place].links.newer = newer;
        if newer == 0 {
            self.order.newest = older;
        } else {
            let newer = self.index(newer);
            self.segments[newer].links.older = older;
        }
        if self.order.passed == id {
            self.order.passed = older;
        }
    }

    /// Rebuilds the list, after segments have come back into flight.
    pub(super) fn relink(&mut self) {
        // Every segment is visited, sorted and linked.
        self.work += 4 * self.segments.len() as u64;
        let segments = &self.segments;
        let mut flying = core::mem::take(&mut self.flying);
        flying.extend((0..segments.len()).filter(|&i| segments[i].is_listed()));
        let next = self.next_number;
        // Parts of a segment that was cut have one number.
        flying.sort_unstable_by_key(|&i| (segments[i].number.wrapping_sub(next), i));
        self.order = Ends::default();
        for i in flying.drain(..) {
            self.link_newest(i);
        }
        self.flying = flying;
    }

    pub(super) fn oldest_in_flight(&self) -> Option<usize> {
        self.at(self.order.oldest)
    }

    pub(super) fn newer_than(&self, i: usize) -> Option<usize> {
        self.at(self.segments[i].links.newer)
    }

    fn at(&self, id: Id) -> Option<usize> {
        (id != 0).then(|| self.index(id))
    }

    /// When the newest segment in flight before `before` was sent. `before` must not decrease from call to
    /// call.
    pub(super) fn newest_before(&mut self, before: Sent) -> Option<Instant> {
        let mut next = match self.at(self.order.passed) {
            Some(i) => self.newer_than(i),
            None => self.oldest_in_flight(),
        };
        while let Some(i) = next.filter(|&i| Sent::of(&self.segments[i]) < before) {
            self.order.passed = self.id(i);
            next = self.newer_than(i);
        }
        self.at(self.order.passed).map(|i| self.segments[i].sent_at)
    }

    /// Checks the list against the segments' flags.
    pub(super) fn check_order(&self) -> Result<(), String> {
        let mut next = self.oldest_in_flight();
        let mut last: Option<Instant> = None;
        let mut count = 0;
        while let Some(i) = next {
            let segment = &self.segments[i];
            if !segment.is_listed() || last.is_some_and(|last| last > segment.sent_at) {
                return Err(format!("{} is out of order in flight", segment.span));
            }
            last = Some(segment.sent_at);
            count += 1;
            next = self.newer_than(i);
        }
        let expected = self.segments.iter().filter(|s| s.is_listed()).count();
        if count != expected {
            return Err(format!("in flight: {count} listed, {expected} counted"));
        }
        Ok(())
    }
}
