//! The timers: when the sender acts without an ACK.

use super::*;
use crate::ack::AckSummary;
use crate::detect::RackVersion;
use crate::tlp::{MAX_ACK_DELAY, ProbeVersion};

impl Timer {
    /// Every timer, in the order in which those due at one instant fire. A probe that is due together with
    /// the retransmission timeout is sent in its place.
    pub const ALL: [Self; 8] =
        [Self::Early, Self::Reorder, Self::Probe, Self::Rto, Self::Persist, Self::Copy, Self::User, Self::Pacing];
}

impl<C: CongestionControl> Sender<C> {
    /// The earliest deadline, and its timer. The host may round the deadline up.
    pub fn next_timer(&self) -> Option<(Instant, Timer)> {
        if self.timers.gave_up {
            return None;
        }
        // One by one in the order of `Timer::ALL`. A loop would find out for each which timer it is.
        let next = self.earlier(None, Timer::Early);
        let next = self.earlier(next, Timer::Reorder);
        let next = self.earlier(next, Timer::Probe);
        let next = self.earlier(next, Timer::Rto);
        let next = self.earlier(next, Timer::Persist);
        let next = self.earlier(next, Timer::Copy);
        let next = self.earlier(next, Timer::User);
        self.earlier(next, Timer::Pacing)
    }

    /// `timer` if its deadline comes before that of `next`, or else `next`.
    #[inline(always)] // so that each call knows its timer
    fn earlier(&self, next: Option<(Instant, Timer)>, timer: Timer) -> Option<(Instant, Timer)> {
        match self.deadline(timer) {
            Some(at) if next.is_none_or(|(earliest, _)| at < earliest) => Some((at, timer)),
            _ => next,
        }
    }

    /// The deadline of `timer`, if it runs.
    //= RFC 8985 §5.4 step: "A RACK-TLP sender arms one of these three timers -- RACK reordering timer, TLP PTO timer,
    //=   or RTO timer -- when it has unacknowledged segments in flight."
    //= deviation: the retransmission timer runs beside the other two, and is never earlier than the probe timer
    #[inline(always)] // mostly of a timer that the caller names
    pub fn deadline(&self, timer: Timer) -> Option<Instant> {
        match timer {
            Timer::Early => self.timers.early,
            Timer::Reorder => self.timers.reorder,
            Timer::Probe => self.timers.probe.deadline(),
            Timer::Rto => self.timeout_deadline(),
            Timer::Persist => self.timers.persist.deadline,
            Timer::Copy => (self.copying.as_ref()).and_then(|copying| copying.copies.deadline()),
            Timer::User => {
                let waiting = !self.board.is_empty() || self.timers.persist.deadline.is_some();
                let end = || self.mechanisms.user_timeout.end(self.timers.progress_at);
                waiting.then(end).flatten()
            }
            Timer::Pacing => self.pacing_deadline(),
        }
    }

    /// `timer` fired. Afterwards [`next_send`](Self::next_send) returns what to send. A timer that does not run, or whose
    /// deadline is later, is ignored: the host may act on an old deadline.
    pub fn on_timer(&mut self, now: Instant, timer: Timer) {
        if self.timers.gave_up || self.deadline(timer).is_none_or(|at| at > now) {
            return;
        }
        self.stream.stopped_clock = None;
        if timer == Timer::Pacing {
            if let Pacer::Sender(departures) = &mut self.stream.pacer {
                departures.on_timer();
            }
            return;
        }
        self.end_release();
        self.log.push(now, Event::TimerFired { timer });
        match timer {
            Timer::Early => {
                self.timers.early = None;
                self.retransmit_early(now, Segments::ZERO);
            }
            Timer::Reorder if self.goes_by_packets() => self.on_loss_timeout(now),
            Timer::Reorder => self.on_reordering_timeout(now),
            Timer::Probe if self.has_probe_timeout() => self.on_probe_timeout(now),
            Timer::Probe => {
                self.timers.probe.on_expiry();
                //= RFC 8985 §7.3 MUST: "If either one of these two conditions is not met, then the sender MUST skip
                //=   sending a loss probe and MUST proceed to re-arm the RTO timer"
                //= deviation: the retransmission timer is another timer and runs on; for Linux 6 it is set again here
                if !self.timers.probe.is_due() {
                    self.count_timeout_from_head(now);
                }
            }
            Timer::Rto => self.on_retransmission_timeout(now),
            Timer::Persist => {
                self.timers.persist.due = true;
                self.timers.persist.backoff = self.timers.persist.backoff.saturating_add(1);
                self.timers.persist.deadline = Some(now + self.persist_interval());
            }
            Timer::Copy => {
                if let Some(copying) = &mut self.copying {
                    copying.copies.on_expiry();
                }
            }
            Timer::User => self.give_up(now),
            Timer::Pacing => {}
        }
        self.review_copied();
        self.keep_probe_timeout(now);
        self.give_up_abandoned(now);
        self.log_changes(now);
    }

    /// The user timeout has passed: the connection ends.
    fn give_up(&mut self, now: Instant) {
        self.timers.gave_up = true;
        self.totals.counters.failed_retransmissions += u64::from(self.totals.counters.unheard);
        self.set_state(now, self.episode.state); // counts the time in the last state
        self.note_nothing_outstanding(now);
        self.log.push(now, Event::GaveUp);
    }

    /// Segments that had to wait for their reordering window may be lost now (RFC 8985 §6.3). When this
    /// enters recovery, the rate control counts it as an ACK of one segment (Linux
    /// `tcp_rack_reo_timeout`).
    fn on_reordering_timeout(&mut self, now: Instant) {
        let before = self.board.marks();
        self.detect_by_time(now);
        if self.rack_version() == Some(RackVersion::Linux6) {
            self.timers.reorder = None; // Linux does not set it again
            self.count_timeout_from_head(now);
        }
        let marked = self.board.marks() - before;
        if marked == 0 || self.episode.state == State::Recovery {
            return;
        }
        self.enter_recovery(now, Trigger::Fast, Segments::ZERO);
        self.note_recovery_begun(now);
        let progress = AckSummary { delivered: Segments::ONE, ..AckSummary::default() };
        self.reduce(&progress, marked, true);
    }

    /// The deadline of the retransmission timer. In Linux 6, a probe timer that expires while a probe is
    /// unanswered makes way for the timeout, which counts from the earliest outstanding segment
    /// (`tcp_send_loss_probe`).
    #[inline]
    fn timeout_deadline(&self) -> Option<Instant> {
        let deadline = self.timers.rto.deadline()?;
        if self.has_probe_timeout() {
            return None;
        }
        if self.timers.probe.is_answered() {
            return Some(deadline);
        }
        let head = self.board.first().map(|first| first.sent_at);
        match (self.timers.probe.deadline(), head) {
            (Some(probe), Some(head)) if self.rack_version() == Some(RackVersion::Linux6) => {
                Some(probe.max(head.plus_nanos(self.timers.rto.rto_nanos(&self.rtt))))
            }
            _ => Some(deadline),
        }
    }

    /// Linux 6 has one timer for RTO, probe and reordering. When it sets the RTO after one of the others, it
    /// counts from the last transmission of the earliest outstanding segment (`tcp_rearm_rto`).
    pub(super) fn count_timeout_from_head(&mut self, now: Instant) {
        let head = self.board.first().map(|first| first.sent_at);
        if self.rack_version() == Some(RackVersion::Linux6)
            && let Some(sent_at) = head
        {
            self.timers.rto.start_from_head(now, sent_at, &self.rtt);
        }
    }

    /// Whether RFC 9002's probe timeout takes the place of the retransmission timeout.
    pub(super) fn has_probe_timeout(&self) -> bool {
        (self.mechanisms.probe).is_some_and(|rules| rules.version == ProbeVersion::Rfc9002)
            && self.uses_sack()
            && self.board.una() > Offset::SYN
    }

    /// Sets the probe timeout anew, where it takes the place of the retransmission timeout.
    pub(super) fn keep_probe_timeout(&mut self, now: Instant) {
        if self.has_probe_timeout() {
            self.schedule_probe_timeout(now);
        }
    }

    /// The probe timeout counts from the last transmission. It does not run while the time threshold's timer
    /// does (RFC 9002 §6.2.1).
    //= RFC 9002 §6.2.1 SHOULD: "A sender SHOULD restart its PTO timer every time an ack-eliciting packet is sent or
    //=   acknowledged, or when Initial or Handshake keys are discarded"
    fn schedule_probe_timeout(&mut self, now: Instant) {
        self.timers.probe.disarm();
        //= RFC 9002 §6.2.1 MUST NOT: "The PTO timer MUST NOT be set if a timer is set for time threshold loss
        //=   detection"
        if self.board.is_empty() || self.timers.reorder.is_some() {
            return;
        }
        let backoff = self.timers.rto.backoff();
        let pto = self.rtt.probe_timeout_nanos(MAX_ACK_DELAY, backoff);
        let at = self.stream.last_sent_at.plus_nanos(pto);
        self.timers.probe.arm(at.max(now));
    }

    /// The probe timeout expired: probes are sent, and nothing is marked lost (RFC 9002 §6.2.4). A receiver of
    /// TCP may renege, which a retransmission timeout would find out.
    //= RFC 9002 §6.2 MUST NOT: "A PTO timer expiration event does not indicate packet loss and MUST NOT cause prior
    //=   unacknowledged packets to be marked as lost."
    fn on_probe_timeout(&mut self, now: Instant) {
        //= RFC 9002 §6.2.1 MUST: "When a PTO timer expires, the PTO backoff MUST be increased, resulting in the PTO
        //=   period being set to twice its current value."
        //= deviation: up to the maximum RTO of the profile
        self.timers.rto.on_expiry(now, &self.rtt);
        self.timers.probe.on_probe_timeout();
        self.forget_reneged(now);
    }

    /// A retransmission by the timeout did not reach the peer because no path led there: no congestion delays it, so the
    /// last doubling of the RTO is taken back. The timer counts from that retransmission, and may fire at once
    /// (RFC 6069 §4; Linux `tcp_ld_RTO_revert`). Without a timeout since the last ACK, nothing changes. RFC 9002's probe
    /// timeout keeps its backoff.
    pub fn undo_backoff(&mut self, now: Instant) {
        let head = self.board.first().map(|first| first.sent_at);
        if self.timers.timeouts == 0 || self.timers.rto.backoff() == 0 || self.has_probe_timeout() {
            return;
        }
        if let Some(sent_at) = head.filter(|_| !self.timers.gave_up) {
            self.timers.rto.undo_expiry();
            self.timers.rto.start_from_head(now, sent_at, &self.rtt);
            self.log_changes(now);
        }
    }

    /// The peer answered a SYN with an ACK of something else: it has a connection of the past, which the reset in answer
    /// ends. The SYN is sent again at once, but for this reason only once (Linux `tcp_rcv_synsent_state_process`,
    /// `TCP_TIMEOUT_MIN`).
    pub fn hasten_syn(&mut self, now: Instant) {
        const DELAY: Duration = Duration::from_millis(2);
        if self.board.una() == Offset::SYN && self.timers.timeouts == 0 && self.timers.rto.deadline().is_some() {
            self.timers.rto.start_early(now, DELAY);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Instant) {
        self.timers.rto.on_expiry(now, &self.rtt);
        self.timers.timeouts = self.timers.timeouts.saturating_add(1);
        self.episode.timeout_unanswered = true;
        if self.board.una() == Offset::SYN {
            // The handshake has no window to reduce: only the SYN is retransmitted.
            self.take_all_as_lost(now);
        } else {
            self.totals.counters.timeouts[self.episode.state as usize] += 1;
            self.enter_loss(now);
        }
    }

    /// Reschedules the probe after an ACK. With RFC 8985 and Linux 6 the timer restarts when new data is
    /// acknowledged, and keeps its deadline when SACKs arrive. With the draft every ACK restarts it.
    pub(super) fn reschedule_probe(&mut self, now: Instant, summary: &AckSummary) {
        if self.has_probe_timeout() {
            if summary.newly_acked + summary.newly_sacked > Segments::ZERO {
                //= RFC 9002 §6.2.1 step: "The PTO backoff factor is reset when an acknowledgment is received"
                self.timers.rto.reset_backoff(); // RFC 9002 §6.2.1
            }
            return self.schedule_probe_timeout(now);
        }
        let stands = self.mechanisms.probe.is_some_and(|rules| rules.is_modern())
            && summary.una_advanced == 0
            && self.episode.state != State::Recovery;
        if !stands {
            self.schedule_probe(now, true);
        }
    }

    /// Arms the probe timer if a probe is called for: data is outstanding, and the peer reports by SACK.
    /// The draft also needs the Open state, and either a full window or nothing left to send
    /// (draft-dukkipati-tcpm-tcp-loss-probe-01 §2.1). Its successors need Open or CWR (RFC 8985 §7.2).
    ///
    /// The deadline is never later than that of the retransmission timer. Linux shares one timer between
    /// the two and computes when the retransmission timer would fire: a full RTO after an ACK, and a full
    /// RTO after the head's transmission when new data is sent (Linux 6 `tcp_schedule_loss_probe`,
    /// `tcp_rto_delta_us`).
    pub(super) fn schedule_probe(&mut self, now: Instant, on_ack: bool) {
        let Some(rules) = self.mechanisms.probe else {
            return;
        };
        if rules.version == ProbeVersion::Rfc9002 {
            return self.keep_probe_timeout(now);
        }
        self.timers.probe.disarm();
        let Some(mut rto_at) = self.timers.rto.deadline() else {
            return; // nothing is outstanding
        };
        let established = self.board.una() > Offset::SYN;
        let called_for = match rules.is_modern() {
            //= RFC 8985 §7.2 SHOULD: "The sender SHOULD start or restart a loss probe PTO timer after transmitting new
            //=   data (that was not itself a loss probe) or upon receiving an ACK that cumulatively acknowledges new
            //=   data unless it is already in fast recovery, RTO recovery, or segments have been SACKed"
            true => matches!(self.episode.state, State::Open | State::Cwr) && self.timers.reorder.is_none(),
            false => {
                let room = self.room() > Segments::ZERO && self.board.nxt() < self.stream.limit;
                self.episode.state == State::Open && !room
            }
        };
        if !called_for || !self.uses_sack() || !established || !self.timers.probe.may_arm(&rules) {
            return;
        }
        let srtt = self.rtt.srtt_nanos();
        let Some(pto) = rules.timeout_nanos(srtt, self.board.outstanding(), &self.timers.peer_ack_delay) else {
            return;
        };
        let at = match self.board.last() {
            Some(last) if rules.restart => {
                let pto = pto.min(self.timers.rto.rto_nanos(&self.rtt));
                let at = last.sent_at.plus_nanos(pto);
                if rules.full_if_overdue && at <= now { now.plus_nanos(pto) } else { at }
            }
            _ => now.plus_nanos(pto),
        };
        if rules.version == ProbeVersion::Linux6
            && !on_ack
            && let Some(first) = self.board.first()
        {
            let rto = self.timers.rto.rto_nanos(&self.rtt);
            let of_head = first.sent_at.plus_nanos(rto);
            if of_head > now {
                rto_at = rto_at.min(of_head);
            }
        }
        //= RFC 8985 §7.2 step: "if the time at which an RTO would fire (here denoted as "TCP_RTO_expiration()") is
        //=   sooner than the computed time for the PTO, then the sender schedules a TLP to be sent at that RTO time"
        self.timers.probe.arm(at.min(rto_at).max(now));
    }

    /// Runs the zero-window timer while data waits, nothing is outstanding, and the peer's window has no
    /// room for it (RFC 9293 §3.8.6.1: first after one RTO, then at doubling intervals).
    pub(super) fn update_persist(&mut self, now: Instant) {
        let blocked = self.board.is_empty()
            && self.board.nxt() < self.stream.limit
            && self.board.una() > Offset::SYN
            && self.next_new().is_none();
        if !blocked {
            self.timers.persist = Persist::default();
        } else if self.timers.persist.deadline.is_none() {
            self.timers.progress_at = now;
            self.timers.persist.deadline = Some(now + self.persist_interval());
        }
    }

    fn persist_interval(&self) -> Duration {
        let doubled = self.timers.rto.rto(&self.rtt).saturating_mul(1 << self.timers.persist.backoff.min(20));
        doubled.min(self.rtt.most_rto())
    }

    /// Logs a change of state and the timers that moved since the last call.
    #[inline]
    pub(super) fn log_changes(&mut self, now: Instant) {
        if self.log.is_on() {
            self.write_changes(now);
        }
    }

    #[inline(never)] // most senders keep no log
    fn write_changes(&mut self, now: Instant) {
        self.log_state(now);
        for (i, timer) in Timer::ALL.into_iter().enumerate() {
            let at = self.deadline(timer);
            // One moves with each ACK, the other with each burst.
            if !matches!(timer, Timer::User | Timer::Pacing)
                && let Some(last) = self.log.last()
                && at != last.timers[i]
            {
                last.timers[i] = at;
                self.log.push(now, Event::TimerSet { timer, at });
            }
        }
    }
}
