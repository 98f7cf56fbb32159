use super::*;

fn numbers(values: &[f64], most: usize) -> Vec<String> {
    let axis = SymmetricAxis::covering(values.iter().copied());
    let ticks = axis.ticks(|ticks| ticks.len() <= most);
    ticks.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn the_axis_has_0_and_round_numbers_of_both_signs() {
    for (values, most, expected) in [
        (&[][..], 9, &["−1", "0", "1"][..]),
        (&[0.2], 9, &["−1", "0", "1"]),
        (&[-0.2, 35.0], 9, &["−1", "0", "1", "10", "100"]),
        (&[-35.0, 0.5], 9, &["−100", "−10", "−1", "0", "1"]),
        (&[1e4], 4, &["0", "10", "1000"]),
        (&[-2.0, 1e9], 4, &["0", "100", "100000", "1e8"]),
    ] {
        assert_eq!(numbers(values, most), expected, "{values:?}");
    }
}

#[test]
fn the_axis_is_linear_in_the_middle_and_logarithmic_beyond() {
    // From −10 to 100: five steps.
    let axis = SymmetricAxis::covering([-3.0, 50.0].into_iter());
    for (value, steps) in [
        (-1e9, 0.0),
        (-10.0, 0.0),
        (-1.0, 1.0),
        (-0.5, 1.5),
        (0.0, 2.0),
        (0.25, 2.25),
        (1.0, 3.0),
        (10.0, 4.0),
        (100.0, 5.0),
        (f64::MAX, 5.0),
    ] {
        assert!((axis.part(value) - steps / 5.0).abs() < 1e-12, "{value}");
    }
}
