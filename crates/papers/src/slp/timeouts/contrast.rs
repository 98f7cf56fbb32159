//! How much likelier one kind of loss causes a timeout than another, with an interval.
//!
//! ```text
//! d = r_a − t·r_b      r: timeouts / retransmissions of a kind;  t: how many times likelier
//! u_f = (y_a − r_a·n_a)/N_a − t·(y_b − r_b·n_b)/N_b      of flow f with n retransmissions, y of them timeouts
//! variance of d = Σ u_f²
//! ```
//! Retransmissions of one flow depend on each other, so flows are the units (the linearized variance of a ratio of
//! sums; Cochran, "Sampling Techniques", 1977, §6.3). A kind all of whose losses cause a timeout has no variance.

use super::population::flow_of;
use crate::prelude::*;
use recoup_captures::study::slp::{Class, Sample};

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// The fewest retransmissions of a kind that say anything.
const FEWEST: f64 = 5.0;

/// Two kinds of losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The shares of timeouts.
    pub shares: [f64; 2],
    /// Retransmissions of each kind.
    pub retransmissions: [u64; 2],
    /// The first share less `times` the second.
    pub difference: Estimate,
}

/// Sums of a ratio by flow: denominator and numerator.
type ByFlow = BTreeMap<u64, [f64; 2]>;

/// Compares the shares of timeouts among two kinds of retransmissions. `class` says what is a timeout, where it is known.
/// `None`: too few of either.
pub fn contrast(
    samples: &[Sample],
    times: f64,
    class: impl Fn(&Sample) -> Option<Class>,
    one: impl Fn(&Sample) -> bool,
    other: impl Fn(&Sample) -> bool,
) -> Option<Contrast> {
    let by_flow = |include: &dyn Fn(&Sample) -> bool| {
        let mut sums = ByFlow::new();
        for sample in samples.iter().filter(|sample| include(sample)) {
            let Some(class) = class(sample) else { continue };
            let [n, y] = sums.entry(flow_of(sample)).or_default();
            *n += 1.0;
            *y += f64::from(class == Class::Timeout);
        }
        sums
    };
    let sums = [by_flow(&one), by_flow(&other)];
    let totals = sums.each_ref().map(total);
    if totals.iter().any(|[n, _]| *n < FEWEST) {
        return None;
    }
    let shares = totals.map(|[n, y]| y / n);
    let mut influence: BTreeMap<u64, f64> = BTreeMap::new();
    for (place, factor) in [(0, 1.0), (1, -times)] {
        let [all, _] = totals[place];
        for (flow, [n, y]) in &sums[place] {
            *influence.entry(*flow).or_default() += factor * (y - shares[place] * n) / all;
        }
    }
    let variance: f64 = influence.values().map(|u| u * u).sum();
    Some(Contrast {
        shares,
        retransmissions: totals.map(|[n, _]| n as u64),
        difference: Estimate { mean: shares[0] - times * shares[1], half: Z * variance.sqrt() },
    })
}

/// The share of a quantity that some retransmissions have, of that of all, with its interval.
pub fn share_of(
    samples: &[Sample],
    quantity: impl Fn(&Sample) -> f64,
    include: impl Fn(&Sample) -> bool,
) -> Option<Estimate> {
    let mut sums = ByFlow::new();
    for sample in samples {
        let [all, part] = sums.entry(flow_of(sample)).or_default();
        *all += quantity(sample);
        *part += if include(sample) { quantity(sample) } else { 0.0 };
    }
    let [all, part] = total(&sums);
    let share = part / all;
    let variance: f64 = sums.values().map(|[n, y]| ((y - share * n) / all).powi(2)).sum();
    (all > 0.0).then(|| Estimate { mean: share, half: Z * variance.sqrt() })
}

fn total(sums: &ByFlow) -> [f64; 2] {
    sums.values().fold([0.0; 2], |[n, y], [more, of_them]| [n + more, y + of_them])
}
