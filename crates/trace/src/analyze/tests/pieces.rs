//! Retransmissions that are segmented differently, and data that is no retransmission.

use super::*;

/// Length, copy and segments outstanding of each retransmission.
fn outline(kept: &Kept) -> Vec<(u32, u16, u32)> {
    let rows = kept.retransmissions.iter();
    rows.map(|row| (row.len, row.copy, row.flight)).collect()
}

#[test]
fn segments_of_one_packet_are_counted_one_by_one() {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 20_000);
    conversation.ack(150.0, 3000, 0, 0);
    conversation.ack(150.1, 3000, 4000, 7000);
    conversation.ack(150.2, 3000, 4000, 20_000);
    conversation.ack(150.3, 3000, 8000, 20_000);
    conversation.data(150.4, 3000, 1000);
    conversation.data(150.41, 7000, 1000);
    conversation.ack(200.5, 7000, 8000, 20_000);
    conversation.ack(200.6, 20_000, 0, 0);
    assert_eq!(outline(&conversation.analyzed()), [(1000, 1, 17), (1000, 1, 17)]);
}

#[test]
fn missing_bytes_are_filled_only_as_far_as_captured() {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(30.0, 0, 1000);
    conversation.data(30.1, 4000, 1000);
    conversation.data(60.0, 0, 2000); // 1000 of them for the first time
    let kept = Conversation { packets: conversation.packets.clone(), ..Conversation::mid_connection() }.analyzed();
    assert_eq!(kept.connections[0].directions[1].missing, 2000);
    conversation.data(90.0, 2000, 1000);
    let kept = conversation.analyzed();
    assert_eq!(outline(&kept), [(2000, 1, 5), (1000, 1, 5)]);
    assert_eq!(kept.connections[0].directions[1].missing, 1000);
}

#[test]
fn the_handshake_gives_the_mss() {
    // (MSS options of client and server, who offers timestamps, bytes in ten segments)
    for (mss, timestamps, ten) in [
        ([1012, 1012], [true, true], 10_000),
        ([1012, 1012], [true, false], 10_120),
        ([1012, 1012], [false, false], 10_120),
        ([9000, 1012], [true, true], 10_000),
        ([1012, 9000], [true, true], 10_000),
    ] {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, ten);
        conversation.data(400.0, 0, ten / 10);
        for packet in &mut conversation.packets {
            let side = usize::from(packet.endpoints.src.to_string() == SERVER);
            let options = &mut packet.segment.options;
            if options.mss.is_some() {
                options.mss = Some(mss[side]);
                options.timestamps = options.timestamps.filter(|_| timestamps[side]);
            } else {
                options.timestamps = options.timestamps.filter(|_| timestamps == [true; 2]);
            }
        }
        let kept = conversation.analyzed();
        assert_eq!(outline(&kept), [(ten / 10, 1, 10)], "{mss:?} {timestamps:?}");
    }
}

#[test]
fn bytes_sent_into_a_closed_window_are_probes() {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    conversation.ack(150.0, 1000, 0, 0).segment.window = 0;
    for at in [500.0, 1500.0, 3500.0] {
        conversation.data(at, 1000, 1);
        conversation.ack(at + 50.0, 1000, 0, 0).segment.window = 0;
    }
    conversation.ack(6000.0, 1000, 0, 0);
    conversation.data(6000.1, 1000, 1000);
    conversation.ack(6050.1, 2000, 0, 0).segment.window = 0;
    conversation.data(7000.0, 2000, 1);
    conversation.ack(7050.0, 2001, 0, 0); // taken
    conversation.data(7050.1, 2001, 999);
    conversation.ack(7100.1, 3000, 0, 0);
    let kept = conversation.analyzed();
    assert_eq!(outline(&kept), []);
    let server = &kept.connections[0].directions[1];
    assert_eq!((server.probes, server.missing), (4, 0));
}

#[test]
fn a_byte_retransmitted_at_once_is_no_keep_alive() {
    for (after, rows, probes) in [(1.0, 1, 0), (5000.0, 0, 1)] {
        let mut conversation = Conversation::opened(0.0);
        for (at, seq) in [(100.0, 0), (200.0, 1)] {
            conversation.data(at, seq, 1);
            conversation.ack(at + 50.0, seq + 1, 0, 0);
        }
        conversation.data(250.0 + after, 1, 1);
        let kept = conversation.analyzed();
        assert_eq!(kept.retransmissions.len(), rows, "{after}");
        assert_eq!(kept.connections[0].directions[1].probes, probes, "{after}");
    }
}

#[test]
fn a_single_ack_of_unsent_data_is_ignored() {
    let mut conversation = Conversation::opened(0.0);
    conversation.ack(60.0, 500_000_000, 0, 0);
    for i in 0..20 {
        let at = 100.0 + f64::from(i) * 60.0;
        conversation.data(at, i64::from(i) * 1000, 1000);
        conversation.ack(at + 50.0, i64::from(i + 1) * 1000, 0, 0);
    }
    let kept = conversation.analyzed();
    assert_eq!(outline(&kept), []);
    let server = &kept.connections[0].directions[1];
    assert_eq!(server.missing, 0);
    assert_eq!(server.rtt.map(|rtt| rtt.samples), Some(21));
}

#[test]
fn a_confirmed_ack_of_uncaptured_data_counts() {
    // (what confirms it, how)
    type Change = fn(&mut Conversation);
    let cases: [(&str, Change); 2] = [
        ("another ACK", |conversation| {
            conversation.ack(160.0, 9000, 0, 0);
        }),
        ("data above it", |conversation| {
            conversation.data(160.0, 8000, 1000);
        }),
    ];
    for (what, confirm) in cases {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, 1000);
        conversation.ack(150.0, 8000, 0, 0);
        confirm(&mut conversation);
        conversation.data(300.0, 9000, 1000);
        conversation.data(600.0, 9000, 1000);
        let kept = conversation.analyzed();
        let [row] = kept.retransmissions.as_slice() else {
            panic!("{what}: {:?}", kept.retransmissions);
        };
        let beyond = u32::from(what == "data above it");
        assert_eq!(row.flight, 1 + beyond, "{what}");
        assert_eq!(kept.connections[0].directions[1].missing, 8000 - 1000 * u64::from(beyond), "{what}");
    }
}
