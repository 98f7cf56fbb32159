//! Two 95 % intervals of a mean change.
//!
//! # The result of another run
//! [`once_more`] is to cover what an operator measures who pulls the lever and lets the same connections run once more on the
//! same path: their mean with the mechanism, less their mean in the capture. The path does not repeat the losses of the
//! capture. So a sample of the connections runs several times with *all* fates drawn, and the times of a connection vary by
//! the variance `v` with the mechanism. The prediction follows one realization of the losses, that of the capture, and the
//! other run another one: their means differ with the variance `2 v̄ / n`, for `n` connections.
//!
//! The drawn losses are a model. The capture tests it: the base runs of the sample deviate from the means of their drawn runs
//! with a variance that should be `u (1 + 1/d)`, where `u` is the variance of the `d` drawn runs. If they deviate more
//! (losses that last, which drawn ones rarely do), `v̄` is scaled up by the ratio, raised to
//! `m / (m + 1)` where as few as `m` connections show it; if they deviate much less (losses by position, the
//! same in each connection), it is scaled down.
//!
//! Where the path's rate is unknown, each change lies between that over a path without a limit and that over one as slow as the
//! capture permits. Half of the distance, on average, is added to half the width.
//!
//! A base run ends `r` later or earlier than the capture shows. Its mean square `s²` (of 1 ms at least) counts twice for each of the `m` connections
//! that change, and the square of its mean `r̄` once.
//!
//! # Whether there is a change at all
//! [`paired`] compares each connection with itself. It is narrower, and says whether a mechanism helps beyond chance:
//!
//! - **The sample.** The changes `c` of `n` connections have the variance `Σ (c − c̄)² / (n − 1)`, their mean an `n`-th of it.
//! - **Draws.** Where a connection's fate is drawn, its true change is one more draw of the same kind. The mean of `d` draws
//!   differs from it with the variance `v · (1 + 1/d)`, where `v` is the variance of the draws.
//! - **The model.** Both runs of a changed connection may be off, so that its change has the variance `2 s²` besides.
//!
//! Half the width is the root of the variance times the quantile of Student's distribution, whose degrees of freedom follow
//! from Satterthwaite ("An approximate distribution of estimates of variance components", 1946).

use super::prediction::{Anew, Prediction, Spread};
use super::reruns::Rerun;
use recoup_support::stats::{student, student_two_sided};

/// How far the base runs are from the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ModelError {
    /// The mean of the errors, in ms.
    pub mean: f64,
    /// The mean of their squares, in ms²; no less than the clocks of hosts permit.
    pub mean_square: f64,
}

/// A millisecond: timers of hosts and clocks of captures are no finer. In ms².
const CLOCKS: f64 = 1.0;

impl ModelError {
    pub fn of(reruns: &[Rerun]) -> Self {
        let n = (reruns.len() as f64).max(1.0);
        // The empty sum is -0.
        let sum = |of: fn(f64) -> f64| reruns.iter().fold(0.0, |sum, one| sum + of(one.error_ms)) / n;
        Self { mean: sum(|error| error), mean_square: sum(|error| error * error).max(CLOCKS) }
    }
}

/// Half the width of the interval of the mean [paired](self) change, in ms. `None` if there are fewer than two connections, or one
/// draw of one of them: then no variance shows.
pub(super) fn paired(connections: &[(&Rerun, &Prediction)], model: ModelError) -> Option<f64> {
    let Uncertainty { error, freedom, pace } = uncertainty(connections, model)?;
    Some(student(freedom) * error + pace)
}

/// How likely it is that a [paired](self) mean change at least as far from 0 is chance alone. `None` as for [`paired`].
pub(super) fn paired_chance(connections: &[(&Rerun, &Prediction)], model: ModelError) -> Option<f64> {
    let Uncertainty { error, freedom, pace } = uncertainty(connections, model)?;
    let sum = connections.iter().fold(0.0, |sum, (_, one)| sum + one.change_ms);
    let beyond = (sum / connections.len() as f64).abs() - pace;
    Some(if beyond > 0.0 { student_two_sided(beyond / error, freedom) } else { 1.0 })
}

/// How far a mean paired change may be from the true one.
struct Uncertainty {
    /// The standard error, in ms.
    error: f64,
    /// Its degrees of freedom.
    freedom: f64,
    /// What the unknown rate of the path adds, in ms.
    pace: f64,
}

fn uncertainty(connections: &[(&Rerun, &Prediction)], model: ModelError) -> Option<Uncertainty> {
    let all = || connections.iter().map(|(_, one)| *one);
    let drawn = || all().filter(|one| one.draws > 0);
    if connections.len() < 2 || drawn().any(|one| one.draws == 1) {
        return None;
    }
    let n = connections.len() as f64;
    let mean = all().map(|one| one.change_ms).sum::<f64>() / n;
    let squares = all().map(|one| (one.change_ms - mean).powi(2));
    let sampled = squares.sum::<f64>() * n / (n - 1.0);
    // All of these are n² times as large as in the variance of the mean.
    let (mut variance, mut by_freedom) = (sampled, sampled * sampled / (n - 1.0));
    for one in drawn() {
        let draws = f64::from(one.draws);
        let of_draws = one.variance * (1.0 + 1.0 / draws);
        variance += of_draws;
        by_freedom += of_draws * of_draws / (draws - 1.0);
    }
    variance += 2.0 * model.mean_square * all().filter(|one| one.is_changed).count() as f64;
    let freedom = match by_freedom > 0.0 {
        true => variance * variance / by_freedom,
        false => f64::INFINITY,
    };
    let pace = all().map(|one| one.pace_ms.abs()).sum::<f64>() / n;
    Some(Uncertainty { error: variance.sqrt() / n, freedom, pace })
}

/// Half the width of the interval of the result of [another run](self) with the `number`-th mechanism, in ms. `None` if no
/// connection ran with all fates drawn.
pub(super) fn once_more(connections: &[(&Rerun, &Prediction)], number: usize, model: ModelError) -> Option<f64> {
    let sample = connections.iter().filter_map(|(rerun, _)| Some((*rerun, rerun.anew.as_ref()?)));
    let sample: Vec<(&Rerun, &Anew)> =
        sample.filter(|(_, anew)| is_known(&anew.base) && is_known(&anew.with[number])).collect();
    let n = connections.len() as f64;
    let variances = || sample.iter().map(|(_, anew)| anew.with[number].variance);
    let mean = variances().sum::<f64>() / sample.len() as f64;
    if sample.is_empty() {
        return None;
    }
    let changed = connections.iter().filter(|(_, one)| one.is_changed).count() as f64;
    let by_model = 2.0 * model.mean_square * changed / (n * n) + model.mean * model.mean;
    let by_chance = 2.0 * scale(&sample) * mean / n;
    // Each connection has as many degrees of freedom as draws, less one.
    let freedom = effective(variances()).map_or(f64::INFINITY, |connections| 3.0 * connections);
    let pace = connections.iter().map(|(_, one)| one.pace_ms.abs()).sum::<f64>() / n;
    Some(student(freedom.max(3.0)) * (by_chance + by_model).sqrt() + pace)
}

fn is_known(spread: &Spread) -> bool {
    spread.runs > 1
}

/// So many equal variances would be as uncertain as these together: few connections that lose anything show little.
fn effective(variances: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let squares: f64 = variances.clone().map(|variance| variance * variance).sum();
    (squares > 0.0).then(|| variances.sum::<f64>().powi(2) / squares)
}

/// How much more the captured connections vary than their drawn runs.
fn scale(sample: &[(&Rerun, &Anew)]) -> f64 {
    /// Fewer connections do not show that they vary less.
    const FEW: usize = 20;
    /// A smaller ratio is no chance: the losses are not random.
    const NOT_RANDOM: f64 = 0.25;
    let n = sample.len() as f64;
    let apart = || sample.iter().map(|(rerun, anew)| rerun.base_fct_ms - anew.base.mean_ms);
    let mean = apart().sum::<f64>() / n;
    let captured: f64 = apart().map(|apart| (apart - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let of_draws = sample.iter().map(|(_, Anew { base, .. })| base.variance * (1.0 + 1.0 / f64::from(base.runs)));
    let Some(effective) = effective(of_draws.clone()) else {
        return 1.0;
    };
    match captured / (of_draws.sum::<f64>() / n) {
        ratio if !ratio.is_finite() => 1.0,
        ratio if ratio < NOT_RANDOM && sample.len() > FEW => ratio,
        // Few connections that lose anything show a ratio badly.
        ratio => ratio.max(1.0).powf(effective / (effective + 1.0)),
    }
}

#[cfg(test)]
mod tests;
