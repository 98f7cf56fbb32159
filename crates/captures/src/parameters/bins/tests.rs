use super::*;

#[test]
fn a_bin_has_the_means_of_its_senders() {
    let mut bins = Bins::default();
    for (best_case, saved) in [(10.0, 5.0), (12.0, -1.0), (15.8, 2.0), (16.0, 3.0)] {
        bins.add(best_case, saved);
    }
    for outside in [0.0, 0.09, 1e4, f64::INFINITY] {
        bins.add(outside, 1.0);
    }
    assert_eq!(bins.outside(), 4);
    let all: Vec<Bin> = bins.all().collect();
    assert_eq!(all.len(), 2, "{all:?}");
    let [first, second] = [all[0], all[1]];
    assert_eq!((first.senders, second.senders), (3, 1));
    assert!((first.from - 10.0).abs() < 1e-9 && (first.to - 15.849).abs() < 1e-3);
    assert!((first.mean_best_case - 12.6).abs() < 1e-9);
    assert!((first.mean - 2.0).abs() < 1e-9);
    assert_eq!((first.p95, second.p95), (5.0, 3.0));
    bins.add(0.1, 1.0);
    bins.add(9_999.0, 1.0);
    assert_eq!((bins.all().count(), bins.outside()), (4, 4));
}

#[test]
fn percentiles_are_near_in_bounded_memory() {
    // From −5,000 to 4,999: 95 % are at most 4,499.
    for (count, tolerance) in [(100, 0.0), (10_000, 0.005)] {
        let mut values = Values::default();
        for i in 0..count {
            values.add(f64::from((i * 7919) % count - count / 2));
        }
        let expected = f64::from(count * 95 / 100 - 1 - count / 2);
        let error = (values.p95() - expected).abs() / expected;
        assert!(error <= tolerance, "{count}: {}", values.p95());
        assert!(values.counts.len() < 5000);
    }
    let mut negative = Values::default();
    (1..=10_000).for_each(|i| negative.add(-f64::from(i)));
    assert!((negative.p95() + 501.0).abs() < 5.0, "{}", negative.p95());
    let mut zeros = Values::default();
    [0.0, -0.0].into_iter().for_each(|zero| zeros.add(zero));
    assert_eq!((zeros.p95(), zeros.counts.len()), (0.0, 1));
}

#[test]
fn keys_have_the_order_of_values() {
    let values = [f64::MIN, -2.5, -1.0, -1e-300, 0.0, 1e-300, 1.0, 2.5, f64::MAX];
    let keys = values.map(key);
    assert!(keys.is_sorted());
    assert_eq!(keys.map(value), values);
}
