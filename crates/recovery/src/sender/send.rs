//! The next transmission, and its effects once it is sent.

use super::*;
use crate::profile::{AckProcessing, LimitedTransmit, RecoveryFill};
use crate::tlp::ProbeVersion;

/// What [`Sender::send_more`] sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoreSent {
    /// Full segments of new data.
    pub segments: u32,
    /// Known to be all: [`next_send`](Sender::next_send) returns `None` now.
    pub all: bool,
}

impl<C: CongestionControl> Sender<C> {
    /// The transmission that the sender would make now. The answer stays the same until an ACK, a timer, a write or a
    /// transmission changes the sender.
    //= RFC 6675 §5 (C.5) step: "If cwnd - pipe >= 1 SMSS, return to (C.1)"
    #[inline]
    pub fn next_send(&self, now: Instant) -> Option<Transmission> {
        if self.timers.gave_up {
            return None;
        }
        let next = self.next_called_for(now).or_else(|| self.next_copy());
        match &self.stream.pacer {
            Pacer::Sender(departures) => next
                .filter(|&what| self.is_unpaced(what) || what.span().is_none_or(|span| departures.permits(now, span))),
            Pacer::Off | Pacer::Host { .. } => next,
        }
    }

    /// Whether `what` goes as soon as it is due: the retransmission of a timeout, a probe, the SYN (Linux checks pacing in
    /// `tcp_write_xmit` and `tcp_xmit_retransmit_queue` alone).
    fn is_unpaced(&self, what: Transmission) -> bool {
        match what {
            Transmission::New(span) => span.start == Offset::SYN || self.timers.persist.due,
            Transmission::Again(_, trigger) => !matches!(trigger, Trigger::Fast | Trigger::Early | Trigger::SlowStart),
            Transmission::NewProbe(_) | Transmission::Copy(_) | Transmission::WindowProbe => true,
        }
    }

    /// Whether it paces by itself, as its congestion control models the path.
    pub fn paces(&self) -> bool {
        matches!(self.stream.pacer, Pacer::Sender(_))
    }

    /// When a sender that paces by itself lets a new segment go: `now` or later. `now` for every other sender.
    pub fn paced_until(&self, now: Instant) -> Instant {
        match &self.stream.pacer {
            Pacer::Sender(departures) if !departures.permits(now, Span::at(self.nxt(), 1)) => {
                departures.deadline().map_or(now, |at| at.max(now))
            }
            _ => now,
        }
    }

    /// When pacing lets the next segment go, if one waits for it.
    #[inline]
    pub(super) fn pacing_deadline(&self) -> Option<Instant> {
        match &self.stream.pacer {
            Pacer::Sender(departures) => self.deadline_of(departures),
            Pacer::Off | Pacer::Host { .. } => None,
        }
    }

    #[inline(never)] // most senders do not pace by themselves
    fn deadline_of(&self, departures: &Departures) -> Option<Instant> {
        let at = departures.deadline()?;
        let next = self.next_called_for(at)?;
        (!self.is_unpaced(next)).then_some(at)
    }

    /// Whether [`next_send`](Self::next_send) is a retransmission. Faster, because mostly it is none.
    pub fn wants_to_retransmit(&self, now: Instant) -> bool {
        let may = self.board.next_lost().is_some()
            || self.timers.probe.is_due()
            || (self.episode.state == State::Recovery && self.next_fill().is_some());
        may && matches!(self.next_send(now), Some(Transmission::Again(..)))
    }

    /// The next transmission that is no copy.
    //= RFC 6675 §5 (C.1) MUST: "The scoreboard MUST be queried via NextSeg () for the sequence number range of the next
    //=   segment to transmit (if any), and the given segment sent."
    #[inline(always)] // for each transmission, and where none is called for
    fn next_called_for(&self, now: Instant) -> Option<Transmission> {
        if self.timers.persist.due {
            return Some(self.window_probe());
        }
        //= RFC 9002 §7.5 MUST NOT: "Probe packets MUST NOT be blocked by the congestion controller."
        if self.timers.probe.is_due()
            && let Some(send) = self.loss_probe()
        {
            return Some(send);
        }
        // Whether there is something to send comes first, because mostly there is nothing.
        if self.episode.frto == Frto::NewDataFirst {
            //= RFC 5682 §2.1 step 2b MAY: "the TCP sender MAY override the Nagle algorithm [Nag84] and immediately send
            //=   a segment if needed"
            if let Some(span) = self.next_new_at_once() {
                return self.has_room_for_new(now).then_some(Transmission::New(span));
            }
            if self.board.nxt() > self.episode.recovery_point {
                return None; // new data is out: the next ACK decides
            }
        }
        //= RFC 6675 §4 NextSeg (1) MUST: "If there exists a smallest unSACKed sequence number 'S2' that meets the
        //=   following three criteria for determining loss, the sequence range of one segment of up to SMSS octets
        //=   starting with S2 MUST be returned."
        if let Some(lost) =
            self.board.next_lost().filter(|_| self.episode.release != Release::Held && !self.board.numbers_packets())
        {
            let send = Transmission::Again(lost.span, self.trigger_of(lost.span));
            (self.episode.release == Release::Forced || self.has_room(now)).then_some(send)
        } else if let Some(span) = self.next_new() {
            //= RFC 5681 §3.1 step: "The minimum of cwnd and rwnd governs data transmission."
            //= deviation: a retransmission waits for cwnd alone
            //= RFC 6675 §4 NextSeg (2) MUST: "If no sequence number 'S2' per rule (1) exists but there exists available
            //=   unsent data and the receiver's advertised window allows, the sequence range of one segment of up to
            //=   SMSS octets of previously unsent data starting with sequence number HighData+1 MUST be returned."
            //= RFC 5681 §3.2 step 5 SHOULD: "When previously unsent data is available and the new value of cwnd and the
            //=   receiver's advertised window allow, a TCP SHOULD send 1*SMSS bytes of previously unsent data."
            self.has_room_for_new(now).then_some(Transmission::New(span))
        } else if self.episode.state == State::Recovery && self.episode.release != Release::Held && self.has_room(now) {
            let span = self.next_fill()?;
            Some(Transmission::Again(span, self.episode.trigger))
        } else {
            //= RFC 6675 §4 NextSeg (5) MUST: "If the conditions for each of (1), (2), (3), and (4) are not met, then
            //=   NextSeg () MUST indicate failure, and no segment is returned."
            None
        }
    }

    /// Whether the congestion window has room for a retransmission, which copies do not reduce.
    fn has_room(&self, now: Instant) -> bool {
        //= RFC 6675 §5 (C) SHOULD: "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more segments as
        //=   follows:"
        //= RFC 9937 §3 MUST NOT: "At any given time, a connection MUST NOT send data if inflight (see below) matches or
        //=   exceeds cwnd."
        //= deviation: a loss probe goes whatever the window (RFC 8985 §7.3)
        self.board.pipe() < self.window_now(now)
    }

    /// Whether the congestion window has room for new data. Before recovery, duplicate ACKs may make some
    /// (RFC 3042).
    #[inline]
    pub(crate) fn has_room_for_new(&self, now: Instant) -> bool {
        let window = self.window_now(now);
        //= RFC 6675 §5 (3) step: "If (cwnd - pipe) >= 1 SMSS, there exists previously unsent data, and the receiver's
        //=   advertised window allows, transmit up to 1 SMSS of data starting with the octet HighData+1 and update
        //=   HighData to reflect this transmission, then return to (3.2)."
        //= RFC 9002 §7 MUST NOT: "An endpoint MUST NOT send a packet if it would cause bytes_in_flight (see Appendix
        //=   B.2) to be larger than the congestion window, unless the packet is sent on a PTO timer expiration (see
        //=   Section 6.2) or when entering recovery (see Section 7.3.2)."
        let room = self.board.pipe() < self.less_copies(window);
        let more = match self.mechanisms.limited_transmit {
            //= RFC 5681 §3.2 step 1 MUST NOT: "a sender using SACK [RFC2018] MUST NOT send new data unless the incoming
            //=   duplicate acknowledgment contains new SACK information"
            //= RFC 6675 §5 (3) MAY: "The TCP MAY transmit previously unsent data segments as per Limited Transmit
            //=   [RFC5681], except that the number of octets which may be sent is governed by pipe and cwnd as
            //=   follows:"
            LimitedTransmit::Pipe => return room,
            _ if self.episode.state != State::Disorder => return room,
            LimitedTransmit::Off => Segments::ZERO,
            //= RFC 5681 §3.2 step 1 SHOULD: "On the first and second duplicate ACKs received at a sender, a TCP SHOULD
            //=   send a segment of previously unsent data per [RFC3042] provided that the receiver's advertised window
            //=   allows, the total FlightSize would remain less than or equal to cwnd plus 2*SMSS, and that new data is
            //=   available for transmission."
            LimitedTransmit::Two => Segments(2),
        };
        //= RFC 5681 §3.2 step 1 MUST NOT: "the TCP sender MUST NOT change cwnd to reflect these two segments"
        room && self.board.outstanding() < window + more
    }

    /// The segment that recovery sends when none is marked lost and no new data may go (RFC 6675 §4 NextSeg
    /// rules 3, 4).
    #[inline(never)] // most segments are sent outside recovery
    pub(super) fn next_fill(&self) -> Option<Span> {
        if self.mechanisms.recovery_fill == RecoveryFill::Nothing || self.board.numbers_packets() {
            return None;
        }
        //= RFC 6675 §4 NextSeg (3) SHOULD: "If the conditions for rules (1) and (2) fail, but there exists an unSACKed
        //=   sequence number 'S3' that meets the criteria for detecting loss given in steps (1.a) and (1.b) above
        //=   (specifically excluding step (1.c)), then one segment of up to SMSS octets starting with S3 SHOULD be
        //=   returned."
        let hole = self.board.next_hole().map(|hole| hole.span);
        //= RFC 6675 §4 NextSeg (4) SHOULD: "If HighACK is greater than RescueRxt (or RescueRxt is undefined), then one
        //=   segment of up to SMSS octets that MUST include the highest outstanding unSACKed sequence number SHOULD be
        //=   returned, and RescueRxt set to RecoveryPoint."
        let rescue = self.mechanisms.recovery_fill == RecoveryFill::HolesAndRescue
            && self.board.una() > self.episode.rescue_after;
        hole.or_else(|| (rescue && self.uses_sack()).then(|| self.board.last_unsacked())?.map(|last| last.span))
    }

    /// A segment was sent: the one that [`next_send`](Self::next_send) returned or, in a replay, the one that the capture
    /// shows. A transmission that cannot have happened (see [`Refused`]) is ignored and counted
    /// ([`Counters::impossible_sends`](crate::Counters::impossible_sends)).
    #[inline]
    pub fn on_sent(&mut self, now: Instant, what: Transmission) {
        if self.refusal(what).is_some() {
            self.totals.counters.impossible_sends += 1;
            return;
        }
        self.commit(now, what, self.peer.mss);
    }

    /// Makes the transmission that [`next_send`](Self::next_send) returns, if there is one: as if
    /// [`on_sent`](Self::on_sent) were called with it, and faster.
    #[inline]
    pub fn send_next(&mut self, now: Instant) -> Option<Transmission> {
        let what = self.next_send(now)?;
        debug_assert_eq!(self.refusal(what), None);
        self.commit(now, what, self.peer.mss);
        Some(what)
    }

    /// `what` was sent and is not refused. `size`: the bytes of a numbered packet.
    #[inline]
    pub(super) fn commit(&mut self, now: Instant, what: Transmission, size: u32) {
        // RACK orders transmissions by time, so time must not go back between them (RFC 8985 §5.2).
        let now = now.max(self.stream.last_sent_at);
        if self.stream.pacer.is_on() {
            if self.models_path() && what.span().is_some() {
                self.restart_model(now);
            }
            self.pace(now, what, size);
        }
        match what {
            Transmission::New(span) => self.on_sent_new(now, span),
            Transmission::NewProbe(span) => {
                self.on_sent_new(now, span);
                self.totals.counters.probes += 1;
                if self.mechanisms.probe.is_some() {
                    self.note_probe_sent(now, false);
                }
            }
            Transmission::Again(span, trigger) => {
                self.on_sent_again(now, span, trigger);
                self.totals.counters.probes += u64::from(trigger == Trigger::Tlp);
            }
            Transmission::Copy(span) => self.on_sent_copy(now, span),
            Transmission::WindowProbe => {
                self.timers.persist.due = false;
                self.timers.persist.unanswered = self.timers.persist.unanswered.saturating_add(1);
            }
        }
        if self.log.is_on() {
            let (pipe, cwnd) = (self.board.pipe(), self.congestion.cwnd);
            self.log.push(now, Event::Sent { what, pipe, cwnd });
            self.log_changes(now);
        }
        self.give_up_abandoned(now);
    }

    fn pace(&mut self, now: Instant, what: Transmission, size: u32) {
        let size = match (self.board.numbers_packets(), self.board.counts_bytes()) {
            (true, true) => u64::from(size),
            (true, false) => u64::from(self.peer.mss), // as it fills the window
            (false, _) => what.span().map_or(0, Span::len),
        };
        let span = what.span().unwrap_or_default();
        if let Some(rate) = self.pacing_rate()
            && span.start > Offset::SYN
        {
            let burst = match self.stream.pacer {
                Pacer::Sender(_) => self.paced_burst(rate),
                Pacer::Host { .. } | Pacer::Off => 1,
            };
            self.stream.pacer.on_sent(now, span, size, rate, burst);
        }
    }

    /// The segments of a burst of a sender that paces by itself.
    fn paced_burst(&self, rate: BitRate) -> u32 {
        let least = pacing::least_burst(rate.bits_per_second() / 8);
        self.burst(least).min((self.congestion.cwnd.0 / 2).max(1))
    }

    fn on_sent_new(&mut self, now: Instant, span: Span) {
        self.stream.stopped_clock = None;
        if self.board.is_empty() {
            self.restart_after_idle(now);
            self.congestion.control.on_idle(now.since(self.stream.last_sent_at));
            self.timers.progress_at = now;
            self.totals.busy_since = (span.start > Offset::SYN).then_some(now);
        }
        self.stream.last_sent_at = now;
        self.timers.early = None; // the new data may draw the SACKs that were missing
        if span.len() < u64::from(self.peer.full) {
            self.stream.partial_to = span.end;
        }
        self.stamp(now, span);
        self.rtt.on_sent(now, span.start);
        self.put_on_board(now, span);
        self.count_sent(span, 1);
        //= RFC 6298 §5.1 step: "Every time a packet containing data is sent (including a retransmission), if the timer
        //=   is not running, start it running so that it will expire after RTO seconds (for the current value of RTO)."
        if self.timers.rto.deadline().is_none() {
            self.timers.rto.start(now, &self.rtt);
        }
        self.timers.persist = Persist::default();
        self.reschedule_probe_after_sending(now);
    }

    /// Keeps what the delivery rate needs to know of a transmission.
    fn stamp(&mut self, now: Instant, span: Span) {
        if let Some(delivery) = &mut self.delivery {
            let alone = self.board.is_empty();
            delivery.on_sent(now, span.start, self.board.nxt(), alone);
        }
    }

    pub(super) fn put_on_board(&mut self, now: Instant, span: Span) {
        self.board.push(now, span);
        if self.board.numbers_packets() {
            self.board.describe_last(self.peer.mss, 0);
        }
        self.stream.limit = self.stream.limit.max(span.end);
        self.note_usage();
    }

    /// Whether [`next_send`](Self::next_send) is known to return `None` because the congestion window is full. It is
    /// cheaper to ask.
    #[inline]
    pub fn is_held_by_window(&self, now: Instant) -> bool {
        self.board.pipe() >= self.window_now(now)
            // What goes whatever the window.
            && !self.timers.persist.due
            && !self.timers.probe.is_due()
            && self.episode.release != Release::Forced
            && !self.sends_copies()
    }

    /// Sends more full segments of new data after one was just sent, at most `most`.
    /// The result is the same as calling [`next_send`](Self::next_send) and [`on_sent`](Self::on_sent) in
    /// turn, and faster. It leaves to those two the last segment written, and every segment on which
    /// anything else is to be decided or logged.
    pub fn send_more(&mut self, now: Instant, most: u32) -> MoreSent {
        let plain = self.delivery.is_none()
            && !self.timers.gave_up
            && !self.timers.persist.due
            && !self.timers.probe.is_due()
            && self.episode.frto != Frto::NewDataFirst
            && self.board.next_lost().is_none()
            && !self.board.is_empty()
            && self.board.una() > Offset::SYN
            && !self.stream.pacer.is_on()
            && !self.log.is_on();
        let mut more = MoreSent::default();
        if !plain {
            return more;
        }
        let size = u64::from(self.peer.full);
        let end = self.stream.fin().unwrap_or(self.stream.limit);
        let start = self.board.nxt();
        while more.segments < most {
            let span = Span::at(self.board.nxt(), size);
            if span.end >= end || span.end > self.peer.window.edge() || self.board.is_full() {
                break;
            }
            // The next segment is this one, and nothing goes before it.
            more.all = !self.has_room_for_new(now);
            if more.all {
                break;
            }
            self.put_on_board(now, span);
            more.segments += 1;
        }
        if more.segments > 0 {
            // Each of them would have set these. The segment before them set the rest.
            self.stream.stopped_clock = None;
            self.rtt.on_sent(now, start);
            self.count_sent(Span::new(start, self.board.nxt()), more.segments);
            self.timers.early = None;
            self.stream.last_sent_at = now;
            self.timers.persist = Persist::default();
            self.reschedule_probe_after_sending(now);
        }
        more
    }

    /// New data was sent. In Linux 6 the retransmission timer takes the place of a pending probe, unless
    /// another probe may follow (`tcp_event_new_data_sent`).
    fn reschedule_probe_after_sending(&mut self, now: Instant) {
        let shared = (self.mechanisms.probe).is_some_and(|p| p.version == ProbeVersion::Linux6);
        let pending = self.timers.probe.deadline().is_some();
        self.schedule_probe(now, false);
        if shared && pending && self.timers.probe.deadline().is_none() {
            self.count_timeout_from_head(now);
        }
    }

    fn on_sent_again(&mut self, now: Instant, span: Span, trigger: Trigger) {
        self.stream.last_sent_at = now;
        let head = span.start <= self.board.una();
        let is = |segment: Option<&crate::scoreboard::SentSegment>| segment.is_some_and(|s| s.span.overlaps(span));
        let called_for = is(self.board.next_lost()) || is(self.board.next_hole());
        if self.episode.state == State::Recovery && !called_for {
            //= RFC 6675 §4 NextSeg (4) SHOULD: "If HighACK is greater than RescueRxt (or RescueRxt is undefined), then
            //=   one segment of up to SMSS octets that MUST include the highest outstanding unSACKed sequence number
            //=   SHOULD be returned, and RescueRxt set to RecoveryPoint."
            //= RFC 6675 §4 NextSeg (4) MUST NOT: "HighRxt MUST NOT be updated."
            //= deviation: the segment counts as retransmitted and is in the pipe
            self.episode.rescue_after = self.episode.recovery_point; // one a recovery
        }
        self.stamp(now, span);
        self.rtt.on_sent_again();
        let sent_at = self.stream.stopped_clock.unwrap_or(now);
        let probe_timeout = self.has_probe_timeout();
        // RFC 9002 §7.5: probes count as in flight.
        //= RFC 9002 §7.5 MUST: "A sender MUST however count these packets as being additionally in flight, since these
        //=   packets add network load without establishing packet loss."
        let in_pipe = trigger != Trigger::Tlp || probe_timeout;
        //= RFC 8985 §7.3 MUST: "The sender MUST follow the RACK transmission procedures in the "Upon Transmitting a
        //=   Data Segment" section upon sending either a retransmission or a new data loss probe."
        self.board.resend(sent_at, span, in_pipe);
        self.losses.suspects.on_resent(sent_at, span);
        self.totals.counters.retransmissions.add(trigger);
        let bytes = &mut self.totals.counters.retransmitted_bytes;
        *bytes = bytes.saturating_add(span.len());
        self.totals.counters.unheard = self.totals.counters.unheard.saturating_add(1);
        if trigger == Trigger::Tlp {
            self.totals.counters.segments_sent += 1;
            self.note_probe_sent(now, true);
            if probe_timeout {
                self.episode.undo.on_retransmission(sent_at);
                self.schedule_probe(now, false);
            }
            return;
        }
        if self.episode.frto == Frto::NewDataFirst {
            self.episode.frto = Frto::Off; // there was no new data to tell by
        }
        self.episode.release = Release::ByPipe;
        self.episode.undo.on_retransmission(sent_at);
        if let Some(recovery) = self.totals.recoveries.current() {
            recovery.retransmissions += 1;
        }
        self.count_sent(span, 1);
        if self.episode.timeout_due {
            self.episode.timeout_due = false; // the expiry has set the timer already
        } else if head {
            //= RFC 6675 §6 MAY: "a more careful variant that re-arms the RTO timer on each retransmission that is sent
            //=   during recovery MAY be used"
            //= deviation: the retransmission of the first segment alone re-arms the timer, as in Linux
            self.timers.rto.start(now, &self.rtt);
            self.timers.probe.disarm();
        }
        if probe_timeout {
            self.schedule_probe(now, false);
        }
    }

    /// A probe was sent: the retransmission timer restarts. `repeated`: it was a retransmission.
    //= RFC 8985 §7.3 MUST: "After attempting to send a loss probe, regardless of whether a loss probe was sent, the
    //=   sender MUST re-arm the RTO timer, not the PTO timer, if the FlightSize is not zero."
    fn note_probe_sent(&mut self, now: Instant, repeated: bool) {
        if let Some(rules) = &self.mechanisms.probe {
            self.timers.probe.on_sent(rules, repeated, self.board.nxt());
        }
        self.timers.rto.start(now, &self.rtt);
    }

    /// Counts segments sent together, which cover `span`.
    fn count_sent(&mut self, span: Span, segments: u32) {
        if self.reducing() {
            (0..segments).for_each(|_| self.congestion.reduction.on_sent());
        }
        if span.start > Offset::SYN {
            self.totals.counters.segments_sent += u64::from(segments);
        }
        if self.episode.state == State::Recovery {
            self.totals.counters.sent_in_recovery += u64::from(segments);
        }
    }

    /// The trigger that the present state gives a retransmission of `span`.
    #[inline(never)]
    pub(super) fn trigger_of(&self, span: Span) -> Trigger {
        if span.start == Offset::SYN {
            return self.mechanisms.syn_trigger;
        }
        match self.episode.state {
            State::Loss if self.episode.timeout_due => Trigger::Rto,
            State::Loss => self.episode.loss_trigger,
            _ => self.episode.trigger,
        }
    }

    /// The next new data the receive window permits, by the sender's side of silly-window
    /// avoidance: a full segment, or all there is, or half the largest window (RFC 9293
    /// §3.8.6.2.1; the push bit is always on); and by Nagle's rule where that is on.
    pub(super) fn next_new(&self) -> Option<Span> {
        let waits = self.mechanisms.nagle && self.stream.partial_to > self.board.una();
        self.next_new_at_once().filter(|span| {
            let full = span.len() >= u64::from(self.peer.full);
            full || !waits || self.stream.fin().is_some_and(|fin| span.contains(fin))
        })
    }

    /// The next new data by the same rules without Nagle's, which probes ignore.
    pub(super) fn next_new_at_once(&self) -> Option<Span> {
        if self.board.nxt() >= self.stream.limit {
            return None;
        }
        let span = self.new_span(self.peer.window.edge());
        let enough = span.len() >= u64::from(self.peer.full)
            || span.end == self.stream.limit
            || span.len() >= (self.peer.window.largest() / 2).max(1);
        (!span.is_empty() && enough).then_some(span)
    }

    /// The next new data up to `edge`, at most a segment, and none if the scoreboard is full. The SYN goes alone. The FIN goes with the last
    /// data.
    fn new_span(&self, edge: Offset) -> Span {
        let start = self.board.nxt();
        let full = start + u64::from(self.peer.full);
        let cap = match self.stream.fin() {
            _ if self.board.is_full() => start,
            _ if start == Offset::SYN => Offset::DATA,
            Some(fin) if full >= fin => fin + 1,
            _ => full,
        };
        Span::new(start, cap.min(self.stream.limit).min(edge.max(start)))
    }

    /// A tail loss probe: new data if the receive window permits, else the last segment
    /// (draft-dukkipati-tcpm-tcp-loss-probe-01 §2.2; RFC 8985 §7.3). A numbered packet is always new: the
    /// host decides what is in it (RFC 9002 §6.2.4).
    #[cold]
    fn loss_probe(&self) -> Option<Transmission> {
        if self.board.numbers_packets() {
            //= RFC 9002 §6.2.4 MUST: "All probe packets sent on a PTO MUST be ack-eliciting."
            //= RFC 9002 §6.2.4 SHOULD: "When there is no data to send, the sender SHOULD send a PING or other
            //=   ack-eliciting frame in a single packet, rearming the PTO timer."
            return Some(Transmission::NewProbe(Span::at(self.board.nxt(), 1)));
        }
        if self.has_probe_timeout() {
            return self.timeout_probe();
        }
        self.next_new_at_once()
            //= RFC 8985 §7.3 SHOULD: "If both conditions are met, then the sender SHOULD transmit a previously unsent
            //=   data segment, if one exists and the receive window allows, and increment the FlightSize accordingly."
            .map(Transmission::NewProbe)
            //= RFC 8985 §7.3 SHOULD: "If such an unsent segment is not available, then the sender SHOULD retransmit the
            //=   highest-sequence segment sent so far and set TLP.is_retrans to true."
            .or_else(|| self.board.last().map(|last| Transmission::Again(last.span, Trigger::Tlp)))
    }

    /// A probe of RFC 9002's timer: what is lost, or new data, or the segment whose last transmission is the
    /// oldest (§6.2.4). Without that RFC's loss detection, a hole takes the place of the oldest, and the last probe is never
    /// new data.
    fn timeout_probe(&self) -> Option<Transmission> {
        let repeat = |segment: &crate::scoreboard::SentSegment| Transmission::Again(segment.span, Trigger::Tlp);
        let lost = self.board.next_lost().map(repeat);
        let new = || self.next_new_at_once().map(Transmission::NewProbe);
        //= RFC 9002 §6.2.4 SHOULD: "An endpoint SHOULD include new data in packets that are sent on PTO expiration."
        //= deviation: what is marked lost goes first; where packets are numbered, the host decides
        if self.goes_by_packets() {
            //= RFC 9002 §6.2.4 MAY: "Previously sent data MAY be sent if no new data can be sent."
            let oldest = || self.board.oldest_sent().or(self.board.last()).map(repeat);
            return lost.or_else(new).or_else(oldest);
        }
        // Only loss detection by time finds that a retransmission was lost. With another one, answered probes of other
        // data alone would leave such a hole open for ever.
        let new = || if self.timers.probe.is_last_due() { None } else { new() };
        lost.or_else(new).or_else(|| self.hole().map(repeat))
    }

    /// The first segment that may be missing, and that no probe has just repeated. The receiver may have discarded what it
    /// reported (RFC 2018 §8), and does if it reports the first one and acknowledges nothing.
    fn hole(&self) -> Option<&crate::scoreboard::SentSegment> {
        let first = self.board.first();
        let old = |segment: &&crate::scoreboard::SentSegment| segment.sent_at < self.stream.last_sent_at;
        first.filter(old).or_else(|| self.board.iter().filter(|segment| !segment.sacked).find(old)).or(first)
    }

    /// A zero-window probe: the new data that fits, however little (this overrides silly-window avoidance),
    /// or else an empty segment that makes the peer send an ACK.
    #[cold]
    fn window_probe(&self) -> Transmission {
        let span = self.new_span(self.peer.window.edge());
        if span.is_empty() { Transmission::WindowProbe } else { Transmission::New(span) }
    }

    /// The congestion window for a segment sent now, after any idle time.
    #[inline]
    fn window_now(&self, now: Instant) -> Segments {
        let busy = !self.board.is_empty() || self.board.una() == Offset::SYN;
        if busy || !self.mechanisms.restart_after_idle {
            return self.congestion.cwnd;
        }
        self.window_after_idle(now)
    }

    #[inline(never)]
    fn window_after_idle(&self, now: Instant) -> Segments {
        let idle = now.since(self.stream.last_sent_at);
        let initial = self.mechanisms.initial_window;
        congestion::after_idle(self.congestion.cwnd, initial, idle, self.timers.rto.rto(&self.rtt))
    }

    /// Reduces the window after idle time. ssthresh remembers how much slow start may regain
    /// (RFC 2861 §2; Linux `tcp_cwnd_restart`).
    fn restart_after_idle(&mut self, now: Instant) {
        let window = self.window_now(now);
        if window < self.congestion.cwnd {
            self.congestion.ssthresh = self.congestion.ssthresh.max(three_quarters(self.congestion.cwnd));
            self.congestion.cwnd = window;
        }
    }

    /// Notes whether the congestion window limits sending (Linux `tcp_cwnd_validate`). It is decided once
    /// per round trip, and again when more is outstanding than before in that round trip; since Linux 4.13
    /// also as soon as the window is full.
    pub(super) fn note_usage(&mut self) {
        let outstanding = self.board.outstanding();
        //= RFC 9002 §7.8 SHOULD NOT: "A sender SHOULD NOT consider itself application limited if it would have fully
        //=   utilized the congestion window without pacing delay."
        //= deviation: a sender that the host paces counts as limited only when the window is full
        let limited = self.room() == Segments::ZERO;
        let usage = &mut self.congestion.usage;
        let more = outstanding > usage.most_outstanding;
        let sooner = match self.mechanisms.ack_processing {
            AckProcessing::Linux2_6 | AckProcessing::Linux3_13 => more,
            AckProcessing::Linux4_13 => limited || (!usage.limited && more),
        };
        if self.board.una() >= usage.round_end || sooner {
            *usage = WindowUsage { most_outstanding: outstanding, round_end: self.board.nxt(), limited };
        }
    }
}

/// The slow-start threshold that a window counts for once it is reduced (Linux `tcp_current_ssthresh`).
pub(super) fn three_quarters(cwnd: Segments) -> Segments {
    Segments(cwnd.0 / 2 + cwnd.0 / 4)
}
