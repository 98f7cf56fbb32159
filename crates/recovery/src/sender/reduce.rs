//! Reducing the congestion window, and undoing a reduction.

use super::send::three_quarters;
use super::*;
use crate::ack::AckSummary;
use crate::counters::Ended;
use crate::profile::{AckProcessing, ReductionBase};
use crate::rate::{AckProgress, RateControl, RecoverFs};
use crate::undo::{PriorWindow, Proof};

impl<C: CongestionControl> Sender<C> {
    /// Whether the window is being reduced, so that the rate control counts what is sent.
    pub(super) fn reducing(&self) -> bool {
        matches!(self.episode.state, State::Cwr | State::Recovery)
    }

    /// The network or the host signals congestion by other means than a loss: an ECN echo (RFC 3168 §6.1.2), or a full
    /// local queue. The window falls by the same rules, once per round trip.
    //= RFC 9438 §4.6 MUST: "CUBIC MUST continue to reduce _cwnd_ in response to congestion events detected by ECN-Echo
    //=   ACKs until it reaches a value of 1 SMSS."
    //= deviation: the window falls to two segments, the least ssthresh (Linux)
    //= RFC 9002 §7.1 step: "This document specifies an endpoint's response when the peer-reported ECN-CE count
    //=   increases"
    pub fn on_congestion_signal(&mut self, now: Instant) {
        if self.episode.state <= State::Disorder {
            self.episode.undo.forbid();
            self.begin_reduction(Segments::ZERO);
            if !self.models_path() {
                let pipe = self.board.pipe();
                self.congestion.cwnd =
                    self.congestion.reduction.at_signal(self.congestion.cwnd, pipe, self.congestion.ssthresh);
            }
            self.keep_probe_timeout(now);
            self.set_state(now, State::Cwr);
        } else {
            self.episode.undo.keep_reduced();
        }
        self.log_changes(now);
    }

    /// Recovery begins. `arrived`: segments that the ACK which begins it delivered (see
    /// [`arrived_with`](Self::arrived_with)).
    pub(super) fn enter_recovery(&mut self, now: Instant, trigger: Trigger, arrived: Segments) {
        if !self.board.any_retransmission() {
            self.episode.undo.forget_retransmission();
        }
        let fresh = !self.reducing();
        let before = fresh.then(|| self.prior_window());
        self.begin_undo(before);
        //= RFC 5681 §4.3 MUST: "when the first loss in a window of data is detected, ssthresh MUST be set to no more
        //=   than the value given by equation (4)"
        if fresh {
            self.begin_reduction(arrived);
        } else if self.board.una() >= self.episode.recovery_point {
            self.episode.recovery_point = self.board.nxt(); // CWR's round is over but for its last ACK
        }
        self.episode.trigger = trigger;
        self.episode.frto = Frto::Off;
        self.episode.timeout_due = false;
        self.timers.early = None;
        let head = self.board.first().map_or(self.board.nxt(), |s| s.span.end);
        //= RFC 6675 §5 (4.3) step: "To prevent repeated retransmission of the same data or a premature rescue
        //=   retransmission, set both HighRxt and RescueRxt to the highest sequence number in the retransmitted
        //=   segment."
        self.episode.rescue_after = head;
        self.board.restart_holes();
        self.set_state(now, State::Recovery);
        self.totals.counters.recoveries += 1;
        self.episode.awaits_dsack = true;
    }

    /// An episode begins; retransmissions in flight, a probe's repeat among them, may draw DSACKs that
    /// are none of its own.
    fn begin_undo(&mut self, before: Option<PriorWindow>) {
        // A probe that RFC 9002's timer sent is among the retransmissions.
        let counted = self.has_probe_timeout();
        let probes = u32::from(self.timers.probe.repeat_is_out() && !counted);
        let in_flight = self.board.retransmitted().0 + probes;
        self.episode.undo.begin(self.board.una(), in_flight, before);
    }

    /// All losses known as a recovery begins have been marked.
    pub(super) fn note_recovery_begun(&mut self, now: Instant) {
        self.totals.recoveries.begin(now, self.board.pipe(), self.congestion.ssthresh);
    }

    /// The window begins to fall. `arrived`: as for [`enter_recovery`](Self::enter_recovery).
    pub(super) fn begin_reduction(&mut self, arrived: Segments) {
        //= RFC 6675 §5 (4.1) step: "RecoveryPoint = HighData"
        self.episode.recovery_point = self.board.nxt();
        self.losses.packets.on_reduction(self.board.next_number());
        let from = self.reduced_from();
        //= RFC 5681 §3.2 step 2 MUST: "When the third duplicate ACK is received, a TCP MUST set ssthresh to no more
        //=   than the value given in equation (4)."
        //= RFC 9438 §4.6 MUST: "In the case of packet loss, the sender MUST reduce _cwnd_ and _ssthresh_ immediately
        //=   upon entering loss recovery, similar to [RFC5681] (and [RFC6675])."
        self.set_ssthresh_after_loss(from);
        let flight = self.recover_flight(arrived);
        //= RFC 9937 §6.1 MUST: "At the beginning of a congestion control response episode initiated by the congestion
        //=   control algorithm, a data sender using PRR MUST initialize the PRR state."
        self.congestion.reduction = Reduction::enter(self.mechanisms.rate, flight);
        //= RFC 8985 §7.1 step: "Reset TLP.is_retrans and TLP.end_seq when initiating a connection, fast recovery, or
        //=   RTO recovery."
        self.timers.probe.forget();
    }

    //= RFC 5681 §3.1 MUST: "ssthresh MUST be reduced in response to congestion"
    fn set_ssthresh_after_loss(&mut self, window: Segments) {
        //= RFC 9937 §6.1 step: "ssthresh = CongCtrlAlg() // Target flight size in recovery"
        let ssthresh = self.congestion.control.ssthresh_after_loss(window);
        self.congestion.ssthresh = ssthresh.max(congestion::MIN_SSTHRESH);
    }

    /// PRR's RecoverFS.
    fn recover_flight(&mut self, arrived: Segments) -> Segments {
        let flight = match self.mechanisms.rate {
            RateControl::Prr { recover_fs, .. } => match recover_fs {
                RecoverFs::FlightSize => self.board.flight_size(),
                //= RFC 9937 §6.1 step: "RecoverFS = SND.NXT - SND.UNA // Bytes SACKed before entering recovery will not
                //=   be // marked as delivered during recovery: RecoverFS -= (bytes SACKed in scoreboard)"
                //= deviation: a smaller flight than ssthresh counts as ssthresh
                RecoverFs::Undelivered => self.board.undelivered() + arrived,
                RecoverFs::Cwnd => return self.congestion.cwnd,
            },
            RateControl::Standard | RateControl::Halving => return self.congestion.cwnd,
        };
        flight.max(self.congestion.ssthresh)
    }

    /// The segments that RFC 9937's RecoverFS counts of the ACK that begins a reduction: those that it delivered.
    /// Without SACK, a duplicate ACK does not say which segment arrived, and that segment is still outstanding.
    pub(super) fn arrived_with(&self, summary: &AckSummary) -> Segments {
        match self.uses_sack() {
            //= RFC 9937 §6.1 step: "// Include the (common) case of selectively ACKed bytes: RecoverFS += (bytes newly
            //=   SACKed)"
            //= RFC 9937 §6.1 step: "// Include the (rare) case of cumulatively ACKed bytes: RecoverFS += (bytes newly
            //=   cumulatively acknowledged)"
            //= deviation: data that had been SACKed before is not added again, as in DeliveredData
            true => summary.delivered,
            false => summary.newly_acked,
        }
    }

    fn reduced_from(&mut self) -> Segments {
        match self.mechanisms.reduction_base {
            //= RFC 9002 §7.3.2 MUST: "On entering a recovery period, a sender MUST set the slow start threshold to half
            //=   the value of the congestion window when loss is detected."
            ReductionBase::Cwnd => self.congestion.cwnd,
            //= RFC 5681 §3.2 step 2 MUST NOT: "When [RFC3042] is in use, additional data sent in limited transmit MUST
            //=   NOT be included in this calculation."
            ReductionBase::FlightSize => self.board.flight_size().min(self.congestion.cwnd),
        }
    }

    //= RFC 9438 §4.9.2 MAY: "When packet loss is detected via acknowledgments, a CUBIC implementation MAY save the
    //=   current value of the following variables before the congestion window is reduced."
    //= deviation: cwnd and ssthresh alone: the curve is not restored (Linux)
    fn prior_window(&self) -> PriorWindow {
        let ssthresh = match self.reducing() {
            true => self.congestion.ssthresh,
            false => self.congestion.ssthresh.max(three_quarters(self.congestion.cwnd)),
        };
        PriorWindow { cwnd: self.congestion.cwnd, ssthresh }
    }

    /// The window an ACK leaves while it is being reduced. `losses`: segments it showed lost.
    pub(super) fn reduce(&mut self, summary: &AckSummary, losses: u64, entering: bool) {
        if self.models_path() {
            return;
        }
        let advanced = summary.una_advanced > 0;
        let duplicate = !self.uses_sack() && !advanced && !summary.window_changed;
        let progress = AckProgress {
            delivered: summary.delivered,
            pipe: self.board.pipe(),
            ssthresh: self.congestion.ssthresh,
            cwnd: self.congestion.cwnd,
            floor: self.congestion.control.halving_floor(self.congestion.ssthresh),
            clocks: advanced || summary.newly_sacked > Segments::ZERO || summary.dsack.is_some() || duplicate,
            //= RFC 9937 §6.2 step: "SafeACK is true only when the ACK has cumulatively acknowledged new data and the
            //=   ACK does not indicate further losses."
            safe: advanced && losses == 0,
            entering,
            partial: !self.uses_sack() && advanced && self.episode.state == State::Recovery,
        };
        self.congestion.cwnd = self.congestion.reduction.on_ack(&progress);
        if self.episode.release == Release::ByPipe && self.congestion.reduction.forces(&progress) {
            self.episode.release = Release::Forced;
        }
        if self.board.is_empty() {
            self.congestion.cwnd = self.congestion.cwnd.max(Segments::ONE); // no ACK will come to open it
        }
    }

    /// The reduction is over, its window reached.
    //= RFC 9937 §6.4 step: "A PRR episode ends upon either completing fast recovery or before initiating a new PRR
    //=   episode due to a new congestion control response episode."
    pub(super) fn end_reduction(&mut self) {
        if self.models_path() {
            return;
        }
        //= RFC 5681 §4.3 MUST: "after all loss in the given window of segments has been successfully retransmitted,
        //=   cwnd MUST be set to no more than ssthresh and congestion avoidance MUST be used to further increase cwnd"
        self.congestion.cwnd = self.congestion.reduction.at_end(self.congestion.cwnd, self.congestion.ssthresh);
    }

    /// Recovery is left.
    pub(super) fn note_recovery_ended(&mut self, now: Instant, last_cwnd: Segments, how: Ended) {
        let cwnd = self.congestion.cwnd;
        let ended = self.totals.recoveries.end(now, last_cwnd, cwnd, how);
        if let Some(recovery) = ended.filter(|_| self.board.grows()) {
            self.totals.recoveries.keep(recovery);
        }
        let short = how == Ended::Complete && cwnd < self.congestion.ssthresh;
        self.totals.counters.slow_starts_after_recovery += u64::from(short);
    }

    /// A retransmission timeout. Everything not SACKed is lost, except with RACK what was sent recently. ssthresh falls
    /// unless it already did, for this flight (Linux) or for a timeout of this segment.
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let fresh = self.episode.state < State::Recovery;
        let again = self.timers.timeouts > 1;
        let cut = match self.episode.state {
            //= RFC 5681 §3.1 step: "when a TCP sender detects segment loss using the retransmission timer and the given
            //=   segment has already been retransmitted by way of the retransmission timer at least once, the value of
            //=   ssthresh is held constant"
            _ if self.mechanisms.reduction_base == ReductionBase::FlightSize => !again,
            State::Open | State::Disorder => true,
            State::Cwr | State::Recovery => self.board.una() >= self.episode.recovery_point,
            State::Loss => !again || self.board.una() >= self.episode.recovery_point,
        };
        let last_cwnd = self.congestion.cwnd;
        self.episode.awaits_dsack = false;
        if self.forget_reneged(now) {
            self.losses.rack.forget_deliveries(); // everything is lost, however young
        }
        let before = self.prior_window();
        self.losses.packets.on_reduction(self.board.next_number());
        let from = match self.mechanisms.reduction_base {
            ReductionBase::Cwnd => self.congestion.cwnd,
            ReductionBase::FlightSize => self.board.flight_size(),
        };
        self.take_all_as_lost(now);
        //= RFC 5681 §3.1 MUST: "When a TCP sender detects segment loss using the retransmission timer and the given
        //=   segment has not yet been resent by way of the retransmission timer, the value of ssthresh MUST be set to
        //=   no more than the value given in equation (4)"
        if cut {
            self.set_ssthresh_after_loss(from);
            //= RFC 9438 §4.8 step: "In the case of a timeout, CUBIC follows Reno to reduce _cwnd_ [RFC5681] but sets
            //=   _ssthresh_ using β__cubic_ (same as in Section 4.6) in a way that is different from Reno TCP
            //=   [RFC5681]."
            self.congestion.control.on_timeout();
            self.begin_undo(Some(before));
        }
        if self.episode.state <= State::Disorder {
            self.losses.threshold.on_timeout(self.board.sacked());
        }
        //= RFC 5681 §3.1 MUST: "upon a timeout (as specified in [RFC2988]) cwnd MUST be set to no more than the loss
        //=   window, LW, which equals 1 full-sized segment (regardless of the value of IW)"
        //= deviation: with RACK, segments sent recently are still in flight, and one more may go (Linux 6
        //=   `tcp_enter_loss`)
        self.congestion.cwnd = self.board.pipe() + Segments::ONE;
        if self.episode.state == State::Recovery {
            self.note_recovery_ended(now, last_cwnd, Ended::Timeout);
        }
        self.timers.early = None;
        self.timers.reorder = None;
        //= RFC 8985 §7.1 step: "Reset TLP.is_retrans and TLP.end_seq when initiating a connection, fast recovery, or
        //=   RTO recovery."
        self.timers.probe.forget();
        //= RFC 6675 §5.1 MUST: "If an RTO occurs during loss recovery as specified in this document, RecoveryPoint MUST
        //=   be set to HighData."
        self.episode.recovery_point = self.board.nxt();
        //= RFC 5681 §3.1 step: "after retransmitting the dropped segment the TCP sender uses the slow start algorithm
        //=   to increase the window from 1 full-sized segment to the new value of ssthresh"
        self.episode.loss_trigger = Trigger::SlowStart;
        //= RFC 5682 §2.1 MUST: "A TCP sender implementing the basic F-RTO algorithm MUST take the following steps after
        //=   the retransmission timer expires."
        let frto = self.mechanisms.frto && !self.is_probing_mtu();
        //= RFC 5682 §2.1 SHOULD NOT: "If the sender implements some loss recovery algorithm other than Reno or NewReno
        //=   [FHG04], the F-RTO algorithm SHOULD NOT be entered when earlier fast recovery is underway."
        //= RFC 5682 §2.1 step 1 step: "If the TCP sender is already in RTO recovery AND "recover" is larger than or
        //=   equal to SND.UNA (the oldest unacknowledged sequence number [Pos81]), do not enter step 2 of this
        //=   algorithm."
        //= deviation: the test runs again on each consecutive timeout, as in Linux
        //= RFC 5682 §3.1 SHOULD NOT: "This algorithm SHOULD NOT be applied if the TCP sender is already in loss
        //=   recovery when a retransmission timeout occurs."
        //= RFC 5682 §3.1 step 1 step: "If "RecoveryPoint" is larger than or equal to SND.UNA, do not enter step 2 of
        //=   this algorithm."
        //= deviation: the test runs again on each consecutive timeout, as in Linux
        self.episode.frto = match frto && (fresh || self.timers.timeouts > 1) {
            //= RFC 5682 §2.1 MUST: "If the retransmission timer expires again during the execution of the F-RTO
            //=   algorithm, the TCP sender MUST re-start the algorithm processing from step 1."
            //= RFC 5682 §2.1 step 1 step: "When the retransmission timer expires, retransmit the first unacknowledged
            //=   segment and set SpuriousRecovery to FALSE."
            //= RFC 5682 §3.1 MUST: "If the retransmission timer expires again during the execution of the SACK-enhanced
            //=   F-RTO algorithm, the TCP sender MUST re-start the algorithm processing from step 1."
            true => Frto::Watching,
            false => Frto::Off,
        };
        //= RFC 6675 §5.1 MUST: "the new value of RecoveryPoint MUST be preserved and the loss recovery algorithm
        //=   outlined in this document MUST be terminated"
        self.set_state(now, State::Loss);
        if self.models_path() {
            let (totals, mss) = (self.path_totals(), self.peer.mss);
            self.congestion.control.on_loss_state(&totals, mss);
        }
    }

    /// On a timeout, forgets all SACKs if the receiver dropped SACKed data. Returns whether it did.
    pub(super) fn forget_reneged(&mut self, now: Instant) -> bool {
        let reneged = self.board.reneged();
        if reneged {
            self.board.forget_sacks();
            self.totals.counters.reneged += 1;
            self.log.push(now, Event::Reneged);
        }
        reneged
    }

    /// Marks lost what a timeout takes for lost; the timer's own retransmission is due.
    pub(super) fn take_all_as_lost(&mut self, now: Instant) {
        let recent = self.goes_by_time() && !self.losses.rack.rtt().is_zero();
        //= RFC 8985 §6.3 step: "Upon RTO timer expiration, RACK marks the first outstanding segment as lost (since it
        //=   was sent an RTO ago); for all the other segments, RACK only marks the segment as lost if the time elapsed
        //=   since the segment was transmitted is at least the sum of the recent RTT and the reordering window."
        //= deviation: the reordering window is not added, as in Linux 6 (`tcp_timeout_mark_lost`)
        let overdue = recent.then(|| now - self.losses.rack.rtt());
        let losses = self.log.losses(now, LossDetector::Timeout);
        self.board.mark_for_timeout(overdue, losses);
        //= RFC 6298 §5.4 step: "Retransmit the earliest segment that has not been acknowledged by the TCP receiver."
        self.episode.timeout_due = true;
    }

    /// The proof in an ACK that the reduction of this episode was unnecessary.
    //= RFC 9438 §4.9.2 MAY: "Upon receiving an ACK, a TCP implementation MAY detect spurious fast retransmits either
    //=   using TCP Timestamps or via D-SACK [RFC2883]."
    pub(super) fn proof(&self, ack: &Ack<&[Span]>) -> Option<Proof> {
        let rules = self.mechanisms.undo;
        if rules.dsack && self.episode.undo.all_duplicates() {
            return Some(Proof::Dsack);
        }
        // Without SACK an ACK of the recovery point tells nothing where no stamp was kept (Linux
        // tcp_packet_delayed).
        let blind = !self.uses_sack()
            && self.episode.undo.first_retransmission().is_none()
            && self.board.una() >= self.episode.recovery_point;
        let original = match self.mechanisms.adaptive && self.episode.state != State::Loss {
            true => self.all_were_late(),
            false => rules.timestamps && self.episode.undo.original_acked(ack.echo_sent_before),
        };
        (original && !blind).then_some(Proof::Timestamp)
    }

    /// The reduction was for nothing: back to the window before it.
    pub(super) fn take_back(&mut self, now: Instant, by: Proof) {
        let before = self.episode.undo.take();
        if self.models_path() {
            let totals = self.path_totals();
            self.congestion.control.on_undone(&totals);
        } else if let Some(before) = before {
            //= RFC 9438 §4.9.2 MAY: "Once the previously declared packet loss is confirmed to be spurious, CUBIC MAY
            //=   restore the original values of the above-mentioned variables as follows if the current _cwnd_ is lower
            //=   than _cwnd_prior_."
            //= deviation: cwnd and ssthresh alone: the curve is not restored (Linux)
            //= RFC 9438 §4.9.2 SHOULD: "In rare cases, when the detection happens long after a spurious fast retransmit
            //=   event and the current _cwnd_ is already higher than _cwnd_prior_, CUBIC SHOULD continue to use the
            //=   current and the most recent values of these variables."
            self.congestion.cwnd = self.congestion.cwnd.max(before.cwnd);
            self.congestion.ssthresh = self.congestion.ssthresh.max(before.ssthresh);
        } else if self.mechanisms.ack_processing != AckProcessing::Linux4_13 {
            // There is no window to restore. The reduction ends (Linux before 4.x).
            self.congestion.cwnd = self.congestion.cwnd.max(self.congestion.ssthresh);
        }
        self.congestion.cwnd = self.congestion.cwnd.max(Segments::ONE);
        self.losses.rack.look_again();
        self.losses.packets.on_undone();
        self.losses.suspects.forget_waiting();
        self.totals.counters.undone[by as usize] += 1;
        if self.log.is_on() {
            let (cwnd, ssthresh) = (self.congestion.cwnd, self.congestion.ssthresh);
            self.log.push(now, Event::Undone { by, cwnd, ssthresh });
        }
    }
}
