//! Data captured at its receiver: the client's, 50 ms away from its sender.

use super::*;

/// The time of the SYN-ACK.
const SYN_ACK: f64 = 0.01;

impl Conversation {
    /// Data from the client that passes at `at`. Without a hold-up it would have passed at `sent`. It
    /// echoes the server's packet of the time `echo`.
    fn upload(&mut self, at: f64, sent: f64, seq: i64, len: u32, echo: f64) -> &mut CapturedPacket {
        self.packet(at, 0, seq, len, 0, |segment| {
            segment.options.timestamps = Some(Timestamps { value: ticks(sent), echo: ticks(echo) });
        })
    }

    /// The server's ACK of the client's data.
    fn upload_ack(&mut self, at: f64, ack: i64, from: i64, to: i64) {
        self.packet(at, 1, 0, 0, ack, |segment| {
            if to > from {
                let number = |n: i64| SeqNumber(ISN[0].wrapping_add((n + 1) as u32));
                segment.options.sack.push([number(from), number(to)]);
            }
        });
    }

    /// The next packet of the client does not reach the capture point.
    fn lose_upload(&mut self) {
        self.ip_id[0] += 1;
    }

    fn upload_triggers(self) -> Vec<Triggers> {
        let kept = self.analyzed();
        let rows = kept.retransmissions.iter();
        rows.map(|row| row.triggers).collect()
    }
}

fn ticks(at: f64) -> u32 {
    1_000_000 + at as u32
}

#[test]
fn an_ack_that_the_sender_does_not_echo_did_not_reach_it() {
    let mut conversation = Conversation::opened(0.0);
    conversation.upload(60.0, 60.0, 0, 100, SYN_ACK);
    conversation.upload_ack(60.1, 100, 0, 0); // lost
    conversation.upload(311.0, 311.0, 0, 100, SYN_ACK);
    conversation.upload_ack(311.1, 100, 0, 100);
    assert_eq!(conversation.upload_triggers(), [Trigger::Tlp.into()]);
}

/// The verdicts, and the losses on either side of the capture point.
fn verdicts(conversation: Conversation) -> (Vec<(Verdict, Evidence)>, PlacedLosses, Vantage) {
    let kept = conversation.analyzed();
    let client = &kept.connections[0].directions[0];
    let rows = kept.retransmissions.iter().map(|row| (row.verdict, row.evidence));
    (rows.collect(), client.losses, client.vantage)
}

/// A segment passes and the receiver, just behind, does not get it: the ACKs ask for it until its copy comes.
#[test]
fn a_copy_that_passed_may_not_have_arrived() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..5 {
        let at = 60.0 + f64::from(i) * 0.1;
        let start = i64::from(i) * 1000;
        conversation.upload(at, at, start, 1000, SYN_ACK);
        match i {
            0 => conversation.upload_ack(at + 0.01, 1000, 0, 0),
            1 => {} // dropped behind the capture point
            _ => conversation.upload_ack(at + 0.01, 1000, 2000, start + 1000),
        }
    }
    conversation.upload(120.0, 120.0, 1000, 1000, 60.0);
    conversation.upload_ack(120.01, 5000, 0, 0);
    let (rows, losses, vantage) = verdicts(conversation);
    assert!(matches!(rows[..], [(Verdict::Needed, _)]), "{rows:?}");
    assert_eq!((losses, vantage), (PlacedLosses { before: 0, behind: 1 }, Vantage::Between));
}

/// Three segments pass and are lost behind the capture point. The ACK of the first one's third copy covers no more, although
/// all had passed.
#[test]
fn an_ack_leaves_out_what_passed_and_did_not_arrive() {
    let mut conversation = Conversation::opened(0.0);
    conversation.upload(60.0, 60.0, 0, 1000, SYN_ACK);
    conversation.upload_ack(61.0, 1000, 0, 0);
    for (i, start) in (0..3).zip([1000, 2000, 3000]) {
        let at = 130.0 + f64::from(i) * 0.1;
        conversation.upload(at, at, start, 1000, 61.0);
    }
    for at in [370.0, 850.0, 1810.0] {
        conversation.upload(at, at, 1000, 1000, 61.0);
    }
    conversation.upload_ack(1811.2, 2000, 0, 0);
    for (at, start) in [(1861.3, 2000), (1861.4, 3000)] {
        conversation.upload(at, at, start, 1000, 1811.2);
    }
    conversation.upload_ack(1862.5, 4000, 0, 0);
    conversation.upload(1930.0, 1930.0, 4000, 1000, 1862.5);
    conversation.upload_ack(1931.0, 5000, 0, 0);
    let (rows, losses, vantage) = verdicts(conversation);
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|(verdict, _)| *verdict == Verdict::Needed), "{rows:?}");
    assert_eq!((losses, vantage), (PlacedLosses { before: 0, behind: 5 }, Vantage::Between));
}

/// The receiver goes on asking for a segment that passed, and ends the connection before it gets a copy.
#[test]
fn a_hole_that_is_never_filled_shows_that_the_copy_did_not_arrive() {
    // When the last ACK passes that reports the hole: what it says of a copy just before may be outdated.
    for (last, expected) in [
        (90.0, (Verdict::Needed, Evidence::NoCopySeen)),
        (62.0, (Verdict::Unknowable, Evidence::NotAcknowledged)),
        (60.25, (Verdict::Spurious, Evidence::CopySeen)),
    ] {
        let mut conversation = Conversation::opened(0.0);
        conversation.upload(55.0, 55.0, 0, 1000, SYN_ACK);
        conversation.upload_ack(55.5, 1000, 0, 0);
        conversation.upload(60.0, 60.0, 1000, 1000, SYN_ACK);
        conversation.upload(60.01, 60.0, 2000, 1000, SYN_ACK);
        conversation.upload_ack(last, 1000, 2000, 3000);
        conversation.upload(150.0, 150.0, 1000, 1000, last);
        conversation.packet(150.4, 1, 0, 0, 0, |segment| segment.flags = Flags::RST);
        let (rows, ..) = verdicts(conversation);
        assert_eq!(rows, [expected], "{last}");
    }
}

/// In a round trip shorter than a tick the segment above has the same timestamp.
#[test]
fn ip_identifications_order_what_was_sent_within_a_tick() {
    for timestamps in [true, false] {
        let mut conversation = Conversation::opened(0.0);
        conversation.upload(60.0, 60.0, 0, 1000, SYN_ACK);
        conversation.upload_ack(60.01, 1000, 0, 0);
        conversation.lose_upload();
        conversation.upload(60.1, 60.1, 2000, 1000, SYN_ACK);
        conversation.upload_ack(60.11, 1000, 2000, 3000);
        conversation.upload(60.4, 60.4, 1000, 1000, SYN_ACK);
        conversation.upload_ack(60.41, 3000, 0, 0);
        if !timestamps {
            for packet in &mut conversation.packets {
                packet.segment.options.timestamps = None;
            }
        }
        let (rows, ..) = verdicts(conversation);
        assert_eq!(rows, [(Verdict::Needed, Evidence::NoCopySeen)], "{timestamps}");
    }
}

/// The original comes late and fills the hole. Its ACK passes before the retransmission, which the receiver answers
/// without DSACK.
#[test]
fn what_was_acknowledged_before_the_copy_passed_was_not_needed() {
    let mut conversation = Conversation::mid_connection();
    let syn = |segment: &mut Segment| {
        segment.flags = Flags::SYN;
        segment.options.sack_permitted = true;
    };
    // 20 ms to the sender and back, 30 ms to the receiver and back.
    conversation.packet(0.0, 0, -1, 0, 0, syn);
    conversation.packet(30.0, 1, -1, 0, 0, |segment| {
        syn(segment);
        segment.flags = Flags::SYN.union(Flags::ACK);
    });
    conversation.packet(50.0, 0, 0, 0, 0, |_| {});
    conversation.lose_upload();
    for (i, start) in (0..3).zip([1000, 2000, 3000]) {
        let at = 60.0 + f64::from(i) * 0.01;
        conversation.upload(at, at, start, 1000, 30.0);
        conversation.upload_ack(at + 30.0, 0, 1000, start + 1000);
    }
    conversation.packets.sort_by_key(|packet| packet.at);
    let original = conversation.upload(91.0, 60.0, 0, 1000, 30.0);
    original.ip_id = original.ip_id.map(|id| id - 4);
    conversation.upload_ack(121.0, 4000, 0, 0);
    conversation.upload(125.0, 125.0, 0, 1000, 90.0);
    conversation.upload_ack(155.0, 4000, 0, 0);
    conversation.upload(300.0, 300.0, 4000, 1000, 155.0);
    conversation.upload_ack(330.0, 5000, 0, 0);
    let (rows, ..) = verdicts(conversation);
    assert!(matches!(rows[..], [(Verdict::Spurious, _)]), "{rows:?}");
}

/// The ACK of a segment is captured before its copy: the copy had nothing to do with it.
#[test]
fn a_copy_that_was_acknowledged_had_arrived() {
    let mut conversation = Conversation::opened(0.0);
    for (at, start) in [(60.0, 0), (60.1, 1000)] {
        conversation.upload(at, at, start, 1000, SYN_ACK);
        conversation.upload_ack(at + 0.01, start + 1000, 0, 0); // lost on the way back
    }
    conversation.upload(320.0, 320.0, 1000, 1000, SYN_ACK);
    conversation.upload_ack(320.01, 2000, 0, 0);
    let (rows, losses, vantage) = verdicts(conversation);
    assert_eq!(rows, [(Verdict::Spurious, Evidence::CopySeen)]);
    assert_eq!((losses, vantage), (PlacedLosses::default(), Vantage::Receiver));
}

#[test]
fn a_lost_fast_retransmission_is_followed_by_a_timeout() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..10 {
        let at = 60.0 + f64::from(i) * 0.01;
        if i == 3 {
            conversation.lose_upload();
            continue;
        }
        let end = i64::from(i + 1) * 1000;
        conversation.upload(at, at, end - 1000, 1000, SYN_ACK);
        let from = if i > 3 { 4000 } else { end };
        conversation.upload_ack(at + 0.005, end.min(3000), from, end);
    }
    conversation.lose_upload();
    conversation.upload(365.0, 365.0, 3000, 1000, 60.0);
    conversation.upload_ack(365.1, 10_000, 0, 0);
    assert_eq!(conversation.upload_triggers(), [Trigger::Rto.into()]);
}

#[test]
fn timestamps_show_when_held_up_copies_were_sent() {
    let mut conversation = Conversation::opened(0.0);
    conversation.upload(700.0, 60.0, 0, 100, SYN_ACK);
    conversation.upload_ack(700.02, 100, 0, 0);
    conversation.upload(700.1, 311.0, 0, 100, SYN_ACK);
    conversation.upload_ack(700.12, 100, 0, 100);
    conversation.upload(700.2, 565.0, 0, 100, SYN_ACK);
    conversation.upload_ack(700.22, 100, 0, 100);
    assert_eq!(conversation.upload_triggers(), [Trigger::Tlp.into(), Trigger::Rto.into()]);
}

#[test]
fn a_lost_small_segment_is_apart_from_the_one_above_it() {
    let mut conversation = Conversation::opened(0.0);
    conversation.upload(60.0, 60.0, 0, 100, SYN_ACK);
    conversation.upload_ack(60.1, 100, 0, 0);
    conversation.lose_upload();
    conversation.upload(130.0, 130.0, 150, 100, 60.0);
    conversation.upload_ack(130.1, 100, 150, 250);
    conversation.upload(182.0, 182.0, 100, 50, 130.0);
    conversation.upload_ack(182.1, 250, 0, 0);
    assert_eq!(conversation.upload_triggers(), [Trigger::Fast.into()]);
}

/// A request and its answer, whose ACK passes at 101.
fn request_answered() -> Conversation {
    let mut conversation = Conversation::opened(0.0);
    conversation.upload(51.0, 51.0, 0, 100, SYN_ACK);
    conversation.packet(51.1, 1, 0, 200, 100, |_| {});
    conversation.packet(101.3, 0, 100, 0, 200, |_| {});
    conversation
}

/// The next request, which passes at `at`.
fn next_request(conversation: &mut Conversation, at: f64) -> &mut CapturedPacket {
    conversation.packet(at, 0, 100, 100, 200, |segment| {
        segment.options.timestamps = Some(Timestamps { value: ticks(at), echo: ticks(51.0) });
    })
}

#[test]
fn a_missing_packet_can_only_have_been_the_original() {
    let mut conversation = request_answered();
    conversation.lose_upload();
    next_request(&mut conversation, 360.0);
    conversation.upload_ack(360.1, 200, 0, 0);
    let kept = conversation.analyzed();
    let [row] = kept.retransmissions.as_slice() else {
        panic!("{:?}", kept.retransmissions);
    };
    assert_eq!(row.triggers, Trigger::Tlp.into());
    assert_eq!((row.verdict, row.evidence), (Verdict::Needed, Evidence::NoCopySeen));
    assert_eq!(row.vantage, Vantage::Receiver);
}

#[test]
fn a_missing_packet_may_have_been_something_else() {
    let first_transmission = |lost: bool, at: f64, window: u16| {
        let mut conversation = request_answered();
        if lost {
            conversation.lose_upload();
        }
        next_request(&mut conversation, at).segment.window = window;
        conversation.upload_ack(at + 0.1, 200, 0, 0);
        assert_eq!(conversation.analyzed().retransmissions, []);
    };
    first_transmission(false, 360.0, 1000);
    // A window update.
    first_transmission(true, 360.0, 1001);
    // A keep-alive.
    first_transmission(true, 1500.0, 1000);
    // The ACK of the server's retransmission.
    let mut conversation = request_answered();
    conversation.packet(101.35, 1, 0, 200, 100, |_| {});
    conversation.lose_upload();
    next_request(&mut conversation, 360.0);
    let kept = conversation.analyzed();
    let client = CLIENT.parse().unwrap();
    let mut rows = kept.retransmissions.iter();
    assert!(rows.all(|row| row.endpoints.src != client));
}

#[test]
fn the_number_of_a_bare_ack_shows_what_was_sent_before() {
    let mut conversation = request_answered();
    conversation.lose_upload(); // the FIN
    conversation.packet(160.0, 1, 200, 300, 100, |_| {});
    conversation.packet(210.1, 0, 101, 0, 500, |_| {});
    let fin = conversation.packet(360.0, 0, 100, 0, 500, |_| {});
    fin.segment.flags = Flags::FIN.union(Flags::ACK);
    conversation.upload_ack(360.1, 101, 0, 0);
    let kept = conversation.analyzed();
    let [row] = kept.retransmissions.as_slice() else {
        panic!("{:?}", kept.retransmissions);
    };
    assert_eq!((row.fin, row.triggers), (true, Trigger::Tlp.into()));
    assert_eq!(row.verdict, Verdict::Needed);
}

#[test]
fn the_distance_to_the_sender_is_the_shortest_round_trip() {
    let kept = request_answered().analyzed();
    let [client, server] = &kept.connections[0].directions;
    assert_eq!(client.to_sender, Some(Duration::from_micros(49_990)));
    assert_eq!(server.to_sender, Some(Duration::from_micros(10)));
}

/// Five segments, of which the second, a shorter third and the fourth are lost. The capture does not show
/// where one ended and the next began.
#[test]
fn lost_segments_of_several_lengths_are_not_too_large_for_the_path() {
    let mut conversation = Conversation::opened(0.0);
    let ends = [1000, 2000, 2700, 3700, 4700, 5700, 6700];
    let mut start = 0;
    for (i, &end) in ends.iter().enumerate() {
        let at = 60.0 + i as f64 * 0.01;
        if (1..4).contains(&i) {
            conversation.lose_upload();
        } else {
            conversation.upload(at, at, start, (end - start) as u32, SYN_ACK);
            let from = if i > 3 { 3700 } else { end };
            conversation.upload_ack(at + 0.005, 1000, from, end);
        }
        start = end;
    }
    for (i, range) in [(1000, 2000), (2000, 2700), (2700, 3700)].iter().enumerate() {
        let at = 110.1 + i as f64 * 0.01;
        let (start, end) = *range;
        conversation.upload(at, at, start, (end - start) as u32, 60.0);
        conversation.upload_ack(at + 0.005, end, 3700, 6700);
    }
    conversation.upload(160.0, 160.0, 6700, 1000, 110.0);
    conversation.upload_ack(160.1, 7700, 0, 0);
    assert_eq!(conversation.upload_triggers(), [Trigger::Fast.into(); 3]);
}

/// A middlebox changes the sequence numbers, but not those in SACK blocks: neither these nor their absence says anything.
#[test]
fn impossible_sack_blocks_are_no_reports() {
    for (offset, expected) in
        [(0, (Verdict::Needed, Evidence::NoDuplicate)), (0x5a5a_5a5a, (Verdict::Unknowable, Evidence::NoReports))]
    {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..4 {
            conversation.data(100.0 + f64::from(i) * 0.1, i64::from(i) * 1000, 1000);
        }
        for end in [2000, 3000, 4000] {
            let ack = conversation.ack(150.0 + end as f64 / 1e4, 0, 0, 0);
            let number = |n: u32| SeqNumber(ISN[1].wrapping_add(n + 1).wrapping_add(offset));
            ack.segment.options.sack.push([number(1000), number(end)]);
        }
        conversation.data(150.5, 0, 1000);
        conversation.ack(230.0, 4000, 0, 0);
        conversation.data(300.0, 4000, 1000);
        conversation.ack(350.0, 5000, 0, 0);
        for packet in &mut conversation.packets {
            packet.segment.options.timestamps = None;
        }
        let kept = conversation.analyzed();
        let rows: Vec<_> = kept.retransmissions.iter().map(|row| (row.verdict, row.evidence)).collect();
        assert_eq!(rows, [expected], "{offset}");
    }
}

/// What was lost before the capture point was of several lengths. Its retransmissions are no parts of larger segments.
#[test]
fn retransmissions_of_several_lengths_show_no_path_mtu() {
    let mut conversation = Conversation::opened(0.0);
    conversation.upload(60.0, 60.0, 0, 1000, SYN_ACK);
    conversation.upload_ack(60.01, 1000, 0, 0);
    for _ in 0..4 {
        conversation.lose_upload();
    }
    conversation.upload(61.0, 61.0, 4000, 1000, SYN_ACK);
    conversation.upload_ack(61.01, 1000, 4000, 5000);
    let mut start = 1000;
    for (i, len) in (0..5).zip([900, 740, 420, 330, 610]) {
        let at = 112.0 + f64::from(i) * 0.02;
        conversation.upload(at, at, start, len, 61.01);
        start += i64::from(len);
    }
    conversation.upload_ack(112.2, 5000, 0, 0);
    let found = conversation.upload_triggers();
    assert!(found.iter().all(|triggers| triggers.first() != Some(Trigger::Pmtu)), "{found:?}");
}

/// Removes timestamps, and lets IP identifications show no order.
fn undated(conversation: &mut Conversation) {
    for (i, packet) in conversation.packets.iter_mut().enumerate() {
        packet.segment.options.timestamps = None;
        if packet.endpoints.src.port() == 40000 {
            packet.ip_id = Some((i as u16).wrapping_mul(9_973) | 1);
        }
    }
}

/// A hole is filled `after` ms from when it was reported.
fn filled(after: f64) -> Vec<(Verdict, Evidence)> {
    let mut conversation = Conversation::opened(0.0);
    for i in [0, 2, 3, 4] {
        let at = 60.0 + f64::from(i) * 0.1;
        let start = i64::from(i) * 1000;
        conversation.upload(at, at, start, 1000, SYN_ACK);
        match i {
            0 => conversation.upload_ack(at + 0.01, 1000, 0, 0),
            _ => conversation.upload_ack(at + 0.01, 1000, 2000, start + 1000),
        }
    }
    conversation.upload(60.2 + after, 60.2 + after, 1000, 1000, 60.0);
    conversation.upload_ack(60.21 + after, 5000, 0, 0);
    undated(&mut conversation);
    verdicts(conversation).0
}

#[test]
fn what_fills_a_hole_a_round_trip_later_was_sent_again() {
    assert_eq!(filled(55.0), [(Verdict::Needed, Evidence::NoCopySeen)]);
    // It may have been overtaken.
    assert_eq!(filled(5.0), [(Verdict::Unknowable, Evidence::LooksFirst)]);
}

/// Behind the capture point nothing passes for 9 s. The receiver's identifications show that it sent nothing meanwhile,
/// if `contiguous`.
fn outage_behind(contiguous: bool) -> Vec<Verdict> {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..4 {
        let at = 60.0 + 50.0 * f64::from(i as u8);
        conversation.upload(at, at, 1000 * i, 1000, SYN_ACK);
        conversation.upload_ack(at + 0.01, 1000 * i + 1000, 0, 0);
    }
    for i in 1..4 {
        conversation.upload(1000.0 + 0.1 * f64::from(i as u8), 1000.0, 3000 + 1000 * i, 1000, 60.0);
    }
    for at in [1300.0, 1900.0, 3100.0, 5500.0, 10_300.0] {
        conversation.upload(at, at, 4000, 1000, 60.0);
    }
    if !contiguous {
        conversation.ip_id[1] += 5;
    }
    conversation.upload_ack(10_300.1, 5000, 0, 0);
    conversation.upload(10_350.2, 10_350.2, 5000, 1000, 10_300.1);
    conversation.upload(10_350.3, 10_350.3, 6000, 1000, 10_300.1);
    conversation.upload_ack(10_350.4, 7000, 0, 0);
    for packet in &mut conversation.packets {
        packet.segment.options.sack_permitted = false;
        packet.segment.options.timestamps = None;
    }
    verdicts(conversation).0.into_iter().map(|(verdict, _)| verdict).collect()
}

#[test]
fn a_receiver_that_sent_nothing_has_received_nothing() {
    assert_eq!(outage_behind(true), [Verdict::Needed; 7]);
    assert!(outage_behind(false).contains(&Verdict::Unknowable) || outage_behind(false).contains(&Verdict::Spurious));
}
