//! The claims of §III-B on fifty fetches.
//!
//! A claim that some fetches of fifty take long, or none, holds if a run is more likely than not to show
//! it: the whole interval of the probability lies above one half.

use super::{Copied, FETCHES, FetchCell, Over};
use crate::claims::{Claim, claim, ours};
use crate::slp::fetch::NEGLIGIBLE;
use recoup_lab::stats::Share;

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
        bytes_added([without, with]),
        packets_added([without, with]),
    ]
}

fn over(cell: &FetchCell, limit_ms: u64) -> &Over {
    let over = cell.over.iter().find(|over| over.limit_ms == limit_ms);
    over.expect("a limit of the figure")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn most_within(without: &FetchCell) -> Claim {
    let within = without.share_within(500.0, false);
    claim(
        "most-within-half-a-second",
        "III-B",
        "Without SLP most of fifty fetches complete within 0.5 s",
        "the share of all fetches that complete within 0.5 s is above one half",
        (percent(within), within > 0.5),
    )
}

fn over_one_second(without: &FetchCell) -> Claim {
    let over = over(without, 1000);
    let mut claim = claim(
        "some-over-1s",
        "III-B",
        "Without SLP some of fifty fetches take more than 1 s",
        "a run of fifty is more likely than not to have a longer fetch",
        (
            format!("{} of runs", over.runs),
            over.runs.is_more_often_than_not(),
        ),
    );
    claim.note = Some(format!(
        "a SYN lost once costs the initial RTO of 1 s, and 1 − 0.98^{FETCHES} is {}. Two or more fetches take more than 1 s in {} of runs",
        percent(over.by_lost_syns),
        over.runs_with_two,
    ));
    claim
}

fn over_two_seconds(
    [without, with]: [&FetchCell; 2],
    [longer, longer_with]: [&FetchCell; 2],
) -> Claim {
    let (ours, theirs) = (over(without, 2000), over(longer, 2000));
    let mut claim = claim(
        "some-over-2s",
        "III-B",
        "Without SLP some of fifty fetches take even more than 2 s",
        "a run of fifty is more likely than not to have a longer fetch",
        (
            format!("{} of runs", ours.runs),
            ours.runs.is_more_often_than_not(),
        ),
    );
    let alike = |cell: &FetchCell| cell.as_in_the_paper.unwrap_or(Share::of(0, 0));
    claim.note = Some(format!(
        "with an initial RTO of 1 s, a SYN must be lost twice in a row, and 1 − 0.9996^{FETCHES} is {}. The claim needs an initial RTO of 2 s or more: with 3 s ({}), {} of runs have such a fetch. {} of pairs of runs show all three findings of the paper ({}); with 3 s, {}",
        percent(ours.by_lost_syns),
        longer.profile,
        theirs.runs,
        alike(with),
        with.profile,
        alike(longer_with),
    ));
    claim
}

fn none_with_slp(with: &FetchCell) -> Claim {
    let over = over(with, 500);
    let none = Share::of(over.runs.trials - over.runs.hits, over.runs.trials);
    let mut claim = claim(
        "none-over-half-a-second",
        "III-B",
        "With SLP all of fifty fetches complete within 0.5 s",
        "a run of fifty is more likely than not to have no longer fetch",
        (format!("{none} of runs"), none.is_more_often_than_not()),
    );
    claim.note = Some(format!(
        "a fetch takes longer if its SYN and the copy are both lost, once in 2,500 fetches: 0.9996^{FETCHES} is {}",
        percent(1.0 - over.by_lost_syns),
    ));
    claim
}

fn bytes_added([without, with]: [&FetchCell; 2]) -> Claim {
    let (before, after) = (without.spent.bytes, with.spent.bytes);
    let added = 100.0 * (after / before - 1.0);
    let mut claim = claim(
        "overhead-in-bytes",
        "III-B",
        "SLP's overhead in bytes is negligible",
        "SLP adds less than 5 % to the IP bytes of a fetch of 34 kB",
        (format!("{added:.2} %"), added < NEGLIGIBLE),
    );
    claim.note = Some(format!(
        "{:.0} bytes, because the added packets are short",
        after - before
    ));
    claim
}

fn packets_added([without, with]: [&FetchCell; 2]) -> Claim {
    let (before, after) = (without.spent.packets, with.spent.packets);
    let added = 100.0 * (after / before - 1.0);
    let copies = |kind: Copied| with.spent.copies.get(kind.name()).copied().unwrap_or(0.0);
    let mut claim = ours(claim(
        "overhead-in-packets",
        "III-B",
        "SLP's overhead in packets is negligible",
        "SLP adds less than 5 % to the packets of a fetch of 34 kB, both directions",
        (format!("{added:.1} %"), added < NEGLIGIBLE),
    ));
    claim.note = Some(format!(
        "{:.2} packets in addition to the {before:.2} of a fetch without SLP: copies of the SYN, the SYN-ACK (our extension) and the request ({:.2}, {:.2} and {:.2} per fetch), and the responses to them. SLP does not copy the end of the file ({:.2} per fetch), because a delivery rate of ten segments per round trip is below its threshold. docs/speed.md measures the instructions of a fetch: 22.9 % more",
        after - before,
        copies(Copied::Syn),
        copies(Copied::SynAck),
        copies(Copied::Request),
        copies(Copied::File),
    ));
    claim
}
