//! Where the time of a direction goes.

use super::*;
use crate::finding::{Direction, SenderState, WhyUnknown};

/// The time of what the server sent, in ms, without the states that took none.
fn times(kept: &Kept) -> Vec<(&'static str, f64)> {
    shown(server(kept))
}

fn server(kept: &Kept) -> &Direction {
    let connection = &kept.connections[0];
    let opened_by_server = connection.endpoints.src == SERVER.parse().unwrap();
    &connection.directions[usize::from(!opened_by_server)]
}

fn shown(direction: &Direction) -> Vec<(&'static str, f64)> {
    let ms = |time: Duration| (time.as_secs_f64() * 1e4).round() / 1e1;
    let times = SenderState::ALL.map(|state| (state.name(), ms(direction.time.of(state))));
    times.into_iter().filter(|(_, ms)| *ms > 0.0).collect()
}

/// An ACK from the client with a window in units of 128 bytes.
fn window(conversation: &mut Conversation, at: f64, ack: i64, window: u16) {
    conversation.ack(at, ack, 0, 0).segment.window = window;
}

#[test]
fn a_sender_waits_for_its_application_or_for_acks() {
    let mut conversation = Conversation::opened(0.0);
    for start in [100.0, 400.0] {
        let seq = if start > 100.0 { 2000 } else { 0 };
        conversation.data(start, seq, 1000);
        conversation.data(start, seq + 1000, 1000);
        conversation.ack(start + 50.0, seq + 2000, 0, 0);
    }
    let kept = conversation.analyzed();
    let expected = [("connecting", 50.0), ("network", 100.0), ("application", 300.0)];
    assert_eq!(times(&kept), expected);
    // The client had nothing to send.
    let client = shown(&kept.connections[0].directions[0]);
    assert_eq!(client, [("connecting", 50.0), ("application", 400.0)]);
}

#[test]
fn data_that_leaves_when_the_window_opens_waited_for_it() {
    let mut conversation = Conversation::opened(0.0);
    window(&mut conversation, 60.0, 0, 16);
    conversation.data(100.0, 0, 1000);
    conversation.data(100.0, 1000, 1000);
    for i in 1..=5 {
        let at = 100.0 + 50.0 * f64::from(i);
        window(&mut conversation, at, i64::from(i) * 2000, 16);
        conversation.data(at + 0.02, i64::from(i) * 2000, 1000);
        conversation.data(at + 0.02, i64::from(i) * 2000 + 1000, 1000);
    }
    window(&mut conversation, 400.0, 12_000, 16);
    let expected = [("connecting", 50.0), ("receiver_window", 250.0), ("network", 50.0), ("application", 50.0)];
    assert_eq!(times(&conversation.analyzed()), expected);
}

#[test]
fn data_that_had_room_before_did_not_wait_for_the_window() {
    let mut conversation = Conversation::opened(0.0);
    window(&mut conversation, 60.0, 0, 16);
    conversation.data(100.0, 0, 1000);
    conversation.data(100.0, 1000, 1000);
    // The window is full until here, but the application writes later.
    window(&mut conversation, 150.0, 2000, 16);
    conversation.data(350.0, 2000, 1000);
    conversation.ack(400.0, 3000, 0, 0);
    let expected = [("connecting", 50.0), ("network", 100.0), ("application", 250.0)];
    assert_eq!(times(&conversation.analyzed()), expected);
}

/// The window closes at 150 ms and opens at `opens`.
fn closed_window(opens: f64, probes: &[f64]) -> Conversation {
    let mut conversation = Conversation::opened(0.0);
    window(&mut conversation, 60.0, 0, 16);
    conversation.data(100.0, 0, 1000);
    conversation.data(100.0, 1000, 1000);
    window(&mut conversation, 150.0, 2000, 0);
    for &at in probes {
        conversation.data(at, 1999, 0);
        window(&mut conversation, at + 50.0, 2000, 0);
    }
    window(&mut conversation, opens, 2000, 16);
    conversation
}

#[test]
fn a_closed_window_with_data_waiting_is_apart() {
    let mut conversation = closed_window(1000.0, &[400.0]);
    conversation.data(1000.03, 2000, 1000);
    conversation.ack(1050.0, 3000, 0, 0);
    let expected = [
        ("connecting", 50.0),
        ("zero_window", 850.0),
        ("receiver_window", 50.0),
        ("network", 50.0),
        ("application", 50.0),
    ];
    assert_eq!(times(&conversation.analyzed()), expected);
}

#[test]
fn a_closed_window_hinders_nobody_if_nothing_waits() {
    let mut conversation = closed_window(1000.0, &[]);
    conversation.data(1300.0, 2000, 1000);
    conversation.ack(1350.0, 3000, 0, 0);
    let expected = [("connecting", 50.0), ("network", 100.0), ("application", 1200.0)];
    assert_eq!(times(&conversation.analyzed()), expected);
    // A probe shows that something waits, even if it is never sent.
    let expected = [("connecting", 50.0), ("zero_window", 250.0), ("receiver_window", 50.0), ("application", 650.0)];
    let given_up = closed_window(1000.0, &[400.0]).analyzed();
    assert_eq!(times(&given_up), expected);
}

#[test]
fn a_timer_fills_a_window_smaller_than_a_segment() {
    let mut conversation = Conversation::opened(0.0);
    window(&mut conversation, 60.0, 0, 12);
    conversation.data(100.0, 0, 1000);
    window(&mut conversation, 150.0, 1000, 4);
    conversation.data(400.0, 1000, 512);
    window(&mut conversation, 450.0, 1512, 100);
    conversation.data(450.0, 1512, 1000);
    conversation.ack(500.0, 2512, 0, 0);
    let expected = [("connecting", 50.0), ("receiver_window", 350.0), ("network", 50.0), ("application", 50.0)];
    assert_eq!(times(&conversation.analyzed()), expected);
}

#[test]
fn a_recovery_begins_when_the_ack_was_due() {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    conversation.ack(150.0, 1000, 0, 0);
    conversation.data(200.0, 1000, 1000);
    // The timeout.
    conversation.data(600.0, 1000, 1000);
    conversation.ack(650.0, 2000, 0, 0);
    let kept = conversation.analyzed();
    let expected = [("connecting", 50.0), ("recovering", 400.0), ("network", 100.0), ("application", 100.0)];
    assert_eq!(times(&kept), expected);
}

#[test]
fn a_window_that_limits_before_and_after_a_recovery_does_not_limit_in_it() {
    let mut conversation = Conversation::opened(0.0);
    window(&mut conversation, 60.0, 0, 16);
    conversation.data(100.0, 0, 1000);
    window(&mut conversation, 150.0, 1000, 16);
    conversation.data(200.0, 1000, 1000);
    conversation.data(200.0, 2000, 1000);
    conversation.ack(250.0, 1000, 2000, 3000).segment.window = 16;
    conversation.data(500.0, 1000, 1000);
    window(&mut conversation, 550.0, 3000, 16);
    conversation.data(550.01, 3000, 1000);
    conversation.ack(600.0, 4000, 0, 0);
    let expected = [
        ("connecting", 50.0),
        ("recovering", 300.0),
        ("receiver_window", 50.0),
        ("network", 100.0),
        ("application", 100.0),
    ];
    assert_eq!(times(&conversation.analyzed()), expected);
}

#[test]
fn a_sender_closes_once_its_data_is_acknowledged() {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000).segment.flags = Flags::ACK.union(Flags::FIN);
    conversation.ack(150.0, 1001, 0, 0);
    conversation.packet(450.0, 0, 0, 0, 1001, |segment| {
        segment.flags = Flags::ACK.union(Flags::FIN);
    });
    let kept = conversation.analyzed();
    let expected = [("connecting", 50.0), ("network", 50.0), ("application", 50.0), ("closing", 300.0)];
    assert_eq!(times(&kept), expected);
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    conversation.data(120.0, 1000, 0).segment.flags = Flags::ACK.union(Flags::FIN);
    conversation.ack(150.0, 1000, 0, 0);
    conversation.ack(170.0, 1001, 0, 0);
    let expected = [("connecting", 50.0), ("network", 50.0), ("application", 50.0), ("closing", 20.0)];
    assert_eq!(times(&conversation.analyzed()), expected);
}

#[test]
fn what_the_capture_does_not_show_is_unknown() {
    // It begins within the connection.
    let mut conversation = Conversation::mid_connection();
    conversation.data(0.0, 0, 1000);
    conversation.ack(50.0, 1000, 0, 0);
    conversation.data(100.0, 1000, 1000);
    conversation.ack(150.0, 2000, 0, 0);
    let kept = conversation.analyzed();
    let expected = [("network", 50.0), ("application", 50.0), ("unknown", 50.0)];
    assert_eq!(times(&kept), expected);
    let time = server(&kept).time;
    assert_eq!(time.unknown(WhyUnknown::CaptureBegins), Duration::from_millis(50));

    // It holds one direction.
    let mut conversation = Conversation::mid_connection();
    conversation.data(0.0, 0, 1000);
    conversation.data(100.0, 1000, 1000);
    let kept = conversation.analyzed();
    assert_eq!(times(&kept), [("unknown", 100.0)]);
    let time = server(&kept).time;
    assert_eq!(time.unknown(WhyUnknown::OneDirection), Duration::from_millis(100));

    // Packets are missing.
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    conversation.ack(150.0, 1000, 0, 0);
    conversation.data(300.0, 5000, 1000);
    conversation.ack(350.0, 6000, 0, 0);
    let kept = conversation.analyzed();
    let expected = [("connecting", 50.0), ("network", 100.0), ("application", 50.0), ("unknown", 150.0)];
    assert_eq!(times(&kept), expected);
    let time = server(&kept).time;
    assert_eq!(time.unknown(WhyUnknown::PacketsMissing), Duration::from_millis(150));
}

#[test]
fn an_unanswered_syn_is_connecting() {
    let mut conversation = Conversation::mid_connection();
    for at in [0.0, 1000.0, 3000.0] {
        conversation.packet(at, 0, -1, 0, 0, |segment| segment.flags = Flags::SYN);
    }
    let kept = conversation.analyzed();
    for direction in &kept.connections[0].directions {
        assert_eq!(shown(direction), [("connecting", 3000.0)]);
    }
}

/// The connection, captured at the client: segments of the server pass 24.9 ms later, and its ACKs
/// 24.9 ms earlier.
fn at_client(mut conversation: Conversation) -> Conversation {
    let server = conversation.ends[1];
    for packet in &mut conversation.packets {
        let by = Duration::from_micros(24_900);
        packet.at = if packet.endpoints.src == server { packet.at + by } else { packet.at.minus_nanos(24_900_000) };
    }
    conversation.packets.sort_by_key(|packet| packet.at);
    conversation
}

#[test]
fn the_senders_time_is_the_same_from_the_other_end() {
    let mut conversation = Conversation::opened(0.0);
    window(&mut conversation, 60.0, 0, 16);
    conversation.data(100.0, 0, 1000);
    conversation.data(100.0, 1000, 1000);
    for i in 1..=5 {
        let at = 100.0 + 50.0 * f64::from(i);
        window(&mut conversation, at, i64::from(i) * 2000, 16);
        conversation.data(at + 0.02, i64::from(i) * 2000, 1000);
        conversation.data(at + 0.02, i64::from(i) * 2000 + 1000, 1000);
    }
    window(&mut conversation, 400.0, 12_000, 16);
    conversation.data(500.0, 12_000, 1000);
    conversation.data(900.0, 12_000, 1000);
    conversation.ack(950.0, 13_000, 0, 0);
    conversation.data(1000.0, 13_000, 1000);
    let there = at_client(conversation).analyzed();
    // The first copy of the lost segment passes, and is lost behind the capture point.
    assert_eq!(server(&there).vantage, Vantage::Between);
    let expected = [
        ("connecting", 50.0),
        ("recovering", 400.0),
        ("receiver_window", 250.0),
        ("network", 100.0),
        ("application", 249.8),
    ];
    assert_eq!(times(&there), expected);
}

#[test]
fn a_window_of_unknown_scale_limits_nothing() {
    let mut conversation = Conversation::mid_connection();
    conversation.packet(0.0, 0, 0, 100, 0, |_| {});
    for i in 0..5 {
        let (at, seq) = (10.0 + 50.0 * f64::from(i), i64::from(i) * 4000);
        for j in 0..4 {
            conversation.data(at, seq + 1000 * j, 1000);
        }
        window(&mut conversation, at + 50.0, seq + 4000, 20);
    }
    let kept = conversation.analyzed();
    assert_eq!(server(&kept).time.of(SenderState::ReceiverWindow), Duration::ZERO);
    // A closed one is closed in any unit.
    let mut conversation = Conversation::mid_connection();
    conversation.packet(0.0, 0, 0, 100, 0, |_| {});
    conversation.data(10.0, 0, 1000);
    window(&mut conversation, 60.0, 1000, 0);
    window(&mut conversation, 560.0, 1000, 20);
    conversation.data(560.1, 1000, 1000);
    window(&mut conversation, 610.0, 2000, 20);
    let closed = server(&conversation.analyzed()).time.of(SenderState::ZeroWindow);
    assert!(closed > Duration::from_millis(480), "{closed:?}");
}

#[test]
fn a_reset_after_silence_ends_a_time_in_which_nothing_was_in_flight() {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    conversation.ack(150.0, 1000, 0, 0);
    let mut there = at_client(conversation);
    let seq = there.packets.last().unwrap().segment.ack;
    there.packet(10_150.0, 1, 1000, 0, 0, |segment| segment.flags = Flags::RST.union(Flags::ACK)).segment.seq = seq;
    let kept = there.analyzed();
    let idle = server(&kept).time.of(SenderState::Application);
    assert!(idle > Duration::from_millis(9_900), "{:?}", shown(server(&kept)));
}

#[test]
fn a_sender_that_answers_an_opened_window_late_had_waited_for_it() {
    // Round trips of 0.1 ms; the window is closed for 100 ms, and the sender answers 0.3 ms after it opens.
    for (answered, expected) in [(0.3, true), (5.0, false)] {
        let mut conversation = Conversation::mid_connection();
        let syn = |segment: &mut Segment| {
            segment.flags = Flags::SYN;
            segment.options.mss = Some(MSS as u16 + 12);
            segment.options.window_scale = Some(7);
        };
        conversation.packet(0.0, 0, -1, 0, 0, syn);
        conversation.packet(0.01, 1, -1, 0, 0, |segment| {
            syn(segment);
            segment.flags = Flags::SYN.union(Flags::ACK);
        });
        conversation.ack(0.1, 0, 0, 0);
        conversation.data(1.0, 0, 1000);
        window(&mut conversation, 1.1, 1000, 0);
        window(&mut conversation, 101.1, 1000, 100);
        conversation.data(101.1 + answered, 1000, 1000);
        window(&mut conversation, 101.2 + answered, 2000, 100);
        let closed = server(&conversation.analyzed()).time.of(SenderState::ZeroWindow);
        assert_eq!(closed > Duration::from_millis(99), expected, "{closed:?}");
    }
}

#[test]
fn a_reset_beyond_the_window_that_its_receiver_ignores_ends_nothing() {
    for goes_on in [true, false] {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, 1000);
        conversation.ack(150.0, 1000, 0, 0);
        conversation.packet(200.0, 0, 128_500, 0, 1000, |segment| segment.flags = Flags::RST.union(Flags::ACK));
        if goes_on {
            conversation.data(300.0, 1000, 1000);
            conversation.ack(350.0, 2000, 0, 0);
        }
        let kept = conversation.analyzed();
        let found = &kept.connections[0];
        assert_eq!(found.closing, if goes_on { Closing::CaptureEnd } else { Closing::Reset });
        assert_eq!(found.directions[0].foreign, u64::from(goes_on));
        assert_eq!(server(&kept).time.of(SenderState::Closing), Duration::ZERO);
    }
}

#[test]
fn a_fin_on_each_ack_is_no_retransmission() {
    // The server closes at once, and its ACKs repeat the FIN until it is acknowledged.
    let fin = |segment: &mut Segment| segment.flags = Flags::FIN.union(Flags::ACK);
    let mut conversation = Conversation::opened(0.0);
    conversation.packet(60.0, 1, 0, 0, 0, fin);
    for i in 0..3 {
        let at = 70.0 + 40.0 * f64::from(i);
        conversation.packet(at, 0, 1000 * i64::from(i), 1000, 0, |_| {});
        conversation.packet(at + 0.1, 1, 0, 0, 1000 * i64::from(i + 1), fin);
    }
    // The timer repeats it.
    conversation.packet(900.0, 1, 0, 0, 3000, fin);
    conversation.packet(950.0, 0, 3000, 0, 1, |_| {});
    let kept = conversation.analyzed();
    let [row] = &*kept.retransmissions else { panic!("{:?}", kept.retransmissions) };
    assert_eq!(row.frame, 11);
}
