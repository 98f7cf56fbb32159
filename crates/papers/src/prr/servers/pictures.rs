//! Lines of the pictures.

/// The points of a distribution function that are drawn.
const POINTS: usize = 200;

/// The distribution function of values that ascend, as points (value, share of the values up to it) from 0.5 to 99.5 %. The
/// rest would stretch the axis.
pub fn distribution(values: &[f64]) -> Vec<(f64, f64)> {
    let Some(last) = values.len().checked_sub(1) else {
        return vec![];
    };
    let point = |i: usize| (values[last * i / POINTS], i as f64 / POINTS as f64);
    (1..POINTS).map(point).collect()
}
