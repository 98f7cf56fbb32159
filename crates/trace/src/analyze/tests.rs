//! Analyses of whole connections, made packet by packet.

mod bounds;
mod clock;
mod cut;
mod damaged;
mod hosts;
mod identified;
mod middle;
mod replayed;
mod succession;
mod time;

use super::*;
use crate::{
    analyze::shard::connection_table,
    finding::{Closing, Evidence, Opening, PlacedLosses, Triggers, Vantage, Verdict},
    read::{CapturedPacket, Message, Packet, Tunnel},
};
use recoup_recovery::Trigger;
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, Segment, SeqNumber, Timestamps};

mod away;
mod copies;
mod duplicates;
mod looked;
mod lost;
mod merged;
mod merged_analyses;
mod path_mtu;
mod paused;
mod pieces;
mod plain;
mod selection;
mod tunnels;

const CLIENT: &str = "192.0.2.1:40000";
const SERVER: &str = "198.51.100.2:80";
const ISN: [u32; 2] = [0xffff_f000, 7_000_000];
const MSS: u32 = 1000;

/// A connection captured at the server: times in ms, sequence numbers from the first byte of data.
struct Conversation {
    packets: Vec<CapturedPacket>,
    ends: [std::net::SocketAddr; 2],
    ip_id: [u16; 2],
}

impl Conversation {
    /// With a handshake of 50 ms at `at`.
    fn opened(at: f64) -> Self {
        let mut conversation = Self::mid_connection();
        let syn = |segment: &mut Segment| {
            segment.flags = Flags::SYN;
            segment.options.mss = Some(MSS as u16 + 12);
            segment.options.sack_permitted = true;
            segment.options.window_scale = Some(7);
        };
        conversation.packet(at, 0, -1, 0, 0, syn);
        conversation.packet(at + 0.01, 1, -1, 0, 0, |segment| {
            syn(segment);
            segment.flags = Flags::SYN.union(Flags::ACK);
        });
        conversation.ack(at + 50.0, 0, 0, 0);
        conversation
    }

    fn mid_connection() -> Self {
        Self { packets: Vec::new(), ends: [CLIENT, SERVER].map(|end| end.parse().unwrap()), ip_id: [100, 500] }
    }

    fn packet(
        &mut self,
        at: f64,
        side: usize,
        seq: i64,
        len: u32,
        ack: i64,
        change: impl FnOnce(&mut Segment),
    ) -> &mut CapturedPacket {
        let number = |side: usize, n: i64| SeqNumber(ISN[side].wrapping_add((n + 1) as u32));
        let at = Instant::from_millis(1_000_000).plus_nanos((at * 1e6) as u64);
        let mut segment = Segment {
            seq: number(side, seq),
            ack: number(1 - side, ack),
            payload_len: len,
            window: 1000,
            flags: Flags::ACK,
            options: Options::NONE,
        };
        let ticks = (at.as_nanos() / 1_000_000) as u32;
        let echo = self.packets.iter().rev().find(|p| p.endpoints.src != self.ends[side]);
        segment.options.timestamps = Some(Timestamps {
            value: ticks,
            echo: echo.and_then(|p| p.segment.options.timestamps).map_or(0, |ts| ts.value),
        });
        change(&mut segment);
        self.ip_id[side] += 1;
        self.packets.push(CapturedPacket {
            frame: 0,
            at,
            endpoints: Endpoints { src: self.ends[side], dst: self.ends[1 - side] },
            segment,
            ip_id: Some(self.ip_id[side]),
            hop_limit: 64,
            ecn: Default::default(),
            options_complete: true,
            overlong: false,
            outgoing: None,
            interface: 0,
            link: 0,
            message: None,
            tunnel: Tunnel::NONE,
        });
        self.packets.last_mut().unwrap()
    }

    /// Data from the server.
    fn data(&mut self, at: f64, seq: i64, len: u32) -> &mut CapturedPacket {
        self.packet(at, 1, seq, len, 0, |_| {})
    }

    /// An ACK from the client.
    fn ack(&mut self, at: f64, ack: i64, from: i64, to: i64) -> &mut CapturedPacket {
        self.packet(at, 0, 0, 0, ack, |segment| {
            if to > from {
                let number = |n: i64| SeqNumber(ISN[1].wrapping_add((n + 1) as u32));
                segment.options.sack.push([number(from), number(to)]);
            }
        })
    }

    fn analyzed(mut self) -> Kept {
        for (i, packet) in self.packets.iter_mut().enumerate() {
            packet.frame = i as u64 + 1;
        }
        analyzed(&self.packets, &Settings::default())
    }
}

/// Analyzes all packets, and says whether capture points could be told apart.
fn finished<F: Findings>(
    packets: &[CapturedPacket],
    settings: &Settings,
    findings: impl Fn() -> F,
) -> (Analysis<F>, Separation) {
    let mut analyzer = Analyzer::new(settings, findings);
    analyzer.follow(packets.iter().copied());
    analyzer.finish_all()
}

fn analyzed(packets: &[CapturedPacket], settings: &Settings) -> Kept {
    paused::check(packets, settings);
    looked::check(packets, settings);
    selection::check(packets, settings);
    plain::check(packets, settings);
    let kept = merged_parts(follow(packets.iter().copied(), settings, Kept::default));
    for connection in &kept.connections {
        for direction in &connection.directions {
            assert_eq!(direction.time.total(), connection.duration(), "{direction:?}");
            // The rows of an episode account for the time that it took.
            let src = if std::ptr::eq(direction, &connection.directions[0]) {
                connection.endpoints.src
            } else {
                connection.endpoints.dst
            };
            let rows = kept
                .retransmissions
                .iter()
                .filter(|row| row.connection_key() == connection.key() && row.endpoints.src == src);
            if direction.retransmissions.total() != rows.clone().count() as u64 {
                // Those of inseparable capture points are left out.
                continue;
            }
            let recovering: Duration = rows.filter_map(|row| Some(row.cost?.recovering)).sum();
            let expected = direction.time.of(crate::finding::SenderState::Recovering);
            assert_eq!(recovering, expected, "{direction:?}");
        }
    }
    lost::check(&kept);
    kept
}

/// The sorted findings of all shards.
fn merged_parts(parts: Vec<Kept>) -> Kept {
    let mut all = Kept::default();
    for part in parts {
        all.connections.extend(part.connections);
        all.retransmissions.extend(part.retransmissions);
        all.revisions += part.revisions;
    }
    all.sort();
    all
}

/// Ten segments. One is lost, found by SACK and retransmitted.
fn repaired() -> Conversation {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..10 {
        conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    conversation.ack(150.0, 5000, 0, 0);
    for i in 6..10 {
        conversation.ack(150.0 + f64::from(i), 5000, 6000, (i64::from(i) + 1) * 1000);
    }
    conversation.data(159.5, 5000, 1000);
    conversation.ack(209.6, 10_000, 0, 0);
    conversation
}

#[test]
fn a_loss_detected_by_sack_is_explained() {
    let kept = repaired().analyzed();
    let [row] = kept.retransmissions.as_slice() else {
        panic!("{:?}", kept.retransmissions);
    };
    assert_eq!(row.frame, 19);
    assert_eq!(row.triggers, Trigger::Fast.into());
    assert_eq!(row.verdict, Verdict::Needed);
    assert_eq!((row.copy, row.len, row.flight), (1, 1000, 5));
    assert_eq!(row.vantage, Vantage::Sender);
    let ms = |d: Option<Duration>| (d.unwrap().as_secs_f64() * 1e3 * 100.0).round() / 100.0;
    assert_eq!(ms(row.detection), 59.45);
    assert_eq!(ms(row.recovery), 50.1);
    let connection = &kept.connections[0];
    assert_eq!(connection.opening, Opening::Handshake);
    assert_eq!(connection.closing, Closing::CaptureEnd);
    assert_eq!(connection.handshake_rtt, Some(Duration::from_millis(50)));
    let [client, server] = &connection.directions;
    assert_eq!((client.vantage, client.bytes), (Vantage::Receiver, 0));
    assert_eq!(server.bytes, 11_000);
    assert_eq!(server.retransmissions.total(), 1);
    assert_eq!((server.episodes, server.missing), (1, 0));
    assert_eq!(ms(Some(server.detecting_and_recovering)), 109.55);
}

/// The capture cut the SACK blocks off.
fn cut(mut conversation: Conversation) -> Conversation {
    for packet in &mut conversation.packets {
        let sack = &mut packet.segment.options.sack;
        packet.options_complete = sack.is_empty();
        *sack = Options::NONE.sack;
    }
    conversation
}

#[test]
fn without_sack_blocks_the_trigger_is_unknown() {
    let [row] = cut(repaired()).analyzed().retransmissions[..] else {
        panic!("expected one retransmission");
    };
    // If the original arrived and its ACK was lost, a DSACK that the capture cut reports the
    // duplicate.
    let found = (row.verdict, row.evidence, row.triggers);
    let nothing = (Verdict::Unknowable, Evidence::NoReports, Triggers::UNKNOWN);
    assert_eq!(found, nothing);
}

#[test]
fn a_duplicate_may_be_reported_where_options_are_cut() {
    // The ACK of the original is lost, so the sender probes.
    let probed = || {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, 1000);
        conversation.data(250.0, 0, 1000);
        conversation.ack(300.0, 1000, 0, 1000);
        conversation
    };
    let verdict = |conversation: Conversation| conversation.analyzed().retransmissions[0].verdict;
    assert_eq!(verdict(probed()), Verdict::Spurious);
    assert_eq!(verdict(cut(probed())), Verdict::Unknowable);
}

#[test]
fn a_retransmission_with_new_bytes_is_needed() {
    // The original arrived, but not the bytes added to it.
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 500);
    conversation.data(130.0, 0, 1000);
    conversation.ack(150.0, 500, 0, 0);
    conversation.ack(180.0, 1000, 0, 500);
    let [row] = conversation.analyzed().retransmissions[..] else {
        panic!("expected one retransmission");
    };
    let found = (row.vantage, row.verdict, row.evidence);
    let needed = (Vantage::Sender, Verdict::Needed, Evidence::NoCopySeen);
    assert_eq!(found, needed);
}

#[test]
fn at_the_receiver_a_partial_copy_makes_nothing_spurious() {
    // Captured at the server: the client's first 500 bytes are lost, and retransmitted together
    // with the next 500.
    let verdict = |lost: bool| {
        let mut conversation = Conversation::opened(0.0);
        conversation.packet(60.0, 0, 0, 100, 0, |_| {});
        conversation.packet(60.1, 1, 0, 0, 100, |_| {});
        if !lost {
            conversation.packet(70.0, 0, 100, 500, 0, |_| {});
        }
        conversation.packet(70.1, 0, 600, 500, 0, |_| {});
        conversation.packet(70.2, 1, 0, 0, if lost { 100 } else { 1100 }, |_| {});
        conversation.packet(270.0, 0, 100, 1000, 0, |_| {});
        conversation.packet(270.1, 1, 0, 0, 1100, |_| {});
        let kept = conversation.analyzed();
        let row = kept.retransmissions.last().unwrap();
        assert_eq!(row.vantage, Vantage::Receiver);
        row.verdict
    };
    assert_eq!(verdict(false), Verdict::Spurious);
    assert_ne!(verdict(true), Verdict::Spurious);
}

#[test]
fn probes_duplicates_and_reordering_are_no_retransmissions() {
    type Change = fn(&mut Conversation);
    // (name, packets after ten segments sent at 100 ms and acknowledged at 150 ms)
    let cases: [(&str, Change); 6] = [
        ("a keep-alive without data", |conversation| {
            conversation.data(5000.0, 9999, 0);
        }),
        ("a keep-alive with a byte", |conversation| {
            conversation.data(5000.0, 9999, 1);
        }),
        ("a packet duplicated by the capture", |conversation| {
            conversation.data(160.0, 10_000, 1000);
            let mut again = *conversation.packets.last().unwrap();
            again.at = again.at.plus_nanos(3000);
            conversation.packets.push(again);
        }),
        ("packets out of order in the capture", |conversation| {
            conversation.data(160.0, 10_000, 1000);
            conversation.data(160.1, 11_000, 1000);
            let n = conversation.packets.len();
            conversation.packets.swap(n - 1, n - 2);
        }),
        ("an ACK of data that was not captured", |conversation| {
            conversation.ack(200.0, 20_000, 0, 0);
            conversation.data(201.0, 20_000, 1000);
        }),
        ("a zero-window probe", |conversation| {
            let shut = conversation.ack(170.0, 10_000, 0, 0);
            shut.segment.window = 0;
            conversation.data(400.0, 10_000, 1);
            conversation.ack(450.0, 10_000, 0, 0).segment.window = 0;
            conversation.data(900.0, 10_000, 1);
        }),
    ];
    for (what, change) in cases {
        let mut conversation = Conversation::opened(0.0);
        for i in 0..10 {
            conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
        }
        conversation.ack(150.0, 10_000, 0, 0);
        change(&mut conversation);
        let kept = conversation.analyzed();
        assert_eq!(kept.retransmissions, [], "{what}");
    }
}

#[test]
fn probes_and_timeouts_are_distinguished() {
    // The tail is lost, and its probe as well. Then the retransmission timer fires twice.
    let mut conversation = Conversation::opened(0.0);
    for i in 0..10 {
        conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    conversation.ack(150.0, 8000, 0, 0);
    conversation.data(252.5, 9000, 1000); // 2·SRTT + 2 ms after the ACK
    conversation.data(504.0, 8000, 1000);
    conversation.data(1006.0, 8000, 1000);
    conversation.ack(1056.1, 9000, 0, 0);
    conversation.data(1056.2, 9000, 1000);
    conversation.ack(1106.3, 10_000, 0, 0);
    let kept = conversation.analyzed();
    let outline = kept.retransmissions.iter();
    let outline: Vec<_> = outline.map(|row| (row.triggers.to_string(), row.copy, row.verdict)).collect();
    let expected = [("tlp", 1), ("rto", 1), ("rto", 2), ("slow_start", 2)];
    let expected = expected.map(|(trigger, copy)| (trigger.to_string(), copy, Verdict::Needed));
    assert_eq!(outline, expected);
}

#[test]
fn a_connection_is_followed_from_its_middle() {
    let mut conversation = repaired();
    conversation.packets.drain(..5);
    conversation.packets.remove(1); // one the capture lost
    let kept = conversation.analyzed();
    assert_eq!(kept.retransmissions.len(), 1);
    let connection = &kept.connections[0];
    assert_eq!(connection.opening, Opening::MidConnection);
    assert_eq!(connection.endpoints.src.to_string(), SERVER);
    assert_eq!(connection.directions[0].missing, 1000);
}

#[test]
fn with_one_direction_only_retransmissions_are_found_and_left_unexplained() {
    let mut conversation = repaired();
    conversation.packets.retain(|packet| packet.endpoints.src.to_string() == SERVER);
    let kept = conversation.analyzed();
    let [row] = kept.retransmissions.as_slice() else {
        panic!("{:?}", kept.retransmissions);
    };
    assert_eq!(row.verdict, Verdict::Unknowable);
    assert_eq!(row.evidence, Evidence::NotAcknowledged);
    assert_eq!(row.vantage, Vantage::Unknown);
    assert_eq!(row.triggers, Triggers::UNKNOWN);

    let mut conversation = repaired();
    conversation.packets.retain(|packet| packet.endpoints.src.to_string() == CLIENT);
    let kept = conversation.analyzed();
    assert_eq!(kept.retransmissions, []);
    assert_eq!(kept.connections[0].directions[1].bytes, 0);
}

#[test]
fn segments_of_one_packet_are_retransmitted_singly() {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 10_000);
    conversation.ack(150.0, 5000, 0, 0);
    for i in 6..10 {
        conversation.ack(150.0 + f64::from(i), 5000, 6000, (i64::from(i) + 1) * 1000);
    }
    conversation.data(159.5, 5000, 1000);
    conversation.ack(209.6, 10_000, 0, 0);
    let kept = conversation.analyzed();
    let [row] = kept.retransmissions.as_slice() else {
        panic!("{:?}", kept.retransmissions);
    };
    assert_eq!(row.triggers, Trigger::Fast.into());
    assert_eq!(row.verdict, Verdict::Needed);
}

#[test]
fn connections_between_the_same_ends_are_separate() {
    let mut conversation = repaired();
    let second = repaired();
    for mut packet in second.packets {
        packet.at += Duration::from_secs(2);
        let segment = &mut packet.segment;
        let moved = |number: &mut SeqNumber| *number += 1_000_000;
        moved(&mut segment.seq);
        moved(&mut segment.ack);
        let blocks: Vec<_> = segment.options.sack.as_slice().to_vec();
        segment.options.sack = Default::default();
        for [left, right] in blocks {
            segment.options.sack.push([left + 1_000_000, right + 1_000_000]);
        }
        conversation.packets.push(packet);
    }
    let kept = conversation.analyzed();
    assert_eq!(kept.connections.len(), 2);
    assert_eq!(kept.connections[0].closing, Closing::Replaced);
    let rows = kept.retransmissions.iter().map(|row| row.connection);
    assert_eq!(rows.collect::<Vec<_>>(), [0, 1]);
}

/// Packets as a shard takes them, at the times of their timestamps.
fn packed(packets: &[CapturedPacket]) -> PackedPackets {
    let mut all = PackedPackets::default();
    let packets = packets.iter();
    packets.for_each(|packet| all.push(&Packet::from(packet), packet.at));
    all
}

#[test]
fn a_flood_of_syns_costs_bounded_memory_and_harms_no_connection() {
    for answered in [false, true] {
        flood(answered);
    }
}

fn flood(answered: bool) {
    let mut conversation = repaired();
    let rest = conversation.packets.split_off(10);
    let handshake = [conversation.packets[0], conversation.packets[1]];
    let mut connections = connection_table(&Settings::default(), Arc::default());
    let mut kept = Kept::default();
    connections.on_packets(&packed(&conversation.packets), &mut kept);
    let mut most = 0;
    for i in 0..200_000_u32 {
        let port = (i % 60_000) as u16 + 1;
        let ip = std::net::Ipv4Addr::from(0x0a00_0000 + i / 60_000 * 7 + i);
        let [mut syn, mut answer] = handshake;
        for packet in [&mut syn, &mut answer] {
            packet.at = rest[0].at;
        }
        syn.endpoints.src = (ip, port).into();
        answer.endpoints.dst = (ip, port).into();
        let packets = &[syn, answer][..1 + usize::from(answered)];
        connections.on_packets(&packed(packets), &mut kept);
        connections.number(|frame| frame, &mut kept);
        most = most.max(connections.open());
    }
    assert!(most <= (1 << 16) / FEWEST_SHARDS + 2, "{most} connections at once");
    connections.on_packets(&packed(&rest), &mut kept);
    connections.finish(&mut kept);
    connections.pass_on_held(&mut kept);
    assert_eq!(kept.retransmissions.len(), 1);
    let evicted = kept.connections.iter();
    let evicted = evicted.filter(|c| c.closing == Closing::Evicted).count();
    assert!(evicted > 100_000, "{evicted}");
}

#[test]
fn silent_connections_are_closed() {
    let mut conversation = repaired();
    let second = repaired().packets;
    let later = Duration::from_secs(2000);
    for (i, packet) in second.into_iter().cycle().take(400).enumerate() {
        let mut packet = packet;
        let other = "192.0.2.77:1".parse().unwrap();
        let ends = &mut packet.endpoints;
        for end in [&mut ends.src, &mut ends.dst] {
            if end.to_string() == CLIENT {
                *end = other;
            }
        }
        packet.at = packet.at + later + Duration::from_secs(i as u64);
        conversation.packets.push(packet);
    }
    let kept = conversation.analyzed();
    assert_eq!(kept.connections[0].closing, Closing::Idle);
}

#[test]
fn contradicting_direction_flags_are_ignored() {
    // At a router every packet comes in and goes out. This capture kept one flag of each.
    let mut conversation = repaired();
    for (i, packet) in conversation.packets.iter_mut().enumerate() {
        packet.outgoing = Some(i < 4 && packet.endpoints.src.to_string() == SERVER);
    }
    let kept = conversation.analyzed();
    let vantages = kept.connections[0].directions.each_ref().map(|d| d.vantage);
    assert_eq!(vantages, [Vantage::Receiver, Vantage::Sender]);
}
