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
mod tests {
    use super::*;

    fn segment(seq: u32, ack: u32, payload_len: u32, window: u16) -> Segment {
        Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            payload_len,
            window,
            flags: Flags::ACK,
            ..Segment::default()
        }
    }

    /// A sender of 5 segments, and a receiver that sends these ACKs of number 100, 1 ms apart.
    fn after_acks(windows: &[u16]) -> (Sender, Sender) {
        let (mut sender, mut receiver) = (Sender::default(), Sender::default());
        for i in 0..5 {
            sender.sends(&segment(100 * i, 7, 100, 9), Instant::ZERO);
        }
        for (i, window) in (1..).zip(windows) {
            receiver.sends(&segment(7, 100, 0, *window), Instant::from_millis(i));
        }
        (sender, receiver)
    }

    #[test]
    fn two_duplicate_acks_make_a_retransmission_within_20_ms_fast() {
        for (windows, seq, len, at, is_fast) in [
            (&[9, 9, 9][..], 100, 100, 22, true),
            (&[9, 9, 9], 100, 100, 23, false), // 20 ms after the last
            (&[9, 9], 100, 100, 10, false),    // one duplicate
            (&[9, 9, 8], 100, 100, 10, false), // the window changes
            (&[0, 0, 0], 100, 100, 10, false), // zero window
            (&[9, 9, 9], 200, 100, 10, false), // another number
        ] {
            let (sender, receiver) = after_acks(windows);
            let again = segment(seq, 7, len, 9);
            let found = sender.retransmits_fast(&again, Instant::from_millis(at), &receiver);
            assert_eq!(found, is_fast, "{windows:?} {seq} {at}");
        }
    }

    #[test]
    fn a_new_ack_number_begins_the_count_again() {
        let (sender, mut receiver) = after_acks(&[9, 9, 9]);
        receiver.sends(&segment(7, 200, 0, 9), Instant::from_millis(5));
        receiver.sends(&segment(7, 200, 0, 9), Instant::from_millis(6));
        let again = segment(200, 7, 100, 9);
        assert!(!sender.retransmits_fast(&again, Instant::from_millis(7), &receiver));
    }

    #[test]
    fn the_byte_of_a_window_probe_is_not_retransmitted_fast() {
        let (mut sender, receiver) = after_acks(&[9, 9, 9]);
        sender.next_seq = Some(SeqNumber(101));
        let at = Instant::from_millis(5);
        assert!(!sender.retransmits_fast(&segment(100, 7, 100, 9), at, &receiver));
        assert!(sender.retransmits_fast(&segment(100, 7, 1, 9), at, &receiver));
    }
}
