//! The SACK scoreboard: every outstanding segment and what is known of it.
//!
//! Segments lie in stream order without gaps, so one is found by binary search and counted by
//! index. The cost of an ACK is that of what it changes, whatever the window (a timeout, reneging and
//! an undo apart, which touch every segment): runs of SACKed
//! segments are skipped in one hop; loss is judged from a cursor that only moves up, with a running
//! count of what is SACKed above it ([`Above`]); segments thought to be in flight are linked in the
//! order they were sent ([`Sent`]), for detectors that go by time; those that wait for their
//! retransmission are in a heap.
//!
//! Counts follow RFC 6675 §4 in Linux's unit, the segment:
//! `pipe = outstanding − sacked − lost + retransmitted`. Without SACK each duplicate ACK counts as
//! one unknown segment SACKed (RFC 6582's inflation, seen from the other side; Linux
//! `tcp_add_reno_sack`).
//!
//! Deviations: a SACK block that covers part of a segment is ignored for that segment (Linux splits
//! the segment); receivers report what arrived, whole segments.

mod above;
mod acks;
mod check;
mod marking;
mod order;

pub use above::Above;
pub use order::Sent;

use order::Links;
use recoup_units::{Instant, Offset, Segments, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    /// The sequence space it covers.
    pub span: Span,
    /// When it was last sent.
    pub sent_at: Instant,
    /// `snd_nxt` after it was last sent: data from here on was sent later.
    pub nxt_when_sent: Offset,
    /// How often it was sent, probes included.
    pub transmissions: u16,
    /// Reported by a SACK block.
    pub sacked: bool,
    /// A copy of it was sent in advance of any loss.
    pub copied: bool,
    /// Marked lost by a detector or a timeout.
    pub lost: bool,
    /// Sent again since it was marked lost, and counted in the pipe for it.
    pub retransmitted: bool,
    /// Where `sacked`: at least this many segments from here on are SACKed (a shortcut).
    run: u32,
    links: Links,
}

impl SentSegment {
    /// Sent exactly once.
    pub fn is_original(&self) -> bool {
        self.transmissions == 1
    }

    /// Sent exactly once, copies included, so that what arrives is the original.
    pub fn is_surely_original(&self) -> bool {
        self.is_original() && !self.copied
    }

    /// Lost and not yet retransmitted.
    pub fn wants_retransmission(&self) -> bool {
        self.lost && !self.retransmitted && !self.sacked
    }

    /// Its last transmission may still arrive.
    fn in_flight(&self) -> bool {
        !self.sacked && (!self.lost || self.retransmitted)
    }
}

/// Names an outstanding segment while it is outstanding; counted up from 1 in stream order.
type Id = u64;

/// All outstanding segments of a connection, in stream order.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<SentSegment>,
    /// Segments acknowledged so far: the first outstanding one has the next [`Id`].
    gone: Id,
    una: Offset,
    nxt: Offset,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Duplicate ACKs counted as segments SACKed, without SACK.
    duplicates: u32,
    /// Segments from `snd_una` up to and including the highest SACKed one (Linux's fackets_out).
    fack: u32,
    /// Every segment below this index has been judged lost, or was SACKed when it was judged.
    judged: u32,
    /// What is SACKed from `judged` on.
    above: Above,
    /// Segments that want retransmission, lowest first; some no longer do.
    waiting: BinaryHeap<Reverse<Id>>,
    /// No segment below this index is a hole never retransmitted.
    next_hole: u32,
    /// Segments in flight in the order of their last transmission.
    order: order::Ends,
    /// Empty between calls; kept for its memory.
    flying: Vec<usize>,
    /// Retransmissions found lost, ever.
    lost_retransmissions: u64,
    /// SACK blocks that reported what cannot be, ever.
    impossible_blocks: u64,
    /// Segments and retransmissions marked lost, ever.
    marks: u64,
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
        let mut waiting = std::mem::take(&mut self.waiting);
        segments.clear();
        waiting.clear();
        *self = Self {
            segments,
            waiting,
            flying: std::mem::take(&mut self.flying),
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

    /// Segments SACKed; without SACK, duplicate ACKs.
    pub fn sacked(&self) -> Segments {
        Segments(self.sacked + self.duplicates)
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

    /// What is SACKed above the segments judged so far.
    pub fn above(&self) -> Above {
        self.above
    }

    /// The end of the highest SACKed segment; `snd_una` where none is.
    pub fn highest_sacked(&self) -> Offset {
        match self.fack {
            0 => self.una,
            n => self.segments[n as usize - 1].span.end,
        }
    }

    /// Segments and retransmissions marked lost, ever.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// Retransmissions that were themselves found lost, ever.
    pub fn lost_retransmissions(&self) -> u64 {
        self.lost_retransmissions
    }

    /// SACK blocks that reported what was never sent or straddled `snd_una`, ever.
    pub fn impossible_blocks(&self) -> u64 {
        self.impossible_blocks
    }

    /// Segments thought to be in flight (RFC 6675 §4 "pipe"; Linux's packets_in_flight).
    pub fn pipe(&self) -> Segments {
        let left = self.sacked + self.duplicates + self.lost;
        Segments((self.segments.len() as u32 + self.retransmitted).saturating_sub(left))
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
        let links = self.append_newest(self.segments.len());
        self.segments.push_back(SentSegment {
            span,
            sent_at: now,
            nxt_when_sent: span.end,
            transmissions: 1,
            sacked: false,
            copied: false,
            lost: false,
            retransmitted: false,
            run: 0,
            links,
        });
    }

    /// Records that outstanding data at `span` was retransmitted. `in_pipe`: count the retransmission
    /// as in flight (a tail loss probe is not). What is not outstanding any more is ignored.
    pub fn resend(&mut self, now: Instant, span: Span, in_pipe: bool) {
        let from = self.index_of(span.start);
        for i in from..self.segments.len() {
            let nxt = self.nxt;
            let segment = &mut self.segments[i];
            if !segment.span.overlaps(span) {
                break;
            }
            let was_in_flight = segment.in_flight();
            segment.sent_at = now;
            segment.nxt_when_sent = nxt;
            segment.transmissions = segment.transmissions.saturating_add(1);
            if in_pipe && !segment.retransmitted && !segment.sacked {
                segment.retransmitted = true;
                self.retransmitted += 1;
            }
            if was_in_flight {
                self.unlink(i);
            }
            if self.segments[i].in_flight() {
                self.link_newest(i);
            }
        }
        self.settle();
    }

    /// Records that a copy of the outstanding segment `span` was sent. It is not counted in the pipe,
    /// and the segment keeps its place in the order of sending.
    pub fn note_copied(&mut self, span: Span) {
        let i = self.index_of(span.start);
        if let Some(segment) = self.segments.get_mut(i) {
            segment.copied = true;
        }
    }

    /// The outstanding segment that contains `offset`.
    pub fn segment_at(&self, offset: Offset) -> Option<&SentSegment> {
        let segment = self.segments.get(self.index_of(offset));
        segment.filter(|s| s.span.contains(offset))
    }

    /// The outstanding segments that share something with `span`.
    pub fn overlapping(&self, span: Span) -> impl Iterator<Item = &SentSegment> {
        let from = self.index_of(span.start);
        let segments = self.segments.range(from..);
        segments.take_while(move |s| s.span.overlaps(span))
    }

    /// The first lost segment not retransmitted yet.
    pub fn next_lost(&self) -> Option<&SentSegment> {
        self.waiting.peek().map(|Reverse(id)| self.named(*id))
    }

    /// The segments from `start` on that wait for their retransmission, up to the first that does not.
    pub fn lost_from(&self, start: Offset) -> impl Iterator<Item = &SentSegment> {
        let from = self.index_of(start);
        let segments = self.segments.range(from..);
        segments.take_while(|s| s.wants_retransmission())
    }

    /// The first hole below the highest SACK that was never retransmitted, lost or not
    /// (RFC 6675 §4 NextSeg rule 3; Linux's forward retransmission).
    pub fn next_hole(&self) -> Option<&SentSegment> {
        (self.next_hole < self.fack)
            .then(|| &self.segments[self.next_hole as usize])
            .filter(|s| !s.sacked && !s.retransmitted)
    }

    /// The last outstanding segment that is not SACKed (RFC 6675 §4 NextSeg rule 4, the rescue
    /// retransmission).
    pub fn last_unsacked(&self) -> Option<&SentSegment> {
        self.segments.iter().rev().find(|s| !s.sacked)
    }

    /// Forgets every SACK: the receiver has reneged (RFC 2018 §8).
    pub fn forget_sacks(&mut self) {
        for segment in &mut self.segments {
            segment.sacked = false;
            segment.run = 0;
        }
        self.relink();
        self.sacked = 0;
        self.fack = 0;
        self.above = Above::default();
        self.next_hole = 0;
    }

    /// The receiver took back a SACK: the earliest outstanding segment is SACKed although the
    /// cumulative ACK stops at it (RFC 2018 §8).
    pub fn reneged(&self) -> bool {
        self.segments.front().is_some_and(|s| s.sacked)
    }

    /// Nothing is SACKed, lost or retransmitted, as far as the first segment and the counts tell.
    pub fn is_clean(&self) -> bool {
        self.sacked + self.lost + self.retransmitted + self.duplicates == 0
            && self.first().is_none_or(SentSegment::is_original)
    }

    /// Begins a recovery episode: holes are looked for from the start again.
    pub fn restart_holes(&mut self) {
        self.next_hole = 0;
        self.settle();
    }

    /// A duplicate ACK without SACK: one segment more has arrived, no one knows which. Those that
    /// can have are the outstanding ones but the first and those lost; `false` for one too many,
    /// which tells reordering (Linux `tcp_limit_reno_sacked`).
    pub fn on_duplicate(&mut self) -> bool {
        let most = (self.segments.len() as u32).saturating_sub(self.lost.max(1));
        let room = self.duplicates < most;
        self.duplicates += u32::from(room);
        room
    }

    /// Without SACK, the cumulative ACK moved over `acked` segments: all but the first of them were
    /// counted as duplicate ACKs before. Returns how many were not (Linux `tcp_remove_reno_sacks`).
    pub fn explain_duplicates(&mut self, acked: Segments) -> Segments {
        let explained = self.duplicates.min(acked.0.saturating_sub(1));
        self.duplicates -= explained;
        let most = (self.segments.len() as u32).saturating_sub(self.lost.max(1));
        self.duplicates = self.duplicates.min(most);
        Segments(acked.0 - explained)
    }

    /// Without SACK, an episode is over: duplicate ACKs count anew.
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Drops from the retransmission cursors what no longer wants sending.
    fn settle(&mut self) {
        while let Some(&Reverse(id)) = self.waiting.peek() {
            if id > self.gone && self.named(id).wants_retransmission() {
                break;
            }
            self.waiting.pop();
        }
        while self.next_hole < self.fack {
            let s = &self.segments[self.next_hole as usize];
            if !s.sacked && !s.retransmitted {
                break;
            }
            self.next_hole += if s.sacked { s.run.max(1) } else { 1 };
        }
    }

    fn id(&self, index: usize) -> Id {
        self.gone + 1 + index as u64
    }

    fn index(&self, id: Id) -> usize {
        (id - self.gone - 1) as usize
    }

    fn named(&self, id: Id) -> &SentSegment {
        &self.segments[self.index(id)]
    }

    /// The index of the segment that contains `offset`, or the number of segments.
    fn index_of(&self, offset: Offset) -> usize {
        if offset <= self.una {
            return 0;
        }
        self.segments.partition_point(|s| s.span.end <= offset)
    }
}

#[cfg(test)]
mod tests;
