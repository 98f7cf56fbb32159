//! What time and timestamps say of the copies of a piece: what a story costs that has them lost, taken,
//! refused or reported.

use super::Facts;
use super::mutes::Refusal;
use super::pieces::{Cover, Piece, Report};
use recoup_units::{Instant, Offset};
use std::time::Duration;

pub(super) const LOST: u32 = 1;
pub(super) const LATE: u32 = 1;
pub(super) const OUTRUN: u32 = 2;
const DOUBLED: u32 = 3;
pub(super) const UNEXPLAINED: u32 = 1;
const FASTER: u32 = 1;
const TOO_OLD: u32 = 2;
const COINCIDENCE: u32 = 2;
const STALE: u32 = 1;
const STALE_LAST: u32 = 3;
/// More than any story costs.
pub(super) const NEVER: u32 = 1000;

/// Beyond the round trip, what an answer may take: a host is busy, a delayed ACK waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// The same for a duplicate's, which is answered at once: at most, and in round trips. What is slow to
/// answer where round trips are short is a timer or a busy host, and neither holds up a duplicate's.
const AT_ONCE: (Duration, u32) = (Duration::from_millis(10), 2);

/// Of copies sent within this, the time of an answer does not tell which was answered: at most, and the
/// part of a round trip.
const TOGETHER: (Duration, u32) = (Duration::from_millis(1), 2);

/// What is known of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub facts: Facts,
    pub min_rtt: Duration,
    /// Until then the receiver was watched.
    pub end: Instant,
    /// Then the sender acknowledged the receiver's FIN.
    pub closed: Option<Instant>,
    /// The path is known to double packets.
    pub doubles: bool,
    /// The longest that an ACK which was overtaken came late.
    pub held: Duration,
}

/// All there is to know of a piece that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clues<'a> {
    pub piece: &'a Piece,
    pub cover: &'a Cover,
    pub refusal: Refusal,
    pub known: Known,
}

impl<'a> Clues<'a> {
    /// `None`: the piece was never acknowledged.
    pub fn of(piece: &'a Piece, refusal: Refusal, known: Known) -> Option<Self> {
        let cover = piece.cover.as_ref()?;
        Some(Self {
            piece,
            cover,
            refusal,
            known,
        })
    }

    /// The shortest round trip that is proven.
    pub fn shortest_round_trip(&self) -> Option<Duration> {
        (0..self.piece.copies.len()).find_map(|copy| self.round_trip(copy))
    }

    /// Whether the last copy came, if it was not lost, after another that is proven to have, and nothing
    /// was reported.
    pub fn is_unreported_duplicate(&self) -> bool {
        let last = self.piece.copies.len() - 1;
        let named_before = (0..last).any(|copy| self.is_named(copy));
        named_before && self.piece.reports.is_empty() && self.is_report_due(last, 0)
    }

    /// `copy` was lost.
    pub fn lost(&self, copy: usize) -> u32 {
        let coincidence = if self.is_named(copy) { COINCIDENCE } else { 0 };
        LOST + coincidence
    }

    /// `copy` came first, and drew the ACK that covers the piece.
    pub fn drew_cover(&self, copy: usize) -> u32 {
        let cover = self.cover;
        if cover.dsack.is_some_and(|d| d.overlaps(self.piece.span)) {
            // A duplicate did.
            return NEVER;
        }
        // An arrival is answered at once, but not by data, nor by what reports another.
        let other = cover.carries_data || cover.dsack.is_some();
        // An answer to a SYN carries one, and is sent at once; a round trip must be known to call it slow.
        let timed = !self.is_handshake() && !self.known.min_rtt.is_zero();
        let slow =
            other && timed && self.sent(copy) + self.known.min_rtt * 2 + PATIENCE <= cover.at;
        let too_old = self.is_older(copy, cover.recent);
        self.first_answer(copy)
            + self.lateness(copy, cover.at)
            + self.not_echoed(copy)
            + if slow { LOST } else { 0 }
            + if too_old { TOO_OLD } else { 0 }
    }

    /// `copy` came first, but the ACK it drew was lost; a later one covers the piece.
    pub fn drew_lost(&self, copy: usize) -> u32 {
        let not_before = self.cover.after.max(self.sent(copy) + self.known.min_rtt);
        let echo = match (self.edge_echo(), self.ts(copy)) {
            (Some(echo), Some(ts)) if is_before(echo, ts) => self.stale(copy),
            (Some(echo), Some(ts)) if self.is_handshake() && echo != ts => NEVER,
            _ => 0,
        };
        self.first_answer(copy) + LOST + self.lateness(copy, not_before) + echo
    }

    /// `copy` came when its bytes were there, and drew `report`.
    pub fn drew_report(&self, copy: usize, report: &Report) -> u32 {
        let echo = match (report.echo, self.ts(copy)) {
            (Some(echo), Some(ts)) if echo != ts => LOST,
            _ => 0,
        };
        self.answer(copy, report.at) + echo + self.replaced(copy, report.at)
    }

    /// `copy` came when its bytes were there, and no report is seen; `first` came first, and `drew` the
    /// ACK that covers the piece or not.
    pub fn unreported(&self, copy: usize, first: usize, drew: bool) -> u32 {
        let known = &self.known;
        let named = self.is_named(copy);
        if named && known.closed.is_some_and(|closed| closed <= self.sent(copy)) {
            // A closed receiver does not echo what it drops.
            return DOUBLED;
        }
        let closed = known.closed.is_some_and(|closed| closed <= self.sent(copy));
        if closed && self.is_echoed(copy) {
            return LOST;
        }
        let not_its =
            !drew && !named && self.edge_echo().is_some() && self.answer(copy, self.cover.at) == 0;
        // It drew an ACK, before the one that covers the piece.
        let unseen = not_its || self.replaced(copy, self.cover.at) > 0;
        let due = !self.is_handshake() && self.is_report_due(copy, first);
        if unseen || known.facts.reports_duplicates && (named || due) {
            LOST
        } else {
            0
        }
    }

    /// `copy` was refused, and no ACK that says nothing is seen.
    pub fn refused_unseen(&self, copy: usize) -> u32 {
        if !self.is_older(copy, self.cover.recent) {
            NEVER
        } else if self.is_disordered() {
            LATE
        } else {
            LATE + LOST
        }
    }

    /// Whether the first transmission may have been refused, and the answer not recognized: ACKs came out of
    /// order, and it was too old soon after it should have come: not long after ACKs were late.
    fn is_disordered(&self) -> bool {
        let Known { min_rtt, held, .. } = self.known;
        let sent = self.sent(0);
        // Retransmissions sent with it fill holes a round trip after it should have come, not before.
        let late = held.min(min_rtt / 4 * 3);
        let overtaken = self.cover.overtaken.is_some_and(|at| at >= sent);
        let soon = |outdated: Instant| outdated <= sent + min_rtt + late;
        overtaken && self.refusal.outdated_at.is_some_and(soon)
    }

    /// Whether an ACK that says nothing can answer nothing but a copy of this piece.
    pub fn must_be_refused(&self) -> bool {
        self.refusal.alone && !self.is_disordered()
    }

    /// Whether an ACK that says nothing may answer `copy`.
    pub fn was_refused(&self, copy: usize) -> bool {
        self.is_older(copy, self.refusal.echo)
    }

    /// Whether the answer to `copy`, had it come first, is the ACK that covers the piece: not too soon.
    pub fn is_in_time(&self, copy: usize) -> bool {
        self.first_answer(copy) == 0
    }

    /// The timestamp echoed, where it tells which copy came first.
    pub fn edge_echo(&self) -> Option<u32> {
        let at_edge = self.cover.edge == self.piece.span.start;
        let tells = at_edge && self.known.facts.timestamps;
        self.cover.echo.filter(|_| tells)
    }

    /// Whether something else than `copy` is echoed.
    pub fn echoes_another(&self, copy: usize) -> bool {
        self.edge_echo()
            .is_some_and(|echo| self.ts(copy) != Some(echo))
    }

    /// Whether the echo, never seen before, is of `copy` and of no other.
    pub fn is_named(&self, copy: usize) -> bool {
        let is_new = |echo: &u32| (self.cover.recent).is_none_or(|recent| is_before(recent, *echo));
        let Some(echo) = self.edge_echo().filter(is_new) else {
            return false;
        };
        let others = (0..self.piece.copies.len()).filter(|&other| other != copy);
        self.ts(copy) == Some(echo) && others.map(|o| self.ts(o)).all(|ts| ts != Some(echo))
    }

    /// Whether a new timestamp is echoed that is that of `copy`, though another segment may have it as well.
    fn is_echoed(&self, copy: usize) -> bool {
        let echo = self.cover.echo.filter(|_| self.known.facts.timestamps);
        let is_new = |echo| (self.cover.recent).is_none_or(|recent| is_before(recent, echo));
        echo.is_some_and(is_new) && self.ts(copy) == echo
    }

    /// A DSACK that no copy drew.
    pub fn doubled(&self) -> u32 {
        if self.known.doubles { 0 } else { DOUBLED }
    }

    /// The round-trip time of `copy`, where it is proven to be what was answered.
    pub fn round_trip(&self, copy: usize) -> Option<Duration> {
        let sent = self.sent(copy);
        (self.is_named(copy) && sent <= self.cover.at).then(|| self.cover.at.since(sent))
    }

    /// A duplicate is reported by then, if the copy that came `first` was on time, or the path was as slow
    /// for both.
    pub fn is_report_due(&self, copy: usize, first: usize) -> bool {
        let Known {
            min_rtt,
            end,
            closed,
            ..
        } = self.known;
        let (sent, covered) = (self.sent(copy), self.cover.at);
        let mut due = covered.max(sent + min_rtt + min_rtt / 4);
        if first == 0 && !self.was_overtaken() && self.piece.copies[0].copy.is_some() {
            due = due.max(sent + covered.since(self.sent(first)));
        }
        // The receiver closed when it heard of that, and what it had sent took half the round trip.
        due + self.at_once() <= closed.map_or(end, |closed| end.min(closed + min_rtt))
    }

    fn at_once(&self) -> Duration {
        let (most, round_trips) = AT_ONCE;
        let scaled = Some(self.known.min_rtt).filter(|rtt| !rtt.is_zero());
        scaled.map_or(most, |rtt| most.min(rtt * round_trips))
    }

    fn together(&self) -> Duration {
        let (most, part) = TOGETHER;
        let scaled = Some(self.known.min_rtt).filter(|rtt| !rtt.is_zero());
        scaled.map_or(most, |rtt| most.min(rtt / part))
    }

    /// `copy` answered at `at`.
    fn answer(&self, copy: usize, at: Instant) -> u32 {
        let Known { min_rtt, .. } = self.known;
        let took = at.since(self.sent(copy));
        if at < self.sent(copy) || took < min_rtt / 2 {
            NEVER
        } else if took < min_rtt - min_rtt / 10 {
            FASTER
        } else {
            0
        }
    }

    /// `copy` answered by the ACK that covers the piece: an echo of its own proves that a round trip can
    /// be so short.
    fn first_answer(&self, copy: usize) -> u32 {
        if self.round_trip(copy).is_some() {
            0
        } else {
            self.answer(copy, self.cover.at)
        }
    }

    /// The first transmission had not come when something sent after it had.
    fn was_overtaken(&self) -> bool {
        let span = self.piece.span;
        self.cover.sacked_up_to > span.end || self.cover.asked_for == Some(span.start)
    }

    /// `copy` first of all answered at `at` or later.
    fn lateness(&self, copy: usize, at: Instant) -> u32 {
        if copy == 0 && self.was_overtaken() {
            LATE
        } else {
            self.replaced(copy, at)
        }
    }

    /// A later copy, not sent along with `copy`, could have been answered by `at`.
    fn replaced(&self, copy: usize, at: Instant) -> u32 {
        let together = self.sent(copy) + self.together();
        let mut later = copy + 1..self.piece.copies.len();
        if later.any(|copy| self.sent(copy) > together && self.answer(copy, at) == 0) {
            LATE
        } else {
            0
        }
    }

    /// `copy` drew the ACK, but another timestamp is echoed.
    fn not_echoed(&self, copy: usize) -> u32 {
        let Some(echo) = self.edge_echo() else {
            return 0;
        };
        match self.ts(copy) {
            Some(ts) if is_before(echo, ts) => self.stale(copy),
            Some(ts) if ts == echo => 0,
            // A duplicate reported with it is what it echoes.
            Some(_) if self.cover.dsack.is_some() => 0,
            Some(_) => NEVER,
            // Not seen, but sent before the next.
            None => match self.ts(copy + 1) {
                Some(next) if !is_before(echo, next) => NEVER,
                _ => 0,
            },
        }
    }

    /// An older timestamp than that of `copy` is echoed although it filled the hole.
    fn stale(&self, copy: usize) -> u32 {
        if self.is_handshake() {
            NEVER
        } else if copy + 1 == self.piece.copies.len() {
            STALE_LAST
        } else {
            STALE
        }
    }

    /// Whether the timestamp of `copy` is older than `echo`.
    fn is_older(&self, copy: usize, echo: Option<u32>) -> bool {
        let ages = self.ts(copy).zip(echo);
        ages.is_some_and(|(ts, echo)| is_before(ts, echo))
    }

    fn is_handshake(&self) -> bool {
        self.piece.span.start == Offset::SYN
    }

    fn sent(&self, copy: usize) -> Instant {
        let copy = self.piece.copies.get(copy).and_then(|sent| sent.copy);
        copy.map_or(Instant::ZERO, |copy| copy.at)
    }

    fn ts(&self, copy: usize) -> Option<u32> {
        self.piece.copies.get(copy)?.copy?.ts_value
    }
}

/// Whether timestamp `a` is older than `b`, around the wrap (RFC 7323 §5.2).
pub(super) fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}
