//! The claims of §3.2, §3.4 and §5.
//!
//! What the paper says of "the last segment" and of "the last two or three" is checked in the flows that lost just
//! these, because how many flows lose how many segments depends on the queue. Medians are compared, as in the paper's
//! distributions: the few flows whose retransmission is lost too would decide about means.

mod cost;
mod long;
mod losses;
mod shares;
mod times;

use super::{DumbbellCell, Episodes, Foreground, Mechanism, PANELS, Tail};
use crate::prelude::*;

/// The flows that lost only their last segment.
const LAST: &[Tail] = &[Tail::One];
/// The flows that lost only their last two or three segments.
const MORE: &[Tail] = &[Tail::Two, Tail::Three];

/// The least RTO of Linux, in ms. A flow that is faster needed no timeout.
const LEAST_RTO: f64 = 200.0;

/// All claims.
pub fn all(cells: &[DumbbellCell]) -> Vec<Claim> {
    let cells = Cells::new(cells);
    [losses::claims(&cells), times::claims(&cells), shares::claims(&cells), long::claims(&cells), cost::claims(&cells)]
        .into_iter()
        .flatten()
        .collect()
}

/// The cells of a figure, found by panel and mechanism.
type Cells<'a> = Grid<'a, DumbbellCell>;

impl Cells<'_> {
    fn get(&self, panel: char, mechanism: Mechanism) -> &DumbbellCell {
        self.at((Some(panel), mechanism))
    }

    fn foreground(panel: char) -> Foreground {
        PANELS.iter().find(|(letter, _)| *letter == panel).expect("a panel of the figure").1
    }

    /// The round-trip time of a panel without queueing, in ms.
    fn rtt(panel: char) -> f64 {
        2.0 * Self::foreground(panel).owd_ms as f64
    }

    /// The median FCT of the selected flows with one of these tails, in ms.
    fn median(&self, panel: char, mechanism: Mechanism, tails: &[Tail]) -> Estimate {
        Estimate::of_median(&self.get(panel, mechanism).fcts_of(tails))
    }

    /// The time that `better` saves compared with `other`, in ms.
    fn saved(&self, panel: char, other: Mechanism, better: Mechanism, tails: &[Tail]) -> Estimate {
        let [other, better] = [other, better].map(|m| self.median(panel, m, tails));
        other - better
    }

    fn episodes(&self, size: impl Fn(u64) -> bool) -> Episodes {
        self.0
            .iter()
            .filter(|cell| size(cell.foreground.size))
            .fold(Episodes::default(), |all, cell| all.and(cell.episodes()))
    }

    /// Spurious retransmissions among the data segments of all cells, in as many worlds of each.
    fn spurious(&self, mechanism: Mechanism) -> Share {
        let worlds = self.0.iter().map(|cell| cell.worlds).min().unwrap_or(0) as u64;
        super::spurious(self.0.iter().filter(|cell| cell.mechanism == mechanism), worlds)
    }
}

/// One value divided by another, with the interval that the errors of both give to first order.
fn ratio(above: Estimate, below: Estimate) -> Estimate {
    let mean = above.mean / below.mean;
    let relative = (above.half / above.mean).hypot(below.half / below.mean);
    Estimate { mean, half: mean * relative }
}

/// The share of the baseline that a mechanism saves.
fn gain(mechanism: Estimate, baseline: Estimate) -> Estimate {
    let left = ratio(mechanism, baseline);
    Estimate { mean: 1.0 - left.mean, ..left }
}

/// Differences in several panels: `a 43.1 ± 4.0 ms, d …`.
fn list<'a>(parts: impl IntoIterator<Item = (&'a str, Estimate)>) -> String {
    let parts = parts.into_iter().map(|(name, estimate)| format!("{name} {estimate} ms"));
    parts.joined(", ")
}

/// The deciles of values that ascend, from the first to the ninth.
fn deciles(values: &[f64]) -> Vec<f64> {
    let at = |n: usize| (values.len() * n).div_ceil(10).saturating_sub(1);
    let found = (1..10).map(|n| values.get(at(n)).copied());
    found.map(|value| value.unwrap_or(NAN)).collect()
}
