//! The columns of cells, of distances between originals and copies, and of first packets.

use super::{CombinedCell, ID, Setup};
use crate::prelude::*;

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
            cell.pairs.distances.clone().into_iter().map(move |(distance, originals_lost)| Self {
                setup,
                distance,
                originals_lost,
            })
        };
        cells.iter().flat_map(of_cell).collect()
    }
}

/// The columns that identify a cell.
fn setup<R: 'static>(setup: fn(&R) -> &Setup) -> Columns<R> {
    columns!(columns_of_figure::<R>(ID), r;
        load, "", "the flow's data" => setup(r).load.name();
        network, "", "how packets are lost" => setup(r).network.name();
        recovery, "", "the mechanism besides SLP" => setup(r).recovery.name();
        copied, "", "the packets that SLP copies" => setup(r).copied.name();
        gap, "SRTT", "the `slp.gap` setting" => setup(r).gap;
    )
}

/// A row per cell.
pub fn cells() -> Columns<CombinedCell> {
    columns!(setup::<CombinedCell>(|c| &c.setup), c;
        profile, "", "profile of both hosts" => c.profile.clone();
        flows, "", "flows run";
        late, "flows", "flows that take longer than 10 s or never complete";
    )
    .estimate("fct_ms", "ms", "mean FCT, at most 10 s", |c| c.fct_ms)
    .column("p99_ms", "ms", "99th percentile of the FCT", |c| c.p99_ms)
    .column("p999_ms", "ms", "99.9th percentile of the FCT", |c| c.p999_ms)
    .estimate("saved_ms", "ms", "mean FCT saved, compared with neither mechanism nor copies", |c| c.saved_ms)
    .estimate("saved_by_copies_ms", "ms", "mean FCT saved, compared with the same mechanism without copies", |c| {
        c.saved_by_copies_ms
    })
    .column("bytes", "bytes", "IP bytes per flow, both directions", |c| c.bytes)
    .estimate("added_bytes", "bytes", "IP bytes added per flow, compared with neither mechanism nor copies", |c| {
        c.added_bytes
    })
    .estimate(
        "added_by_copies_bytes",
        "bytes",
        "IP bytes added per flow, compared with the same mechanism without copies",
        |c| c.added_by_copies_bytes,
    )
    .column("copies", "segments", "copies sent", |c| c.copies)
    .column("withheld", "segments", "copies withheld because the window had no room", |c| c.withheld)
    .column("retransmissions", "segments", "retransmissions", |c| c.retransmissions)
    .column("packets", "packets", "packets sent, both directions", |c| c.packets)
    .column("lost", "packets", "packets lost, both directions", |c| c.lost)
    .column("originals_lost", "packets", "originals that have a copy and were lost", |c| c.pairs.originals_lost)
    .column("both_lost", "packets", "lost originals whose copy was lost too", |c| c.pairs.both_lost)
}

trait AddEstimate {
    /// Adds a mean and half the width of its interval.
    fn estimate(
        self,
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        of: fn(&CombinedCell) -> Estimate,
    ) -> Self;
}

impl AddEstimate for Columns<CombinedCell> {
    fn estimate(
        self,
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        of: fn(&CombinedCell) -> Estimate,
    ) -> Self {
        let half = format!("{about}: half the interval of 95 % confidence");
        self.column(name, unit, about, move |c| of(c).mean)
            .column(format!("{name}_half"), unit, half, move |c| of(c).half)
    }
}

/// A row per cell and distance between original and copy.
pub fn distances() -> Columns<Distance> {
    setup::<Distance>(|d| &d.setup)
        .column("distance", "packets", "distance from original to copy; 1 is the next packet", |d| d.distance)
        .column("originals_lost", "packets", "lost originals", |d| d.originals_lost)
}

/// A row per cell: flows' first packets.
pub fn first_packets() -> Columns<CombinedCell> {
    setup::<CombinedCell>(|c| &c.setup)
        .column("firsts", "packets", "flows' first packets, both directions", |c| c.firsts)
        .column("firsts_lost", "packets", "lost first packets", |c| c.firsts_lost)
}
