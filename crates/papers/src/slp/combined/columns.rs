//! The columns of cells, of distances between originals and copies, and of first packets.

use super::{CombinedCell, ID, Setup};
use crate::columns_of_figure;
use recoup_support::stats::Estimate;
use recoup_table::Columns;

/// Lost originals whose copy was sent `distance` packets later.
pub struct Distance {
    setup: Setup,
    distance: u64,
    originals_lost: u64,
}

impl Distance {
    /// The distances of all cells.
    pub fn of(cells: &[CombinedCell]) -> Vec<Self> {
        let of_cell = |cell: &CombinedCell| {
            let setup = cell.setup;
            let distances = cell.pairs.distances.clone().into_iter();
            distances.map(move |(distance, originals_lost)| Self { setup, distance, originals_lost })
        };
        cells.iter().flat_map(of_cell).collect()
    }
}

/// The columns that identify a cell.
fn setup<R: 'static>(setup: fn(&R) -> &Setup) -> Columns<R> {
    columns_of_figure::<R>(ID)
        .text(("load", "", "the flow's data"), move |r| Some(setup(r).load.name().into()))
        .text(("network", "", "how packets are lost"), move |r| Some(setup(r).network.name().into()))
        .text(("recovery", "", "the mechanism besides SLP"), move |r| Some(setup(r).recovery.name().into()))
        .text(("copied", "", "the packets that SLP copies"), move |r| Some(setup(r).copied.name().into()))
        .text(("gap", "SRTT", "the `slp.gap` setting"), move |r| Some(setup(r).gap.into()))
}

/// A row per cell.
pub fn cells() -> Columns<CombinedCell> {
    let columns = setup::<CombinedCell>(|c| &c.setup)
        .text(("profile", "", "profile of both hosts"), |c| Some(c.profile.clone().into()))
        .integer(("flows", "", "flows run"), |c| Some(c.flows))
        .integer(("late", "flows", "flows that take longer than 10 s or never complete"), |c| Some(c.late));
    let columns = estimate(columns, "fct_ms", "ms", "mean FCT, at most 10 s", |c| c.fct_ms)
        .real(("p99_ms", "ms", "99th percentile of the FCT"), |c| Some(c.p99_ms))
        .real(("p999_ms", "ms", "99.9th percentile of the FCT"), |c| Some(c.p999_ms));
    let columns =
        estimate(columns, "saved_ms", "ms", "mean FCT saved, compared with neither mechanism nor copies", |c| {
            c.saved_ms
        });
    let columns = estimate(
        columns,
        "saved_by_copies_ms",
        "ms",
        "mean FCT saved, compared with the same mechanism without copies",
        |c| c.saved_by_copies_ms,
    )
    .real(("bytes", "bytes", "IP bytes per flow, both directions"), |c| Some(c.bytes));
    let columns = estimate(
        columns,
        "added_bytes",
        "bytes",
        "IP bytes added per flow, compared with neither mechanism nor copies",
        |c| c.added_bytes,
    );
    let columns = estimate(
        columns,
        "added_by_copies_bytes",
        "bytes",
        "IP bytes added per flow, compared with the same mechanism without copies",
        |c| c.added_by_copies_bytes,
    );
    counts(columns)
}

/// Adds a mean and half the width of its interval.
fn estimate(
    columns: Columns<CombinedCell>,
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&CombinedCell) -> Estimate,
) -> Columns<CombinedCell> {
    columns
        .real((name, unit, about), move |c| Some(of(c).mean))
        .real((format!("{name}_half"), unit, format!("{about}: half the interval of 95 % confidence")), move |c| {
            Some(of(c).half)
        })
}

/// Adds the counts over all flows.
fn counts(columns: Columns<CombinedCell>) -> Columns<CombinedCell> {
    type Count = (&'static str, &'static str, &'static str, fn(&CombinedCell) -> u64);
    const COUNTS: [Count; 7] = [
        ("copies", "segments", "copies sent", |c| c.copies),
        ("withheld", "segments", "copies withheld because the window had no room", |c| c.withheld),
        ("retransmissions", "segments", "retransmissions", |c| c.retransmissions),
        ("packets", "packets", "packets sent, both directions", |c| c.packets),
        ("lost", "packets", "packets lost, both directions", |c| c.lost),
        ("originals_lost", "packets", "originals that have a copy and were lost", |c| c.pairs.originals_lost),
        ("both_lost", "packets", "lost originals whose copy was lost too", |c| c.pairs.both_lost),
    ];
    COUNTS.into_iter().fold(columns, |columns, (name, unit, about, count)| {
        columns.integer((name, unit, about), move |c| Some(count(c)))
    })
}

/// A row per cell and distance between original and copy.
pub fn distances() -> Columns<Distance> {
    setup::<Distance>(|d| &d.setup)
        .integer(("distance", "packets", "distance from original to copy; 1 is the next packet"), |d| Some(d.distance))
        .integer(("originals_lost", "packets", "lost originals"), |d| Some(d.originals_lost))
}

/// A row per cell: flows' first packets.
pub fn first_packets() -> Columns<CombinedCell> {
    setup::<CombinedCell>(|c| &c.setup)
        .integer(("firsts", "packets", "flows' first packets, both directions"), |c| Some(c.firsts))
        .integer(("firsts_lost", "packets", "lost first packets"), |c| Some(c.firsts_lost))
}
