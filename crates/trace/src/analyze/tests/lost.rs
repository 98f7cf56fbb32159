//! The time that directions lost, by cause.

use super::{hosts::Visits, *};
use crate::{
    finding::{Cause, LostTime},
    hosts::Hosts,
};

/// Time lost by the rows of a direction.
fn lost_in_rows(rows: &[Retransmission], connection: &Connection, side: usize) -> LostTime {
    let ends = [connection.endpoints.src, connection.endpoints.dst];
    let own = rows.iter().filter(|row| row.connection_key() == connection.key() && row.endpoints.src == ends[side]);
    let mut lost = LostTime::default();
    for cost in own.filter_map(|row| row.cost) {
        lost.add(cost.cause, cost.lost);
    }
    lost
}

/// Checks what holds for every analysis: both directions lose no more than their life, and the totals are those of the
/// rows and of what no row claims.
pub fn check(kept: &Kept) {
    for connection in &kept.connections {
        let both = connection.directions.each_ref().map(|direction| direction.lost.total());
        assert!(both.iter().sum::<Duration>() <= connection.duration(), "{connection:?}");
        for (side, direction) in connection.directions.iter().enumerate() {
            let lost = direction.lost;
            assert!(lost.total() <= connection.duration(), "{connection:?}");
            let in_rows = lost_in_rows(&kept.retransmissions, connection, side);
            for cause in Cause::ALL {
                let (all, rows) = (lost.of(cause), in_rows.of(cause));
                let elsewhere =
                    [Cause::DelaySpike, Cause::LostAcks, Cause::ZeroWindow, Cause::NagleDelayedAck].contains(&cause);
                assert!(all == rows || (elsewhere && all > rows), "{cause:?}: {all:?} {rows:?}");
            }
        }
    }
}

/// A cause, how often, and ms.
type Lost = (&'static str, u32, f64);

/// Time lost by the first connection.
fn lost(conversation: Conversation) -> Vec<Lost> {
    let kept = conversation.analyzed();
    let mut lost = kept.connections[0].directions[0].lost;
    lost.merge(&kept.connections[0].directions[1].lost);
    let found = Cause::ALL.into_iter().filter(|cause| lost.times(*cause) > 0);
    let ms = |cause| (lost.of(cause).as_secs_f64() * 1e4).round() / 10.0;
    found.map(|cause| (cause.name(), lost.times(cause), ms(cause))).collect()
}

#[test]
fn an_episode_loses_what_comes_after_the_ack_was_due() {
    let kept = repaired().analyzed();
    let cost = kept.retransmissions[0].cost.unwrap();
    assert_eq!((cost.cause, cost.segments), (Cause::LostSegment, 1));
    // The receiver reported the last segment at 159 ms.
    assert_eq!(cost.lost, Duration::from_micros(209_600 - 159_000));
    assert!(cost.recovering >= cost.lost);
}

#[test]
fn what_is_lost_after_an_episode_begins_another_one() {
    let mut conversation = repaired();
    for i in 10..20 {
        conversation.data(300.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    for i in 11..20 {
        conversation.ack(350.0 + f64::from(i) * 0.01, 10_000, 11_000, (i64::from(i) + 1) * 1000);
    }
    conversation.data(350.2, 10_000, 1000);
    conversation.ack(400.3, 20_000, 0, 0);
    let [(cause, times, ms)] = lost(conversation)[..] else { panic!() };
    assert_eq!((cause, times), ("lost_segment", 2));
    assert!((100.0..115.0).contains(&ms), "{ms}");
}

/// A handshake of 50 ms whose packets pass the server at these times: the client's SYNs, the server's
/// SYN-ACKs, and the ACK.
fn handshake(syns: &[f64], syn_acks: &[f64], done: f64, timestamps: bool) -> Conversation {
    let mut conversation = Conversation::opened(0.0);
    let packets = std::mem::take(&mut conversation.packets);
    let all = |i: usize, times: &[f64]| {
        let packet = packets[i];
        let at = times.iter().map(move |at| {
            let mut packet = packet;
            packet.at = Instant::from_millis(1_000_000).plus_nanos((at * 1e6) as u64);
            if let Some(ts) = &mut packet.segment.options.timestamps {
                ts.value = (packet.at.as_nanos() / 1_000_000) as u32;
            }
            packet
        });
        at.collect::<Vec<_>>()
    };
    conversation.packets = [all(0, syns), all(1, syn_acks), all(2, &[done])].concat();
    conversation.packets.sort_by_key(|packet| packet.at);
    for (i, packet) in conversation.packets.iter_mut().enumerate() {
        packet.ip_id = Some(100 + 10 * i as u16);
    }
    let last = conversation.packets.len() - 1;
    let answered = conversation.packets[last - 1].segment.options.timestamps;
    if let Some(ts) = &mut conversation.packets[last].segment.options.timestamps {
        ts.echo = answered.map_or(0, |ts| ts.value);
    }
    // A request, which the server acknowledges at once, shows where the capture was taken.
    conversation.packet(done + 10.0, 0, 0, 100, 0, |_| {});
    conversation.packet(done + 10.01, 1, 0, 0, 100, |_| {});
    conversation.data(done + 100.0, 0, 1000);
    conversation.ack(done + 150.0, 1000, 0, 0);
    if !timestamps {
        for packet in &mut conversation.packets {
            packet.segment.options.timestamps = None;
        }
    }
    conversation
}

#[test]
fn a_handshake_loses_what_comes_after_one_round_trip() {
    // (SYNs, SYN-ACKs, ACK, with timestamps, what was lost)
    type Case = (&'static [f64], &'static [f64], f64, bool, &'static [Lost]);
    let cases: [Case; 6] = [
        (&[0.0], &[0.01], 50.01, true, &[]),
        // A lost SYN is invisible at the server.
        (&[1000.0], &[1000.01], 1050.01, true, &[]),
        (&[0.0], &[0.01, 1000.0], 1050.0, true, &[("lost_syn_ack", 1, 1000.0)]),
        (&[0.0, 1000.0], &[0.01, 1000.01], 1050.01, false, &[("lost_syn_ack", 1, 1000.0)]),
        (&[0.0, 1000.0], &[0.01, 999.0, 1000.01], 1050.01, true, &[("lost_syn_ack", 1, 1000.0)]),
        // The server did not answer the first SYN.
        (&[0.0, 1000.0], &[1000.01], 1050.01, true, &[("unanswered_syn", 1, 1000.0)]),
    ];
    for (syns, syn_acks, done, timestamps, expected) in cases {
        let found = lost(handshake(syns, syn_acks, done, timestamps));
        assert_eq!(found, expected, "{syns:?} {syn_acks:?}");
    }
}

#[test]
fn a_handshake_that_never_completes_loses_nothing() {
    let mut conversation = handshake(&[0.0, 1000.0, 3000.0], &[0.01, 1000.01, 3000.01], 9000.0, true);
    conversation.packets.truncate(6);
    assert_eq!(lost(conversation), []);
}

#[test]
fn late_acks_lose_time_that_no_episode_claims() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..10 {
        let at = 100.0 + 100.0 * f64::from(i);
        let first = i64::from(i) * 2000;
        let late = if i == 8 { 150.0 } else { 50.0 };
        conversation.data(at, first, 1000);
        conversation.data(at + 0.01, first + 1000, 1000);
        conversation.ack(at + late, first + 2000, 0, 0);
    }
    let [(cause, times, ms)] = lost(conversation)[..] else { panic!() };
    assert_eq!((cause, times), ("delay_spike", 1));
    assert!((99.0..101.0).contains(&ms), "{ms}");
}

#[test]
fn totals_after_revisions_are_those_of_an_analysis_that_knew_from_the_start() {
    for timestamps in [true, false] {
        let visits = || {
            let mut visits = Visits::new(timestamps);
            for _ in 0..4 {
                visits.doubtful();
            }
            for _ in 0..4 {
                visits.spurious(false);
            }
            visits.conversation
        };
        let totals = |hosts: Hosts| {
            let mut packets = visits().packets;
            for (i, packet) in packets.iter_mut().enumerate() {
                packet.frame = i as u64 + 1;
            }
            // With a given profile, no connection waits for its host to be identified.
            let profile = "linux-6".parse().ok();
            let settings = Settings { hosts: hosts.into(), profile, ..Settings::default() };
            let (analysis, _) = finished(&packets, &settings, Kept::default);
            let revised: u64 = analysis.findings.iter().map(|kept| kept.revisions).sum();
            let kept = merged_parts(analysis.findings);
            check(&kept);
            let mut lost = LostTime::default();
            for connection in &kept.connections {
                lost.merge(&connection.directions[1].lost);
            }
            (lost, revised, analysis.hosts)
        };
        let (lost, revised, learned) = totals(Hosts::default());
        let (known, not_revised, _) = totals(learned);
        assert!(revised > 0 && not_revised == 0, "{revised} {not_revised}");
        assert_eq!(lost, known, "{timestamps}");
        assert!(lost.times(Cause::Unknown) > 0 || timestamps, "{lost:?}");
    }
}

#[test]
fn a_zero_window_loses_the_time_in_which_data_waits() {
    // (when a probe comes, when the next data comes after the window opened at 900 ms, what was lost)
    let cases: [(Option<f64>, f64, &[Lost]); 3] = [
        (Some(350.0), 900.1, &[("zero_window", 1, 750.0)]),
        // Data that leaves as the window opens waited.
        (None, 900.1, &[("zero_window", 1, 750.0)]),
        (None, 1500.0, &[]),
    ];
    for (probe, next, expected) in cases {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, 1000);
        conversation.ack(150.0, 1000, 0, 0).segment.window = 0;
        if let Some(at) = probe {
            conversation.data(at, 1000, 1);
            conversation.ack(at + 50.0, 1000, 0, 0).segment.window = 0;
        }
        conversation.ack(900.0, 1000, 0, 0);
        conversation.data(next, 1000, 1000);
        conversation.ack(next + 50.0, 2000, 0, 0);
        assert_eq!(lost(conversation), expected, "{probe:?} {next}");
    }
}

/// Six segments. Nothing of the `lost` ones arrives; the others are reported. One is retransmitted at `again` ms.
fn flight(lost: std::ops::Range<i64>, again: f64) -> Conversation {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(60.0, 0, 1000);
    conversation.ack(110.0, 1000, 0, 0);
    for i in 1..7 {
        conversation.data(200.0 + i as f64 * 0.01, i * 1000, 1000);
    }
    conversation.ack(250.0, lost.start * 1000, 0, 0);
    if lost.end < 7 {
        conversation.ack(250.1, lost.start * 1000, lost.end * 1000, 7000);
    }
    conversation.data(again, lost.start * 1000, 1000);
    for i in lost.start + 1..lost.end {
        conversation.ack(again + 50.0 + i as f64, i * 1000, 0, 0);
        conversation.data(again + 50.1 + i as f64, i * 1000, 1000);
    }
    conversation.ack(again + 60.0 + lost.end as f64, 7000, 0, 0);
    conversation
}

#[test]
fn what_the_receiver_had_reported_tells_a_tail_from_a_loss_within_the_flight() {
    // (lost segments, when the timeout came, cause)
    let cases = [(5..7, 1300.0, "tail_by_timeout"), (1..7, 1300.0, "tail_by_timeout")];
    for (segments, again, expected) in cases {
        let [(cause, times, ms)] = lost(flight(segments.clone(), again))[..] else { panic!("{segments:?}") };
        assert_eq!((cause, times), (expected, 1), "{segments:?}");
        assert!((1100.0..1120.0).contains(&ms), "{ms}");
    }
}

#[test]
fn the_report_of_the_last_byte_is_when_its_ack_would_have_come() {
    let kept = flight(3..4, 290.0).analyzed();
    let cost = kept.retransmissions[0].cost.unwrap();
    assert_eq!(cost.cause, Cause::LostSegment);
    // From 250.1, when segments up to the last one were reported, to 354.
    assert_eq!(cost.lost, Duration::from_micros(103_900));
}

#[test]
fn what_both_directions_lose_at_a_time_counts_once() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..6 {
        let (at, seq) = (100.0 * f64::from(i + 1), i64::from(i) * 100);
        conversation.packet(at, 0, seq, 100, seq, |_| {});
        conversation.packet(at + 0.01, 1, seq, 100, seq + 100, |_| {});
    }
    conversation.ack(650.0, 600, 0, 0).segment.seq = SeqNumber(ISN[0].wrapping_add(601));
    // Nothing passes for 3 s in either direction.
    conversation.packet(700.0, 1, 600, 100, 600, |_| {});
    for (at, side) in [(1000.0, 1), (1010.0, 0), (1600.0, 1), (1620.0, 0), (2800.0, 1), (2900.0, 0)] {
        conversation.packet(at, side, 600, 100, 600, |_| {});
    }
    conversation.packet(4000.0, 1, 600, 100, 700, |_| {});
    conversation.packet(4050.0, 0, 700, 0, 700, |_| {});
    let all: f64 = lost(conversation).iter().map(|(.., ms)| ms).sum();
    assert!((3200.0..=3400.0).contains(&all), "{all}");
}

#[test]
fn an_episode_loses_all_of_an_outage() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..10 {
        conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    conversation.ack(150.0, 1000, 0, 0);
    for at in [400.0, 800.0, 1600.0] {
        conversation.data(at, 1000, 1000);
    }
    // The first thing to pass again: the end of the flight had arrived, but its report had not.
    conversation.ack(1650.0, 2000, 9000, 10_000);
    conversation.data(1650.1, 2000, 7000);
    conversation.ack(1700.0, 10_000, 0, 0);
    let [(_, 1, ms)] = lost(conversation)[..] else { panic!() };
    assert!((1540.0..1555.0).contains(&ms), "{ms}");
}

/// A request of the client, whose answer of `len` bytes goes unanswered but for what `heard` says, in copies by the RTO.
fn unanswered(change: impl Fn(&mut Segment), len: u32, heard: impl Fn(&mut Conversation)) -> Vec<Lost> {
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    conversation.ack(150.0, 1000, 0, 0);
    conversation.packet(200.0, 1, 1000, len, 0, &change);
    heard(&mut conversation);
    for at in [450.0, 900.0, 1800.0, 3600.0, 7200.0] {
        conversation.packet(at, 1, 1000, len, 0, &change);
    }
    lost(conversation)
}

#[test]
fn a_peer_that_is_gone_answers_nothing() {
    let found = unanswered(|_| {}, 1000, |_| {});
    assert_eq!(found, [("unanswered", 1, 6950.0)]);
    // Nobody waited for the answer to a FIN.
    let found = unanswered(|segment| segment.flags = Flags::FIN.union(Flags::ACK), 0, |_| {});
    assert_eq!(found, []);
    // Something of another size arrives.
    let smaller = |conversation: &mut Conversation| {
        conversation.data(200.1, 2000, 300);
        conversation.ack(250.1, 1000, 2000, 2300);
    };
    let [(cause, 1, ms)] = unanswered(|_| {}, 1000, smaller)[..] else { panic!() };
    assert_eq!(cause, "mtu_black_hole");
    assert!((6945.0..6955.0).contains(&ms), "{ms}");
    // Something of this size.
    let as_large = |conversation: &mut Conversation| {
        conversation.data(200.1, 2000, 1000);
        conversation.ack(250.1, 1000, 2000, 3000);
    };
    assert_ne!(unanswered(|_| {}, 1000, as_large)[0].0, "mtu_black_hole");
}

#[test]
fn the_second_of_two_writes_waits_for_a_delayed_ack() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..5 {
        let (at, seq) = (100.0 + 200.0 * f64::from(i), 400 * i64::from(i));
        conversation.data(at, seq, 200);
        conversation.ack(at + 90.0, seq + 200, 0, 0);
        conversation.data(at + 90.01, seq + 200, 200);
        conversation.ack(at + 140.0, seq + 400, 0, 0);
    }
    let [(cause, times, ms)] = lost(conversation)[..] else { panic!() };
    assert_eq!((cause, times), ("nagle_delayed_ack", 5));
    assert!((449.0..=451.0).contains(&ms), "{ms}");
}

#[test]
fn delayed_and_absent_acks_are_not_late() {
    // A small segment alone, then one more with which the ACK comes.
    let mut conversation = Conversation::opened(0.0);
    for i in 0..12 {
        let (at, seq) = (100.0 * f64::from(i + 1), i64::from(i) * 1500);
        let second = if i == 11 { 90.0 } else { 0.01 };
        conversation.data(at, seq, 500);
        conversation.data(at + second, seq + 500, 1000);
        conversation.ack(at + second + 50.0, seq + 1500, 0, 0);
    }
    assert_eq!(lost(conversation), []);
    // Bare ACKs were filtered out: the next request brings the ACK after 5 s.
    let mut conversation = Conversation::opened(0.0);
    for i in 0..12 {
        let (at, seq) = (100.0 * f64::from(i + 1), i64::from(i) * 100);
        let at = if i == 11 { at + 5000.0 } else { at };
        conversation.packet(at, 0, seq, 100, seq, |_| {});
        conversation.packet(at + 50.0, 1, seq, 100, seq + 100, |_| {});
    }
    let kept = conversation.analyzed();
    let lost = kept.connections[0].directions.each_ref().map(|direction| direction.lost.total());
    assert_eq!(lost, [Duration::ZERO; 2]);
}

#[test]
fn a_timeout_was_found_after_the_time_of_the_segment_that_timed_out() {
    // The first segment is repaired by duplicate ACKs after 60 ms, the second by the RTO after 300 ms.
    let mut conversation = Conversation::opened(0.0);
    for i in 0..10 {
        conversation.data(100.0 + f64::from(i) * 0.01, i64::from(i) * 1000, 1000);
    }
    for i in 1..=4 {
        conversation.ack(150.0 + f64::from(i) * 0.01, 0, 6000, 6000 + 1000 * i64::from(i));
    }
    conversation.data(160.0, 0, 1000);
    conversation.ack(210.0, 1000, 6000, 10_000);
    conversation.data(400.0, 1000, 1000);
    conversation.ack(450.0, 2000, 6000, 10_000);
    conversation.data(450.1, 2000, 4000);
    conversation.ack(500.1, 10_000, 0, 0);
    let cost = conversation.analyzed().retransmissions[0].cost.unwrap();
    assert_eq!(cost.cause, Cause::LossByTimeout);
    let found = cost.detection.unwrap();
    assert!((Duration::from_millis(299)..Duration::from_millis(301)).contains(&found), "{found:?}");
}

#[test]
fn a_full_accept_queue_ignores_the_ack() {
    let mut conversation = Conversation::opened(0.0);
    let syn_ack = conversation.packets[1].segment;
    conversation.packet(50.1, 0, 0, 100, 0, |_| {});
    for at in [300.0, 700.0] {
        conversation.packet(at, 0, 0, 100, 0, |_| {});
    }
    conversation.packet(1000.0, 1, -1, 0, 0, |segment| *segment = Segment { ack: segment.ack, ..syn_ack });
    conversation.ack(1050.0, 0, 0, 0).segment.seq = SeqNumber(ISN[0].wrapping_add(101));
    conversation.packet(1500.0, 0, 0, 100, 0, |_| {});
    conversation.packet(1500.1, 1, 0, 0, 100, |_| {});
    let found = lost(conversation);
    assert_eq!(found.iter().map(|(cause, ..)| *cause).collect::<Vec<_>>(), ["ignored_ack"], "{found:?}");
}

#[test]
fn a_request_that_nothing_answers_in_a_part_of_the_capture_is_unanswered() {
    // A firewall forgot the connection. The client gives up and closes.
    let mut conversation = Conversation::mid_connection();
    for at in [0.0, 200.0, 600.0, 1400.0, 3000.0] {
        conversation.packet(at, 0, 0, 100, 0, |_| {});
    }
    conversation.packet(5000.0, 0, 100, 0, 0, |segment| segment.flags = Flags::FIN.union(Flags::ACK));
    assert_eq!(lost(conversation), [("unanswered", 1, 5000.0)]);
    // A client that goes on had its answers: the capture lacks them.
    let mut conversation = Conversation::mid_connection();
    for (at, seq) in [(0.0, 0), (200.0, 0), (600.0, 0), (1400.0, 0), (3000.0, 100)] {
        conversation.packet(at, 0, seq, 100, 0, |_| {});
    }
    assert!(lost(conversation).iter().all(|(cause, ..)| *cause != "unanswered"));
}

/// What is kept of the server's packets alone.
fn one_way(mut conversation: Conversation) -> Kept {
    let server = conversation.ends[1];
    conversation.packets.retain(|packet| packet.endpoints.src == server);
    conversation.analyzed()
}

#[test]
fn without_acks_nothing_is_lost() {
    // Data that went on before, and that repeats at the end; with its SYN-ACK, and without.
    for begun in [true, false] {
        let mut conversation = if begun { Conversation::opened(0.0) } else { Conversation::mid_connection() };
        for (at, seq) in [(100.0, 0), (150.0, 1000), (200.0, 2000), (600.0, 2000), (1400.0, 2000), (3000.0, 2000)] {
            conversation.data(at, seq, 1000);
        }
        let kept = one_way(conversation);
        let [found] = &*kept.connections else { panic!() };
        for direction in &found.directions {
            assert_eq!(direction.lost.total(), Duration::ZERO);
            assert_eq!(direction.time.unknown(crate::finding::WhyUnknown::OneDirection), found.duration(), "{begun}");
        }
        assert_eq!(kept.retransmissions.len(), 3);
        assert!(kept.retransmissions.iter().all(|row| row.cost.is_none()));
    }
}

#[test]
fn nobody_waits_for_the_last_words_to_a_peer_that_has_closed() {
    let fin = |segment: &mut Segment| segment.flags = Flags::FIN.union(Flags::ACK);
    // (the client has closed, and the server has acknowledged it before its last words; a reset; whether these cost time)
    for (closed, acknowledged, reset, costs) in [
        (true, true, false, false),
        (true, false, false, false),
        (false, false, true, false),
        (false, false, false, true),
    ] {
        let mut conversation = Conversation::opened(0.0);
        conversation.data(100.0, 0, 1000);
        conversation.ack(150.0, 1000, 0, 0);
        if closed {
            conversation.packet(200.0, 0, 0, 0, 1000, fin);
        }
        for at in [200.1, 450.0, 900.0, 1800.0, 3600.0] {
            conversation.packet(at, 1, 1000, 31, i64::from(acknowledged), fin);
        }
        if reset {
            conversation.packet(3700.0, 0, 0, 0, 0, |segment| segment.flags = Flags::RST);
        }
        let kept = conversation.analyzed();
        let server = &kept.connections[0].directions[1];
        assert_eq!(!server.lost.total().is_zero(), costs, "{closed} {acknowledged} {reset}");
        let closing = server.time.of(crate::finding::SenderState::Closing);
        assert_eq!(closing > Duration::from_secs(3), !costs, "{closed} {acknowledged} {reset}");
        assert_eq!(kept.retransmissions.len(), 4);
    }
}

#[test]
fn data_sent_after_an_ack_was_late_holds_nothing_up() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..6 {
        conversation.data(100.0 * f64::from(i + 1), 1000 * i64::from(i), 1000);
        conversation.ack(100.0 * f64::from(i + 1) + 50.0, 1000 * i64::from(i + 1), 0, 0);
    }
    conversation.data(1000.0, 6000, 1000);
    conversation.data(1010.0, 7000, 1000);
    conversation.ack(1060.0, 6000, 7000, 8000);
    // 20 s later, the sender sends something new, and after 5 s it repeats what was lost.
    conversation.data(21_000.0, 8000, 1000);
    conversation.ack(21_050.0, 6000, 7000, 9000);
    conversation.data(26_000.0, 6000, 1000);
    conversation.ack(26_050.0, 9000, 0, 0);
    let [(_, 1, ms)] = lost(conversation)[..] else { panic!() };
    assert!((24_980.0..24_995.0).contains(&ms), "{ms}");
}

#[test]
fn a_syn_after_a_refusal_begins_again() {
    let mut conversation = Conversation::opened(500.0);
    let [syn, ..] = conversation.packets[..] else { panic!() };
    let mut refused = Conversation::mid_connection();
    refused.packet(0.0, 0, -1, 0, 0, |segment| *segment = syn.segment);
    refused.packet(0.01, 1, -1, 0, 0, |segment| segment.flags = Flags::RST.union(Flags::ACK));
    conversation.data(600.0, 0, 1000);
    conversation.ack(650.0, 1000, 0, 0);
    refused.packets.append(&mut conversation.packets);
    let kept = refused.analyzed();
    let [found] = &*kept.connections else { panic!() };
    assert!(found.directions.iter().all(|direction| direction.lost.total().is_zero()));
    assert_eq!(found.closing, Closing::CaptureEnd);
    assert_eq!(found.handshake_rtt, Some(Duration::from_millis(50)));
}

#[test]
fn late_acks_are_found_with_their_frames() {
    let mut conversation = Conversation::opened(0.0);
    for i in 0..10 {
        let (at, first) = (100.0 + 100.0 * f64::from(i), 2000 * i64::from(i));
        conversation.data(at, first, 1000);
        conversation.data(at + 0.01, first + 1000, 1000);
        conversation.ack(at + if i == 8 { 150.0 } else { 50.0 }, first + 2000, 0, 0);
    }
    let kept = conversation.analyzed();
    let [late] = kept.connections[0].directions[1].late_acks[..] else { panic!() };
    assert_eq!((late.frame, late.cause), (30, Cause::DelaySpike));
    assert_eq!(late.lost, kept.connections[0].directions[1].lost.of(Cause::DelaySpike));
}

/// A client whose SYN carries 500 bytes, and a server that acknowledges `accepted` of them.
fn fast_open(accepted: i64) -> Conversation {
    let mut conversation = Conversation::mid_connection();
    let syn = |segment: &mut Segment| {
        segment.flags = Flags::SYN;
        segment.options.mss = Some(MSS as u16 + 12);
        segment.options.sack_permitted = true;
    };
    conversation.packet(0.0, 0, -1, 500, 0, syn);
    conversation.packet(50.0, 1, -1, 0, accepted, |segment| {
        syn(segment);
        segment.flags = Flags::SYN.union(Flags::ACK);
    });
    if accepted == 0 {
        conversation.packet(50.1, 0, 0, 500, 0, |_| {});
    } else {
        conversation.packet(50.1, 0, 500, 0, 0, |_| {});
    }
    conversation.packet(100.0, 1, 0, 300, 500, |_| {});
    conversation.packet(100.1, 0, 500, 0, 300, |_| {});
    conversation
}

#[test]
fn data_of_the_syn_that_the_server_left_out_is_named() {
    let kept = fast_open(0).analyzed();
    let [row] = &*kept.retransmissions else {
        panic!("{:?}", kept.retransmissions);
    };
    assert_eq!((row.triggers, row.verdict), (Triggers::UNKNOWN, Verdict::Needed));
    assert_eq!(lost(fast_open(0)), [("refused_fast_open", 1, 49.9)]);
    assert_eq!(lost(fast_open(500)), []);
}

#[test]
fn what_a_closed_window_left_no_room_for_is_named() {
    let mut conversation = Conversation::opened(0.0);
    let closed = |conversation: &mut Conversation, at: f64, ack: i64, window: u16| {
        conversation.ack(at, ack, 0, 0).segment.window = window;
    };
    for i in 0..6 {
        conversation.data(100.0 + 0.01 * f64::from(i), i64::from(i) * 1000, MSS);
    }
    // The receiver takes three segments, and has no room for the others.
    closed(&mut conversation, 150.0, 3000, 0);
    closed(&mut conversation, 190.0, 3000, 1000);
    for i in 3..6 {
        conversation.data(320.0 + 0.01 * f64::from(i), i64::from(i) * 1000, MSS);
    }
    conversation.ack(370.1, 6000, 0, 0);
    let found = lost(conversation);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1), ("zero_window", 1));
    assert!((200.0..=230.0).contains(&found[0].2), "{found:?}");
}

#[test]
fn as_many_timeouts_as_a_kernel_sends_are_not_acknowledged_rather_than_ambiguous() {
    // tcp_retries2 is 15.
    let mut conversation = Conversation::opened(0.0);
    conversation.data(100.0, 0, 1000);
    let mut at = 100.0;
    for i in 0..15 {
        at += (200.0 * f64::from(1 << i)).min(120_000.0);
        conversation.data(at, 0, 1000);
    }
    let kept = conversation.analyzed();
    let sender = &kept.connections[0].directions[1];
    assert!(!sender.too_costly);
    assert_eq!(kept.retransmissions.len(), 15);
    assert!(kept.retransmissions.iter().all(|row| row.evidence == Evidence::NotAcknowledged));
    assert_eq!(sender.lost.times(Cause::Unanswered), 1);
}
