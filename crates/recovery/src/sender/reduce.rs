//! Giving up a window, and taking it back.

use super::send::three_quarters;
use super::*;
use crate::ack::AckSummary;
use crate::counters::Ended;
use crate::profile::{Growth, Reduced};
use crate::rate::Progress;
use crate::undo::{Before, Proof};

impl Sender {
    /// Whether the window is being reduced, so that the rate control counts what is sent.
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// The network or the host signals congestion by other means than loss (an ECN echo, RFC 3168
    /// §6.1.2; a local queue): the window falls by the same rules, once a round trip.
    pub fn on_congestion_signal(&mut self, now: Instant) {
        if self.state <= State::Disorder {
            self.undo.forbid();
            self.begin_reduction();
            let pipe = self.board.pipe();
            self.cwnd = self.reduction.at_signal(self.cwnd, pipe, self.ssthresh);
            self.set_state(now, State::Cwr);
        } else {
            self.undo.keep_reduced();
        }
        self.log_changes(now);
    }

    pub(super) fn enter_recovery(&mut self, now: Instant, trigger: Trigger) {
        if !self.board.any_retransmission() {
            self.undo.forget_retransmission();
        }
        let fresh = !self.reducing();
        let before = fresh.then(|| self.before());
        self.begin_undo(before);
        if fresh {
            self.begin_reduction();
        } else if self.board.una() >= self.recovery_point {
            self.recovery_point = self.board.nxt(); // CWR's round is over but for its last ACK
        }
        self.recovery_trigger = trigger;
        self.frto = Frto::Off;
        self.timeout_due = false;
        self.early = None;
        let head = self.board.first().map_or(self.board.nxt(), |s| s.span.end);
        self.rescue_after = head; // the first retransmission's (RFC 6675 §5 step 4.3)
        self.board.restart_holes();
        self.set_state(now, State::Recovery);
        self.counters.recoveries += 1;
        self.awaits_dsack = true;
    }

    /// An episode begins; retransmissions in flight, a probe's repeat among them, may draw DSACKs that
    /// are none of its own.
    fn begin_undo(&mut self, before: Option<Before>) {
        let probes = u32::from(self.probe.repeat_is_out());
        let in_flight = self.board.retransmitted().0 + probes;
        self.undo.begin(self.board.una(), in_flight, before);
    }

    /// All losses known as a recovery begins have been marked.
    pub(super) fn note_recovery_begun(&mut self, now: Instant) {
        self.recoveries.begin(now, self.board.pipe(), self.ssthresh);
    }

    pub(super) fn begin_reduction(&mut self) {
        self.recovery_point = self.board.nxt();
        self.reduction = Reduction::enter(self.mechanisms.rate, self.cwnd);
        self.ssthresh = self.congestion.ssthresh_after_loss(self.reduced_from());
        self.probe.forget();
    }

    fn reduced_from(&self) -> Segments {
        match self.mechanisms.reduced {
            Reduced::Window => self.cwnd,
            // Not what limited transmit added (RFC 5681 §3.2 step 2).
            Reduced::FlightSize => self.board.outstanding().min(self.cwnd),
        }
    }

    fn before(&self) -> Before {
        let ssthresh = match self.reducing() {
            true => self.ssthresh,
            false => self.ssthresh.max(three_quarters(self.cwnd)),
        };
        Before {
            cwnd: self.cwnd,
            ssthresh,
        }
    }

    /// The window an ACK leaves while it is being reduced. `losses`: segments it showed lost.
    pub(super) fn reduce(&mut self, summary: &AckSummary, losses: u64, entering: bool) {
        let advanced = summary.una_advanced > 0;
        let duplicate = !self.sack && !advanced && !summary.window_changed;
        let progress = Progress {
            delivered: summary.delivered,
            pipe: self.board.pipe(),
            ssthresh: self.ssthresh,
            cwnd: self.cwnd,
            floor: self.congestion.halving_floor(self.ssthresh),
            clocks: advanced
                || summary.newly_sacked > Segments::ZERO
                || summary.dsack.is_some()
                || duplicate,
            safe: advanced && losses == 0,
            entering,
            partial: !self.sack && advanced && self.state == State::Recovery,
        };
        self.cwnd = self.reduction.on_ack(&progress);
        if self.release == Release::ByPipe && self.reduction.forces(&progress) {
            self.release = Release::Forced;
        }
        if self.board.first().is_none() {
            self.cwnd = self.cwnd.max(Segments::ONE); // no ACK will come to open it
        }
    }

    /// The reduction is over, its window reached.
    pub(super) fn end_reduction(&mut self) {
        self.cwnd = self.reduction.at_end(self.cwnd, self.ssthresh);
    }

    /// Recovery is left.
    pub(super) fn note_recovery_ended(&mut self, now: Instant, last_cwnd: Segments, how: Ended) {
        self.recoveries.end(now, last_cwnd, self.cwnd, how);
        let short = how == Ended::Complete && self.cwnd < self.ssthresh;
        self.counters.slow_starts_after_recovery += u64::from(short);
    }

    /// A retransmission timeout: everything not SACKed is lost (under RACK but for what was sent
    /// recently), the window is one segment more than is still in flight, and
    /// ssthresh falls unless it already did, for this flight (Linux) or for a timeout of this segment
    /// (RFC 5681 §3.1).
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let fresh = self.state < State::Recovery;
        let again = self.timeouts > 1;
        let cut = match self.state {
            _ if self.mechanisms.reduced == Reduced::FlightSize => !again,
            State::Open | State::Disorder => true,
            State::Cwr | State::Recovery => self.board.una() >= self.recovery_point,
            State::Loss => !again || self.board.una() >= self.recovery_point,
        };
        let last_cwnd = self.cwnd;
        self.awaits_dsack = false;
        if self.board.reneged() {
            self.board.forget_sacks();
            self.counters.reneged += 1;
            self.log.push(now, Event::Reneged);
            self.rack.forget_deliveries(); // everything is lost, however young
        }
        let before = self.before();
        let from = match self.mechanisms.reduced {
            Reduced::Window => self.cwnd,
            Reduced::FlightSize => self.board.outstanding(),
        };
        self.take_all_as_lost(now);
        if cut {
            self.ssthresh = self.congestion.ssthresh_after_loss(from);
            self.congestion.on_timeout();
            self.begin_undo(Some(before));
        }
        if self.state <= State::Disorder {
            self.detection.on_timeout(self.board.sacked());
        }
        self.cwnd = self.board.pipe() + Segments::ONE;
        if self.state == State::Recovery {
            self.note_recovery_ended(now, last_cwnd, Ended::Timeout);
        }
        self.early = None;
        self.reorder = None;
        self.probe.forget();
        self.recovery_point = self.board.nxt();
        self.frto = match self.mechanisms.frto && (fresh || self.timeouts > 1) {
            true => Frto::Watching,
            false => Frto::Off,
        };
        self.set_state(now, State::Loss);
    }

    /// Marks lost what a timeout takes for lost; the timer's own retransmission is due.
    pub(super) fn take_all_as_lost(&mut self, now: Instant) {
        let recent = self.goes_by_time() && !self.rack.rtt().is_zero();
        let overdue = recent.then(|| now - self.rack.rtt());
        let losses = self.log.losses(now, Judge::Timeout);
        self.board.mark_for_timeout(overdue, losses);
        self.timeout_due = true;
    }

    /// What an ACK proves about the present episode, if that is to be taken back.
    pub(super) fn proof(&self, ack: &Ack) -> Option<Proof> {
        let rules = self.mechanisms.undo;
        if rules.dsack && self.undo.all_duplicates() {
            return Some(Proof::Dsack);
        }
        // Without SACK an ACK of the recovery point tells nothing where no stamp was kept (Linux
        // tcp_packet_delayed).
        let blind = !self.sack
            && self.undo.first_retransmission().is_none()
            && self.board.una() >= self.recovery_point;
        let original = rules.timestamps && self.undo.original_acked(ack.echo_sent_before);
        (original && !blind).then_some(Proof::Timestamp)
    }

    /// The reduction was for nothing: back to the window before it.
    pub(super) fn take_back(&mut self, now: Instant, by: Proof) {
        if let Some(before) = self.undo.take() {
            self.cwnd = self.cwnd.max(before.cwnd);
            self.ssthresh = self.ssthresh.max(before.ssthresh);
        } else if self.mechanisms.growth != Growth::After {
            // What was signalled otherwise stays; the reduction ends (Linux before 4.x).
            self.cwnd = self.cwnd.max(self.ssthresh);
        }
        self.cwnd = self.cwnd.max(Segments::ONE);
        self.rack.look_again();
        self.counters.undone[by as usize] += 1;
        if self.log.is_on() {
            let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
            self.log.push(now, Event::Undone { by, cwnd, ssthresh });
        }
    }
}
