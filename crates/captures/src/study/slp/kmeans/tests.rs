use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// The sum of squares around the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|x| (x - mean).powi(2)).sum()
}

#[test]
fn two_groups_are_told_apart() {
    let split = split_in_two([0.2, 0.1, 3.0, 0.3, 3.2]).unwrap();
    assert_eq!(split.upper_from, 3.0);
    assert!((split.threshold - 1.65).abs() < 1e-12);
    assert!(split.is_unique);
}

#[test]
fn fewer_than_two_distinct_values_have_no_split() {
    for values in [&[][..], &[1.0], &[2.0, 2.0, 2.0], &[f64::NAN, 1.0]] {
        assert_eq!(split_in_two(values.iter().copied()), None, "{values:?}");
    }
}

#[test]
fn of_equally_good_splits_the_one_with_the_smallest_upper_group_is_reported() {
    let split = split_in_two([0.0, 1.0, 2.0]).unwrap();
    assert!(!split.is_unique);
    assert_eq!(split.upper_from, 2.0);
}

proptest! {
    /// Compares with every division into two groups, intervals or not.
    #[test]
    fn no_division_is_better(values in vec((0_u32..50).prop_map(|x| f64::from(x) / 8.0), 2..11)) {
        let mut least = f64::INFINITY;
        for members in 1..(1_u32 << values.len()) - 1 {
            let part = |side: u32| -> Vec<f64> {
                let chosen = values.iter().enumerate().filter(|(i, _)| members >> i & 1 == side);
                chosen.map(|(_, x)| *x).collect()
            };
            least = least.min(squares(&part(0)) + squares(&part(1)));
        }
        let has_two = values.iter().any(|x| *x != values[0]);
        let split = split_in_two(values.iter().copied());
        prop_assert_eq!(split.is_some(), has_two);
        if let Some(split) = split {
            let (upper, lower): (Vec<f64>, Vec<f64>) = values.iter().partition(|x| **x >= split.upper_from);
            let ours = squares(&upper) + squares(&lower);
            prop_assert!((ours - least).abs() < 1e-9, "{} {}", ours, least);
            prop_assert!(lower.iter().all(|x| *x <= split.threshold + 1e-12));
            prop_assert!(upper.iter().all(|x| *x >= split.threshold - 1e-12));
        }
    }
}
