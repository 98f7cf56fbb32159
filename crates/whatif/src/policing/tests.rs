//! Against simulated paths whose policer is known.

use super::*;
use crate::bottleneck::tests::{CASE, Case};
use crate::transmission::Arrival;
use recoup_units::{Offset, Span};
use std::time::Duration;

/// A fast path: what limits its flows is the loss.
const FAST: Case = Case { rate: 200.0, segments: 3000, flows: 3, ..CASE };

fn infer_from(case: Case) -> Option<Policer> {
    let flows = case.run();
    infer(&flows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn rate_and_burst_come_back() {
    for (loss, rate, burst) in
        [("policer:2Mbit,30kB", 2e6, 30e3), ("policer:5Mbit,100kB", 5e6, 100e3), ("policer:1Mbit,12kB", 1e6, 12e3)]
    {
        let found = infer_from(Case { loss, ..FAST }).unwrap_or_else(|| panic!("{loss}"));
        let share = found.rate.bits_per_second() as f64 / rate;
        assert!((share - 1.0).abs() < 0.05, "{loss}: {found:?}");
        assert!((found.burst as f64 / burst - 1.0).abs() < 0.35, "{loss}: {found:?}");
    }
}

#[test]
fn losses_by_chance_are_no_policer() {
    for loss in ["bernoulli:0.02", "gilbert-elliott:0.01,0.4", "outages:300ms,20ms", "bernoulli:0.002"] {
        for rtt in [10, 40, 150] {
            let found = infer_from(Case { loss, rtt, ..FAST });
            assert_eq!(found, None, "{loss} {rtt}");
        }
    }
    assert_eq!(infer_from(FAST), None);
    assert_eq!(infer(&[]), None);
}

/// A packet of this length that the network loses, or that arrives, at this time.
fn sent(ms: u64, is_lost: bool) -> Transmission {
    let echo = Instant::from_millis(ms + 40);
    let arrival = Arrival { echo, ack: None, ack_lost: false, in_order: true, held: Duration::ZERO, duplicates: 0 };
    Transmission {
        span: Span { start: Offset::DATA, end: Offset::DATA },
        copy: 1,
        sent: Instant::from_millis(ms),
        ip_len: 1000,
        fate: if is_lost { Fate::Lost } else { Fate::Arrived(arrival) },
    }
}

/// A byte a ms, and a burst of five packets.
fn slow() -> Policer {
    Policer { rate: BitRate::from_bits_per_second(8000).unwrap(), burst: 5000 }
}

#[test]
fn what_it_dropped_is_told_from_other_losses() {
    let mut all: Vec<_> =
        [(0, false), (0, true), (1, false), (1, false), (2, true)].map(|(ms, lost)| sent(ms, lost)).into();
    // The first loss meets 4,000 bytes, the second one an empty bucket.
    assert_eq!(dropped(slow(), &all), [false, false, false, false, true]);
    // Long after, the bucket is full.
    all.push(sent(60_000, true));
    assert_eq!(dropped(slow(), &all).last(), Some(&false));
}

#[test]
fn a_packet_of_a_rerun_has_the_fate_of_its_counterpart_or_the_buckets() {
    let all = [sent(0, false), sent(10, false), sent(20, false), sent(30, false), sent(40, false), sent(50, true)];
    let policing = Policing::new(slow(), &all);
    let mut bucket = policing.bucket();
    let mut passes = |ms, recorded| policing.passes(&mut bucket, Instant::from_millis(ms), 1000, recorded);
    assert!((0..5).all(|index| passes(10 * index as u64, Some((index, true)))));
    assert!(!passes(50, Some((5, false))));
    // At the level of its counterpart, within two packets, it has its fate whatever the level.
    assert!(passes(60, Some((4, true))));
    // Otherwise there must be tokens.
    assert!(!passes(100, None));
    assert!(!passes(100, Some((0, true))), "its counterpart met a full bucket");
    assert!(passes(1500, None) && !passes(1500, None));
}
