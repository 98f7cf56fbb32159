//! Marking segments lost. Each detector has its way of saying which.

use super::{Above, Scoreboard, order::Sent};
use recoup_units::{Instant, Segments, Span};
use std::cmp::Reverse;

impl Scoreboard {
    /// Marks lost the first `count` segments but for those SACKed, and calls `each` with every span
    /// newly marked. Segments judged before are left as they are.
    pub fn mark_first(&mut self, count: Segments, mut each: impl FnMut(Span)) {
        let to = (count.0 as usize).min(self.segments.len());
        loop {
            self.pass_sacked(to);
            if self.judged as usize >= to {
                break;
            }
            self.judge_next(&mut each);
        }
        self.settle();
    }

    /// Marks lost, from the first segment not judged yet on, those above which enough is SACKED by
    /// `enough`, which must not become true again once it is false for a higher segment.
    pub fn mark_below(&mut self, enough: impl Fn(Above) -> bool, mut each: impl FnMut(Span)) {
        loop {
            self.pass_sacked(self.fack as usize);
            if self.judged >= self.fack || !enough(self.above) {
                break;
            }
            self.judge_next(&mut each);
        }
        self.settle();
    }

    /// Judges the hole the cursor stands at. What is judged is its first transmission: where it was
    /// retransmitted before, as a mere hole, that retransmission may still arrive.
    fn judge_next(&mut self, each: &mut impl FnMut(Span)) {
        let i = self.judged as usize;
        self.judged += 1;
        if !self.segments[i].lost {
            self.mark_first_transmission(i, each);
        }
    }

    fn mark_first_transmission(&mut self, i: usize, each: &mut impl FnMut(Span)) {
        let segment = &mut self.segments[i];
        each(segment.span);
        if segment.retransmitted {
            segment.lost = true;
            self.lost += 1;
            self.marks += 1;
        } else {
            self.mark(i);
        }
    }

    /// Marks lost the segments in flight sent before `before`, in the order of transmission, whose
    /// last transmission was at or before `overdue`. Returns the latest instant at which one of the
    /// others sent before `before` was sent (RFC 8985 §6.2 step 5).
    pub fn mark_overdue(
        &mut self,
        before: Sent,
        overdue: Option<Instant>,
        mut each: impl FnMut(Span),
    ) -> Option<Instant> {
        while let Some(i) = self.oldest_in_flight() {
            let segment = &self.segments[i];
            let is_overdue = overdue.is_some_and(|overdue| segment.sent_at <= overdue);
            if Sent::of(segment) >= before || !is_overdue {
                break;
            }
            each(segment.span);
            self.mark(i);
        }
        self.settle();
        self.newest_before(before)
    }

    /// Marks lost again the retransmissions after which data was sent for the first time that has
    /// been SACKed since (Linux `tcp_mark_lost_retrans`; like FACK it assumes that
    /// nothing is reordered).
    pub fn mark_lost_retransmissions(&mut self, mut each: impl FnMut(Span)) {
        let sacked = self.highest_sacked();
        let mut next = self.oldest_in_flight();
        while let Some(i) = next {
            let segment = self.segments[i];
            if segment.nxt_when_sent >= sacked {
                break;
            }
            next = self.newer_than(i);
            if segment.retransmitted {
                each(segment.span);
                self.mark(i);
            }
        }
        self.settle();
    }

    /// Marks the first segment lost, even if it was retransmitted since: what NewReno takes a partial
    /// ACK for (RFC 6582 §3.2 step 3).
    pub fn mark_head(&mut self, mut each: impl FnMut(Span)) {
        if let Some(head) = self.segments.front()
            && !head.sacked
            && !head.lost
        {
            self.mark_first_transmission(0, &mut each);
        }
        self.settle();
    }

    /// Takes segments as lost for a retransmission timeout: the first one, and of the others those
    /// last sent at or before `overdue`; what was SACKed stays so (RFC 6675 §5.1). `None`: all.
    pub fn mark_for_timeout(&mut self, overdue: Option<Instant>, mut each: impl FnMut(Span)) {
        for i in 0..self.segments.len() {
            let segment = &self.segments[i];
            let recent = overdue.is_some_and(|overdue| segment.sent_at > overdue);
            if segment.sacked || (i > 0 && recent) {
                continue;
            }
            if !segment.lost {
                each(segment.span);
            }
            if segment.in_flight() {
                self.mark(i);
            }
        }
        self.duplicates = 0;
        if overdue.is_none() {
            self.judged = self.segments.len() as u32;
            self.above = Above::default();
        }
        self.next_hole = 0;
        self.settle();
    }

    /// Nothing is lost after all: every mark is taken back (undo).
    pub fn unmark_lost(&mut self) {
        for segment in &mut self.segments {
            segment.lost = false;
        }
        self.relink();
        self.lost = 0;
        self.waiting.clear();
        self.judged = 0;
        self.above = self.recount_above();
    }

    /// Marks the segment at index `i`, which is in flight, lost.
    fn mark(&mut self, i: usize) {
        self.marks += 1;
        self.unlink(i);
        let segment = &mut self.segments[i];
        if std::mem::take(&mut segment.retransmitted) {
            self.retransmitted -= 1;
            self.lost_retransmissions += 1;
        }
        if !segment.lost {
            segment.lost = true;
            self.lost += 1;
        }
        let id = self.id(i);
        self.waiting.push(Reverse(id));
    }

    /// Whether retransmitted data is outstanding at the head (Linux `tcp_any_retrans_done`).
    pub fn any_retransmission(&self) -> bool {
        self.retransmitted > 0 || self.first().is_some_and(|s| !s.is_original())
    }
}
