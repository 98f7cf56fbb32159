//! Challenge ACKs: ACKs that report nothing new, because the receiver refused a segment.
//!
//! Linux drops a segment whose timestamp is older than TS.Recent (RFC 7323 §5.3, PAWS) and answers
//! with an ACK. Below the left edge of the window that ACK reports a duplicate; above, it repeats
//! the last ACK. A copy can be refused although its bytes are missing: a retransmission that filled
//! an earlier hole has overtaken it. The refused copy arrived, and is retransmitted all the same.

use super::{Transmission, evidence::is_before, history::ReceivedAck, pieces::Piece};
use crate::memory::HeapSize;
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Challenge ACKs that are remembered.
const MOST_KEPT: usize = 256;

/// A challenge ACK may answer a copy of several pieces. A piece with a smaller chance ignores it,
/// as it ignores other rare events.
const LEAST_LIKELIHOOD: f64 = 1.0 / 32.0;

/// With this many pieces, the chance of each is too small.
pub(super) const TOO_MANY: usize = 256;

/// An ACK that reports nothing new.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ChallengeAck {
    at: Instant,
    /// The timestamp echoed; the refused segment's is older.
    echo: u32,
    cumulative: Offset,
    /// Possible causes: pieces with a copy that may have been refused, and a larger window.
    causes: u32,
}

/// The number of a challenge ACK.
pub(super) type Number = u64;

/// The challenge ACKs of one direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ChallengeAcks {
    kept: VecDeque<ChallengeAck>,
    /// How many were removed.
    forgotten: Number,
    /// When ACKs came that repeat the last one.
    repeats: VecDeque<Instant>,
    /// The last ACK.
    before: LastAck,
    /// When retransmissions filled holes, and the timestamps echoed then.
    hole_fills: VecDeque<(Instant, u32)>,
}

/// Fields that a challenge ACK repeats.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct LastAck {
    cumulative: Offset,
    newest_block: Option<Span>,
    window: u64,
}

impl ChallengeAcks {
    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        self.kept.heap_size() + self.repeats.heap_size() + self.hole_fills.heap_size()
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.kept.shrink_to_fit();
        self.repeats.shrink_to_fit();
        self.hole_fills.shrink_to_fit();
    }

    /// Removes everything, keeping memory.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.repeats.clear();
        self.forgotten = 0;
        self.before = LastAck::default();
        self.hole_fills.clear();
    }

    /// An ACK covers retransmitted bytes. It echoes what filled the hole; older segments are
    /// refused from now on.
    pub fn on_fill(&mut self, at: Instant, echo: Option<u32>) {
        let Some(echo) = echo else { return };
        if self.hole_fills.len() == MOST_KEPT {
            self.hole_fills.pop_front();
        }
        self.hole_fills.push_back((at, echo));
    }

    /// When the timestamp of `copy` became too old, according to the ACKs.
    fn outdated_at(&self, copy: &Transmission) -> Option<Instant> {
        let ts = copy.ts_value?;
        let mut hole_fills = self.hole_fills.iter();
        let fill = hole_fills.find(|(at, echo)| *at > copy.at && is_before(ts, *echo));
        fill.map(|(at, _)| *at)
    }

    /// Whether `copy` was too old for the receiver by `due`, as far as holes filled show it.
    pub fn may_refuse(&self, copy: &Transmission, due: Instant) -> bool {
        let is_older = |echo: u32| copy.ts_value.is_some_and(|ts| is_before(ts, echo));
        self.hole_fills.iter().any(|&(at, echo)| at <= due && is_older(echo))
    }

    /// Takes an ACK. If it is a challenge ACK, returns its number. `newest_echo` is the newest
    /// timestamp echoed before: a refused segment does not change what is echoed, so an ACK with a
    /// new echo answers the segment with that timestamp, which arrived as a duplicate.
    pub fn on_ack(&mut self, ack: &ReceivedAck<'_>, newest_echo: Option<u32>) -> Option<Number> {
        let now = LastAck { cumulative: ack.cumulative, newest_block: ack.sacked.first().copied(), window: ack.window };
        let before = std::mem::replace(&mut self.before, now);
        // Linux reports a larger window on its own once it has doubled.
        let repeats_last = now.cumulative == before.cumulative
            && ack.dsack.is_none()
            && !ack.carries_data
            && now.newest_block == before.newest_block
            && now.window < before.window.saturating_mul(2);
        if repeats_last {
            if self.repeats.len() == MOST_KEPT {
                self.repeats.pop_front();
            }
            self.repeats.push_back(ack.at);
        }
        let is_known = |echo: u32| newest_echo.is_some_and(|newest| !is_before(newest, echo));
        let echo = (ack.echo).filter(|&echo| repeats_last && is_known(echo))?;
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
            self.forgotten += 1;
        }
        self.kept.push_back(ChallengeAck {
            at: ack.at,
            echo,
            cumulative: ack.cumulative,
            causes: u32::from(now.window > before.window),
        });
        Some(self.forgotten + self.kept.len() as Number - 1)
    }

    /// Links the challenge ACK to `piece`, if it may answer a copy of that.
    pub fn note(&mut self, number: Number, piece: &mut Piece) {
        if let Some(ack) = self.get_mut(number) {
            ack.note(number, piece);
        }
    }

    /// Links a new `piece` to all challenge ACKs that may answer its first transmission.
    pub fn note_known(&mut self, piece: &mut Piece) {
        for (number, ack) in (self.forgotten..).zip(&mut self.kept) {
            ack.note(number, piece);
        }
    }

    /// Refusal of `piece` by the challenge ACKs linked to it.
    pub fn of(&self, piece: &Piece) -> Refusal {
        let challenge_acks = || piece.challenge_acks.iter().filter_map(|&number| self.get(number));
        let odds: f64 = challenge_acks().map(|ack| 1.0 / f64::from(ack.causes)).sum();
        let newest = |a, b| if is_before(a, b) { b } else { a };
        Refusal {
            echo: (challenge_acks().map(|ack| ack.echo).reduce(newest)).filter(|_| odds >= LEAST_LIKELIHOOD),
            certain: challenge_acks().any(|ack| ack.causes == 1),
            repeated_at: self.first_repeat_after(piece),
            outdated_at: (piece.copies[0].copy).and_then(|first| self.outdated_at(&first)),
        }
    }

    /// When the first ACK came, after the piece was covered, that repeats the last one.
    fn first_repeat_after(&self, piece: &Piece) -> Option<Instant> {
        let covered_at = piece.cover.as_ref()?.at;
        let first = self.repeats.partition_point(|at| *at <= covered_at);
        self.repeats.get(first).copied()
    }

    fn get(&self, number: Number) -> Option<&ChallengeAck> {
        self.kept.get(number.checked_sub(self.forgotten)? as usize)
    }

    fn get_mut(&mut self, number: Number) -> Option<&mut ChallengeAck> {
        self.kept.get_mut(number.checked_sub(self.forgotten)? as usize)
    }
}

impl ChallengeAck {
    fn note(&mut self, number: Number, piece: &mut Piece) {
        let mut copies = piece.copies.iter().filter_map(|sent| sent.copy);
        let refused = copies.any(|copy| copy.at < self.at && copy.ts_value.is_some_and(|ts| is_before(ts, self.echo)));
        if refused && piece.span.start >= self.cumulative && piece.push_challenge_ack(number) {
            self.causes += 1;
        }
    }
}

impl Refusal {
    /// This refusal if no copy was refused.
    pub fn none(self) -> Self {
        Self { repeated_at: self.repeated_at, ..Self::default() }
    }
}

/// Evidence of challenge ACKs about a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The newest timestamp echoed, if older copies may have been refused.
    pub echo: Option<u32>,
    /// A challenge ACK that only a copy of this piece, or a duplicate by the network, can have
    /// caused.
    pub certain: bool,
    /// When the first ACK came, after the piece was covered, that repeats the last one.
    pub repeated_at: Option<Instant>,
    /// When the first transmission became too old to be accepted.
    pub outdated_at: Option<Instant>,
}
