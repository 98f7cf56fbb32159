//! Was a retransmission needed?
//!
//! A copy is **spurious** if every byte of it was in an earlier-sent copy that arrived, even one that
//! arrived later; else it was **needed**. So of each piece of the stream one thing is sought: the first
//! copy, in the order they were sent, that arrived.
//!
//! ```text
//! Judge      hears the receiver's ACKs: for whatever was seen going twice
//! Arrivals   sees the copies arrive: at the receiver, and between for what was lost before
//! ```
//!
//! What [`Judge`] says rests on the ACKs alone, so it is right wherever the capture was taken, if every copy
//! is in it. What fills a hole, and is seen for the first time, is for [`arrivals::Arrivals`].
//!
//! Retransmissions may be cut differently from what was first sent (a super-segment goes again in
//! segments; small ones go again as one), so the stream is cut into [`pieces`] of one history each;
//! [`story`] decides each piece, and a retransmission is needed if one piece of it was.
//!
//! Sources: RFC 2883 §4 (DSACK), RFC 7323 §4.3 (which timestamp is echoed), RFC 3522 (Eifel);
//! Linux's receiver where it says more than the RFCs, see [`story`].
//!
//! Limits: a copy that arrived and was dropped by the receiver, which has no buffer for it, looks lost. So
//! does one refused for its age, if the ACK that answers it tells of other arrivals as well. Where many
//! holes are open at once, an ACK that says nothing leaves all of them undecided. Anyone else's packet of
//! the same millisecond can be taken for a copy.

pub(crate) mod arrivals;
mod clues;
mod mutes;
mod pieces;
mod rows;
mod sacked;
mod story;
#[cfg(test)]
mod tests;

use crate::finding::{Evidence, Verdict};
use clues::{Clues, Known, is_before};
use mutes::{Mutes, Refusal, TOO_MANY};
use pieces::{Cover, Piece, Pieces, Report};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use rows::Rows;
use sacked::Sacked;
use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;
use story::Story;

/// So long after a piece was acknowledged, or sent again, a report of a duplicate may still come. Round
/// trips are shorter, and what a stalled path held back comes out together.
const SETTLED: Duration = Duration::from_secs(3);

/// So many proven duplicates without one report: the receiver makes none, whatever was agreed on. (RFC
/// 2883 has no option of its own; Linux lets `tcp_dsack` turn it off.)
const SILENT: u32 = 3;

/// Steps that deciding may take for each packet heard: nobody's blocks and copies are to cost more. What is
/// usual takes a few dozen a piece.
const STEPS: u64 = 2048;

/// And as many are saved up.
const MOST_STEPS: u64 = 1 << 20;

/// ACKs that are remembered.
const LAST_ACKS: usize = 64;

/// What the receiver of a direction's data tells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// Both ends use timestamps (RFC 7323 §3.2).
    pub timestamps: bool,
    /// SACK is agreed on, so duplicate arrivals are expected to be reported (RFC 2883).
    pub reports_duplicates: bool,
}

/// One transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    /// When it was captured.
    pub at: Instant,
    /// Its timestamp (`TSval`).
    pub ts_value: Option<u32>,
}

/// Tells for one direction which retransmissions were needed, from what its receiver sent back.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    facts: Facts,
    pieces: Pieces,
    rows: Rows,
    heard: Heard,
    mutes: Mutes,
    closed: Option<Instant>,
    reset: Option<Instant>,
    /// A duplicate arrival was reported at least once.
    reported: bool,
    /// Duplicates that must have arrived, if not lost, without a report.
    unreported: u32,
    /// A duplicate was reported of what had gone only once: the path doubles packets.
    doubles: bool,
    /// So many steps deciding may take before more is heard.
    steps_left: u64,
}

/// The receiver's ACKs so far.
#[derive(Debug, Default)]
struct Heard {
    /// The last one came then.
    at: Instant,
    /// The highest cumulative ACK.
    cumulative: Offset,
    /// The end of the highest SACK block.
    sacked_up_to: Offset,
    /// What is there above the cumulative ACK.
    sacked: Sacked,
    /// The last ACK that acknowledged nothing new asked for this: what is there was overtaken.
    asked_for: Option<Offset>,
    /// The newest timestamp echoed.
    recent: Option<u32>,
    /// When the last ACK came that later ones had overtaken.
    overtaken: Option<Instant>,
    /// The longest that one came after the first of those that had overtaken it.
    held: Duration,
    /// The last ACKs: when they came, what they acknowledged, and the end of their first block.
    last: VecDeque<(Instant, Offset, Offset)>,
    window: u64,
}

impl Judge {
    /// Nothing sent again yet.
    #[cfg(test)]
    pub fn new(facts: Facts) -> Self {
        Self {
            facts,
            ..Self::default()
        }
    }

    /// Begins again with nothing sent again yet, keeping memory.
    pub fn begin(&mut self, facts: Facts) {
        let (mut rows, mut mutes) = (take(&mut self.rows), take(&mut self.mutes));
        rows.clear();
        mutes.clear();
        *self = Self {
            facts,
            rows,
            mutes,
            ..Self::default()
        };
    }

    /// The ends agreed on more: wanted before anything is decided when the first retransmission was of
    /// the handshake.
    pub fn set_facts(&mut self, facts: Facts) {
        self.facts = facts;
    }

    /// `span` goes again, as `copy`. `index` is the caller's number of this retransmission, higher with
    /// each. `original` is the first transmission of its first byte; `None` where the capture does not
    /// have it. Copies are remembered from here on. Offset 0 is the SYN's.
    pub fn on_retransmission(
        &mut self,
        index: u32,
        span: Span,
        copy: Copy,
        original: Option<Copy>,
    ) {
        self.rows.begin(index, span.len());
        self.steps_left = MOST_STEPS.min(self.steps_left + STEPS);
        if self.pieces.is_full() {
            let uncounted = (Verdict::Unknowable, Evidence::Ambiguous);
            return self.rows.decide(index, span.len(), uncounted);
        }
        let covered = self.heard.cumulative.min(span.end);
        let gaps = self.pieces.gaps(span).into_iter();
        for (new, sacked) in gaps.flat_map(|gap| self.heard.sacked.cut(gap)) {
            let mut piece = Piece::new(new, original);
            if self.facts.reports_duplicates {
                self.mutes.note_all(&mut piece);
            }
            if sacked || new.end <= covered {
                self.pieces.insert_covered(piece, Cover::before(copy.at));
            } else {
                self.pieces.insert_open(piece);
            }
        }
        for piece in self.pieces.within(span) {
            if !piece.push_copy(copy, index) {
                let uncounted = (Verdict::Unknowable, Evidence::Ambiguous);
                self.rows.decide(index, piece.span.len(), uncounted);
            }
        }
    }

    /// An ACK from the receiver. Wanted while anything is undecided (not [`is_idle`](Self::is_idle));
    /// besides, whenever it carries SACK blocks or acknowledges nothing new. `una_before` is the highest
    /// cumulative ACK seen before it (any offset below the data's when there was none), `ts_echo` its
    /// `TSecr`.
    pub fn on_ack(&mut self, now: Instant, una_before: Offset, ack: &Ack, ts_echo: Option<u32>) {
        self.steps_left = MOST_STEPS.min(self.steps_left + STEPS);
        let dsack = ack.dsack();
        let cover = Cover {
            at: now,
            after: self.heard.at,
            edge: una_before,
            echo: ts_echo,
            dsack,
            sacked_up_to: self.heard.sacked_up_to,
            asked_for: self.heard.asked_for,
            carries_data: ack.carries_data,
            recent: self.heard.recent,
            overtaken: self.heard.overtaken,
        };
        let below = Span::new(Offset::SYN, ack.cumulative);
        if self.pieces.cover(below, &cover) {
            self.mutes.on_fill(now, ts_echo);
        }
        // What is above the cumulative ACK is not echoed.
        let above = Cover {
            echo: None,
            ..cover
        };
        for &span in ack.sack_blocks().iter().chain(&dsack) {
            self.pieces.cover(span, &above);
        }
        if ack.cumulative < self.heard.cumulative {
            self.pieces.set_edge(ack.cumulative);
        }
        if let Some(span) = dsack {
            self.reported = true;
            self.doubles |= !self.pieces.has(span);
            let echo = ts_echo.filter(|_| span.end <= ack.cumulative);
            self.pieces.report(span, Report { at: now, echo });
        }
        if self.heard.is_news_to(una_before, ack) {
            self.heard.on_overtaken(now, ack);
        } else {
            self.note_mute(now, ack, ts_echo);
        }
        self.heard.note(now, una_before, ack, ts_echo);
    }

    /// An ACK that says nothing may answer a copy that was refused.
    fn note_mute(&mut self, now: Instant, ack: &Ack, ts_echo: Option<u32>) {
        let mute = self.mutes.on_ack(now, ack, ts_echo);
        let tells = self.facts.reports_duplicates && self.pieces.len() < TOO_MANY;
        if let Some(number) = mute.filter(|_| tells) {
            for piece in self.pieces.iter_mut() {
                self.mutes.note(number, piece);
            }
        }
    }

    /// The data's sender acknowledged the receiver's FIN: what it hears of that later, duplicates may go
    /// unreported (in TIME-WAIT Linux acknowledges without SACK blocks). Called again, the first counts.
    pub fn on_close(&mut self, now: Instant) {
        self.closed.get_or_insert(now);
    }

    /// Either sent a reset: nothing is reported any more. Called again, the first counts.
    pub fn on_reset(&mut self, now: Instant) {
        self.reset.get_or_insert(now);
    }

    /// Whether nothing waits for ACKs.
    pub fn is_idle(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Hands out what can change no more at `now`, and forgets it. `min_rtt` is the least round-trip time
    /// seen so far between the place of capture and the receiver.
    pub fn settle(
        &mut self,
        now: Instant,
        min_rtt: Option<Duration>,
        found: impl FnMut(u32, Verdict, Evidence),
    ) {
        let settled = self.pieces.take_settled(now, SETTLED);
        if !settled.is_empty() {
            self.decide(&settled, now, min_rtt);
        }
        self.rows.hand_out(found);
    }

    /// Hands out all the rest. `end` is until when the receiver was watched: the end of the capture, or
    /// when the connection was taken to be over.
    pub fn finish(
        &mut self,
        end: Instant,
        min_rtt: Option<Duration>,
        mut found: impl FnMut(u32, Verdict, Evidence),
    ) {
        let rest = self.pieces.take_all();
        self.decide(&rest, end, min_rtt);
        self.rows.hand_out(&mut found);
        self.rows.give_up(found);
    }

    fn decide(&mut self, pieces: &[Piece], end: Instant, min_rtt: Option<Duration>) {
        let mut known = Known {
            facts: self.facts,
            min_rtt: min_rtt.unwrap_or_default(),
            end: self.reset.map_or(end, |reset| reset.min(end)),
            closed: self.closed,
            doubles: self.doubles,
            held: self.heard.held,
        };
        let clues = |piece, known| Clues::of(piece, Refusal::default(), known);
        let round_trips = pieces.iter().filter_map(|p| clues(p, known));
        let proven = round_trips
            .filter_map(|clues| clues.shortest_round_trip())
            .min();
        known.min_rtt = proven.map_or(known.min_rtt, |proven| proven.min(known.min_rtt));
        if !self.reported {
            let unreported = pieces.iter().filter_map(|p| clues(p, known));
            let silent = unreported.filter(|clues| clues.is_unreported_duplicate());
            self.unreported += silent.count() as u32;
            known.facts.reports_duplicates &= self.unreported < SILENT;
        }
        for piece in pieces {
            let refusal = self.mutes.of(piece);
            let steps = Story::steps(piece, refusal);
            let told = steps <= self.steps_left;
            if told {
                self.steps_left -= steps;
            }
            self.decide_piece(piece, refusal, known, told);
        }
    }

    /// Decides what a piece says of the retransmissions it is part of; not `told`, that nobody knows.
    fn decide_piece(&mut self, piece: &Piece, refusal: Refusal, known: Known, told: bool) {
        let story = told.then(|| Story::new(piece, refusal, known));
        // Where the path doubles packets, an ACK that says nothing may be another's double.
        let doubt = (told && self.doubles).then(|| Story::new(piece, Refusal::default(), known));
        for (number, sent) in piece.copies.iter().enumerate() {
            let Some(row) = sent.row else { continue };
            let doubtful = (Verdict::Unknowable, Evidence::Ambiguous);
            let mut found = (story.as_ref()).map_or(doubtful, |story| story.verdict(number));
            if doubt
                .as_ref()
                .is_some_and(|d| d.verdict(number).0 != found.0)
            {
                found = doubtful;
            }
            self.rows.decide(row, piece.span.len(), found);
        }
    }
}

impl Heard {
    /// Whether more was known than when `ack` was sent: a block that lies within a longer one.
    fn is_news_to(&self, una_before: Offset, ack: &Ack) -> bool {
        let first = ack.sack_blocks().first();
        ack.cumulative < una_before || first.is_some_and(|block| self.sacked.exceeds(*block))
    }

    /// `ack` came after others that were sent later.
    fn on_overtaken(&mut self, now: Instant, ack: &Ack) {
        self.overtaken = Some(now);
        let (cumulative, end) = (ack.cumulative, first_end(ack));
        let mut last = self.last.iter();
        let first = last.find(|&&(_, c, e)| c > cumulative || c == cumulative && e > end);
        let held = first.map_or(Duration::ZERO, |(at, ..)| now.since(*at));
        self.held = self.held.max(held);
    }

    fn note(&mut self, now: Instant, una_before: Offset, ack: &Ack, echo: Option<u32>) {
        if self.last.len() == LAST_ACKS {
            self.last.pop_front();
        }
        self.last.push_back((now, ack.cumulative, first_end(ack)));
        self.at = self.at.max(now);
        self.cumulative = self.cumulative.max(ack.cumulative).max(una_before);
        for block in ack.sack_blocks() {
            self.sacked_up_to = self.sacked_up_to.max(block.end);
            self.sacked.insert(*block);
        }
        self.sacked.forget(self.cumulative);
        // RFC 5681 §2: a duplicate ACK.
        let duplicate = ack.cumulative == una_before
            && !ack.carries_data
            && ack.window == self.window
            && ack.dsack().is_none();
        if duplicate {
            self.asked_for = Some(ack.cumulative);
        }
        self.window = ack.window;
        if let Some(echo) = echo
            && self.recent.is_none_or(|recent| is_before(recent, echo))
        {
            self.recent = Some(echo);
        }
    }
}

/// The end of its first SACK block.
fn first_end(ack: &Ack) -> Offset {
    (ack.sack_blocks().first()).map_or(Offset::SYN, |block| block.end)
}
