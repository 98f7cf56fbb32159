use super::*;
use recoup_recovery::Trigger;
use recoup_trace::finding::*;
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use std::time::Duration;

/// Adds a connection of 10 s with `bytes` from its client, whose RTT is 100 ms. `retransmissions` are
/// triggers with the time since the original in RTTs.
fn add(study: &mut Study, profile: &str, bytes: u64, retransmissions: &[(Trigger, u64)]) {
    let endpoints = Endpoints { src: "192.0.2.1:40000".parse().unwrap(), dst: "192.0.2.2:80".parse().unwrap() };
    let rtt = Duration::from_millis(100);
    let again = |(i, (trigger, rtts)): (u64, &(Trigger, u64))| Retransmission {
        frame: i,
        at: Instant::from_millis(1000 * i),
        connection: 0,
        endpoints,
        seq: SeqNumber(i as u32),
        len: 1000,
        syn: false,
        fin: false,
        triggers: (*trigger).into(),
        verdict: Verdict::Needed,
        evidence: Evidence::NoDuplicate,
        copy: 1,
        detection: Some(rtt * (*rtts as u32)),
        recovery: Some(rtt),
        rtt: Some(rtt),
        flight: 8,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: None,
    };
    let rows: Vec<Retransmission> = (1..).zip(retransmissions).map(again).collect();
    let mut client = Direction {
        bytes,
        rtt: Some(RttQuantiles { max: rtt, ..RttQuantiles::default() }),
        profile: Identification::Profile(Explanation { profile: profile.into(), explained: 1, of: 1 }),
        ..Direction::default()
    };
    for row in &rows {
        client.retransmissions.add(row.triggers, row.verdict);
    }
    let connection = Connection {
        id: 0,
        endpoints,
        frames: 1..=1,
        opening: Opening::Handshake,
        closing: Closing::Closed,
        begun: Instant::ZERO,
        ended: Instant::from_millis(10_000),
        packets: 20,
        handshake_rtt: None,
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions: [client, Direction::default()],
    };
    study.add(&connection, &rows);
}

fn study() -> Study {
    let mut study = Study::default();
    add(&mut study, "linux-6", 1000, &[(Trigger::Fast, 1), (Trigger::Fast, 2)]);
    add(&mut study, "linux-6", 4000, &[(Trigger::Rto, 3)]);
    add(&mut study, "windows-xp", 0, &[(Trigger::Rto, 11)]);
    add(&mut study, "windows-xp", 2000, &[]);
    study
}

#[test]
fn lines_are_distribution_functions() {
    let report = study().report();
    let found = bytes_chart(&[("all".into(), report.bytes.clone())]);
    // A connection without bytes is not on the logarithmic scale.
    assert_eq!(found.series, ["all (25.0 % carried no payload)"]);
    let shown = [(0.0, 0.0), (0.0, 0.25), (1000.0, 0.5), (2000.0, 0.75), (4000.0, 1.0)];
    assert_eq!(found.panels[0].lines, [shown]);

    let found = detection_chart(&report.senders);
    assert_eq!(found.series, ["Linux since 4.18", "Windows 2000, XP"]);
    let [fast, rto] = &found.panels[..] else {
        panic!("{} panels", found.panels.len());
    };
    // The share that took longer, on a logarithmic scale: the line ends at the longest.
    assert_eq!(found.y_scale, Scale::Logarithmic);
    assert_eq!(fast.lines, [vec![(1.0, 1.0), (1.0, 0.5), (2.0, 0.5)], vec![]]);
    assert_eq!(rto.lines, [[(3.0, 1.0)], [(11.0, 1.0)]]);

    // Timeouts of 300 and 1100 ms where 100 ms would have been enough, in 10 s.
    let found = reduction_chart(&report.senders);
    let linux = [(0.01, 0.0), (0.01, 0.5), (2.0, 1.0), (100.0, 1.0)];
    let windows = [(10.0, 0.0), (10.0, 1.0), (100.0, 1.0)];
    assert_eq!(found.panels[0].lines, [&linux[..], &windows[..]]);
}

#[test]
fn a_single_kind_of_sender_is_named_and_empty_figures_are_not_drawn() {
    let mut one = Study::default();
    add(&mut one, "linux-6", 10, &[(Trigger::Fast, 1)]);
    assert_eq!(detection_chart(&one.report().senders).title, "Detection duration: Linux since 4.18");
    for (name, svg) in figures(&[("a.pcap", &one)]) {
        let svg = svg.expect(name);
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{name}");
    }
    // Connections without losses have the figure of bytes only.
    let mut lossless = Study::default();
    add(&mut lossless, "linux-6", 10, &[]);
    let is_drawn = |study: &Study| figures(&[("a.pcap", study)]).map(|(_, svg)| svg.is_some());
    assert_eq!(is_drawn(&lossless), [true, false, false]);
    assert_eq!(is_drawn(&Study::default()), [false; 3]);
}

#[test]
fn several_captures_are_lines_of_figure_1_and_one_population_of_the_others() {
    let (first, mut second) = (study(), Study::default());
    add(&mut second, "solaris-10", 700, &[(Trigger::Rto, 5)]);
    let captures = [("day/a.pcap", &first), ("day/b.pcap", &second)];
    let [bytes, detection, reduction] = figures(&captures).map(|(_, svg)| svg.unwrap());
    for name in ["a.pcap (25.0 % carried no payload)", "b.pcap"] {
        assert!(bytes.contains(name), "{bytes}");
    }
    for system in ["Linux since 4.18", "Windows 2000, XP", "Solaris 10"] {
        assert!(detection.contains(system) && reduction.contains(system), "{system}");
    }
    assert!(reduction.contains("share of the senders"), "{reduction}");
}

#[test]
fn captures_of_one_name_are_told_apart_by_their_folders() {
    let names = ["-", "x/a.pcap", "y/a.pcap", "x/b.pcap"].into_iter();
    assert_eq!(short_names(names), ["standard input", "x/a.pcap", "y/a.pcap", "b.pcap"]);
}
