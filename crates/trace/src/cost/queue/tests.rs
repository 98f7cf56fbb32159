use super::RttBeside::{AtMost, Exactly, Unknown};
use super::*;

/// Round trips from 50 ms to `longest`.
fn range(longest: u64) -> RttQuantiles {
    let [min, longest] = [50, longest].map(Duration::from_millis);
    RttQuantiles { samples: 100, min, p50: min, p90: longest, p99: longest, max: longest * 3, mean: min }
}

fn counts(losses: &[RttBeside], range: &RttQuantiles) -> (u64, u64, u64) {
    let QueueLosses { full, not_full, unknown, .. } = count(losses.iter().copied(), Some(range));
    (full, not_full, unknown)
}

#[test]
fn losses_with_the_longest_round_trips_met_a_full_queue() {
    let losses = [Exactly(149_000), Exactly(55_000), Exactly(151_000), Exactly(130_000), Exactly(140_000), Unknown];
    assert_eq!(counts(&losses, &range(150)), (3, 1, 2));
    let found = count(losses.into_iter(), Some(&range(150)));
    assert_eq!(found.full_rtt, Some(Duration::from_millis(149)));
}

#[test]
fn an_ack_that_may_be_delayed_shows_no_full_queue() {
    assert_eq!(counts(&[AtMost(149_000), AtMost(60_000)], &range(150)), (0, 1, 1));
}

#[test]
fn few_losses_with_the_longest_round_trips_may_be_chance() {
    assert_eq!(counts(&[Exactly(149_000), Exactly(150_000)], &range(150)), (0, 0, 2));
}

#[test]
fn round_trips_that_hardly_vary_show_nothing() {
    assert_eq!(counts(&[Exactly(54_000), Exactly(50_000)], &range(54)), (0, 0, 2));
    assert_eq!(count([Exactly(54_000)].into_iter(), None).unknown, 1);
    let few = RttQuantiles { samples: 9, ..range(150) };
    assert_eq!(counts(&[Exactly(51_000)], &few), (0, 0, 1));
}
