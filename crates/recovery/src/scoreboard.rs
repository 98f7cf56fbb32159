//! The SACK scoreboard: the state of every outstanding segment.
//!
//! Segments lie in stream order without gaps, so a binary search finds a segment and its index counts
//! those before it. The cost of an ACK depends on the segments it changes, not on the window. Only a
//! timeout, reneging, an undo and, where windows count bytes, the beginning of a reduction touch every
//! segment. Four structures make this possible:
//!
//! - runs of SACKed segments are skipped in one hop;
//! - a cursor that only moves up separates the judged segments from the rest, with a running count of the
//!   SACKed data above it ([`Above`]);
//! - a list links the segments in flight in the order they were sent ([`Sent`]), for RACK;
//! - a set of bits holds the segments that wait for their retransmission.
//!
//! Counts follow RFC 6675 §4 in Linux's unit, the segment:
//! `pipe = outstanding − sacked − lost + retransmitted`. Without SACK, each duplicate ACK counts as one
//! SACKed segment, of unknown position (Linux `tcp_add_reno_sack`). This has the effect of RFC 6582's
//! window inflation.
//!
//! All of it lies in two blocks of memory, whose size depends on the largest number of outstanding segments
//! alone. They grow by doubling, have a fixed size, or are lent by the host ([`Storage`]).

mod abandon;
mod above;
mod acks;
mod bytes;
mod check;
mod marking;
mod order;
mod ring;
mod segment;
mod split;
mod storage;
mod waiting;

pub use above::Above;
pub use order::Sent;
pub use segment::SentSegment;
pub(crate) use storage::Memory;
pub use storage::Storage;

use crate::ack::MAX_SACK_BLOCKS;
use crate::counters::Count;
use bytes::Bytes;
use recoup_units::{Instant, Offset, Segments, Span, partition_point_near};
use ring::Ring;

/// The number of a segment in stream order, starting at 1.
type Id = u64;

/// All outstanding segments of a connection, in stream order.
//= RFC 6675 §3 step: "it must keep a data structure to store incoming selective acknowledgment information on a per
//=   connection basis"
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scoreboard {
    segments: Ring,
    una: Offset,
    nxt: Offset,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Without SACK: duplicate ACKs counted as SACKed segments.
    duplicates: u32,
    /// Segments from `snd_una` through the highest SACKed one (Linux's fackets_out).
    fack: u32,
    /// Every segment below this index has been judged lost, or was SACKed when it was judged.
    judged: u32,
    /// The SACKed data from `judged` on.
    above: Above,
    /// No segment below this index is a hole never retransmitted.
    next_hole: u32,
    /// Segments in flight in the order of their last transmission.
    order: order::Ends,
    /// The blocks of the last ACK that had any. Everything that they cover is SACKed.
    reported: [Span; MAX_SACK_BLOCKS],
    /// Total retransmissions found lost.
    lost_retransmissions: Count,
    /// Those of them that a timeout marked.
    lost_by_timeout: Count,
    /// Total SACK blocks that reported data never sent or straddled `snd_una`.
    impossible_blocks: Count,
    /// Total segments and retransmissions marked lost.
    marks: u64,
    bytes: Bytes,
    /// The number of the next transmission.
    next_number: u32,
    /// The sequence space numbers packets.
    numbers_packets: bool,
    /// Segments were given up, or packets are numbered: the first segment may be one that nothing waits for.
    passes_settled: bool,
    /// Every segment from this index on is SACKed.
    sacked_tail: u32,
    /// See [`work`](Self::work).
    work: u64,
}

impl Scoreboard {
    /// An empty scoreboard whose next segment starts at `start`.
    pub(crate) fn new(start: Offset) -> Self {
        Self { una: start, nxt: start, ..Self::default() }
    }

    /// Clears the scoreboard for a new connection that starts at `start`, and keeps its memory.
    pub(crate) fn reset(&mut self, start: Offset) {
        let mut segments = core::mem::take(&mut self.segments);
        segments.clear();
        *self = Self { segments, ..Self::new(start) };
    }

    /// Moves to `storage`, and frees its own memory. From then on, at most
    /// [`capacity`](Self::capacity) segments can be outstanding, and the scoreboard does not allocate.
    ///
    /// # Errors
    /// Returns `storage` if more segments are outstanding than fit.
    pub(crate) fn move_to(&mut self, storage: Storage) -> Result<(), Storage> {
        if (storage.capacity() as usize) < self.segments.len() {
            return Err(storage);
        }
        let mut segments = storage.into_ring();
        segments.copy_from(&self.segments);
        self.segments = segments;
        Ok(())
    }

    /// The largest number of segments that can be outstanding: 2³¹, or the capacity of its [`Storage`].
    pub fn capacity(&self) -> u32 {
        self.segments.capacity()
    }

    /// Whether its memory grows, unlike that of a [`Storage`].
    pub(crate) fn grows(&self) -> bool {
        self.capacity() == storage::MOST
    }

    /// Whether there is no room for another segment of new data.
    pub fn is_full(&self) -> bool {
        self.segments.left() <= self.segments.spare()
    }

    /// Takes at most `more` bytes of memory in addition, until this is called again, if each segment takes `beside` bytes
    /// elsewhere. A few segments always fit. Some places are kept for the parts of segments that are cut. A
    /// [`Storage`] does not grow, and does not change.
    pub(crate) fn limit_growth(&mut self, more: usize, beside: usize) {
        if self.grows() {
            self.segments.limit_growth(more, beside);
        }
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

    /// SACKed segments; without SACK, duplicate ACKs.
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
    pub(crate) fn fack(&self) -> Segments {
        Segments(self.fack)
    }

    /// The SACKed data above the segments judged so far.
    pub(crate) fn above(&self) -> Above {
        self.above
    }

    /// The end of the highest SACKed segment, or `snd_una` if no segment is SACKed.
    pub fn highest_sacked(&self) -> Offset {
        match self.fack {
            0 => self.una,
            n => self.segments[n as usize - 1].span.end,
        }
    }

    /// Total segments and retransmissions marked lost.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// Total retransmissions found lost.
    pub(crate) fn lost_retransmissions(&self) -> u64 {
        self.lost_retransmissions.into()
    }

    /// Those of them that ACKs showed lost.
    pub(crate) fn detected_lost_retransmissions(&self) -> u64 {
        self.lost_retransmissions().saturating_sub(self.lost_by_timeout.into())
    }

    /// Total SACK blocks that reported data never sent or straddled `snd_una`.
    pub(crate) fn impossible_blocks(&self) -> u64 {
        self.impossible_blocks.into()
    }

    /// Segments visited so far: one for each transmission, and all those that an operation on the whole
    /// window looks at. It grows with the time that the scoreboard has taken.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Segments thought to be in flight (RFC 6675 §4 "pipe"; Linux's packets_in_flight).
    //= RFC 6675 §4 SetPipe MUST: "This routine traverses the sequence space from HighACK to HighData and MUST set the
    //=   "pipe" variable to an estimate of the number of octets that are currently in transit between the TCP sender
    //=   and the TCP receiver."
    //= RFC 6675 §5 (B) MUST: "Use SetPipe () to re-calculate the number of octets still in the network."
    //= RFC 9937 §6.2 MAY: "To calculate inflight, connections with SACK enabled and using [RFC6675] loss detection MAY
    //=   use the "pipe" algorithm as specified in [RFC6675]."
    //= RFC 9937 §6.2 MUST: "SACK-enabled connections using RACK-TLP loss detection [RFC8985] or other loss detection
    //=   algorithms MUST calculate inflight by starting with SND.NXT - SND.UNA, subtracting out bytes SACKed in the
    //=   scoreboard, subtracting out bytes marked lost in the scoreboard, and adding bytes in the scoreboard that have
    //=   been retransmitted since they were last marked lost."
    pub(crate) fn pipe(&self) -> Segments {
        if self.counts_bytes() {
            return Segments(self.pipe_by_bytes());
        }
        //= RFC 6675 §4 SetPipe (a) step: "If IsLost (S1) returns false: Pipe is incremented by 1 octet."
        //= RFC 9937 §6.2 MUST: "For non-SACK-enabled connections, instead of subtracting out bytes SACKed in the SACK
        //=   scoreboard, senders MUST subtract out: min(RecoverFS, 1 SMSS for each preceding duplicate ACK in the fast
        //=   recovery episode)"
        //= deviation: the duplicate ACKs are bounded by the segments outstanding now, as in Linux
        let left = self.sacked + self.duplicates + self.lost;
        //= RFC 6675 §4 SetPipe (b) step: "If S1 <= HighRxt: Pipe is incremented by 1 octet."
        //= deviation: segments are counted, and retransmissions one by one. A rescue retransmission therefore counts,
        //=   although it does not move HighRxt
        Segments((self.segments.len() as u32 + self.retransmitted).saturating_sub(left))
    }

    /// Whether nothing is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.len() == 0
    }

    /// The earliest outstanding segment.
    #[inline]
    pub fn first(&self) -> Option<&SentSegment> {
        self.segments.front()
    }

    /// The last outstanding segment.
    #[inline]
    pub fn last(&self) -> Option<&SentSegment> {
        self.segments.back()
    }

    /// All outstanding segments in stream order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &SentSegment> + ExactSizeIterator {
        self.segments.iter()
    }

    /// Records new data sent; `span` begins at [`nxt`](Self::nxt). Returns `false`, and changes nothing, if as many
    /// segments are outstanding as there can be.
    pub(crate) fn push(&mut self, now: Instant, span: Span) -> bool {
        debug_assert_eq!(span.start, self.nxt);
        if self.is_full() {
            return false;
        }
        //= RFC 6675 §5 (C.3) step: "If any of the data octets sent in (C.1) are above HighData, HighData must be
        //=   updated to reflect the transmission of previously unsent data."
        self.nxt = span.end;
        self.work += 1;
        let links = self.append_newest(self.segments.id(self.segments.len()));
        let size = u32::try_from(span.len()).unwrap_or(u32::MAX);
        self.note_bytes(0, size.into());
        self.segments.push(SentSegment {
            span,
            size,
            sent_at: now,
            number: self.next_number,
            links,
            transmissions: 1,
            ..SentSegment::default()
        });
        self.next_number = self.next_number.wrapping_add(1);
        self.sacked_tail = self.segments.len() as u32;
        true
    }

    /// Records that outstanding data at `span` was retransmitted. `in_pipe` says whether the retransmission
    /// counts as in flight; a tail loss probe does not. Data no longer outstanding is ignored.
    pub(crate) fn resend(&mut self, now: Instant, span: Span, in_pipe: bool) {
        let from = self.index_of(span.start);
        for i in from..self.segments.len() {
            let nxt = self.nxt;
            let segment = &mut self.segments[i];
            if !segment.span.overlaps(span) {
                break;
            }
            self.work += 1;
            let was_listed = segment.is_listed();
            let was_waiting = segment.wants_retransmission();
            segment.forgotten = false;
            //= RFC 8985 §6.1 step: "Upon transmitting a new segment or retransmitting an old segment, record the time
            //=   in Segment.xmit_ts and set Segment.lost to FALSE."
            segment.sent_at = now;
            segment.set_nxt_when_sent(nxt);
            segment.number = self.next_number;
            //= RFC 8985 §6.1 step: "Upon retransmitting a segment, set Segment.retransmitted to TRUE."
            segment.transmissions = segment.transmissions.saturating_add(1);
            if in_pipe && !segment.retransmitted && !segment.sacked {
                //= RFC 6675 §5 (C.2) MUST: "If any of the data octets sent in (C.1) are below HighData, HighRxt MUST be
                //=   set to the highest sequence number of the retransmitted segment unless NextSeg () rule (4) was
                //=   invoked for this retransmission."
                segment.retransmitted = true;
                let size = segment.size;
                //= RFC 6675 §5 (C.4) step: "The estimate of the amount of data outstanding in the network must be
                //=   updated by incrementing pipe by the number of octets transmitted in (C.1)."
                self.retransmitted += 1;
                self.note_bytes(0, size.into());
            }
            let is_listed = self.segments[i].is_listed();
            let id = self.segments.id(i);
            if was_listed {
                self.unlink(id);
            }
            if was_waiting && is_listed {
                self.segments.stop_waiting(id);
            }
            if is_listed {
                self.link_newest(id);
            }
        }
        self.next_number = self.next_number.wrapping_add(1);
        self.settle();
    }

    /// Records that a copy of the outstanding segment `span` was sent. The copy is not counted in the pipe,
    /// and the segment keeps its place in the order of transmission.
    pub(crate) fn note_copied(&mut self, span: Span) {
        let i = self.index_of(span.start);
        if let Some(segment) = self.segments.get_mut(i) {
            segment.copied = true;
        }
    }

    /// Sets the bytes and the token of the last segment.
    pub(crate) fn describe_last(&mut self, size: u32, token: u64) {
        let last = self.segments.len().wrapping_sub(1);
        if let Some(last) = self.segments.get_mut(last) {
            let before = last.bytes_in_pipe();
            (last.size, last.token) = (size, token);
            let after = last.bytes_in_pipe();
            self.note_bytes(before, after);
        }
    }

    /// The outstanding segment that contains `offset`.
    pub fn segment_at(&self, offset: Offset) -> Option<&SentSegment> {
        let segment = self.segments.get(self.index_of(offset));
        segment.filter(|s| s.span.contains(offset))
    }

    /// The outstanding segments that overlap `span`.
    pub fn overlapping(&self, span: Span) -> impl Iterator<Item = &SentSegment> {
        let from = self.index_of(span.start);
        let segments = self.segments.range(from, self.segments.len());
        segments.take_while(move |s| s.span.overlaps(span))
    }

    /// The segment in flight whose last transmission is the oldest.
    pub(crate) fn oldest_sent(&self) -> Option<&SentSegment> {
        let id = self.oldest_in_flight()?;
        Some(self.segments.named(id))
    }

    /// The number of the next transmission.
    pub(crate) fn next_number(&self) -> u32 {
        self.next_number
    }

    /// The first lost segment not retransmitted yet.
    //= RFC 6675 §4 NextSeg (1) step: "S2 is greater than HighRxt."
    //= RFC 6675 §5.1 SHOULD: "a TCP sender SHOULD use this SACK information when determining what data should be sent
    //=   in each segment following an RTO"
    pub(crate) fn next_lost(&self) -> Option<&SentSegment> {
        self.segments.lowest_waiting()
    }

    /// The consecutive segments from `start` on that wait for their retransmission.
    pub fn lost_from(&self, start: Offset) -> impl Iterator<Item = &SentSegment> {
        let from = self.index_of(start);
        let segments = self.segments.range(from, self.segments.len());
        segments.take_while(|s| s.wants_retransmission())
    }

    /// The first hole below the highest SACK that was never retransmitted, lost or not
    /// (RFC 6675 §4 NextSeg rule 3; Linux's forward retransmission).
    pub(crate) fn next_hole(&self) -> Option<&SentSegment> {
        (self.next_hole < self.fack)
            .then(|| &self.segments[self.next_hole as usize])
            .filter(|s| !s.sacked && !s.retransmitted)
    }

    /// The last outstanding segment that is not SACKed (RFC 6675 §4 NextSeg rule 4, the rescue
    /// retransmission).
    pub(crate) fn last_unsacked(&self) -> Option<&SentSegment> {
        let tail = self.sacked_tail as usize;
        let segments = self.segments.range(0, tail);
        segments.rev().find(|s| !s.sacked)
    }

    /// Forgets every SACK: the receiver has reneged (RFC 2018 §8).
    pub(crate) fn forget_sacks(&mut self) {
        self.reported = Default::default();
        (self.sacked, self.fack) = (0, 0);
        for i in 0..self.segments.len() {
            let segment = &mut self.segments[i];
            segment.sacked &= segment.abandoned;
            if segment.sacked {
                segment.set_run(1);
                self.sacked += 1;
                self.fack = i as u32 + 1;
            }
        }
        self.recount_bytes();
        self.relink();
        self.sacked_tail = self.segments.len() as u32;
        self.above = self.recount_above();
        self.next_hole = 0;
        self.settle();
    }

    /// Whether the receiver reneged: the earliest outstanding segment is SACKed although the cumulative ACK
    /// stops at it (RFC 2018 §8).
    pub(crate) fn reneged(&self) -> bool {
        self.segments.front().is_some_and(|s| s.sacked && !s.abandoned)
    }

    /// Whether nothing is SACKed, lost or retransmitted, judging by the first segment and the counts.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.sacked + self.lost + self.retransmitted + self.duplicates == 0
            && self.first().is_none_or(SentSegment::is_original)
    }

    /// Begins a recovery episode: the search for holes starts at the first segment again.
    pub(crate) fn restart_holes(&mut self) {
        self.next_hole = 0;
        self.settle();
    }

    /// Counts a duplicate ACK without SACK: one more segment has arrived, of unknown position. It can be any
    /// outstanding segment except the first and the lost ones. Returns `false` if the duplicate ACKs exceed
    /// these segments, which is evidence of reordering (Linux `tcp_limit_reno_sacked`).
    pub(crate) fn on_duplicate(&mut self) -> bool {
        let most = (self.segments.len() as u32).saturating_sub(self.lost.max(1));
        //= RFC 5681 §3.2 step 4 MAY: "A TCP MAY therefore limit the number of times cwnd is artificially inflated
        //=   during loss recovery to the number of outstanding segments (or, an approximation thereof)."
        //= RFC 9937 §6.2 step: "if not using SACK, then PRR disallows incrementing DeliveredData when the total bytes
        //=   delivered in a PRR episode would exceed the estimated data outstanding upon entering recovery (RecoverFS)"
        //= deviation: duplicate ACKs count up to the segments outstanding now, as in Linux
        let room = self.duplicates < most;
        //= RFC 5681 §3.2 step 4 MUST: "For each additional duplicate ACK received (after the third), cwnd MUST be
        //=   incremented by SMSS."
        //= deviation: the pipe falls by a segment instead: as much is sent
        self.duplicates += u32::from(room);
        room
    }

    /// Without SACK, the cumulative ACK passed `acked` segments. All but the first should have been counted
    /// as duplicate ACKs before. Returns how many were not (Linux `tcp_remove_reno_sacks`).
    pub(crate) fn explain_duplicates(&mut self, acked: Segments) -> Segments {
        //= RFC 9937 §6.2 step: "When SND.UNA advances (i.e., a full or partial ACK), DeliveredData is the change in
        //=   SND.UNA, minus 1 SMSS for each preceding duplicate ACK."
        let explained = self.duplicates.min(acked.0.saturating_sub(1));
        self.duplicates -= explained;
        let most = (self.segments.len() as u32).saturating_sub(self.lost.max(1));
        self.duplicates = self.duplicates.min(most);
        Segments(acked.0 - explained)
    }

    /// Without SACK, ends an episode: the count of duplicate ACKs restarts at zero.
    pub(crate) fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Drops stale entries from the retransmission cursors.
    #[inline]
    fn settle(&mut self) {
        if self.fack > 0 {
            self.settle_cursors();
        }
    }

    fn settle_cursors(&mut self) {
        while self.next_hole < self.fack {
            let s = &self.segments[self.next_hole as usize];
            if !s.sacked && !s.retransmitted {
                break;
            }
            self.next_hole += if s.sacked { s.run() as u32 } else { 1 };
            self.work += 1;
        }
        while let Some(last) = self.sacked_tail.checked_sub(1)
            && self.segments[last as usize].sacked
        {
            self.sacked_tail = last;
            self.work += 1;
        }
    }

    /// The memory that it holds on the heap, in bytes.
    pub fn memory(&self) -> usize {
        self.segments.memory()
    }

    /// Frees memory beyond what most connections need, unless it has a fixed size.
    pub(crate) fn trim(&mut self) {
        const USUAL: usize = 256;
        if self.capacity() == storage::MOST {
            self.segments.trim(USUAL);
        }
    }

    /// Frees memory that no outstanding segment takes, unless it has a fixed size.
    pub(crate) fn free_unused(&mut self) {
        if self.capacity() == storage::MOST {
            self.segments.trim(0);
        }
    }

    /// The index of the segment that contains `offset`, or the number of segments.
    fn index_of(&self, offset: Offset) -> usize {
        if offset <= self.una {
            return 0;
        }
        let len = self.segments.len();
        // Most segments are of one length.
        let part = offset.since(self.una).saturating_mul(len as u64);
        let guess = part / self.nxt.since(self.una).max(1);
        let guess = len.min(guess as usize);
        partition_point_near(len, guess, |i| self.segments[i].span.end <= offset)
    }
}

#[cfg(test)]
mod tests;
