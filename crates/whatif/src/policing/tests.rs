//! Against simulated paths whose policer is known.

use super::*;
use crate::bottleneck::tests::{CASE, Case};

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

#[test]
fn what_it_dropped_is_told_from_other_losses() {
    let loss = "policer:3Mbit,30kB";
    let flows = Case { loss, ..FAST }.run();
    let policer = Policer { rate: BitRate::from_bits_per_second(3_000_000).unwrap(), burst: 30_000 };
    for sent in &flows {
        let dropped = dropped(policer, sent).into_iter().filter(|dropped| *dropped).count();
        let lost = losses(sent).count();
        assert!(lost > 15 && dropped * 10 >= lost * 9, "{dropped} of {lost}");
        let policing = Policing::new(policer, sent);
        let mut bucket = policing.bucket();
        // The capture's own packets have their fates.
        for (index, one) in sent.iter().enumerate().filter(|(_, one)| one.fate != Fate::Unknown) {
            let arrived = one.fate != Fate::Lost;
            if !arrived && !policing.dropped(index) {
                continue;
            }
            let passes = policing.passes(&mut bucket, one.sent, one.ip_len, Some((index, arrived)));
            assert_eq!(passes, arrived, "{index}");
        }
    }
}
