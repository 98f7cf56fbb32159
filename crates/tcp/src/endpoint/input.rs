//! Processes arriving segments (RFC 9293 §3.10.7).

use super::*;
use crate::acks::Urgency;
use crate::receiver::Arrival;
use recoup_recovery::Ack;

/// How long the timestamp to echo can tell old from new: clocks of 1 ms or slower take 24.8 days to
/// half a turn (RFC 7323 §5.5).
pub(super) const TS_RECENT_LIFE: Duration = Duration::from_secs(24 * 24 * 3600);

/// The smallest MSS option that counts, in bytes, and the smallest limit of the path (Linux tcp_min_snd_mss,
/// tcp_mtu_probe_floor): headers would outweigh the payload of smaller
/// segments many times.
pub(super) const LEAST_MSS: u16 = 48;

impl Endpoint {
    /// Takes in a segment whose checksum is right.
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        self.traffic.on_received(now, segment);
        if self.synchronized() {
            return self.on_synchronized(now, segment);
        }
        match self.state {
            State::Listen => self.on_first_syn(now, segment),
            State::SynSent => self.on_syn_ack(now, segment),
            _ => self.refuse(segment),
        }
    }

    /// CLOSED (§3.10.7.1): what is not itself a reset is answered by one, so that a peer whose
    /// challenge ACK finds nobody here learns of it.
    fn refuse(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.reset_due = Some(if segment.flags.contains(Flags::ACK) {
            Reset::at(segment.ack)
        } else {
            let ack = segment.seq + segment.sequence_len();
            Reset { ack: Some(ack), ..Reset::at(SeqNumber(0)) }
        });
    }

    /// LISTEN (§3.10.7.2): a SYN opens, an ACK is refused, anything else is ignored.
    fn on_first_syn(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::ACK) {
            self.refuse(segment);
            return;
        }
        let others = Flags::RST | Flags::FIN;
        if !segment.flags.contains(Flags::SYN) || segment.flags.intersects(others) {
            return;
        }
        self.state = State::SynReceived;
        self.take_syn(now, segment);
    }

    /// SYN-SENT (§3.10.7.3): the SYN-ACK of our SYN opens, a reset that acknowledges it refuses.
    fn on_syn_ack(&mut self, now: Instant, segment: &Segment) {
        let acknowledges = segment.flags.contains(Flags::ACK)
            && segment.ack == self.isn.at(self.sender.nxt())
            && self.sender.nxt() > Offset::SYN;
        if segment.flags.contains(Flags::ACK) && !acknowledges {
            self.sender.hasten_syn(now);
            self.refuse(segment);
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acknowledges {
                self.end(Closed::ByReset);
            }
            return;
        }
        if !acknowledges || !segment.flags.contains(Flags::SYN) {
            return; // a SYN without an ACK would be a simultaneous open
        }
        self.state = if self.sender.fin().is_some() { State::FinWait1 } else { State::Established };
        self.take_syn(now, segment);
        self.take_ack(now, segment, Offset::DATA);
        self.acks.on_segment(now, Urgency::AtOnce);
    }

    /// Reads the options and the window of the peer's SYN.
    fn take_syn(&mut self, now: Instant, segment: &Segment) {
        let options = &segment.options;
        self.peer_isn = segment.seq;
        self.traffic.on_open(now);
        self.note_heard(now);
        self.ecn.on_syn(segment);
        self.receiver.on_arrival(Span::new(Offset::SYN, Offset::DATA), false);
        self.last_ack_sent = Offset::DATA;
        self.timestamps &= options.timestamps.is_some();
        self.ts_recent = options.timestamps.filter(|_| self.timestamps).map_or(0, |t| t.value);
        self.ts_recent_at = now;
        self.sack &= options.sack_permitted;
        self.sender.set_sack(self.sack);
        if let (Some(theirs), Some(ours)) = (options.window_scale, self.offered_scale) {
            self.peer_scale = theirs.min(Options::MAX_WINDOW_SCALE);
            self.scale = ours;
        }
        let options_len = if self.timestamps { Config::TIMESTAMPS_LEN } else { 0 };
        // RFC 9293 §3.7.1: 536 where the option is absent.
        let peer = options.mss.unwrap_or(536).max(LEAST_MSS);
        // Both announce their MSS without the options that every segment carries (RFC 6691 §2).
        let agreed = self.announced_mss.min(peer).saturating_sub(options_len).max(1);
        self.full_segment = self.begin_path_mtu(now, agreed);
        self.tuning.begin(now, self.receiver.buffer().min(10 * u64::from(agreed)));
        self.sender.set_mss(now, u32::from(self.full_segment));
    }

    /// The synchronized states (§3.10.7.4).
    fn on_synchronized(&mut self, now: Instant, segment: &Segment) {
        let start = segment.seq.unwrap(self.peer_isn, self.receiver.next());
        if segment.flags.intersects(Flags::RST | Flags::SYN) {
            return self.on_reset_or_syn(now, segment, start);
        }
        let Some(start) = start else {
            return self.on_unacceptable(now, segment, None, Urgency::AtOnce);
        };
        let span = Span::at(start, u64::from(segment.sequence_len()));
        if !self.paws_accepts(now, segment) || !self.accepts(span) {
            return self.on_unacceptable(now, segment, Some(span), Urgency::AtOnce);
        }
        if !segment.flags.contains(Flags::ACK) || !self.on_ack_field(now, segment, span) {
            return;
        }
        self.note_heard(now);
        if self.has_nobody_for(segment, span) {
            self.end(Closed::ByAbort);
            self.reset_due = Some(Reset::at(segment.ack));
            return;
        }
        self.keep_timestamp(now, segment, span.start);
        if !span.is_empty() {
            self.on_sequence_space(now, segment, span);
            self.measure_receive_rtt(now, segment);
        } else if span.start < self.receiver.next() {
            self.acks.on_segment(now, Urgency::AtOnce); // a zero-window probe, among others
        }
        self.follow_close(now);
    }

    /// A reset or a SYN, which begins at `start`, in a synchronized state.
    #[inline(never)]
    fn on_reset_or_syn(&mut self, now: Instant, segment: &Segment, start: Option<Offset>) {
        if segment.flags.contains(Flags::RST) {
            if let Some(start) = start {
                self.on_reset(now, start);
            }
            return;
        }
        // The ACK of their SYN was lost, or it is a blind SYN (RFC 5961 §4). While our SYN-ACK
        // is unanswered, that is the answer to a copy of the same SYN.
        let again = segment.seq == self.peer_isn && !segment.flags.contains(Flags::ACK);
        match self.state {
            State::SynReceived => self.syn_ack_due |= again && self.sender.answers_again(now),
            _ => self.acks.on_segment(now, Urgency::Challenge),
        }
    }

    /// New data for an application that will not read it (RFC 1122 §4.2.2.13).
    #[inline]
    fn has_nobody_for(&self, segment: &Segment, span: Span) -> bool {
        let payload_end = span.start + u64::from(segment.payload_len);
        let waits = || matches!(self.state, State::FinWait1 | State::FinWait2);
        self.released && waits() && payload_end > self.receiver.next()
    }

    /// RFC 5961 §3: only a reset at exactly the next expected offset is obeyed; one elsewhere in
    /// the window is answered, so that a true peer can repeat it rightly.
    fn on_reset(&mut self, now: Instant, start: Offset) {
        if start == self.receiver.next() {
            self.end(match self.state {
                State::TimeWait => Closed::Gracefully,
                _ => Closed::ByReset,
            });
        } else if start > self.receiver.next() && start <= self.receiver.edge() {
            self.acks.on_segment(now, Urgency::Challenge);
        }
    }

    /// Nothing of an unacceptable segment is used; the answer tells where we are, and of old data
    /// that it came again (RFC 2883 §4). Of segments without data only some are answered.
    #[inline(never)]
    fn on_unacceptable(&mut self, now: Instant, segment: &Segment, span: Option<Span>, urgency: Urgency) {
        if segment.sequence_len() == 0 && !self.strange.take(now) {
            return;
        }
        if let Some(old) = span.filter(|s| !s.is_empty() && self.receiver.holds(*s)) {
            self.receiver.on_arrival(old, false);
        }
        self.acks.on_segment(now, urgency);
    }

    /// Whether any of `span` touches what may arrive. Wider than §3.10.7.4 by what an ACK sent late
    /// and a segment at the window's very edge need, as Linux (`tcp_sequence`): else the ACK field
    /// of a segment that reordering made old would be lost.
    fn accepts(&self, span: Span) -> bool {
        span.end >= self.last_ack_sent && span.start <= self.receiver.edge()
    }

    /// RFC 7323 §5.3 (R1): a timestamp older than the last one in order is an old duplicate's,
    /// unless that one is so old itself that the clock may have wrapped (§5.5).
    fn paws_accepts(&self, now: Instant, segment: &Segment) -> bool {
        let theirs = segment.options.timestamps.filter(|_| self.timestamps);
        theirs.is_none_or(|theirs| {
            !SeqNumber(theirs.value).before(SeqNumber(self.ts_recent)) || now.since(self.ts_recent_at) >= TS_RECENT_LIFE
        })
    }

    /// The timestamp to echo is that of the segment the next ACK will acknowledge first
    /// (RFC 7323 §4.3, §5.3 R3).
    fn keep_timestamp(&mut self, now: Instant, segment: &Segment, start: Offset) {
        let theirs = segment.options.timestamps.filter(|_| self.timestamps);
        if let Some(theirs) = theirs.filter(|_| start <= self.last_ack_sent) {
            self.ts_recent = theirs.value;
            self.ts_recent_at = now;
        }
    }

    /// The acknowledgment field; `false` when the segment is to be dropped.
    fn on_ack_field(&mut self, now: Instant, segment: &Segment, span: Span) -> bool {
        let una = self.sender.una();
        let acked = segment.ack.unwrap(self.isn, una);
        let acked = acked.filter(|acked| *acked <= self.sender.nxt());
        if self.state == State::SynReceived {
            if acked.is_none_or(|acked| acked == Offset::SYN) {
                self.reset_due = Some(Reset::at(segment.ack));
                return false;
            }
            self.state = if self.sender.fin().is_some() { State::FinWait1 } else { State::Established };
        }
        // It acknowledges what was never sent, or is so old as to be blind (RFC 5961 §5).
        let largest_window = self.sender.peer_window().largest();
        let Some(acked) = acked.filter(|acked| *acked + largest_window >= una) else {
            self.on_unacceptable(now, segment, Some(span), Urgency::Challenge);
            return false;
        };
        self.take_ack(now, segment, acked);
        true
    }

    #[inline]
    fn take_ack(&mut self, now: Instant, segment: &Segment, acked: Offset) {
        let syn = segment.flags.contains(Flags::SYN);
        let scale = if syn { 0 } else { self.peer_scale };
        let window = u64::from(segment.window) << scale;
        let before = self.sender.state();
        if self.ecn.on_segment(segment) && !syn {
            self.sender.on_congestion_signal(now);
        }
        if segment.options.sack.is_empty() && self.sender.take_ack_when_idle(now, acked, window) {
            return;
        }
        self.process_ack(now, segment, acked, window);
        if self.path_mtu.searches() {
            self.judge_probe(now);
        }
        self.ecn.on_state(before, self.sender.state());
        self.pusher.on_una(self.sender.una());
    }

    /// Passes all of an ACK on to the sender.
    #[inline(never)]
    fn process_ack(&mut self, now: Instant, segment: &Segment, acked: Offset, window: u64) {
        let mut ack = Ack::new(acked, window);
        ack.carries_data = segment.sequence_len() > 0;
        let clock = SeqNumber(timestamp(now));
        let age = segment
            .options
            .timestamps
            .map(|t| SeqNumber(t.echo))
            // None was echoed, or one we have yet to send: no measurement.
            .filter(|echo| self.timestamps && echo.0 != 0 && !echo.after(clock))
            .map(|echo| Duration::from_millis(u64::from(clock.since(echo))));
        ack.timestamp_rtt = age;
        ack.echo_sent_before = age.map(|age| end_of_tick(now) - age);
        if self.sack {
            for [left, right] in segment.options.sack.iter() {
                let (isn, near) = (self.isn, acked);
                if let (Some(left), Some(right)) = (left.unwrap(isn, near), right.unwrap(isn, near)) {
                    ack.push_block(Span::new(left, right));
                }
            }
        }
        self.sender.on_ack(now, &ack);
    }

    fn on_sequence_space(&mut self, now: Instant, segment: &Segment, span: Span) {
        let fin = segment.flags.contains(Flags::FIN);
        let urgency = match self.receiver.on_arrival(span, fin) {
            Arrival::InOrder if !fin => {
                Urgency::InOrder { full: segment.payload_len / u32::from(self.full_segment.max(1)) }
            }
            //= RFC 5681 §3.2 SHOULD: "A TCP receiver SHOULD send an immediate duplicate ACK when an out-of-order
            //=   segment arrives."
            //= RFC 5681 §3.2 SHOULD: "a TCP receiver SHOULD send an immediate ACK when the incoming segment fills in
            //=   all or part of a gap in the sequence space"
            //= RFC 5681 §4.2 SHOULD: "Out-of-order data segments SHOULD be acknowledged immediately, in order to
            //=   accelerate loss recovery."
            //= RFC 5681 §4.2 SHOULD: "the receiver SHOULD send an immediate duplicate ACK when it receives a data
            //=   segment above a gap in the sequence space"
            //= RFC 5681 §4.2 SHOULD: "the receiver SHOULD send an immediate ACK when it receives a data segment that
            //=   fills in all or part of a gap in the sequence space"
            _ => Urgency::AtOnce,
        };
        self.acks.on_segment(now, urgency);
        if fin && self.state == State::TimeWait && span.end == self.receiver.next() {
            // The peer missed our ACK of its FIN: the wait begins anew.
            self.time_wait_until = Some(now + TIME_WAIT);
        }
    }

    /// Forgets the out-of-order data from `offset` on, whose bytes are discarded.
    pub(crate) fn discard_received_from(&mut self, offset: Offset) {
        self.receiver.discard_from(offset);
    }

    /// State changes that FINs and their ACKs bring.
    #[inline]
    fn follow_close(&mut self, now: Instant) {
        if self.sender.fin().is_some() || self.receiver.finished() {
            self.follow_closing(now);
        }
    }

    /// As [`follow_close`](Self::follow_close), once a side has closed.
    #[inline(never)]
    fn follow_closing(&mut self, now: Instant) {
        let ours_acked = self.sender.fin().is_some_and(|fin| self.sender.una() > fin);
        let theirs = self.receiver.finished();
        let next = match self.state {
            State::Established if theirs => State::CloseWait,
            State::FinWait1 if ours_acked && theirs => State::TimeWait,
            State::FinWait1 if ours_acked => State::FinWait2,
            State::FinWait1 if theirs => State::Closing,
            State::FinWait2 if theirs => State::TimeWait,
            State::Closing if ours_acked => State::TimeWait,
            State::LastAck if ours_acked => {
                self.end(Closed::Gracefully);
                return;
            }
            state => state,
        };
        if next == State::TimeWait && self.state != State::TimeWait {
            self.time_wait_until = Some(now + TIME_WAIT);
        }
        self.state = next;
    }
}
