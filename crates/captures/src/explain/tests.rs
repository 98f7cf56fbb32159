//! Made-up facts in sentences and documents.

use super::*;
use crate::analysis::{Analyzed, Collector};
use recoup_recovery::Trigger;
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    CapturePoint, Cause, Closing, Connection, Direction, EpisodeCost, Evidence, Opening, Retransmission, RttQuantiles,
    SenderState, Vantage, Verdict, WhyUnknown,
};
use recoup_trace::read::Counts;
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use serde_json::Value;
use std::time::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A connection of a server that sends 100 kB within a second, captured at the server.
pub(super) fn connection(id: u64) -> Connection {
    let mut server = Direction {
        vantage: Vantage::Sender,
        segments: 70,
        bytes: 100_000,
        rtt: Some(RttQuantiles { samples: 9, p50: ms(60), p90: ms(80), p99: ms(90), ..RttQuantiles::default() }),
        ..Direction::default()
    };
    server.time.add(SenderState::Connecting, 60_000_000);
    server.time.add(SenderState::Network, 240_000_000);
    server.time.add(SenderState::Application, 700_000_000);
    let mut client = Direction { vantage: Vantage::Receiver, segments: 2, bytes: 300, ..Direction::default() };
    client.time.add(SenderState::Application, 1_000_000_000);
    let begun = Instant::from_nanos(1_700_000_000_000_000_000 + id * 1_000_000_000);
    Connection {
        id,
        endpoints: Endpoints { src: ([198, 51, 100, 1], 30_000 + id as u16).into(), dst: ([192, 0, 2, 1], 80).into() },
        opening: Opening::Handshake,
        closing: Closing::Closed,
        frames: 100 * id + 1..=100 * id + 90,
        begun,
        ended: begun + ms(1000),
        packets: 90,
        handshake_rtt: Some(ms(60)),
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions: [client, server],
    }
}

/// The first retransmission of an episode of the server of `connection`.
fn episode(connection: &Connection, frame: u64, trigger: Trigger, cost: EpisodeCost) -> Retransmission {
    Retransmission {
        frame: connection.frames.start() + frame,
        at: connection.begun + ms(300),
        connection: connection.id,
        endpoints: connection.endpoints.reverse(),
        seq: SeqNumber(1),
        len: 1448,
        syn: trigger == Trigger::SynAck,
        fin: false,
        triggers: trigger.into(),
        verdict: Verdict::Needed,
        evidence: Evidence::NoDuplicate,
        copy: 1,
        detection: Some(cost.lost),
        recovery: Some(ms(60)),
        rtt: Some(ms(60)),
        flight: 9,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: Some(cost),
    }
}

/// Adds a connection of the server whose episodes have these triggers, causes and lost times in ms.
fn add(facts: &mut Facts, id: u64, episodes: &[(Trigger, Cause, u64)]) {
    let mut connection = connection(id);
    let rows = episodes.iter().zip(1..).map(|((trigger, cause, lost), frame)| {
        let cost = EpisodeCost {
            recovering: ms(lost / 2),
            lost: ms(*lost),
            detection: Some(ms(*lost)),
            segments: 3,
            cause: *cause,
        };
        connection.directions[1].lost.add(*cause, cost.lost);
        (frame, *trigger, cost)
    });
    let rows: Vec<_> = rows.collect();
    let rows = rows.into_iter().map(|(frame, trigger, cost)| {
        connection.directions[1].retransmissions.add(trigger.into(), Verdict::Needed);
        episode(&connection, frame, trigger, cost)
    });
    let rows: Vec<Retransmission> = rows.collect();
    facts.connection(connection, &rows);
}

fn analyzed(mut facts: Facts) -> Analyzed<Facts> {
    facts.order();
    let mut counts = Counts::default();
    (counts.frames, counts.packets) = (900, 900);
    Analyzed { capture: "web1.pcap".into(), counts, interrupted: false, findings: facts }
}

/// The shape of a text of at most this many lines.
fn shape(lines: Option<usize>) -> TextShape {
    let one_connection = "recoup explain web1.pcap --connection".into();
    TextShape { lines, connections: 3, groups: 20, one_connection, option: "--", all: "--all shows them" }
}

/// Ten connections, of which three lost time.
fn lossy() -> Analyzed<Facts> {
    let mut facts = Facts::new(SortBy::TimeLost, 2);
    let syn_ack = (Trigger::SynAck, Cause::LostSynAck, 1000);
    let tail = (Trigger::Tlp, Cause::TailByProbe, 180);
    let burst = (Trigger::Fast, Cause::Burst, 70);
    add(&mut facts, 0, &[burst]);
    add(&mut facts, 1, &[syn_ack, tail]);
    add(&mut facts, 2, &[syn_ack, tail, burst]);
    (3..10).for_each(|id| add(&mut facts, id, &[]));
    analyzed(facts)
}

#[test]
fn causes_are_ranked_by_the_time_they_cost() {
    let report = Report::new(&lossy());
    assert_eq!(report.heading, "web1.pcap: 10.0 s, 10 connections, 1.00 MB, captured at the server");
    assert_eq!(
        report.finding,
        "Losses and delays cost 2.50 s of 10.0 s of connection time (25 %), in 3 of 10 connections."
    );
    let ranked: Vec<_> = report.causes.iter().map(|line| (line.name, line.lost)).collect();
    assert_eq!(ranked, [("Lost SYN-ACKs", ms(2000)), ("Lost tails", ms(360)), ("Lost segments", ms(140)),]);
    assert_eq!(
        report.causes[0].text,
        "Twice, 1.00 s on average: the handshake's retransmission timeout. A shorter timeout, or a copy sent in advance, repairs a lost SYN-ACK sooner (`recoup profiles --levers syn-timeout-bpf`)."
    );
    assert_eq!(
        report.causes[2].text,
        "2 bursts of 3.0 segments on average found by ACKs after 70 ms (median), at a round-trip time of 60 ms (median)."
    );
    assert_eq!(report.connections.len(), 2);
    assert_eq!(
        report.connections[0].text,
        "198.51.100.1:30002 > 192.0.2.1:80: 1.25 s of 1.00 s (a lost SYN-ACK, a lost tail, probed and a burst of losses)"
    );
}

#[test]
fn the_text_has_the_numbers_and_at_most_80_lines() {
    let text = explanation_text(&Report::new(&lossy()), &shape(Some(80)));
    for part in [
        "  1. Lost SYN-ACKs           2.00 s  Twice, 1.00 s on average",
        "Where the time of 10 connections went: 70 % with nothing to send, 24 %",
        "`recoup explain web1.pcap --connection N`",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let mut facts = Facts::new(SortBy::TimeLost, 9);
    let all = Cause::ALL.map(|cause| (Trigger::Rto, cause, 1000));
    (0..9).for_each(|id| add(&mut facts, id, &all));
    let mut all = Report::new(&analyzed(facts));
    all.not_known = (0..60).map(|i| format!("reason {i}")).collect();
    let text = explanation_text(&all, &shape(Some(80)));
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    // What is not known and which connections lost most stay, whatever else is left out, and the text says what shows the rest.
    assert!(text.contains("  - reason 59\n") && text.contains("Lost most ("), "{text}");
    assert!(text.contains(" more lines: --all shows them)\n"), "{text}");
    let whole = explanation_text(&all, &shape(None));
    assert!(whole.lines().count() > 80 && !whole.contains("more lines"), "{whole}");
}

#[test]
fn a_capture_without_trouble_takes_one_line() {
    let mut facts = Facts::new(SortBy::TimeLost, 5);
    (0..3).for_each(|id| add(&mut facts, id, &[]));
    let text = explanation_text(&Report::new(&analyzed(facts)), &shape(Some(80)));
    assert_eq!(
        text,
        "web1.pcap: 3.00 s, 3 connections, 301 kB, captured at the server: No connection lost time. \
         Where the time of 3 connections went: 70 % with nothing to send, 24 % sending at the pace of \
         the network and 6.0 % connecting. For 70 % of the time nothing in TCP was the limit: the \
         applications had nothing to send.\n"
    );
}

#[test]
fn what_holds_a_sender_up_is_trouble_without_losses() {
    let mut facts = Facts::new(SortBy::TimeLost, 5);
    let mut held_up = connection(0);
    held_up.directions[1].time.add(SenderState::ZeroWindow, 3_000_000_000);
    held_up.directions[1].time.add_unknown(WhyUnknown::PacketsMissing, 1_000_000_000);
    facts.connection(held_up, &[]);
    let report = Report::new(&analyzed(facts));
    assert!(!report.no_trouble);
    assert!(
        report.time[1].starts_with("Closed receive windows held 1 connection up for 3.00 s (60 %)"),
        "{:?}",
        report.time
    );
    assert_eq!(
        report.not_known,
        [
            "the sender's state is unknown for 1.00 s (20 %): packets are missing from the capture",
            "a SYN that was lost on its way to the server is not in a capture taken at the server",
        ]
    );
}

#[test]
fn an_empty_capture_has_nothing_to_explain() {
    let report = Report::new(&analyzed(Facts::new(SortBy::TimeLost, 5)));
    assert_eq!(report.heading, "web1.pcap: 0 ms, 0 connections, 0 bytes");
    assert_eq!(report.finding, "There is no TCP connection.");
}

#[test]
fn the_document_has_every_side_and_its_time_by_state() {
    let mut out = Vec::new();
    write_explanations(&[lossy()], None, &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["schema"], "recoup.explain");
    let capture = &document["captures"][0];
    assert_eq!(capture["connections"].as_array().map(Vec::len), Some(2));
    assert_eq!(capture["connections_left_out"], 8);
    let side = &capture["connections"][0]["sides"][1];
    assert_eq!(side["sender"], "192.0.2.1:80");
    assert_eq!(side["bytes"], 100_000);
    assert_eq!(side["time_ms"]["application"], 700.0);
    assert_eq!(side["lost"][0]["cause"], "lost_syn_ack");
    assert_eq!(side["lost"][0]["lost_ms"], 1000.0);
    let states = side["time_ms"].as_object().unwrap();
    assert_eq!(states.len(), SenderState::ALL.len());
}

#[test]
fn the_order_of_connections_is_the_one_asked_for() {
    let order = |by: SortBy| {
        let mut facts = Facts::new(by, 3);
        add(&mut facts, 0, &[]);
        add(&mut facts, 1, &[(Trigger::Rto, Cause::TailByTimeout, 500)]);
        let mut long = connection(2);
        long.ended = long.begun + ms(9000);
        facts.connection(long, &[]);
        facts.order();
        let first = &facts.worst.connections()[0].connection;
        first.id
    };
    for (by, first) in [
        (SortBy::TimeLost, 1),
        (SortBy::ShareLost, 1),
        (SortBy::Duration, 2),
        (SortBy::Bytes, 0),
        (SortBy::Retransmissions, 1),
        (SortBy::Begin, 0),
    ] {
        assert_eq!(order(by), first, "{}", by.name());
    }
}

#[test]
fn captures_together_have_one_total_and_a_row_each() {
    let mut total = Total::new(SortBy::TimeLost, 5, &[GroupBy::Server]);
    let mut quiet = Facts::new(SortBy::TimeLost, 5);
    (0..4).for_each(|id| add(&mut quiet, id, &[]));
    let quiet = Analyzed { capture: "web2.pcap".into(), ..analyzed(quiet) };
    for capture in [&quiet, &lossy()] {
        total.add(capture);
    }
    let report = Report::of_all(&total);
    assert_eq!(report.heading, "2 captures: 14.0 s in all, 14 connections, 1.40 MB, captured at the server");
    let rows: Vec<_> = report.groups.iter().map(|row| (&*row.by, &*row.key, row.group.connections)).collect();
    let expected = [("server", "192.0.2.1", 14), ("capture", "web1.pcap", 10), ("capture", "web2.pcap", 4)];
    assert_eq!(rows, expected);
    assert_eq!(report.groups[1].group.lost.total(), ms(2500));
    assert_eq!(report.groups[0].group.lost.total(), report.causes.iter().map(|line| line.lost).sum());
    assert_eq!(report.connections[0].capture.as_deref(), Some("web1.pcap"));
    let text = explanation_text(&report, &shape(Some(80)));
    assert!(text.contains("\nBy capture:\n"), "{text}");
    assert!(text.contains("  web1.pcap 2  198.51.100.1:30002 > 192.0.2.1:80: 1.25 s"), "{text}");
    // A note that both have is one.
    assert!(report.not_known.iter().all(|note| !note.contains("web1")), "{:?}", report.not_known);
    let mut out = Vec::new();
    write_explanations(&[quiet, lossy()], Some(&total), &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["total"]["lost_ms"], 2500.0);
    assert_eq!(document["total"]["groups"][2]["group"], "web2.pcap");
}

/// A connection of two to four SYNs, of which `answer` says how it ended.
fn unopened(id: u64, syns: u64, refused: bool) -> Connection {
    let mut unopened = connection(id);
    let mut client = Direction { segments: syns, ..Direction::default() };
    client.time.add(SenderState::Connecting, 1_000_000_000);
    let server = Direction { time: client.time, absent: !refused, ..Direction::default() };
    unopened.closing = if refused { Closing::Reset } else { Closing::CaptureEnd };
    unopened.packets = syns + u64::from(refused);
    unopened.handshake_rtt = None;
    unopened.directions = [client, server];
    unopened
}

#[test]
fn syns_that_nobody_answers_take_a_sentence() {
    let mut facts = Facts::new(SortBy::TimeLost, 5);
    for (id, syns, refused) in [(0, 4, false), (1, 3, false), (2, 1, true), (3, 1, false)] {
        facts.connection(unopened(id, syns, refused), &[]);
    }
    let report = Report::new(&analyzed(facts));
    assert_eq!(
        report.time[1..],
        [
            "Nobody answered the 7 SYNs of 2 connections to 192.0.2.1, sent for up to 1.00 s: the host or the path did not answer.",
            "1 connection was refused: a reset answered the SYN."
        ]
    );
    assert!(report.causes.is_empty());
}

#[test]
fn an_episode_says_how_many_timeouts_it_took() {
    let mut facts = Facts::new(SortBy::TimeLost, 5);
    let mut connection = connection(0);
    let cost = EpisodeCost {
        recovering: ms(9000),
        lost: ms(9000),
        detection: Some(ms(1000)),
        segments: 3,
        cause: Cause::LossByTimeout,
    };
    connection.directions[1].lost.add(cost.cause, cost.lost);
    let rows = [1, 2, 3].map(|frame| {
        let row = episode(&connection, frame, Trigger::Rto, cost);
        Retransmission { cost: row.cost.filter(|_| frame == 1), ..row }
    });
    facts.connection(connection, &rows);
    let report = Report::new(&analyzed(facts));
    assert_eq!(
        report.causes[0].text,
        "Once: the receiver had reported data sent later, but the sender waited for its retransmission timeout \
         after 1.00 s (3 timeouts in all)."
    );
}

#[test]
fn a_connection_lists_its_late_acks() {
    let mut found = crate::analysis::OneConnection::of(Some(0));
    let mut connection = connection(0);
    let at = connection.begun + ms(500);
    let late = recoup_trace::finding::LateAckFound { frame: 44, at, lost: ms(207), cause: Cause::DelaySpike };
    connection.directions[1].lost.add(Cause::DelaySpike, late.lost);
    connection.directions[1].late_acks = vec![late];
    found.connection(connection, &[]);
    found.order();
    let counts = Counts::default();
    let analyzed = Analyzed { capture: "web1.pcap".into(), counts, interrupted: false, findings: found };
    let text = connection_text(&analyzed, &shape(Some(80))).unwrap();
    assert!(text.contains("     0.500 s  frame 44         207 ms  198.51.100.1:30000 sent the ACK"), "{text}");
}
