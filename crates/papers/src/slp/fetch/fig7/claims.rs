//! The claims of §III-B on fifty fetches.
//!
//! A claim that some fetches of fifty take long, or none, holds if a run is more likely than not to show
//! it: the whole interval of the probability lies above one half.

use super::{Copied, FETCHES, FetchCell, Over};
use crate::prelude::*;

/// Checks the claims.
pub fn all(cells: &[FetchCell]) -> Vec<Claim> {
    let [without, with, longer, longer_with] = cells else {
        return vec![];
    };
    vec![
        most_within(without),
        over_one_second(without),
        over_two_seconds([without, with], [longer, longer_with]),
        none_with_slp(with),
        long_tail([without, with]),
        bytes_added([without, with]),
    ]
}

fn over(cell: &FetchCell, limit_ms: u64) -> &Over {
    cell.over.iter().find(|over| over.limit_ms == limit_ms).expect("a limit of the figure")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn most_within(without: &FetchCell) -> Claim {
    let within = without.share_within(500.0, false);
    claim("most-within-half-a-second").shows(percent(within)).holds(within > 0.5)
}

fn over_one_second(without: &FetchCell) -> Claim {
    let over = over(without, 1000);
    claim!("several-over-1s", "{} of runs", over.runs_with_two)
        .holds(over.runs_with_two.is_more_often_than_not())
        .fill(&[&over.runs, &FETCHES, &percent(over.by_lost_syns)])
}

fn over_two_seconds([without, with]: [&FetchCell; 2], [longer, longer_with]: [&FetchCell; 2]) -> Claim {
    let (ours, theirs) = (over(without, 2000), over(longer, 2000));
    let alike = |cell: &FetchCell| cell.as_in_the_paper.unwrap_or(Share::of(0, 0));
    claim!("some-over-2s", "{} of runs", ours.runs).holds(ours.runs.is_more_often_than_not()).fill(&[
        &FETCHES,
        &percent(ours.by_lost_syns),
        &longer.profile,
        &theirs.runs,
        &alike(with),
        &with.profile,
        &alike(longer_with),
    ])
}

fn none_with_slp(with: &FetchCell) -> Claim {
    let over = over(with, 500);
    let none = Share::of(over.runs.trials - over.runs.hits, over.runs.trials);

    claim!("none-over-half-a-second", "{none} of runs")
        .holds(none.is_more_often_than_not())
        .fill(&[&FETCHES, &percent(1.0 - over.by_lost_syns)])
}

fn long_tail([without, with]: [&FetchCell; 2]) -> Claim {
    let shares = [without, with].map(|cell| over(cell, 500).fetches);
    let [before, after] = shares.map(|share| Estimate { mean: share.share, half: (share.high - share.low) / 2.0 });
    let fewer = before - after;
    claim!("long-tail-reduced", "{} instead of {}", shares[1], shares[0]).needs(fewer.above(0.0)).interval(format!(
        "{:.2} ± {:.2} points fewer",
        100.0 * fewer.mean,
        100.0 * fewer.half
    ))
}

/// An overhead below this is low, in percent.
const LOW: f64 = 5.0;

fn bytes_added([without, with]: [&FetchCell; 2]) -> Claim {
    let added = |now: f64, before: f64| 100.0 * (now / before - 1.0);
    let bytes = added(with.spent.bytes, without.spent.bytes);
    let packets = added(with.spent.packets, without.spent.packets);
    let copies = |kind: Copied| with.spent.copies.get(kind.name()).copied().unwrap_or(0.0);
    claim!("overhead-in-bytes", "{bytes:.2} %").holds(bytes < LOW).fill(&[
        &(with.spent.bytes - without.spent.bytes),
        &packets,
        &(with.spent.packets - without.spent.packets),
        &without.spent.packets,
        &copies(Copied::Syn),
        &copies(Copied::SynAck),
        &copies(Copied::Request),
        &copies(Copied::File),
    ])
}
