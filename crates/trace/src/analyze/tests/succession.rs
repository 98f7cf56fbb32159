//! Which packets end a connection, and which open the next one between the same ends.

use super::*;

const FAR_OFF: i64 = 900_000_000;

fn syn(segment: &mut Segment) {
    segment.flags = Flags::SYN;
}

fn syn_ack(segment: &mut Segment) {
    segment.flags = Flags::SYN.union(Flags::ACK);
}

fn reset(segment: &mut Segment) {
    segment.flags = Flags::RST;
}

/// Ten segments from the server, one per second, each acknowledged; from time `at` and byte `seq`
/// on.
fn ten_segments(conversation: &mut Conversation, at: f64, seq: i64) {
    for i in 0..10_u32 {
        let (at, seq) = (at + f64::from(i) * 1000.0, seq + i64::from(i) * 1000);
        conversation.data(at, seq, 1000);
        conversation.ack(at + 50.0, seq + 1000, 0, 0);
    }
}

/// The closing and the packets of each connection.
fn closings(conversation: Conversation) -> Vec<(Closing, u64)> {
    let kept = conversation.analyzed();
    let all = kept.connections.iter();
    all.map(|one| (one.closing, one.packets)).collect()
}

#[test]
fn a_reset_must_be_within_the_window() {
    use Closing::{CaptureEnd, Reset};
    // (name, the client's sequence number, closing, foreign packets)
    let cases = [
        ("a foreign number", FAR_OFF, CaptureEnd, 1),
        ("a late reset", -1, CaptureEnd, 0),
        ("the next number", 0, Reset, 0),
        ("within the window", 60_000, Reset, 0),
    ];
    for (what, seq, closing, foreign) in cases {
        let mut conversation = Conversation::opened(0.0);
        ten_segments(&mut conversation, 100.0, 0);
        conversation.packet(9900.0, 0, seq, 0, 0, reset);
        ten_segments(&mut conversation, 10_100.0, 10_000);
        let kept = conversation.analyzed();
        // Valid or not: what follows belongs to the same connection.
        let [one] = kept.connections.as_slice() else {
            panic!("{what}: {} connections", kept.connections.len());
        };
        assert_eq!(one.closing, closing, "{what}");
        assert_eq!(one.directions[0].foreign, foreign, "{what}");
        assert_eq!(one.directions[1].bytes, 20_000, "{what}");
    }
}

#[test]
fn a_refused_connection_is_over() {
    for (ack, closing) in [(0, Closing::Reset), (FAR_OFF, Closing::CaptureEnd)] {
        let mut conversation = Conversation::mid_connection();
        conversation.packet(0.0, 0, -1, 0, 0, syn);
        conversation.packet(50.0, 1, FAR_OFF, 0, ack, |segment| {
            segment.flags = Flags::RST.union(Flags::ACK);
        });
        assert_eq!(closings(conversation), [(closing, 2)]);
    }
}

#[test]
fn a_stray_syn_opens_nothing() {
    let mut conversation = Conversation::opened(0.0);
    ten_segments(&mut conversation, 100.0, 0);
    conversation.packet(9500.0, 0, FAR_OFF, 0, 0, syn);
    conversation.packet(9500.1, 1, 10_000, 0, 0, |_| {}); // challenged (RFC 5961 §4)
    conversation.data(9600.0, 9000, 1000);
    conversation.ack(9650.0, 10_000, 0, 0);
    let kept = conversation.analyzed();
    assert_eq!(kept.connections.len(), 1);
    assert_eq!(kept.connections[0].packets, 27);
    assert_eq!(kept.retransmissions.len(), 1);
}

#[test]
fn a_syn_that_is_answered_opens_the_next_connection() {
    use Closing::{CaptureEnd, Replaced};
    type Rest = fn(&mut Conversation);
    // (name, what follows the SYN, packets of the next connection)
    let cases: [(&str, Rest, u64); 4] = [
        (
            "answered at once",
            |conversation| {
                conversation.packet(9500.1, 1, 2 * FAR_OFF, 0, FAR_OFF + 1, syn_ack);
            },
            2,
        ),
        (
            "retransmitted",
            |conversation| {
                conversation.packet(10_500.0, 0, FAR_OFF, 0, 0, syn);
                conversation.packet(10_500.1, 1, 2 * FAR_OFF, 0, FAR_OFF + 1, syn_ack);
            },
            3,
        ),
        (
            "refused",
            |conversation| {
                conversation.packet(9500.1, 1, 0, 0, FAR_OFF + 1, |segment| {
                    segment.flags = Flags::RST.union(Flags::ACK);
                });
            },
            2,
        ),
        (
            "captured in one direction only",
            |conversation| {
                conversation.packet(9600.0, 0, FAR_OFF + 1, 500, 2 * FAR_OFF, |_| {});
            },
            2,
        ),
    ];
    for (what, rest, packets) in cases {
        let mut conversation = Conversation::opened(0.0);
        ten_segments(&mut conversation, 100.0, 0);
        conversation.packet(9500.0, 0, FAR_OFF, 0, 0, syn);
        rest(&mut conversation);
        let got = closings(conversation);
        assert_eq!(got.len(), 2, "{what}: {got:?}");
        assert_eq!(got[0], (Replaced, 23), "{what}");
        assert_eq!(got[1].1, packets, "{what}");
        assert!(matches!(got[1].0, CaptureEnd | Closing::Reset), "{what}");
    }
}

#[test]
fn a_syn_after_long_silence_opens_the_next_connection() {
    for (at, count) in [(30_000.0, 1), (80_000.0, 2)] {
        let mut conversation = Conversation::opened(0.0);
        ten_segments(&mut conversation, 100.0, 0);
        conversation.packet(at, 0, FAR_OFF, 0, 0, syn);
        assert_eq!(closings(conversation).len(), count, "{at}");
    }
}

#[test]
fn a_reset_that_answers_a_challenge_ack_lets_the_next_syn_open() {
    let mut conversation = Conversation::opened(0.0);
    ten_segments(&mut conversation, 100.0, 0);
    conversation.packet(9500.0, 0, FAR_OFF, 0, 0, syn);
    conversation.packet(9500.1, 1, 10_000, 0, 0, |_| {});
    conversation.packet(9550.0, 0, 0, 0, 0, reset);
    conversation.packet(10_500.0, 0, FAR_OFF, 0, 0, syn);
    conversation.packet(10_500.1, 1, 2 * FAR_OFF, 0, FAR_OFF + 1, syn_ack);
    let got = closings(conversation);
    assert_eq!(got, [(Closing::Reset, 25), (Closing::CaptureEnd, 3)]);
}

#[test]
fn a_simultaneous_open_is_one_connection() {
    let mut conversation = Conversation::mid_connection();
    conversation.packet(0.0, 0, -1, 0, 0, syn);
    conversation.packet(1.0, 1, -1, 0, 0, syn);
    conversation.packet(10.0, 0, -1, 0, 0, syn_ack);
    conversation.packet(11.0, 1, -1, 0, 0, syn_ack);
    ten_segments(&mut conversation, 100.0, 0);
    let kept = conversation.analyzed();
    assert_eq!(kept.connections.len(), 1);
    assert_eq!(kept.connections[0].packets, 24);
    assert_eq!(kept.retransmissions, []);
}

#[test]
fn a_syn_ack_with_a_new_number_opens_another_connection() {
    let mut conversation = Conversation::mid_connection();
    for i in 0..3_u32 {
        let (at, seq) = (f64::from(i) * 10_000.0, i64::from(i) * FAR_OFF);
        conversation.packet(at, 1, seq, 0, seq + 77, syn_ack);
        conversation.packet(at + 100.0, 1, seq + 1, 1000, seq + 77, |_| {});
        conversation.packet(at + 400.0, 1, seq + 1, 1000, seq + 77, |_| {});
    }
    let kept = conversation.analyzed();
    assert_eq!(kept.connections.len(), 3);
    assert_eq!(kept.retransmissions.len(), 3);

    // The last ACK of the old connection, and a SYN-ACK whose SYN was not captured.
    let mut conversation = Conversation::mid_connection();
    conversation.packet(0.0, 1, 10, 0, 500, |_| {});
    conversation.packet(100.0, 1, FAR_OFF, 0, 2 * FAR_OFF, syn_ack);
    assert_eq!(closings(conversation).len(), 2);
}

#[test]
fn foreign_packets_are_counted() {
    let mut conversation = Conversation::opened(0.0);
    ten_segments(&mut conversation, 100.0, 0);
    conversation.data(9900.0, 2 * FAR_OFF, 1000);
    let kept = conversation.analyzed();
    assert_eq!(kept.connections[0].directions[1].foreign, 1);
}

#[test]
fn every_packet_belongs_to_one_connection() {
    let mut state = 1_u64;
    let mut any = |below: u64| {
        // Knuth's MMIX generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let mut conversation = Conversation::mid_connection();
        for i in 0..60_u32 {
            let flags = [
                Flags::SYN,
                Flags::SYN.union(Flags::ACK),
                Flags::RST,
                Flags::RST.union(Flags::ACK),
                Flags::ACK,
                Flags::FIN.union(Flags::ACK),
            ];
            let flags = flags[any(6) as usize];
            let [seq, ack] = [any(4), any(4)].map(|n| n as i64 * FAR_OFF / 2);
            let silence = [0.0, 100.0, 70_000.0, 1_000_000.0][any(4) as usize];
            let (at, side) = (f64::from(i) * 10.0 + silence, any(2) as usize);
            let len = any(2) as u32 * 100;
            conversation.packet(at, side, seq, len, ack, |segment| segment.flags = flags);
        }
        let kept = conversation.analyzed();
        let packets: u64 = kept.connections.iter().map(|one| one.packets).sum();
        assert_eq!(packets, 60);
    }
}

#[test]
fn a_syn_may_be_captured_after_its_syn_ack() {
    let mut conversation = Conversation::opened(0.0);
    ten_segments(&mut conversation, 100.0, 0);
    conversation.packets.swap(0, 1);
    let (first, second) = (conversation.packets[1].at, conversation.packets[0].at);
    (conversation.packets[0].at, conversation.packets[1].at) = (first, second);
    let kept = conversation.analyzed();
    let [one] = kept.connections.as_slice() else { panic!("{} connections", kept.connections.len()) };
    assert_eq!((one.opening, one.endpoints.src), (Opening::Handshake, CLIENT.parse().unwrap()));
    assert_eq!(one.packets, 23);
    assert!(kept.retransmissions.is_empty(), "{:?}", kept.retransmissions);
}
