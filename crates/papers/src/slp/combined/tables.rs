//! The tables for people.

use super::grid::{Copied, GAP, GAPS, Load, Network, Recovery, everywhere};
use super::{CombinedCell, DEADLINE, Setup};
use comfy_table::Table;
use recoup_table::plain_table;

const NUMBERS: [&str; 9] = [
    "FCT mean (ms)",
    "p99 (ms)",
    "late",
    "saved (ms)",
    "IP bytes",
    "added (bytes)",
    "saved/kB (ms)",
    "copies",
    "both lost (%)",
];

const LEGEND: &str = "Numbers are per flow, ± half an interval of 95 % confidence. Late: flows that take over 10 s or never complete.\n\
    Saved and added compare with linux-3.17 without mechanism and copies; saved/kB is per 1,000 bytes added.\n\
    Both lost: the share of lost originals whose copy was lost too.";

/// The numbers of a row.
fn numbers(cell: &CombinedCell) -> [String; NUMBERS.len()] {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let p99 = match cell.p99_ms < DEADLINE.as_secs_f64() * 1e3 {
        true => format!("{:.1}", cell.p99_ms),
        false => "late".into(),
    };
    let saved_per_kb = cell.saved_per_kb();
    let both = cell.both_lost();
    [
        cell.fct_ms.to_string(),
        p99,
        cell.late.to_string(),
        cell.saved_ms.to_string(),
        format!("{:.0}", cell.bytes),
        cell.added_bytes.to_string(),
        saved_per_kb.map_or("-".into(), |ms| format!("{ms:.1}")),
        format!("{:.3}", cell.copies as f64 / cell.flows as f64),
        both.map_or("-".into(), |(lost, _)| percent(lost)),
    ]
}

/// A table per load and network with a row per mechanism, then a table per network with a row per gap.
/// CSV and JSON have more columns.
pub fn text(cells: &[CombinedCell]) -> String {
    let mut parts = vec![LEGEND.to_string()];
    for (load, network) in everywhere() {
        let (load_name, network_name) = (load.name(), network.name());
        parts.push(format!("{load_name}, losses: {network_name}"));
        parts.push(mechanisms(cells, load, network).to_string());
    }
    for network in Network::ALL {
        let (load, network_name) = (Load::Short.name(), network.name());
        parts.push(format!(
            "{load}, losses: {network_name}: copies and their gap (of SRTT), linux-3.17 without other mechanism"
        ));
        parts.push(gaps(cells, network).to_string());
    }
    parts.join("\n\n")
}

/// A row per mechanism and kind of copies.
fn mechanisms(cells: &[CombinedCell], load: Load, network: Network) -> Table {
    let mut table = plain_table();
    table.set_header(["mechanism", "copies of"].iter().chain(&NUMBERS));
    let here = |cell: &&CombinedCell| {
        let Setup { copied, gap, .. } = cell.setup;
        (cell.setup.load, cell.setup.network, gap) == (load, network, GAP) && copied != Copied::Second
    };
    for cell in cells.iter().filter(here) {
        let Setup { recovery, copied, .. } = cell.setup;
        let of = [recovery.name(), copied.name()].map(String::from);
        table.add_row(of.into_iter().chain(numbers(cell)));
    }
    table
}

/// A row per kind of copies and gap.
fn gaps(cells: &[CombinedCell], network: Network) -> Table {
    let mut table = plain_table();
    let of = ["copies of", "gap"];
    table.set_header(of.iter().chain(&NUMBERS).chain(&["computed (%)"]));
    let tails = GAPS.map(|gap| (Copied::Tails, gap));
    for (copied, gap) in tails.into_iter().chain([(Copied::Second, GAP)]) {
        let setup = Setup { load: Load::Short, network, recovery: Recovery::Nothing, copied, gap };
        for cell in cells.iter().filter(|cell| cell.setup == setup) {
            let due = cell.both_lost();
            let due = due.map_or("-".into(), |(_, due)| format!("{:.1}", 100.0 * due));
            let of = [copied.name(), gap].map(String::from);
            table.add_row(of.into_iter().chain(numbers(cell)).chain([due]));
        }
    }
    table
}
