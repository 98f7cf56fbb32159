//! The claims of §2, §3.1 and §3.4 that these figures decide.

mod fig1;
mod fig2;

pub use fig1::fig1;
pub use fig2::fig2;

use super::FIG2_RTT;
use super::cell::{Acks, FLOWS, First, MECHANISMS, Mechanism, TailLossCell, run_cell};
use crate::claims::{Claim, claim, tied};
use crate::same;
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;

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
fn common(cells: &[TailLossCell], base: &Scenario) -> Result<[Claim; 3], SettingsError> {
    let steady = cells.iter().filter(|c| !c.varies).count();
    Ok([
        restart_and_probe_is_best(cells),
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
        nothing_is_spurious(cells, base)?,
    ])
}

fn restart_and_probe_is_best(cells: &[TailLossCell]) -> Claim {
    let (mut alone, mut worse) = (0, Vec::new());
    let groups: Vec<&[TailLossCell]> = cells.chunks(MECHANISMS.len()).collect();
    for bars in &groups {
        let fct = |cell: &TailLossCell| cell.fct_established_ms.unwrap_or(f64::INFINITY);
        let Some((tlpr, others)) = bars.split_last() else {
            continue;
        };
        let next = others.iter().map(fct).fold(f64::INFINITY, f64::min);
        if same(next, fct(tlpr)) {
            continue;
        }
        if next > fct(tlpr) {
            alone += 1;
        } else {
            worse.push(format!(
                "{} at {} ms, {} lost",
                tlpr.ack, tlpr.rtt_ms, tlpr.lost
            ));
        }
    }
    let best = format!(
        "fastest in {alone} and tied in {} of {} groups",
        groups.len() - alone - worse.len(),
        groups.len()
    );
    let mut best = claim(
        "tlpr-best",
        "3.1, 5",
        "TLPR gives the largest reductions in most situations",
        "TLPR's FCT is the lowest in most groups of bars, and the lowest or tied in every group",
        (best, worse.is_empty() && 2 * alone > groups.len()),
    );
    best.note =
        (!worse.is_empty()).then(|| format!("another mechanism is faster: {}", worse.join("; ")));
    best
}

/// No spurious retransmission, because the simulator handles an ACK before a timer of the same instant.
fn nothing_is_spurious(cells: &[TailLossCell], base: &Scenario) -> Result<Claim, SettingsError> {
    let spurious: u64 = cells.iter().map(|c| c.spurious).sum();
    let flows = FLOWS * cells.len() as u64;
    let with = |more: &[(&str, &str)]| -> Result<u64, SettingsError> {
        let (acks, rtor) = (Acks::Delayed, Mechanism::Rtor);
        Ok(run_cell(base, acks, FIG2_RTT, 1, rtor, more)?.spurious)
    };
    let (exact, later) = (with(&[])?, with(&[("rate", "100Mbit")])?);
    let mut claim = tied(
        exact == 0 && later > 0,
        claim(
            "no-spurious",
            "3.1",
            "No retransmission is spurious",
            "spurious retransmissions of data of all flows, with rate=none",
            (format!("{spurious} in {flows} flows"), spurious == 0),
        ),
    );
    claim.note = Some(format!(
        "RTOR's deadline for the ninth segment and the segment's ACK, delayed by 200 ms, fall on the \
         same instant (RTO = RTT + 200 ms). The simulator handles the ACK first. With a link rate the \
         ACK arrives after the deadline: at 80 ms with delayed ACKs, {FLOWS} flows have {exact} \
         spurious retransmissions with rate=none, {later} with rate=100Mbit"
    ));
    Ok(claim)
}
