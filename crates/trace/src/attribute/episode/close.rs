//! The end of an episode's direction: its rows become findings.

use super::{ConnectionEnd, Episode, EpisodeContext, Learned, PacketKind, Row, row::RecoveryTime, sender_facts};
use crate::{
    attribute::provisional::{AlternativeVerdict, ProvisionalRow},
    cost::{
        lost::{
            causes::{Clues, ENOUGH_UNANSWERED},
            episodes::{EpisodeCosts, Repair},
        },
        queue::{self, RttBeside},
    },
    finding::{self, Evidence, PlacedLosses, QueueLosses, Retransmission, SenderState, Triggers, Vantage, Verdict},
    hosts::{HostFacts, ReportsDuplicates},
};
use recoup_units::Offset;

impl Episode {
    /// Passes each retransmission to `report`, in order, and adds what they show to `found`. Returns what
    /// the direction showed of the hosts since [`on_connection_over`](Self::on_connection_over).
    pub fn close(
        &mut self,
        context: &EpisodeContext<'_>,
        end: &ConnectionEnd,
        found: &mut finding::Direction,
        mut report: impl FnMut(ProvisionalRow),
    ) -> Learned {
        if let Some(tape) = &mut self.tape {
            tape.deliver_rest();
        }
        self.replay(context, true);
        self.stop_recording(context);
        let vantage = context.vantage;
        self.take_verdicts(context, end.at, true);
        let replayed = self.replayed(context);
        let exact = vantage == Vantage::Sender;
        let best = context.best_profiles(&replayed, exact);
        if exact {
            found.profile = context.candidates.identification(&replayed, &best);
        }
        found.window = replayed.window;
        found.timeouts = replayed.timeouts;
        let learned = Learned {
            sender: HostFacts {
                // When the connection was over, the verdicts were not final.
                window: replayed.window,
                timeouts: replayed.timeouts,
                ..if end.was_over { HostFacts::default() } else { sender_facts(&replayed, context) }
            },
            receiver: self.receiver_facts(),
        };
        let proven = self.ack_verdicts.proof();
        let by_others = context.receiver_reports();
        let belief = proven.unwrap_or(by_others.belief());
        let settled = proven.is_some() || by_others.proof() == Some(ReportsDuplicates::Yes);
        let mut recovery_time = RecoveryTime::default();
        if end.one_direction {
            // All time is unknown.
            self.rows.iter_mut().for_each(|row| row.recovering = None);
        }
        for i in 0..self.rows.len() {
            if self.is_last_word(&self.rows[i], context.mss, end) {
                let time = self.rows[i].recovering.take();
                found.time.withdraw_recovery(time.unwrap_or_default(), SenderState::Closing);
            }
        }
        if matches!(vantage, Vantage::Between | Vantage::Receiver) {
            found.losses = self.placed_losses(vantage, belief);
            if found.losses.behind > 0 {
                // What passed here did not reach the receiver, so it is not here.
                found.vantage = Vantage::Between;
                self.rows.iter_mut().for_each(Row::doubt_arrival);
            }
        }
        found.queue_losses = self.queue_losses(found, belief);
        let mut costs = self.costs(context, end);
        let mut flight_end = Offset(0);
        let mut left_open = false;
        for row in &self.rows {
            let by_profile = row.triggers_by_profile();
            let triggers = best.first().map_or(row.triggers, |&best| by_profile[best]);
            let Some(conditional) = row.verdict_at(vantage) else {
                // Nothing was retransmitted, so the sender was not recovering.
                found.time.withdraw_recovery(row.recovering.unwrap_or_default(), SenderState::Network);
                continue;
            };
            let (verdict, evidence) = conditional.given(belief);
            let alternative = AlternativeVerdict::new(&conditional, belief).filter(|_| !settled);
            left_open |= triggers == Triggers::UNKNOWN || evidence == Evidence::Ambiguous;
            found.retransmissions.add(triggers, verdict);
            recovery_time.add(row);
            let cost = if row.syn { None } else { costs.next() };
            let cost = cost.filter(|_| !end.one_direction || self.is_unanswered(row, end));
            if let Some(cost) = cost {
                flight_end = row.recovered_by;
                found.lost.add(cost.cause, cost.lost);
            }
            let retransmission = Retransmission {
                frame: row.frame,
                at: row.captured_at,
                seq: row.seq,
                len: row.len,
                syn: row.syn,
                fin: row.fin,
                triggers,
                verdict,
                evidence,
                copy: row.copy,
                detection: row.detection,
                recovery: row.recovery,
                rtt: row.rtt,
                flight: row.flight,
                vantage: found.vantage,
                provisional: alternative.is_some(),
                connection: end.connection,
                endpoints: end.endpoints,
                capture_point: 0,
                cost,
            };
            report(ProvisionalRow {
                retransmission,
                alternative,
                triggers: by_profile,
                clues: Clues {
                    of_flight: row.span.start < flight_end,
                    several: row.len > context.mss,
                    without_sack: !context.sack,
                    unanswered: self.is_unanswered(row, end),
                    ..row.clues
                },
            });
        }
        // Where all is known in spite of what was left out, nothing is worth a note.
        found.too_costly |= left_open
            && (self.too_costly || self.ack_verdicts.is_too_costly() || self.arrival_verdicts.is_too_costly());
        found.reneged = self.ack_verdicts.reneged();
        found.episodes = recovery_time.recoveries;
        found.detecting_and_recovering = recovery_time.time;
        learned
    }

    /// The losses of segments with data or a FIN, by whether a queue was full. Away from the sender, round trips show the way
    /// behind the capture point alone.
    fn queue_losses(&self, found: &finding::Direction, belief: ReportsDuplicates) -> QueueLosses {
        let vantage = found.vantage;
        let is_lost = |row: &&Row| {
            let verdict = row.verdict_at(vantage).map(|conditional| conditional.given(belief).0);
            !row.syn && verdict == Some(Verdict::Needed)
        };
        let beside = |row: &Row| {
            let passed =
                vantage == Vantage::Sender || (vantage == Vantage::Between && row.kind == PacketKind::Repeated);
            let is_told = passed && row.copy == 1 && !row.clues.beyond_window;
            if is_told { row.rtt_beside } else { RttBeside::Unknown }
        };
        queue::count(self.rows.iter().filter(is_lost).map(beside), found.rtt.as_ref())
    }

    fn placed_losses(&self, vantage: Vantage, belief: ReportsDuplicates) -> PlacedLosses {
        let mut losses = PlacedLosses::default();
        for row in &self.rows {
            let verdict = row.verdict_at(vantage).map(|conditional| conditional.given(belief).0);
            let side = match row.kind {
                PacketKind::Repeated => &mut losses.behind,
                _ => &mut losses.before,
            };
            *side += u64::from(verdict == Some(Verdict::Needed));
        }
        losses
    }

    /// Whether nothing was heard of the receiver from this row on. Where it was never heard, its ACKs may be missing
    /// from the capture; but then the sender would send something else before or after.
    fn is_unanswered(&self, row: &Row, end: &ConnectionEnd) -> bool {
        let nothing_else = end.begins_at == Some(row.span.start)
            && row.recovered_by >= end.sent_to
            && self.rows.len() >= ENOUGH_UNANSWERED as usize;
        row.recovery.is_none() && self.heard_at < row.at && (!end.one_direction || nothing_else)
    }

    /// Whether nobody waited for the answer to a row: with the FIN, it is less than a segment, it was never acknowledged,
    /// and the peer's FIN had passed before, or a reset answers. Often it holds the last message of TLS.
    fn is_last_word(&self, row: &Row, mss: u32, end: &ConnectionEnd) -> bool {
        let sent_at = row.detection.map_or(row.at, |detection| row.at - detection);
        let had_closed = end.peer_sent_fin.is_some_and(|at| at <= sent_at);
        let is_refused = end.reset_by_peer && self.heard_at <= sent_at;
        row.recovery.is_none()
            && !row.syn
            && row.recovered_by > end.sent_to
            && row.recovered_by.since(row.span.start) <= u64::from(mss)
            && (had_closed || is_refused)
    }

    /// Costs of the episodes of a direction. Those that are not over ended with the
    /// connection.
    fn costs(&self, context: &EpisodeContext<'_>, end: &ConnectionEnd) -> EpisodeCosts {
        let rows = self.rows.iter();
        let data = rows.filter(|row| !row.syn && row.verdict_at(context.vantage).is_some());
        let repairs = data.map(|row| Repair {
            at: row.at,
            start: row.span.start,
            nxt: row.recovered_by,
            within: row.clues.within_recovery,
            all_due: row.all_due,
            // Nobody waits for the answer to a FIN alone from a peer that has closed, or is gone.
            is_awaited: match row.is_lone_fin() {
                true => row.recovery.is_some() && end.peer_sent_fin.is_none_or(|at| row.at < at),
                false => !self.is_last_word(row, context.mss, end),
            },
            until: match row.all_acknowledged_at {
                Some(before) if !context.lag.is_zero() => before.min(row.at),
                _ => row.recovery.map_or(end.at, |recovery| row.at + recovery),
            },
            recovering: row.recovering,
        });
        EpisodeCosts::of(repairs, end.opened, context.lag)
    }
}
