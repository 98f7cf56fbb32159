//! The figure's tables and columns.

use super::{Copied, FETCHES, FetchCell, Figure, ID, Over, Sheet, Spent, Step};
use crate::columns_of_figure;
use comfy_table::Table;
use recoup_support::stats::Share;
use recoup_table::{Columns, millis, plain_table};

/// A part of a cell, with the cell's profile.
type Part<T> = (&'static str, T);

/// A fetch of the run shown.
struct Fetch {
    profile: &'static str,
    seed: u64,
    flow: u64,
    fct_ms: Option<f64>,
}

/// The figure in every format. CSV has a line per fetch of the runs shown.
pub fn to_sheet(figure: Figure<FetchCell>) -> Sheet {
    let cells = &figure.cells;
    let columns = columns();
    let costs = columns.to_text(cells, &COSTS);
    let text = format!("{}\n\n{}\n\n{costs}", distributions(cells), limits(cells));
    let fetches: Vec<Fetch> = cells.iter().flat_map(fetches).collect();
    let steps = parts(cells, |cell| &cell.distribution);
    let over = parts(cells, |cell| &cell.over);
    figure
        .into_sheet(&text, &columns)
        .with_csv_rows("fetches", &fetch_columns(), &fetches)
        .with_rows("distribution", &step_columns(), &steps)
        .with_rows("over", &over_columns(), &over)
}

fn fetches(cell: &FetchCell) -> impl Iterator<Item = Fetch> {
    let fetch =
        |(flow, fct_ms): (u64, &Option<f64>)| Fetch { profile: cell.profile, seed: cell.seed, flow, fct_ms: *fct_ms };
    (0..).zip(&cell.fct_ms).map(fetch)
}

/// Every part of every cell.
fn parts<T: Copy>(cells: &[FetchCell], of: fn(&FetchCell) -> &Vec<T>) -> Vec<Part<T>> {
    let parts = |cell| of(cell).iter().map(|part| (cell.profile, *part));
    cells.iter().flat_map(parts).collect()
}

/// The columns of the table of costs.
const COSTS: [&str; 9] = [
    "profile",
    "bytes",
    "bytes_added_percent",
    "packets",
    "packets_added_percent",
    "copies_syn",
    "copies_syn_ack",
    "copies_request",
    "copies_file",
];

/// A row per profile.
fn columns() -> Columns<FetchCell> {
    columns_of_figure::<FetchCell>(ID)
        .text(("profile", "", "profile of both hosts"), |c| Some(c.profile.into()))
        .integer(("seed", "", "seed of the run shown; the seeds of the other runs follow it"), |c| Some(c.seed))
        .integer(("runs", "", "runs of fifty fetches"), |c| Some(c.runs))
        .group("as_in_the_paper", shares("pairs of runs that show the paper's findings"), |c| {
            c.as_in_the_paper.as_ref()
        })
        .all_of(spent_columns(), |c| Some(&c.spent))
}

fn spent_columns() -> Columns<Spent> {
    let mut columns = Columns::<Spent>::new()
        .real(("bytes", "bytes/fetch", "IP bytes, both directions"), |s| Some(s.bytes))
        .heading("IP")
        .digits(1)
        .real(("bytes_added_percent", "%", "IP bytes added to those without SLP"), |s| Some(s.bytes_added_percent))
        .heading("added")
        .digits(2)
        .real(("packets", "packets/fetch", "packets, both directions"), |s| Some(s.packets))
        .heading("all")
        .digits(2)
        .real(("packets_added_percent", "%", "packets added to those without SLP"), |s| Some(s.packets_added_percent))
        .heading("added")
        .digits(2);
    for kind in Copied::ALL {
        let name = kind.name();
        let about = format!("copies per fetch: {name}");
        columns = columns
            .real((format!("copies_{name}"), "", about), move |s| Some(s.copies.get(name).copied().unwrap_or(0.0)))
            .heading(format!("copies: {name}"));
    }
    columns
}

/// A row per fetch of the runs shown.
fn fetch_columns() -> Columns<Fetch> {
    columns_of_figure::<Fetch>(ID)
        .text(("profile", "", "profile of both hosts"), |f| Some(f.profile.into()))
        .integer(("seed", "", "seed of the run"), |f| Some(f.seed))
        .integer(("flow", "", "number of the fetch in its run"), |f| Some(f.flow))
        .real(("fct_ms", "ms", "completion time; unknown if the fetch did not complete"), |f| f.fct_ms)
}

/// A row per profile and completion time.
fn step_columns() -> Columns<Part<Step>> {
    columns_of_figure::<Part<Step>>(ID)
        .text(("profile", "", "profile of both hosts"), |(profile, _)| Some((*profile).into()))
        .real(("fct_ms", "ms", "completion time"), |(_, step)| Some(step.fct_ms))
        .integer(("fetches", "", "fetches in all runs that took this time"), |(_, step)| Some(step.fetches))
}

/// A row per profile and limit.
fn over_columns() -> Columns<Part<Over>> {
    columns_of_figure::<Part<Over>>(ID)
        .text(("profile", "", "profile of both hosts"), |(profile, _)| Some((*profile).into()))
        .integer(("limit_ms", "ms", "limit of the completion time"), |(_, over)| Some(over.limit_ms))
        .group("fetches", shares("fetches that take longer"), |(_, over)| Some(&over.fetches))
        .group("runs", shares("runs with at least one longer fetch"), |(_, over)| Some(&over.runs))
        .group("runs_with_two", shares("runs with at least two longer fetches"), |(_, over)| Some(&over.runs_with_two))
        .real(("by_lost_syns", "", "share of runs with a longer fetch that lost SYNs alone predict"), |(_, over)| {
            Some(over.by_lost_syns)
        })
}

/// The columns of a share. `what` says what is counted.
fn shares(what: &str) -> Columns<Share> {
    Columns::<Share>::new()
        .integer(("hits", "", format!("number of {what}")), |s| Some(s.hits))
        .integer(("trials", "", "number of all"), |s| Some(s.trials))
        .real(("share", "", format!("share of {what}")), |s| Some(s.share))
        .real(("low", "", "lower end of the interval of 95 % confidence"), |s| Some(s.low))
        .real(("high", "", "upper end of the interval of 95 % confidence"), |s| Some(s.high))
}

/// The distribution functions of the paper's Linux: a row per completion time of the run shown.
fn distributions(cells: &[FetchCell]) -> Table {
    let drawn = &cells[..2.min(cells.len())];
    let mut times: Vec<f64> = drawn.iter().flat_map(|cell| &cell.fct_ms).flatten().copied().collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut table = plain_table();
    let mut header = vec!["completed within (ms)".into()];
    for which in [format!("share of {FETCHES}"), "share of all runs".into()] {
        header.extend(drawn.iter().map(|cell| format!("{}: {which}", cell.profile)));
    }
    table.set_header(header);
    for time in times {
        let mut row = vec![millis(Some(time))];
        for (shown, digits) in [(true, 2), (false, 5)] {
            row.extend(drawn.iter().map(|cell| format!("{:.digits$}", cell.share_within(time, shown))));
        }
        table.add_row(row);
    }
    table
}

/// A row per profile and limit.
fn limits(cells: &[FetchCell]) -> Table {
    let mut table = plain_table();
    table.set_header([
        "profile",
        "longer than (ms)",
        "fetches (%)",
        "runs with a longer fetch",
        "predicted from lost SYNs (%)",
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
