//! Captures that begin inside a connection: what happened before is unknown.

use super::*;

/// Says which end captured the packets: the sender of the data, or its receiver.
fn captured_by(mut conversation: Conversation, sender: bool) -> Vec<(Verdict, Evidence)> {
    for packet in &mut conversation.packets {
        packet.outgoing = Some((packet.endpoints.src.to_string() == SERVER) == sender);
    }
    let kept = conversation.analyzed();
    let rows = kept.retransmissions.iter();
    rows.map(|row| (row.verdict, row.evidence)).collect()
}

/// The capture begins with new data. A hole below it is filled by a retransmission.
fn begins_above_a_hole() -> Conversation {
    let mut conversation = Conversation::mid_connection();
    for i in 0..4 {
        conversation.data(f64::from(i), 20_000 + i64::from(i) * 1000, 1000);
    }
    conversation.data(10.0, 10_000, 1000);
    conversation
}

#[test]
fn a_retransmission_of_earlier_data_is_unknowable() {
    for sender in [true, false] {
        let mut conversation = begins_above_a_hole();
        if !sender {
            conversation.ack(10.1, 20_000, 0, 0);
        }
        conversation.ack(60.0, 24_000, 0, 0);
        conversation.data(500.0, 24_000, 1000);
        conversation.ack(550.0, 25_000, 0, 0);
        let found = captured_by(conversation, sender);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, Verdict::Unknowable, "{found:?}");
    }
}

#[test]
fn its_own_echo_at_the_edge_shows_that_it_was_needed() {
    let mut conversation = Conversation::mid_connection();
    for i in 0..4 {
        conversation.data(f64::from(i), 20_000 + i64::from(i) * 1000, 1000);
    }
    // Duplicate ACKs show where the hole is.
    for i in 0..3 {
        conversation.ack(4.0 + f64::from(i), 10_000, 11_000, 20_000);
    }
    conversation.data(10.0, 10_000, 1000);
    let echo = conversation.packets.last().unwrap().segment.options.timestamps;
    conversation.data(11.0, 24_000, 1000);
    let filled = conversation.ack(60.0, 20_000, 0, 0);
    filled.segment.options.timestamps.as_mut().unwrap().echo = echo.unwrap().value;
    conversation.ack(62.0, 25_000, 0, 0);
    conversation.data(500.0, 25_000, 1000);
    conversation.ack(550.0, 26_000, 0, 0);
    let found = captured_by(conversation, true);
    assert_eq!(found, [(Verdict::Needed, Evidence::TimestampEcho)]);
}

#[test]
fn what_was_acknowledged_before_was_retransmitted_for_nothing() {
    let mut conversation = Conversation::mid_connection();
    conversation.ack(0.0, 20_000, 0, 0);
    conversation.data(1.0, 20_000, 1000);
    conversation.ack(51.0, 21_000, 0, 0);
    conversation.data(60.0, 15_000, 1000);
    conversation.ack(110.0, 21_000, 15_000, 16_000);
    let found = captured_by(conversation, true);
    assert_eq!(found, [(Verdict::Spurious, Evidence::Dsack)]);
}

#[test]
fn an_original_that_was_overtaken_first_is_no_retransmission() {
    let mut conversation = Conversation::mid_connection();
    conversation.data(1.0, 1000, 1000);
    let late = conversation.data(2.0, 0, 1000);
    // It was sent before the first captured packet.
    late.segment.options.timestamps.as_mut().unwrap().value -= 2;
    conversation.data(3.0, 2000, 1000);
    conversation.ack(3.1, 3000, 0, 0);
    assert!(captured_by(conversation, false).is_empty());
}
