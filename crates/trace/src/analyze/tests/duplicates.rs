//! Packets that the capture holds twice, and packets that only look like it.

use super::*;

/// Adds a copy of each packet after `gap` µs; `change` applies to both.
fn twice(conversation: &mut Conversation, gap: u64, change: impl Fn(&mut CapturedPacket)) {
    let mut all = Vec::new();
    for mut packet in conversation.packets.drain(..) {
        change(&mut packet);
        let mut again = packet;
        again.at = again.at.plus_nanos(gap * 1000);
        all.extend([packet, again]);
    }
    all.sort_by_key(|packet| packet.at);
    conversation.packets = all;
}

/// Trigger, verdict and copy of each retransmission.
fn outline(kept: &Kept) -> Vec<(String, Verdict, u16)> {
    let rows = kept.retransmissions.iter();
    rows.map(|row| (row.triggers.to_string(), row.verdict, row.copy)).collect()
}

fn duplicates(kept: &Kept) -> u64 {
    let directions = kept.connections.iter().flat_map(|c| &c.directions);
    directions.map(|direction| direction.duplicates).sum()
}

#[test]
fn duplicates_by_the_capture_change_no_finding() {
    let expected = outline(&repaired().analyzed());
    // (IP identification, where Some(1) keeps the packet's own; gap in µs: at once, or after other
    // packets that follow each other at 10 µs)
    for (id, gap) in [(Some(1), 5), (Some(1), 45), (None, 5), (None, 45), (Some(0), 5)] {
        let mut conversation = repaired();
        let count = conversation.packets.len() as u64;
        twice(&mut conversation, gap, |packet| {
            if id != Some(1) {
                packet.ip_id = id;
            }
        });
        let kept = conversation.analyzed();
        assert_eq!(outline(&kept), expected, "{id:?} {gap}");
        assert_eq!(duplicates(&kept), count, "{id:?} {gap}");
        let rtt = kept.connections[0].directions[1].rtt;
        assert!(rtt.is_some_and(|rtt| rtt.min > Duration::from_millis(49)));
        let handshake = kept.connections[0].handshake_rtt;
        // Without an identification, a SYN-ACK before the second SYN may be a SYN-ACK of its own.
        let sure = gap == 5 || id == Some(1);
        assert_eq!(handshake.is_some(), sure, "{id:?} {gap}");
    }
}

#[test]
fn a_syn_duplicated_by_the_network_is_answered_twice() {
    let open = |at: [f64; 4]| {
        let mut conversation = Conversation::opened(0.0);
        let ack = conversation.packets.pop().unwrap();
        for packet in &mut conversation.packets[1..] {
            packet.ip_id = Some(0);
        }
        let pair: Vec<_> = conversation.packets.drain(..).collect();
        for (i, at) in at.into_iter().enumerate() {
            let mut packet = pair[i % 2];
            packet.at = Instant::from_millis(1_000_000).plus_nanos((at * 1e6) as u64);
            conversation.packets.push(packet);
        }
        conversation.packets.push(ack);
        for i in 0..10 {
            conversation.data(100.0 + f64::from(i) * 100.0, i64::from(i) * 1000, 1000);
            conversation.ack(150.0 + f64::from(i) * 100.0, i64::from(i + 1) * 1000, 0, 0);
        }
        conversation
    };
    let kept = open([0.0, 0.01, 0.012, 0.015]).analyzed();
    assert_eq!(outline(&kept), [("syn_ack".to_string(), Verdict::Unknowable, 1)], "duplicated by the network");
    // The capture duplicated the SYN later than the SYN-ACK. Most other packets are duplicates as
    // well.
    let mut conversation = open([0.0, 0.01, 0.012, 0.015]);
    let rest = conversation.packets.split_off(4);
    let mut rest = Conversation { packets: rest, ..Conversation::mid_connection() };
    twice(&mut rest, 12, |_| {});
    conversation.packets.extend(rest.packets);
    assert_eq!(outline(&conversation.analyzed()), []);
}

/// Without timestamps and SACK, duplicate ACKs differ only in their IP identification.
#[test]
fn duplicate_acks_are_no_duplicates_by_the_network() {
    for id in [Some(7), None] {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..10 {
            conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
        }
        conversation.ack(150.0, 5000, 0, 0);
        for i in 1..4 {
            conversation.ack(150.0 + f64::from(i) * 0.01, 5000, 0, 0);
        }
        conversation.data(150.05, 5000, 1000);
        conversation.ack(200.1, 10_000, 0, 0);
        for packet in &mut conversation.packets {
            packet.segment.options.timestamps = None;
            packet.segment.options.sack_permitted = false;
            packet.ip_id = packet.ip_id.filter(|_| id.is_some());
        }
        let kept = conversation.analyzed();
        let [row] = kept.retransmissions.as_slice() else {
            panic!("{:?}", kept.retransmissions);
        };
        assert_eq!(row.triggers, Trigger::Fast.into(), "{id:?}");
        assert_eq!(duplicates(&kept), 0, "{id:?}");
    }
}

/// At the receiver, 50 ms from the sender: the second copy comes 15 ms later, long after the first
/// was acknowledged.
#[test]
fn a_late_duplicate_by_the_network_is_no_retransmission() {
    for id in [Some(1), None] {
        let mut conversation = Conversation::opened(0.0);
        conversation.packets[1].at = conversation.packets[0].at + Duration::from_millis(50);
        conversation.packets[2].at = conversation.packets[1].at.plus_nanos(10_000);
        let mut late = None;
        for i in 0..40 {
            let at = 100.0 + f64::from(i);
            let data = conversation.data(at, i64::from(i) * 1000, 1000);
            data.ip_id = id.map(|id| id + i as u16);
            // The timestamp echoed is a round trip old.
            data.segment.options.timestamps.as_mut().unwrap().echo -= 50;
            if i == 3 {
                late = conversation.packets.last().copied();
            }
            if i == 18 {
                let mut late = late.unwrap();
                late.at += Duration::from_millis(15);
                conversation.packets.push(late);
            }
            conversation.ack(at + 0.01, i64::from(i + 1) * 1000, 0, 0);
        }
        let kept = conversation.analyzed();
        assert_eq!(kept.connections[0].directions[1].vantage, Vantage::Receiver);
        assert_eq!(outline(&kept), [], "{id:?}");
        assert_eq!(duplicates(&kept), 1, "{id:?}");
    }
}

/// The network duplicates an ACK: the sender counts both.
#[test]
fn an_ack_duplicated_by_the_network_counts_twice() {
    let mut conversation = repaired();
    let mut again = conversation.packets[13];
    again.at = again.at.plus_nanos(5000);
    conversation.packets.insert(14, again);
    let kept = conversation.analyzed();
    assert_eq!(outline(&kept), outline(&repaired().analyzed()));
    assert_eq!(duplicates(&kept), 0);
}

/// One interface shows a packet of two segments whole, another one its segments.
#[test]
fn the_segments_of_a_packet_on_another_interface_are_no_retransmissions() {
    for split_first in [false, true] {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..4 {
            let (at, seq) = (100.0 + f64::from(i) * 0.1, i64::from(i) * 2000);
            let mut whole = *conversation.data(at, seq, 2000);
            let id = whole.ip_id;
            conversation.packets.pop();
            let first = *conversation.data(at + 0.015, seq, 1000);
            let mut all = vec![first, *conversation.data(at + 0.017, seq + 1000, 1000)];
            conversation.packets.truncate(conversation.packets.len() - 2);
            whole.ip_id = id;
            for (segment, number) in all.iter_mut().zip(0..) {
                segment.ip_id = id.map(|id| id + number);
            }
            all.insert(if split_first { 2 } else { 0 }, whole);
            for (packet, number) in all.iter_mut().zip(0..) {
                packet.at = whole.at.plus_nanos(number * 2000);
            }
            conversation.packets.extend(all);
        }
        conversation.ack(150.0, 2000, 0, 0);
        for i in 2..4 {
            conversation.ack(150.0 + f64::from(i) * 0.1, 2000, 4000, 2000 + i64::from(i) * 2000);
        }
        conversation.data(150.5, 2000, 1000);
        conversation.data(150.51, 3000, 1000);
        conversation.ack(200.6, 8000, 0, 0);
        conversation.data(300.0, 8000, 1000);
        conversation.ack(350.0, 9000, 0, 0);
        let kept = conversation.analyzed();
        assert_eq!(outline(&kept), vec![("fast".to_owned(), Verdict::Needed, 1); 2], "{split_first}");
    }
}

/// A load balancer sends its segment again after `ms` with the same identification.
fn same_id_after(ms: f64) -> usize {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(60.0, 0, MSS);
    let id = conversation.packets.last().unwrap().ip_id;
    conversation.data(60.0 + ms, 0, MSS).ip_id = id;
    conversation.ack(110.0 + ms, 1000, 0, 1000);
    for packet in &mut conversation.packets {
        packet.segment.options.timestamps = None;
    }
    conversation.analyzed().retransmissions.len()
}

#[test]
fn no_mirror_shows_a_packet_again_much_later() {
    assert_eq!(same_id_after(20.0), 0);
    assert_eq!(same_id_after(310.0), 1);
}
