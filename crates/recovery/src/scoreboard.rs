//! The SACK scoreboard: every outstanding segment and what is known of it.
//!
//! Segments lie in stream order without gaps, so one is found by binary search and counted by
//! index. Three monotone cursors (FACK, loss marking, next retransmission) make the cost of an ACK
//! proportional to what the ACK changes, not to the window; runs of SACKed segments are skipped in
//! one hop.
//!
//! Counts follow RFC 6675 §4 in Linux's unit, the segment:
//! `pipe = outstanding − sacked − lost + retransmitted`.
//!
//! Deviations: a SACK block that covers part of a segment is ignored for that segment (Linux splits
//! the segment); receivers report what arrived, whole segments.

use crate::ack::{Ack, AckSummary};
use recoup_units::{Instant, Offset, Segments, Span};
use std::collections::VecDeque;

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    /// The sequence space it covers.
    pub span: Span,
    /// When it was last sent.
    pub sent_at: Instant,
    /// How often it was sent, probes included.
    pub transmissions: u16,
    /// Reported by a SACK block.
    pub sacked: bool,
    /// Marked lost by a detector or a timeout.
    pub lost: bool,
    /// Sent again since it was marked lost, and counted in the pipe for it.
    pub retransmitted: bool,
    /// Where `sacked`: at least this many segments from here on are SACKed (a shortcut).
    run: u32,
}

impl SentSegment {
    /// Sent exactly once.
    pub fn is_original(&self) -> bool {
        self.transmissions == 1
    }

    /// Lost and not yet sent again.
    fn wants_retransmission(&self) -> bool {
        self.lost && !self.retransmitted && !self.sacked
    }
}

/// All outstanding segments of a connection, in stream order.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<SentSegment>,
    una: Offset,
    nxt: Offset,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Segments from `snd_una` up to and including the highest SACKed one (Linux's fackets_out).
    fack: u32,
    /// Every segment below this index has been judged lost, or was SACKed when it was judged.
    judged: u32,
    /// No segment below this index wants retransmission.
    next_lost: u32,
    /// No segment below this index is a hole never sent again.
    next_hole: u32,
}

impl Scoreboard {
    /// An empty scoreboard whose next segment starts at `start`.
    pub fn new(start: Offset) -> Self {
        Self {
            una: start,
            nxt: start,
            ..Self::default()
        }
    }

    /// Empties it again for a connection starting at `start`, keeping its memory.
    pub fn reset(&mut self, start: Offset) {
        let mut segments = std::mem::take(&mut self.segments);
        segments.clear();
        *self = Self {
            segments,
            ..Self::new(start)
        };
    }

    /// The lowest unacknowledged offset.
    pub fn una(&self) -> Offset {
        self.una
    }

    /// The next offset to be sent for the first time.
    pub fn nxt(&self) -> Offset {
        self.nxt
    }

    /// Outstanding segments, SACKed ones included (Linux's packets_out).
    pub fn outstanding(&self) -> Segments {
        Segments(self.segments.len() as u32)
    }

    /// Segments SACKed.
    pub fn sacked(&self) -> Segments {
        Segments(self.sacked)
    }

    /// Segments marked lost and not SACKed since.
    pub fn lost(&self) -> Segments {
        Segments(self.lost)
    }

    /// Retransmissions thought to be in flight.
    pub fn retransmitted(&self) -> Segments {
        Segments(self.retransmitted)
    }

    /// Segments from `snd_una` through the highest SACKed one.
    pub fn fack(&self) -> Segments {
        Segments(self.fack)
    }

    /// Segments thought to be in flight (RFC 6675 §4 "pipe"; Linux's packets_in_flight).
    pub fn pipe(&self) -> Segments {
        Segments(self.segments.len() as u32 - self.sacked - self.lost + self.retransmitted)
    }

    /// The earliest outstanding segment.
    pub fn first(&self) -> Option<&SentSegment> {
        self.segments.front()
    }

    /// The last outstanding segment.
    pub fn last(&self) -> Option<&SentSegment> {
        self.segments.back()
    }

    /// All outstanding segments in stream order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &SentSegment> + ExactSizeIterator {
        self.segments.iter()
    }

    /// Records new data sent; `span` begins at [`nxt`](Self::nxt).
    pub fn push(&mut self, now: Instant, span: Span) {
        debug_assert_eq!(span.start, self.nxt);
        self.nxt = span.end;
        self.segments.push_back(SentSegment {
            span,
            sent_at: now,
            transmissions: 1,
            sacked: false,
            lost: false,
            retransmitted: false,
            run: 0,
        });
    }

    /// Records that outstanding data at `span` was sent again. `in_pipe`: count the retransmission
    /// as in flight (a tail loss probe is not). What is not outstanding any more is ignored.
    pub fn resend(&mut self, now: Instant, span: Span, in_pipe: bool) {
        let from = self.index_of(span.start);
        for i in from..self.segments.len() {
            let segment = &mut self.segments[i];
            if !segment.span.overlaps(span) {
                break;
            }
            segment.sent_at = now;
            segment.transmissions = segment.transmissions.saturating_add(1);
            if in_pipe && !segment.retransmitted && !segment.sacked {
                segment.retransmitted = true;
                self.retransmitted += 1;
            }
        }
        self.settle();
    }

    /// The first lost segment not sent again yet.
    pub fn next_lost(&self) -> Option<&SentSegment> {
        self.segments
            .get(self.next_lost as usize)
            .filter(|s| s.wants_retransmission())
    }

    /// The first hole below the highest SACK that was never sent again, lost or not
    /// (RFC 6675 §4 NextSeg rule 3; Linux's forward retransmission).
    pub fn next_hole(&self) -> Option<&SentSegment> {
        (self.next_hole < self.fack)
            .then(|| &self.segments[self.next_hole as usize])
            .filter(|s| !s.sacked && !s.retransmitted)
    }

    /// Marks lost the first `count` segments but for those SACKed, and calls `each` with every span
    /// newly marked. Segments judged before are left as they are.
    pub fn mark_lost(&mut self, count: Segments, mut each: impl FnMut(Span)) {
        let to = (count.0 as usize).min(self.segments.len());
        for i in self.judged as usize..to {
            let segment = &mut self.segments[i];
            if !segment.sacked && !segment.lost {
                segment.lost = true;
                self.lost += 1;
                each(segment.span);
            }
        }
        self.judged = self.judged.max(to as u32);
        self.settle();
    }

    /// Forgets every retransmission and marks everything not SACKed lost: what a retransmission
    /// timeout means (RFC 6675 §5.1; Linux keeps the SACK marks).
    pub fn mark_all_lost(&mut self, mut each: impl FnMut(Span)) {
        self.lost = 0;
        self.retransmitted = 0;
        for segment in &mut self.segments {
            segment.retransmitted = false;
            if !segment.sacked {
                if !segment.lost {
                    each(segment.span);
                }
                segment.lost = true;
                self.lost += 1;
            }
        }
        self.judged = self.segments.len() as u32;
        self.next_lost = 0;
        self.next_hole = 0;
        self.settle();
    }

    /// Forgets every SACK: the receiver has reneged (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        for segment in &mut self.segments {
            segment.sacked = false;
            segment.run = 0;
        }
        self.sacked = 0;
        self.fack = 0;
        self.next_hole = 0;
    }

    /// The receiver took back a SACK: the earliest outstanding segment is SACKed although the
    /// cumulative ACK stops at it (RFC 2018 §8).
    pub fn reneged(&self) -> bool {
        self.segments.front().is_some_and(|s| s.sacked)
    }

    /// Begins a recovery episode: holes are looked for from the start again.
    pub fn restart_holes(&mut self) {
        self.next_hole = 0;
        self.settle();
    }

    /// Applies an ACK. Blocks that lie (above `snd_nxt`, below `snd_una`) match no segment and
    /// change nothing; a cumulative ACK outside what is outstanding must be refused before.
    pub fn on_ack(&mut self, ack: &Ack) -> AckSummary {
        let mut summary = AckSummary {
            dsack: ack.dsack(),
            ..AckSummary::default()
        };
        // What was SACKed before this ACK tells reordering; the blocks of one ACK do not, since
        // their order is the receiver's.
        let fack_before = self.fack;
        for &block in ack.sack_blocks() {
            self.sack(block, fack_before, &mut summary);
        }
        let before = self.una;
        self.advance(ack.cumulative, fack_before, &mut summary);
        summary.una_advanced = self.una.since(before);
        self.settle();
        summary
    }

    fn sack(&mut self, block: Span, fack_before: u32, summary: &mut AckSummary) {
        let first = self.index_of(block.start);
        let mut i = first;
        if self
            .segments
            .get(i)
            .is_some_and(|s| s.span.start < block.start)
        {
            i += 1; // partly covered
        }
        let from = i;
        while let Some(segment) = self.segments.get_mut(i) {
            if segment.span.end > block.end {
                break;
            }
            if segment.sacked {
                i += segment.run.max(1) as usize;
                continue;
            }
            segment.sacked = true;
            self.sacked += 1;
            if segment.is_original() {
                summary.note_original_sacked(segment.sent_at);
                summary.note_reordering(fack_before, i as u32);
            }
            self.lost -= u32::from(std::mem::take(&mut segment.lost));
            self.retransmitted -= u32::from(std::mem::take(&mut segment.retransmitted));
            summary.newly_sacked += Segments::ONE;
            summary.delivered += Segments::ONE;
            i += 1;
        }
        self.compress(from, i);
        // `i` may have hopped past the block's end over a known run; those are SACKed all the same.
        if i > from {
            self.fack = self.fack.max(i as u32);
        }
    }

    /// Lets every stepping stone of the walk `from..to` point at its end, as union–find does, so
    /// that no later walk repeats it.
    fn compress(&mut self, from: usize, to: usize) {
        let mut i = from;
        while i < to {
            let step = self.segments[i].run.max(1) as usize;
            self.segments[i].run = (to - i) as u32;
            i += step;
        }
    }

    fn advance(&mut self, cumulative: Offset, fack_before: u32, summary: &mut AckSummary) {
        let mut popped: u32 = 0;
        while let Some(segment) = self.segments.front() {
            if segment.span.end > cumulative {
                break;
            }
            if !segment.is_original() {
                summary.retransmission_acked = true;
            } else if !segment.sacked {
                summary.first_original_acked.get_or_insert(segment.sent_at);
                summary.note_reordering(fack_before, popped);
            }
            summary.delivered += Segments(u32::from(!segment.sacked));
            summary.newly_acked += Segments::ONE;
            self.sacked -= u32::from(segment.sacked);
            self.lost -= u32::from(segment.lost);
            self.retransmitted -= u32::from(segment.retransmitted);
            self.segments.pop_front();
            popped += 1;
        }
        if let Some(segment) = self.segments.front_mut() {
            segment.span.start = segment.span.start.max(cumulative);
        }
        self.una = self.una.max(cumulative.min(self.nxt));
        for cursor in [
            &mut self.fack,
            &mut self.judged,
            &mut self.next_lost,
            &mut self.next_hole,
        ] {
            *cursor = cursor.saturating_sub(popped);
        }
    }

    /// Moves the retransmission cursors past what no longer wants sending.
    fn settle(&mut self) {
        while (self.next_lost < self.judged)
            && self
                .segments
                .get(self.next_lost as usize)
                .is_some_and(|s| !s.wants_retransmission())
        {
            self.next_lost += 1;
        }
        while self.next_hole < self.fack {
            let s = &self.segments[self.next_hole as usize];
            if !s.sacked && !s.retransmitted {
                break;
            }
            self.next_hole += if s.sacked { s.run.max(1) } else { 1 };
        }
    }

    /// The index of the segment that contains `offset`, or the number of segments.
    fn index_of(&self, offset: Offset) -> usize {
        if offset <= self.una {
            return 0;
        }
        self.segments.partition_point(|s| s.span.end <= offset)
    }

    /// Recounts everything from scratch; the oracle of the property tests.
    pub fn check(&self) -> Result<(), String> {
        let count =
            |f: fn(&SentSegment) -> bool| self.segments.iter().filter(|s| f(s)).count() as u32;
        let fack = self
            .segments
            .iter()
            .rposition(|s| s.sacked)
            .map_or(0, |i| i as u32 + 1);
        let next_lost = self
            .segments
            .iter()
            .find(|s| s.wants_retransmission())
            .map(|s| s.span);
        let expected = [
            ("sacked", self.sacked, count(|s| s.sacked)),
            ("lost", self.lost, count(|s| s.lost)),
            (
                "retransmitted",
                self.retransmitted,
                count(|s| s.retransmitted),
            ),
            ("lost and SACKed", 0, count(|s| s.lost && s.sacked)),
            (
                "retransmitted and SACKed",
                0,
                count(|s| s.retransmitted && s.sacked),
            ),
            ("fack", self.fack, fack),
        ];
        if let Some((what, kept, counted)) =
            expected.iter().find(|(_, kept, counted)| kept != counted)
        {
            return Err(format!("{what}: kept {kept}, counted {counted}"));
        }
        if self.next_lost().map(|s| s.span) != next_lost {
            return Err(format!(
                "next lost segment: kept {:?}, found {next_lost:?}",
                self.next_lost()
            ));
        }
        let mut at = self.una;
        for s in &self.segments {
            if s.span.start != at || s.span.is_empty() {
                return Err(format!("segment {} does not follow {at}", s.span));
            }
            at = s.span.end;
        }
        if at != self.nxt {
            return Err(format!("segments end at {at}, snd_nxt is {}", self.nxt));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
