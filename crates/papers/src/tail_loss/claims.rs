//! The claims of §2, §3.1 and §3.4 that these figures decide.

mod fig1;
mod fig2;

pub use fig1::fig1;
pub use fig2::fig2;

use super::cell::{Acks, FLOWS, First, MECHANISMS, Mechanism, TailLossCell};
use crate::claims::{Claim, claim};
use crate::same;

/// The cells of a figure, found by their settings.
struct Cells<'a>(&'a [TailLossCell]);

impl Cells<'_> {
    fn get(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism) -> &TailLossCell {
        let found = self.0.iter().find(|c| {
            c.ack == acks.name() && c.rtt_ms == rtt_ms && c.lost == lost && c.mechanism == mechanism
        });
        found.expect("a cell of the figure's grid")
    }

    /// The FCT from establishment, in ms.
    fn fct(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: Mechanism) -> f64 {
        self.get(acks, rtt_ms, lost, mechanism)
            .fct_established_ms
            .unwrap_or(f64::NAN)
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
    let rounded = values
        .into_iter()
        .map(|v| format!("{}", (v * 1e3).round() / 1e3));
    rounded.collect::<Vec<_>>().join(", ")
}

/// The claims that both figures decide.
fn common(cells: &[TailLossCell]) -> [Claim; 3] {
    let mut worse = Vec::new();
    let groups: Vec<&[TailLossCell]> = cells.chunks(MECHANISMS.len()).collect();
    for bars in &groups {
        let fct = |cell: &TailLossCell| cell.fct_established_ms.unwrap_or(f64::INFINITY);
        let Some((tlpr, others)) = bars.split_last() else {
            continue;
        };
        if others.iter().any(|other| fct(other) < fct(tlpr) - 1e-3) {
            worse.push(format!(
                "{} at {} ms, {} lost",
                tlpr.ack, tlpr.rtt_ms, tlpr.lost
            ));
        }
    }
    let best = format!(
        "fastest or tied in {} of {} groups",
        groups.len() - worse.len(),
        groups.len()
    );
    let mut best = claim(
        "tlpr-best",
        "3.1, 5",
        "TLPR gives the largest reductions",
        "TLPR's FCT is the lowest, or tied, in every group of bars",
        (best, worse.is_empty()),
    );
    best.note =
        (!worse.is_empty()).then(|| format!("another mechanism is faster: {}", worse.join("; ")));
    let steady = cells.iter().filter(|c| !c.varies).count();
    let spurious: u64 = cells.iter().map(|c| c.spurious).sum();
    let flows = FLOWS * cells.len() as u64;
    [
        best,
        claim(
            "no-variation",
            "3.1",
            "The results do not vary between runs",
            "the eleven flows of a cell, each with its own initial sequence numbers, take equally long",
            (
                format!("{steady} of {} cells", cells.len()),
                steady == cells.len(),
            ),
        ),
        claim(
            "no-spurious",
            "3.1",
            "No retransmission is spurious",
            "spurious retransmissions of data of all flows, with rate=none",
            (format!("{spurious} in {flows} flows"), spurious == 0),
        ),
    ]
}
