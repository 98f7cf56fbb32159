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
mod trial;
mod watch;

pub use grid::{Copied, GAP, LOSS, Load, Network, Recovery, Setup};
pub use trial::Estimate;
pub use watch::Pairs;

use super::NAME;
use crate::chart::{BarChart, Group, Panel};
use crate::paper::{Figure, Picture, Sheet};
use crate::report::plain_table;
use crate::scenario::Scenario;
use crate::settings::SettingsError;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    let trials = run_all(&setups, base, flows)?;
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
        title: format!(
            "Latency saved against bytes added, 2 % lost both ways: {flows} flows a row, seed {}",
            base.seed
        ),
        claims: claims::all(&cells, base)?,
        picture: Picture::Bars(chart(&cells)),
        cells,
    })
}

fn cell(setup: Setup, ours: &Trial, nothing: &Trial, uncopied: &Trial) -> Cell {
    Cell {
        setup,
        profile: setup.profile(),
        flows: ours.fcts.len() as u64,
        late: ours.late,
        fct_ms: Estimate::of(ours.fcts.iter().copied()),
        p99_ms: ours.quantile(0.99),
        p999_ms: ours.quantile(0.999),
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

/// Runs all setups on all cores; the result does not depend on how many there are.
fn run_all(setups: &[Setup], base: &Scenario, flows: u64) -> Result<Vec<Trial>, SettingsError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Trial)>, SettingsError> {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(setup) = setups.get(i) else {
                return Ok(done);
            };
            done.push((i, Trial::run(setup, base, flows)?));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut trials = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut trials = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(part) => trials.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(trials)
    })?;
    trials.sort_by_key(|(i, _)| *i);
    Ok(trials.into_iter().map(|(_, trial)| trial).collect())
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
        let group = |recovery: Recovery| Group {
            label: recovery.name().into(),
            values: Copied::ALWAYS
                .map(|copied| value(recovery, copied))
                .to_vec(),
        };
        Panel {
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

/// A number with half the width of its interval.
fn interval(estimate: Estimate) -> String {
    format!("{:.1} ± {:.1}", estimate.mean, estimate.half)
}

/// A row's numbers, after what it is of.
fn numbers(cell: &Cell) -> [String; 11] {
    let Cell { flows, .. } = *cell;
    let a_flow = |count: u64| format!("{:.3}", count as f64 / flows as f64);
    let both = cell.both_lost();
    let quantile = |ms: f64| match ms < DEADLINE.as_secs_f64() * 1e3 {
        true => format!("{ms:.1}"),
        false => "late".into(),
    };
    [
        interval(cell.fct_ms),
        quantile(cell.p99_ms),
        quantile(cell.p999_ms),
        cell.late.to_string(),
        interval(cell.saved_ms),
        format!("{:.0}", cell.bytes),
        interval(cell.added_bytes),
        cell.saved_per_kb()
            .map_or("-".into(), |ms| format!("{ms:.1}")),
        a_flow(cell.copies),
        a_flow(cell.withheld),
        both.map_or("-".into(), |(lost, _)| format!("{:.1}", 100.0 * lost)),
    ]
}

const NUMBERS: [&str; 11] = [
    "FCT mean (ms)",
    "p99 (ms)",
    "p99.9 (ms)",
    "over 10 s or never (flows)",
    "saved (ms)",
    "IP bytes",
    "added (bytes)",
    "saved per kB added (ms)",
    "copies",
    "withheld",
    "copy lost as well as original (%)",
];

/// The mechanisms as a table with a row each, the gaps as another, then the claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let (mechanisms, gaps) = figure.cells.split_at(Setup::mechanisms().len());
    let mut table = plain_table();
    let mut header = vec!["flow", "losses", "with", "copies of"];
    header.extend(NUMBERS);
    table.set_header(header);
    for cell in mechanisms {
        let Setup {
            load,
            network,
            recovery,
            copied,
            ..
        } = cell.setup;
        let mut row = [load.name(), network.name(), recovery.name(), copied.name()]
            .map(String::from)
            .to_vec();
        row.extend(numbers(cell));
        table.add_row(row);
    }
    let mut second = plain_table();
    let mut header = vec!["losses", "copies of", "gap (of SRTT)"];
    header.extend(NUMBERS);
    header.push("as computed (%)");
    second.set_header(header);
    let usual = mechanisms.iter().filter(|cell| {
        (cell.setup.load, cell.setup.recovery) == (Load::Short, Recovery::Nothing)
            && cell.setup.copied == Copied::Tails
    });
    let mut rows: Vec<&Cell> = usual.chain(gaps).collect();
    rows.sort_by(|a, b| gap_order(&a.setup).total_cmp(&gap_order(&b.setup)));
    for cell in rows {
        let Setup {
            network,
            copied,
            gap,
            ..
        } = cell.setup;
        let mut row = [network.name(), copied.name(), gap]
            .map(String::from)
            .to_vec();
        row.extend(numbers(cell));
        let due = cell
            .both_lost()
            .map(|(_, due)| format!("{:.1}", 100.0 * due));
        row.push(due.unwrap_or("-".into()));
        second.add_row(row);
    }
    let caption = "Copies and their gap: 8 segments, nothing else on top of linux-3.17";
    figure.with_table(&format!("{table}\n\n{caption}\n\n{second}"))
}

/// By network, then by what is copied, then by the gap.
fn gap_order(setup: &Setup) -> f64 {
    let second = f64::from(u8::from(setup.copied == Copied::Second));
    let gap: f64 = setup.gap.parse().unwrap_or_default();
    f64::from(setup.network as u8) * 100.0 + second * 10.0 + gap
}

/// The cells as CSV, a line each.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let mut writer = csv::Writer::from_writer(vec![]);
    // Writing to memory cannot fail.
    let _ = writer.write_record([
        "figure",
        "load",
        "network",
        "recovery",
        "copied",
        "gap",
        "profile",
        "flows",
        "late",
        "fct_ms",
        "fct_ms_half",
        "p99_ms",
        "p999_ms",
        "saved_ms",
        "saved_ms_half",
        "saved_by_copies_ms",
        "saved_by_copies_ms_half",
        "bytes",
        "added_bytes",
        "added_bytes_half",
        "added_by_copies_bytes",
        "added_by_copies_bytes_half",
        "copies",
        "withheld",
        "retransmissions",
        "packets",
        "lost",
        "originals_lost",
        "both_lost",
    ]);
    for cell in &figure.cells {
        let setup = &cell.setup;
        let mut row = [
            figure.figure,
            setup.load.name(),
            setup.network.name(),
            setup.recovery.name(),
            setup.copied.name(),
            setup.gap,
            &cell.profile,
        ]
        .map(String::from)
        .to_vec();
        row.extend([cell.flows, cell.late].map(|n| n.to_string()));
        let both = |e: Estimate| [e.mean, e.half].map(|n| n.to_string());
        row.extend(both(cell.fct_ms));
        row.extend([cell.p99_ms, cell.p999_ms].map(|n| n.to_string()));
        row.extend(both(cell.saved_ms));
        row.extend(both(cell.saved_by_copies_ms));
        row.push(cell.bytes.to_string());
        row.extend(both(cell.added_bytes));
        row.extend(both(cell.added_by_copies_bytes));
        let counts = [
            cell.copies,
            cell.withheld,
            cell.retransmissions,
            cell.packets,
            cell.lost,
            cell.pairs.originals_lost,
            cell.pairs.both_lost,
        ];
        row.extend(counts.map(|n| n.to_string()));
        let _ = writer.write_record(row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
