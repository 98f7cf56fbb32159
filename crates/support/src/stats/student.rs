//! Student's distribution: quantiles for intervals of means, and how likely a deviation is by chance.

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// The 97.5 % quantile of Student's distribution (Abramowitz and Stegun, 26.7.5): within 1 %. The series
/// needs 3 degrees of freedom; fewer are rounded down.
pub fn student(freedom: f64) -> f64 {
    if freedom < 3.0 {
        return if freedom < 2.0 { 12.706 } else { 4.303 };
    }
    let [z3, z5, z7] = [Z.powi(3), Z.powi(5), Z.powi(7)];
    Z + (z3 + Z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * freedom.powi(3))
}

/// How likely it is that chance alone makes a value of Student's distribution at least this large, with either sign:
/// Wallace's transformation to the normal distribution ("Bounds on normal approximations to Student's and the chi-square
/// distributions", 1959). From 4 degrees of freedom on it is within a sixth of the true probability down to 0.001.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    let z = match freedom.is_finite() {
        true => (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * (freedom * (t * t / freedom).ln_1p()).sqrt(),
        false => t.abs(),
    };
    libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (freedom, quantile) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (9.0, 2.262), (30.0, 2.042), (1e9, 1.960)]
        {
            let found = student(freedom);
            assert!((found / quantile - 1.0).abs() < 0.01, "{freedom}: {found}");
        }
    }

    #[test]
    fn probabilities_are_those_of_tables() {
        for (t, freedom, probability) in [
            (2.776, 4.0, 0.05),
            (8.610, 4.0, 0.001),
            (2.131, 15.0, 0.05),
            (4.073, 15.0, 0.001),
            (1.960, f64::INFINITY, 0.05),
            (0.0, 10.0, 1.0),
        ] {
            let found = student_two_sided(t, freedom);
            assert!((found / probability - 1.0).abs() < 0.17, "{t} {freedom}: {found}");
            assert_eq!(found, student_two_sided(-t, freedom));
        }
    }
}
