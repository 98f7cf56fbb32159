//! Wireshark's static rules for fast retransmissions and for out-of-order segments.
//!
//! # Fast retransmissions
//! A retransmission is a fast one if all of this holds (Wireshark User's Guide, "TCP Analysis", and
//! `tcp_analyze_sequence_number` in its `packet-tcp.c`):
//!
//! - Two or more duplicate ACKs came from the other end.
//! - Its sequence number equals that ACK number.
//! - The last ACK came less than 20 ms before it.
//!
//! A duplicate ACK has no payload, SYN, FIN or RST, repeats the ACK number and the window (not 0) of the
//! packet before it, and carries the next expected sequence number. Another ACK number sets the count to 0.
//!
//! A segment of several bytes that begins with the last byte sent is no fast retransmission: that byte may
//! have been a window probe.
//!
//! # Out-of-order segments
//! A segment below the highest number, and no fast retransmission, is out of order if both of this hold:
//!
//! - The highest number was sent less than the connection's first round-trip time before it. Without one it is
//!   less than 3 ms.
//! - It does not end with the highest number.
//!
//! All others are retransmissions, some of them spurious. The first round-trip time lasts from the latest SYN to the
//! first ACK of the end that sent it.
//!
//! Deviation: since 4.2, a segment that repeats one that waits for its ACK is not out of order. The paper is
//! older.

use recoup_units::Instant;
use recoup_wire::{Flags, Segment, SeqNumber};

/// The longest time between the last duplicate ACK and a fast retransmission, exclusive, in ns.
const LONGEST_WAIT: u64 = 20_000_000;

/// How long after the highest number a segment is out of order, exclusive, if no round-trip time is known, in ns.
const OUT_OF_ORDER: u64 = 3_000_000;

/// The connection's first round-trip time as Wireshark has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstRtt {
    syn: Option<Instant>,
    is_answered: bool,
    rtt: Option<u64>,
}

impl FirstRtt {
    /// Takes a packet, sent by the end that opened the connection or by the other.
    pub fn packet(&mut self, is_openers: bool, segment: &Segment, at: Instant) {
        match (is_openers, segment.flags.contains(Flags::SYN)) {
            (true, true) => self.syn = Some(at),
            (false, true) => self.is_answered = true,
            (true, false) if self.is_answered && self.rtt.is_none() => {
                self.rtt = self.syn.map(|syn| at.nanos_since(syn));
            }
            _ => {}
        }
    }

    /// How long after the highest number a segment is out of order, exclusive, in ns.
    fn longest_disorder(&self) -> u64 {
        self.rtt.filter(|rtt| *rtt > 0).unwrap_or(OUT_OF_ORDER)
    }
}

/// Wireshark's memory of what one end has sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender {
    next_seq: Option<SeqNumber>,
    /// When the highest number was sent.
    next_seq_at: Instant,
    last_ack: Option<(SeqNumber, Instant)>,
    window: u16,
    duplicate_acks: u32,
}

impl Sender {
    /// Whether a segment of this sender is a fast retransmission. `other` has sent the ACKs.
    pub fn retransmits_fast(&self, segment: &Segment, at: Instant, other: &Self) -> bool {
        let Some(((ack, acked_at), next)) = other.last_ack.zip(self.next_seq) else {
            return false;
        };
        let may_be_probed = segment.payload_len > 1 && next.since(segment.seq) == 1;
        other.duplicate_acks >= 2 && ack == segment.seq && at.nanos_since(acked_at) < LONGEST_WAIT && !may_be_probed
    }

    /// Whether a segment of this sender below its highest number is out of order, if it is no fast retransmission.
    pub fn is_out_of_order(&self, segment: &Segment, at: Instant, first: &FirstRtt) -> bool {
        let end = SeqNumber(segment.seq.0.wrapping_add(segment.sequence_len()));
        self.next_seq.is_some_and(|next| next != end) && at.nanos_since(self.next_seq_at) < first.longest_disorder()
    }

    /// Takes a packet of this sender.
    pub fn sends(&mut self, segment: &Segment, at: Instant) {
        const NO_DUPLICATE: Flags = Flags::SYN.union(Flags::FIN).union(Flags::RST);
        if segment.flags.contains(Flags::ACK) {
            let repeats = self.last_ack.is_some_and(|(ack, _)| ack == segment.ack);
            let is_duplicate = repeats
                && segment.payload_len == 0
                && segment.window > 0
                && segment.window == self.window
                && self.next_seq == Some(segment.seq)
                && !segment.flags.intersects(NO_DUPLICATE);
            match (repeats, is_duplicate) {
                (false, _) => self.duplicate_acks = 0,
                (true, true) => self.duplicate_acks += 1,
                (true, false) => {}
            }
            self.last_ack = Some((segment.ack, at));
        }
        self.window = segment.window;
        let end = SeqNumber(segment.seq.0.wrapping_add(segment.sequence_len()));
        if self.next_seq.is_none_or(|next| end.after(next)) {
            self.next_seq = Some(end);
            self.next_seq_at = at;
        }
    }
}

#[cfg(test)]
mod tests;
