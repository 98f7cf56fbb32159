//! The 95 % interval of a mean change.
//!
//! The interval is to cover the mean change that the mechanism makes for connections like these on the same
//! network, and so what the same connections would meet if they ran once more. Three things keep the
//! predicted mean from it:
//!
//! - **The sample.** The connections captured are some of all. Once a mechanism sends something else, the
//!   network does not treat the packets after it as it did: the losses that a rerun repeats are one sample,
//!   too. The changes `c` of `n` connections have the variance `Σ (c − c̄)² / (n − 1)`, their mean an `n`-th
//!   of it.
//! - **Draws.** Where a connection's fate is drawn, its true change is one more draw of the same kind. The
//!   mean of `d` draws differs from it with the variance `v · (1 + 1/d)`, where `v` is the variance of the
//!   draws.
//! - **The model.** A rerun is not exact: the base run of a connection ends `r` later or earlier than the
//!   capture shows. Both runs of a changed connection may be that far off, so that its change has the
//!   variance `2 s²` besides, where `s²` is the mean square of `r` over all connections that were rerun.
//!
//! With `m` connections that change, the mean has the variance
//! `Σ (c − c̄)² / (n (n − 1)) + (Σ v (1 + 1/d) + 2 s² m) / n²`. The half width is this variance's root times the
//! quantile of Student's distribution, whose degrees of freedom follow from Satterthwaite ("An approximate
//! distribution of estimates of variance components", 1946).

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// The part of one connection in the variance of a mean change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Uncertainty {
    /// Its change, in ms.
    pub change: f64,
    /// The variance of its draws, in ms².
    pub variance: f64,
    /// How many draws; 0 if nothing was drawn.
    pub draws: u32,
    /// Whether it runs in another way than before.
    pub is_changed: bool,
}

/// Half the width of the interval of a mean over these connections, in ms. `model`: the mean square of
/// the base runs' errors, in ms². `None` if there are fewer than two connections, or one draw of one of them:
/// then no variance shows.
pub(super) fn half_width(connections: &[Uncertainty], model: f64) -> Option<f64> {
    let drawn = || connections.iter().filter(|one| one.draws > 0);
    if connections.len() < 2 || drawn().any(|one| one.draws == 1) {
        return None;
    }
    let n = connections.len() as f64;
    let mean = connections.iter().map(|one| one.change).sum::<f64>() / n;
    let squares = connections.iter().map(|one| (one.change - mean).powi(2));
    let sampled = squares.sum::<f64>() * n / (n - 1.0);
    // All of these are n² times as large as in the variance of the mean.
    let (mut variance, mut by_freedom) = (sampled, sampled * sampled / (n - 1.0));
    for one in drawn() {
        let draws = f64::from(one.draws);
        let of_draws = one.variance * (1.0 + 1.0 / draws);
        variance += of_draws;
        by_freedom += of_draws * of_draws / (draws - 1.0);
    }
    let changed = connections.iter().filter(|one| one.is_changed).count();
    variance += 2.0 * model * changed as f64;
    let freedom = match by_freedom > 0.0 {
        true => variance * variance / by_freedom,
        false => f64::INFINITY,
    };
    Some(student(freedom) * variance.sqrt() / n)
}

/// The 97.5 % quantile of Student's distribution (Abramowitz and Stegun, 26.7.5): within 1 %. The series
/// needs 3 degrees of freedom; fewer are rounded down.
fn student(freedom: f64) -> f64 {
    if freedom < 3.0 {
        return if freedom < 2.0 { 12.706 } else { 4.303 };
    }
    let [z3, z5, z7] = [Z.powi(3), Z.powi(5), Z.powi(7)];
    Z + (z3 + Z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * freedom.powi(3))
}

#[cfg(test)]
mod tests;
