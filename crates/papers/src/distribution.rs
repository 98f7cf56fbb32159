//! Distributions of values that are sorted in ascending order.

/// The value that the share `q` of the values does not exceed; `None` without values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let rank = (values.len() as f64 * q).ceil().max(1.0) as usize;
    values.get(rank - 1).copied()
}

/// The distribution function: its steps as points (value, share of the values up to it).
pub fn steps(values: &[f64]) -> Vec<(f64, f64)> {
    let start = values.first().map(|first| (*first, 0.0));
    let n = values.len() as f64;
    let steps = values.iter().zip(1..).map(|(value, rank)| (*value, f64::from(rank) / n));
    start.into_iter().chain(steps).collect()
}

/// The points of a distribution function that are drawn.
const POINTS: usize = 200;

/// The distribution function of many values, as points (value, share of the values up to it) from 0.5 to 99.5 %. The rest would
/// stretch the axis.
pub fn curve(values: &[f64]) -> Vec<(f64, f64)> {
    let Some(last) = values.len().checked_sub(1) else {
        return vec![];
    };
    let point = |i: usize| (values[last * i / POINTS], i as f64 / POINTS as f64);
    (1..POINTS).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_and_steps_end_at_one() {
        let values = [1.0, 2.0, 2.0, 7.0];
        for (q, expected) in [(0.0, 1.0), (0.25, 1.0), (0.26, 2.0), (0.75, 2.0), (1.0, 7.0)] {
            assert_eq!(quantile(&values, q), Some(expected), "{q}");
        }
        assert_eq!(quantile(&[], 0.5), None);
        let expected = [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5), (2.0, 0.75), (7.0, 1.0)];
        assert_eq!(steps(&values), expected);
        assert_eq!(steps(&[]), []);
    }

    #[test]
    fn a_curve_has_as_many_points_for_any_number_of_values() {
        let values: Vec<f64> = (0..=10_000).map(f64::from).collect();
        let curve = curve(&values);
        assert_eq!(curve.len(), POINTS - 1);
        assert_eq!(curve[99], (5000.0, 0.5));
        assert_eq!(super::curve(&[]), []);
    }
}
