//! The figure's numbers for reading and for spreadsheets.

use super::{Cell, Copied, FETCHES, Figure};
use comfy_table::Table;
use recoup_table::{csv, millis, plain_table};

/// The distribution functions, what is beyond the limits, and what it cost; then the claims.
pub fn to_table(figure: &Figure<Cell>) -> String {
    let cells = &figure.cells;
    let tables = [distributions(cells), limits(cells), costs(cells)];
    figure.with_table(&tables.map(|table| table.to_string()).join("\n\n"))
}

/// Of the paper's Linux: a row for each completion time of the run shown.
fn distributions(cells: &[Cell]) -> Table {
    let drawn = &cells[..2.min(cells.len())];
    let mut times: Vec<f64> = drawn
        .iter()
        .flat_map(|cell| &cell.fct_ms)
        .flatten()
        .copied()
        .collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut table = plain_table();
    let mut header = vec!["completed within (ms)".into()];
    for which in [format!("share of {FETCHES}"), "share of all runs".into()] {
        header.extend(
            drawn
                .iter()
                .map(|cell| format!("{}: {which}", cell.profile)),
        );
    }
    table.set_header(header);
    for time in times {
        let mut row = vec![millis(Some(time))];
        for (shown, digits) in [(true, 2), (false, 5)] {
            row.extend(
                drawn
                    .iter()
                    .map(|cell| format!("{:.digits$}", cell.share_within(time, shown))),
            );
        }
        table.add_row(row);
    }
    table
}

fn limits(cells: &[Cell]) -> Table {
    let mut table = plain_table();
    table.set_header([
        "profile",
        "longer than (ms)",
        "fetches (%)",
        "runs of fifty with one",
        "by lost SYNs alone (%)",
        "runs with two or more",
    ]);
    for cell in cells {
        for over in &cell.over {
            table.add_row([
                cell.profile.into(),
                over.limit_ms.to_string(),
                format!("{:.3}", 100.0 * over.fetches.share),
                over.runs.to_string(),
                format!("{:.1}", 100.0 * over.by_lost_syns),
                over.runs_with_two.to_string(),
            ]);
        }
    }
    table
}

fn costs(cells: &[Cell]) -> Table {
    let mut table = plain_table();
    let mut header = [
        "profile",
        "bytes a fetch",
        "added (%)",
        "packets a fetch",
        "added (%)",
    ]
    .map(String::from)
    .to_vec();
    header.extend(Copied::ALL.map(|kind| format!("copies: {}", kind.name())));
    table.set_header(header);
    for pair in cells.chunks(2) {
        let before = &pair[0].spent;
        for cell in pair {
            let spent = &cell.spent;
            let added = |now: f64, before: f64| format!("{:.2}", 100.0 * (now / before - 1.0));
            let mut row = vec![
                cell.profile.into(),
                format!("{:.1}", spent.bytes),
                added(spent.bytes, before.bytes),
                format!("{:.2}", spent.packets),
                added(spent.packets, before.packets),
            ];
            let copies = Copied::ALL.map(|kind| spent.copies.get(kind.name()).copied());
            row.extend(copies.map(|n| format!("{:.3}", n.unwrap_or(0.0))));
            table.add_row(row);
        }
    }
    table
}

/// The runs shown as CSV, a line a fetch.
pub fn to_csv(figure: &Figure<Cell>) -> String {
    let rows = figure.cells.iter().flat_map(|cell| {
        let row = |(flow, time): (usize, &Option<f64>)| {
            [
                figure.figure.into(),
                cell.profile.into(),
                cell.seed.to_string(),
                flow.to_string(),
                time.map_or(String::new(), |time| time.to_string()),
            ]
        };
        cell.fct_ms.iter().enumerate().map(row)
    });
    csv(["figure", "profile", "seed", "flow", "fct_ms"], rows)
}
