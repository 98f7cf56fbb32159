//! ACKs that say nothing: what arrived was refused.
//!
//! Linux drops a segment whose timestamp is older than TS.Recent (RFC 7323 §5.3, PAWS) and answers it with
//! an ACK. Below the left edge this reports a duplicate; above, it repeats the ACK before it. A copy that
//! was overtaken by a retransmission which filled an earlier hole is refused so although its bytes are
//! lacking: it arrived, and is asked for again.

use super::Copy;
use super::clues::is_before;
use super::pieces::Piece;
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use std::collections::VecDeque;

/// So many are remembered.
const KEPT: usize = 256;

/// A mute ACK may answer a copy of any of several pieces. With less than this chance it is not thought of,
/// as little as of other rare things.
const LIKELY: f64 = 1.0 / 32.0;

/// With so many pieces none is likely, whatever else is.
pub(super) const TOO_MANY: usize = 256;

/// An ACK that says nothing.
#[derive(Clone, Copy, Debug)]
struct Mute {
    at: Instant,
    /// The timestamp echoed: what was refused is older.
    echo: u32,
    cumulative: Offset,
    /// What it may be for: pieces of which a copy may have been refused, and a window that grew.
    causes: u32,
}

/// The number of a mute ACK.
pub(super) type Number = u64;

/// The mute ACKs of a direction.
#[derive(Debug, Default)]
pub(super) struct Mutes {
    kept: VecDeque<Mute>,
    /// How many are no longer kept.
    forgotten: Number,
    /// What the last ACK said.
    before: Before,
    /// When retransmissions filled holes, and the timestamps echoed then.
    fills: VecDeque<(Instant, u32)>,
}

/// What an ACK must repeat to say nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    cumulative: Offset,
    newest_block: Option<Span>,
    window: u64,
}

impl Mutes {
    /// Begins again with none, keeping memory.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.forgotten = 0;
        self.before = Before::default();
        self.fills.clear();
    }

    /// An ACK covers what was sent again: what filled the hole has this timestamp, and what is older is
    /// refused from then on.
    pub fn on_fill(&mut self, at: Instant, echo: Option<u32>) {
        let Some(echo) = echo else { return };
        if self.fills.len() == KEPT {
            self.fills.pop_front();
        }
        self.fills.push_back((at, echo));
    }

    /// Since when the timestamp of `copy` was too old, as the ACKs tell.
    fn outdated_at(&self, copy: &Copy) -> Option<Instant> {
        let ts = copy.ts_value?;
        let mut fills = self.fills.iter();
        let fill = fills.find(|(at, echo)| *at > copy.at && is_before(ts, *echo));
        fill.map(|(at, _)| *at)
    }

    /// An ACK came. If it says nothing, it is remembered, and its number is returned.
    pub fn on_ack(&mut self, at: Instant, ack: &Ack, echo: Option<u32>) -> Option<Number> {
        let now = Before {
            cumulative: ack.cumulative,
            newest_block: ack.sack_blocks().first().copied(),
            window: ack.window,
        };
        let before = std::mem::replace(&mut self.before, now);
        // Linux tells of a larger window unasked when it has doubled.
        let says_nothing = ack.dsack().is_none()
            && !ack.carries_data
            && now.newest_block == before.newest_block
            && now.cumulative == before.cumulative
            && now.window < before.window.saturating_mul(2);
        let echo = echo.filter(|_| says_nothing)?;
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.forgotten += 1;
        }
        self.kept.push_back(Mute {
            at,
            echo,
            cumulative: ack.cumulative,
            causes: u32::from(now.window > before.window),
        });
        Some(self.forgotten + self.kept.len() as Number - 1)
    }

    /// Notes it with `piece` if a copy of that may be what it answers.
    pub fn note(&mut self, number: Number, piece: &mut Piece) {
        if let Some(mute) = self.get_mut(number) {
            mute.note(number, piece);
        }
    }

    /// Notes with a new `piece` all that may answer its first transmission.
    pub fn note_all(&mut self, piece: &mut Piece) {
        for (number, mute) in (self.forgotten..).zip(&mut self.kept) {
            mute.note(number, piece);
        }
    }

    /// Of those noted with `piece`: the newest timestamp echoed, and whether one can answer nothing else.
    pub fn of(&self, piece: &Piece) -> Refusal {
        let mutes = || piece.mutes.iter().filter_map(|&number| self.get(number));
        let odds: f64 = mutes().map(|mute| 1.0 / f64::from(mute.causes)).sum();
        let newest = |a, b| if is_before(a, b) { b } else { a };
        Refusal {
            echo: (mutes().map(|mute| mute.echo).reduce(newest)).filter(|_| odds >= LIKELY),
            alone: mutes().any(|mute| mute.causes == 1),
            outdated_at: (piece.copies[0].copy).and_then(|first| self.outdated_at(&first)),
        }
    }

    fn get(&self, number: Number) -> Option<&Mute> {
        self.kept.get(number.checked_sub(self.forgotten)? as usize)
    }

    fn get_mut(&mut self, number: Number) -> Option<&mut Mute> {
        self.kept
            .get_mut(number.checked_sub(self.forgotten)? as usize)
    }
}

impl Mute {
    fn note(&mut self, number: Number, piece: &mut Piece) {
        let mut copies = piece.copies.iter().filter_map(|sent| sent.copy);
        let refused = copies.any(|copy| {
            copy.at < self.at && copy.ts_value.is_some_and(|ts| is_before(ts, self.echo))
        });
        if refused && piece.span.start >= self.cumulative && piece.push_mute(number) {
            self.causes += 1;
        }
    }
}

/// What mute ACKs say of a piece.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusal {
    /// An older copy may have been refused, and answered.
    pub echo: Option<u32>,
    /// It was a copy of this piece, or a packet doubled.
    pub alone: bool,
    /// Since then the first transmission was too old to be taken.
    pub outdated_at: Option<Instant>,
}
