//! The stream cut into pieces of one history each: all bytes of a piece were in the same copies,
//! and were covered by the same ACK and reported by the same DSACKs.

use super::{Transmission, challenge_acks, history::ReceivedAck};
use crate::memory::{allocated, tree};
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// The most copies kept per piece. Linux gives up after 15 retransmissions (`tcp_retries2`).
pub(super) const MOST_COPIES: usize = 17;

/// The most DSACKs kept per piece.
pub(super) const MOST_REPORTS: usize = 4;

/// The most pieces per direction: more than a window has segments. Beyond, pieces are no longer
/// cut.
const MOST_PIECES: usize = 1 << 15;

/// Steps that making a piece takes, and cutting, covering and removing it later.
pub(super) const STEPS_PER_PIECE: u64 = 48;

/// Steps that visiting a piece takes.
const STEPS_PER_VISIT: u64 = 8;
/// The most pieces whose covering ACK is revised at once.
const MOST_REVISED: usize = 64;

/// The most challenge ACKs kept per piece.
const MOST_CHALLENGE_ACKS: usize = 8;
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct PieceCopy {
    /// `None` if it was not captured; it was sent before all others.
    pub copy: Option<Transmission>,
    /// The retransmission that it is part of; `None` for the first transmission.
    pub row: Option<u32>,
}

/// The ACK that first covered a piece.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct CoveringAck {
    /// When it came.
    pub at: Instant,
    /// When the ACK before it came, which did not cover the piece.
    pub after: Instant,
    /// Its cumulative ACK, if that covers the piece.
    pub cumulative: Offset,
    /// The highest cumulative ACK before it.
    pub edge: Offset,
    /// Its `TSecr`.
    pub echo: Option<u32>,
    /// Its DSACK block.
    pub dsack: Option<Span>,
    /// The end of the highest SACK block before it.
    pub sacked_up_to: Offset,
    /// The last duplicate ACK before it: its cumulative ACK, and when it came.
    pub asked_for: Option<(Offset, Instant)>,
    /// It carries data, so it may not have been sent at once.
    pub carries_data: bool,
    /// The newest timestamp echoed before it.
    pub newest_echo: Option<u32>,
    /// The timestamp echoed may belong to another segment.
    pub echo_shared: bool,
    /// When the segment above the cumulative ACK was sent, if that was once.
    pub above_sent_at: Option<Instant>,
    /// The last segment sent once that this ACK or an earlier one covered.
    pub neighbor: Option<Neighbor>,
    /// When the last overtaken ACK before it came.
    pub overtaken_at: Option<Instant>,
    /// The last retransmission that an earlier ACK covered.
    pub filled: Option<Answered>,
}

/// A retransmission, and the ACK that covered its bytes first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Answered {
    pub sent: Instant,
    pub acked: Instant,
}

/// A segment that was sent once, and the ACK that covered it first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Neighbor {
    pub sent: Instant,
    pub acked: Instant,
    /// Data that begins here or above would have drawn an ACK at once.
    pub withheld_from: Offset,
}

impl CoveringAck {
    /// An unknown ACK before `now`.
    pub fn before(now: Instant) -> Self {
        Self { at: now, ..Self::default() }
    }
}

/// A DSACK.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct DuplicateReport {
    /// When it came.
    pub at: Instant,
    /// Its `TSecr`, if that belongs to the duplicate: not above a hole.
    pub echo: Option<u32>,
}

/// A piece of the stream that was sent more than once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    pub span: Span,
    /// In the order they were sent, beginning with the first transmission.
    pub copies: Vec<PieceCopy>,
    pub cover: Option<CoveringAck>,
    pub reports: Vec<DuplicateReport>,
    /// Challenge ACKs that may answer a copy of it.
    pub challenge_acks: Vec<challenge_acks::Number>,
}

impl Piece {
    pub fn new(span: Span, original: Option<Transmission>) -> Self {
        let original = PieceCopy { copy: original, row: None };
        // Mostly it is retransmitted once.
        let mut copies = Vec::with_capacity(2);
        copies.push(original);
        Self { span, copies, cover: None, reports: Vec::new(), challenge_acks: Vec::new() }
    }

    /// `false` if there are too many.
    pub fn push_copy(&mut self, copy: Transmission, row: u32) -> bool {
        let room = self.copies.len() < MOST_COPIES;
        if room {
            self.copies.push(PieceCopy { copy: Some(copy), row: Some(row) });
        }
        room
    }

    /// `false` if there are too many.
    pub fn push_challenge_ack(&mut self, number: challenge_acks::Number) -> bool {
        let room = self.challenge_acks.len() < MOST_CHALLENGE_ACKS;
        if room {
            self.challenge_acks.push(number);
        }
        room
    }

    /// When its verdict is final; `None` until it is acknowledged.
    fn settled_at(&self, after: Duration) -> Option<Instant> {
        Some(self.cover?.at.max(self.last_sent_at()) + after)
    }

    /// When the last copy was sent.
    pub fn last_sent_at(&self) -> Instant {
        let last = self.copies.last().and_then(|sent| sent.copy);
        last.map_or(Instant::ZERO, |copy| copy.at)
    }

    /// Splits off what lies from `at` on.
    fn split_off(&mut self, at: Offset) -> Self {
        let rest = Self { span: Span::new(at, self.span.end), ..self.clone() };
        self.span.end = at;
        rest
    }
}

/// Boxed, because pieces are large and move between two small maps.
type Map = BTreeMap<Offset, Box<Piece>>;

/// Pieces by where they begin. They do not overlap.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pieces {
    /// Not acknowledged.
    open: Map,
    /// All of them lie inside this.
    open_within: Span,
    /// Acknowledged; a DSACK may still come.
    covered: Map,
    /// No verdict is final before this time.
    next_settled: Option<Instant>,
    cost: Cost,
}

/// Cost of the pieces.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cost {
    /// Steps taken since [`take_steps`](Pieces::take_steps).
    steps: u64,
    /// Copies in all pieces.
    copies: usize,
}

impl Cost {
    fn on_new_piece(&mut self, piece: &Piece) {
        self.steps += STEPS_PER_PIECE;
        self.copies += piece.copies.len();
    }
}

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.covered.is_empty()
    }

    /// Whether any piece is not acknowledged.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether no more pieces can be added.
    pub fn is_full(&self) -> bool {
        self.len() >= MOST_PIECES
    }

    pub fn len(&self) -> usize {
        self.open.len() + self.covered.len()
    }

    /// The steps taken since the last call; each takes a few ns.
    pub fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.cost.steps)
    }

    /// Whether the pieces inside `span` can be visited in `most` steps.
    pub fn can_visit(&mut self, span: Span, most: u64) -> bool {
        let few = (most / STEPS_PER_VISIT) as usize;
        let both = overlapping(&self.open, span).chain(overlapping(&self.covered, span));
        let count = both.take(few + 1).count();
        self.cost.steps += count as u64 * STEPS_PER_VISIT;
        count <= few
    }

    pub fn insert_open(&mut self, piece: Piece) {
        self.cost.on_new_piece(&piece);
        let within = if self.open.is_empty() { piece.span } else { self.open_within };
        let start = within.start.min(piece.span.start);
        self.open_within = Span::new(start, within.end.max(piece.span.end));
        self.open.insert(piece.span.start, Box::new(piece));
    }

    pub fn insert_covered(&mut self, piece: Piece, cover: CoveringAck) {
        self.cost.on_new_piece(&piece);
        self.insert_until_settled(Box::new(piece), cover);
    }

    fn insert_until_settled(&mut self, mut piece: Box<Piece>, cover: CoveringAck) {
        piece.cover = Some(cover);
        self.next_settled.get_or_insert(cover.at);
        self.covered.insert(piece.span.start, piece);
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        for piece in self.iter_mut() {
            piece.copies.shrink_to_fit();
            piece.reports.shrink_to_fit();
            piece.challenge_acks.shrink_to_fit();
        }
    }

    /// Their memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        // A growing vector is up to twice as long as what it holds.
        self.len() * allocated(size_of::<Piece>())
            + tree(self.len(), size_of::<(Offset, usize)>())
            + 2 * self.cost.copies * size_of::<PieceCopy>()
    }

    /// Copies were added to pieces.
    pub fn count_copies(&mut self, added: usize) {
        self.cost.copies += added;
    }

    /// The number of acknowledged pieces.
    pub fn covered(&self) -> usize {
        self.covered.len()
    }

    /// Whether any byte of `span` is in a piece.
    pub fn has(&self, span: Span) -> bool {
        let maps = [&self.open, &self.covered];
        maps.iter().any(|map| overlapping(map, span).next().is_some())
    }

    /// The parts of `span` that are in no piece.
    pub fn gaps(&self, span: Span) -> Vec<Span> {
        let mut taken: Vec<Span> = (overlapping(&self.open, span)).chain(overlapping(&self.covered, span)).collect();
        taken.sort_unstable();
        let mut gaps = Vec::new();
        let mut from = span.start;
        for piece in taken {
            gaps.push(Span::new(from, piece.start));
            from = from.max(piece.end);
        }
        gaps.push(Span::new(from, span.end));
        gaps.retain(|gap| !gap.is_empty());
        gaps
    }

    /// The pieces inside `span`, which are cut at its ends.
    pub fn within(&mut self, span: Span) -> impl Iterator<Item = &mut Piece> {
        let open = cut(&mut self.open, span, &mut self.cost);
        open.chain(cut(&mut self.covered, span, &mut self.cost))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Piece> {
        let pieces = self.open.values_mut().chain(self.covered.values_mut());
        pieces.map(Box::as_mut)
    }

    /// An ACK covers `span`. Returns the last copy of the pieces that waited for it, if any did. `cover`
    /// describes the ACK.
    pub fn cover(&mut self, span: Span, cover: impl FnOnce() -> CoveringAck) -> Option<Answered> {
        // Most ACKs cover no waiting piece.
        if !self.open_within.overlaps(span) || overlapping(&self.open, span).next().is_none() {
            return None;
        }
        let inside = cut(&mut self.open, span, &mut self.cost);
        let starts: Vec<Offset> = inside.map(|piece| piece.span.start).collect();
        let cover = cover();
        let mut last_sent = Instant::ZERO;
        for start in starts {
            if let Some(piece) = self.open.remove(&start) {
                last_sent = last_sent.max(piece.last_sent_at());
                self.insert_until_settled(piece, cover);
            }
        }
        let first = self.open.keys().next().copied();
        self.open_within.start = first.unwrap_or(self.open_within.end);
        Some(Answered { sent: last_sent, acked: cover.at })
    }

    /// The receiver has discarded what it had reported above `cumulative`.
    pub fn uncover_above(&mut self, cumulative: Offset) {
        let discarded = self.covered.split_off(&cumulative);
        self.cost.steps += discarded.len() as u64 * STEPS_PER_PIECE;
        for (_, mut piece) in discarded {
            piece.cover = None;
            let within = if self.open.is_empty() { piece.span } else { self.open_within };
            let start = within.start.min(piece.span.start);
            self.open_within = Span::new(start, within.end.max(piece.span.end));
            self.open.insert(piece.span.start, piece);
        }
    }

    /// An ACK came late: the receiver sent it before those with a higher cumulative ACK. So it
    /// covered the pieces below before they did, and is the edge of the piece that begins there.
    pub fn on_late_ack(&mut self, late: &ReceivedAck<'_>, dsack: Option<Span>) {
        let edge = late.cumulative;
        let piece = self.covered.get_mut(&edge);
        if let Some(cover) = piece.and_then(|piece| piece.cover.as_mut()) {
            cover.edge = edge;
        }
        let below = self.covered.range_mut(..edge).rev().take(MOST_REVISED);
        let below = below.filter(|(_, piece)| piece.span.end <= edge);
        let covers = below.filter_map(|(_, piece)| piece.cover.as_mut());
        for cover in covers.take_while(|cover| cover.cumulative > edge) {
            cover.cumulative = edge;
            cover.echo = late.echo;
            cover.dsack = dsack;
            cover.carries_data = late.carries_data;
        }
    }

    /// The segment at `start` was lost: nothing follows from an ACK that does not cover it.
    pub fn on_lost_above(&mut self, start: Offset) {
        let below = self.covered.range_mut(..start).rev().take(MOST_REVISED);
        let covers = below.filter_map(|(_, piece)| piece.cover.as_mut());
        for cover in covers.take_while(|cover| cover.cumulative == start) {
            cover.above_sent_at = None;
        }
    }

    /// A DSACK reports `span`.
    pub fn report(&mut self, span: Span, report: DuplicateReport) {
        for piece in self.within(span) {
            if piece.reports.len() < MOST_REPORTS {
                piece.reports.push(report);
            }
        }
    }

    /// Removes and returns the pieces whose verdict is final at `now`.
    pub fn take_settled(&mut self, now: Instant, after: Duration) -> Vec<Piece> {
        if self.next_settled.is_none_or(|next| now < next) {
            return Vec::new();
        }
        self.cost.steps += self.covered.len() as u64;
        let mut starts = Vec::new();
        let mut next = None;
        for (&start, piece) in &self.covered {
            match piece.settled_at(after) {
                Some(at) if at <= now => starts.push(start),
                later => next = [next, later].into_iter().flatten().min(),
            }
        }
        self.next_settled = next;
        let settled = starts.iter().filter_map(|start| self.covered.remove(start));
        let settled: Vec<Piece> = settled.map(|piece| *piece).collect();
        let copies = settled.iter().map(|piece| piece.copies.len());
        self.cost.copies -= copies.sum::<usize>();
        settled
    }

    /// Removes and returns all pieces.
    pub fn take_all(&mut self) -> Vec<Piece> {
        self.cost.copies = 0;
        let open = std::mem::take(&mut self.open);
        let covered = std::mem::take(&mut self.covered);
        let all = open.into_values().chain(covered.into_values());
        all.map(|piece| *piece).collect()
    }
}

/// The pieces that overlap `span`.
fn overlapping(map: &Map, span: Span) -> impl Iterator<Item = Span> {
    let before = map.range(..span.start).next_back();
    let from = map.range(span.start..span.end.max(span.start));
    (before.into_iter().chain(from)).map(|(_, piece)| piece.span).filter(move |piece| piece.overlaps(span))
}

/// The pieces inside `span`, after those across its ends were cut in two.
fn cut<'a>(map: &'a mut Map, span: Span, cost: &mut Cost) -> impl Iterator<Item = &'a mut Piece> + use<'a> {
    let room = map.len() < MOST_PIECES;
    for at in [span.start, span.end] {
        let across = map.range_mut(..at).next_back().map(|(_, piece)| piece);
        if let Some(piece) = across.filter(|piece| piece.span.end > at && room) {
            let rest = piece.split_off(at);
            cost.on_new_piece(&rest);
            map.insert(at, Box::new(rest));
        }
    }
    map.range_mut(span.start..span.end.max(span.start))
        .map(|(_, piece)| piece.as_mut())
        .filter(move |piece| piece.span.end <= span.end)
}
