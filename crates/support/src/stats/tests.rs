use super::*;

fn of(values: impl IntoIterator<Item = u64>) -> Durations {
    let mut d = Durations::default();
    values.into_iter().for_each(|ms| d.add(Duration::from_millis(ms)));
    d
}

#[test]
fn small_distributions_are_exact() {
    let s = of([5, 1, 4, 2, 3]).summary().unwrap();
    assert_eq!((s.min, s.p50, s.p90, s.p99, s.max, s.mean), (1.0, 3.0, 5.0, 5.0, 5.0, 3.0));
    assert_eq!(of([]).summary(), None);
    let one = of([440]).summary().unwrap();
    assert_eq!((one.min, one.p50, one.p99, one.max, one.mean), (440.0, 440.0, 440.0, 440.0, 440.0));
}

#[test]
fn large_distributions_are_nearly_exact_in_bounded_memory() {
    let d = of(1..=100_000);
    assert!(d.exact.is_empty());
    let s = d.summary().unwrap();
    for (value, expected) in [(s.p50, 50_000.0), (s.p90, 90_000.0), (s.p99, 99_000.0)] {
        assert!((value / expected - 1.0f64).abs() < 0.001, "{value} {expected}");
    }
    assert_eq!((s.min, s.max, s.mean), (1.0, 100_000.0, 50_000.5));
}

#[test]
fn cumulative_counts_end_at_the_number_of_values() {
    let few = of([5, 1, 5, 2]).cumulative();
    assert_eq!(few, [(1_000_000, 1), (2_000_000, 2), (5_000_000, 4)]);
    assert_eq!(of([]).cumulative(), []);
    let many = of(1..=100_000).cumulative();
    assert_eq!(many.last(), Some(&(100_000_000_000, 100_000)));
    for (nanos, count) in many {
        let expected = nanos as f64 / 1e6;
        assert!((count as f64 / expected - 1.0).abs() < 0.01, "{nanos} {count}");
    }
}

#[test]
fn a_saved_distribution_goes_on_as_if_it_was_not_saved() {
    for n in [10, 10_000] {
        let mut whole = of(0..n);
        let bytes = postcard::to_stdvec(&whole).unwrap();
        let mut loaded: Durations = postcard::from_bytes(&bytes).unwrap();
        for ms in [3, 7 * n] {
            whole.add(Duration::from_millis(ms));
            loaded.add(Duration::from_millis(ms));
        }
        assert_eq!(loaded.summary(), whole.summary());
    }
}

#[test]
fn the_order_of_merging_does_not_matter() {
    for n in [100, 3000, 30_000] {
        let whole = of((0..n).map(|i| i * 7919 % 60_000));
        let parts: Vec<_> = (0..4).map(|k| of((0..n).filter(|i| i % 4 == k).map(|i| i * 7919 % 60_000))).collect();
        let mut forwards = Durations::default();
        parts.iter().for_each(|p| forwards.merge(p));
        let mut backwards = Durations::default();
        parts.iter().rev().for_each(|p| backwards.merge(p));
        assert_eq!(forwards.summary(), whole.summary());
        assert_eq!(backwards.summary(), whole.summary());
    }
}
