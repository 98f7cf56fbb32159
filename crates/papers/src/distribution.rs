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
}
