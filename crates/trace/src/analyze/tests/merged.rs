//! Files merged from captures of several points.

use super::*;
use crate::finding::WhyInseparable;

/// The data segment that the network loses on its way to the client.
const LOST: usize = 8;

/// A capture of a conversation at some distance from the server.
#[derive(Clone, Copy)]
struct Point {
    /// On the path, in ms.
    from_server: f64,
    /// How much its clock is ahead, in ms.
    ahead: f64,
    /// Changes what it captures of a side.
    change: fn(usize, &mut CapturedPacket),
}

const SERVER_POINT: Point = Point { from_server: 0.0, ahead: 0.0, change: |_, _| {} };

const CLIENT_POINT: Point = Point { from_server: 25.0, ahead: 0.0, change: |_, _| {} };

fn side_of(packet: &CapturedPacket) -> usize {
    usize::from(packet.endpoints.src == SERVER.parse().unwrap())
}

/// Packets that a point captures of a conversation captured at the server.
fn seen_at(point: &Point, conversation: &Conversation) -> Vec<CapturedPacket> {
    let packets = conversation.packets.iter().enumerate();
    let arrives = |i: usize| point.from_server == 0.0 || i != LOST;
    let seen = packets.filter(|(i, _)| arrives(*i)).map(|(_, packet)| {
        let mut seen = *packet;
        let side = side_of(packet);
        let later = match side {
            0 => point.ahead - point.from_server,
            _ => point.ahead + point.from_server,
        };
        let nanos = seen.at.as_nanos() as i64 + (later * 1e6) as i64;
        seen.at = Instant::from_nanos(nanos as u64);
        (point.change)(side, &mut seen);
        seen
    });
    seen.collect()
}

/// Merges captures by time.
fn merge(captures: &[Vec<CapturedPacket>]) -> Vec<CapturedPacket> {
    let mut all = captures.concat();
    all.sort_by_key(|packet| packet.at);
    for (i, packet) in all.iter_mut().enumerate() {
        packet.frame = i as u64 + 1;
    }
    all
}

/// Trigger, verdict, copy and capture point of each retransmission.
fn outline(kept: &Kept, point: u32) -> Vec<(String, Verdict, u16, Vantage)> {
    let rows = kept.retransmissions.iter();
    rows.filter(|row| row.capture_point == point)
        .map(|row| (row.triggers.to_string(), row.verdict, row.copy, row.vantage))
        .collect()
}

/// Checks that a merged file gives the findings of each capture. The points come in the order of
/// the path from the client.
fn check(what: &str, captures: &[Vec<CapturedPacket>]) {
    let merged = analyzed(&merge(captures), &Settings::default());
    assert_eq!(merged.connections.len(), captures.len(), "{what}");
    for (number, capture) in captures.iter().enumerate() {
        let alone = analyzed(&merge(std::slice::from_ref(capture)), &Settings::default());
        let number = number as u32;
        assert_eq!(outline(&merged, number), outline(&alone, 0), "{what}: point {number}");
        let mut here = merged.connections.iter();
        let here = here.find(|c| c.capture_point.number == number).unwrap();
        let (point, alone) = (&here.capture_point, &alone.connections[0]);
        assert_eq!(point.count as usize, captures.len(), "{what}");
        assert_eq!(here.packets, alone.packets, "{what}");
        assert_eq!(here.handshake_rtt, alone.handshake_rtt, "{what}");
        for (merged, alone) in here.directions.iter().zip(&alone.directions) {
            let counts = |d: &crate::finding::Direction| (d.segments, d.bytes, d.duplicates, d.missing);
            assert_eq!(counts(merged), counts(alone), "{what}: point {number}");
        }
        let apart = point.apart.unwrap().as_secs_f64() * 1e3;
        assert!((apart - 25.0).abs() < 0.1, "{what}: {apart} ms");
    }
}

fn separation(packets: &[CapturedPacket]) -> crate::follow::table::Separation {
    finished(packets, &Settings::default(), Kept::default).1
}

/// The hop limit falls by two on the way, which is all that differs.
const BY_HOP_LIMIT: [Point; 2] = [
    Point { change: |side, packet| packet.hop_limit = [64, 62][side], ..CLIENT_POINT },
    Point { change: |side, packet| packet.hop_limit = [62, 64][side], ..SERVER_POINT },
];

#[test]
fn each_point_of_a_merged_file_is_analyzed_as_if_alone() {
    let by_link = |link: [fn(usize, &mut CapturedPacket); 2]| {
        [(CLIENT_POINT, link[0]), (SERVER_POINT, link[1])].map(|(point, change)| Point { change, ..point })
    };
    let cases = [
        ("hop limit", BY_HOP_LIMIT),
        ("addresses", by_link([|_, p| p.link = 7, |_, p| p.link = 9])),
        ("addresses of each side", by_link([|side, p| p.link = [1, 2][side], |side, p| p.link = [3, 4][side]])),
        ("interface", by_link([|_, p| p.interface = 0, |_, p| p.interface = 1])),
        ("direction", by_link([|side, p| p.outgoing = Some(side == 0), |side, p| p.outgoing = Some(side == 1)])),
    ];
    for (what, points) in cases {
        for ahead in [0.0, 5.0, -5.0, 40.0, -40.0, 600.0, -600.0] {
            let [client, mut server] = points;
            server.ahead = ahead;
            let captures = [client, server].map(|point| seen_at(&point, &repaired()));
            check(&format!("{what}, {ahead} ms"), &captures);
        }
    }
}

#[test]
fn copies_with_the_same_mark_are_told_apart_by_their_order() {
    for ahead in [0.0, 5.0, -5.0] {
        // IPv4 with its identification, and packets that only timestamps distinguish.
        for id in [true, false] {
            let mut conversation = repaired();
            if !id {
                conversation.packets.iter_mut().for_each(|packet| packet.ip_id = Some(0));
            }
            let server = Point { ahead, ..SERVER_POINT };
            let captures = [CLIENT_POINT, server].map(|point| seen_at(&point, &conversation));
            check(&format!("{ahead} ms, {id}"), &captures);
        }
    }
}

#[test]
fn what_cannot_be_told_apart_is_refused() {
    let ahead = Point { ahead: 40.0, ..SERVER_POINT };
    let captures = [CLIENT_POINT, ahead].map(|point| seen_at(&point, &repaired()));
    let found = separation(&merge(&captures));
    assert_eq!((found.apart, found.inseparable), (0, 1));
    assert_eq!(found.first.unwrap().why, WhyInseparable::Clocks);

    let mut bare = repaired();
    for packet in &mut bare.packets {
        packet.ip_id = None;
        packet.segment.options.timestamps = None;
    }
    let captures = [CLIENT_POINT, SERVER_POINT].map(|point| seen_at(&point, &bare));
    let merged = merge(&captures);
    let found = separation(&merged);
    assert_eq!((found.apart, found.inseparable), (0, 1));
    assert_eq!(found.first.unwrap().why, WhyInseparable::Unidentified);
    // Nothing is invented.
    let kept = analyzed(&merged, &Settings::default());
    assert_eq!(kept.retransmissions, []);
    let packets: u64 = kept.connections.iter().map(|c| c.packets).sum();
    assert_eq!(packets, merged.len() as u64);
}

#[test]
fn hop_limits_tell_points_apart_without_timestamps_and_identifications() {
    let mut bare = repaired();
    for packet in &mut bare.packets {
        packet.ip_id = None;
        packet.segment.options.timestamps = None;
    }
    let captures = BY_HOP_LIMIT.map(|point| seen_at(&point, &bare));
    check("bare", &captures);
}

#[test]
fn three_points_are_told_apart() {
    let middle = Point { from_server: 10.0, ahead: 0.0, change: |_, packet| packet.hop_limit = 63 };
    let [client, server] = BY_HOP_LIMIT;
    let captures = [client, middle, server].map(|point| seen_at(&point, &repaired()));
    check("three points", &captures);
}

/// The server sends super-segments, and the network card cuts them.
#[test]
fn super_segments_at_one_point_have_no_copies() {
    for points in [BY_HOP_LIMIT, [CLIENT_POINT, SERVER_POINT]] {
        let mut conversation = repaired();
        // The timestamps of segments that were sent together are the same.
        let value = conversation.packets[3].segment.options.timestamps.unwrap().value;
        for packet in &mut conversation.packets[3..13] {
            packet.segment.options.timestamps.as_mut().unwrap().value = value;
        }
        let captures = points.map(|point| {
            let mut seen = seen_at(&point, &conversation);
            if point.from_server == 0.0 {
                for i in 0..5 {
                    seen.remove(4 + i);
                    seen[3 + i].segment.payload_len = 2000;
                }
            }
            seen
        });
        check("super-segments", &captures);
    }
}

#[test]
fn a_duplicate_by_the_network_is_one_at_each_point() {
    for points in [BY_HOP_LIMIT, [CLIENT_POINT, SERVER_POINT]] {
        let captures = points.map(|point| {
            let mut seen = seen_at(&point, &repaired());
            let mut again = seen[4];
            again.at += Duration::from_millis(3);
            seen.push(again);
            seen.sort_by_key(|packet| packet.at);
            seen
        });
        check("duplicate", &captures);
    }
}

#[test]
fn a_file_that_begins_within_connections_invents_nothing() {
    let captures = BY_HOP_LIMIT.map(|point| {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..200_u32 {
            let at = 100.0 + f64::from(i) * 5.0;
            conversation.data(at, i64::from(i) * 1000, 1000);
            conversation.ack(at + 50.0, i64::from(i + 1) * 1000, 0, 0);
        }
        conversation.packets.sort_by_key(|packet| packet.at);
        let from = Instant::from_millis(1_000_300);
        let seen = seen_at(&point, &conversation).into_iter();
        seen.filter(|packet| packet.at > from).collect::<Vec<_>>()
    });
    let merged = merge(&captures);
    let kept = analyzed(&merged, &Settings::default());
    assert_eq!(kept.retransmissions, []);
    assert_eq!(kept.connections.len(), 2);
    let packets: u64 = kept.connections.iter().map(|c| c.packets).sum();
    assert_eq!(packets, merged.len() as u64);
}

#[test]
fn the_next_connection_between_the_same_ends_has_both_points_too() {
    let captures = BY_HOP_LIMIT.map(|point| {
        let mut seen = seen_at(&point, &repaired());
        let mut next = seen_at(&point, &repaired());
        for packet in &mut next {
            packet.at += Duration::from_secs(70);
            packet.segment.seq += 500_000_000;
            packet.segment.ack += 500_000_000;
            let blocks = packet.segment.options.sack;
            packet.segment.options.sack = Options::NONE.sack;
            for block in blocks.as_slice() {
                let moved = block.map(|edge| edge + 500_000_000);
                packet.segment.options.sack.push(moved);
            }
        }
        seen.extend(next);
        seen
    });
    let kept = analyzed(&merge(&captures), &Settings::default());
    let points: Vec<_> = kept.connections.iter().map(|c| c.capture_point.number).collect();
    assert_eq!(points, [0, 1, 0, 1]);
    assert_eq!(kept.retransmissions.len(), 4);
}

/// Routes change, and balancers answer for hosts.
#[test]
fn hop_limits_that_change_in_one_capture_change_no_finding() {
    let expected = repaired().analyzed();
    let changes: [fn(usize, &mut CapturedPacket); 3] = [
        |i, packet| packet.hop_limit = if i < 8 { 52 } else { 51 },
        |i, packet| packet.hop_limit = 52 + (i % 3) as u8,
        |i, packet| packet.hop_limit = if i == 1 { 255 } else { 52 + (i % 2) as u8 },
    ];
    for change in changes {
        let mut conversation = repaired();
        for (i, packet) in conversation.packets.iter_mut().enumerate() {
            change(i, packet);
        }
        let kept = conversation.analyzed();
        assert_eq!(kept.connections, expected.connections);
        assert_eq!(kept.retransmissions, expected.retransmissions);
    }
}

/// A router captures each packet on its way in and on its way out.
#[test]
fn copies_within_a_host_belong_to_one_point() {
    let mut conversation = repaired();
    let mut all = Vec::new();
    for packet in conversation.packets.drain(..) {
        let mut out = packet;
        out.at = out.at.plus_nanos(15_000);
        (out.hop_limit, out.interface) = (63, 1);
        all.extend([packet, out]);
    }
    all.sort_by_key(|packet| packet.at);
    conversation.packets = all;
    let kept = conversation.analyzed();
    assert_eq!(kept.connections.len(), 1);
    assert_eq!(kept.retransmissions.len(), 1);
}

/// Without hop limits, only the ACKs tell which marks belong together: at each point they follow
/// the data.
#[test]
fn acks_pair_the_marks_of_both_sides_where_clocks_differ() {
    let points: [Point; 2] = [
        Point { change: |side, p| p.link = [1, 2][side], ..CLIENT_POINT },
        Point { ahead: 80.0, change: |side, p| p.link = [3, 4][side], ..SERVER_POINT },
    ];
    let captures = points.map(|point| {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..200_u32 {
            let at = 100.0 + f64::from(i) * 5.0;
            conversation.data(at, i64::from(i) * 1000, 1000);
            conversation.ack(at + 50.0, i64::from(i + 1) * 1000, 0, 0);
        }
        conversation.packets.sort_by_key(|packet| packet.at);
        let seen = seen_at(&point, &conversation);
        seen.into_iter().skip(100).collect::<Vec<_>>()
    });
    let kept = analyzed(&merge(&captures), &Settings::default());
    assert_eq!(kept.retransmissions, []);
    let vantages: Vec<_> = (kept.connections.iter())
        .map(|c| (c.capture_point.number, c.directions.each_ref().map(|d| d.vantage)))
        .collect();
    assert_eq!(vantages.len(), 2, "{vantages:?}");
    for connection in &kept.connections {
        let server = connection.directions.iter().find(|d| d.bytes > 0).unwrap();
        let near = connection.endpoints.src == SERVER.parse().unwrap();
        let at_server = (connection.capture_point.number == 0) == near;
        let expected = if at_server { Vantage::Sender } else { Vantage::Receiver };
        assert_eq!(server.vantage, expected, "{connection:?}");
    }
}

/// Whatever the marks, losses and clocks: every packet counts once.
#[test]
fn no_packet_of_any_mixture_is_lost() {
    for seed in 0..400_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        // xorshift64
        let mut draw = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let points = 1 + draw(4);
        let mut captures = Vec::new();
        for _ in 0..points {
            let point = Point { from_server: draw(26) as f64, ahead: draw(200) as f64 - 100.0, change: |_, _| {} };
            let (hop, link, outgoing) = (draw(3) as u8, draw(3) as u32, draw(3));
            let (loss, other, id) = (draw(10), draw(20), draw(3));
            let mut seen = seen_at(&point, &repaired());
            seen.retain(|_| draw(100) >= loss);
            for packet in &mut seen {
                packet.hop_limit = 64 - hop - u8::from(draw(100) < other);
                packet.link = link;
                packet.outgoing = (outgoing < 2).then_some(outgoing == side_of(packet) as u64);
                match id {
                    0 => packet.ip_id = None,
                    1 => packet.segment.options.timestamps = None,
                    _ => {}
                }
            }
            captures.push(seen);
        }
        let merged = merge(&captures);
        let kept = analyzed(&merged, &Settings::default());
        let packets: u64 = kept.connections.iter().map(|c| c.packets).sum();
        assert_eq!(packets, merged.len() as u64, "seed {seed}");
        for (i, connection) in kept.connections.iter().enumerate() {
            assert_eq!(connection.id, i as u64, "seed {seed}");
            let point = &connection.capture_point;
            assert!(point.number < point.count, "seed {seed}: {point:?}");
        }
        let mut frames: Vec<u64> = kept.retransmissions.iter().map(|row| row.frame).collect();
        frames.dedup();
        assert_eq!(frames.len(), kept.retransmissions.len(), "seed {seed}");
    }
}
