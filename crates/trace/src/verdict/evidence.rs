//! Evidence of times and timestamps about a piece's copies: the cost of assuming that a copy was lost,
//! accepted, refused or reported. [`hypothesis`](super::hypothesis) explains the costs.

use super::{
    ReceiverOptions,
    challenge_acks::Refusal,
    pieces::{Answered, CoveringAck, DuplicateReport, Piece},
};
use recoup_units::{Instant, Offset};

pub(super) const LOST: u32 = 1;
pub(super) const LATE: u32 = 1;
pub(super) const OVERTAKEN: u32 = 2;
const NETWORK_DUPLICATE: u32 = 3;
const DUPLICATE_OF_IDENTIFIED: u32 = 1;
pub(super) const UNEXPLAINED: u32 = 1;
const TOO_FAST: u32 = 1;
const TOO_OLD: u32 = 2;
const COINCIDENCE: u32 = 2;
const STALE: u32 = 1;
const STALE_LAST: u32 = 3;
/// More than any hypothesis costs.
pub(super) const NEVER: u32 = 1000;

/// A millisecond in ns, the unit of all times here.
const MILLISECOND: u64 = 1_000_000;

/// Delay of an answer beyond the round trip: a busy host, a delayed ACK.
const ANSWER_DELAY: u64 = 50 * MILLISECOND;

/// Delay of the answer to a duplicate, which comes at once: at most this long, and this many round
/// trips. On short paths only timers and busy hosts are slow, and neither delays the answer to a
/// duplicate.
const DUPLICATE_DELAY: (u64, u64) = (10 * MILLISECOND, 2);

/// The longest that a receiver delays an ACK (Linux: `TCP_DELACK_MAX`).
const LONGEST_DELAYED_ACK: u64 = 200 * MILLISECOND;

/// Copies sent within this cannot be told apart by the time of the answer: at most this long, and
/// this fraction (1/n) of a round trip.
const SENT_TOGETHER: (u64, u64) = (MILLISECOND, 2);

/// Facts about the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerdictContext {
    pub options: ReceiverOptions,
    /// The shortest round-trip time in ns; 0 if unknown.
    pub min_rtt: u64,
    /// When the capture or the connection ended.
    pub end: Instant,
    /// When the sender acknowledged the receiver's FIN.
    pub closed_at: Option<Instant>,
    /// The path is known to duplicate packets.
    pub path_duplicates: bool,
    /// The longest delay of an overtaken ACK, in ns.
    pub longest_delay: u64,
}

impl VerdictContext {
    /// Whether an ACK at `at` comes just when what was sent at `sent` is answered, if that is not delayed.
    pub fn answers_at_once(&self, sent: Instant, at: Instant) -> bool {
        let took = at.nanos_since(sent);
        let (least, usual) = (self.min_rtt - self.min_rtt / 10, self.min_rtt + self.min_rtt / 4);
        self.min_rtt != 0 && at >= sent && (least..=usual).contains(&took)
    }
}

/// The evidence on an acknowledged piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceEvidence<'a> {
    pub piece: &'a Piece,
    pub cover: &'a CoveringAck,
    pub refusal: Refusal,
    pub context: VerdictContext,
    /// The copy that the echo identifies: the echo is new and belongs to this copy alone.
    identified: Option<usize>,
}

impl<'a> PieceEvidence<'a> {
    /// `None` if the piece was never acknowledged.
    pub fn of(piece: &'a Piece, refusal: Refusal, context: VerdictContext) -> Option<Self> {
        let cover = piece.cover.as_ref()?;
        let mut evidence = Self { piece, cover, refusal, context, identified: None };
        evidence.identified = evidence.find_identified();
        Some(evidence)
    }

    /// The proven round trip, in ns.
    pub fn proven_round_trip(&self) -> Option<u64> {
        let sent = self.sent(self.identified?);
        (sent <= self.cover.at).then(|| self.cover.at.nanos_since(sent))
    }

    /// When the last copy was sent, if it came as a duplicate unless it was lost: the piece was acknowledged before its
    /// answer was due.
    pub fn late_duplicate(&self) -> Option<Instant> {
        let last = self.piece.copies.len() - 1;
        (!self.is_in_time(last)).then(|| self.sent(last))
    }

    /// Whether the last copy, unless lost, arrived after another that is proven to have arrived,
    /// and no DSACK reported it, although the receiver sent an ACK later (`heard_until`).
    pub fn is_unreported_duplicate(&self, heard_until: Instant) -> bool {
        let last = self.piece.copies.len() - 1;
        let identified_before = self.identified.is_some_and(|copy| copy < last);
        let too_early = self.context.min_rtt != 0 && self.first_answer(last) == NEVER;
        let mut heard = *self;
        heard.context.end = heard.context.end.min(heard_until);
        (identified_before || too_early)
            && self.piece.reports.is_empty()
            && !self.is_handshake()
            && heard.is_report_due(last, 0)
    }

    /// The cost if `copy` was lost.
    pub fn lost(&self, copy: usize) -> u32 {
        let coincidence = if self.is_identified(copy) { COINCIDENCE } else { 0 };
        LOST + coincidence
    }

    /// The cost if `copy` arrived first and drew the ACK that covers the piece.
    pub fn drew_covering_ack(&self, copy: usize) -> u32 {
        let cover = self.cover;
        if cover.dsack.is_some_and(|d| d.overlaps(self.piece.span)) {
            // A duplicate drew this ACK.
            return NEVER;
        }
        // An arrival is answered at once, but neither with data nor with a DSACK of another
        // segment.
        let other = cover.carries_data || cover.dsack.is_some();
        // The answer to a SYN carries one and is sent at once. Without a known round trip nothing
        // is slow.
        let timed = !self.is_handshake() && self.context.min_rtt != 0;
        let usual = (self.context.min_rtt.saturating_mul(2)).saturating_add(ANSWER_DELAY);
        let slow = other && timed && self.sent(copy).plus_nanos(usual) <= cover.at;
        let too_old = self.is_older(copy, cover.newest_echo);
        self.first_answer(copy)
            + self.lateness(copy, cover.at)
            + self.not_echoed(copy)
            + self.coincidence(copy)
            + if slow { LOST } else { 0 }
            + if too_old { TOO_OLD } else { 0 }
    }

    /// The cost if `copy` is late, arrived first and is answered just when a later copy is due. A
    /// receiver that reports duplicates would report the later one, unless the connection ends first.
    fn coincidence(&self, copy: usize) -> u32 {
        let reports = self.context.options.reports_duplicates;
        let mut later = copy + 1..self.piece.copies.len();
        let coincides = copy == 0
            && self.was_overtaken()
            && later.any(|k| {
                let may_report = reports && self.is_report_due(k, copy);
                !may_report && self.is_due(k, self.cover.at) && self.covers_all_before(k)
            });
        if coincides { LATE } else { 0 }
    }

    /// Whether a hole was filled just when a retransmission is due.
    pub fn is_on_time(&self) -> bool {
        self.coincidence(0) > 0
    }

    /// Whether the ACK that covers the piece covers what was sent before `copy`, as the answer to
    /// `copy` does unless that has overtaken something.
    fn covers_all_before(&self, copy: usize) -> bool {
        self.cover.above_sent_at.is_none_or(|above| above >= self.sent(copy))
    }

    /// Whether an ACK at `at` comes just when `copy` is answered, if that is not delayed.
    fn is_due(&self, copy: usize, at: Instant) -> bool {
        self.context.answers_at_once(self.sent(copy), at)
    }

    /// The cost of an ACK that repeats the last one just when `copy` is answered, if `copy` arrived
    /// first. A receiver that reports no duplicates answers them so.
    pub fn unexplained_repeat(&self, copy: usize) -> u32 {
        let silent = !self.context.options.reports_duplicates;
        let repeated = self.refusal.repeated_at;
        let due = |at| silent && self.is_due(copy, at);
        if repeated.is_some_and(due) { UNEXPLAINED } else { 0 }
    }

    /// The cost if `copy` arrived first, its ACK was lost, and a later ACK covers the piece.
    pub fn drew_lost_ack(&self, copy: usize) -> u32 {
        let earliest = self.sent(copy).plus_nanos(self.context.min_rtt);
        let not_before = self.cover.after.max(earliest);
        let echo = match (self.edge_echo(), self.ts(copy)) {
            (Some(echo), Some(ts)) if is_before(echo, ts) => self.stale_echo(copy),
            (Some(echo), Some(ts)) if self.is_handshake() && echo != ts => NEVER,
            _ => 0,
        };
        let lateness = self.lateness(copy, not_before);
        let unseen = if self.may_be_merged(copy) { LATE.max(lateness) } else { LOST + lateness };
        self.first_answer(copy) + unseen + echo
    }

    /// Whether the ACK that covers the piece may answer `copy` and a later one together, and echo
    /// the later one: TS.Recent follows a duplicate of bytes that are not acknowledged yet (RFC 7323
    /// §4.3). A receiver that reports duplicates would report this one. The ACK of a segment that
    /// fills a hole is not delayed (RFC 5681 §4.2).
    fn may_be_merged(&self, copy: usize) -> bool {
        let is_last = copy + 1 == self.piece.copies.len();
        !self.context.options.reports_duplicates && !is_last && !self.is_above_hole()
    }

    /// The cost if `copy` arrived as a duplicate and drew `report`.
    pub fn drew_report(&self, copy: usize, report: &DuplicateReport) -> u32 {
        let echo = match (report.echo, self.ts(copy)) {
            (Some(echo), Some(ts)) if echo != ts => LOST,
            _ => 0,
        };
        self.answer(copy, report.at) + echo + self.replaceable(copy, report.at)
    }

    /// The cost if `copy` arrived as a duplicate and no report is seen. `first` arrived first;
    /// `drew` says whether it drew the ACK that covers the piece.
    pub fn unreported(&self, copy: usize, first: usize, drew: bool) -> u32 {
        let context = &self.context;
        let identified = self.is_identified(copy);
        if identified && context.closed_at.is_some_and(|closed_at| closed_at <= self.sent(copy)) {
            // A closed receiver does not echo the timestamp of what it drops.
            return NETWORK_DUPLICATE;
        }
        let closed_at = context.closed_at.is_some_and(|closed_at| closed_at <= self.sent(copy));
        if closed_at && self.is_echoed(copy) {
            return LOST;
        }
        let another_answered =
            !drew && !identified && self.edge_echo().is_some() && self.answer(copy, self.cover.at) == 0;
        // It drew an ACK before the one that covers the piece.
        let merged = self.may_be_merged(first);
        let answered_before = !merged && self.replaceable(copy, self.cover.at) > 0;
        let unseen = another_answered || answered_before;
        let due = !self.is_handshake() && self.is_report_due(copy, first);
        if unseen || context.options.reports_duplicates && (identified || due) { LOST } else { 0 }
    }

    /// The cost if `copy` was refused and no challenge ACK is seen.
    pub fn refused_unseen(&self, copy: usize) -> u32 {
        if !self.is_older(copy, self.cover.newest_echo) {
            NEVER
        } else if self.is_disordered() {
            LATE
        } else {
            LATE + LOST
        }
    }

    /// Whether the first transmission may have been refused unnoticed: ACKs came out of order, and
    /// it became too old soon after it should have arrived, within the delays seen in ACKs.
    fn is_disordered(&self) -> bool {
        let VerdictContext { min_rtt, longest_delay, .. } = self.context;
        let sent = self.sent(0);
        // Retransmissions sent along with it fill holes a round trip after it should have arrived.
        let late = longest_delay.min(min_rtt / 4 * 3);
        let overtaken_at = self.cover.overtaken_at.is_some_and(|at| at >= sent);
        let soon = |outdated: Instant| outdated <= sent.plus_nanos(min_rtt).plus_nanos(late);
        overtaken_at && self.refusal.outdated_at.is_some_and(soon)
    }

    /// Whether only a copy of this piece can have caused a challenge ACK.
    pub fn must_be_refused(&self) -> bool {
        self.refusal.certain && !self.is_disordered()
    }

    /// Whether a challenge ACK may answer `copy`.
    pub fn was_refused(&self, copy: usize) -> bool {
        self.is_older(copy, self.refusal.echo)
    }

    /// Whether the ACK that covers the piece came late enough to answer `copy`.
    pub fn is_in_time(&self, copy: usize) -> bool {
        self.first_answer(copy) == 0
    }

    /// The timestamp echoed, if it shows which copy arrived first.
    pub fn edge_echo(&self) -> Option<u32> {
        let at_edge = self.cover.edge == self.piece.span.start;
        let decides = at_edge && self.context.options.timestamps;
        self.cover.echo.filter(|_| decides)
    }

    /// Whether the echo is not that of `copy`.
    pub fn echoes_another(&self, copy: usize) -> bool {
        self.edge_echo().is_some_and(|echo| self.ts(copy) != Some(echo))
    }

    /// Whether the echo is older than all copies: then it identifies none of them.
    pub fn echoes_none(&self) -> bool {
        self.echoes_older(0)
    }

    /// Whether the echo is older than `copy`.
    pub fn echoes_older(&self, copy: usize) -> bool {
        let both = self.edge_echo().zip(self.ts(copy));
        both.is_some_and(|(echo, ts)| is_before(echo, ts))
    }

    /// Whether neither the first transmission nor a round trip was captured. Then no time is too
    /// early, and a DSACK may report an earlier duplicate.
    pub fn lacks_beginning(&self) -> bool {
        self.piece.copies[0].copy.is_none() && self.context.min_rtt == 0
    }

    /// Whether the echo is new and belongs to `copy` alone.
    pub fn is_identified(&self, copy: usize) -> bool {
        self.identified == Some(copy)
    }

    fn find_identified(&self) -> Option<usize> {
        let is_new = |echo: &u32| (self.cover.newest_echo).is_none_or(|newest_echo| is_before(newest_echo, *echo));
        let echo = self.edge_echo().filter(is_new)?;
        let mut echoed = (0..self.piece.copies.len()).filter(|&copy| self.ts(copy) == Some(echo));
        let copy = echoed.next()?;
        let shared = self.cover.echo_shared && !self.covers_all_before(copy);
        (!shared && echoed.next().is_none()).then_some(copy)
    }

    /// Whether the echo is new and equals the timestamp of `copy`, which other segments may share.
    fn is_echoed(&self, copy: usize) -> bool {
        let echo = self.cover.echo.filter(|_| self.context.options.timestamps);
        let is_new = |echo| (self.cover.newest_echo).is_none_or(|newest_echo| is_before(newest_echo, echo));
        echo.is_some_and(is_new) && self.ts(copy) == echo
    }

    /// The cost of a DSACK that no copy drew. If the echo identifies the copy that arrived first, it
    /// reports a copy of that by the network, or an earlier one that comes after its replacement:
    /// both are rare.
    pub fn undrawn_report(&self) -> u32 {
        let identified = self.identified.is_some_and(|copy| copy > 0);
        if self.context.path_duplicates {
            0
        } else if self.cover.dsack.is_none() && identified {
            DUPLICATE_OF_IDENTIFIED
        } else {
            NETWORK_DUPLICATE
        }
    }

    /// Whether the DSACK of `copy` should have come: the copy that arrived `first` was on time, or
    /// both were equally slow.
    pub fn is_report_due(&self, copy: usize, first: usize) -> bool {
        let VerdictContext { min_rtt, end, closed_at, .. } = self.context;
        let (sent, covered) = (self.sent(copy), self.cover.at);
        let mut due = covered.max(sent.plus_nanos(min_rtt).plus_nanos(min_rtt / 4));
        if first == 0 && !self.was_overtaken() && self.piece.copies[0].copy.is_some() {
            due = due.max(sent.plus_nanos(covered.nanos_since(self.sent(first))));
        }
        // The receiver closed when it heard of the FIN, and its packets took half a round trip.
        let heard = |closed_at: Instant| end.min(closed_at.plus_nanos(min_rtt));
        due.plus_nanos(self.duplicate_delay()) <= closed_at.map_or(end, heard)
    }

    fn duplicate_delay(&self) -> u64 {
        let (most, round_trips) = DUPLICATE_DELAY;
        match self.context.min_rtt {
            0 => most,
            rtt => most.min(rtt.saturating_mul(round_trips)),
        }
    }

    fn sent_together(&self) -> u64 {
        let (most, part) = SENT_TOGETHER;
        match self.context.min_rtt {
            0 => most,
            rtt => most.min(rtt / part),
        }
    }

    /// The cost if an ACK at `at` answers `copy`.
    fn answer(&self, copy: usize, at: Instant) -> u32 {
        let VerdictContext { min_rtt, .. } = self.context;
        let sent = self.sent(copy);
        let took = at.nanos_since(sent);
        if at < sent || took < min_rtt / 2 {
            NEVER
        } else if took < min_rtt - min_rtt / 10 {
            TOO_FAST
        } else {
            0
        }
    }

    /// The cost if the ACK that covers the piece answers `copy`. An echo of its own proves that a
    /// round trip can be this short.
    fn first_answer(&self, copy: usize) -> u32 {
        if self.is_identified(copy) && self.sent(copy) <= self.cover.at { 0 } else { self.answer(copy, self.cover.at) }
    }

    /// Whether a segment sent after the first transmission arrived before it.
    fn was_overtaken(&self) -> bool {
        self.is_above_hole() || self.is_later_sent_answered()
    }

    /// Whether a segment above was reported before.
    fn is_above_hole(&self) -> bool {
        let span = self.piece.span;
        let asked_for = |(at, when): (Offset, Instant)| at == span.start && when > self.sent(0);
        self.cover.sacked_up_to > span.end || self.cover.asked_for.is_some_and(asked_for)
    }

    /// Whether an earlier ACK answered a segment sent after the first transmission, below it: it echoed a
    /// younger timestamp (RFC 7323 §4.3), or came just when the answer to a retransmission was due.
    fn is_later_sent_answered(&self) -> bool {
        let on_time = |filled: Answered| self.context.answers_at_once(filled.sent, filled.acked);
        let is_later = |filled: Answered| filled.sent > self.sent(0) && on_time(filled);
        self.is_older(0, self.cover.newest_echo) || self.cover.filled.is_some_and(is_later)
    }

    /// The cost if `copy` arrived first and was answered at `at` or later.
    fn lateness(&self, copy: usize, at: Instant) -> u32 {
        if copy == 0 && self.was_overtaken() {
            LATE
        } else if copy == 0 && self.is_neighbor_late() {
            0
        } else {
            self.replaceable(copy, at)
        }
    }

    /// Whether a segment sent before the first transmission was acknowledged just as late, although
    /// it was sent once: the path stalled, or the receiver did. Then nothing is strange about a late
    /// first transmission.
    fn is_neighbor_late(&self) -> bool {
        let VerdictContext { min_rtt, .. } = self.context;
        let (Some(neighbor), Some(first)) = (self.cover.neighbor, self.piece.copies[0].copy) else {
            return false;
        };
        let took = neighbor.acked.nanos_since(neighbor.sent);
        let withheld =
            self.piece.span.start >= neighbor.withheld_from || took >= min_rtt.saturating_add(LONGEST_DELAYED_ACK);
        let late = min_rtt != 0 && took >= min_rtt.saturating_add(min_rtt / 2);
        let together = neighbor.acked.plus_nanos(min_rtt / 4) >= self.cover.at;
        neighbor.sent <= first.at && late && together && withheld
    }

    /// The cost if a later copy, not sent along with `copy`, could have been answered by `at`.
    fn replaceable(&self, copy: usize, at: Instant) -> u32 {
        let sent_together = self.sent(copy).plus_nanos(self.sent_together());
        let mut later = copy + 1..self.piece.copies.len();
        if later.any(|copy| self.sent(copy) > sent_together && self.answer(copy, at) == 0) { LATE } else { 0 }
    }

    /// The cost if `copy` drew the ACK and another timestamp is echoed.
    fn not_echoed(&self, copy: usize) -> u32 {
        let Some(echo) = self.edge_echo() else {
            return 0;
        };
        match self.ts(copy) {
            Some(ts) if is_before(echo, ts) => self.stale_echo(copy),
            Some(ts) if ts == echo => 0,
            // The echo is that of the duplicate reported in the same ACK.
            Some(_) if self.cover.dsack.is_some() => 0,
            Some(_) => NEVER,
            // It was not captured, but sent before the next copy.
            None => match self.ts(copy + 1) {
                Some(next) if !is_before(echo, next) => NEVER,
                _ => 0,
            },
        }
    }

    /// The cost if an older timestamp is echoed although `copy` filled the hole.
    fn stale_echo(&self, copy: usize) -> u32 {
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

/// Whether timestamp `a` is older than `b`, modulo 2^32 (RFC 7323 §5.2).
pub(super) fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}
