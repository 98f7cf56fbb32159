//! The tables for people.

use super::grid::{Copied, GAP, GAPS, Load, Network, Recovery, everywhere};
use super::{CombinedCell, DEADLINE, Setup};
use crate::prelude::*;

const LEGEND: &str = "Numbers are per flow, ± half an interval of 95 % confidence. Late: flows that take over 10 s or never complete.\n\
    Saved and added compare with linux-3.17 without mechanism and copies; saved/kB is per 1,000 bytes added.\n\
    Both lost: the share of lost originals whose copy was lost too.";

/// The numbers of a row.
fn numbers(columns: Columns<CombinedCell>) -> Columns<CombinedCell> {
    columns
        .shown("FCT mean (ms)", |c| c.fct_ms)
        .shown("p99 (ms)", |c| {
            if c.p99_ms < DEADLINE.as_secs_f64() * 1e3 { format!("{:.1}", c.p99_ms) } else { "late".into() }
        })
        .shown("late", |c| c.late)
        .shown("saved (ms)", |c| c.saved_ms)
        .shown("IP bytes", |c| format!("{:.0}", c.bytes))
        .shown("added (bytes)", |c| c.added_bytes)
        .shown("saved/kB (ms)", |c| decimal(c.saved_per_kb()))
        .shown("copies", |c| format!("{:.3}", c.copies as f64 / c.flows as f64))
        .shown("both lost (%)", |c| decimal(c.both_lost().map(|(lost, _)| 100.0 * lost)))
}

fn decimal(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.1}"))
}

/// A table per load and network with a row per mechanism, then a table per network with a row per gap.
/// CSV and JSON have more columns.
pub fn text(cells: &[CombinedCell]) -> String {
    let mut parts = vec![LEGEND.to_string()];
    for (load, network) in everywhere() {
        let (load_name, network_name) = (load.name(), network.name());
        parts.push(format!("{load_name}, losses: {network_name}"));
        parts.push(mechanisms(cells, load, network));
    }
    for network in Network::ALL {
        let (load, network_name) = (Load::Short.name(), network.name());
        parts.push(format!(
            "{load}, losses: {network_name}: copies and their gap (of SRTT), linux-3.17 without other mechanism"
        ));
        parts.push(gaps(cells, network));
    }
    parts.join("\n\n")
}

/// A row per mechanism and kind of copies.
fn mechanisms(cells: &[CombinedCell], load: Load, network: Network) -> String {
    let is_here = |cell: &&CombinedCell| {
        let Setup { copied, gap, .. } = cell.setup;
        (cell.setup.load, cell.setup.network, gap) == (load, network, GAP) && copied != Copied::Second
    };
    let here: Vec<CombinedCell> = cells.iter().filter(is_here).cloned().collect();
    let columns = Columns::new()
        .shown("mechanism", |c: &CombinedCell| c.setup.recovery.name())
        .shown("copies of", |c| c.setup.copied.name());
    numbers(columns).to_table(&here)
}

/// A row per kind of copies and gap.
fn gaps(cells: &[CombinedCell], network: Network) -> String {
    let here =
        GAPS.map(|gap| (Copied::Tails, gap)).into_iter().chain([(Copied::Second, GAP)]).flat_map(|(copied, gap)| {
            let setup = Setup { load: Load::Short, network, recovery: Recovery::Nothing, copied, gap };
            cells.iter().filter(move |cell| cell.setup == setup)
        });
    let columns =
        Columns::new().shown("copies of", |c: &CombinedCell| c.setup.copied.name()).shown("gap", |c| c.setup.gap);
    numbers(columns)
        .shown("computed (%)", |c| decimal(c.both_lost().map(|(_, due)| 100.0 * due)))
        .to_table(&here.cloned().collect::<Vec<_>>())
}
