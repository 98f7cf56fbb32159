//! How the sender processes an ACK.
//!
//! [`process_ack`](Sender::process_ack) lists the steps in the order of Linux's `tcp_ack`.

use super::*;
use crate::ack::AckSummary;
use crate::congestion::RateSample;
use crate::detect::RackVersion;
use crate::profile::{AckProcessing, RtoRestart};
use crate::rto::RESTART_THRESHOLD;
use crate::rtt::nanos;
use crate::scoreboard::SentSegment;
use crate::tlp::{AckDelay, MAX_ACK_DELAY, ProbeAnswer};

/// The sender before an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeAck {
    una: Offset,
    /// How often the SYN was sent, if this ACK acknowledges it.
    syn_transmissions: Option<u16>,
    /// Segments in flight; zero unless the congestion control models the path.
    pub pipe: Segments,
    /// Segments marked lost so far.
    pub marks: u64,
    /// When the only outstanding segment was sent, if its ACK is to be timed.
    alone_since: Option<Instant>,
}

impl<C: CongestionControl> Sender<C> {
    /// An ACK arrived. Returns its effects. An ACK of data that was never sent is ignored and counted
    /// ([`Counters::impossible_acks`](crate::Counters::impossible_acks)), and so is a block of such data
    /// ([`impossible_blocks`](crate::Counters::impossible_blocks)). Where packets are numbered, the host calls
    /// [`on_packets_acked`](Self::on_packets_acked) instead, which returns the packets.
    #[inline]
    pub fn on_ack<B: AsRef<[Span]>>(&mut self, now: Instant, ack: &Ack<B>) -> AckSummary {
        let mut summary = AckSummary::default();
        self.take_ack(now, ack, &mut summary);
        summary
    }

    /// Processes an ACK as [`on_ack`](Self::on_ack) does, and writes the effects to `summary`, which is empty before.
    /// A summary is large: this saves moving it.
    pub fn take_ack<B: AsRef<[Span]>>(&mut self, now: Instant, ack: &Ack<B>, summary: &mut AckSummary) {
        self.process_ack(now, &ack.view(), summary, &mut |_| ());
    }

    /// Processes an ACK, and calls `each` with every segment that it delivers.
    #[inline]
    pub(super) fn process_ack(
        &mut self,
        now: Instant,
        ack: &Ack<&[Span]>,
        summary: &mut AckSummary,
        each: &mut impl FnMut(&SentSegment),
    ) {
        let Some(window_changed) = self.begin_ack(now, ack.cumulative, ack.window) else {
            return;
        };
        summary.window_changed = window_changed;
        let (without_blocks, without_echo);
        let mut ack = ack;
        if ack.has_blocks() && !self.uses_sack() {
            without_blocks = (*ack).without_blocks(); // without an agreement on SACK, blocks mean nothing
            ack = &without_blocks;
        }
        // Linux before 4.13 grows the window before the states run, and judges a probe after them.
        let grows_first = self.mechanisms.ack_processing != AckProcessing::Linux4_13;
        if self.is_idle() && !ack.has_blocks() {
            return self.take_report_of_copy(ack, summary);
        }
        let before = self.before_ack(ack);
        self.update_scoreboard(now, ack, summary, each);
        self.take_report_of_copy(ack, summary);
        self.note_progress(now, ack, summary);
        if summary.reports_copy_alone() {
            self.update_persist(now);
            return self.log_changes(now);
        }
        if summary.copied_delivered && self.sends_copies() {
            without_echo = (*ack).without_echo(); // the echo is that of the original or of the copy
            ack = &without_echo;
        }
        let acked = self.count_delivered(summary);
        self.take_dsack(summary);
        self.take_samples(now, ack, summary, &before);
        //= RFC 5681 §3.1 MUST NOT: "the SYN/ACK and the acknowledgment of the SYN/ACK MUST NOT increase the size of the
        //=   congestion window"
        if let Some(transmissions) = before.syn_transmissions {
            self.open(transmissions);
        } else if grows_first && !self.reducing() && !self.models_path() {
            self.grow_window(now, acked, summary);
        }
        let replaces_other = self.restart_timeout(now, summary);
        if !grows_first {
            self.judge_probe(now, ack, summary);
        }
        let entering = !self.changes_no_state(summary) && self.run_states(now, ack, summary);
        let rate = self.sample_delivery(now, summary);
        // An ACK older than the last one may report SACKs, but clocks nothing (Linux since 4.13).
        if grows_first || ack.cumulative >= before.una || self.board.gives_up() {
            self.control_window(now, summary, &before, rate, entering);
        }
        if grows_first {
            self.judge_probe(now, ack, summary);
        }
        self.follow_copied();
        self.count(summary);
        self.reschedule_timers(now, summary, replaces_other);
        self.give_up_abandoned(now);
        self.update_persist_after_ack(now);
        self.log_changes(now);
    }

    /// Processes an ACK without blocks if nothing is outstanding or waiting to be sent, and returns whether it did. The
    /// result is the same as that of [`on_ack`](Self::on_ack), and needs less of the ACK. So a host that only receives
    /// need not make one for each segment.
    #[inline]
    pub fn take_ack_when_idle(&mut self, now: Instant, cumulative: Offset, window: u64) -> bool {
        let idle = self.is_idle() && !self.sends_copies();
        if idle {
            self.begin_ack(now, cumulative, window);
        }
        idle
    }

    /// Begins to process an ACK: notes that the peer was heard, takes its window, and ends what held until the next ACK.
    /// Returns whether the window changed; `None` if the ACK is ignored, because it acknowledges data never sent, or
    /// because the connection was given up.
    #[inline]
    fn begin_ack(&mut self, now: Instant, cumulative: Offset, window: u64) -> Option<bool> {
        self.episode.timeout_unanswered = false;
        self.stream.last_heard_at = now;
        self.stream.stopped_clock = None;
        if self.timers.gave_up {
            return None;
        }
        if cumulative > self.board.nxt() {
            self.totals.counters.impossible_acks += 1;
            return None;
        }
        let window_changed = self.peer.window.on_ack(self.board.una(), cumulative, window);
        // An ACK answers any zero-window probe.
        self.timers.persist.unanswered = 0;
        self.end_release();
        Some(window_changed)
    }

    #[inline]
    fn before_ack(&self, ack: &Ack<&[Span]>) -> BeforeAck {
        let una = self.board.una();
        let acks_syn = una == Offset::SYN && ack.cumulative > Offset::SYN;
        BeforeAck {
            una,
            syn_transmissions: acks_syn.then(|| self.board.first().map_or(0, |syn| syn.transmissions)),
            pipe: if self.models_path() { self.board.pipe() } else { Segments::ZERO },
            marks: self.board.marks(),
            alone_since: self.times_acks().then(|| self.only_segment()).flatten(),
        }
    }

    /// Whether the probe's allowance for delayed ACKs is measured.
    fn times_acks(&self) -> bool {
        self.mechanisms.probe.is_some_and(|rules| rules.ack_delay == AckDelay::Measured)
    }

    /// When the outstanding segment was sent, if there is only one and it was sent once.
    fn only_segment(&self) -> Option<Instant> {
        let first = self.board.first()?;
        let only =
            self.board.outstanding() == Segments::ONE && first.transmissions == 1 && self.board.una() > Offset::SYN;
        only.then_some(first.sent_at)
    }

    /// Ends what held until the next ACK or timer: the [`Release`] of retransmissions, and a due copy.
    #[inline]
    pub(super) fn end_release(&mut self) {
        self.episode.release = Release::ByPipe;
        self.drop_due_copy();
    }

    /// Applies the ACK to the scoreboard: RFC 6675's Update().
    #[inline]
    fn update_scoreboard(
        &mut self,
        now: Instant,
        ack: &Ack<&[Span]>,
        summary: &mut AckSummary,
        each: &mut impl FnMut(&SentSegment),
    ) {
        let plausible = self.rtt.min_nanos().map_or(Instant::ZERO, |min| now.minus_nanos(min));
        //= RFC 6675 §5 MUST: "Upon the receipt of any ACK containing SACK information, the scoreboard MUST be updated
        //=   via the Update () routine."
        //= RFC 6675 §5 (B) MUST: "Use Update () to record the new SACK information conveyed by the incoming ACK."
        //= RFC 6675 §5.1 SHOULD: "Update () SHOULD continue to be used appropriately upon receipt of ACKs."
        self.board.apply(ack, plausible, summary, each);
    }

    /// Returns the segments that Linux before 4.13 counts for growth: those acknowledged. Where windows count bytes,
    /// this converts the bytes delivered, and returns them.
    #[inline]
    fn count_delivered(&mut self, summary: &mut AckSummary) -> Segments {
        if !self.board.counts_bytes() {
            return summary.newly_acked;
        }
        summary.delivered = self.board.take_delivered();
        summary.delivered
    }

    /// RTT samples, for the estimator, for slow start and for the detectors (RFC 8985 §6.2 steps 1 and 2).
    #[inline]
    fn take_samples(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &AckSummary, before: &BeforeAck) {
        if self.losses.packets.is_on() {
            self.losses.packets.on_ack(now, summary);
        }
        self.take_rtt(now, ack, summary);
        if let Some(sent_at) = before.alone_since.filter(|_| summary.una_advanced > 0 && self.board.is_empty()) {
            self.timers.peer_ack_delay.take(now.nanos_since(sent_at));
        }
        if before.syn_transmissions.is_none() {
            self.watch_slow_start(now, summary);
        }
        if self.goes_by_time() {
            self.losses.rack.on_ack(now, summary);
        }
    }

    /// Whether this ACK changes no state, as most ACKs of most connections.
    #[inline]
    fn changes_no_state(&self, summary: &AckSummary) -> bool {
        self.episode.state == State::Open
            && summary.is_plain_progress()
            && self.board.is_clean()
            && self.episode.undo.first_retransmission().is_none()
    }

    /// The window after an ACK, by the model of the path, by the rate control, or by growth (Linux `tcp_cong_control`).
    #[inline(always)] // one caller
    fn control_window(
        &mut self,
        now: Instant,
        summary: &AckSummary,
        before: &BeforeAck,
        rate: Option<RateSample>,
        entering: bool,
    ) {
        let opens = before.syn_transmissions.is_some();
        if self.models_path() {
            match opens {
                true => self.begin_model(now),
                false => self.follow_path(now, summary, before, rate),
            }
        } else if self.reducing() {
            //= RFC 9937 §6.2 step: "On every ACK starting or during fast recovery, excluding the ACK that concludes a
            //=   PRR episode, PRR executes the following steps."
            self.reduce(summary, self.board.marks() - before.marks, entering);
        } else if !opens && self.mechanisms.ack_processing == AckProcessing::Linux4_13 {
            self.grow_window(now, summary.delivered, summary);
        }
    }

    /// Sets the probe timer after an ACK, or the retransmission timer in its place. `replaces_other`: see
    /// [`restart_timeout`](Self::restart_timeout).
    #[inline]
    fn reschedule_timers(&mut self, now: Instant, summary: &AckSummary, replaces_other: bool) {
        if self.mechanisms.probe.is_some() {
            self.reschedule_probe(now, summary);
        }
        // Not the one that decides soon about a receiver that reneged (Linux 6 tcp_check_sack_reneging).
        let reneged = || self.board.reneged() && summary.una_advanced > 0;
        if replaces_other && self.timers.probe.deadline().is_none() && !reneged() {
            self.count_timeout_from_head(now);
        }
    }

    /// Data that is outstanding draws an ACK, so that the zero-window timer need not run.
    #[inline]
    fn update_persist_after_ack(&mut self, now: Instant) {
        match self.board.is_empty() {
            true => self.update_persist(now),
            false => self.timers.persist = Persist::default(),
        }
    }

    /// Whether nothing is outstanding or waiting to be sent. An ACK without blocks changes nothing then, beyond what
    /// [`begin_ack`](Self::begin_ack) does.
    #[inline]
    fn is_idle(&self) -> bool {
        self.board.is_empty()
            && self.board.nxt() >= self.stream.limit
            && self.timers.probe.is_answered()
            && self.timers.persist.deadline.is_none()
            && matches!(self.episode.state, State::Open)
    }

    fn note_progress(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &mut AckSummary) {
        // A peer that answers with a closed window is alive (RFC 9293 §3.8.6.1).
        let shut = self.timers.persist.deadline.is_some() || ack.window == 0;
        if summary.una_advanced > 0 || (shut && !self.mechanisms.firm_timeout) {
            self.timers.progress_at = now;
        }
        if summary.una_advanced > 0 {
            self.timers.timeouts = 0;
            self.totals.counters.unheard = 0;
            // An ACK with new SACKs is a duplicate even if it advances (RFC 6675 §2).
            //= RFC 6675 §5 MUST: "If the incoming ACK is a cumulative acknowledgment, the TCP MUST reset DupAcks to
            //=   zero."
            self.losses.duplicates = u32::from(summary.newly_sacked > Segments::ZERO);
            if !self.uses_sack() {
                summary.delivered = self.board.explain_duplicates(summary.newly_acked);
            }
            if self.board.is_empty() {
                self.note_nothing_outstanding(now);
            }
        } else if summary.newly_sacked > Segments::ZERO {
            //= RFC 6675 §2 step: "we define a "duplicate acknowledgment" as a segment that arrives carrying a SACK
            //=   block that identifies previously unacknowledged and un-SACKed octets between HighACK and HighData."
            //= RFC 6675 §5 MUST: "If the incoming ACK is a duplicate acknowledgment per the definition in Section 2
            //=   (regardless of its status as a cumulative acknowledgment), and the TCP is not currently in loss
            //=   recovery, the TCP MUST increase DupAcks by one"
            self.losses.duplicates = self.losses.duplicates.saturating_add(1);
        }
        if self.log.is_on() {
            self.log_ack(now, ack, summary);
        }
    }

    /// Counts the time in which data was outstanding, which ends now.
    #[inline]
    pub(super) fn note_nothing_outstanding(&mut self, now: Instant) {
        if let Some(since) = self.totals.busy_since.take() {
            self.totals.counters.busy += now.since(since);
        }
    }

    #[inline(never)] // most senders keep no log
    fn log_ack(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &AckSummary) {
        let una = self.board.una();
        let AckSummary { newly_acked, newly_sacked, copy_reported, .. } = *summary;
        let dsack = summary.dsack.or(ack.dsack().filter(|_| copy_reported));
        self.log.push(now, Event::Acked { una, newly_acked, newly_sacked, dsack, copy_reported });
    }

    /// Uses a DSACK: for the undo, for RACK's reordering window and for the counters. DSACKs of more segments
    /// than were ever retransmitted prove nothing (Linux `tcp_dsack_seen`).
    fn take_dsack(&mut self, summary: &mut AckSummary) {
        let Some(duplicate) = summary.dsack else {
            return;
        };
        let segments = duplicate.len().div_ceil(u64::from(self.peer.full)).max(1);
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        self.totals.counters.dsacks += u64::from(segments);
        if u64::from(self.totals.counters.dsacks) > self.totals.counters.retransmissions.total() {
            summary.dsack = None;
            return;
        }
        let of_probe = self.timers.probe.is_of_probe(duplicate);
        if self.episode.undo.on_dsack(duplicate, segments) && self.episode.awaits_dsack {
            self.episode.awaits_dsack = false;
            self.totals.counters.recoveries_with_dsack += 1;
        }
        let heeded = match self.rack_version() {
            Some(RackVersion::Rfc8985) => true,
            Some(RackVersion::Linux6) => self.losses.threshold.reordering_seen(),
            None => false,
        };
        //= RFC 8985 §6.2 step 4 step: "The RACK.reo_wnd increases linearly for every round trip in which the sender
        //=   receives some DSACK option so that after N round trips in which a DSACK is received, the RACK.reo_wnd
        //=   becomes (N+1) * min_RTT / 4, with an upper-bound of SRTT."
        //= deviation: the DSACK of a probe is ignored, as in Linux
        if heeded && !of_probe {
            self.losses.rack.on_dsack(self.board.una(), self.board.nxt());
        }
        if self.mechanisms.ack_processing == AckProcessing::Linux4_13 {
            summary.delivered += Segments(segments);
        }
    }

    fn take_rtt(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &AckSummary) {
        let sample = match self.rtt.is_choosy() {
            false => summary.rtt_sample_nanos(now, ack),
            true if self.rtt.samples_newest() => return self.take_newest_rtt(now, ack),
            true => {
                let timestamp = ack.timestamp_rtt.filter(|_| summary.una_advanced > 0);
                let sample = self.rtt.flight_sample(now, self.board.una(), timestamp);
                sample.map(nanos)
            }
        };
        let Some(mut rtt) = sample else {
            return;
        };
        if summary.copied_delivered && summary.newly_acked == Segments::ONE {
            rtt = nanos(self.rtt_of_copied(Duration::from_nanos(rtt), ack));
        }
        let (una, nxt) = (self.board.una(), self.board.nxt());
        self.rtt.on_sample_nanos(rtt, una, nxt);
        self.note_sample(now, rtt);
    }

    fn note_sample(&mut self, now: Instant, rtt: u64) {
        //= RFC 6298 §5 step: "once a new RTT measurement is obtained (which can only happen when new data has been sent
        //=   and acknowledged), the computations outlined in Section 2 are performed, including the computation of RTO"
        self.timers.rto.reset_backoff();
        if self.log.is_on() {
            let rtt = Duration::from_nanos(rtt);
            let (srtt, rto) = (self.rtt.srtt().unwrap_or(rtt), self.rtt.rto());
            self.log.push(now, Event::RttSample { rtt, srtt, rto });
        }
    }

    /// The sample comes from the newest transmission delivered (RFC 9002 §5).
    fn take_newest_rtt(&mut self, now: Instant, ack: &Ack<&[Span]>) {
        if let Some(rtt) = self.losses.packets.sample() {
            //= RFC 9002 §5.3 SHOULD: "the endpoint SHOULD ignore max_ack_delay until the handshake is confirmed"
            //= deviation: the bound always applies: the engine does not know the handshake
            //= RFC 9002 §5.3 MUST: "MUST use the lesser of the acknowledgment delay and the peer's max_ack_delay after
            //=   the handshake is confirmed"
            //= deviation: max_ack_delay is 25 ms, the default of RFC 9000 §18.2, whatever the peer announced
            let delay = nanos(ack.ack_delay).min(MAX_ACK_DELAY);
            let (una, nxt) = (self.board.una(), self.board.nxt());
            self.rtt.on_delayed_sample(rtt, delay, una, nxt);
            self.note_sample(now, rtt);
        }
    }

    /// The congestion control may end slow start by the round-trip times it sees.
    #[inline(always)] // one caller
    fn watch_slow_start(&mut self, now: Instant, summary: &AckSummary) {
        let Some(newest) = summary.newest_delivered else {
            return;
        };
        if summary.retransmission_acked || self.congestion.cwnd >= self.congestion.ssthresh {
            return;
        }
        let rtt = now.since(newest.at);
        let round = congestion::Round {
            now,
            rtt,
            min_rtt: self.rtt.min().map_or(rtt, |min| min.min(rtt)),
            cwnd: self.congestion.cwnd,
            una: self.board.una(),
            nxt: self.board.nxt(),
        };
        if self.congestion.control.on_rtt(&round) {
            //= RFC 9438 §4.10 step: "In this special case, CUBIC sets _cwnd_prior = cwnd_ and switches to congestion
            //=   avoidance."
            self.congestion.ssthresh = self.congestion.cwnd;
        }
    }

    /// The handshake is done: sets the initial window, and the RTO with which data begins.
    fn open(&mut self, syn_transmissions: u16) {
        let by_packets = self.losses.threshold.rule() == LossRule::PacketTime;
        self.congestion.cwnd = if by_packets {
            //= RFC 9002 §7.2 SHOULD: "Endpoints SHOULD use an initial congestion window of ten times the maximum
            //=   datagram size (max_datagram_size), while limiting the window to the larger of 14,720 bytes or twice
            //=   the maximum datagram size."
            let most = u64::from(self.mechanisms.initial_window.0) * 1472 / u64::from(self.peer.mss);
            let most = u32::try_from(most).unwrap_or(u32::MAX).max(2);
            self.mechanisms.initial_window.min(Segments(most))
        } else if syn_transmissions > 2 {
            //= RFC 5681 §3.1 MUST: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a
            //=   correctly transmitted SYN MUST be one segment consisting of at most SMSS bytes."
            //= deviation: one loss is forgiven, as in Linux since its initial RTO is 1 s
            Segments::ONE
        } else {
            self.mechanisms.initial_window
        };
        let keeps_initial = self.rtt.samples_newest();
        //= RFC 6298 §5.7 MUST: "If the timer expires awaiting the ACK of a SYN segment and the TCP implementation is
        //=   using an RTO less than 3 seconds, the RTO MUST be re-initialized to 3 seconds when data transmission
        //=   begins"
        //= deviation: not where a timestamp gave an RTT sample of the handshake: the RTO is computed from that sample
        if syn_transmissions > 1 && self.rtt.srtt().is_none() && !keeps_initial {
            self.rtt.distrust_initial();
            self.timers.rto.reset_backoff();
        }
        self.episode.timeout_due = false;
        self.episode.recovery_point = self.board.nxt();
    }

    /// Growth by `grown` segments, where new data was acknowledged, or, with dupthresh raised,
    /// SACKed (Linux `tcp_may_raise_cwnd`).
    fn grow_window(&mut self, now: Instant, grown: Segments, summary: &AckSummary) {
        let slow_start = self.congestion.cwnd < self.congestion.ssthresh;
        let in_use = self.congestion.cwnd.0 < self.congestion.usage.most_outstanding.0.saturating_mul(2);
        //= RFC 9438 §4.6 MUST: "Implementations that use _cwnd_ MUST use other measures to prevent _cwnd_ from growing
        //=   when the volume of bytes in flight is smaller than _cwnd_."
        //= RFC 9438 §4.6 MUST: "A QUIC sender that uses a _cwnd_ _value_ to calculate new values for _cwnd_ and
        //=   _ssthresh_ after detecting a congestion event is REQUIRED to apply similar mechanisms"
        //= RFC 9002 §7.8 SHOULD NOT: "When this occurs, the congestion window SHOULD NOT be increased in either slow
        //=   start or congestion avoidance."
        //= deviation: in slow start the window grows up to twice the flight (Linux)
        let limited = self.congestion.usage.limited || (slow_start && in_use);
        //= RFC 9438 §4.2 step: "CUBIC maintains the ACK clocking of Reno by increasing the congestion window only at
        //=   the reception of a new ACK."
        //= deviation: with dupthresh raised also on new SACKs (Linux `tcp_may_raise_cwnd`)
        let progress = summary.newly_acked > Segments::ZERO
            || (summary.newly_sacked > Segments::ZERO && (self.losses.threshold.is_raised() || self.goes_by_packets()));
        if !progress || !limited {
            return;
        }
        let grown = match self.mechanisms.ack_processing {
            //= RFC 5681 §3.1 step: "During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK
            //=   received that cumulatively acknowledges new data."
            //= RFC 5681 §3.1 SHOULD: "we RECOMMEND that TCP implementations increase cwnd, per: cwnd += min (N, SMSS)"
            AckProcessing::Linux2_6 => grown.min(Segments::ONE),
            AckProcessing::Linux3_13 | AckProcessing::Linux4_13 => grown,
        };
        let min_rtt = self.rtt.min().unwrap_or_default();
        let window = self.congestion.control.grow(&congestion::Growth {
            now,
            acked: grown,
            cwnd: self.congestion.cwnd,
            ssthresh: self.congestion.ssthresh,
            min_rtt,
        });
        self.congestion.cwnd = window.max(Segments::ONE);
    }

    /// Restarts the retransmission timer when new data is acknowledged, and stops it when all is. Stops the timer of a
    /// delayed early retransmit, which is set again if its conditions still hold. Returns whether the retransmission
    /// timer takes the place of a pending probe or reordering timer, as in Linux 6 (`tcp_set_xmit_timer`), unless this
    /// ACK sets that one again.
    fn restart_timeout(&mut self, now: Instant, summary: &AckSummary) -> bool {
        self.timers.early = None;
        //= RFC 6298 §5.2 step: "When all outstanding data has been acknowledged, turn off the retransmission timer."
        if self.board.is_empty() {
            self.timers.rto.stop();
            self.timers.reorder = None;
            return false;
        }
        if summary.una_advanced == 0 {
            return false;
        }
        let counted = self.mechanisms.rto_restart.map(|counts| match counts {
            RtoRestart::Outstanding => self.board.outstanding(),
            RtoRestart::OutstandingAndUnsent => self.outstanding_and_unsent(),
        });
        if counted.is_some_and(|counted| counted < RESTART_THRESHOLD)
            && let Some(first) = self.board.first()
        {
            self.timers.rto.start_from_earliest(now, first.sent_at, &self.rtt);
        } else {
            //= RFC 6298 §5.3 step: "When an ACK is received that acknowledges new data, restart the retransmission
            //=   timer so that it will expire after RTO seconds (for the current value of RTO)."
            self.timers.rto.start(now, &self.rtt);
        }
        if self.rack_version() != Some(RackVersion::Linux6) {
            return false;
        }
        // Retransmitting the head does not stop a pending reordering timer (`tcp_xmit_retransmit_queue`).
        let until = core::mem::take(&mut self.timers.reorder_pending_until);
        self.timers.reorder = None;
        now <= until || self.timers.probe.deadline().is_some()
    }

    /// Outstanding segments and the unsent data in segments (RFC 7765 §4). A FIN rides on the last
    /// data and is a segment of its own only when nothing else is left.
    fn outstanding_and_unsent(&self) -> Segments {
        let (nxt, mss) = (self.board.nxt(), u64::from(self.peer.full));
        let data = self.stream.fin().unwrap_or(self.stream.limit).since(nxt).div_ceil(mss);
        let unsent = data.max(u64::from(nxt < self.stream.limit));
        self.board.outstanding() + Segments(u32::try_from(unsent).unwrap_or(u32::MAX))
    }

    /// Looks for the answer to the last probe.
    #[inline]
    fn judge_probe(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &AckSummary) {
        match self.timers.probe.is_answered() {
            _ if self.mechanisms.probe.is_none() => {}
            true => self.timers.probe.on_heard(),
            false => self.judge_unanswered_probe(now, ack, summary),
        }
    }

    /// A probe that repaired a loss by itself hid a congestion signal: reduce once
    /// (draft-dukkipati-tcpm-tcp-loss-probe-01 §3.2; at once to ssthresh, as Linux).
    #[inline(never)] // most ACKs answer no probe
    fn judge_unanswered_probe(&mut self, now: Instant, ack: &Ack<&[Span]>, summary: &AckSummary) {
        let Some(rules) = &self.mechanisms.probe else {
            return;
        };
        let duplicate = summary.is_duplicate(ack) && summary.newly_sacked == Segments::ZERO;
        let repeated = self.timers.probe.repeat_is_out();
        let answer = self.timers.probe.on_ack(rules, ack.cumulative, duplicate, summary.dsack);
        if repeated && answer == ProbeAnswer::Unneeded {
            self.timers.peer_ack_delay.forget();
        }
        //= RFC 8985 §7.4.2 SHOULD: "The sender then SHOULD invoke a congestion control response equivalent to a fast
        //=   recovery."
        if answer == ProbeAnswer::RepairedLoss && !self.reducing() {
            self.log.push(now, Event::ProbeRepairedLoss);
            self.begin_reduction(self.arrived_with(summary));
            self.set_state(now, State::Cwr);
            self.end_reduction();
            self.set_state(now, State::Open);
            self.keep_open(now);
        }
    }

    fn count(&mut self, summary: &AckSummary) {
        self.totals.counters.delivered += u64::from(summary.delivered.0);
        if let Some(recovery) = self.totals.recoveries.current() {
            recovery.delivered += summary.delivered.0;
        }
    }
}
