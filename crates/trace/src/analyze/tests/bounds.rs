//! Time and memory are bounded, and what is left out for that is counted.

use super::*;

/// A data packet at `ms`, from client number `client` between ports of its own.
pub fn data_of(client: u32, ms: f64, seq: i64, len: u32) -> CapturedPacket {
    let mut conversation = Conversation::mid_connection();
    conversation.ends[1].set_port(1000 + (client % 60_000) as u16);
    conversation.ends[1].set_ip(std::net::Ipv4Addr::from(0x0a00_0000 + client / 60_000).into());
    *conversation.data(ms, seq, len)
}

fn limited(most_memory: usize, threads: usize) -> Settings {
    Settings { most_memory, threads, ..Settings::default() }
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
    assert!((6_000..11_500).contains(&evicted.len()), "{}", evicted.len());
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
    let mut packets: Vec<_> = (1..=500).map(|client| data_of(client, f64::from(client), 0, 100)).collect();
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

/// A connection with 200 acknowledged segments, closed by both ends at about 5300 ms.
fn closed() -> Conversation {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..200_u32 {
        let (at, end) = (100.0 + 25.0 * f64::from(i), i64::from(i + 1) * 1000);
        conversation.data(at, end - 1000, 1000);
        conversation.ack(at + 50.0 + f64::from(i % 7), end, 0, 0);
    }
    let mut fin = |at, side, seq, ack| {
        let end = |segment: &mut Segment| segment.flags = Flags::FIN.union(Flags::ACK);
        conversation.packet(at, side, seq, 0, ack, end);
    };
    fin(5200.0, 1, 200_000, 0);
    fin(5250.0, 0, 0, 200_001);
    conversation.packet(5250.01, 1, 200_001, 0, 1, |_| {});
    conversation
}

/// Findings if the table is swept after `swept`, in ms after the end, and `late` packets follow. Also
/// its memory in between.
fn found_late(late: &[CapturedPacket], swept: u64) -> (Kept, usize) {
    let packets = closed().packets;
    let end = packets.last().unwrap().at;
    let mut connections = connection_table(&Settings::default(), Arc::default());
    let mut kept = Kept::default();
    connections.on_packets(&packed(&packets), &mut kept);
    connections.number(|_| 0, &mut kept);
    connections.sweep(end + Duration::from_millis(swept), &mut kept);
    let memory = connections.memory();
    connections.on_packets(&packed(late), &mut kept);
    connections.finish(&mut kept);
    connections.pass_on_held(&mut kept);
    (kept, memory)
}

#[test]
fn a_connection_that_ended_forgets_most_packets_but_no_finding() {
    let (whole, before) = found_late(&[], 0);
    let (young, young_memory) = found_late(&[], 500);
    let (old, old_memory) = found_late(&[], 2000);
    assert_eq!(young_memory, before);
    assert!(old_memory + 2000 < before, "{old_memory} of {before}");
    assert!(whole.connections[0].directions[1].rtt.is_some());
    assert_eq!(young.connections, whole.connections);
    assert_eq!(old.connections, whole.connections);
}

#[test]
fn late_retransmissions_are_explained_after_most_packets_are_forgotten() {
    let mut conversation = closed();
    let before = conversation.packets.len();
    let fin = |segment: &mut Segment| segment.flags = Flags::FIN.union(Flags::ACK);
    // The FINs, the server's last segment, and one that was acknowledged long before.
    conversation.packet(7500.0, 1, 200_000, 0, 0, fin);
    conversation.packet(7501.0, 1, 199_000, 1000, 0, |_| {});
    conversation.packet(7502.0, 0, 0, 0, 200_001, fin);
    conversation.packet(7503.0, 1, 2000, 1000, 0, |_| {});
    let late = &conversation.packets[before..];
    let [whole, old] = [0, 2000].map(|swept| found_late(late, swept).0);
    assert_eq!(whole.retransmissions.len(), 4);
    assert_eq!(old.retransmissions, whole.retransmissions);
    assert_eq!(old.connections, whole.connections);
}
