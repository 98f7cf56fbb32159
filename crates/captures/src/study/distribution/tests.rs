use super::*;

fn of(values: impl IntoIterator<Item = f64>) -> Distribution {
    let mut all = Distribution::in_steps_of(0.001);
    values.into_iter().for_each(|value| all.add(value));
    all
}

#[test]
fn few_values_are_exact() {
    let some = of([0.5, 4.0, 1.0, 0.0, 1.0]);
    let cdf = some.cdf();
    assert_eq!(
        (cdf.count, cdf.min, cdf.p10, cdf.p50, cdf.p90, cdf.max),
        (5, Some(0.0), Some(0.0), Some(1.0), Some(4.0), Some(4.0))
    );
    assert_eq!(cdf.points, [(0.0, 0.2), (0.5, 0.4), (1.0, 0.8), (4.0, 1.0)]);
    assert_eq!(some.share_below(1.0), Some(0.4));
    assert_eq!(some.mean(), Some(1.3));
    assert_eq!(some.share_above(1.0), Some(0.2));
}

#[test]
fn an_empty_distribution_has_no_quantiles() {
    // Negative values and NaN are ignored.
    for none in [of([]), of([f64::NAN, -1.0, f64::NEG_INFINITY])] {
        assert_eq!(none.cdf(), Cdf::default());
        assert_eq!((none.share_below(1.0), none.quantile(0.5)), (None, None));
        assert_eq!(none.mean(), None);
    }
}

#[test]
fn many_values_stay_within_a_thousandth_and_few_points() {
    let many = of((1..=100_000).map(f64::from));
    let cdf = many.cdf();
    for (found, expected) in [(cdf.p10, 1e4), (cdf.p50, 5e4), (cdf.p99, 9.9e4)] {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() <= 0.001, "{found} {expected}");
    }
    assert_eq!((cdf.min, cdf.max.map(|max| max > 99_900.0)), (Some(1.0), Some(true)));
    assert!((150..=250).contains(&cdf.points.len()), "{}", cdf.points.len());
    assert_eq!(cdf.points.last().map(|(_, share)| *share), Some(1.0));
    assert!(cdf.points.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
}

#[test]
fn values_too_large_count_as_the_largest() {
    let huge = of([1.0, f64::INFINITY, 1e300]);
    assert_eq!((huge.count(), huge.quantile(0.0)), (3, Some(1.0)));
    assert!(huge.quantile(1.0) > Some(1e15));
}

#[test]
fn the_order_of_merging_does_not_change_the_distribution() {
    let part = |k: u32| of((0..3000).filter(|i| i % 3 == k).map(|i| f64::from(i * 7919 % 6000)));
    let whole = of((0..3000).map(|i| f64::from(i * 7919 % 6000)));
    for order in [[0, 1, 2], [2, 0, 1]] {
        let mut merged = of([]);
        order.iter().for_each(|k| merged.merge(&part(*k)));
        assert_eq!(merged.cdf(), whole.cdf());
    }
}

#[test]
fn a_loaded_distribution_is_the_saved_one() {
    let some = of([0.5, 4.0, 1.0, 0.0, 1e300]);
    let bytes = postcard::to_stdvec(&some).unwrap();
    let loaded: Distribution = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(loaded.cdf(), some.cdf());
}
