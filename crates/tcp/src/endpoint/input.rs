//! What an arriving segment does (RFC 9293 §3.10.7).

use super::*;
use crate::acks::Urgency;
use crate::receiver::Arrival;
use recoup_recovery::Ack;

impl Endpoint {
    /// Takes in a segment whose checksum is right.
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Closed(_) => {}
            State::Listen => self.on_first_syn(segment),
            State::SynSent => self.on_syn_ack(now, segment),
            _ => self.on_synchronized(now, segment),
        }
    }

    /// LISTEN (§3.10.7.2): a SYN opens; anything else is ignored.
    fn on_first_syn(&mut self, segment: &Segment) {
        let others = Flags::ACK | Flags::RST | Flags::FIN;
        if !segment.flags.contains(Flags::SYN) || segment.flags.intersects(others) {
            return;
        }
        self.state = State::SynReceived;
        self.take_syn(segment);
    }

    /// SYN-SENT (§3.10.7.3): the SYN-ACK of our SYN opens, a reset that acknowledges it refuses.
    fn on_syn_ack(&mut self, now: Instant, segment: &Segment) {
        let acknowledges = segment.flags.contains(Flags::ACK)
            && segment.ack == self.config.isn.at(self.sender.nxt())
            && self.sender.nxt() > Offset::SYN;
        if segment.flags.contains(Flags::ACK) && !acknowledges {
            if !segment.flags.contains(Flags::RST) {
                self.reset_due = Some(Segment {
                    seq: segment.ack,
                    flags: Flags::RST,
                    ..Segment::default()
                });
            }
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
        self.state = if self.sender.fin().is_some() {
            State::FinWait1
        } else {
            State::Established
        };
        self.take_syn(segment);
        self.take_ack(now, segment, Offset::DATA);
        self.acks.on_segment(now, Urgency::AtOnce);
    }

    /// Learns what the peer's SYN says.
    fn take_syn(&mut self, segment: &Segment) {
        let options = &segment.options;
        self.peer_isn = segment.seq;
        self.receiver
            .on_arrival(Span::new(Offset::SYN, Offset::DATA));
        self.last_ack_sent = Offset::DATA;
        self.timestamps &= options.timestamps.is_some();
        self.ts_recent = options.timestamps.map_or(0, |t| t.value);
        self.sack &= options.sack_permitted;
        if let Some(scale) = options.window_scale {
            self.peer_scale = scale.min(Options::MAX_WINDOW_SCALE);
            self.scale = self.config.window_scale();
        }
        let options_len = if self.timestamps {
            Config::TIMESTAMPS_LEN
        } else {
            0
        };
        // RFC 9293 §3.7.1: 536 where the option is absent.
        let peer = options
            .mss
            .unwrap_or(536)
            .saturating_sub(options_len)
            .max(1);
        self.full_segment = self.config.mss.min(peer);
        self.sender.set_mss(u32::from(self.full_segment));
    }

    /// The synchronized states (§3.10.7.4).
    fn on_synchronized(&mut self, now: Instant, segment: &Segment) {
        let Some(start) = segment.seq.unwrap(self.peer_isn, self.receiver.next()) else {
            self.acks.on_segment(now, Urgency::AtOnce);
            return;
        };
        let syn = segment.flags.contains(Flags::SYN);
        if segment.flags.contains(Flags::RST) {
            self.on_reset(now, start);
            return;
        }
        if syn {
            // The ACK of their SYN was lost, or it is a blind SYN (RFC 5961 §4). While our SYN-ACK
            // is unanswered, its own timer repeats it.
            if self.state != State::SynReceived {
                self.acks.on_segment(now, Urgency::AtOnce);
            }
            return;
        }
        if !self.paws_accepts(segment, start) {
            self.acks.on_segment(now, Urgency::AtOnce);
            return;
        }
        if !segment.flags.contains(Flags::ACK) || !self.on_ack_field(now, segment) {
            return;
        }
        let len = u64::from(segment.sequence_len());
        if len > 0 {
            self.on_sequence_space(now, segment, Span::at(start, len));
        } else if !self.in_window(start) {
            self.acks.on_segment(now, Urgency::AtOnce); // a zero-window probe, among others
        }
        self.follow_close(now);
    }

    /// RFC 5961 §3: only a reset at exactly the next expected offset is obeyed; one elsewhere in
    /// the window is answered, so that a true peer can repeat it rightly.
    fn on_reset(&mut self, now: Instant, start: Offset) {
        if start == self.receiver.next() {
            self.end(Closed::ByReset);
        } else if self.in_window(start) {
            self.acks.on_segment(now, Urgency::AtOnce);
        }
    }

    /// RFC 7323 §5.3: a timestamp older than the last one in order is an old duplicate's; the
    /// latest in-order one is kept for the echo (§4.3).
    fn paws_accepts(&mut self, segment: &Segment, start: Offset) -> bool {
        let Some(theirs) = segment.options.timestamps.filter(|_| self.timestamps) else {
            return true;
        };
        if SeqNumber(theirs.value).before(SeqNumber(self.ts_recent)) {
            return false;
        }
        if start <= self.last_ack_sent {
            self.ts_recent = theirs.value;
        }
        true
    }

    fn in_window(&self, start: Offset) -> bool {
        start >= self.receiver.next() && start <= self.receiver.edge()
    }

    /// The acknowledgment field; `false` when the segment is to be dropped.
    fn on_ack_field(&mut self, now: Instant, segment: &Segment) -> bool {
        let acked = segment.ack.unwrap(self.config.isn, self.sender.una());
        let Some(acked) = acked.filter(|a| *a <= self.sender.nxt()) else {
            // It acknowledges what was never sent (or is so old as to be blind: RFC 5961 §5).
            if self.state == State::SynReceived {
                self.reset_due = Some(Segment {
                    seq: segment.ack,
                    flags: Flags::RST,
                    ..Segment::default()
                });
            } else {
                self.acks.on_segment(now, Urgency::AtOnce);
            }
            return false;
        };
        if self.state == State::SynReceived {
            if acked == Offset::SYN {
                return false;
            }
            self.state = if self.sender.fin().is_some() {
                State::FinWait1
            } else {
                State::Established
            };
        }
        self.take_ack(now, segment, acked);
        true
    }

    fn take_ack(&mut self, now: Instant, segment: &Segment, acked: Offset) {
        let syn = segment.flags.contains(Flags::SYN);
        let scale = if syn { 0 } else { self.peer_scale };
        let mut ack = Ack::new(acked, u64::from(segment.window) << scale);
        ack.carries_data = segment.sequence_len() > 0;
        ack.timestamp_rtt = segment
            .options
            .timestamps
            .filter(|t| self.timestamps && t.echo != 0)
            .map(|t| {
                let ms = SeqNumber(timestamp(now)).since(SeqNumber(t.echo));
                Duration::from_millis(u64::from(ms))
            });
        if self.sack {
            for [left, right] in segment.options.sack.iter() {
                let (isn, near) = (self.config.isn, acked);
                if let (Some(left), Some(right)) = (left.unwrap(isn, near), right.unwrap(isn, near))
                {
                    ack.push_block(Span::new(left, right));
                }
            }
        }
        self.sender.on_ack(now, &ack);
    }

    fn on_sequence_space(&mut self, now: Instant, segment: &Segment, span: Span) {
        if segment.flags.contains(Flags::FIN) {
            self.receiver
                .learn_fin(Offset(span.end.0.saturating_sub(1)));
        }
        let fin = segment.flags.contains(Flags::FIN);
        let urgency = match self.receiver.on_arrival(span) {
            Arrival::InOrder if !fin => Urgency::InOrder {
                full: segment.payload_len >= u32::from(self.full_segment),
            },
            _ => Urgency::AtOnce,
        };
        self.acks.on_segment(now, urgency);
    }

    /// State changes that FINs and their ACKs bring.
    fn follow_close(&mut self, now: Instant) {
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
