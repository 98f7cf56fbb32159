//! Scenes of one direction, one event per line. Times are in ms and timestamps tick with them. The
//! shortest round trip is 60 ms.

mod arrivals;
mod duplicates;
mod network;
mod reneging;
mod several;
mod silent;

use super::{ReceiverOptions, SentOnce, Transmission, acks::AckVerdicts};
use crate::{
    finding::{Evidence, Verdict},
    hosts::ReportsDuplicates,
};
use Step::{Ack as Acked, Answer, Closed, Ended, Reset, Retransmitted, Sent, Uncaptured};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use std::time::Duration;

/// An event in a scene.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// (time, from, to): a first transmission.
    Sent(u64, u64, u64),
    /// A first transmission that was not captured.
    Uncaptured(u64, u64),
    /// (time, from, to): a retransmission.
    Retransmitted(u64, u64, u64),
    /// (time, cumulative ACK, echo, SACK blocks): a pure ACK.
    Ack(u64, u64, u32, &'static [(u64, u64)]),
    /// An ACK on data from the receiver.
    Answer(u64, u64, u32, &'static [(u64, u64)]),
    /// The sender acknowledges the receiver's FIN.
    Closed(u64),
    /// The receiver sends a reset.
    Reset(u64),
    /// The capture ends.
    Ended(u64),
}

const BOTH: ReceiverOptions = ReceiverOptions { timestamps: true, reports_duplicates: true };
const TIMESTAMPS: ReceiverOptions = ReceiverOptions { timestamps: true, reports_duplicates: false };
const SACK: ReceiverOptions = ReceiverOptions { timestamps: false, reports_duplicates: true };
const NEITHER: ReceiverOptions = ReceiverOptions { timestamps: false, reports_duplicates: false };
const RTT: Option<Duration> = Some(Duration::from_millis(60));

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn span(from: u64, to: u64) -> Span {
    Span::new(Offset(from), Offset(to))
}

fn copy(ms: u64) -> Transmission {
    Transmission { at: at(ms), ts_value: Some(ms as u32) }
}

/// Plays a scene. Returns "verdict evidence" of each retransmission.
fn play(options: ReceiverOptions, steps: &[Step]) -> Vec<String> {
    play_within(RTT, options, steps)
}

/// Plays the steps with `rtt` as the shortest round trip.
fn play_within(rtt: Option<Duration>, options: ReceiverOptions, steps: &[Step]) -> Vec<String> {
    let mut verdicts = AckVerdicts::new(options);
    let mut retransmitted = Vec::new();
    let (mut originals, mut una, mut retransmissions, mut end) = (Vec::new(), Offset(1), 0, at(60_000));
    for &step in steps {
        match step {
            Sent(ms, from, to) => originals.push((span(from, to), Some(copy(ms)))),
            Uncaptured(from, to) => originals.push((span(from, to), None)),
            Retransmitted(ms, from, to) => {
                let first = originals.iter().find(|(span, _)| span.contains(Offset(from)));
                verdicts.on_retransmission(retransmissions, span(from, to), copy(ms), first.and_then(|f| f.1));
                retransmissions += 1;
                retransmitted.push(span(from, to));
            }
            Acked(ms, cumulative, echo, blocks) | Answer(ms, cumulative, echo, blocks) => {
                let blocks = blocks.iter().map(|&(from, to)| span(from, to));
                let mut ack = Ack::new(Offset(cumulative), 65_535).with_blocks(blocks);
                ack.carries_data = matches!(step, Answer(..));
                let una_before = if retransmissions > 0 && originals[0].0.start == Offset::SYN && una == Offset(1) {
                    Offset::SYN
                } else {
                    una
                };
                let sent = |offset| {
                    let (span, copy) = *originals.iter().find(|(span, _)| span.contains(offset))?;
                    let once = !retransmitted.iter().any(|other: &Span| other.overlaps(span));
                    copy.filter(|_| once).map(|copy| SentOnce { span, copy })
                };
                verdicts.on_ack(at(ms), una_before, &ack, Some(echo), &sent);
                una = una.max(Offset(cumulative));
            }
            Closed(ms) => verdicts.on_close(at(ms)),
            Reset(ms) => verdicts.on_reset(at(ms)),
            Ended(ms) => end = at(ms),
        }
    }
    let mut found = vec![String::new(); retransmissions as usize];
    for (index, verdict, evidence) in finish(&mut verdicts, end, rtt) {
        found[index as usize] = format!("{} {}", verdict.name(), evidence.name());
    }
    found
}

/// All verdicts, if nothing else is known of the receiver.
fn finish(verdicts: &mut AckVerdicts, end: Instant, rtt: Option<Duration>) -> Vec<(u32, Verdict, Evidence)> {
    let mut found = Vec::new();
    verdicts.finish(end, rtt, |index, verdict| found.push((index, verdict)));
    let reports = verdicts.proof().unwrap_or(ReportsDuplicates::Yes);
    let given = found.into_iter().map(|(index, found)| {
        let (verdict, evidence) = found.given(reports);
        (index, verdict, evidence)
    });
    given.collect()
}

fn check(cases: &[(&str, ReceiverOptions, &[Step], &[&str])]) {
    for (what, options, steps, expected) in cases {
        assert_eq!(play(*options, steps), *expected, "{what}");
    }
}

#[test]
fn one_retransmission_at_the_left_edge() {
    check(&[
        (
            "the original is lost",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Acked(1061, 1, 900, &[(1001, 2001)]),
                Retransmitted(1062, 1, 1001),
                Acked(1122, 2001, 1062, &[]),
            ],
            &["needed timestamp_echo"],
        ),
        (
            "the original is overtaken, and the DSACK is lost",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Acked(1061, 1, 900, &[(1001, 2001)]),
                Retransmitted(1062, 1, 1001),
                Acked(1075, 2001, 1000, &[]),
            ],
            &["spurious ack_too_early"],
        ),
        (
            "the original is overtaken, and a DSACK reports the duplicate",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Acked(1061, 1, 900, &[(1001, 2001)]),
                Retransmitted(1062, 1, 1001),
                Acked(1075, 2001, 1000, &[]),
                Acked(1122, 2001, 1062, &[(1, 1001)]),
            ],
            &["spurious dsack"],
        ),
        (
            "the path stalls for longer than a round trip",
            BOTH,
            &[Sent(1000, 1, 1001), Retransmitted(1300, 1, 1001), Acked(1500, 1001, 1000, &[])],
            &["spurious timestamp_echo"],
        ),
        (
            "the ACK is lost, and a DSACK reports the probe",
            BOTH,
            &[Sent(1000, 1, 1001), Retransmitted(1130, 1, 1001), Acked(1190, 1001, 1130, &[(1, 1001)])],
            &["spurious dsack"],
        ),
        (
            "the ACK of the retransmission is lost, and a later ACK echoes a later segment",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Acked(1061, 1, 900, &[(1001, 2001)]),
                Retransmitted(1062, 1, 1001),
                Sent(1063, 2001, 3001),
                Acked(1124, 3001, 1063, &[]),
            ],
            &["needed no_duplicate"],
        ),
        (
            "acknowledged before the retransmission",
            BOTH,
            &[Sent(1000, 1, 1001), Acked(1060, 1001, 1000, &[]), Retransmitted(1061, 1, 1001)],
            &["spurious ack_too_early"],
        ),
        (
            "nothing was ever acknowledged",
            BOTH,
            &[Sent(1000, 1, 1001), Retransmitted(1130, 1, 1001)],
            &["unknowable not_acknowledged"],
        ),
        (
            "the original was sent before the capture, and lost",
            BOTH,
            &[Uncaptured(1, 1001), Retransmitted(1062, 1, 1001), Acked(1122, 1001, 1062, &[])],
            &["needed timestamp_echo"],
        ),
        (
            "the original was sent before the capture, and late",
            BOTH,
            &[Uncaptured(1, 1001), Retransmitted(1062, 1, 1001), Acked(1122, 1001, 980, &[])],
            &["spurious timestamp_echo"],
        ),
        (
            "a segment that acknowledges less than an earlier one is not echoed (Linux)",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Acked(1061, 1, 940, &[(1001, 2001)]),
                Retransmitted(1062, 1, 1001),
                Acked(1075, 2001, 940, &[]),
                Acked(1122, 2001, 1062, &[(1, 1001)]),
            ],
            &["spurious dsack"],
        ),
        (
            "the echo of the retransmission proves a shorter round trip",
            BOTH,
            &[Sent(1000, 1, 1001), Retransmitted(1300, 1, 1001), Acked(1325, 1001, 1300, &[])],
            &["needed timestamp_echo"],
        ),
        (
            "timestamps wrap",
            BOTH,
            &[
                Sent((1 << 32) - 100, 1, 1001),
                Retransmitted((1 << 32) + 200, 1, 1001),
                Acked((1 << 32) + 400, 1001, u32::MAX - 99, &[]),
            ],
            &["spurious timestamp_echo"],
        ),
    ]);
}

#[test]
fn one_retransmission_above_a_hole() {
    check(&[
        (
            "selectively acknowledged, without a DSACK",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1000, 1001, 2001),
                Sent(1001, 2001, 3001),
                Acked(1061, 1, 900, &[(2001, 3001)]),
                Retransmitted(1062, 1001, 2001),
                Acked(1122, 1, 900, &[(1001, 3001)]),
            ],
            &["needed no_duplicate"],
        ),
        (
            "a DSACK above the hole lies inside a SACK block",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1000, 1001, 2001),
                Sent(1001, 2001, 3001),
                Acked(1061, 1, 900, &[(2001, 3001)]),
                Retransmitted(1062, 1001, 2001),
                Acked(1080, 1, 900, &[(1001, 3001)]),
                Acked(1122, 1, 900, &[(1001, 2001), (1001, 3001)]),
            ],
            &["spurious dsack"],
        ),
        (
            "the capture may end before the DSACK",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1000, 1001, 2001),
                Retransmitted(1130, 1001, 2001),
                Acked(1195, 1, 900, &[(1001, 2001)]),
                Ended(1200),
            ],
            &["unknowable ambiguous"],
        ),
        (
            "the receiver may reset before the DSACK",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1000, 1001, 2001),
                Retransmitted(1130, 1001, 2001),
                Acked(1195, 1, 900, &[(1001, 2001)]),
                Reset(1200),
            ],
            &["unknowable ambiguous"],
        ),
        (
            "a late ACK shows what the echo of an earlier one belongs to",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Sent(1002, 2001, 3001),
                Acked(1062, 1, 900, &[(2001, 3001)]),
                Retransmitted(1063, 1, 1001),
                Retransmitted(1130, 1001, 2001),
                Acked(1190, 3001, 1130, &[]),
                Acked(1192, 1001, 1063, &[(2001, 3001)]),
            ],
            &["needed timestamp_echo", "needed timestamp_echo"],
        ),
    ]);
}

#[test]
fn without_reports_or_timestamps() {
    let tail: &[Step] = &[Sent(1000, 1, 1001), Retransmitted(1130, 1, 1001), Acked(1190, 1001, 1130, &[])];
    let overtaken: &[Step] = &[
        Sent(1000, 1, 1001),
        Sent(1001, 1001, 2001),
        Acked(1061, 1, 900, &[]),
        Acked(1062, 1, 900, &[]),
        Retransmitted(1063, 1, 1001),
        Acked(1123, 2001, 1063, &[]),
    ];
    let early: &[Step] = &[Sent(1000, 1, 1001), Retransmitted(1130, 1, 1001), Acked(1140, 1001, 1000, &[])];
    check(&[
        ("tail, neither", NEITHER, tail, &["unknowable no_reports"]),
        ("tail, SACK", SACK, tail, &["needed no_duplicate"]),
        ("tail, timestamps", TIMESTAMPS, tail, &["unknowable no_reports"]),
        ("duplicate ACKs, timestamps", TIMESTAMPS, overtaken, &["needed timestamp_echo"]),
        ("early, neither", NEITHER, early, &["spurious ack_too_early"]),
    ]);
}

#[test]
fn short_round_trips_shorten_the_wait_for_a_dsack() {
    let rtt = Some(Duration::from_millis(2));
    let tail = |ends| {
        let steps = [Sent(1000, 1, 1001), Retransmitted(1003, 1, 1001), Acked(1005, 1001, 1003, &[]), Ended(ends)];
        play_within(rtt, SACK, &steps)
    };
    assert_eq!(tail(1013), ["needed no_duplicate"]);
    assert_eq!(tail(1011), ["unknowable ambiguous"], "a DSACK may still come");
}

#[test]
fn copies_with_one_timestamp_are_ambiguous() {
    let steps = [Sent(1000, 1, 1001), Retransmitted(1000, 1, 1001), Acked(1060, 1001, 1000, &[]), Ended(1062)];
    assert_eq!(play(BOTH, &steps), ["unknowable ambiguous"]);
}

#[test]
fn receiver_options_may_come_after_the_first_retransmission() {
    for (options, expected) in [(NEITHER, Verdict::Unknowable), (BOTH, Verdict::Spurious)] {
        let mut verdicts = AckVerdicts::new(NEITHER);
        verdicts.on_retransmission(0, span(0, 1), copy(2000), Some(copy(1000)));
        verdicts.on_ack(at(2060), Offset::SYN, &Ack::new(Offset(1), 65_535), Some(1000), &|_| None);
        verdicts.set_receiver_options(options);
        assert_eq!(finish(&mut verdicts, at(9000), RTT)[0].1, expected);
    }
}

#[test]
fn final_verdicts_are_passed_on_once() {
    let mut verdicts = AckVerdicts::new(BOTH);
    verdicts.on_retransmission(7, span(1, 1001), copy(1300), Some(copy(1000)));
    verdicts.on_ack(at(1360), Offset(1), &Ack::new(Offset(1001), 1000), Some(1300), &|_| None);
    let mut found = Vec::new();
    verdicts.settle(at(1400), RTT, |index, verdict| found.push((index, verdict.if_reporting.0)));
    assert!(found.is_empty() && !verdicts.is_idle());
    verdicts.settle(at(4400), RTT, |index, verdict| found.push((index, verdict.if_reporting.0)));
    assert_eq!(found, [(7, Verdict::Needed)]);
    assert!(verdicts.is_idle());
    verdicts.finish(at(5000), RTT, |index, _| panic!("{index} again"));
}

#[test]
fn every_retransmission_gets_one_verdict() {
    let mut verdicts = AckVerdicts::new(BOTH);
    let pieces = [(1, 1001), (1, 1), (501, 1501), (1, 3001), (2001, 2001)];
    for index in 0..100 {
        verdicts.on_ack(at(900), Offset(1), &Ack::new(Offset(1), 1000), Some(950), &|_| None);
        let (from, to) = pieces[index as usize % pieces.len()];
        verdicts.on_retransmission(index, span(from, to), copy(1000 + u64::from(index)), None);
    }
    verdicts.on_ack(at(2000), Offset(1), &Ack::new(Offset(1201), 1000), Some(1050), &|_| None);
    let mut found = Vec::new();
    verdicts.finish(at(9000), RTT, |index, _| found.push(index));
    found.sort_unstable();
    assert_eq!(found, Vec::from_iter(0..100));
}
