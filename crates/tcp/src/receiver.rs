//! The receiving side: tracks arrived data, chooses SACK blocks, and sets the window to offer.
//!
//! Sources: RFC 9293 §3.10.7.4 (acceptability); RFC 2018 §4 (first the block with the latest arrival, then
//! the most recently reported blocks); RFC 2883 §4 (a duplicate is reported once, in the first block);
//! RFC 9293 §3.8.6.2.2 (silly-window avoidance).

use recoup_units::{Offset, Span};

/// How many SACK blocks are remembered in the order of their last change.
const REPORTED: usize = 4;

/// How arriving data fits the data received so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The next data, with no hole in the stream.
    InOrder,
    /// The next data, which fills all or part of a hole.
    FillsHole,
    /// Beyond a hole.
    OutOfOrder,
    /// No byte is new.
    Duplicate,
    /// Outside the window; discarded.
    Unacceptable,
}

/// Data that came out of order, or twice.
#[derive(Clone, Debug, Default)]
struct Disorder {
    /// Out-of-order data: ascending, disjoint, not adjacent.
    beyond: Vec<Span>,
    /// Blocks of `beyond` by latest change, most recent first.
    reported: [Span; REPORTED],
    /// The duplicate to report in the next ACK.
    dsack: Option<Span>,
}

/// The receive side of one direction. Offsets are the sender's.
#[derive(Clone, Debug)]
pub struct Receiver {
    next: Offset,
    /// There is none as long as all data comes once and in order.
    disorder: Option<Box<Disorder>>,
    /// Whether duplicates are reported.
    reports_duplicates: bool,
    /// The end of the stream, once a FIN has arrived.
    fin: Option<Offset>,
    /// The end of the data the application has read.
    read: Offset,
    buffer: u64,
    mss: u16,
    /// The least step by which the right edge moves.
    step: u16,
    /// The right edge of the offered window; it never moves back (RFC 9293 §3.8.6.2.2).
    edge: Offset,
    duplicate_bytes: u64,
}

impl Receiver {
    /// A receiver that expects the SYN. `buffer`: the size of the receive buffer, in bytes.
    pub fn new(buffer: u64, mss: u16) -> Self {
        Self {
            next: Offset::SYN,
            disorder: None,
            reports_duplicates: true,
            fin: None,
            read: Offset::DATA,
            buffer,
            mss,
            step: Self::step(mss, buffer),
            edge: Offset::DATA + buffer,
            duplicate_bytes: 0,
        }
    }

    fn step(mss: u16, buffer: u64) -> u16 {
        u16::try_from(buffer / 2).unwrap_or(u16::MAX).min(mss)
    }

    /// Resets to a new connection and keeps the memory.
    pub fn reset(&mut self, buffer: u64, mss: u16) {
        let mut disorder = self.disorder.take();
        if let Some(disorder) = &mut disorder {
            disorder.beyond.clear();
            disorder.reported = Default::default();
            disorder.dsack = None;
        }
        *self = Self { disorder, ..Self::new(buffer, mss) };
    }

    /// Frees the memory of disorder that is over.
    pub(crate) fn free_unused(&mut self) {
        self.disorder.take_if(|disorder| disorder.beyond.is_empty() && disorder.dsack.is_none());
    }

    /// The out-of-order data.
    #[inline]
    fn beyond(&self) -> &[Span] {
        self.disorder.as_ref().map_or(&[], |disorder| &disorder.beyond)
    }

    /// Switches the report of duplicates by DSACK on or off. It is on initially.
    pub(crate) fn report_duplicates(&mut self, on: bool) {
        self.reports_duplicates = on;
    }

    /// The next offset expected (rcv_nxt).
    pub fn next(&self) -> Offset {
        self.next
    }

    /// The size of the receive buffer, in bytes.
    pub const fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Sets the size of the receive buffer, in bytes. The right edge of the window never moves back (RFC 9293
    /// §3.8.6.2.2), so a smaller size takes effect as data arrives.
    pub(crate) fn set_buffer(&mut self, buffer: u64) {
        self.buffer = buffer;
        self.step = Self::step(self.mss, buffer);
    }

    /// The end of the data that the application has read.
    pub(crate) const fn read_to(&self) -> Offset {
        self.read
    }

    /// The right edge of the offered window: the first offset the peer may not send.
    pub fn edge(&self) -> Offset {
        self.edge
    }

    /// In-order bytes that the application has not read yet.
    pub fn readable(&self) -> u64 {
        let end = self.fin.map_or(self.next, |fin| fin.min(self.next));
        end.since(self.read)
    }

    /// Payload bytes that arrived more than once.
    pub fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// Whether the whole stream has arrived, including its FIN.
    pub fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Calls `each` with every part of `span` that has not arrived.
    pub fn missing(&self, span: Span, mut each: impl FnMut(Span)) {
        let mut at = span.start.max(self.next);
        let beyond = self.beyond();
        let first = beyond.partition_point(|b| b.end <= at);
        for block in &beyond[first..] {
            if at >= span.end || block.start >= span.end {
                break;
            }
            if at < block.start {
                each(Span::new(at, block.start));
            }
            at = at.max(block.end);
        }
        if at < span.end {
            each(Span::new(at, span.end));
        }
    }

    /// Whether all of `span` has arrived.
    pub fn holds(&self, span: Span) -> bool {
        let mut holds = true;
        self.missing(span, |_| holds = false);
        holds
    }

    /// Processes arriving sequence space. `fin`: its last offset is a FIN. The part beyond the window or the
    /// end of the stream is cut off.
    #[inline]
    pub(crate) fn on_arrival(&mut self, span: Span, fin: bool) -> Arrival {
        let all_in_order = self.beyond().is_empty() && self.fin.is_none() && !fin;
        if all_in_order && span.start == self.next && span.end <= self.edge && !span.is_empty() {
            self.next = span.end;
            return Arrival::InOrder;
        }
        self.on_other_arrival(span, fin)
    }

    /// Every arrival except the next data of a stream without holes or FIN.
    fn on_other_arrival(&mut self, mut span: Span, fin: bool) -> Arrival {
        if fin {
            let place = Offset(span.end.0.saturating_sub(1));
            self.learn_fin(place);
            if self.fin != Some(place) {
                // A FIN where the stream does not end is nothing, and takes no place of data.
                span.end = place.max(span.start);
            }
        }
        let end = self.fin.map_or(self.edge, |fin| self.edge.min(fin + 1));
        if span.start >= end {
            return Arrival::Unacceptable;
        }
        let span = Span::new(span.start, span.end.min(end));
        let (mut new, mut fin_again) = (0, self.fin.is_some_and(|fin| span.contains(fin)));
        let stream_end = self.fin;
        self.missing(span, |part| {
            new += part.len();
            fin_again &= !stream_end.is_some_and(|fin| part.contains(fin));
        });
        // A FIN occupies sequence space but is no payload.
        self.duplicate_bytes += span.len() - new - u64::from(fin_again);
        if new < span.len() {
            self.note_duplicate(span);
        }
        if new == 0 {
            return Arrival::Duplicate;
        }
        if span.start > self.next {
            self.insert(span);
            return Arrival::OutOfOrder;
        }
        self.next = span.end;
        let Some(disorder) = self.disorder.as_mut().filter(|disorder| !disorder.beyond.is_empty()) else {
            return Arrival::InOrder;
        };
        let joined = disorder.beyond.partition_point(|b| b.start <= span.end);
        for block in disorder.beyond.drain(..joined) {
            self.next = self.next.max(block.end);
        }
        Arrival::FillsHole
    }

    /// Sets the end of the stream, unless `fin` lies beyond the window or before data that has arrived.
    fn learn_fin(&mut self, fin: Offset) {
        let received = self.beyond().last().map_or(self.next, |last| last.end);
        if self.fin.is_none() && received <= fin && fin < self.edge {
            self.fin = Some(fin);
        }
    }

    /// Remembers the first part of `span` that had arrived before, for the next ACK's DSACK (RFC 2883 §4.1,
    /// §4.2).
    fn note_duplicate(&mut self, span: Span) {
        if !self.reports_duplicates {
            return;
        }
        let below = Span::new(span.start, span.end.min(self.next));
        let duplicate = if !below.is_empty() {
            Some(below)
        } else {
            let at = self.beyond().partition_point(|b| b.end <= span.start);
            let block = self.beyond().get(at).filter(|b| b.overlaps(span));
            block.map(|b| Span::new(span.start.max(b.start), span.end.min(b.end)))
        };
        if duplicate.is_some() {
            self.disorder.get_or_insert_default().dsack = duplicate;
        }
    }

    /// Merges `span` with the blocks it touches, and puts the result first in the report.
    fn insert(&mut self, span: Span) {
        let Disorder { beyond, reported, .. } = &mut **self.disorder.get_or_insert_default();
        let from = beyond.partition_point(|b| b.end < span.start);
        let to = beyond.partition_point(|b| b.start <= span.end);
        let joined = beyond[from..to].iter().fold(span, |a, b| Span::new(a.start.min(b.start), a.end.max(b.end)));
        if from < to {
            beyond[from] = joined;
            beyond.drain(from + 1..to);
        } else {
            beyond.insert(from, joined);
        }
        let mut report = [Span::default(); REPORTED];
        report[0] = joined;
        let others = reported.iter().filter(|b| !b.is_empty() && !joined.covers(**b));
        for (slot, block) in report[1..].iter_mut().zip(others) {
            *slot = *block;
        }
        *reported = report;
    }

    /// Forgets the out-of-order data from `offset` on, which is discarded. The peer retransmits it (RFC 2018 §8).
    pub(crate) fn discard_from(&mut self, offset: Offset) {
        let Some(disorder) = &mut self.disorder else {
            return;
        };
        let Disorder { beyond, reported, dsack } = &mut **disorder;
        let kept = beyond.partition_point(|b| b.start < offset);
        beyond.truncate(kept);
        for block in beyond.last_mut().into_iter().chain(reported) {
            block.end = block.end.min(offset).max(block.start);
        }
        // Without the block around it, a duplicate would be read as data that is held.
        *dsack = dsack.filter(|duplicate| duplicate.end <= offset.max(self.next));
    }

    /// The block of out-of-order data that contains all of `span`.
    fn block_around(&self, span: Span) -> Option<Span> {
        let at = self.beyond().partition_point(|b| b.end < span.end);
        self.beyond().get(at).copied().filter(|b| b.covers(span))
    }

    /// Whether there is anything to report in SACK blocks.
    pub(crate) fn has_sack_blocks(&self) -> bool {
        let disorder = self.disorder.as_ref();
        disorder.is_some_and(|disorder| disorder.dsack.is_some() || !disorder.beyond.is_empty())
    }

    /// The SACK blocks for an ACK sent now, at most `room`: first a duplicate, reported once, and the block
    /// that contains it; then the blocks by latest change.
    #[inline(never)] // most ACKs have none
    pub(crate) fn take_sack_blocks(&mut self, room: usize, mut push: impl FnMut(Span)) {
        let Some(disorder) = &mut self.disorder else {
            return;
        };
        let (dsack, reported) = (disorder.dsack.take(), disorder.reported);
        // The block around a duplicate above the cumulative ACK marks it as a duplicate.
        let around = dsack.and_then(|duplicate| self.block_around(duplicate));
        let mut left = room;
        let mut give = |block: Span| {
            if left > 0 {
                push(block);
                left -= 1;
            }
        };
        dsack.into_iter().chain(around).for_each(&mut give);
        for block in reported {
            if block.start >= self.next && !block.is_empty() && Some(block) != around {
                give(block);
            }
        }
    }

    /// The application reads `bytes` of the readable data.
    pub(crate) fn read(&mut self, bytes: u64) {
        self.read = self.read + bytes.min(self.readable());
    }

    /// Moves the right edge if it can move by a segment or half the buffer. Returns the window to offer, in
    /// bytes after [`next`](Self::next).
    #[inline]
    pub(crate) fn offer_window(&mut self) -> u64 {
        let edge = self.read + self.buffer;
        if edge.since(self.edge) >= u64::from(self.step) || self.edge < self.next {
            self.edge = self.edge.max(edge);
        }
        self.edge.since(self.next)
    }

    /// Whether an ACK now would open a window that the peer sees as closed or nearly closed.
    pub(crate) fn window_update_due(&self) -> bool {
        let edge = self.read + self.buffer;
        let offered = self.edge.since(self.next);
        offered < 2 * u64::from(self.mss) && edge.since(self.edge) >= u64::from(self.step.max(1))
    }
}

#[cfg(test)]
mod tests;
