//! The cells for reading and for spreadsheets.

use super::grid::{Copied, GAP, GAPS, Load, Network, Recovery, everywhere};
use super::{Cell, DEADLINE, Setup};
use crate::Figure;
use comfy_table::Table;
use recoup_lab::stats::Estimate;
use recoup_table::{csv, plain_table};

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

const LEGEND: &str = "Numbers are a flow's, ± half an interval of 95 % confidence; late are the flows that take over 10 s or\n\
    never complete. Saved and added are against nothing on top of linux-3.17 and no copies, saved/kB for each\n\
    1,000 bytes added. Both lost: of the originals that were lost, those whose copy was lost too.";

/// A row's numbers, after what it is of.
fn numbers(cell: &Cell) -> [String; NUMBERS.len()] {
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

/// A table for each load and network with a row a mechanism, one for each network with a row a gap, then
/// the claims. What else was counted is in CSV and JSON.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let cells = &figure.cells;
    let mut parts = vec![LEGEND.to_string()];
    for (load, network) in everywhere() {
        let (load_name, network_name) = (load.name(), network.name());
        parts.push(format!("{load_name}, losses: {network_name}"));
        parts.push(mechanisms(cells, load, network).to_string());
    }
    for network in Network::ALL {
        let (load, network_name) = (Load::Short.name(), network.name());
        parts.push(format!(
            "{load}, losses: {network_name}: copies and their gap (of SRTT), nothing else on top of linux-3.17"
        ));
        parts.push(gaps(cells, network).to_string());
    }
    figure.with_table(&parts.join("\n\n"))
}

fn mechanisms(cells: &[Cell], load: Load, network: Network) -> Table {
    let mut table = plain_table();
    table.set_header(["with", "copies of"].iter().chain(&NUMBERS));
    let here = |cell: &&Cell| {
        let Setup { copied, gap, .. } = cell.setup;
        (cell.setup.load, cell.setup.network, gap) == (load, network, GAP)
            && copied != Copied::Second
    };
    for cell in cells.iter().filter(here) {
        let Setup {
            recovery, copied, ..
        } = cell.setup;
        let of = [recovery.name(), copied.name()].map(String::from);
        table.add_row(of.into_iter().chain(numbers(cell)));
    }
    table
}

/// By what is copied, then by the gap.
fn gaps(cells: &[Cell], network: Network) -> Table {
    let mut table = plain_table();
    let of = ["copies of", "gap"];
    table.set_header(of.iter().chain(&NUMBERS).chain(&["computed (%)"]));
    let tails = GAPS.map(|gap| (Copied::Tails, gap));
    for (copied, gap) in tails.into_iter().chain([(Copied::Second, GAP)]) {
        let setup = Setup {
            load: Load::Short,
            network,
            recovery: Recovery::Nothing,
            copied,
            gap,
        };
        for cell in cells.iter().filter(|cell| cell.setup == setup) {
            let due = cell.both_lost();
            let due = due.map_or("-".into(), |(_, due)| format!("{:.1}", 100.0 * due));
            let of = [copied.name(), gap].map(String::from);
            table.add_row(of.into_iter().chain(numbers(cell)).chain([due]));
        }
    }
    table
}

/// The cells as CSV, a line each.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let header = [
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
    ];
    let row = |cell: &Cell| {
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
        row
    };
    csv(header, figure.cells.iter().map(row))
}
