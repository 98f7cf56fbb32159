//! SLP beside RTO restart, tail loss probes and Linux 6, and with them: latency saved against bytes
//! added. A table the paper does not have; its flows are those of §III-B and shorter ones, on paths that
//! lose 2 % both ways, at random or in bursts.
//!
//! Bursts are Gilbert's channel, of the same mean: out of a burst of L packets with probability 1/L, into
//! one such that 2 % of all packets are lost. **The channel steps once per packet of the flow and
//! direction, not with time**: a burst waits for as long as nothing is sent. So what decides whether
//! original and copy are both lost is not the gap between them but how many packets lie between:
//!
//! ```text
//! P(copy lost | original lost, k packets before) = π + (1 − π)·λᵏ    π = 2 %, λ = 1 − 1/(L·(1 − π))
//! ```
//!
//! which for the next packet, k = 1, is 1 − 1/L. On a path whose bursts last a time B on average, and
//! the good times between them G, the same holds with exp(−gap·(1/B + 1/G)) for λᵏ: there the gap counts,
//! and a timeout outlasts bursts that here it only meets again. Both have in common that duplication
//! loses where a burst is longer than the gap, in whatever the burst is counted.
//!
//! A flow counts as taking 10 s if it takes longer or never completes: a mean over those that happen to
//! complete would favour who gives up. Differences are taken flow by flow (the network is the same up to
//! the first packet that differs), with 95 % confidence intervals.

mod claims;
mod grid;
mod tables;
mod trial;
mod watch;

pub use grid::{Copied, GAP, LOSS, Load, Network, Recovery, Setup};
pub use tables::{to_csv, to_table};
pub use watch::Pairs;

use super::NAME;
use crate::{Figure, Picture, Sheet};
use grid::REQUEST;
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::run::{cores, in_parallel};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_lab::stats::Estimate;
use serde::Serialize;
use std::time::Duration;
use trial::Trial;

/// The name on the command line.
pub const ID: &str = "combined";

/// Flows a cell.
pub const FLOWS: u64 = 12_000;

/// The longest a flow counts as taking.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The flows of one setup.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// What it is of.
    #[serde(flatten)]
    pub setup: Setup,
    /// The profile of both hosts.
    pub profile: String,
    /// Flows run.
    pub flows: u64,
    /// … that took longer than 10 s, or never completed.
    pub late: u64,
    /// Mean flow completion time, 10 s at most, in ms.
    pub fct_ms: Estimate,
    /// Its 99th percentile.
    pub p99_ms: f64,
    /// Its 99.9th percentile.
    pub p999_ms: f64,
    /// By how much less than with neither mechanism nor copies, in ms a flow.
    pub saved_ms: Estimate,
    /// By how much less than with the same mechanism without copies, in ms a flow.
    pub saved_by_copies_ms: Estimate,
    /// IP bytes a flow, both ways.
    pub bytes: f64,
    /// How many more than with neither mechanism nor copies.
    pub added_bytes: Estimate,
    /// How many more than with the same mechanism without copies.
    pub added_by_copies_bytes: Estimate,
    /// Copies of all flows.
    pub copies: u64,
    /// Copies withheld.
    pub withheld: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Packets sent, both ways.
    pub packets: u64,
    /// … and lost.
    pub lost: u64,
    /// Flows' first packets, each way …
    pub firsts: u64,
    /// … and how many were lost.
    pub firsts_lost: u64,
    /// What became of originals and copies.
    #[serde(flatten)]
    pub pairs: Pairs,
}

impl Cell {
    /// Milliseconds saved for each kB (1000 bytes) added; `None` where hardly any are.
    pub fn saved_per_kb(&self) -> Option<f64> {
        let added = self.added_bytes;
        added
            .is_positive()
            .then(|| self.saved_ms.mean / added.mean * 1e3)
    }

    /// The share of originals lost whose copy was lost too, and what the channel makes of the packets
    /// that lay between.
    pub fn both_lost(&self) -> Option<(f64, f64)> {
        let Pairs {
            originals_lost,
            both_lost,
            distances,
        } = &self.pairs;
        let all = (*originals_lost > 0).then_some(*originals_lost as f64)?;
        let due = distances
            .iter()
            .map(|(k, n)| self.setup.network.lost_too(*k) * *n as f64);
        Some((*both_lost as f64 / all, due.sum::<f64>() / all))
    }
}

/// Runs all flows and checks the claims; `base` is the scenario each cell varies.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(base: &Scenario) -> Result<Figure<Cell>, SettingsError> {
    figure_of(base, FLOWS)
}

/// The same with so many flows a cell.
fn figure_of(base: &Scenario, flows: u64) -> Result<Figure<Cell>, SettingsError> {
    let setups = [Setup::mechanisms(), Setup::gaps()].concat();
    let trials = in_parallel(setups.len(), cores(), |i| {
        Trial::run(&setups[i], base, flows)
    })?;
    let trial = |setup: Setup| {
        let i = setups.iter().position(|other| *other == setup);
        &trials[i.expect("a setup of the grid")]
    };
    let cell = |(setup, ours): (&Setup, &Trial)| {
        let nothing = trial(setup.with(Recovery::Nothing, Copied::Nothing));
        let uncopied = trial(setup.with(setup.recovery, Copied::Nothing));
        cell(*setup, ours, nothing, uncopied)
    };
    let cells: Vec<Cell> = setups.iter().zip(&trials).map(cell).collect();
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: title(base, flows),
        claims: claims::all(&cells, base)?,
        picture: Picture::Bars(chart(&cells)),
        cells,
    })
}

fn title(base: &Scenario, flows: u64) -> String {
    let setting = |key| base.settings.get(key).unwrap_or_default();
    format!(
        "Latency saved against bytes added, 2 % lost both ways (rtt={} rate={} request={REQUEST}): {flows} flows a row, seed {}; an FCT counts as {} s at most",
        setting("rtt"),
        setting("rate"),
        base.seed,
        DEADLINE.as_secs(),
    )
}

fn cell(setup: Setup, ours: &Trial, nothing: &Trial, uncopied: &Trial) -> Cell {
    let [p99_ms, p999_ms] = ours.quantiles([0.99, 0.999]);
    Cell {
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

/// Mean FCTs and bytes over those with neither mechanism nor copies.
fn chart(cells: &[Cell]) -> BarChart {
    let get = |setup: Setup| cells.iter().find(|cell| cell.setup == setup);
    let panel = |load: Load, network: Network, what: &str, number: fn(&Cell) -> f64| {
        let setup = |recovery, copied| Setup {
            load,
            network,
            recovery,
            copied,
            gap: GAP,
        };
        let nothing = get(setup(Recovery::Nothing, Copied::Nothing)).map(number);
        let value = |recovery, copied| Some(number(get(setup(recovery, copied))?) / nothing?);
        let group = |recovery: Recovery| BarGroup {
            label: recovery.name().into(),
            values: Copied::ALWAYS
                .map(|copied| value(recovery, copied))
                .to_vec(),
        };
        BarPanel {
            title: format!("{what}: {}, {} losses", load.name(), network.name()),
            groups: Recovery::ALL.map(group).to_vec(),
        }
    };
    let fct = |(load, network)| panel(load, network, "Mean FCT", |cell| cell.fct_ms.mean);
    let bytes = |load| panel(load, Network::Random, "Bytes", |cell| cell.bytes);
    BarChart {
        title: "Mean FCT and IP bytes over those with nothing on top of linux-3.17".into(),
        x_label: "on top of linux-3.17, or Linux 6 in its place".into(),
        y_label: "normalised".into(),
        series: Copied::ALWAYS
            .map(|copied| format!("copies: {}", copied.name()))
            .to_vec(),
        panels: grid::everywhere()
            .map(fct)
            .chain(Load::ALL.map(bytes))
            .collect(),
    }
}

/// The cells as [`figure`] gives them, in all forms.
///
/// # Errors
/// As [`figure`].
pub fn sheet(base: &Scenario) -> Result<Sheet, SettingsError> {
    let figure = figure(base)?;
    let (table, csv) = (to_table(&figure), to_csv(&figure));
    Ok(figure.into_sheet(table, csv))
}

#[cfg(test)]
mod tests;
