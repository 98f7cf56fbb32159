use super::*;

fn of(values: impl IntoIterator<Item = i64>) -> Integers {
    let mut integers = Integers::default();
    values.into_iter().for_each(|v| integers.add(v));
    integers
}

#[test]
fn percentiles_are_values_of_the_distribution() {
    let five = of([-7, 3, 0, 3, 12]);
    for (percent, value) in [(0, -7), (1, -7), (20, -7), (21, 0), (50, 3), (80, 3), (81, 12)] {
        assert_eq!(five.percentile(percent), Some(value), "{percent} %");
    }
    assert_eq!((five.min(), five.max(), five.count()), (Some(-7), Some(12), 5));
    let hundred = of(1..=100);
    for percent in [1, 5, 10, 25, 50, 75, 90, 95, 99] {
        assert_eq!(hundred.percentile(percent), Some(i64::from(percent)));
    }
}

#[test]
fn an_empty_distribution_has_no_percentiles() {
    let none = of([]);
    assert_eq!((none.percentile(50), none.min(), none.max()), (None, None, None));
    assert_eq!(none.signs(), Signs::default());
}

#[test]
fn signs_are_counted() {
    let signs = of([-3, -1, 0, 2, 2, 5]).signs();
    assert_eq!((signs.below, signs.zero, signs.above), (2, 1, 3));
}

#[test]
fn parts_merge_into_the_whole_in_any_order() {
    let values = || (0..1000).map(|i| i * 7919 % 100 - 50);
    let parts: Vec<_> = (0..4).map(|k| of(values().skip(k).step_by(4))).collect();
    let mut merged = Integers::default();
    parts.iter().rev().for_each(|part| merged.merge(part));
    assert_eq!(merged, of(values()));
}
