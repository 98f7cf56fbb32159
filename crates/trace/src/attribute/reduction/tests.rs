use super::*;

const RTT: Duration = Duration::from_millis(50);

/// A recovery of one round trip.
fn recovery(ms: u64, sent_lately: u32, most_flight: u32) -> Repair {
    let at = Instant::from_millis(ms);
    Repair { at, until: Some(at + RTT), needed: true, sent_lately, most_flight }
}

/// Evidence from recoveries that begin at these times in ms, with this many segments sent lately, of a sender
/// that never had more than 100 in flight: how many others bear on, and how many contradict.
fn found(recoveries: &[(u64, u32)]) -> [u32; 2] {
    let repairs = recoveries.iter().map(|&(ms, sent)| recovery(ms, sent, 100));
    let found = window_evidence(repairs, RTT);
    [found.recoveries, found.unreduced]
}

#[test]
fn a_window_that_losses_do_not_reduce_contradicts_reduction() {
    // (when recoveries begin and what is sent then, how many others bear on, how many contradict)
    type Case = (&'static [(u64, u32)], [u32; 2]);
    let cases: [Case; 7] = [
        // The window may have been 200, then 140, then 98.
        (&[(0, 100), (100, 100)], [1, 0]),
        (&[(0, 100), (100, 100), (200, 100)], [2, 0]),
        (&[(0, 100), (100, 100), (200, 110)], [2, 1]),
        (&[(0, 100), (100, 100), (200, 100), (300, 100)], [3, 1]),
        // The next contradiction takes as long again.
        (&[(0, 100), (100, 100), (200, 100), (300, 100), (400, 100)], [4, 1]),
        // Between rare losses the window may have grown again.
        (&[(0, 100), (9000, 100), (18_000, 100), (27_000, 100)], [3, 0]),
        // The window falls.
        (&[(0, 100), (100, 70), (200, 49), (300, 34)], [3, 0]),
    ];
    for (recoveries, expected) in cases {
        assert_eq!(found(recoveries), expected, "{recoveries:?}");
    }
}

#[test]
fn what_may_have_been_undone_or_is_one_recovery_is_no_reduction() {
    let all = || (0..8).map(|i| recovery(i * 100, 100, 100));
    let contradictions = |repairs: Vec<Repair>| window_evidence(repairs.into_iter(), RTT).unreduced;
    assert!(contradictions(all().collect()) >= 2);
    let spurious = |repair| Repair { needed: false, ..repair };
    assert_eq!(contradictions(all().map(spurious).collect()), 0);
    let lasting = |repair| Repair { until: Some(Instant::from_millis(10_000)), ..repair };
    assert_eq!(contradictions(all().map(lasting).collect()), 0);
    let endless = |repair| Repair { until: None, ..repair };
    assert_eq!(contradictions(all().map(endless).collect()), 0);
}

/// An application that writes little leaves most of a large window unused.
#[test]
fn an_unused_window_may_fall_without_a_sign() {
    let repairs = (0..4).map(|i| recovery(i * 100, 20, 100));
    assert_eq!(window_evidence(repairs, RTT).unreduced, 0);
}
