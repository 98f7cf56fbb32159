//! Notes on captures at several points, and of one.

use crate::analysis::{Analyzed, Collector, Summary};
use recoup_trace::analyze::Findings;
use recoup_trace::finding::{
    CapturePoint, Closing, Connection, Direction, Evidence, Opening, Retransmission, Revision, Triggers, Vantage,
    Verdict,
};
use recoup_trace::hosts::ReportsDuplicates;
use recoup_trace::read::Counts;
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};

/// A retransmission that is needed, if its receiver reports duplicates.
fn provisional(endpoints: Endpoints) -> Retransmission {
    Retransmission {
        frame: 1,
        at: Instant::ZERO,
        connection: 0,
        endpoints,
        seq: SeqNumber(1),
        len: 1000,
        syn: false,
        fin: false,
        triggers: Triggers::UNKNOWN,
        verdict: Verdict::Needed,
        evidence: Evidence::NoDuplicate,
        copy: 1,
        detection: None,
        recovery: None,
        rtt: None,
        flight: 1,
        vantage: Vantage::Sender,
        provisional: true,
        capture_point: 0,
        cost: None,
    }
}

#[test]
fn revised_verdicts_of_two_capture_points_count_once_in_the_totals() {
    let mut summary = Summary::default();
    let endpoints = Endpoints { src: ([192, 0, 2, 1], 1).into(), dst: ([192, 0, 2, 2], 2).into() };
    let row = provisional(endpoints);
    let mut there = Direction::default();
    there.retransmissions.add(row.triggers, row.verdict);
    let point = |number| {
        let mut point = CapturePoint::default();
        (point.number, point.count) = (number, 2);
        point
    };
    for number in [0, 1] {
        let connection = Connection { capture_point: point(number), ..connection(there.clone(), Direction::default()) };
        let row = Retransmission { capture_point: number, ..row };
        summary.connection(connection, &[row]);
    }
    let new = Retransmission { verdict: Verdict::Unknowable, evidence: Evidence::NoReports, ..row };
    summary.revision(&Revision {
        retransmission: new,
        before: (row.verdict, row.evidence),
        cause_before: None,
        host: endpoints.dst.ip(),
        fact: ReportsDuplicates::No,
    });
    summary.order();
    let verdicts = Verdict::ALL.map(|verdict| summary.data.of_verdict(verdict));
    assert_eq!(verdicts, [0, 0, 1]);
    assert_eq!((summary.connections, summary.slowest.len()), (1, 0));
    let mut counts = Counts::default();
    (counts.frames, counts.packets) = (9, 9);
    let notes = Analyzed { capture: "a.pcap".into(), counts, interrupted: false, findings: summary };
    let notes = notes.notes();
    assert!(notes[0].starts_with("1 verdict was revised"), "{notes:?}");
}

fn connection(there: Direction, back: Direction) -> Connection {
    Connection {
        id: 0,
        endpoints: Endpoints { src: ([192, 0, 2, 1], 1).into(), dst: ([192, 0, 2, 2], 2).into() },
        frames: 1..=1,
        opening: Opening::MidConnection,
        closing: Closing::CaptureEnd,
        begun: Instant::ZERO,
        ended: Instant::ZERO,
        packets: 9,
        handshake_rtt: None,
        sack: Some(true),
        ecn: None,
        capture_point: CapturePoint::default(),
        tunnels: Default::default(),
        quic: None,
        directions: [there, back],
    }
}

/// The notes on a connection with these directions.
fn notes(there: Direction, back: Direction) -> Vec<String> {
    notes_on(connection(there, back))
}

fn notes_on(connection: Connection) -> Vec<String> {
    let mut findings = Summary::default();
    findings.connection(connection, &[]);
    let mut counts = Counts::default();
    (counts.frames, counts.packets) = (9, 9);
    let analyzed = Analyzed { capture: "a.pcap".into(), counts, interrupted: false, findings };
    analyzed.notes()
}

#[test]
fn notes_count_what_was_left_out_to_limit_time_and_memory() {
    let costly = Direction { vantage: Vantage::Sender, bytes: 1000, too_costly: true, ..Direction::default() };
    let notes = notes_on(Connection { closing: Closing::Evicted, ..connection(costly, Direction::default()) });
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("the retransmissions of 1 sender would have"));
    assert!(notes[1].starts_with("1 of 1 connections were closed early to limit memory"));
}

#[test]
fn notes_name_what_the_capture_lacks() {
    let data = |vantage| Direction { vantage, bytes: 1000, ..Direction::default() };
    let absent = Direction { absent: true, ..Direction::default() };
    let stray = Direction { foreign: 2, to_sender: None, ..Direction::default() };
    // (the directions, the beginning of each note)
    let cases: [(Direction, Direction, &[&str]); 4] = [
        (data(Vantage::Sender), Direction::default(), &[]),
        (absent.clone(), Direction::default(), &[]),
        (
            data(Vantage::Unknown),
            absent,
            &["1 of 1 connections were captured in one direction only", "capture point unknown for 100 %"],
        ),
        (data(Vantage::Sender), stray, &["2 of 9 packets were left out"]),
    ];
    for (there, back, expected) in cases {
        let notes = notes(there, back);
        assert_eq!(notes.len(), expected.len(), "{notes:?}");
        for (note, start) in notes.iter().zip(expected) {
            assert!(note.starts_with(start), "{note}");
        }
    }
}
