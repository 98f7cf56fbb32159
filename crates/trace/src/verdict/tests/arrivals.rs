//! Classification of segments below the highest byte, where arrivals are seen.

use super::{
    super::arrivals::{ArrivalVerdicts, SeenBytes},
    *,
};
use std::cmp::Ordering;

/// (time, from, to, timestamp, what had arrived)
type Arrived = (u64, u64, u64, Option<u32>, SeenBytes);

#[test]
fn arrivals() {
    let seen = |all, first: Option<u32>, higher| SeenBytes {
        all,
        first: first.map(|ts| Transmission { at: at(0), ts_value: Some(ts) }),
        higher,
        sent_after_higher: false,
        order_to_first: None,
    };
    let undated = SeenBytes {
        all: true,
        first: Some(Transmission { at: at(0), ts_value: None }),
        higher: None,
        sent_after_higher: false,
        order_to_first: None,
    };
    let hole = seen(false, None, Some(1001));
    let cases: &[(&str, &[Arrived], &[&str])] = &[
        ("younger than a segment above", &[(9, 1, 1001, Some(1060), hole)], &["needed no_copy_seen"]),
        ("as old as a segment above", &[(9, 1, 1001, Some(1001), hole)], &["unknowable looks_first"]),
        (
            "as old, and sent later by its IP identification",
            &[(9, 1, 1001, Some(1001), SeenBytes { sent_after_higher: true, ..hole })],
            &["needed no_copy_seen"],
        ),
        (
            "without timestamps, and sent after a late original by its IP identification",
            &[
                (9, 1, 1001, None, seen(false, None, None)),
                (50, 1, 1001, None, SeenBytes { order_to_first: Some(Ordering::Greater), ..undated }),
            ],
            &["unknowable looks_first", "spurious copy_seen"],
        ),
        (
            "without timestamps, and sent later by its IP identification",
            &[(9, 1, 1001, None, SeenBytes { sent_after_higher: true, ..seen(false, None, None) })],
            &["needed no_copy_seen"],
        ),
        ("older than a segment above", &[(9, 1, 1001, Some(1000), hole)], &["unknowable looks_first"]),
        (
            "its bytes arrived before",
            &[(9, 1, 1001, Some(1060), seen(true, Some(1000), Some(1001)))],
            &["spurious copy_seen"],
        ),
        (
            "the original arrives later",
            &[(9, 1, 1001, Some(1060), hole), (10, 1, 1001, Some(1000), seen(true, Some(1060), Some(1001)))],
            &["spurious copy_seen", "first"],
        ),
        (
            "half of the original arrives later",
            &[(9, 1, 1001, Some(1060), hole), (10, 1, 501, Some(1000), seen(true, Some(1060), Some(1001)))],
            &["needed no_copy_seen", "first"],
        ),
        (
            "an earlier retransmission arrives after a later one",
            &[(9, 1, 1001, Some(1200), hole), (10, 1, 1001, Some(1060), seen(true, Some(1200), Some(1001)))],
            &["spurious copy_seen", "needed no_copy_seen"],
        ),
        (
            "an older copy shows that a supposed original is a retransmission",
            &[
                (9, 1, 1001, Some(1060), seen(false, None, Some(1100))),
                (10, 1, 1001, Some(1000), seen(true, Some(1060), Some(1100))),
            ],
            &["spurious copy_seen", "first"],
        ),
        (
            "the earlier copy filled a hole",
            &[(9, 1, 1001, Some(1000), hole), (10, 1, 1001, Some(1060), seen(true, None, Some(1001)))],
            &["unknowable looks_first", "spurious copy_seen"],
        ),
        (
            "some of its bytes arrived before",
            &[(9, 1, 1001, Some(1060), seen(false, Some(1000), None))],
            &["needed no_copy_seen"],
        ),
        ("no timestamps, the earlier copy came in order", &[(9, 1, 1001, None, undated)], &["spurious copy_seen"]),
        (
            "no timestamps, the earlier copy filled a hole",
            &[(9, 1, 1001, None, seen(false, None, None)), (10, 1, 1001, None, undated)],
            &["unknowable ambiguous", "unknowable ambiguous"],
        ),
    ];
    for (what, arrived, expected) in cases {
        let mut arrivals = ArrivalVerdicts::default();
        for (index, &(ms, from, to, ts_value, seen)) in arrived.iter().enumerate() {
            let copy = Transmission { at: at(ms), ts_value };
            arrivals.on_arrival(index as u32, span(from, to), copy, seen);
        }
        arrivals.settle(at(20), |index, _| panic!("{what}: {index} too soon"));
        let mut found = Vec::new();
        arrivals.settle(at(100_000), |_, verdict| {
            found.push(match verdict {
                Some((verdict, evidence)) => format!("{} {}", verdict.name(), evidence.name()),
                None => "first".into(),
            });
        });
        assert_eq!(found, *expected, "{what}");
        arrivals.finish(|index, _| panic!("{what}: {index} again"));
    }
}

#[test]
fn too_many_copies_are_ambiguous() {
    let mut arrivals = ArrivalVerdicts::default();
    let again =
        SeenBytes { all: true, first: Some(copy(0)), higher: None, sent_after_higher: false, order_to_first: None };
    let far = (1000, span(500_001, 501_001));
    let copies = (0..1000).map(|index| (index, span(1, 1001)));
    for (index, span) in copies.chain([far]) {
        arrivals.on_arrival(index, span, copy(1 + u64::from(index)), again);
    }
    let mut spurious = Vec::new();
    arrivals.finish(|index, verdict| match verdict {
        Some((Verdict::Spurious, _)) => spurious.push(index),
        other => assert_eq!(other, Some((Verdict::Unknowable, Evidence::Ambiguous))),
    });
    assert_eq!(spurious.len(), 258);
    assert_eq!(spurious.last(), Some(&1000), "no other segment is nearby");
}
