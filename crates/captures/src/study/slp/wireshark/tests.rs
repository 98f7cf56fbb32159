use super::*;

fn segment(seq: u32, ack: u32, payload_len: u32, window: u16) -> Segment {
    Segment { seq: SeqNumber(seq), ack: SeqNumber(ack), payload_len, window, flags: Flags::ACK, ..Segment::default() }
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

#[test]
fn a_segment_soon_after_the_highest_number_is_out_of_order() {
    let (sender, _) = after_acks(&[9]);
    let mut first = FirstRtt::default();
    let at = Instant::from_millis;
    let again = segment(100, 7, 100, 9);
    assert!(sender.is_out_of_order(&again, at(2), &first));
    assert!(!sender.is_out_of_order(&again, at(3), &first), "3 ms without a round-trip time");
    assert!(!sender.is_out_of_order(&segment(400, 7, 100, 9), at(2), &first), "it ends with the highest number");
    let syn = Segment { flags: Flags::SYN, ..segment(0, 0, 0, 9) };
    for (is_openers, packet, ms) in [(true, &syn, 1), (true, &syn, 5), (false, &syn, 9), (true, &again, 25)] {
        first.packet(is_openers, packet, at(ms));
    }
    assert!(sender.is_out_of_order(&again, at(19), &first), "20 ms from the latest SYN to the first ACK");
    assert!(!sender.is_out_of_order(&again, at(20), &first));
}
