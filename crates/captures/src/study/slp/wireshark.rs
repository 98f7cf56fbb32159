//! Wireshark's static rule for fast retransmissions.
//!
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
//! Deviation: newer versions call some of these packets spurious or out-of-order instead. We ask only
//! whether the rule for fast retransmissions applies, as the paper has two groups only.

use recoup_units::Instant;
use recoup_wire::{Flags, Segment, SeqNumber};

/// The longest time between the last duplicate ACK and a fast retransmission, exclusive, in ns.
const LONGEST_WAIT: u64 = 20_000_000;

/// Wireshark's memory of what one end has sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender {
    next_seq: Option<SeqNumber>,
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
        }
    }
}

#[cfg(test)]
mod tests;
