use super::*;

#[test]
fn a_linear_axis_has_round_numbers() {
    let cases: [(f64, &[&str]); 6] = [
        (0.0, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (1.2, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]),
        (1.41, &["0.0", "0.5", "1.0", "1.5"]),
        (7.0, &["0", "1", "2", "3", "4", "5", "6", "7"]),
        (61.0, &["0", "10", "20", "30", "40", "50", "60", "70"]),
        (1.2e6, &["0", "2.0e5", "4.0e5", "6.0e5", "8.0e5", "1.0e6", "1.2e6"]),
    ];
    for (largest, numbers) in cases {
        let ticks: Vec<_> = LinearAxis::up_to(largest).ticks().map(|(_, text)| text).collect();
        assert_eq!(ticks, numbers, "up to {largest}");
    }
}

#[test]
fn a_linear_axis_covers_its_largest_value_and_small_steps_have_enough_decimals() {
    let cases: [(f64, &[&str]); 6] = [
        (0.0, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (f64::NAN, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.06, &["0.00", "0.01", "0.02", "0.03", "0.04", "0.05", "0.06"]),
        (0.3, &["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]),
        (0.000_7, &["0.0000", "0.0001", "0.0002", "0.0003", "0.0004", "0.0005", "0.0006", "0.0007"]),
        (3e-9, &["0", "5.0e-10", "1.0e-9", "1.5e-9", "2.0e-9", "2.5e-9", "3.0e-9"]),
    ];
    for (largest, numbers) in cases {
        let ticks: Vec<_> = LinearAxis::covering(largest).ticks().map(|(_, text)| text).collect();
        assert_eq!(ticks, numbers, "up to {largest}");
    }
}

#[test]
fn a_logarithmic_axis_has_as_many_round_numbers_as_fit() {
    let cases: [(f64, f64, usize, &[&str]); 8] = [
        (0.1, 30.0, 9, &["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]),
        (0.1, 30.0, 7, &["0.1", "1", "10"]),
        (250.0, 8_388_608.0, 5, &["1000", "10000", "100000", "1e6"]),
        (250.0, 8_388_608.0, 3, &["10000", "1e6"]),
        (1e-6, 1e-4, 9, &["1e-6", "2e-6", "5e-6", "1e-5", "2e-5", "5e-5", "0.0001"]),
        // A single number and a narrow range are widened to a decade.
        (30.0, 30.0, 9, &["10", "20", "50"]),
        (3.0, 4.0, 9, &["2", "5", "10"]),
        // When no choice fits, the one with the fewest numbers is taken.
        (1.0, 100.0, 0, &["1", "100"]),
    ];
    for (low, high, most, expected) in cases {
        let ticks = LogAxis::between(low, high).ticks(|ticks| ticks.len() <= most);
        let numbers: Vec<_> = ticks.into_iter().map(|(_, text)| text).collect();
        assert_eq!(numbers, expected, "{low} to {high}, at most {most}");
    }
}

#[test]
fn all_decades_of_a_logarithmic_axis_are_equally_wide() {
    let axis = LogAxis::between(0.1, 100.0);
    for (value, part) in [(0.01, 0.0), (0.1, 0.0), (1.0, 1.0), (10.0, 2.0), (100.0, 3.0), (1e9, 3.0)] {
        assert!((axis.part(value) - part / 3.0).abs() < 1e-12, "{value}");
    }
}
