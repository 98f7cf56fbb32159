//! What an ACK does to the sender.

use super::*;
use crate::ack::AckSummary;
use crate::event::Judge;
use crate::tlp::ProbeAnswer;

impl Sender {
    /// Takes in an ACK and returns what it changed. An ACK of data never sent is ignored.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) -> AckSummary {
        if ack.cumulative > self.board.nxt() || self.gave_up {
            return AckSummary::default();
        }
        let window_changed = self.take_window(ack);
        if self.is_idle() && !ack.has_blocks() {
            return AckSummary {
                window_changed,
                ..AckSummary::default()
            };
        }
        let syn_acked = self.board.una() == Offset::SYN && ack.cumulative > Offset::SYN;
        let syn_transmissions = self.board.first().map_or(0, |s| s.transmissions);
        let mut summary = self.board.on_ack(ack);
        summary.window_changed = window_changed;
        // A peer that answers with a shut window is alive (RFC 9293 §3.8.6.1).
        let shut = self.persist.deadline.is_some() || ack.window == 0;
        if summary.una_advanced > 0 || shut {
            self.progress_at = now;
        }
        if summary.una_advanced > 0 {
            self.timeouts = 0;
        }
        if self.log.is_on() {
            let una = self.board.una();
            let AckSummary {
                newly_acked,
                newly_sacked,
                dsack,
                ..
            } = summary;
            self.log.push(
                now,
                Event::Acked {
                    una,
                    newly_acked,
                    newly_sacked,
                    dsack,
                },
            );
        }
        self.take_rtt(now, ack, &summary);
        if syn_acked {
            self.open(syn_transmissions);
        } else {
            self.grow_window(now, &summary);
        }
        self.move_timers(now, &summary);
        self.run_states(now, &summary);
        self.judge_probe(now, ack, &summary);
        self.schedule_probe(now);
        self.update_persist(now);
        self.log_changes(now);
        summary
    }

    /// Nothing is outstanding or waiting, so that a plain ACK, which a receiver of data is sent with
    /// every segment, has nothing to tell.
    fn is_idle(&self) -> bool {
        self.board.first().is_none()
            && self.board.nxt() >= self.limit
            && self.probe.is_answered()
            && self.persist.deadline.is_none()
    }

    /// The peer's window: taken from an ACK that advances, or from one that repeats `snd_una` with a
    /// window that reaches further; an older ACK neither takes back what a newer one gave nor gives
    /// what a newer one took (RFC 9293 §3.10.7.4, SND.WL2).
    fn take_window(&mut self, ack: &Ack) -> bool {
        let edge = ack.cumulative + ack.window;
        self.window.largest = self.window.largest.max(ack.window);
        let una = self.board.una();
        let newer = ack.cumulative > una || (ack.cumulative == una && edge > self.window.edge);
        let changed = newer && edge != self.window.edge;
        if newer {
            self.window.edge = edge;
        }
        changed
    }

    fn take_rtt(&mut self, now: Instant, ack: &Ack, summary: &AckSummary) {
        let Some(rtt) = summary.rtt_sample(now, ack) else {
            return;
        };
        self.rtt.on_sample(rtt, self.board.una(), self.board.nxt());
        self.rto.reset_backoff();
        if self.log.is_on() {
            let (srtt, rto) = (self.rtt.srtt().unwrap_or(rtt), self.rtt.rto());
            self.log.push(now, Event::RttSample { rtt, srtt, rto });
        }
    }

    /// The handshake is done. After more than one lost SYN the path deserves caution (RFC 5681 §3.1,
    /// in Linux's form: one loss is forgiven since the initial RTO is 1 s), and after any that left
    /// no RTT sample data begins with the RTO of RFC 6298 §5.7.
    fn open(&mut self, syn_transmissions: u16) {
        self.cwnd = if syn_transmissions > 2 {
            Segments::ONE
        } else {
            self.mechanisms.initial_window
        };
        if syn_transmissions > 1 && self.rtt.srtt().is_none() {
            self.rtt.distrust_initial();
            self.rto.reset_backoff();
        }
        self.timeout_due = false;
        self.recovery_point = self.board.nxt();
    }

    fn grow_window(&mut self, now: Instant, summary: &AckSummary) {
        let slow_start = self.cwnd < self.ssthresh;
        let limited = if slow_start {
            self.cwnd.0 < self.usage.most_outstanding.0.saturating_mul(2)
        } else {
            self.usage.limited
        };
        if summary.newly_acked == Segments::ZERO || self.reducing() || !limited {
            return;
        }
        let rtt = self.rtt.min().unwrap_or_default();
        self.cwnd = self
            .congestion
            .grow(now, summary.newly_acked, self.cwnd, self.ssthresh, rtt);
    }

    /// The retransmission timer restarts when new data is acknowledged (RFC 6298 §5.2, §5.3) and
    /// stops when all is; a delayed early retransmit is off until its conditions are seen to hold.
    fn move_timers(&mut self, now: Instant, summary: &AckSummary) {
        self.early = None;
        let Some(first) = self.board.first() else {
            self.rto.stop();
            return;
        };
        if summary.una_advanced == 0 {
            return;
        }
        if self.mechanisms.rto_restart
            && self.outstanding_and_unsent() < crate::rto::RESTART_THRESHOLD
        {
            self.rto.start_from_earliest(now, first.sent_at, &self.rtt);
        } else {
            self.rto.start(now, &self.rtt);
        }
    }

    /// Outstanding segments and the unsent data in segments (RFC 7765 §4). A FIN rides on the last
    /// data and is a segment of its own only when nothing else is left.
    fn outstanding_and_unsent(&self) -> Segments {
        let (nxt, mss) = (self.board.nxt(), u64::from(self.mss));
        let data = self.fin.unwrap_or(self.limit).since(nxt).div_ceil(mss);
        let unsent = data.max(u64::from(nxt < self.limit));
        self.board.outstanding() + Segments(u32::try_from(unsent).unwrap_or(u32::MAX))
    }

    fn run_states(&mut self, now: Instant, summary: &AckSummary) {
        if let Some(distance) = summary.reordering {
            self.detection.on_reordering(distance);
        }
        if self.board.reneged() {
            self.board.forget_sacks();
            self.log.push(now, Event::Reneged);
            self.enter_loss(now);
            return;
        }
        self.leave_episode(now);
        match self.state {
            State::Loss => {}
            State::Recovery => {
                self.mark_lost(now, Segments::ZERO, Judge::Threshold);
                self.reduce(summary, false);
            }
            State::Open | State::Disorder | State::Cwr => {
                if self.maybe_recover(now) {
                    self.reduce(summary, true);
                } else if self.state == State::Cwr {
                    self.reduce(summary, false);
                } else {
                    self.keep_open(now);
                }
            }
        }
    }

    /// An ACK of the recovery point ends the episode; the window settles at ssthresh after a
    /// reduction, and stays as it has grown after a timeout.
    fn leave_episode(&mut self, now: Instant) {
        let passed = match self.state {
            State::Open | State::Disorder => return,
            State::Cwr => self.board.una() > self.recovery_point,
            State::Recovery | State::Loss => self.board.una() >= self.recovery_point,
        };
        if !passed {
            return;
        }
        if self.reducing() {
            self.cwnd = self.ssthresh;
        }
        self.timeout_due = false;
        self.set_state(now, State::Open);
    }

    /// Enters recovery if the evidence suffices, at once or (early retransmit) after a delay.
    fn maybe_recover(&mut self, now: Instant) -> bool {
        if self.board.sacked() + self.board.lost() == Segments::ZERO {
            return false;
        }
        let verdict = self.detection.verdict(&self.board);
        if verdict.recover || self.board.lost() > Segments::ZERO {
            self.enter_recovery(now, Trigger::Fast);
            self.mark_lost(now, Segments::ONE, Judge::Threshold);
            return true;
        }
        let Some(delay) = self.early_delay(now) else {
            return false;
        };
        if delay.is_zero() || self.rto.deadline().is_none_or(|rto| rto <= now + delay) {
            self.retransmit_early(now);
            return true;
        }
        self.early = Some(now + delay);
        false
    }

    fn early_delay(&self, now: Instant) -> Option<Duration> {
        let can_send_new = || self.board.pipe() < self.window_now(now) && self.next_new().is_some();
        let seen = self.detection.reordering_seen();
        self.mechanisms
            .early_retransmit
            .delay(&self.board, self.rtt.srtt(), seen, can_send_new)
    }

    /// Early retransmit's moment: every hole below the highest SACK is lost. The window is reduced
    /// from the next ACK on, so that the holes go at once.
    pub(super) fn retransmit_early(&mut self, now: Instant) {
        self.enter_recovery(now, Trigger::Early);
        self.mark_lost(now, self.board.fack(), Judge::Early);
    }

    fn enter_recovery(&mut self, now: Instant, trigger: Trigger) {
        if self.state != State::Cwr {
            self.begin_reduction();
        }
        self.recovery_trigger = trigger;
        self.board.restart_holes();
        self.set_state(now, State::Recovery);
    }

    fn begin_reduction(&mut self) {
        self.recovery_point = self.board.nxt();
        self.prr = Prr::enter(self.cwnd);
        self.ssthresh = self.congestion.ssthresh_after_loss(self.cwnd);
        self.probe.on_timeout();
    }

    /// Marks lost what the detector says, and at least the first `least` segments.
    fn mark_lost(&mut self, now: Instant, least: Segments, by: Judge) {
        let lost = self.detection.verdict(&self.board).lost.max(least);
        let log = &mut self.log;
        self.board
            .mark_lost(lost, |span| log.push(now, Event::MarkedLost { span, by }));
    }

    fn reduce(&mut self, summary: &AckSummary, entering: bool) {
        let pipe = self.board.pipe();
        self.cwnd = self
            .prr
            .on_ack(summary.delivered, pipe, self.ssthresh, entering);
    }

    /// Open or Disorder, as SACKs are outstanding or not.
    fn keep_open(&mut self, now: Instant) {
        let left_out = self.board.sacked() + self.board.lost() > Segments::ZERO;
        let to = if left_out {
            State::Disorder
        } else {
            State::Open
        };
        if to != self.state {
            self.recovery_point = self.board.nxt();
            self.set_state(now, to);
        }
    }

    /// A probe that repaired a loss by itself hid a congestion signal: reduce once
    /// (draft-dukkipati-tcpm-tcp-loss-probe-01 §3.2; at once to ssthresh, as Linux).
    fn judge_probe(&mut self, now: Instant, ack: &Ack, summary: &AckSummary) {
        let duplicate = summary.is_duplicate(ack) && summary.newly_sacked == Segments::ZERO;
        let answer = self
            .probe
            .on_ack(ack.cumulative, duplicate, summary.dsack.is_some());
        if answer == ProbeAnswer::RepairedLoss && !self.reducing() {
            self.log.push(now, Event::ProbeRepairedLoss);
            self.begin_reduction();
            self.set_state(now, State::Cwr);
            self.cwnd = self.ssthresh;
            self.set_state(now, State::Open);
            self.keep_open(now);
        }
    }

    /// A retransmission timeout: everything not SACKed is lost, the window is one segment, and
    /// ssthresh falls unless it already did for this flight (RFC 5681 §3.1, §5.1 of RFC 6675).
    pub(super) fn enter_loss(&mut self, now: Instant) {
        let first_of_flight = match self.state {
            State::Open | State::Disorder => true,
            State::Cwr | State::Recovery => self.board.una() >= self.recovery_point,
            State::Loss => self.timeouts <= 1,
        };
        if first_of_flight {
            self.ssthresh = self.congestion.ssthresh_after_loss(self.cwnd);
            self.congestion.on_timeout();
        }
        self.cwnd = Segments::ONE;
        self.early = None;
        self.probe.on_timeout();
        self.take_all_as_lost(now);
        self.recovery_point = self.board.nxt();
        self.set_state(now, State::Loss);
    }

    /// Marks everything lost that is not SACKed; the timer's own retransmission is due.
    pub(super) fn take_all_as_lost(&mut self, now: Instant) {
        let log = &mut self.log;
        self.board.mark_all_lost(|span| {
            log.push(
                now,
                Event::MarkedLost {
                    span,
                    by: Judge::Timeout,
                },
            );
        });
        self.timeout_due = true;
    }
}
