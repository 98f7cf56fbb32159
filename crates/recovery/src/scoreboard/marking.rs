//! Marks segments lost: one method per loss detector.

use super::{Above, Id, Scoreboard, SentSegment, order::Sent};
use recoup_units::{Instant, Segments, Span};

impl Scoreboard {
    /// Marks the first `count` segments lost, except SACKed ones and those judged before. Calls `each` with
    /// every newly marked span.
    pub(crate) fn mark_first(&mut self, count: Segments, mut each: impl FnMut(Span)) {
        let to = (count.0 as usize).min(self.segments.len());
        loop {
            self.pass_sacked(to);
            if self.judged as usize >= to {
                break;
            }
            self.judge_next(&mut each);
        }
    }

    /// Marks unjudged segments lost, in stream order, while `enough` holds for the data SACKed above them.
    /// Once `enough` is false for a segment, it must be false for all higher ones.
    pub(crate) fn mark_below(&mut self, enough: impl Fn(Above) -> bool, mut each: impl FnMut(Span)) {
        loop {
            //= RFC 6675 §4 NextSeg (1) step: "S2 is less than the highest octet covered by any received SACK."
            self.pass_sacked(self.fack as usize);
            //= RFC 6675 §4 NextSeg (1) step: "IsLost (S2) returns true."
            if self.judged >= self.fack || !enough(self.above) {
                break;
            }
            self.judge_next(&mut each);
        }
    }

    /// Marks the hole at the cursor lost. This judges the first transmission only: an earlier forward
    /// retransmission of the hole may still arrive.
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
            let size = segment.size;
            self.lost += 1;
            self.marks += 1;
            self.note_bytes(size.into(), 0);
        } else {
            self.mark(self.segments.id(i));
        }
    }

    /// Considers the segments in flight that were sent before `before`, in the order of transmission. Marks
    /// those lost whose last transmission was at or before `overdue`, and calls `each` with every one before
    /// it is marked. Returns when the newest of the others was sent (RFC 8985 §6.2 step 5).
    //= RFC 8985 §6.2 step 5 step: "For each segment that has not been SACKed, RACK considers that segment lost if
    //=   another segment that was sent later has been delivered and the reordering window has passed."
    pub(crate) fn mark_overdue(
        &mut self,
        before: Sent,
        overdue: Option<Instant>,
        mut each: impl FnMut(&SentSegment),
    ) -> Option<Instant> {
        while let Some(id) = self.oldest_in_flight() {
            let segment = self.segments.named(id);
            let is_overdue = overdue.is_some_and(|overdue| segment.sent_at <= overdue);
            if Sent::of(segment) >= before || !is_overdue {
                break;
            }
            each(segment);
            self.mark(id);
        }
        //= RFC 8985 §6.2 step 5 step: "This timer expires at the earliest moment when RACK would conclude that all the
        //=   unacknowledged segments within the reordering window were lost."
        self.newest_before(before)
    }

    /// Considers the segments in flight that were sent before transmission `newest`, in the order of
    /// transmission. Marks those lost that are at least `packets` transmissions older, or that were sent at
    /// or before `overdue`. Calls `each` with every segment before it is marked, and with whether `packets`
    /// made it lost. Returns when the oldest of the others was sent (RFC 9002 §6.1, A.10).
    pub(crate) fn mark_overtaken(
        &mut self,
        newest: u32,
        packets: u32,
        overdue: Option<Instant>,
        mut each: impl FnMut(&SentSegment, bool),
    ) -> Option<Instant> {
        while let Some(id) = self.oldest_in_flight() {
            let segment = self.segments.named(id);
            let behind = newest.wrapping_sub(segment.number);
            //= RFC 9002 §6.1 step: "The packet is unacknowledged, in flight, and was sent prior to an acknowledged
            //=   packet."
            if behind == 0 || behind > i32::MAX as u32 {
                return None;
            }
            //= RFC 9002 §6.1 step: "The packet was sent kPacketThreshold packets before an acknowledged packet (Section
            //=   6.1.1), or it was sent long enough in the past (Section 6.1.2)."
            let by_packets = behind >= packets;
            if !by_packets && overdue.is_none_or(|overdue| segment.sent_at > overdue) {
                return Some(segment.sent_at);
            }
            each(segment, by_packets);
            self.mark(id);
        }
        None
    }

    /// Marks a retransmission lost if new data sent after it has been SACKed (Linux `tcp_mark_lost_retrans`).
    /// Like FACK, this assumes that the path does not reorder.
    pub(crate) fn mark_lost_retransmissions(&mut self, mut each: impl FnMut(Span)) {
        let sacked = self.highest_sacked();
        let mut next = self.oldest_in_flight();
        while let Some(id) = next {
            self.work += 1;
            let segment = self.segments.named(id);
            if segment.nxt_when_sent() >= sacked {
                break;
            }
            next = self.newer_than(id);
            if segment.retransmitted {
                each(segment.span);
                self.mark(id);
            }
        }
    }

    /// Marks the first segment lost, even if it was retransmitted since: NewReno's response to a partial ACK
    /// (RFC 6582 §3.2 step 3).
    pub(crate) fn mark_head(&mut self, mut each: impl FnMut(Span)) {
        if let Some(head) = self.segments.front()
            && !head.sacked
            && !head.lost
        {
            self.mark_first_transmission(0, &mut each);
        }
    }

    /// Marks segments lost after a retransmission timeout: the first one, and the others last sent at or
    /// before `overdue`, or all if it is `None`. SACKed segments stay SACKed (RFC 6675 §5.1).
    //= RFC 6675 §5.1 SHOULD: "a TCP sender SHOULD expunge the SACK information gathered from a receiver upon a
    //=   retransmission timeout (RTO)"
    //= deviation: segments stay SACKed. The sender tests for reneging instead, which this section allows
    //= RFC 5682 §3.1 step 1 step: "Following the recommendation in the SACK specification [MMFR96], reset the SACK
    //=   scoreboard."
    //= deviation: segments stay SACKed, as RFC 6675 §5.1 allows
    pub(crate) fn mark_for_timeout(&mut self, overdue: Option<Instant>, mut each: impl FnMut(Span)) {
        self.work += self.segments.len() as u64;
        let lost_before = self.lost_retransmissions();
        for i in 0..self.segments.len() {
            let segment = &self.segments[i];
            let recent = overdue.is_some_and(|overdue| segment.sent_at > overdue);
            //= RFC 6675 §5.1 SHOULD: "a SACK TCP sender SHOULD utilize all SACK information made available during the
            //=   loss recovery following an RTO"
            if segment.sacked || (i > 0 && recent) {
                continue;
            }
            if !segment.lost {
                each(segment.span);
            }
            if segment.in_flight() {
                self.mark(self.segments.id(i));
            }
        }
        self.lost_by_timeout += self.lost_retransmissions() - lost_before;
        self.duplicates = 0;
        if overdue.is_none() {
            self.judged = self.segments.len() as u32;
            self.above = Above::default();
        }
        self.next_hole = 0;
        self.settle();
    }

    /// Removes every lost mark (undo). With `forget`, RACK never considers the segments again that were
    /// waiting for their retransmission: only a timeout marks them. Linux takes a lost segment from the list
    /// that RACK walks, and an undo does not put it back (Linux 6.12 `tcp_rack_detect_loss`,
    /// `tcp_undo_cwnd_reduction`).
    pub(crate) fn unmark_lost(&mut self, forget: bool) {
        self.segments.for_each(|segment| {
            segment.forgotten |= forget && segment.wants_retransmission();
            segment.lost = false;
        });
        self.recount_bytes();
        self.relink();
        self.lost = 0;
        self.segments.clear_waiting();
        self.judged = 0;
        self.above = self.recount_above();
    }

    /// Marks the segment `id` lost, which must be in flight.
    fn mark(&mut self, id: Id) {
        self.marks += 1;
        if self.segments.named(id).is_listed() {
            self.unlink(id);
        }
        let segment = self.segments.named_mut(id);
        let before = segment.bytes_in_pipe();
        segment.forgotten = false;
        if core::mem::take(&mut segment.retransmitted) {
            self.retransmitted -= 1;
            self.lost_retransmissions += 1;
        }
        if !segment.lost {
            segment.lost = true;
            self.lost += 1;
        }
        let after = segment.bytes_in_pipe();
        self.segments.start_waiting(id);
        self.note_bytes(before, after);
    }

    /// Whether a retransmission is in flight, or the first segment was retransmitted (Linux
    /// `tcp_any_retrans_done`).
    pub(crate) fn any_retransmission(&self) -> bool {
        self.retransmitted > 0 || self.first().is_some_and(|s| !s.is_original())
    }
}
