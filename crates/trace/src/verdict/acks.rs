//! Verdicts from the receiver's ACKs.

use super::{
    AMBIGUOUS, ConditionalVerdict, ReceiverOptions, SentSegments, Transmission,
    challenge_acks::{ChallengeAcks, Refusal, TOO_MANY},
    evidence::{PieceEvidence, VerdictContext},
    history::{AckHistory, ReceivedAck},
    hypothesis::Hypotheses,
    pending::PendingVerdicts,
    pieces::{CoveringAck, DuplicateReport, Piece, Pieces, STEPS_PER_PIECE},
};
use crate::{
    finding::{Evidence, Verdict},
    hosts::{DuplicateReports, ReportsDuplicates},
    memory::HeapSize,
};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, mem::take, time::Duration};

/// How long after a piece was acknowledged or retransmitted a DSACK may still come. Round trips are
/// shorter, and a stalled path releases its packets together.
const SETTLED: Duration = Duration::from_secs(3);

/// Copies remembered that arrived as duplicates.
const MOST_DUPLICATES: usize = 64;

/// Steps that verdicts may take per packet, so that hostile SACK blocks and copies do not cost
/// more. A usual piece takes some hundred in all.
const STEPS_PER_PACKET: u64 = 512;

/// Steps that verdicts may take at first.
const FREE_STEPS: u64 = 2048;

/// Steps that it takes to see whether a piece may have caused a challenge ACK.
const STEPS_PER_NOTE: u64 = 4;

/// The most steps saved up for later.
const MOST_SAVED_STEPS: u64 = 1 << 20;

/// Decides for one direction which retransmissions were needed, from what the receiver sent back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct AckVerdicts {
    options: ReceiverOptions,
    pieces: Pieces,
    pending: PendingVerdicts,
    history: AckHistory,
    challenge_acks: ChallengeAcks,
    /// When the latest copies passed that arrived as duplicates, unless they were lost.
    duplicates: VecDeque<Instant>,
    closed_at: Option<Instant>,
    reset_at: Option<Instant>,
    /// The DSACKs that came, and copies that no DSACK reported although they must have arrived as
    /// duplicates, unless lost.
    reports: DuplicateReports,
    /// Which of them were [taken](Self::take_reports).
    reports_taken: DuplicateReports,
    /// A DSACK reported bytes that were sent once: the path duplicates packets.
    path_duplicates: bool,
    /// How often the receiver discarded what it had reported.
    reneged: u32,
    /// Steps that verdicts may take before the next packet.
    steps_left: u64,
    /// Something would have taken too many steps and was left out. Pieces that are known now stay
    /// undecided.
    incomplete: bool,
    /// A verdict was left out for its cost at any time.
    too_costly: bool,
}

impl AckVerdicts {
    #[cfg(test)]
    pub fn new(options: ReceiverOptions) -> Self {
        Self { options, steps_left: FREE_STEPS, ..Self::default() }
    }

    /// Removes everything, keeping memory.
    pub fn begin(&mut self, options: ReceiverOptions) {
        let (mut pending, mut history, mut challenge_acks) =
            (take(&mut self.pending), take(&mut self.history), take(&mut self.challenge_acks));
        pending.clear();
        history.clear();
        challenge_acks.clear();
        *self = Self { options, steps_left: FREE_STEPS, pending, history, challenge_acks, ..Self::default() };
    }

    /// Updates what the receiver reports: a retransmitted SYN comes before that is negotiated.
    pub fn set_receiver_options(&mut self, options: ReceiverOptions) {
        self.options = options;
    }

    /// The highest cumulative ACK captured so far: [`on_ack`](Self::on_ack) need not have had it.
    pub fn note_acknowledged(&mut self, acked: Offset) {
        self.history.cumulative = self.history.cumulative.max(acked);
    }

    /// Whether `copy` of `span` may have arrived: the receiver reported part of it above its cumulative ACK, or may
    /// have refused it for its age when it came, up to `due` (RFC 7323 §5.3).
    pub fn may_have_arrived(&self, span: Span, copy: &Transmission, due: Instant) -> bool {
        self.history.sacked.cut(span).iter().any(|(_, sacked)| *sacked) || self.challenge_acks.may_refuse(copy, due)
    }

    /// `span` is retransmitted as `copy`. `index` is the caller's number, higher with each
    /// retransmission. `original` is the first transmission of the first byte; `None` if it was not
    /// captured. Offset 0 is the SYN's.
    pub fn on_retransmission(&mut self, index: u32, span: Span, copy: Transmission, original: Option<Transmission>) {
        self.pending.begin(index, span.len());
        self.save_steps();
        if !self.can_add(span) {
            self.leave_out();
            return self.pending.decide(index, span.len(), AMBIGUOUS.into());
        }
        self.pieces.on_lost_above(span.start);
        let covered = self.history.cumulative.min(span.end);
        let gaps = self.pieces.gaps(span).into_iter();
        for (new, sacked) in gaps.flat_map(|gap| self.history.sacked.cut(gap)) {
            let mut piece = Piece::new(new, original);
            if self.options.reports_duplicates {
                self.challenge_acks.note_known(&mut piece);
            }
            if sacked || new.end <= covered {
                self.pieces.insert_covered(piece, CoveringAck::before(copy.at));
            } else {
                self.pieces.insert_open(piece);
            }
        }
        let mut added = 0;
        for piece in self.pieces.within(span) {
            if piece.push_copy(copy, index) {
                added += 1;
            } else {
                self.pending.decide(index, piece.span.len(), AMBIGUOUS.into());
            }
        }
        self.pieces.count_copies(added);
        self.spend_steps();
    }

    /// A packet came, which pays for more steps.
    fn save_steps(&mut self) {
        self.steps_left = MOST_SAVED_STEPS.min(self.steps_left + STEPS_PER_PACKET);
        if self.pieces.is_empty() {
            self.incomplete = false;
        }
    }

    fn spend_steps(&mut self) {
        self.steps_left = self.steps_left.saturating_sub(self.pieces.take_steps());
    }

    fn leave_out(&mut self) {
        self.incomplete = true;
        self.too_costly = true;
    }

    /// Whether there is room and time for a retransmission of `span`.
    fn can_add(&mut self, span: Span) -> bool {
        if self.pieces.is_full() || !self.pieces.can_visit(span, self.steps_left) {
            self.spend_steps();
            return false;
        }
        self.spend_steps();
        let most_new = (self.steps_left / STEPS_PER_PIECE / 2) as usize;
        !self.history.sacked.has_more_than(most_new, span)
    }

    /// The receiver sent an ACK. Needed while anything is undecided (not
    /// [`is_idle`](Self::is_idle)), and whenever the ACK carries SACK blocks or acknowledges
    /// nothing new. `una_before` is the highest cumulative ACK before it (without one, any offset
    /// below the data), `ts_echo` its `TSecr`. `sent` finds segments that it may cover.
    pub fn on_ack(
        &mut self,
        now: Instant,
        una_before: Offset,
        ack: &Ack,
        ts_echo: Option<u32>,
        sent: SentSegments<'_>,
    ) {
        self.save_steps();
        let ack = ReceivedAck::new(now, una_before, ack, ts_echo);
        let dsack = (ack.dsack).filter(|&span| !self.history.is_stale(span, &ack));
        if self.pieces.has_open() {
            self.history.note_neighbor(&ack, sent);
        }
        if self.history.is_reneging(&ack) {
            self.history.on_reneging(ack.cumulative);
            self.reneged = self.reneged.saturating_add(1);
            if self.pieces.covered() as u64 * STEPS_PER_PIECE <= self.steps_left {
                self.pieces.uncover_above(ack.cumulative);
                self.spend_steps();
            } else {
                self.leave_out();
            }
        }
        let below = Span::new(Offset::SYN, ack.cumulative);
        let covering = || self.history.covering(&ack, dsack, sent);
        let filled = self.pieces.cover(below, covering);
        if filled.is_some() {
            self.challenge_acks.on_fill(now, ts_echo);
            self.history.filled = filled;
        }
        for &span in ack.sacked.iter().chain(&dsack) {
            self.spend_steps();
            if self.steps_left == 0 && !self.pieces.is_empty() {
                self.leave_out();
                break;
            }
            // Bytes above the cumulative ACK are not echoed.
            self.pieces.cover(span, || CoveringAck {
                cumulative: Offset::SYN,
                echo: None,
                above_sent_at: None,
                ..self.history.covering(&ack, dsack, sent)
            });
        }
        if ack.cumulative < self.history.cumulative {
            self.pieces.on_late_ack(&ack, dsack);
        }
        if let Some(span) = dsack {
            self.reports.seen = self.reports.seen.saturating_add(1);
            self.path_duplicates |= !self.pieces.has(span);
            let echo = ts_echo.filter(|_| span.end <= ack.cumulative);
            if self.pieces.can_visit(span, self.steps_left) {
                self.pieces.report(span, DuplicateReport { at: now, echo });
            } else {
                self.leave_out();
            }
        }
        self.spend_steps();
        if self.history.has_later_than(&ack) {
            self.history.on_overtaken(&ack);
        } else {
            self.on_repeated_ack(&ack);
        }
        self.history.note(&ack);
    }

    /// An ACK that repeats the last one may answer a refused copy.
    fn on_repeated_ack(&mut self, ack: &ReceivedAck<'_>) {
        let newest = self.history.newest_echo;
        let challenge = self.challenge_acks.on_ack(ack, newest);
        let reports = self.options.reports_duplicates && self.pieces.len() < TOO_MANY;
        let steps = STEPS_PER_NOTE * self.pieces.len() as u64;
        if let Some(number) = challenge.filter(|_| reports && steps <= self.steps_left) {
            self.steps_left -= steps;
            for piece in self.pieces.iter_mut() {
                self.challenge_acks.note(number, piece);
            }
        }
    }

    /// The data's sender acknowledged the receiver's FIN. From now on duplicates may go unreported
    /// (in TIME-WAIT Linux acknowledges without SACK blocks). Only the first call counts.
    pub fn on_close(&mut self, now: Instant) {
        self.closed_at.get_or_insert(now);
    }

    /// Either end sent a reset, so no more duplicates are reported. Only the first call counts.
    pub fn on_reset(&mut self, now: Instant) {
        self.reset_at.get_or_insert(now);
    }

    /// Proof about the receiver; `None` if other connections must decide.
    pub fn proof(&self) -> Option<ReportsDuplicates> {
        if self.options.reports_duplicates { self.reports.proof() } else { Some(ReportsDuplicates::No) }
    }

    /// The duplicates that the receiver reported or did not, since this was last called.
    pub fn take_reports(&mut self) -> DuplicateReports {
        let before = std::mem::replace(&mut self.reports_taken, self.reports);
        DuplicateReports { seen: self.reports.seen - before.seen, missing: self.reports.missing - before.missing }
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.pieces.shrink();
        self.pending.shrink();
        self.history.shrink();
        self.challenge_acks.shrink();
        self.duplicates.shrink_to_fit();
    }

    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        self.pieces.memory()
            + self.pending.memory()
            + self.history.sacked.memory()
            + self.history.last.heap_size()
            + self.challenge_acks.memory()
            + self.duplicates.heap_size()
    }

    /// How often the receiver discarded what it had reported.
    pub fn reneged(&self) -> u32 {
        self.reneged
    }

    /// Whether some verdicts stayed open because they would have taken too long.
    pub fn is_too_costly(&self) -> bool {
        self.too_costly
    }

    /// Reads what an ACK will change, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.steps_left ^ self.history.prefetch()
    }

    /// Whether nothing waits for ACKs.
    pub fn is_idle(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Passes final verdicts to `found` and forgets them. `min_rtt` is the shortest round-trip time
    /// so far between the capture point and the receiver.
    pub fn settle(&mut self, now: Instant, min_rtt: Option<Duration>, found: impl FnMut(u32, ConditionalVerdict)) {
        if self.pieces.covered() as u64 > self.steps_left {
            return self.pending.hand_out(found);
        }
        let settled = self.pieces.take_settled(now, SETTLED);
        self.spend_steps();
        if !settled.is_empty() {
            self.decide(&settled, now, min_rtt);
        }
        self.pending.hand_out(found);
    }

    /// Passes all other verdicts to `found`. `end` is when the capture or the connection ended.
    pub fn finish(&mut self, end: Instant, min_rtt: Option<Duration>, mut found: impl FnMut(u32, ConditionalVerdict)) {
        let rest = self.pieces.take_all();
        self.decide(&rest, end, min_rtt);
        self.pending.hand_out(&mut found);
        self.pending.give_up(found);
    }

    fn decide(&mut self, pieces: &[Piece], end: Instant, min_rtt: Option<Duration>) {
        let mut context = VerdictContext {
            options: self.options,
            min_rtt: min_rtt.map_or(0, nanos),
            end: self.reset_at.map_or(end, |reset_at| reset_at.min(end)),
            closed_at: self.closed_at,
            path_duplicates: self.path_duplicates,
            longest_delay: nanos(self.history.longest_delay),
        };
        let evidence_of = |piece, context| PieceEvidence::of(piece, Refusal::default(), context);
        let round_trips = pieces.iter().filter_map(|p| evidence_of(p, context));
        let proven = round_trips.filter_map(|evidence| evidence.proven_round_trip());
        context.min_rtt = proven.fold(context.min_rtt, u64::min);
        let evidence = pieces.iter().filter_map(|p| evidence_of(p, context));
        for passed_at in evidence.filter_map(|evidence| evidence.late_duplicate()) {
            if self.duplicates.len() == MOST_DUPLICATES {
                self.duplicates.pop_front();
            }
            self.duplicates.push_back(passed_at);
        }
        if self.options.reports_duplicates {
            let evidence = pieces.iter().filter_map(|p| evidence_of(p, context));
            let missing = evidence.filter(|evidence| evidence.is_unreported_duplicate(self.history.at));
            let missing = u32::try_from(missing.count()).unwrap_or(u32::MAX);
            self.reports.missing = self.reports.missing.saturating_add(missing);
        }
        for piece in pieces {
            self.decide_piece(piece, context);
        }
    }

    /// Decides a piece for the retransmissions it belongs to; ambiguous if that takes too many
    /// steps.
    fn decide_piece(&mut self, piece: &Piece, context: VerdictContext) {
        let mut refusal = self.challenge_acks.of(piece);
        if !self.options.reports_duplicates {
            // Without SACK, an ACK that repeats the last one answers any segment above a hole.
            refusal.repeated_at = None;
        }
        let answers_another = |repeated_at| {
            let passed_at = piece.last_sent_at();
            self.duplicates.iter().any(|&other| other > passed_at && context.answers_at_once(other, repeated_at))
        };
        refusal.repeated_at = refusal.repeated_at.filter(|&repeated_at| !answers_another(repeated_at));
        let assumptions = [self.options.reports_duplicates, self.reports.seen == 0];
        let assumed = assumptions.iter().filter(|assumed| **assumed).count() as u64;
        let steps = assumed * Hypotheses::steps(piece, refusal);
        let affordable = steps <= self.steps_left && !self.incomplete;
        if affordable {
            self.steps_left -= steps;
        }
        self.too_costly |= !affordable;
        let [may_report, may_be_silent] = assumptions.map(|assumed| affordable && assumed);
        let reporting = may_report.then(|| PieceVerdicts::new(piece, refusal, context));
        let silent = may_be_silent.then(|| {
            let mut context = context;
            context.options.reports_duplicates = false;
            PieceVerdicts::new(piece, refusal, context)
        });
        let given = |assumed: &Option<PieceVerdicts<'_>>, other: &Option<PieceVerdicts<'_>>, copy| {
            let verdicts = assumed.as_ref().or(other.as_ref());
            verdicts.map_or(AMBIGUOUS, |verdicts| verdicts.of(copy))
        };
        for (number, sent) in piece.copies.iter().enumerate() {
            let Some(row) = sent.row else { continue };
            let found = ConditionalVerdict {
                if_reporting: given(&reporting, &silent, number),
                if_silent: given(&silent, &reporting, number),
            };
            self.pending.decide(row, piece.span.len(), found);
        }
    }
}

/// In whole ns, saturating.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The verdicts on the copies of a piece, under one assumption about the receiver.
#[derive(Debug)]
struct PieceVerdicts<'a> {
    hypotheses: Hypotheses<'a>,
    /// If a repeated ACK need not be a refusal: it may be a duplicate by the path, or answer a
    /// duplicate that the receiver does not report.
    without_refusal: Option<Hypotheses<'a>>,
}

impl<'a> PieceVerdicts<'a> {
    fn new(piece: &'a Piece, refusal: Refusal, context: VerdictContext) -> Self {
        let may_be_none = context.path_duplicates || !context.options.reports_duplicates;
        Self {
            hypotheses: Hypotheses::new(piece, refusal, context),
            without_refusal: (may_be_none && refusal != refusal.none())
                .then(|| Hypotheses::new(piece, refusal.none(), context)),
        }
    }

    /// The verdict on copy `number`, counted from 1.
    fn of(&self, number: usize) -> (Verdict, Evidence) {
        let found = self.hypotheses.verdict(number);
        let contradicted = (self.without_refusal.as_ref()).is_some_and(|without| without.verdict(number).0 != found.0);
        if contradicted { AMBIGUOUS } else { found }
    }
}
