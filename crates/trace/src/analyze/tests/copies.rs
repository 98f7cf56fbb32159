//! Copies of segments that another program sent.

use super::*;
use crate::read::{CopyFinder, SentCopy};

/// Adds a copy of the last packet that was sent before `at`, by this side.
fn copy(conversation: &mut Conversation, at: f64, side: usize) -> SentCopy {
    let time = Instant::from_millis(1_000_000).plus_nanos((at * 1e6) as u64);
    let ends = &conversation.ends;
    let sent = |packet: &&CapturedPacket| packet.endpoints.src == ends[side] && packet.segment.sequence_len() > 0;
    let original = *conversation.packets.iter().rev().find(sent).unwrap();
    conversation.packets.push(CapturedPacket { at: time.plus_nanos(30_000), ..original });
    SentCopy {
        at: time,
        endpoints: original.endpoints,
        seq: original.segment.seq,
        len: original.segment.sequence_len(),
        is_of_handshake: original.segment.flags.contains(Flags::SYN),
        may_have_repaired: true,
    }
}

/// Analyzes the conversation without these copies, and says how many were found.
fn without(mut conversation: Conversation, copies: &[SentCopy]) -> (Kept, u64) {
    let mut finder = CopyFinder::new(copies);
    conversation.packets.retain_mut(|packet| finder.take(packet) != crate::read::Taken::LeftOut);
    (conversation.analyzed(), finder.copies().captured)
}

/// Over IPv6, where nothing but its timestamp tells a retransmission from a packet captured twice.
fn over_ipv6(mut conversation: Conversation) -> Conversation {
    conversation.packets.iter_mut().for_each(|packet| packet.ip_id = None);
    conversation
}

/// Four exchanges of 50 ms, and a last segment that is lost. A copy 120 ms later is acknowledged.
fn repaired_tail() -> (Conversation, SentCopy) {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..4_i32 {
        conversation.data(100.0 + 100.0 * f64::from(i), i64::from(i) * 1000, 1000);
        conversation.ack(150.0 + 100.0 * f64::from(i), (i64::from(i) + 1) * 1000, 0, 0);
    }
    conversation.data(500.0, 4000, 700);
    let mut conversation = over_ipv6(conversation);
    let sent = copy(&mut conversation, 620.0, 1);
    conversation.ack(671.0, 4700, 0, 0).ip_id = None;
    (conversation, sent)
}

#[test]
fn a_copy_is_a_retransmission_unless_a_log_names_it() {
    let (conversation, _) = repaired_tail();
    let kept = conversation.analyzed();
    assert_eq!(kept.retransmissions.len(), 1);
    assert!(!kept.connections[0].lost().total().is_zero());
    let (conversation, sent) = repaired_tail();
    let (kept, found) = without(conversation, &[sent]);
    assert_eq!((found, kept.retransmissions.len()), (1, 0));
    let connection = &kept.connections[0];
    let server = &connection.directions[1];
    assert_eq!(connection.lost().total(), Duration::ZERO);
    assert_eq!((server.segments, server.duplicates, server.probes, server.episodes), (6, 0, 0, 0));
    // The ACK may answer the copy, so its time is no round-trip time.
    assert_eq!(server.rtt.map(|rtt| (rtt.samples, rtt.max)), Some((5, Duration::from_millis(50))));
    assert!(server.late_acks.is_empty());
}

/// The ACK would otherwise be late by the time until the copy.
#[test]
fn a_copy_that_is_not_in_the_log_is_not_left_out() {
    let (conversation, sent) = repaired_tail();
    let others = [
        SentCopy { len: sent.len - 1, ..sent },
        SentCopy { seq: sent.seq + 1, len: sent.len - 1, ..sent },
        SentCopy { endpoints: sent.endpoints.reverse(), ..sent },
    ];
    let (kept, found) = without(conversation, &others);
    assert_eq!((found, kept.retransmissions.len()), (0, 1));
}

#[test]
fn a_retransmission_by_tcp_stays_one_beside_a_copy() {
    let (mut conversation, sent) = repaired_tail();
    let ack = conversation.packets.pop().unwrap();
    // The timer of TCP expires all the same, and its segment has a new timestamp.
    conversation.data(700.0, 4000, 700).ip_id = None;
    conversation.packets.push(ack);
    conversation.packets.last_mut().unwrap().at = Instant::from_millis(1_000_751);
    let (kept, found) = without(conversation, &[sent]);
    assert_eq!((found, kept.retransmissions.len()), (1, 1));
    assert_eq!((kept.retransmissions[0].copy, kept.retransmissions[0].triggers), (1, Trigger::Rto.into()));
}

#[test]
fn a_copy_of_a_syn_leaves_the_handshake_without_a_round_trip_time() {
    let mut conversation = Conversation::mid_connection();
    let syn = |segment: &mut Segment| {
        segment.flags = Flags::SYN;
        segment.options.sack_permitted = true;
    };
    conversation.packet(0.0, 0, -1, 0, 0, syn);
    let mut conversation = over_ipv6(conversation);
    let sent = copy(&mut conversation, 120.0, 0);
    conversation.packet(170.0, 1, -1, 0, 0, |segment| {
        syn(segment);
        segment.flags = Flags::SYN.union(Flags::ACK);
    });
    conversation.packet(170.1, 0, 0, 0, 0, |_| {});
    conversation.packet(170.2, 0, 0, 300, 0, |_| {});
    conversation.packet(220.0, 1, 0, 0, 300, |_| {});
    let (kept, found) = without(conversation, &[sent]);
    assert_eq!((found, kept.retransmissions.len()), (1, 0));
    let connection = &kept.connections[0];
    assert_eq!((connection.opening, connection.handshake_rtt), (Opening::Handshake, None));
    assert_eq!(connection.lost().total(), Duration::ZERO);
}

/// The peer reports a copy that was not needed. TCP does not get the report, and neither does the analysis.
#[test]
fn reports_of_copies_are_taken_out() {
    let conversation = |segments: u32| {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, 1000);
        conversation.data(100.1, 1000, 700);
        conversation.ack(150.0, 1700, 0, 0);
        let mut conversation = over_ipv6(conversation);
        let sent = copy(&mut conversation, 140.0, 1);
        conversation.packets.sort_by_key(|packet| packet.at);
        for i in 0..segments {
            conversation.ack(190.0 + f64::from(i), 1700, 1000, 1700);
        }
        (conversation, sent)
    };
    for (reports, left) in [(1, 6), (2, 7)] {
        let (conversation, sent) = conversation(reports);
        let (kept, found) = without(conversation, &[sent]);
        assert_eq!((found, kept.retransmissions.len()), (1, 0));
        // A second report of one copy is another one's.
        assert_eq!(kept.connections[0].packets, left);
    }
}
