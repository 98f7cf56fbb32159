//! Applies an ACK to the scoreboard.

use super::{Scoreboard, SentSegment};
use crate::ack::{Ack, AckSummary};
use recoup_units::{Instant, Offset, Segments, Span};

impl Scoreboard {
    /// Applies an ACK. Impossible SACK blocks (above `snd_nxt` or across `snd_una`) are counted and otherwise
    /// ignored. The caller must reject a cumulative ACK outside the outstanding data.
    ///
    /// A retransmission sent after `plausible` cannot have been acknowledged yet, so the ACK is for the
    /// original (RFC 8985 §6.2 step 2).
    #[cfg(test)]
    pub(crate) fn on_ack<B: AsRef<[Span]>>(&mut self, ack: &Ack<B>, plausible: Instant) -> AckSummary {
        let mut summary = AckSummary::default();
        self.apply(&ack.view(), plausible, &mut summary, &mut |_| ());
        summary
    }

    /// Applies an ACK as [`on_ack`](Self::on_ack) does. Adds its effects to `summary`, which is large and costs time to
    /// move.
    //= RFC 6675 §4 Update SHOULD: "Given the information provided in an ACK, each octet that is cumulatively ACKed or
    //=   SACKed should be marked accordingly in the scoreboard data structure, and the total number of octets SACKed
    //=   should be recorded."
    pub(crate) fn apply(
        &mut self,
        ack: &Ack<&[Span]>,
        plausible: Instant,
        summary: &mut AckSummary,
        each: &mut impl FnMut(&SentSegment),
    ) {
        // Only SACKs before this ACK are evidence of reordering: within one ACK, the receiver chose the order
        // of the blocks.
        let fack_before = self.fack;
        if ack.has_blocks() {
            self.apply_blocks(ack, fack_before, plausible, summary, each);
        }
        if ack.cumulative > self.una {
            let before = self.una;
            self.advance(ack.cumulative, fack_before, plausible, summary, each);
            summary.una_advanced = self.una.since(before);
        }
        if self.passes_settled {
            let before = self.una;
            self.pass_settled(plausible, summary);
            summary.una_advanced += self.una.since(before);
        }
        self.settle();
    }

    fn apply_blocks(
        &mut self,
        ack: &Ack<&[Span]>,
        fack_before: u32,
        plausible: Instant,
        summary: &mut AckSummary,
        each: &mut impl FnMut(&SentSegment),
    ) {
        // A range below `snd_una` repeats what is known, where packets are numbered.
        let dsack = ack.dsack().filter(|_| !self.numbers_packets);
        if let Some(duplicate) = dsack {
            if duplicate.end <= self.nxt {
                summary.dsack = dsack;
                self.note_duplicate(duplicate, fack_before, summary);
            } else {
                self.impossible_blocks += 1;
            }
        }
        let una = self.una.max(ack.cumulative);
        let before = core::mem::take(&mut self.reported);
        let blocks = &ack.blocks()[usize::from(dsack.is_some())..];
        for (place, &block) in blocks.iter().enumerate() {
            if block.is_empty() {
                continue;
            }
            let straddles = block.start <= una && block.end > una && !self.numbers_packets;
            if block.end > self.nxt || straddles {
                self.impossible_blocks += 1;
                continue;
            }
            // Most blocks repeat one of the ACK before (Linux `recv_sack_cache`).
            if !before.contains(&block) {
                self.sack(block, fack_before, plausible, summary, each);
            }
            if let Some(reported) = self.reported.get_mut(place) {
                *reported = block;
            }
        }
    }

    /// Handles a DSACK for an outstanding segment: it was retransmitted although it had arrived, after
    /// segments above it (Linux `tcp_sacktag_one`).
    fn note_duplicate(&mut self, duplicate: Span, fack_before: u32, summary: &mut AckSummary) {
        if duplicate.end <= self.una || duplicate.end > self.nxt {
            return;
        }
        let i = self.index_of(duplicate.start);
        if let Some(segment) = self.segments.get(i)
            && segment.sacked
            && !segment.is_original()
            && !segment.copied
        {
            summary.note_reordering(fack_before, i as u32);
        }
    }

    fn sack(
        &mut self,
        block: Span,
        fack_before: u32,
        plausible: Instant,
        summary: &mut AckSummary,
        each: &mut impl FnMut(&SentSegment),
    ) {
        let first = self.index_of(block.start);
        let mut i = first;
        if self.segments.get(i).is_some_and(|s| s.span.start < block.start) {
            //= RFC 6675 §3 step: "The algorithms presented here allow this, but require the ability to mark arbitrary
            //=   sequence number ranges as having been selectively acknowledged."
            //= deviation: whole segments alone are marked: a block that covers part of a segment is ignored for that
            //=   segment. Linux splits the segment
            i += 1; // partly covered
        }
        let from = i;
        while let Some(segment) = self.segments.get(i) {
            if segment.span.end > block.end {
                break;
            }
            if segment.sacked {
                i += segment.run();
                continue;
            }
            let segment = *segment;
            if segment.is_listed() {
                self.unlink(self.segments.id(i));
            } else if segment.wants_retransmission() {
                self.segments.stop_waiting(self.segments.id(i));
            }
            each(&segment);
            summary.note_delivered(&segment, plausible, false);
            if segment.is_original() {
                summary.note_original_sacked(segment.sent_at);
            }
            if segment.is_surely_original() {
                summary.note_reordering(fack_before, i as u32);
            }
            if self.counts_bytes() {
                self.note_bytes(segment.bytes_in_pipe(), 0);
                self.bytes.add_delivered(segment.size.into());
            }
            self.lost -= u32::from(segment.lost);
            self.retransmitted -= u32::from(segment.retransmitted);
            self.sacked += 1;
            let segment = &mut self.segments[i];
            segment.sacked = true;
            segment.lost = false;
            segment.retransmitted = false;
            segment.set_run(1);
            self.count_above(i);
            summary.newly_sacked += Segments::ONE;
            summary.delivered += Segments::ONE;
            i += 1;
        }
        self.compress(from, i);
        // `i` may have passed the block's end by skipping a run; the skipped segments are all SACKed.
        if i > from {
            self.fack = self.fack.max(i as u32);
        }
    }

    /// Points every run on the walk `from..to` at its end (path compression as in union–find), so that no
    /// later walk repeats the steps.
    fn compress(&mut self, from: usize, to: usize) {
        let mut i = from;
        while i < to {
            let step = self.segments[i].run();
            self.segments[i].set_run(to - i);
            i += step;
        }
    }

    pub(super) fn advance(
        &mut self,
        cumulative: Offset,
        fack_before: u32,
        plausible: Instant,
        summary: &mut AckSummary,
        each: &mut impl FnMut(&SentSegment),
    ) {
        let mut acked: u32 = 0;
        let mut given_up: u32 = 0;
        let by_bytes = self.counts_bytes();
        let (mut out_of_pipe, mut delivered) = (0, 0);
        while let Some(segment) = self.segments.get(acked as usize)
            && segment.span.end <= cumulative
        {
            if segment.sacked {
                self.sacked -= 1;
                given_up += u32::from(segment.abandoned);
                if acked >= self.judged {
                    let next = self.segments.get(acked as usize + 1);
                    let follows = next.is_some_and(|s| s.sacked);
                    self.above.remove_first(segment.span.len(), follows);
                }
            } else {
                each(segment);
                summary.note_delivered(segment, plausible, true);
                summary.delivered += Segments::ONE;
                if by_bytes {
                    out_of_pipe += segment.bytes_in_pipe();
                    delivered += u64::from(segment.size);
                }
                self.lost -= u32::from(segment.lost);
                self.retransmitted -= u32::from(segment.retransmitted);
            }
            if !segment.is_original() {
                summary.retransmission_acked = true;
            } else if !segment.sacked {
                summary.first_original_acked.get_or_insert(segment.sent_at);
                if !segment.copied {
                    summary.note_reordering(fack_before, acked);
                }
            }
            if segment.is_listed() {
                self.unlink(self.segments.id(acked as usize));
            }
            acked += 1;
        }
        summary.newly_acked += Segments(acked - given_up);
        if by_bytes {
            self.note_bytes(out_of_pipe, 0);
            self.bytes.add_delivered(delivered);
        }
        //= RFC 6675 §4 Update MUST NOT: "SACKed data MUST NOT be removed from the TCP's retransmission buffer until the
        //=   data is cumulatively acknowledged"
        self.segments.remove_first(acked);
        self.cut_first(cumulative, acked >= self.judged);
        self.una = self.una.max(cumulative.min(self.nxt));
        for cursor in [&mut self.fack, &mut self.judged, &mut self.next_hole, &mut self.sacked_tail] {
            *cursor = cursor.saturating_sub(acked);
        }
    }

    /// Cuts off what a cumulative ACK covers of the first segment. `unjudged`: no detector judged the segment.
    #[inline]
    fn cut_first(&mut self, cumulative: Offset, unjudged: bool) {
        if let Some(segment) = self.segments.get_mut(0)
            && segment.span.start < cumulative
        {
            if segment.sacked && unjudged {
                self.above.bytes -= cumulative.since(segment.span.start);
            }
            let before = segment.bytes_in_pipe();
            segment.span.start = cumulative;
            segment.size = u32::try_from(segment.span.len()).unwrap_or(u32::MAX);
            let after = segment.bytes_in_pipe();
            self.note_bytes(before, after);
        }
    }
}
