//! The 95 % interval of a mean change.
//!
//! The interval is to cover the mean change that the same connections would have met, had they run the
//! other mechanism on the same network. Two things keep the predicted mean from it:
//!
//! - **Draws.** Where a connection's fate is drawn, its true change is one more draw of the same kind. The
//!   mean of `d` draws differs from it with the variance `v · (1 + 1/d)`, where `v` is the variance of the
//!   draws.
//! - **The model.** A rerun is not exact: the base run of a connection ends `r` later or earlier than the
//!   capture shows. Both runs of a changed connection may be that far off, so that its change has the
//!   variance `2 s²` besides, where `s²` is the mean square of `r` over all connections that were rerun.
//!   A connection that runs exactly as before has neither.
//!
//! With `n` connections, the mean has the variance `(Σ v (1 + 1/d) + 2 s² m) / n²`, where `m` connections
//! change. The half width is this variance's root times the quantile of Student's distribution, whose
//! degrees of freedom follow from Satterthwaite ("An approximate distribution of estimates of variance
//! components", 1946), because each `v` is estimated from few draws.

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// What one connection adds to the variance of a mean change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Uncertainty {
    /// The variance of its draws, in ms².
    pub variance: f64,
    /// How many draws; 0 if nothing was drawn.
    pub draws: u32,
    /// Whether it runs in another way than before.
    pub is_changed: bool,
}

/// Half the width of the interval of a mean over these connections, in ms. `model`: the mean square of
/// the base runs' errors, in ms². `None` if one draw was made, which shows no variance.
pub(super) fn half_width(
    connections: impl Iterator<Item = Uncertainty>,
    model: f64,
) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0_u64, 0.0, 0.0);
    for one in connections {
        n += 1;
        if one.draws == 1 {
            return None;
        }
        if one.draws > 1 {
            let draws = f64::from(one.draws);
            let variance = one.variance * (1.0 + 1.0 / draws);
            sum += variance;
            squares += variance * variance / (draws - 1.0);
        }
        if one.is_changed {
            sum += 2.0 * model;
        }
    }
    if n == 0 {
        return None;
    }
    let freedom = match squares > 0.0 {
        true => sum * sum / squares,
        false => f64::INFINITY,
    };
    Some(student(freedom) * sum.sqrt() / n as f64)
}

/// The 97.5 % quantile of Student's distribution (Abramowitz and Stegun, 26.7.5): within 1 % from 3
/// degrees of freedom on.
fn student(freedom: f64) -> f64 {
    let freedom = freedom.max(3.0);
    let [z3, z5, z7] = [Z.powi(3), Z.powi(5), Z.powi(7)];
    Z + (z3 + Z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * freedom.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_quantiles_are_those_of_tables() {
        for (freedom, quantile) in [(3.0, 3.182), (9.0, 2.262), (30.0, 2.042), (1e9, 1.960)] {
            let found = student(freedom);
            assert!((found / quantile - 1.0).abs() < 0.01, "{freedom}: {found}");
        }
    }

    #[test]
    fn draws_and_changes_widen_the_interval() {
        let unchanged = Uncertainty::default();
        let drawn = Uncertainty {
            variance: 100.0,
            draws: 10,
            is_changed: true,
        };
        let changed = Uncertainty {
            is_changed: true,
            ..unchanged
        };
        let half = |all: &[Uncertainty], model| half_width(all.iter().copied(), model);
        assert_eq!(half(&[], 1.0), None);
        assert_eq!(half(&[unchanged; 4], 1.0), Some(0.0));
        // One connection, ten draws with 9 degrees of freedom.
        let one = half(&[drawn], 0.0).unwrap();
        assert!(
            (one / (2.262 * 110.0_f64.sqrt()) - 1.0).abs() < 0.01,
            "{one}"
        );
        // The mean of 100 such connections is ten times as exact, and its variance better known.
        let many = half(&[drawn; 100], 0.0).unwrap();
        assert!(
            (many / (1.961 * 110.0_f64.sqrt() / 10.0) - 1.0).abs() < 0.01,
            "{many}"
        );
        let modelled = half(&[changed; 100], 50.0).unwrap();
        assert!((modelled / (1.96 * 100.0_f64.sqrt() / 10.0) - 1.0).abs() < 0.01);
        // A single draw shows no variance.
        let once = Uncertainty { draws: 1, ..drawn };
        assert_eq!(half(&[once, unchanged], 1.0), None);
    }

    /// Draws from a skewed distribution: mostly 0, sometimes a timeout.
    #[test]
    fn the_interval_covers_another_realisation() {
        let mut state = 7_u64;
        let mut draw = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if (state >> 33).is_multiple_of(10) {
                300.0
            } else {
                0.0
            }
        };
        let (connections, draws, trials) = (200, 10, 400);
        let mut covered = 0;
        for _ in 0..trials {
            let (mut predicted, mut truth, mut all) = (0.0, 0.0, Vec::new());
            for _ in 0..connections {
                let values: Vec<f64> = (0..draws).map(|_| draw()).collect();
                let mean = values.iter().sum::<f64>() / f64::from(draws);
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                predicted += mean / f64::from(connections);
                truth += draw() / f64::from(connections);
                all.push(Uncertainty {
                    variance: squares / f64::from(draws - 1),
                    draws: draws as u32,
                    is_changed: true,
                });
            }
            let half = half_width(all.into_iter(), 0.0).unwrap();
            covered += u32::from((predicted - truth).abs() <= half);
        }
        let share = f64::from(covered) / f64::from(trials);
        assert!((0.92..=0.98).contains(&share), "{share}");
    }
}
