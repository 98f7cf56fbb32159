//! Which copies of a piece arrived: the hypothesis with the lowest cost.
//!
//! A hypothesis says of each copy whether it arrived, which one the receiver accepted first, and
//! which ACK each arrival drew: the first drew the ACK that covers the piece, each later one a
//! DSACK. It costs
//!
//! ```text
//! 1  LOST               a packet is lost: a copy, or the ACK that it drew
//! 1  LATE               a copy arrives after a segment sent later, or when a later copy could have
//! 2  OVERTAKEN          a copy arrives after one sent to replace it
//! 1  TOO_FAST           an arrival is answered sooner than any before
//! 3  NETWORK_DUPLICATE  no copy drew a DSACK: the network duplicated a packet; 0 if it is known to;
//!                       1 if the echo identifies a retransmission as the copy accepted first
//! 2  TOO_OLD            a copy is accepted although older than a timestamp echoed before (PAWS)
//! 1  UNEXPLAINED        only a copy of this piece can have caused a challenge ACK, and none did; or
//!                       an ACK repeats the last one just when a duplicate is answered without DSACK
//! 2  COINCIDENCE        the echo is that of a lost copy: another segment has the same timestamp
//! 1  STALE              a copy fills the hole and is not echoed; 3 if it is the last (STALE_LAST)
//! ```
//!
//! A copy is spurious if the cheapest hypothesis in which an earlier-sent copy arrived costs less
//! than the cheapest in which none did. It was needed if that costs more, and is unknowable if both
//! cost the same. Costs are whole numbers of rare events, each with a probability of about a
//! percent.
//!
//! Facts that rule a hypothesis out or raise its cost:
//!
//! - **Time.** No answer takes much less than the shortest round-trip time, unless it echoes the
//!   copy's own timestamp. A late copy costs nothing if a segment sent before it, which was sent
//!   once, was answered just as late. If neither the first transmission nor a round trip was
//!   captured, only echoes decide.
//! - **Timestamps** (RFC 7323 §4.3). At the left edge of the window, the segment that fills the
//!   hole becomes TS.Recent and is echoed. So an older echo proves that another copy filled it.
//!   Above a hole, or after another segment in the same delayed ACK, the echo says nothing. A duplicate
//!   below the left edge is echoed in its DSACK (RFC 7323; not in RFC 1323). An echo identifies no
//!   copy if new data that the ACK covers has the same timestamp. Linux keeps TS.Recent
//!   if the segment acknowledges less than an earlier one (STALE). Its request socket always echoes
//!   the first SYN, and a client the first SYN-ACK.
//! - **Age** (RFC 7323 §5.3, PAWS). A segment older than TS.Recent is refused, see
//!   [`challenge_acks`](super::challenge_acks). If ACKs come out of order, the answer may not be
//!   recognized, and then costs nothing.
//! - **Duplicates.** Each arrival but the first draws one DSACK, which can be lost with its ACK. A
//!   SYN draws none. Nothing draws one after the receiver closed or the capture ended. A DSACK of
//!   bytes that were sent once shows that the path duplicates packets: then a DSACK proves no
//!   second copy.
//! - **No DSACKs.** A receiver that sends none answers a duplicate by repeating its last ACK (RFC
//!   9293 §3.10.7.4). It may acknowledge the original late, together with the retransmission, and
//!   echo the latter. But a hole is acknowledged as soon as it is filled (RFC 5681 §4.2). So if that
//!   happens just when the retransmission is due, the retransmission filled it.

use super::{
    AMBIGUOUS,
    challenge_acks::Refusal,
    evidence::{LATE, NEVER, OVERTAKEN, PieceEvidence, UNEXPLAINED, VerdictContext},
    pieces::{MOST_COPIES, MOST_REPORTS, Piece},
};
use crate::finding::{Evidence, Verdict};

/// The lowest costs of the hypotheses about a piece.
#[derive(Debug)]
pub(super) struct Hypotheses<'a> {
    copies: usize,
    /// `None` if the piece was never acknowledged.
    evidence: Option<PieceEvidence<'a>>,
    /// The lowest cost by the first-sent copy that arrived.
    least: [u32; MOST_COPIES],
}

/// Costs of the fates of one copy, whatever became of the others.
#[derive(Clone, Copy, Debug, Default)]
struct CopyCosts {
    lost: u32,
    /// It was accepted first and drew the ACK that covers the piece.
    drew_covering: u32,
    /// It was accepted first, and its ACK was lost.
    drew_lost: u32,
    /// It was refused, and no challenge ACK is seen.
    refused_unseen: u32,
    /// A challenge ACK may answer it.
    may_be_refused: bool,
}

impl CopyCosts {
    fn of(copy: usize, evidence: &PieceEvidence<'_>) -> Self {
        let repeat = evidence.unexplained_repeat(copy);
        Self {
            lost: evidence.lost(copy),
            drew_covering: repeat + evidence.drew_covering_ack(copy),
            drew_lost: repeat + evidence.drew_lost_ack(copy),
            refused_unseen: evidence.refused_unseen(copy),
            may_be_refused: evidence.was_refused(copy),
        }
    }
}

/// Assumptions that the costs of the other copies depend on.
#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    /// The first-sent copy that arrived.
    earliest: usize,
    /// The copy that was accepted first.
    first: usize,
    /// Whether `first` drew the ACK that covers the piece; if not, its ACK was lost.
    drew_covering: bool,
    /// The copy that was refused and caused a challenge ACK.
    refused: Option<usize>,
}

impl<'a> Hypotheses<'a> {
    pub fn new(piece: &'a Piece, refusal: Refusal, context: VerdictContext) -> Self {
        let evidence = PieceEvidence::of(piece, refusal, context);
        let copies = piece.copies.len().min(MOST_COPIES);
        let mut least = [NEVER; MOST_COPIES];
        if let Some(evidence) = &evidence {
            let mut costs = [CopyCosts::default(); MOST_COPIES];
            for (copy, costs) in costs[..copies].iter_mut().enumerate() {
                *costs = CopyCosts::of(copy, evidence);
            }
            for (earliest, least) in least[..copies].iter_mut().enumerate() {
                *least = least_cost(evidence, &costs[..copies], earliest);
            }
        }
        Self { copies, least, evidence }
    }

    /// The verdict on copy `number`, counted from 1.
    pub fn verdict(&self, number: usize) -> (Verdict, Evidence) {
        let Some(evidence) = &self.evidence else {
            return (Verdict::Unknowable, Evidence::NotAcknowledged);
        };
        let (before, from) = self.least[..self.copies].split_at(number.min(self.copies));
        let cheapest = |costs: &[u32]| costs.iter().copied().min().unwrap_or(NEVER);
        let (spurious, needed) = (cheapest(before), cheapest(from));
        let identified = (number..self.copies).any(|copy| evidence.is_identified(copy));
        let reports = evidence.context.options.reports_duplicates;
        if evidence.lacks_beginning() {
            return match (spurious < needed, identified) {
                (false, true) if needed < spurious => (Verdict::Needed, Evidence::TimestampEcho),
                (true, _) if evidence.echoes_older(number) => (Verdict::Spurious, Evidence::TimestampEcho),
                _ => AMBIGUOUS,
            };
        }
        if spurious < needed {
            let why = why_spurious(evidence, number);
            why.map_or(AMBIGUOUS, |why| (Verdict::Spurious, why))
        } else if needed < spurious && identified {
            (Verdict::Needed, Evidence::TimestampEcho)
        } else if needed < spurious && (reports || evidence.is_on_time()) {
            (Verdict::Needed, Evidence::NoDuplicate)
        } else if !reports {
            (Verdict::Unknowable, Evidence::NoReports)
        } else {
            AMBIGUOUS
        }
    }

    /// About how many steps it takes to compute the costs of a piece; each takes some ns.
    pub fn steps(piece: &Piece, refusal: Refusal) -> u64 {
        let (copies, reports) = (piece.copies.len() as u64, piece.reports.len() as u32);
        if piece.cover.is_none() {
            return copies;
        }
        let refused = if refusal.echo.is_some() { copies } else { 1 };
        let all = copies * (copies + 1) * refused;
        all * copies * (1 + u64::from(reports) * (1 << reports) / 2)
    }
}

/// `None` if only the probability of a loss speaks for it, which is no evidence.
fn why_spurious(evidence: &PieceEvidence<'_>, number: usize) -> Option<Evidence> {
    if !evidence.piece.reports.is_empty() {
        Some(Evidence::Dsack)
    } else if !evidence.is_in_time(number) {
        Some(Evidence::AckTooEarly)
    } else {
        let by_echo = evidence.echoes_another(number) && !evidence.echoes_none() || evidence.refusal.echo.is_some();
        by_echo.then_some(Evidence::TimestampEcho)
    }
}

/// The lowest cost if `earliest` is the first-sent copy that arrived. `costs`: those of each copy.
fn least_cost(evidence: &PieceEvidence<'_>, costs: &[CopyCosts], earliest: usize) -> u32 {
    let lost: u32 = costs[..earliest].iter().map(|costs| costs.lost).sum();
    let copies = earliest..costs.len();
    let mut least = NEVER;
    for first in copies.clone() {
        let refused = (copies.clone()).filter(|&copy| copy != first && costs[copy].may_be_refused);
        for refused in refused.map(Some).chain([None]) {
            let unexplained = match refused {
                None if evidence.must_be_refused() => UNEXPLAINED,
                _ => 0,
            };
            let CopyCosts { drew_covering, drew_lost, .. } = costs[first];
            for (drew_covering, taken) in [(true, drew_covering), (false, drew_lost)] {
                let known = lost + taken + unexplained;
                if known >= least {
                    continue;
                }
                let hypothesis = Hypothesis { earliest, first, drew_covering, refused };
                least = least.min(known + cost_of_others(evidence, costs, hypothesis));
            }
        }
    }
    least
}

/// The lowest cost of the other copies: each was lost, refused, or drew a DSACK, seen or not.
fn cost_of_others(evidence: &PieceEvidence<'_>, costs: &[CopyCosts], hypothesis: Hypothesis) -> u32 {
    let Hypothesis { earliest, first, drew_covering, refused } = hypothesis;
    let reports = &evidence.piece.reports[..evidence.piece.reports.len().min(MOST_REPORTS)];
    // Indexed by the set of DSACKs accounted for so far.
    let mut all = [NEVER; 1 << MOST_REPORTS];
    let least = &mut all[..1 << reports.len()];
    least[0] = 0;
    for copy in (earliest..costs.len()).filter(|&copy| copy != first) {
        if refused == Some(copy) {
            least.iter_mut().for_each(|so_far| *so_far += LATE);
            continue;
        }
        let overtaken = if copy < first { OVERTAKEN } else { 0 };
        let mut unseen = overtaken + evidence.unreported(copy, first, drew_covering);
        unseen = unseen.min(costs[copy].refused_unseen);
        if copy != earliest {
            unseen = unseen.min(costs[copy].lost);
        }
        let mut drawn = [0; MOST_REPORTS];
        for (drawn, report) in drawn.iter_mut().zip(reports) {
            *drawn = overtaken + evidence.drew_report(copy, report);
        }
        // From the largest set down: what a set becomes depends on smaller ones alone.
        for set in (0..least.len()).rev() {
            let without = |number: usize| least[set & !(1 << number)] + drawn[number];
            let numbers = (0..reports.len()).filter(|number| set >> number & 1 == 1);
            let with = numbers.map(without).min();
            least[set] = (least[set] + unseen).min(with.unwrap_or(u32::MAX));
        }
    }
    if reports.is_empty() {
        return least[0];
    }
    let undrawn = evidence.undrawn_report();
    let unaccounted = |set: usize| reports.len() as u32 - set.count_ones();
    (least.iter().enumerate()).map(|(set, cost)| cost + unaccounted(set) * undrawn).min().unwrap_or(NEVER)
}
