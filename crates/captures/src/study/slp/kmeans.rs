//! k-means with k = 2 in one dimension, solved exactly.
//!
//! ```text
//! minimise over i   SS(x₁…xᵢ) + SS(xᵢ₊₁…xₙ)      for sorted x, where SS = Σ(x − mean)²
//! equivalent        maximise  S₁²/i + S₂²/(n − i)  for sums S₁, S₂ of values centred on their mean
//! ```
//! In one dimension both clusters of an optimum are intervals, so trying every split of the sorted values
//! finds it: O(n log n), without an initialisation. Lloyd's iteration, the usual k-means, may stop at a
//! local optimum.

/// Two groups of equally good splits differ by less than this, relative to the gain.
const TIE: f64 = 1e-12;

/// The best division of values into two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The middle between the means of both groups.
    pub threshold: f64,
    /// The smallest value of the upper group.
    pub upper_from: f64,
    /// The means of the lower and of the upper group.
    pub means: [f64; 2],
    /// Whether no other split is equally good. Of several, this one has the smallest upper group.
    pub is_unique: bool,
}

/// Divides values into two groups. `None`: there are fewer than two distinct values. Values that are not
/// finite are ignored.
pub fn split_in_two(values: impl IntoIterator<Item = f64>) -> Option<Split> {
    let mut sorted: Vec<f64> = values.into_iter().filter(|x| x.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    // Centred values keep the squares small.
    let centre = sorted.iter().sum::<f64>() / n;
    let total: f64 = sorted.iter().map(|x| x - centre).sum();
    let (mut below, mut best) = (0.0, None::<(f64, usize, f64)>);
    let mut is_unique = true;
    for (i, pair) in (1..).zip(sorted.windows(2)) {
        below += pair[0] - centre;
        if pair[0] == pair[1] {
            continue;
        }
        let (lower, above) = (i as f64, total - below);
        let gain = below * below / lower + above * above / (n - lower);
        let best_gain = best.map_or(f64::NEG_INFINITY, |(gain, ..)| gain);
        let is_tie = (gain - best_gain).abs() <= TIE * gain.abs();
        if gain > best_gain || is_tie {
            is_unique = !is_tie;
            best = Some((gain.max(best_gain), i, below));
        }
    }
    let (_, i, below) = best?;
    let lower = i as f64;
    let means = [below / lower, (total - below) / (n - lower)].map(|mean| centre + mean);
    Some(Split { threshold: means[0].midpoint(means[1]), upper_from: *sorted.get(i)?, means, is_unique })
}

#[cfg(test)]
mod tests;
