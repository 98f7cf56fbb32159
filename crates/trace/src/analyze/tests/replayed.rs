//! The state at which a replay begins, and its time.

use super::*;

#[test]
fn without_an_ack_every_retransmission_is_a_timeout() {
    let mut conversation = Conversation::mid_connection();
    // An HP-UX host's backoff: the first timeout is less than half of the second.
    for at in [0.0, 200.0, 800.0, 2000.0, 4400.0, 9200.0] {
        conversation.data(at, 0, 648);
    }
    let kept = conversation.analyzed();
    let triggers = kept.retransmissions.iter().map(|row| row.triggers);
    assert_eq!(triggers.collect::<Vec<_>>(), [Trigger::Rto.into(); 5]);
}

#[test]
fn earlier_reordering_does_not_affect_later_losses() {
    // (pairs of segments in which the second overtakes the first; their steps fill any tape)
    for pairs in [10, 1000, 3000] {
        let mut conversation = Conversation::opened(0.0);
        let mut at = 100.0;
        for i in 0..pairs {
            let first = i * 2000;
            conversation.data(at, first, 1000);
            conversation.data(at + 0.1, first + 1000, 1000);
            conversation.ack(at + 50.0, first, first + 1000, first + 2000);
            conversation.ack(at + 50.1, first + 2000, 0, 0);
            at += 60.0;
        }
        let lost = pairs * 2000;
        for i in 0..10 {
            conversation.data(at + i as f64 * 0.01, lost + i * 1000, 1000);
        }
        for i in 1..10 {
            conversation.ack(at + 50.0 + i as f64 * 0.01, lost, lost + 1000, lost + (i + 1) * 1000);
        }
        conversation.data(at + 50.05, lost, 1000);
        conversation.ack(at + 100.1, lost + 10_000, 0, 0);
        let kept = conversation.analyzed();
        let [row] = kept.retransmissions.as_slice() else {
            panic!("{pairs}: {:?}", kept.retransmissions);
        };
        assert_eq!(row.triggers, Trigger::Fast.into(), "{pairs}");
        let profile = &kept.connections[0].directions[1].profile;
        let best = profile.best().map(|best| (best.explained, best.of));
        assert_eq!(best, Some((1, 1)), "{pairs}: {profile:?}");
    }
}

/// The triggers of the retransmissions.
fn triggers(conversation: Conversation) -> Vec<String> {
    let kept = conversation.analyzed();
    let rows = kept.retransmissions.iter();
    rows.map(|row| row.triggers.to_string()).collect()
}

#[test]
fn silence_as_long_as_a_timeout_shows_a_timer_where_no_round_trip_time_is_known() {
    // A single segment, then a FIN: 220 ms may be the probe or the timeout, and a second copy is the
    // timeout's.
    for fin in [false, true] {
        let mut conversation = Conversation::mid_connection();
        conversation.ack(0.0, 0, 0, 0);
        for at in [100.0, 320.0, 560.0, 1040.0] {
            let packet = conversation.data(at, 0, if fin { 0 } else { 500 });
            if fin {
                packet.segment.flags = Flags::ACK.union(Flags::FIN);
            }
        }
        assert_eq!(triggers(conversation), ["tlp|rto", "rto", "rto"], "{fin}");
    }
}

#[test]
fn where_sack_was_refused_silence_is_a_timeout() {
    let mut conversation = Conversation::opened(0.0);
    for packet in &mut conversation.packets {
        packet.segment.options.sack_permitted = false;
    }
    conversation.data(100.0, 0, 500);
    conversation.data(350.0, 0, 500);
    assert_eq!(triggers(conversation), ["rto"]);
}

#[test]
fn a_timeout_that_merges_small_segments_is_a_timeout() {
    // Linux tcp_retrans_try_collapse: one packet holds what were five. The probe before it is unanswered,
    // and new data brought the timeout of the first segment back.
    let mut conversation = Conversation::opened(0.0);
    for i in 0..4 {
        conversation.data(100.0 + f64::from(i) * 40.0, i64::from(i) * 100, 100);
    }
    conversation.data(323.0, 300, 100); // the probe, 2·SRTT + 2 ms after the last segment
    conversation.data(340.0, 400, 100);
    conversation.data(352.0, 0, 500);
    conversation.ack(402.1, 500, 0, 0);
    assert_eq!(triggers(conversation), ["tlp", "rto"]);
}

#[test]
fn a_lost_segment_that_waits_longer_than_the_timeout_was_retransmitted_by_the_timer() {
    // 1000 and 3000 are lost. The first retransmission turns out to be spurious: the ACK echoes the original.
    // Linux 6 then forgets that 3000 was lost.
    let mut conversation = Conversation::opened(0.0);
    for i in 0..8 {
        conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    let sacks = |conversation: &mut Conversation, at: f64, una: i64, from: i64, to: i64| {
        let packet = conversation.ack(at, una, from, to);
        packet.segment.options.timestamps.as_mut().unwrap().echo = 1_000_100;
    };
    sacks(&mut conversation, 150.0, 1000, 0, 0);
    sacks(&mut conversation, 150.01, 1000, 4000, 5000);
    sacks(&mut conversation, 150.02, 1000, 4000, 6000);
    sacks(&mut conversation, 150.03, 1000, 4000, 7000);
    sacks(&mut conversation, 150.04, 1000, 4000, 8000);
    conversation.data(150.1, 1000, 1000);
    conversation.data(150.11, 2000, 1000);
    sacks(&mut conversation, 165.0, 3000, 4000, 8000);
    conversation.data(420.0, 3000, 1000);
    conversation.ack(470.1, 8000, 0, 0);
    assert_eq!(triggers(conversation), ["fast", "fast", "rto"]);
}

#[test]
fn a_syn_ack_sent_twice_is_found_without_its_syn() {
    for answered in [false, true] {
        let mut conversation = Conversation::mid_connection();
        for at in [0.0, 1010.0] {
            conversation.packet(at, 1, -1, 0, 0, |segment| {
                segment.flags = Flags::SYN.union(Flags::ACK);
                segment.options.mss = Some(1012);
            });
        }
        if answered {
            conversation.ack(1060.0, 0, 0, 0);
            conversation.data(1100.0, 0, 500);
            conversation.ack(1150.0, 500, 0, 0);
        }
        assert_eq!(triggers(conversation), ["syn_ack"], "{answered}");
    }
}

#[test]
fn a_keep_alive_that_acknowledges_a_retransmission_is_heard() {
    let mut conversation = Conversation::opened(0.0);
    conversation.packet(60.0, 0, 0, 100, 0, |_| {});
    conversation.packet(61.0, 1, 0, 500, 100, |_| {});
    conversation.packet(310.0, 1, 0, 500, 100, |_| {});
    // The ACK of the first copy is lost; the keep-alive, one byte below what the server expects, acknowledges.
    for len in [0, 1] {
        let mut conversation = Conversation { packets: conversation.packets.clone(), ..Conversation::mid_connection() };
        conversation.packet(560.0, 1, 0, 500, 100, |_| {});
        conversation.packet(1040.0, 1, 0, 500, 100, |_| {});
        conversation.packet(1300.0, 0, 99, len, 500, |_| {});
        conversation.packet(1400.0, 1, 500, 500, 100, |_| {});
        conversation.packet(1450.0, 0, 100, 0, 1000, |_| {});
        assert_eq!(triggers(conversation), ["tlp", "rto", "rto"], "{len}");
    }
}

#[test]
fn a_fin_sent_again_after_the_close_is_found() {
    let fin = |segment: &mut Segment| segment.flags = Flags::ACK.union(Flags::FIN);
    let mut conversation = Conversation::opened(0.0);
    conversation.packet(100.0, 1, 0, 0, 0, fin);
    conversation.packet(150.0, 0, 0, 0, 1, fin);
    conversation.packet(150.1, 1, 1, 0, 1, |_| {});
    // The last ACK is lost: the client's FIN comes again, after both ends have closed.
    conversation.packet(480.0, 0, 0, 0, 1, fin);
    conversation.packet(480.1, 1, 1, 0, 1, |_| {});
    conversation.packet(960.0, 0, 0, 0, 1, fin);
    conversation.packet(960.1, 1, 1, 0, 1, |_| {});
    let kept = conversation.analyzed();
    let found = kept.retransmissions.iter();
    let found: Vec<_> = found.map(|row| (row.fin, row.copy)).collect();
    assert_eq!(found, [(true, 1), (true, 2)]);
}

#[test]
fn after_silence_the_timeout_retransmits_even_what_sacks_showed_lost() {
    // SACKs show at 150 ms that 0 and 4000 are lost. 4000 goes at once, or so late that nothing prompts it and
    // the timeout of its first transmission has passed.
    for (at, expected) in [(150.11, "fast"), (385.0, "rto")] {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..9 {
            conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
        }
        for i in 2..=4 {
            conversation.ack(150.0 + f64::from(i) * 0.01, 0, 1000, i64::from(i) * 1000);
        }
        for i in 6..=9 {
            let packet = conversation.ack(150.0 + f64::from(i) * 0.01, 0, 5000, i64::from(i) * 1000);
            let number = |n: u32| SeqNumber(ISN[1].wrapping_add(n + 1));
            packet.segment.options.sack.push([number(1000), number(4000)]);
        }
        conversation.data(150.1, 0, 1000);
        if at < 200.0 {
            conversation.data(at, 4000, 1000);
        }
        conversation.ack(200.2, 4000, 5000, 9000);
        if at > 200.0 {
            conversation.data(at, 4000, 1000);
        }
        conversation.ack(at + 50.1, 9000, 0, 0);
        assert_eq!(triggers(conversation), ["fast", expected], "{at}");
    }
}

/// Without SACK one duplicate ACK calls for an early retransmission of two segments (RFC 5827 §3.1), at once or within a
/// fraction of a round trip. What comes seconds later is a timeout.
#[test]
fn a_retransmission_long_after_the_last_duplicate_ack_is_a_timeout() {
    let mut conversation = Conversation::mid_connection();
    conversation.packet(0.0, 0, -1, 0, 0, |segment| segment.flags = Flags::SYN);
    conversation.packet(0.1, 1, -1, 0, 0, |segment| segment.flags = Flags::SYN.union(Flags::ACK));
    conversation.ack(100.0, 0, 0, 0);
    conversation.data(300.0, 0, 1000);
    for at in [1300.0, 3300.0] {
        conversation.data(at, 0, 1000);
    }
    conversation.ack(3400.0, 1000, 0, 0);
    conversation.data(4000.0, 1000, 1000);
    conversation.data(4001.0, 2000, 100);
    conversation.ack(4101.0, 1000, 0, 0);
    for at in [8000.0, 16_000.0] {
        conversation.data(at, 1000, 1000);
    }
    conversation.ack(16_100.0, 2100, 0, 0);
    for packet in &mut conversation.packets {
        packet.segment.options.timestamps = None;
    }
    assert_eq!(triggers(conversation), ["rto"; 4]);
}

/// Without SACK nobody sends tail loss probes (RFC 8985 §7.2).
#[test]
fn without_sack_no_retransmission_is_a_probe() {
    let tail_repeated = |sack: bool| {
        let mut conversation = Conversation::opened(0.0);
        for packet in &mut conversation.packets {
            packet.segment.options.sack_permitted &= sack;
        }
        for i in 0..4 {
            conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
        }
        conversation.ack(150.0, 1000, 0, 0);
        conversation.data(252.2, 3000, 1000);
        conversation.ack(302.3, 4000, 0, 0);
        triggers(conversation)
    };
    assert_eq!(tail_repeated(true), ["tlp"]);
    assert_eq!(tail_repeated(false), ["unknown"]);
}

/// RFC 5681 §3.1: after a timeout the sender goes back to the first segment. One without undo goes on even when an ACK of
/// the original shows that the timeout was spurious.
#[test]
fn what_is_repeated_in_order_after_a_timeout_is_repeated_because_of_it() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..8 {
        conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    conversation.data(355.0, 0, 1000);
    for (at, una) in [(360.0, 2000), (361.0, 4000), (362.0, 8000)] {
        let packet = conversation.ack(at, una, 0, 0);
        packet.segment.options.timestamps.as_mut().unwrap().echo = 1_000_100;
        if una < 8000 {
            conversation.data(at + 0.01, una, 1000);
            conversation.data(at + 0.02, una + 1000, 1000);
        }
    }
    for (packet, frame) in conversation.packets.iter_mut().zip(1..) {
        packet.frame = frame;
    }
    // Linux undoes the timeout, and then has no reason for what follows.
    let settings = Settings { profile: "linux-6".parse().ok(), ..Settings::default() };
    let kept = analyzed(&conversation.packets, &settings);
    let rows: Vec<_> = kept.retransmissions.iter().map(|row| row.triggers.to_string()).collect();
    assert_eq!(rows, ["rto", "slow_start", "slow_start", "slow_start", "slow_start"]);
    let explained = kept.connections[0].directions[1].profile.best().map(|best| best.explained);
    assert_eq!(explained, Some(0), "the profile would not have sent them");
}

/// A sender without a congestion window repeats all that is outstanding at each timeout, at once and in segments with other
/// boundaries. That does not look like a duplicate by the capture, and two passes do not take too long to explain.
#[test]
fn a_large_window_repeated_at_each_timeout_is_explained() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..1000 {
        conversation.data(100.0, i * 100, 100);
    }
    let mut expected = Vec::new();
    for (at, first) in [(1100.0, 50), (3100.0, 100), (7100.0, 50)] {
        let mut next = 0;
        while next < 100_000 {
            let len = if next == 0 { first } else { (100_000 - next).min(100) };
            conversation.data(at, next, len as u32);
            expected.push(if next == 0 { "rto" } else { "slow_start" });
            next += len;
        }
    }
    for packet in &mut conversation.packets {
        packet.segment.options.timestamps = None;
        packet.ip_id = Some(0);
    }
    let found = triggers(conversation);
    assert_eq!(found.len(), expected.len());
    let third_pass = expected.iter().rposition(|trigger| *trigger == "rto").unwrap();
    assert_eq!(found[..third_pass], expected[..third_pass]);
}
