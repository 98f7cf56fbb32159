//! The figure's table and columns.

use super::{Fetches, ID, Quantity, SizeCell};
use crate::prelude::*;

/// Fetches of a file by one profile.
struct Row {
    size: u64,
    count: u64,
    fetches: Fetches,
}

/// The figure in every format. CSV has a line per file and profile.
pub fn to_sheet(figure: Figure<SizeCell>) -> Sheet {
    let rows: Vec<Row> = figure.cells.iter().flat_map(rows).collect();
    figure.sheet(text, &columns()).with_csv_rows("fetches", &fetches_columns(), &rows)
}

fn rows(cell: &SizeCell) -> [Row; 2] {
    [&cell.without, &cell.with].map(|fetches| Row { size: cell.size, count: cell.fetches, fetches: fetches.clone() })
}

/// A row per file: what SLP saves and adds.
fn columns() -> Columns<SizeCell> {
    columns!(columns_of_figure::<SizeCell>(ID), c;
        size, "bytes", "length of the file";
        fetches, "", "fetches by each profile";
        saved_ms, "ms", "mean completion time saved by SLP" => c.saved_ms();
        saved_percent, "%", "mean completion time saved by SLP" => c.saved(|s| s.mean);
        saved_p99_percent, "%", "99th percentile of the completion time saved by SLP" => c.saved(|s| s.p99);
        added_percent, "%", "IP bytes added by SLP" => c.added();
    )
}

/// A row per file and profile.
fn fetches_columns() -> Columns<Row> {
    let mut columns = columns!(columns_of_figure::<Row>(ID), r;
        size, "bytes", "length of the file";
        profile, "", "profile of both hosts" => r.fetches.profile;
        fetches, "", "fetches" => r.count;
        completed, "", "fetches that completed" => r.fetches.completed;
    );
    let quantities: [(&str, Quantity); 4] =
        [("mean", |s| s.mean), ("p50", |s| s.p50), ("p99", |s| s.p99), ("max", |s| s.max)];
    for (name, quantity) in quantities {
        let about = format!("completion time: {name}");
        columns =
            columns.column(format!("fct_ms_{name}"), "ms", about, move |r| r.fetches.fct_ms.as_ref().map(quantity));
    }
    columns
        .column("bytes", "bytes", "IP bytes per fetch, both directions", |r| r.fetches.bytes)
        .column("syn_timeouts", "segments", "SYNs retransmitted after a timeout, all fetches", |r| {
            r.fetches.syn_timeouts
        })
        .column("copies", "packets", "copies per fetch", |r| r.fetches.copies)
        .column("withheld", "packets", "copies per fetch withheld because the window had no room", |r| {
            r.fetches.withheld
        })
}

/// A table with a row per file, without SLP and with SLP side by side.
fn text(cells: &[SizeCell]) -> String {
    let time = |fetches: &Fetches, quantity: Quantity| millis(fetches.fct_ms.as_ref().map(quantity));
    Columns::new()
        .shown("file (kB)", SizeCell::kilobytes)
        .shown("fetches", |c| c.fetches)
        .shown("mean (ms)", move |c| time(&c.without, |s| s.mean))
        .shown("with SLP", move |c| time(&c.with, |s| s.mean))
        .shown("saved (ms)", |c| format!("{:.2}", c.saved_ms()))
        .shown("saved (%)", |c| format!("{:.2}", c.saved(|s| s.mean)))
        .shown("p99 (ms)", move |c| time(&c.without, |s| s.p99))
        .shown("with SLP", move |c| time(&c.with, |s| s.p99))
        .shown("SYN RTOs", |c| c.without.syn_timeouts)
        .shown("with SLP", |c| c.with.syn_timeouts)
        .shown("IP bytes", |c| format!("{:.0}", c.without.bytes))
        .shown("added", |c| format!("{:.0}", c.with.bytes - c.without.bytes))
        .shown("added (%)", |c| format!("{:.2}", c.added()))
        .shown("copies", |c| format!("{:.2}", c.with.copies))
        .to_table(cells)
}
