//! Packets that are there twice, and such as only look like it.

use super::*;

/// Each packet again after `gap` µs, changed.
fn twice(talk: &mut Talk, gap: u64, change: impl Fn(&mut Packet)) {
    let mut all = Vec::new();
    for mut packet in talk.packets.drain(..) {
        change(&mut packet);
        let mut again = packet;
        again.at = again.at.plus_nanos(gap * 1000);
        all.extend([packet, again]);
    }
    all.sort_by_key(|packet| packet.at);
    talk.packets = all;
}

/// Trigger, verdict and copy of each retransmission.
fn told(kept: &Kept) -> Vec<(String, Verdict, u16)> {
    let rows = kept.retransmissions.iter();
    rows.map(|row| (row.triggers.to_string(), row.verdict, row.copy))
        .collect()
}

fn doubled(kept: &Kept) -> u64 {
    let directions = kept.connections.iter().flat_map(|c| &c.directions);
    directions.map(|direction| direction.doubled).sum()
}

#[test]
fn a_capture_with_every_packet_twice_tells_what_one_with_every_packet_once_does() {
    let expected = told(&repaired().analyzed());
    // (IP identification, 1: the packets' own; after how many µs: at once, and behind packets that follow
    // each other at 10 µs)
    for (id, gap) in [
        (Some(1), 5),
        (Some(1), 45),
        (None, 5),
        (None, 45),
        (Some(0), 5),
    ] {
        let mut talk = repaired();
        let count = talk.packets.len() as u64;
        twice(&mut talk, gap, |packet| {
            if id != Some(1) {
                packet.ip_id = id;
            }
        });
        let kept = talk.analyzed();
        assert_eq!(told(&kept), expected, "{id:?} {gap}");
        assert_eq!(doubled(&kept), count, "{id:?} {gap}");
        let rtt = kept.connections[0].directions[1].rtt;
        assert!(rtt.is_some_and(|rtt| rtt.min > Duration::from_millis(49)));
        let handshake = kept.connections[0].handshake_rtt;
        // A SYN-ACK before the second SYN, without an identification, may be one of two.
        let sure = gap == 5 || id == Some(1);
        assert_eq!(handshake.is_some(), sure, "{id:?} {gap}");
    }
}

#[test]
fn a_syn_the_network_doubled_is_answered_twice() {
    let open = |at: [f64; 4]| {
        let mut talk = Talk::opened(0.0);
        let ack = talk.packets.pop().unwrap();
        for packet in &mut talk.packets[1..] {
            packet.ip_id = Some(0);
        }
        let pair: Vec<_> = talk.packets.drain(..).collect();
        for (i, at) in at.into_iter().enumerate() {
            let mut packet = pair[i % 2];
            packet.at = Instant::from_millis(1_000_000).plus_nanos((at * 1e6) as u64);
            talk.packets.push(packet);
        }
        talk.packets.push(ack);
        for i in 0..10 {
            talk.data(100.0 + f64::from(i) * 100.0, i64::from(i) * 1000, 1000);
            talk.ack(150.0 + f64::from(i) * 100.0, i64::from(i + 1) * 1000, 0, 0);
        }
        talk
    };
    let kept = open([0.0, 0.01, 0.012, 0.015]).analyzed();
    assert_eq!(
        told(&kept),
        [("syn_ack".to_string(), Verdict::Unknowable, 1)],
        "a network's"
    );
    // A capture's, later than the answer: most others are there twice as well.
    let mut talk = open([0.0, 0.01, 0.012, 0.015]);
    let rest = talk.packets.split_off(4);
    let mut rest = Talk {
        packets: rest,
        ..Talk::midway()
    };
    twice(&mut rest, 12, |_| {});
    talk.packets.extend(rest.packets);
    assert_eq!(told(&talk.analyzed()), []);
}

/// Duplicate ACKs without timestamps and SACK are alike but for their IP identification.
#[test]
fn duplicate_acks_are_no_doubled_packets() {
    for id in [Some(7), None] {
        let mut talk = Talk::opened(0.0);
        for i in 0..10 {
            talk.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
        }
        talk.ack(150.0, 5000, 0, 0);
        for i in 1..4 {
            talk.ack(150.0 + f64::from(i) * 0.01, 5000, 0, 0);
        }
        talk.data(150.05, 5000, 1000);
        talk.ack(200.1, 10_000, 0, 0);
        for packet in &mut talk.packets {
            packet.segment.options.timestamps = None;
            packet.segment.options.sack_permitted = false;
            packet.ip_id = packet.ip_id.filter(|_| id.is_some());
        }
        let kept = talk.analyzed();
        let [row] = kept.retransmissions.as_slice() else {
            panic!("{:?}", kept.retransmissions);
        };
        assert_eq!(row.triggers, Trigger::Fast.into(), "{id:?}");
        assert_eq!(doubled(&kept), 0, "{id:?}");
    }
}

/// At the receiver, 50 ms from the sender: the second of two comes 15 ms later, when the first has long been
/// acknowledged.
#[test]
fn what_the_network_doubles_and_holds_up_is_sent_once() {
    for id in [Some(1), None] {
        let mut talk = Talk::opened(0.0);
        talk.packets[1].at = talk.packets[0].at + Duration::from_millis(50);
        talk.packets[2].at = talk.packets[1].at.plus_nanos(10_000);
        let mut late = None;
        for i in 0..40 {
            let at = 100.0 + f64::from(i);
            let data = talk.data(at, i64::from(i) * 1000, 1000);
            data.ip_id = id.map(|id| id + i as u16);
            // Of a round trip ago.
            data.segment.options.timestamps.as_mut().unwrap().echo -= 50;
            if i == 3 {
                late = talk.packets.last().copied();
            }
            if i == 18 {
                let mut late = late.unwrap();
                late.at += Duration::from_millis(15);
                talk.packets.push(late);
            }
            talk.ack(at + 0.01, i64::from(i + 1) * 1000, 0, 0);
        }
        let kept = talk.analyzed();
        assert_eq!(kept.connections[0].directions[1].vantage, Vantage::Receiver);
        assert_eq!(told(&kept), [], "{id:?}");
        assert_eq!(doubled(&kept), 1, "{id:?}");
    }
}

/// The network doubles an ACK: its sender counts both.
#[test]
fn an_ack_that_the_network_doubled_is_heard_twice() {
    let mut talk = repaired();
    let mut again = talk.packets[13];
    again.at = again.at.plus_nanos(5000);
    talk.packets.insert(14, again);
    let kept = talk.analyzed();
    assert_eq!(told(&kept), told(&repaired().analyzed()));
    assert_eq!(doubled(&kept), 0);
}
