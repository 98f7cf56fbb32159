//! Timestamps that jump.

use super::*;
use crate::{
    analyze::{feed::PacketFeed, round::Round, shard::Reorder},
    read::ClockAnomalies,
};

/// The times at which packets with these timestamps are analyzed, in order and in ms, and the
/// anomalies.
fn timed(timestamps: &[u64]) -> (Vec<u64>, ClockAnomalies) {
    let packet = *repaired().packets.first().unwrap();
    let mut packets = timestamps.iter().enumerate().map(|(i, &at)| CapturedPacket {
        frame: i as u64 + 1,
        at: Instant::from_millis(at),
        ..packet
    });
    let mut packets = |packet: &mut Packet| {
        let next = packets.next().map(|next| Packet::from(&next));
        next.map(|next| *packet = next).is_some()
    };
    let mut feed = PacketFeed::new(TimeWindow::default());
    let (mut round, mut reorder, mut got) = (Round::new(FEWEST_SHARDS), Reorder::default(), Vec::new());
    while feed.fill(&mut packets, &mut round, true) {
        for part in &round.parts {
            reorder.in_order(part, round.facts.order, |packets| {
                let times = packets.iter().map(|timed| timed.time.as_nanos() / 1_000_000);
                got.extend(times);
            });
        }
        round.clear();
    }
    (got, feed.clock)
}

#[test]
fn time_goes_forward_whatever_the_timestamps() {
    const DAY: u64 = 86_400_000;
    const FALLBACK: u64 = (1 << 60) / 1_000_000;
    // (name, timestamps, times, [clock set back, outliers]), all times in ms
    type Case = (&'static str, &'static [u64], &'static [u64], [u64; 2]);
    let cases: [Case; 12] = [
        ("in order", &[1, 2, 3], &[1, 2, 3], [0, 0]),
        ("slightly late", &[1, 3, 2, 5, 4], &[1, 2, 3, 4, 5], [0, 0]),
        ("clock set back", &[5000, 5002, 5001, 10, 11, 31], &[5000, 5001, 5002, 5002, 5003, 5023], [1, 0]),
        ("clock set back twice", &[9000, 5000, 5010, 1000, 1010], &[9000, 9000, 9010, 9010, 9020], [2, 0]),
        ("clock set back, then right", &[9000, 5000, 5010, 9030, 9040], &[9000, 9000, 9010, 9030, 9040], [1, 0]),
        ("silence after the clock was set back", &[9000, 5000, 7000, 7010], &[9000, 9000, 11_000, 11_010], [1, 0]),
        ("one timestamp a day ahead", &[1000, 1010 + DAY, 1020, 1030], &[1000, 1000, 1020, 1030], [0, 1]),
        ("one timestamp in the past", &[9000, 0, 9020, 9030], &[9000, 9000, 9020, 9030], [0, 1]),
        ("silence", &[0, 10, DAY, DAY + 1], &[0, 10, DAY, DAY + 1], [0, 0]),
        (
            "impossible timestamps first",
            &[u64::MAX, u64::MAX, 5000, 5010],
            &[FALLBACK, FALLBACK, FALLBACK, FALLBACK + 10],
            [1, 0],
        ),
        (
            "impossible timestamps in between",
            &[5000, u64::MAX, u64::MAX, 5010, 5020],
            &[5000, 5000, 5000, 5000, 5010],
            [2, 0],
        ),
        ("the first timestamp a day ahead", &[DAY, 10, 20], &[DAY, DAY, DAY + 10], [1, 0]),
    ];
    for (what, timestamps, times, [set, outliers]) in cases {
        let (got, clock) = timed(timestamps);
        assert_eq!(got, times, "{what}");
        let counts = [clock.set, clock.outliers].map(|steps| steps.frames.count);
        assert_eq!(counts, [set, outliers], "{what}");
    }
    let (_, clock) = timed(&[9000, 5000, 5010]);
    assert_eq!(clock.set.frames.first_frame, 2);
    assert_eq!(clock.set.first_by, Duration::from_secs(4));
    let (_, clock) = timed(&[u64::MAX, 5000, 5010]);
    let by = Duration::from_nanos(u64::MAX - 1) - Duration::from_secs(5);
    assert_eq!(clock.set.first_by, by);
}

#[test]
fn a_connection_survives_clock_changes() {
    type Stamps = fn(&mut [CapturedPacket]);
    let cases: [(&str, Stamps); 2] = [
        ("one timestamp a day ahead", |packets| {
            packets[12].at += Duration::from_secs(86_400);
        }),
        ("clock set back by 15 minutes", |packets| {
            for packet in &mut packets[14..] {
                packet.at = Instant::from_nanos(packet.at.as_nanos() - 900_000_000_000);
            }
        }),
    ];
    for (what, change) in cases {
        let mut conversation = repaired();
        change(&mut conversation.packets);
        let timestamp = conversation.packets[18].at;
        let kept = conversation.analyzed();
        let [row] = kept.retransmissions.as_slice() else {
            panic!("{what}: {:?}", kept.retransmissions);
        };
        assert_eq!((row.frame, row.at), (19, timestamp), "{what}");
        assert_eq!(row.triggers, Trigger::Fast.into(), "{what}");
        assert_eq!(row.verdict, Verdict::Needed, "{what}");
        assert_eq!(kept.connections.len(), 1, "{what}");
        let took = kept.connections[0].duration().as_millis();
        assert!((150..=210).contains(&took), "{what}: {took} ms");
    }
}

#[test]
fn numbers_of_connections_do_not_depend_on_shards_where_packets_are_late() {
    const CONNECTIONS: u16 = 20_000;
    let syn = *repaired().packets.first().unwrap();
    let packets: Vec<CapturedPacket> = (0..CONNECTIONS)
        .map(|i| {
            let mut packet = CapturedPacket { frame: u64::from(i) + 1, ..syn };
            packet.endpoints.src.set_port(1 + i);
            // Every seventh is up to 3 ms late.
            let late = if i % 7 == 0 { u64::from(i % 31) * 100 } else { 0 };
            packet.at = Instant::from_nanos((10_000 + u64::from(i) * 10 - late) * 1000);
            packet
        })
        .collect();
    let numbers = |shards: usize| {
        let settings = Settings { shards, ..Settings::default() };
        let kept = merged_parts(follow(packets.iter().copied(), &settings, Kept::default));
        kept.connections.iter().map(|c| c.endpoints.src.port()).collect::<Vec<u16>>()
    };
    let few = numbers(FEWEST_SHARDS);
    assert_eq!(few.len(), usize::from(CONNECTIONS));
    for shards in [64, MOST_SHARDS] {
        assert!(numbers(shards) == few, "{shards} shards");
    }
}
