//! Segments that are too large for the path.

use super::*;

/// Triggers and lengths of the retransmissions.
fn outline(conversation: Conversation) -> Vec<(String, u32)> {
    let kept = conversation.analyzed();
    let rows = kept.retransmissions.iter();
    rows.map(|row| (row.triggers.to_string(), row.len)).collect()
}

fn all(trigger: &str, lens: &[u32]) -> Vec<(String, u32)> {
    lens.iter().map(|&len| (trigger.to_owned(), len)).collect()
}

/// Six full segments from 100 ms on.
fn six() -> Conversation {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..6 {
        conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    conversation
}

#[test]
fn what_is_retransmitted_at_once_in_parts_is_too_large_for_the_path() {
    let mut conversation = six();
    for i in 0..3 {
        conversation.data(110.0 + f64::from(i) * 0.02, i64::from(i) * 1000, 700);
        conversation.data(110.01 + f64::from(i) * 0.02, i64::from(i) * 1000 + 700, 300);
    }
    conversation.ack(160.0, 700, 0, 0);
    conversation.data(160.1, 3000, 700);
    conversation.data(160.11, 3700, 300);
    conversation.ack(160.2, 6000, 0, 0);
    let lens = [700, 300, 700, 300, 700, 300, 700, 300];
    assert_eq!(outline(conversation), all("pmtu", &lens));
}

/// The sender of the data receives some too, and its own SACK block takes 12 bytes of each packet.
#[test]
fn sack_blocks_of_its_own_shorten_what_a_sender_retransmits() {
    let with_block = |packet: &mut CapturedPacket| {
        let number = |n: u32| SeqNumber(ISN[0].wrapping_add(n));
        packet.segment.options.sack.push([number(5001), number(6001)]);
    };
    let mut conversation = six();
    for i in 1..6 {
        conversation.ack(150.0 + f64::from(i) * 0.01, 0, 1000, 1000 * (i64::from(i) + 1));
    }
    with_block(conversation.data(150.04, 0, 988));
    with_block(conversation.data(150.05, 988, 12));
    conversation.ack(200.2, 6000, 0, 0);
    conversation.packets.sort_by_key(|packet| packet.at);
    assert_eq!(outline(conversation), all("fast", &[988, 12]));
}

#[test]
fn parts_may_cover_segments_that_the_sender_has_merged() {
    let mut conversation = six();
    for (i, (seq, len)) in [(0, 700), (700, 700), (1400, 600), (2000, 700), (2700, 700)].into_iter().enumerate() {
        conversation.data(110.0 + i as f64 * 0.01, seq, len);
    }
    conversation.ack(160.0, 6000, 0, 0);
    assert_eq!(outline(conversation), all("pmtu", &[700, 700, 600, 700, 700]));
}

#[test]
fn a_larger_segment_among_smaller_ones_was_a_path_mtu_probe() {
    let mut conversation = Conversation::opened(0.0);
    let mut seq = 0;
    for (i, len) in [600, 600, 900, 600, 600, 600, 600].into_iter().enumerate() {
        conversation.data(100.0 + i as f64 * 0.01, seq, len);
        seq += i64::from(len);
    }
    conversation.ack(150.0, 1200, 0, 0);
    for i in 1..=3 {
        conversation.ack(150.0 + f64::from(i) * 0.01, 1200, 2100, 2100 + 600 * i64::from(i));
    }
    conversation.data(150.1, 1200, 600);
    conversation.data(150.11, 1800, 300);
    conversation.ack(200.2, 4500, 0, 0);
    assert_eq!(outline(conversation), all("mtu_probe", &[600, 300]));
}

#[test]
fn a_timeout_that_sends_a_part_is_a_timeout() {
    // Black hole detection: after repeated timeouts the sender tries smaller segments.
    let mut conversation = six();
    conversation.data(152.0, 5000, 1000); // a probe
    for (at, len) in [(403.0, 1000), (905.0, 1000), (1910.0, 512)] {
        conversation.data(at, 0, len);
    }
    conversation.ack(1960.2, 512, 0, 0);
    conversation.data(1960.3, 512, 488);
    conversation.data(1960.31, 1000, 512);
    conversation.ack(2010.4, 6000, 0, 0);
    let found = outline(conversation);
    let found: Vec<_> = found.iter().map(|(trigger, _)| trigger.as_str()).collect();
    let expected = ["tlp", "rto", "rto", "rto", "slow_start", "slow_start"];
    assert_eq!(found, expected);
}

#[test]
fn one_part_alone_after_sacks_is_a_fast_retransmit() {
    // The sender's segments became smaller earlier, and the window holds the rest back.
    let mut conversation = six();
    conversation.ack(150.0, 1000, 0, 0);
    for i in 1..=3 {
        conversation.ack(150.0 + f64::from(i) * 0.01, 1000, 2000, 2000 + 1000 * i64::from(i));
    }
    conversation.data(150.1, 1000, 700);
    conversation.ack(160.0, 1000, 2000, 6000);
    conversation.data(160.1, 1700, 300);
    conversation.ack(200.2, 6000, 0, 0);
    assert_eq!(outline(conversation), all("fast", &[700, 300]));
}

#[test]
fn a_probe_repeats_the_last_part_of_a_tail_whose_segments_became_smaller() {
    let mut conversation = six();
    conversation.ack(150.0, 5000, 0, 0);
    conversation.data(420.0, 5600, 400);
    conversation.ack(470.1, 5000, 5600, 6000);
    conversation.ack(470.2, 6000, 0, 0);
    assert_eq!(outline(conversation), all("tlp", &[400]));
}

/// The ICMP message that the segment at `seq` was larger than the 752 bytes that the path takes.
fn too_big(conversation: &mut Conversation, at: f64, seq: i64) {
    let packet = conversation.data(at, seq, 0);
    packet.message = Some(Message::PathMtu(752));
    packet.segment.options.timestamps = None;
}

#[test]
fn an_icmp_message_explains_what_goes_again_in_parts() {
    // One segment is outstanding, and its second part waits for a round trip: nothing else shows the reason.
    let with_message = |message: Option<i64>| {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, 1000);
        if let Some(seq) = message {
            too_big(&mut conversation, 110.0, seq);
        }
        conversation.data(110.05, 0, 700);
        conversation.ack(160.1, 700, 0, 0);
        conversation.data(160.2, 700, 300);
        conversation.ack(210.3, 1000, 0, 0);
        conversation
    };
    assert_eq!(outline(with_message(Some(0))), all("pmtu", &[700, 300]));
    assert_eq!(outline(with_message(None)), all("unknown", &[700, 300]));
    // A message about data that is not outstanding counts for nothing (RFC 5927 §4.1).
    assert_eq!(outline(with_message(Some(5000))), all("unknown", &[700, 300]));
}

#[test]
fn an_icmp_message_begins_no_connection() {
    let mut conversation = Conversation::mid_connection();
    too_big(&mut conversation, 0.0, 0);
    assert!(conversation.analyzed().connections.is_empty());
}
