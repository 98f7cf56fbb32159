//! The figure's table and columns.

use super::{Fetches, Figure, ID, Quantity, Sheet, SizeCell};
use crate::columns_of_figure;
use recoup_support::stats::Summary;
use recoup_table::{Columns, millis, plain_table};

/// Fetches of a file by one profile.
struct Row {
    size: u64,
    count: u64,
    fetches: Fetches,
}

/// The figure in every format. CSV has a line per file and profile.
pub fn to_sheet(figure: Figure<SizeCell>) -> Sheet {
    let text = text(&figure.cells);
    let rows: Vec<Row> = figure.cells.iter().flat_map(rows).collect();
    figure.into_sheet(&text, &columns()).with_csv_rows("fetches", &fetches_columns(), &rows)
}

fn rows(cell: &SizeCell) -> [Row; 2] {
    [&cell.without, &cell.with].map(|fetches| Row { size: cell.size, count: cell.fetches, fetches: fetches.clone() })
}

/// A row per file: what SLP saves and adds.
fn columns() -> Columns<SizeCell> {
    columns_of_figure::<SizeCell>(ID)
        .integer(("size", "bytes", "length of the file"), |c| Some(c.size))
        .integer(("fetches", "", "fetches by each profile"), |c| Some(c.fetches))
        .real(("saved_ms", "ms", "mean completion time saved by SLP"), |c| Some(c.saved_ms()))
        .real(("saved_percent", "%", "mean completion time saved by SLP"), |c| Some(c.saved(|s| s.mean)))
        .real(("saved_p99_percent", "%", "99th percentile of the completion time saved by SLP"), |c| {
            Some(c.saved(|s| s.p99))
        })
        .real(("added_percent", "%", "IP bytes added by SLP"), |c| Some(c.added()))
}

/// A row per file and profile.
fn fetches_columns() -> Columns<Row> {
    let mut columns = columns_of_figure::<Row>(ID)
        .integer(("size", "bytes", "length of the file"), |r| Some(r.size))
        .text(("profile", "", "profile of both hosts"), |r| Some(r.fetches.profile.into()))
        .integer(("fetches", "", "fetches"), |r| Some(r.count))
        .integer(("completed", "", "fetches that completed"), |r| Some(r.fetches.completed));
    let quantities: [(&str, Quantity); 4] =
        [("mean", |s| s.mean), ("p50", |s| s.p50), ("p99", |s| s.p99), ("max", |s| s.max)];
    for (name, quantity) in quantities {
        let about = format!("completion time: {name}");
        columns =
            columns.real((format!("fct_ms_{name}"), "ms", about), move |r| r.fetches.fct_ms.as_ref().map(quantity));
    }
    columns
        .real(("bytes", "bytes", "IP bytes per fetch, both directions"), |r| Some(r.fetches.bytes))
        .integer(("syn_timeouts", "segments", "SYNs retransmitted after a timeout, all fetches"), |r| {
            Some(r.fetches.syn_timeouts)
        })
        .real(("copies", "packets", "copies per fetch"), |r| Some(r.fetches.copies))
        .real(("withheld", "packets", "copies per fetch withheld because the window had no room"), |r| {
            Some(r.fetches.withheld)
        })
}

/// A table with a row per file, without SLP and with SLP side by side.
fn text(cells: &[SizeCell]) -> String {
    let mut table = plain_table();
    table.set_header([
        "file (kB)",
        "fetches",
        "mean (ms)",
        "with SLP",
        "saved (ms)",
        "saved (%)",
        "p99 (ms)",
        "with SLP",
        "SYN RTOs",
        "with SLP",
        "IP bytes",
        "added",
        "added (%)",
        "copies",
    ]);
    for cell in cells {
        let (without, with) = (&cell.without, &cell.with);
        let [mean, p99]: [Quantity; 2] = [|s| s.mean, |s| s.p99];
        let time = |summary: &Option<Summary>, quantity: Quantity| millis(summary.as_ref().map(quantity));
        table.add_row([
            cell.kilobytes().to_string(),
            cell.fetches.to_string(),
            time(&without.fct_ms, mean),
            time(&with.fct_ms, mean),
            format!("{:.2}", cell.saved_ms()),
            format!("{:.2}", cell.saved(mean)),
            time(&without.fct_ms, p99),
            time(&with.fct_ms, p99),
            without.syn_timeouts.to_string(),
            with.syn_timeouts.to_string(),
            format!("{:.0}", without.bytes),
            format!("{:.0}", with.bytes - without.bytes),
            format!("{:.2}", cell.added()),
            format!("{:.2}", with.copies),
        ]);
    }
    table.to_string()
}
