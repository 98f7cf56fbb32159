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
        self.episode.rescue_after = head; // the first retransmission's (RFC 6675 §5 step 4.3)
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
        self.episode.recovery_point = self.board.nxt();
        self.losses.packets.on_reduction(self.board.next_number());
        let from = self.reduced_from();
        self.set_ssthresh_after_loss(from);
        let flight = self.recover_flight(arrived);
        self.congestion.reduction = Reduction::enter(self.mechanisms.rate, flight);
        self.timers.probe.forget();
    }

    fn set_ssthresh_after_loss(&mut self, window: Segments) {
        let ssthresh = self.congestion.control.ssthresh_after_loss(window);
        self.congestion.ssthresh = ssthresh.max(congestion::MIN_SSTHRESH);
    }

    /// PRR's RecoverFS.
    fn recover_flight(&mut self, arrived: Segments) -> Segments {
        let flight = match self.mechanisms.rate {
            RateControl::Prr { recover_fs, .. } => match recover_fs {
                RecoverFs::FlightSize => self.board.flight_size(),
                RecoverFs::Undelivered => self.board.undelivered() + arrived,
                RecoverFs::Cwnd => return self.congestion.cwnd,
            },
            RateControl::Standard | RateControl::Halving => return self.congestion.cwnd,
        };
        flight.max(self.congestion.ssthresh)
    }

    /// What RecoverFS of RFC 9937 §6.1 counts of the ACK that begins a reduction: the segments that it delivered.
    /// Without SACK, a duplicate ACK does not say which segment arrived, and that segment is still outstanding.
    pub(super) fn arrived_with(&self, summary: &AckSummary) -> Segments {
        match self.uses_sack() {
            true => summary.delivered,
            false => summary.newly_acked,
        }
    }

    fn reduced_from(&mut self) -> Segments {
        match self.mechanisms.reduction_base {
            ReductionBase::Cwnd => self.congestion.cwnd,
            // Not what limited transmit added (RFC 5681 §3.2 step 2).
            ReductionBase::FlightSize => self.board.flight_size().min(self.congestion.cwnd),
        }
    }

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
    pub(super) fn end_reduction(&mut self) {
        if self.models_path() {
            return;
        }
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

    /// A retransmission timeout: everything not SACKed is lost (under RACK but for what was sent
    /// recently), the window is one segment more than is still in flight, and
    /// ssthresh falls unless it already did, for this flight (Linux) or for a timeout of this segment
    /// (RFC 5681 §3.1).
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let fresh = self.episode.state < State::Recovery;
        let again = self.timers.timeouts > 1;
        let cut = match self.episode.state {
            _ if self.mechanisms.reduction_base == ReductionBase::FlightSize => !again,
            State::Open | State::Disorder => true,
            State::Cwr | State::Recovery => self.board.una() >= self.episode.recovery_point,
            State::Loss => !again || self.board.una() >= self.episode.recovery_point,
        };
        let last_cwnd = self.congestion.cwnd;
        self.episode.awaits_dsack = false;
        if self.board.reneged() {
            self.board.forget_sacks();
            self.totals.counters.reneged += 1;
            self.logging.log.push(now, Event::Reneged);
            self.losses.rack.forget_deliveries(); // everything is lost, however young
        }
        let before = self.prior_window();
        self.losses.packets.on_reduction(self.board.next_number());
        let from = match self.mechanisms.reduction_base {
            ReductionBase::Cwnd => self.congestion.cwnd,
            ReductionBase::FlightSize => self.board.flight_size(),
        };
        self.take_all_as_lost(now);
        if cut {
            self.set_ssthresh_after_loss(from);
            self.congestion.control.on_timeout();
            self.begin_undo(Some(before));
        }
        if self.episode.state <= State::Disorder {
            self.losses.threshold.on_timeout(self.board.sacked());
        }
        self.congestion.cwnd = self.board.pipe() + Segments::ONE;
        if self.episode.state == State::Recovery {
            self.note_recovery_ended(now, last_cwnd, Ended::Timeout);
        }
        self.timers.early = None;
        self.timers.reorder = None;
        self.timers.probe.forget();
        self.episode.recovery_point = self.board.nxt();
        self.episode.loss_trigger = Trigger::SlowStart;
        let frto = self.mechanisms.frto && !self.is_probing_mtu();
        self.episode.frto = match frto && (fresh || self.timers.timeouts > 1) {
            true => Frto::Watching,
            false => Frto::Off,
        };
        self.set_state(now, State::Loss);
        if self.models_path() {
            let (totals, mss) = (self.path_totals(), self.peer.mss);
            self.congestion.control.on_loss_state(&totals, mss);
        }
    }

    /// Marks lost what a timeout takes for lost; the timer's own retransmission is due.
    pub(super) fn take_all_as_lost(&mut self, now: Instant) {
        let recent = self.goes_by_time() && !self.losses.rack.rtt().is_zero();
        let overdue = recent.then(|| now - self.losses.rack.rtt());
        let losses = self.logging.log.losses(now, LossDetector::Timeout);
        self.board.mark_for_timeout(overdue, losses);
        self.episode.timeout_due = true;
    }

    /// What an ACK proves about the present episode, if that is to be taken back.
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
            self.congestion.cwnd = self.congestion.cwnd.max(before.cwnd);
            self.congestion.ssthresh = self.congestion.ssthresh.max(before.ssthresh);
        } else if self.mechanisms.ack_processing != AckProcessing::Linux4_13 {
            // What was signalled otherwise stays; the reduction ends (Linux before 4.x).
            self.congestion.cwnd = self.congestion.cwnd.max(self.congestion.ssthresh);
        }
        self.congestion.cwnd = self.congestion.cwnd.max(Segments::ONE);
        self.losses.rack.look_again();
        self.losses.packets.on_undone();
        self.losses.suspects.forget_waiting();
        self.totals.counters.undone[by as usize] += 1;
        if self.logging.log.is_on() {
            let (cwnd, ssthresh) = (self.congestion.cwnd, self.congestion.ssthresh);
            self.logging.log.push(now, Event::Undone { by, cwnd, ssthresh });
        }
    }
}
