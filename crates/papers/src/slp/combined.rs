//! SLP compared and combined with RTO restart, tail loss probes and Linux 6: latency saved against bytes
//! added. The paper has no such table. The flows are those of §III-B and shorter ones, on paths that lose
//! 2 % of packets in both directions, at random or in bursts.
//!
//! Bursts come from Gilbert's channel with the same mean loss. The channel leaves a burst of mean length L
//! with probability 1/L per packet, and enters a burst so often that 2 % of all packets are lost. **The
//! channel steps once per packet of the flow and direction, not with time**: a burst does not end while
//! nothing is sent. So the number of packets between original and copy, not the time between them, decides
//! how likely both are lost:
//!
//! ```text
//! P(copy lost | original lost, k packets before) = π + (1 − π)·λᵏ    π = 2 %, λ = 1 − 1/(L·(1 − π))
//! ```
//!
//! For the next packet, k = 1, this is 1 − 1/L. On a path whose bursts last a mean time B, with a mean
//! time G between them, the same holds with exp(−gap·(1/B + 1/G)) instead of λᵏ. There the time of the
//! gap counts, and a timeout outlasts bursts that it meets again here. In both models copies help little
//! if a burst is longer than the gap.
//!
//! A flow that takes longer than 10 s or never completes counts as 10 s. A mean over completed flows would
//! favour mechanisms that give up. Differences are computed flow by flow (the network is the same until
//! the first packet that differs), with 95 % confidence intervals.

mod claims;
mod columns;
mod grid;
mod tables;
mod trial;
mod watch;

use crate::prelude::*;
pub use grid::{Copied, GAP, Load, Network, Recovery, Setup};
pub use watch::Pairs;

use super::NAME;
use crate::experiment;
use columns::Distance;
use grid::REQUEST;

use trial::Trial;

/// The name on the command line.
pub const ID: &str = "combined";

/// Flows per cell, by effort.
pub const FLOWS: [u64; 2] = [12_000, 1500];

/// The longest time that counts for a flow.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The flows of one setup.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinedCell {
    /// The cell's settings.
    pub setup: Setup,
    /// The profile of both hosts.
    pub profile: String,
    /// Flows run.
    pub flows: u64,
    /// Flows that took longer than 10 s or never completed.
    pub late: u64,
    /// Mean flow completion time, at most 10 s per flow, in ms.
    pub fct_ms: Estimate,
    /// 99th percentile of the FCT, in ms.
    pub p99_ms: f64,
    /// 99.9th percentile of the FCT, in ms.
    pub p999_ms: f64,
    /// Mean FCT saved compared with neither mechanism nor copies, in ms.
    pub saved_ms: Estimate,
    /// Mean FCT saved compared with the same mechanism without copies, in ms.
    pub saved_by_copies_ms: Estimate,
    /// IP bytes per flow, both directions.
    pub bytes: f64,
    /// IP bytes added per flow, compared with neither mechanism nor copies.
    pub added_bytes: Estimate,
    /// IP bytes added per flow, compared with the same mechanism without copies.
    pub added_by_copies_bytes: Estimate,
    /// Copies sent in all flows.
    pub copies: u64,
    /// Copies withheld.
    pub withheld: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Packets sent, both directions.
    pub packets: u64,
    /// Packets lost.
    pub lost: u64,
    /// Flows' first packets, both directions.
    pub firsts: u64,
    /// First packets lost.
    pub firsts_lost: u64,
    /// Lost originals and copies.
    pub pairs: Pairs,
}

impl Keyed for CombinedCell {
    type Key = Setup;

    fn key(&self) -> Self::Key {
        self.setup
    }
}

impl CombinedCell {
    /// Milliseconds saved per kB (1000 bytes) added; `None` if hardly any bytes are added.
    pub fn saved_per_kb(&self) -> Option<f64> {
        let added = self.added_bytes;
        added.is_positive().then(|| self.saved_ms.mean / added.mean * 1e3)
    }

    /// The share of lost originals whose copy was lost too, and the share that the channel predicts from
    /// the packets between them.
    pub fn both_lost(&self) -> Option<(f64, f64)> {
        let Pairs { originals_lost, both_lost, distances } = &self.pairs;
        let all = (*originals_lost > 0).then_some(*originals_lost as f64)?;
        let expected = distances.iter().map(|(k, n)| self.setup.network.lost_too(*k) * *n as f64);
        Some((*both_lost as f64 / all, expected.sum::<f64>() / all))
    }
}

/// Runs `flows` flows per cell and checks the claims. Each cell varies the scenario of `run`.
///
/// # Errors
/// When settings contradict each other.
pub fn figure(run: &experiment::Setup, flows: u64) -> Result<Figure<CombinedCell>> {
    let setups = [Setup::mechanisms(), Setup::gaps()].concat();
    let trials = in_parallel(setups.len(), cores(), |i| Trial::run(&setups[i], run, flows))?;
    let trial = |setup: Setup| {
        let i = setups.iter().position(|other| *other == setup);
        &trials[i.expect("a setup of the grid")]
    };
    let cell = |(setup, ours): (&Setup, &Trial)| {
        let nothing = trial(setup.with(Recovery::Nothing, Copied::Nothing));
        let uncopied = trial(setup.with(setup.recovery, Copied::Nothing));
        cell(*setup, ours, nothing, uncopied)
    };
    let cells: Vec<CombinedCell> = setups.iter().zip(&trials).map(cell).collect();
    Ok(Figure::new(NAME, ID, title(run, flows), claims::all(&cells, run)?, chart(&cells), cells))
}

fn title(run: &experiment::Setup, flows: u64) -> String {
    let base = &run.base;
    let setting = |key| base.settings.get(key).unwrap_or_default();
    format!(
        "Latency saved against bytes added, 2 % lost in both directions (rtt={} rate={} request={REQUEST}): {flows} \
         flows per row, seed {}; an FCT counts as {} s at most",
        setting("rtt"),
        setting("rate"),
        base.seed,
        DEADLINE.as_secs(),
    )
}

fn cell(setup: Setup, ours: &Trial, nothing: &Trial, uncopied: &Trial) -> CombinedCell {
    let [p99_ms, p999_ms] = ours.quantiles([0.99, 0.999]);
    CombinedCell {
        setup,
        profile: setup.profile(),
        flows: ours.fcts.len() as u64,
        late: ours.late,
        fct_ms: Estimate::of(ours.fcts.iter().copied()),
        p99_ms,
        p999_ms,
        saved_ms: ours.faster_than(nothing),
        saved_by_copies_ms: ours.faster_than(uncopied),
        bytes: Estimate::of(ours.bytes.iter().copied()).mean,
        added_bytes: ours.bytes_more_than(nothing),
        added_by_copies_bytes: ours.bytes_more_than(uncopied),
        copies: ours.counters.copies,
        withheld: ours.counters.copies_withheld,
        retransmissions: ours.counters.retransmissions.total(),
        packets: ours.packets,
        lost: ours.lost,
        firsts: ours.firsts,
        firsts_lost: ours.firsts_lost,
        pairs: ours.pairs.clone(),
    }
}

/// Draws mean FCTs and bytes, divided by those with neither mechanism nor copies.
fn chart(cells: &[CombinedCell]) -> BarChart {
    type Number = fn(&CombinedCell) -> f64;
    let grid = Grid::new(cells);
    let fcts = grid::everywhere().map(|place| (place, "Mean FCT", (|cell| cell.fct_ms.mean) as Number));
    let bytes = Load::ALL.map(|load| ((load, Network::Random), "Bytes", (|cell| cell.bytes) as Number));
    let chart = BarChart::new(
        "Mean FCT and IP bytes over those with nothing on top of linux-3.17",
        "on top of linux-3.17, or Linux 6 in its place",
        "normalised",
        Copied::ALWAYS.map(|copied| format!("copies: {}", copied.name())),
    );
    fcts.chain(bytes).fold(chart, |chart, ((load, network), what, number)| {
        let setup = |recovery, copied| Setup { load, network, recovery, copied, gap: GAP };
        let number = |recovery, copied| number(grid.at(setup(recovery, copied)));
        let nothing = number(Recovery::Nothing, Copied::Nothing);
        let group = |recovery: Recovery| {
            (recovery.name(), Copied::ALWAYS.map(|copied| Some(number(recovery, copied) / nothing)))
        };
        let title = format!("{what}: {}, {} losses", load.name(), network.name());
        chart.panel(title, Recovery::ALL.map(group))
    })
}

/// The cells as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(run: &experiment::Setup) -> Result<Sheet> {
    let [full, quick] = FLOWS;
    Ok(to_sheet(figure(run, run.effort.of(full, quick))?))
}

fn to_sheet(figure: Figure<CombinedCell>) -> Sheet {
    let cells = figure.cells.clone();
    figure
        .sheet(tables::text, &columns::cells())
        .with_rows("distances", &columns::distances(), &Distance::of(&cells))
        .with_rows("first_packets", &columns::first_packets(), &cells)
}

#[cfg(test)]
mod tests;
