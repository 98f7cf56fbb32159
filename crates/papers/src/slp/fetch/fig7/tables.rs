//! The figure's tables and columns.

use super::{Copied, FETCHES, FetchCell, ID, Over, Spent, Step};
use crate::prelude::*;

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
    let fetches: Vec<Fetch> = cells.iter().flat_map(fetches).collect();
    let steps = parts(cells, |cell| &cell.distribution);
    let over = parts(cells, |cell| &cell.over);
    let text = format!("{}\n\n{}\n\n{costs}", distributions(cells), limits(&over));
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
    columns!(columns_of_figure::<FetchCell>(ID), c;
        profile, "", "profile of both hosts";
        seed, "", "seed of the run shown; the seeds of the other runs follow it";
        runs, "", "runs of fifty fetches";
    )
    .group("as_in_the_paper", shares("pairs of runs that show the paper's findings"), |c| c.as_in_the_paper.as_ref())
    .all_of(spent_columns(), |c| Some(&c.spent))
}

fn spent_columns() -> Columns<Spent> {
    let mut columns = Columns::<Spent>::new()
        .column("bytes", "bytes/fetch", "IP bytes, both directions", |s| s.bytes)
        .heading("IP")
        .digits(1)
        .column("bytes_added_percent", "%", "IP bytes added to those without SLP", |s| s.bytes_added_percent)
        .heading("added")
        .digits(2)
        .column("packets", "packets/fetch", "packets, both directions", |s| s.packets)
        .heading("all")
        .digits(2)
        .column("packets_added_percent", "%", "packets added to those without SLP", |s| s.packets_added_percent)
        .heading("added")
        .digits(2);
    for kind in Copied::ALL {
        let name = kind.name();
        let about = format!("copies per fetch: {name}");
        columns = columns
            .column(format!("copies_{name}"), "", about, move |s| s.copies.get(name).copied().unwrap_or(0.0))
            .heading(format!("copies: {name}"));
    }
    columns
}

/// A row per fetch of the runs shown.
fn fetch_columns() -> Columns<Fetch> {
    columns!(columns_of_figure::<Fetch>(ID), f;
        profile, "", "profile of both hosts";
        seed, "", "seed of the run";
        flow, "", "number of the fetch in its run";
        fct_ms, "ms", "completion time; unknown if the fetch did not complete";
    )
}

/// A row per profile and completion time.
fn step_columns() -> Columns<Part<Step>> {
    columns_of_figure::<Part<Step>>(ID)
        .column("profile", "", "profile of both hosts", |(profile, _)| *profile)
        .column("fct_ms", "ms", "completion time", |(_, step)| step.fct_ms)
        .column("fetches", "", "fetches in all runs that took this time", |(_, step)| step.fetches)
}

/// A row per profile and limit.
fn over_columns() -> Columns<Part<Over>> {
    columns_of_figure::<Part<Over>>(ID)
        .column("profile", "", "profile of both hosts", |(profile, _)| *profile)
        .column("limit_ms", "ms", "limit of the completion time", |(_, over)| over.limit_ms)
        .group("fetches", shares("fetches that take longer"), |(_, over)| Some(&over.fetches))
        .group("runs", shares("runs with at least one longer fetch"), |(_, over)| Some(&over.runs))
        .group("runs_with_two", shares("runs with at least two longer fetches"), |(_, over)| Some(&over.runs_with_two))
        .column("by_lost_syns", "", "share of runs with a longer fetch that lost SYNs alone predict", |(_, over)| {
            over.by_lost_syns
        })
}

/// The columns of a share. `what` says what is counted.
fn shares(what: &str) -> Columns<Share> {
    columns!(Columns::<Share>::new(), s;
        hits, "", format!("number of {what}");
        trials, "", "number of all";
        share, "", format!("share of {what}");
        low, "", "lower end of the interval of 95 % confidence";
        high, "", "upper end of the interval of 95 % confidence";
    )
}

/// The distribution functions of the paper's Linux: a row per completion time of the run shown.
fn distributions(cells: &[FetchCell]) -> String {
    let drawn = &cells[..2.min(cells.len())];
    let mut times: Vec<f64> = drawn.iter().flat_map(|cell| &cell.fct_ms).flatten().copied().collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut columns = Columns::new().shown("completed within (ms)", |time| millis(Some(*time)));
    for (which, shown, digits) in [(format!("share of {FETCHES}"), true, 2), ("share of all runs".into(), false, 5)] {
        for cell in drawn.iter().cloned() {
            let heading = format!("{}: {which}", cell.profile);
            columns = columns.shown(heading, move |time| format!("{:.digits$}", cell.share_within(*time, shown)));
        }
    }
    columns.to_table(&times)
}

/// A row per profile and limit.
fn limits(over: &[Part<Over>]) -> String {
    Columns::new()
        .shown("profile", |(profile, _): &Part<Over>| *profile)
        .shown("longer than (ms)", |(_, over)| over.limit_ms)
        .shown("fetches (%)", |(_, over)| format!("{:.3}", 100.0 * over.fetches.share))
        .shown("runs with a longer fetch", |(_, over)| over.runs)
        .shown("predicted from lost SYNs (%)", |(_, over)| format!("{:.1}", 100.0 * over.by_lost_syns))
        .shown("runs with two or more", |(_, over)| over.runs_with_two)
        .to_table(over)
}
