//! The claims of §1, §2, §3.1, §3.3, §3.4 and §5 that these figures decide.

mod comparisons;
mod fig1;
mod fig2;
mod repeated;

use crate::prelude::*;
pub use fig1::fig1;
pub use fig2::fig2;

use super::cell::{Acks, First, MECHANISMS, Mechanism, TailLossCell};

/// The cells of a figure, found by their settings.
type Cells<'a> = Grid<'a, TailLossCell>;

impl Cells<'_> {
    fn get(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism) -> &TailLossCell {
        self.at((acks.name(), rtt_ms, lost, mechanism))
    }

    /// The FCT from establishment, in ms.
    fn fct(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism) -> f64 {
        self.get(acks, rtt_ms, lost, mechanism).fct_established_ms.unwrap_or(NAN)
    }

    /// The baseline's FCT minus the mechanism's, in ms.
    fn saved(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism) -> f64 {
        self.fct(acks, rtt_ms, lost, Mechanism::Baseline) - self.fct(acks, rtt_ms, lost, mechanism)
    }

    fn first(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism) -> Option<First> {
        self.get(acks, rtt_ms, lost, mechanism).first
    }
}

/// The values rounded to three decimals, separated by commas.
fn list(values: impl IntoIterator<Item = f64>) -> String {
    let rounded = values.into_iter().map(|v| format!("{}", (v * 1e3).round() / 1e3));
    rounded.joined(", ")
}

/// Bars that are compared with each other: all mechanisms, the baseline first.
struct Group<'a>(&'a [TailLossCell]);

impl Group<'_> {
    fn all(cells: &[TailLossCell]) -> impl Iterator<Item = Group<'_>> {
        cells.chunks(MECHANISMS.len()).map(Group)
    }

    /// The FCT from establishment, in ms.
    fn fct(&self, mechanism: Mechanism) -> f64 {
        let cell = self.0.iter().find(|cell| cell.mechanism == mechanism);
        cell.and_then(|cell| cell.fct_established_ms).unwrap_or(NAN)
    }

    /// Whether the first mechanism is faster than the second, by more than a rounding error.
    fn is_faster(&self, one: Mechanism, other: Mechanism) -> bool {
        self.fct(one) < self.fct(other) && !same(self.fct(one), self.fct(other))
    }

    /// Whether the mechanism is faster than each other one.
    fn is_fastest(&self, mechanism: Mechanism) -> bool {
        let mut others = MECHANISMS.into_iter().filter(|other| *other != mechanism);
        others.all(|other| self.is_faster(mechanism, other))
    }

    /// The share of the baseline's FCT that the mechanism saves.
    fn gain(&self, mechanism: Mechanism) -> f64 {
        1.0 - self.fct(mechanism) / self.fct(Mechanism::Baseline)
    }

    fn name(&self) -> String {
        let one = &self.0[0];
        format!("{} at {} ms, {} lost", one.ack, one.rtt_ms, one.lost)
    }
}

/// The claims that both figures decide.
fn common(cells: &[TailLossCell], setup: &Setup) -> Result<[Claim; 3]> {
    let [variation, spurious] = repeated::claims(cells, setup)?;
    Ok([restart_and_probe_is_best(cells), variation, spurious])
}

fn restart_and_probe_is_best(cells: &[TailLossCell]) -> Claim {
    let groups = Group::all(cells).count();
    let fastest = Group::all(cells).filter(|group| group.is_fastest(Mechanism::Tlpr));
    let beaten: Vec<String> = Group::all(cells)
        .filter(|group| {
            let mut others = MECHANISMS.into_iter();
            others.any(|other| group.is_faster(other, Mechanism::Tlpr))
        })
        .map(|group| group.name())
        .collect();
    let fastest = fastest.count();
    let ours = format!(
        "fastest alone in {fastest}, tied in {}, slower in {} of {groups} groups",
        groups - fastest - beaten.len(),
        beaten.len(),
    );
    let best = claim("tlpr-best").shows(ours).holds(2 * fastest > groups);
    if beaten.is_empty() { best } else { best.fill(&[&beaten.join("; ")]) }
}
