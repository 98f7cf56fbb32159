//! The state machine: what an ACK means in Open, Disorder, CWR, Recovery and Loss.
//!
//! Source: Linux 6.12 `tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_try_undo_*`,
//! `tcp_identify_packet_loss`; Linux 3.17 for detection by counting and early retransmit.
//!
//! Deviation: without SACK an ACK of the recovery point ends the episode, and a new one needs an ACK
//! beyond it (RFC 6582 §3.2 steps 1 and 3); Linux stays in the episode until that ACK comes.

use super::*;
use crate::ack::AckSummary;
use crate::counters::Ended;
use crate::detect::{RackContext, RackVersion};
use crate::frto::{AckEvidence, FrtoVerdict};
use crate::undo::Proof;

/// The least a sender waits before it takes SACKed data for dropped by the receiver (Linux).
const RENEGING_DELAY: Duration = Duration::from_millis(10);

impl<C: CongestionControl> Sender<C> {
    /// Runs the states; `true` when the ACK begins a recovery.
    pub(super) fn run_states(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &mut AckSummary) -> bool {
        //= RFC 8985 §6.2 step 3 step: "The sender sets RACK.reordering_seen to TRUE if such a segment is identified."
        //= deviation: in Loss only while the reduction may be undone, as in Linux
        if summary.reordering > Segments::ZERO && (self.episode.state != State::Loss || self.episode.undo.is_open()) {
            self.note_reordering(now, summary.reordering);
        }
        if summary.late > Segments::ZERO && self.mechanisms.adaptive {
            self.learn_from_packets(now, summary);
        }
        if !self.losses.suspects.is_empty() {
            self.learn_from(now, ack, summary);
        }
        let duplicate = summary.is_duplicate(ack) && summary.dsack.is_none();
        if self.goes_by_packets() {
            return self.run_packet_states(now, ack, summary, duplicate);
        }
        if self.episode.state == State::Open {
            self.episode.undo.forget_retransmission();
        } else {
            self.leave_episode(now, ack);
        }
        if self.board.reneged() && summary.una_advanced > 0 {
            // Perhaps the ACKs were reordered: the timer decides soon (Linux
            // tcp_check_sack_reneging).
            //= RFC 6298 §5 MUST: "An implementation MUST manage the retransmission timer(s) in such a way that a
            //=   segment is never retransmitted too early, i.e., less than one RTO after the previous transmission of
            //=   that segment."
            //= deviation: a segment that the receiver seems to have dropped after it reported it goes again sooner, as
            //=   in Linux
            let soon = self.rtt.srtt().unwrap_or_default() / 2;
            self.timers.rto.start_early(now, soon.max(RENEGING_DELAY));
            return false;
        }
        match self.episode.state {
            State::Recovery => self.in_recovery(now, ack, summary, duplicate),
            State::Loss => self.in_loss(now, ack, summary, duplicate),
            State::Open | State::Disorder | State::Cwr => self.in_open(now, summary, duplicate),
        }
    }

    pub(super) fn note_reordering(&mut self, now: Instant, distance: Segments) {
        self.losses.threshold.on_reordering(distance);
        let dupthresh = self.losses.threshold.dupthresh();
        self.log.push(now, Event::Reordering { distance, dupthresh });
    }

    /// An ACK of the recovery point ends Recovery, one beyond it CWR; the window settles at
    /// ssthresh, unless the reduction was for nothing.
    fn leave_episode(&mut self, now: Instant, ack: &Ack<&[Span]>) {
        let una = self.board.una();
        match self.episode.state {
            State::Cwr if una > self.episode.recovery_point => {
                self.end_reduction();
                self.set_state(now, State::Open);
            }
            //= RFC 6675 §5 (A) MUST: "An incoming cumulative ACK for a sequence number greater than RecoveryPoint
            //=   signals the end of loss recovery, and the loss recovery phase MUST be terminated."
            State::Recovery if una >= self.episode.recovery_point => {
                //= RFC 6675 §5 (A) SHOULD NOT: "Any information contained in the scoreboard for sequence numbers
                //=   greater than the new value of HighACK SHOULD NOT be cleared when leaving the loss recovery phase."
                self.board.forget_duplicates();
                let last_cwnd = self.congestion.cwnd;
                let ended = match self.proof(ack) {
                    Some(proof) => {
                        self.take_back(now, proof);
                        Ended::Undone
                    }
                    None => {
                        self.losses.rack.on_recovered();
                        self.end_reduction();
                        Ended::Complete
                    }
                };
                self.episode.settled_to = self.episode.recovery_point;
                self.note_recovery_ended(now, last_cwnd, ended);
                self.set_state(now, State::Open);
            }
            _ => {}
        }
    }

    fn in_recovery(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &mut AckSummary, duplicate: bool) -> bool {
        if summary.una_advanced == 0 {
            self.count_duplicate(now, summary, duplicate);
        } else if self.undo_partly(now, ack, summary) {
            return false;
        }
        if self.episode.state == State::Recovery && self.undo_by_dsack(now) {
            self.keep_open(now);
        }
        self.identify_losses(now, summary, duplicate);
        if self.episode.state == State::Recovery {
            return false;
        }
        self.recover_if_due(now, summary)
    }

    /// The ACK that advances was drawn by an original: the retransmission was not needed
    /// (Linux `tcp_try_undo_partial`). `true`: one is still in flight, wait for it. With adaptive thresholds,
    /// all segments judged lost must be known to have been late, whatever is in flight.
    pub(super) fn undo_partly(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &AckSummary) -> bool {
        if self.mechanisms.adaptive {
            if !self.all_were_late() {
                return false;
            }
        } else {
            let delayed = self.mechanisms.undo.timestamps && self.episode.undo.original_acked(ack.echo_sent_before);
            if !delayed {
                return false;
            }
            self.note_reordering(now, self.board.fack() + summary.newly_acked);
            if self.board.retransmitted() > Segments::ZERO {
                self.episode.release = Release::Held;
                return true;
            }
        }
        if !self.board.any_retransmission() {
            self.episode.undo.forget_retransmission();
        }
        let last_cwnd = self.congestion.cwnd;
        // RFC 9002's probe timeout marks nothing lost, so no timeout would find these segments again.
        let forget = self.rack_version() == Some(RackVersion::Linux6) && !self.has_probe_timeout();
        self.board.unmark_lost(forget);
        self.take_back(now, Proof::Timestamp);
        self.note_recovery_ended(now, last_cwnd, Ended::Undone);
        self.keep_open(now);
        false
    }

    pub(super) fn undo_by_dsack(&mut self, now: Instant) -> bool {
        let undo = self.mechanisms.undo.dsack && self.episode.undo.all_duplicates();
        if undo {
            let last_cwnd = self.congestion.cwnd;
            self.losses.rack.on_undone();
            self.take_back(now, Proof::Dsack);
            if self.episode.state == State::Recovery {
                self.note_recovery_ended(now, last_cwnd, Ended::Undone);
            }
        }
        undo
    }

    fn in_loss(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &mut AckSummary, duplicate: bool) -> bool {
        self.process_loss(now, ack, summary, duplicate);
        let before = self.board.lost_retransmissions();
        if self.goes_by_time() {
            self.identify_losses(now, summary, duplicate);
        }
        // A retransmission lost in its turn is a further signal of congestion (Linux).
        //= RFC 5681 §4.3 MUST: "Loss in two successive windows of data, or the loss of a retransmission, should be
        //=   taken as two indications of congestion and, therefore, cwnd (and ssthresh) MUST be lowered twice in this
        //=   case."
        //= deviation: in Recovery, a retransmission that RACK finds lost does not lower them again (Linux): PRR then
        //=   sends by its conservative bound
        let lost_again = self.board.lost_retransmissions() > before;
        match self.episode.state {
            //= RFC 6675 §5.1 MUST NOT: "a new recovery phase (as described in Section 5) MUST NOT be initiated until
            //=   HighACK is greater than or equal to the new value of RecoveryPoint"
            //= deviation: with RACK, a retransmission that is lost in its turn begins a recovery (Linux)
            State::Loss if !lost_again => false,
            _ => self.in_open(now, summary, duplicate),
        }
    }

    /// F-RTO, and the end of Loss (RFC 5682 §3.1; Linux `tcp_process_loss`).
    pub(super) fn process_loss(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &mut AckSummary, duplicate: bool) {
        let advanced = summary.una_advanced > 0;
        // A DSACK that completes the proof need not advance (Linux 3.17).
        let proof = self.proof(ack).filter(|proof| advanced || *proof == Proof::Dsack);
        if let Some(proof) = proof {
            return self.leave_loss_undone(now, proof);
        }
        let recovered = self.board.una() >= self.episode.recovery_point;
        let end = summary.original_delivered;
        //= RFC 5682 §3.1 step 3b step: "If the Cumulative Acknowledgment field or a SACK information in the ACK does
        //=   not cover more than "RecoveryPoint" AND it acknowledges data that was not acknowledged earlier (either
        //=   with cumulative acknowledgment or using SACK information), declare the timeout spurious and set
        //=   SpuriousRecovery to SPUR_TO."
        let original = end > Offset(0) && end <= self.episode.recovery_point;
        let verdict = self.episode.frto.on_ack(AckEvidence {
            //= RFC 5682 §3.1 MAY: "Given that the TCP Selective Acknowledgment Option [MMFR96] is enabled for a TCP
            //=   connection, a TCP sender MAY apply the SACK-enhanced F-RTO algorithm."
            original_arrived: original && (self.uses_sack() || !summary.retransmission_acked),
            more_out_of_order: summary.newly_sacked > Segments::ZERO || duplicate,
            new_data_out: self.board.nxt() > self.episode.recovery_point,
            advances_short: advanced && !recovered,
            can_send_new: self.next_new_at_once().is_some(),
        });
        match verdict {
            //= RFC 9438 §4.9.1 MAY: "An implementation MAY detect spurious timeouts based on the mechanisms described
            //=   in Forward RTO-Recovery [RFC5682]."
            FrtoVerdict::Spurious => return self.leave_loss_undone(now, Proof::Frto),
            FrtoVerdict::Goes(frto) => self.episode.frto = frto,
            //= RFC 5682 §2.1 step 2 step: "When the first acknowledgment after the RTO retransmission arrives at the
            //=   TCP sender, store the highest sequence number transmitted so far in variable "recover"."
            //= RFC 5682 §3.1 step 2 step: "When a new acknowledgment arrives, set variable "RecoveryPoint" to indicate
            //=   the highest sequence number transmitted so far."
            FrtoVerdict::TryNew(frto) => {
                self.episode.recovery_point = self.board.nxt();
                self.episode.frto = frto;
            }
        }
        //= RFC 5682 §3.1 step 2a step: "If the Cumulative Acknowledgment field covers "RecoveryPoint" but not more than
        //=   "RecoveryPoint", revert to the conventional RTO recovery and set the congestion window to no more than 2 *
        //=   MSS, like a regular TCP would do."
        //= deviation: Loss ends, and the window grows by slow start: since Linux 3.13 by the segments acknowledged
        if recovered {
            self.losses.rack.on_recovered();
            self.episode.settled_to = self.episode.recovery_point;
            self.leave_loss(now);
        } else if !self.uses_sack() {
            // A duplicate ACK after new data went says that data arrived.
            if self.board.nxt() > self.episode.recovery_point && duplicate {
                self.count_duplicate(now, summary, true);
            } else if advanced {
                self.board.forget_duplicates();
            }
        }
    }

    //= RFC 5682 §3.1 step: "If the algorithm exits with SpuriousRecovery set to SPUR_TO, "RecoveryPoint" is set to
    //=   SND.UNA, thus allowing fast recovery on incoming duplicate acknowledgments."
    fn leave_loss_undone(&mut self, now: Instant, proof: Proof) {
        self.board.unmark_lost(false);
        self.take_back(now, proof);
        self.timers.timeouts = 0;
        self.leave_loss(now);
    }

    fn leave_loss(&mut self, now: Instant) {
        self.episode.timeout_due = false;
        self.episode.frto = Frto::Off;
        self.board.forget_duplicates();
        self.set_state(now, State::Open);
    }

    fn in_open(&mut self, now: Instant, summary: &mut AckSummary, duplicate: bool) -> bool {
        if summary.una_advanced > 0 {
            self.board.forget_duplicates();
        }
        self.count_duplicate(now, summary, duplicate);
        if self.episode.state <= State::Disorder {
            self.undo_by_dsack(now);
        }
        self.identify_losses(now, summary, duplicate);
        self.recover_if_due(now, summary)
    }

    /// Without SACK, a duplicate ACK is a segment delivered (RFC 5681 §3.2; Linux
    /// `tcp_add_reno_sack`).
    fn count_duplicate(&mut self, now: Instant, summary: &mut AckSummary, duplicate: bool) {
        if self.uses_sack() || !duplicate {
            return;
        }
        if self.board.on_duplicate() {
            //= RFC 9937 §6.2 step: "In recovery without SACK, DeliveredData is estimated to be 1 SMSS on each received
            //=   duplicate ACK (i.e., SND.UNA did not change)."
            summary.delivered += Segments::ONE;
        } else {
            let outstanding = self.board.outstanding();
            self.note_reordering(now, outstanding);
        }
    }

    /// Whose RACK finds losses, if RACK does.
    pub(super) fn rack_version(&self) -> Option<RackVersion> {
        match self.losses.threshold.rule() {
            //= RFC 8985 §4 (1) MUST: "The connection MUST use selective acknowledgment (SACK) options [RFC2018], and
            //=   the sender MUST keep SACK scoreboard information on a per-connection basis"
            LossRule::Rack(version) if self.uses_sack() => Some(version),
            _ => None,
        }
    }

    /// Whether RACK is what finds losses.
    pub(super) fn goes_by_time(&self) -> bool {
        self.rack_version().is_some()
    }

    /// Marks what this ACK shows to be lost.
    fn identify_losses(&mut self, now: Instant, summary: &AckSummary, duplicate: bool) {
        if !self.uses_sack() {
            let in_recovery = self.episode.state == State::Recovery;
            let enough = self.board.sacked() >= self.losses.threshold.dupthresh();
            //= RFC 5681 §3.2 SHOULD: "The TCP sender SHOULD use the "fast retransmit" algorithm to detect and repair
            //=   loss, based on incoming duplicate ACKs."
            let fresh = !in_recovery && enough && self.board.una() > self.episode.settled_to;
            //= RFC 5681 §3.2 step: "After receiving 3 duplicate ACKs, TCP performs a retransmission of what appears to
            //=   be the missing segment, without waiting for the retransmission timer to expire."
            if fresh || (in_recovery && summary.una_advanced > 0) {
                self.mark_head(now);
            }
        } else if self.goes_by_time() {
            //= RFC 8985 §7.4.1 step: "RACK-TLP uses this ACK -- just as it would with any other ACK -- to detect if any
            //=   segments sent prior to the probe were dropped"
            if self.losses.rack.take_advanced() {
                self.detect_by_time(now);
            }
        } else if self.episode.state == State::Recovery {
            self.mark_lost(now);
            if duplicate && self.losses.threshold.uses_fack() {
                self.mark_head(now); // Linux 3.17 tcp_update_scoreboard: one segment at least
            }
        }
    }

    /// RACK: marks what is overdue and sets the timer for what may become so
    /// (RFC 8985 §6.2 step 5, §6.3).
    pub(super) fn detect_by_time(&mut self, now: Instant) {
        self.timers.reorder = None;
        let circumstances = RackContext {
            recovering: self.episode.state >= State::Recovery,
            reordering_seen: self.losses.threshold.reordering_seen(),
            dupthresh: self.losses.threshold.dupthresh(),
            min_rtt: self.rtt.min().unwrap_or_default(),
            srtt: self.rtt.srtt().unwrap_or_default(),
        };
        let Some((newest, age)) = self.losses.rack.overdue(&self.board, &circumstances) else {
            return;
        };
        let overdue = (now.since(Instant::ZERO) >= age).then(|| now - age);
        let (adaptive, least) = (self.remembers_suspects(), self.rtt.min_nanos().unwrap_or(0));
        let mut lost = self.log.losses(now, LossDetector::Rack);
        let suspects = &mut self.losses.suspects;
        let waiting = self.board.mark_overdue(newest, overdue, |segment| {
            lost(segment.span);
            if adaptive {
                suspects.add(segment, least);
            }
        });
        drop(lost);
        let slack = self.rack_version().map_or(Duration::ZERO, RackVersion::timer_slack);
        //= RFC 8985 §6.2 step 5 SHOULD: "For timely loss detection, it is RECOMMENDED that the sender install a
        //=   reordering timer."
        self.timers.reorder = waiting.map(|sent| sent + age + slack);
        if let Some(at) = self.timers.reorder {
            self.timers.reorder_pending_until = at;
            self.count_timeout_from_head(now);
        }
        if self.timers.reorder.is_some() && self.mechanisms.probe.is_some_and(|p| p.is_modern()) {
            //= RFC 8985 §8 SHOULD: "When arming a RACK reordering timer or TLP PTO timer, the sender SHOULD cancel any
            //=   other pending timers."
            //= deviation: the reordering timer stops the probe timer; the retransmission timer runs on
            self.timers.probe.disarm(); // one timer in Linux; in RFC 8985 §7.2 recovery excludes the probe
        }
    }

    /// Marks what counting shows to be lost, retransmissions included.
    fn mark_lost(&mut self, now: Instant) {
        let verdict = self.losses.threshold.verdict(&self.board, self.losses.duplicates, self.peer.full);
        verdict.lost.mark(&mut self.board, self.log.losses(now, LossDetector::Threshold));
        if self.losses.threshold.uses_fack() {
            self.board.mark_lost_retransmissions(self.log.losses(now, LossDetector::LostRetransmission));
        }
    }

    pub(super) fn mark_head(&mut self, now: Instant) {
        self.board.mark_head(self.log.losses(now, LossDetector::Threshold));
    }

    /// Enters recovery if the evidence suffices, at once or (early retransmit) after a delay; else
    /// settles between Open and Disorder.
    fn recover_if_due(&mut self, now: Instant, summary: &AckSummary) -> bool {
        let left_out = self.any_left_out();
        if left_out && self.is_evident(now) {
            self.enter_recovery(now, Trigger::Fast, self.arrived_with(summary));
            if !self.goes_by_time() && self.uses_sack() {
                self.mark_lost(now);
            }
            if self.board.lost() == Segments::ZERO {
                self.mark_head(now);
            }
            self.note_recovery_begun(now);
            return true;
        }
        if left_out && let Some(delay) = self.early_delay(now) {
            if delay.is_zero() || self.timers.rto.deadline().is_none_or(|rto| rto <= now + delay) {
                self.retransmit_early(now, self.arrived_with(summary));
                return true;
            }
            self.timers.early = Some(now + delay);
        }
        if !self.board.any_retransmission() {
            self.episode.undo.forget_retransmission();
        }
        if self.episode.state != State::Cwr {
            self.keep_open(now);
            if self.mechanisms.moderate_window && self.episode.state == State::Disorder {
                self.moderate_window();
            }
        }
        false
    }

    /// The window falls to three segments more than are in flight (Linux `tcp_moderate_cwnd`).
    fn moderate_window(&mut self) {
        const MAX_BURST: Segments = Segments(3);
        let most = self.board.pipe() + MAX_BURST;
        self.congestion.cwnd = self.congestion.cwnd.min(most);
    }

    fn is_evident(&self, now: Instant) -> bool {
        if self.board.lost() > Segments::ZERO {
            return true;
        }
        if !self.uses_sack() {
            return false; // the head is marked when the duplicate ACKs suffice
        }
        let detection = &self.losses.threshold;
        // Few segments out and nothing to send: a dupthresh that reordering raised would leave it to
        // the timer (Linux 3.17 tcp_time_to_recover).
        let out = self.board.outstanding();
        let rest = detection.is_raised()
            && !self.goes_by_time()
            && out <= detection.dupthresh()
            && self.board.sacked().0 >= (out.0 / 2).max(crate::detect::DUPTHRESH.0)
            && !self.can_send_new(now);
        rest || detection.verdict(&self.board, self.losses.duplicates, self.peer.full).recover
    }

    fn can_send_new(&self, now: Instant) -> bool {
        self.next_new().is_some() && self.has_room_for_new(now)
    }

    /// Anything SACKed or lost.
    fn any_left_out(&self) -> bool {
        self.board.sacked() + self.board.lost() > Segments::ZERO
    }

    fn early_delay(&self, now: Instant) -> Option<Duration> {
        let seen = self.losses.threshold.reordering_seen();
        self.mechanisms.early_retransmit.delay(&self.board, self.rtt.srtt(), seen, || self.can_send_new(now))
    }

    /// Early retransmit's moment: every hole below the highest SACK is lost.
    pub(super) fn retransmit_early(&mut self, now: Instant, arrived: Segments) {
        self.enter_recovery(now, Trigger::Early, arrived);
        let holes = self.board.fack().max(Segments::ONE);
        self.board.mark_first(holes, self.log.losses(now, LossDetector::Early));
        self.note_recovery_begun(now);
    }

    /// Open or Disorder, as anything is left out or not (Linux `tcp_try_keep_open`).
    pub(super) fn keep_open(&mut self, now: Instant) {
        let to = if self.any_left_out() || self.board.any_retransmission() { State::Disorder } else { State::Open };
        if to != self.episode.state {
            self.episode.recovery_point = self.board.nxt();
            self.set_state(now, to);
        }
    }
}
