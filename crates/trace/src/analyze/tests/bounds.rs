//! Time and memory are bounded, and what is left out for that is counted.

use super::*;

/// A data packet at `ms`, from client number `client` between ports of its own.
fn data_of(client: u32, ms: f64, seq: i64, len: u32) -> CapturedPacket {
    let mut conversation = Conversation::mid_connection();
    conversation.ends[1].set_port(1000 + (client % 60_000) as u16);
    conversation.ends[1].set_ip(std::net::Ipv4Addr::from(0x0a00_0000 + client / 60_000).into());
    *conversation.data(ms, seq, len)
}

fn limited(most_memory: usize, threads: usize) -> Settings {
    Settings {
        most_memory,
        threads,
        ..Settings::default()
    }
}

/// Numbers the packets and analyzes them.
fn found(mut packets: Vec<CapturedPacket>, settings: &Settings) -> Kept {
    for (i, packet) in packets.iter_mut().enumerate() {
        packet.frame = i as u64 + 1;
    }
    analyzed(&packets, settings)
}

fn evicted(kept: &Kept) -> Vec<u64> {
    let evicted = kept.connections.iter();
    let evicted = evicted.filter(|c| c.closing == Closing::Evicted);
    evicted.map(|c| c.id).collect()
}

#[test]
fn at_the_memory_bound_the_longest_silent_are_closed() {
    // Connections of one packet each. The first of them goes on.
    let packets = (0..12_000_u32).map(|i| match i % 100 {
        0 => data_of(0, f64::from(i), i64::from(i), 1),
        _ => data_of(i, f64::from(i), 0, 100),
    });
    let packets: Vec<_> = packets.collect();
    let bound = 3 << 20;
    let kept = found(packets.clone(), &limited(bound, 0));
    let evicted = evicted(&kept);
    assert!(
        (6_000..11_500).contains(&evicted.len()),
        "{}",
        evicted.len()
    );
    assert_eq!(evicted, (1..=evicted.len() as u64).collect::<Vec<_>>());
    assert_eq!(kept.connections[0].packets, 120);
    assert_eq!(kept.connections.len(), 12_000 - 120 + 1);

    let parallel = found(packets.clone(), &limited(bound, 3));
    assert_eq!(parallel.connections, kept.connections);
    let all = found(packets, &Settings::default());
    let all = all.connections.iter();
    assert!(all.into_iter().all(|c| c.closing != Closing::Evicted));
}

#[test]
fn a_connection_that_takes_up_most_memory_is_closed_first() {
    let mut packets: Vec<_> = (1..=500)
        .map(|client| data_of(client, f64::from(client), 0, 100))
        .collect();
    packets.push(data_of(0, 2000.0, 0, 1000));
    for i in 0..15_000_u32 {
        let at = 2001.0 + f64::from(i) * 10.0;
        packets.push(data_of(0, at, i64::from(i % 997), 1 + i % 3));
    }
    let kept = found(packets, &limited(2 << 20, 0));
    let evicted = evicted(&kept);
    assert_eq!(evicted.first(), Some(&500), "the large one");
    let rest = kept.connections.iter().filter(|c| c.id < 500);
    assert!(rest.into_iter().all(|c| c.closing == Closing::CaptureEnd));
    let packets = kept.connections.iter().map(|c| c.packets);
    assert_eq!(packets.sum::<u64>(), 15_501, "none is lost");
}

/// Segments with gaps before them, and the last one again.
fn with_gaps(gaps: i64) -> Kept {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    conversation.ack(150.0, 1000, 0, 0);
    for gap in 1..=gaps {
        conversation.data(160.0 + gap as f64, gap << 28, 1000);
    }
    conversation.data(800.0, gaps << 28, 1000);
    conversation.analyzed()
}

#[test]
fn a_replay_that_costs_more_than_its_packets_pay_for_is_left_out() {
    let one = &with_gaps(1);
    assert!(!one.connections[0].directions[1].too_costly);
    let many = &with_gaps(6);
    assert!(many.connections[0].directions[1].too_costly);
    let triggers = many.retransmissions.iter().map(|row| row.triggers);
    assert_eq!(triggers.collect::<Vec<_>>(), [Triggers::UNKNOWN]);
}

#[test]
fn ordinary_connections_are_explained_in_full() {
    let kept = repaired().analyzed();
    assert!(kept.connections[0].directions.iter().all(|d| !d.too_costly));
}

#[test]
fn parts_of_very_many_packets_are_not_told_apart() {
    // A thousand bytes in the middle of each of many outstanding packets.
    let resent = |packets: i64| {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..packets {
            conversation.data(100.0 + i as f64 * 0.001, i * 3000, 3000);
        }
        for i in 0..packets / 2 {
            let seq = (i * 7919 % packets) * 3000 + 1000;
            conversation.data(1000.0 + i as f64, seq, 10);
        }
        conversation.analyzed()
    };
    for (packets, too_costly) in [(200, false), (8000, true)] {
        let kept = resent(packets);
        let direction = &kept.connections[0].directions[1];
        assert_eq!(kept.retransmissions.len() as i64, packets / 2);
        assert_eq!(direction.too_costly, too_costly, "{packets}");
    }
}
