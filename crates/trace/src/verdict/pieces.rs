//! The stream cut into pieces of one history each: every byte of a piece was in the same copies, was
//! acknowledged by the same ACK and reported by the same DSACKs.

use super::{Copy, mutes};
use recoup_units::{Instant, Offset, Span};
use std::collections::BTreeMap;
use std::time::Duration;

/// Copies of a piece that are kept; more are counted out. Linux gives up after 15 (`tcp_retries2`).
const MOST_COPIES: usize = 17;

/// Reports of a piece that are kept.
pub(super) const MOST_REPORTS: usize = 4;

/// Pieces of a direction that are kept apart: more than a window has segments. Beyond, nothing is cut.
const MOST_PIECES: usize = 1 << 15;

/// Mute ACKs of a piece that are kept.
const MOST_MUTES: usize = 8;

/// A transmission of a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// `None`: not in the capture, so before all others.
    pub copy: Option<Copy>,
    /// The retransmission it is part of; `None`: the first transmission.
    pub row: Option<u32>,
}

/// The ACK that first covered a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover {
    /// When it came.
    pub at: Instant,
    /// When the ACK before it came, which did not cover it.
    pub after: Instant,
    /// The highest cumulative ACK before.
    pub edge: Offset,
    /// Its `TSecr`.
    pub echo: Option<u32>,
    /// The duplicate it reports.
    pub dsack: Option<Span>,
    /// The end of the highest SACK block before.
    pub sacked_up_to: Offset,
    /// What the last duplicate ACK asked for.
    pub asked_for: Option<Offset>,
    /// It carries data, so it need not answer an arrival at once.
    pub carries_data: bool,
    /// The newest timestamp echoed before.
    pub recent: Option<u32>,
    /// When the last ACK before came that was overtaken by later ones.
    pub overtaken: Option<Instant>,
}

impl Cover {
    /// By an ACK some time before `now`.
    pub fn before(now: Instant) -> Self {
        Self {
            at: now,
            after: Instant::ZERO,
            edge: Offset::SYN,
            echo: None,
            dsack: None,
            sacked_up_to: Offset::SYN,
            asked_for: None,
            carries_data: false,
            recent: None,
            overtaken: None,
        }
    }
}

/// A duplicate arrival, reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// When the report came.
    pub at: Instant,
    /// The `TSecr` beside it, where it is that of what arrived: not above a hole.
    pub echo: Option<u32>,
}

/// A piece of the stream that was sent more than once.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub span: Span,
    /// In the order they were sent; at least the first transmission.
    pub copies: Vec<Sent>,
    pub cover: Option<Cover>,
    pub reports: Vec<Report>,
    /// ACKs that may answer a copy that was refused.
    pub mutes: Vec<mutes::Number>,
}

impl Piece {
    pub fn new(span: Span, original: Option<Copy>) -> Self {
        let original = Sent {
            copy: original,
            row: None,
        };
        Self {
            span,
            copies: vec![original],
            cover: None,
            reports: Vec::new(),
            mutes: Vec::new(),
        }
    }

    /// `false`: there are too many.
    pub fn push_copy(&mut self, copy: Copy, row: u32) -> bool {
        let room = self.copies.len() < MOST_COPIES;
        if room {
            self.copies.push(Sent {
                copy: Some(copy),
                row: Some(row),
            });
        }
        room
    }

    /// A mute ACK may answer a copy of it. `false`: there are too many.
    pub fn push_mute(&mut self, number: mutes::Number) -> bool {
        let room = self.mutes.len() < MOST_MUTES;
        if room {
            self.mutes.push(number);
        }
        room
    }

    /// When nothing more is to be expected of it; `None`: not before it is acknowledged.
    fn settled_at(&self, after: Duration) -> Option<Instant> {
        let last = self.copies.last().and_then(|sent| sent.copy);
        Some(
            self.cover?
                .at
                .max(last.map_or(Instant::ZERO, |copy| copy.at))
                + after,
        )
    }

    /// Cuts off and returns what lies from `at` on.
    fn split_off(&mut self, at: Offset) -> Self {
        let rest = Self {
            span: Span::new(at, self.span.end),
            ..self.clone()
        };
        self.span.end = at;
        rest
    }
}

/// Boxed: pieces are long, and move between two maps of few.
type Map = BTreeMap<Offset, Box<Piece>>;

/// Pieces by where they begin; they do not overlap.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Not acknowledged yet.
    open: Map,
    /// Acknowledged; a duplicate may still be reported.
    covered: Map,
    /// No piece settles before.
    next_settled: Option<Instant>,
}

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.covered.is_empty()
    }

    /// Whether no more can be told apart.
    pub fn is_full(&self) -> bool {
        self.len() >= MOST_PIECES
    }

    pub fn len(&self) -> usize {
        self.open.len() + self.covered.len()
    }

    pub fn insert_open(&mut self, piece: Piece) {
        self.open.insert(piece.span.start, Box::new(piece));
    }

    pub fn insert_covered(&mut self, piece: Piece, cover: Cover) {
        self.settle_later(Box::new(piece), cover);
    }

    fn settle_later(&mut self, mut piece: Box<Piece>, cover: Cover) {
        piece.cover = Some(cover);
        self.next_settled.get_or_insert(cover.at);
        self.covered.insert(piece.span.start, piece);
    }

    /// Whether anything of `span` is in a piece.
    pub fn has(&self, span: Span) -> bool {
        let maps = [&self.open, &self.covered];
        maps.iter()
            .any(|map| overlapping(map, span).next().is_some())
    }

    /// The parts of `span` that are in no piece.
    pub fn gaps(&self, span: Span) -> Vec<Span> {
        let mut taken: Vec<Span> = (overlapping(&self.open, span))
            .chain(overlapping(&self.covered, span))
            .collect();
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

    /// The pieces inside `span`, cut at its ends.
    pub fn within(&mut self, span: Span) -> impl Iterator<Item = &mut Piece> {
        let open = cut(&mut self.open, span);
        open.chain(cut(&mut self.covered, span))
    }

    /// All pieces.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Piece> {
        let pieces = self.open.values_mut().chain(self.covered.values_mut());
        pieces.map(Box::as_mut)
    }

    /// An ACK covers `span`. Whether anything in it waited for that.
    pub fn cover(&mut self, span: Span, cover: &Cover) -> bool {
        // Most ACKs cover nothing that waits.
        if overlapping(&self.open, span).next().is_none() {
            return false;
        }
        let starts: Vec<Offset> = cut(&mut self.open, span).map(|p| p.span.start).collect();
        for start in starts {
            if let Some(piece) = self.open.remove(&start) {
                self.settle_later(piece, *cover);
            }
        }
        true
    }

    /// An ACK of everything below `edge` came late: the receiver had sent it before the one that covers
    /// what begins there.
    pub fn set_edge(&mut self, edge: Offset) {
        let piece = self.covered.get_mut(&edge);
        if let Some(cover) = piece.and_then(|piece| piece.cover.as_mut()) {
            cover.edge = edge;
        }
    }

    /// A duplicate arrival of `span` is reported.
    pub fn report(&mut self, span: Span, report: Report) {
        for piece in self.within(span) {
            if piece.reports.len() < MOST_REPORTS {
                piece.reports.push(report);
            }
        }
    }

    /// Takes out what can change no more at `now`.
    pub fn take_settled(&mut self, now: Instant, after: Duration) -> Vec<Piece> {
        if self.next_settled.is_none_or(|next| now < next) {
            return Vec::new();
        }
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
        settled.map(|piece| *piece).collect()
    }

    /// Takes out everything.
    pub fn take_all(&mut self) -> Vec<Piece> {
        let open = std::mem::take(&mut self.open);
        let covered = std::mem::take(&mut self.covered);
        let all = open.into_values().chain(covered.into_values());
        all.map(|piece| *piece).collect()
    }
}

/// The pieces that have something in common with `span`.
fn overlapping(map: &Map, span: Span) -> impl Iterator<Item = Span> {
    let before = map.range(..span.start).next_back();
    let from = map.range(span.start..span.end.max(span.start));
    (before.into_iter().chain(from))
        .map(|(_, piece)| piece.span)
        .filter(move |piece| piece.overlaps(span))
}

/// The pieces inside `span`, after those that reach across its ends were cut in two.
fn cut(map: &mut Map, span: Span) -> impl Iterator<Item = &mut Piece> {
    let room = map.len() < MOST_PIECES;
    for at in [span.start, span.end] {
        let across = map.range_mut(..at).next_back().map(|(_, piece)| piece);
        if let Some(piece) = across.filter(|piece| piece.span.end > at && room) {
            let rest = piece.split_off(at);
            map.insert(at, Box::new(rest));
        }
    }
    map.range_mut(span.start..span.end.max(span.start))
        .map(|(_, piece)| piece.as_mut())
        .filter(move |piece| piece.span.end <= span.end)
}
