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
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The sum of squares around the mean.
    fn squares(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|x| (x - mean).powi(2)).sum()
    }

    #[test]
    fn two_groups_are_told_apart() {
        let split = split_in_two([0.2, 0.1, 3.0, 0.3, 3.2]).unwrap();
        assert_eq!(split.upper_from, 3.0);
        assert!((split.threshold - 1.65).abs() < 1e-12);
        assert!(split.is_unique);
    }

    #[test]
    fn fewer_than_two_distinct_values_have_no_split() {
        for values in [&[][..], &[1.0], &[2.0, 2.0, 2.0], &[f64::NAN, 1.0]] {
            assert_eq!(split_in_two(values.iter().copied()), None, "{values:?}");
        }
    }

    #[test]
    fn of_equally_good_splits_the_one_with_the_smallest_upper_group_is_reported() {
        let split = split_in_two([0.0, 1.0, 2.0]).unwrap();
        assert!(!split.is_unique);
        assert_eq!(split.upper_from, 2.0);
    }

    proptest! {
        /// Compares with every division into two groups, intervals or not.
        #[test]
        fn no_division_is_better(values in vec((0_u32..50).prop_map(|x| f64::from(x) / 8.0), 2..11)) {
            let mut least = f64::INFINITY;
            for members in 1..(1_u32 << values.len()) - 1 {
                let part = |side: u32| -> Vec<f64> {
                    let chosen = values.iter().enumerate().filter(|(i, _)| members >> i & 1 == side);
                    chosen.map(|(_, x)| *x).collect()
                };
                least = least.min(squares(&part(0)) + squares(&part(1)));
            }
            let has_two = values.iter().any(|x| *x != values[0]);
            let split = split_in_two(values.iter().copied());
            prop_assert_eq!(split.is_some(), has_two);
            if let Some(split) = split {
                let (upper, lower): (Vec<f64>, Vec<f64>) = values.iter().partition(|x| **x >= split.upper_from);
                let ours = squares(&upper) + squares(&lower);
                prop_assert!((ours - least).abs() < 1e-9, "{} {}", ours, least);
                prop_assert!(lower.iter().all(|x| *x <= split.threshold + 1e-12));
                prop_assert!(upper.iter().all(|x| *x >= split.threshold - 1e-12));
            }
        }
    }
}
