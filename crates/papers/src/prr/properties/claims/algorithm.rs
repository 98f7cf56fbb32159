//! The claims of §1, §3.1, §4 and §4.2: the parts of algorithm 2, and DeliveredData.

use super::{Cells, PAPER};
use crate::prelude::*;
use crate::prr::properties::{Network, Property, PropertyCell, Scheme};

/// All claims.
pub fn all(c: &Cells<'_>) -> Vec<Claim> {
    vec![
        window_as_intended(c),
        claim("slow-start-part").result(c.sum(PAPER, Property::SlowStarts).ours("ACKs")),
        inhibits(c),
        claim("delivered-is-progress").result(c.sum(PAPER, Property::Progress).ours("ACKs")),
        claim("delivered-observed").result(c.sum(PAPER, Property::Observed).ours("ACKs")),
        observed_anywhere(c),
        linux_pipe(c),
        rfc_banks(c),
        rfc_sends_nothing(c),
        rfc_timeouts(c),
    ]
}

/// A count of the flows of some schemes on all networks.
fn total(c: &Cells<'_>, schemes: &[Scheme], of: fn(&PropertyCell) -> u64) -> u64 {
    c.of(schemes).map(of).sum()
}

fn window_as_intended(c: &Cells<'_>) -> Claim {
    let share = |schemes: &[Scheme]| {
        let complete = total(c, schemes, |cell| cell.complete);
        (total(c, schemes, |cell| cell.at_ssthresh), complete)
    };
    let [prr, cubic, linux] = [Scheme::Prr, Scheme::PrrCubic, Scheme::Linux].map(|scheme| share(&[scheme]));
    claim!(
        "window-as-intended",
        "Reno {} of {}, CUBIC {} of {} (Linux {} of {})",
        prr.0,
        prr.1,
        cubic.0,
        cubic.1,
        linux.0,
        linux.1
    )
    .holds(prr.0 == prr.1 && cubic.0 == cubic.1 && prr.1 > 0 && cubic.1 > 0)
}

fn inhibits(c: &Cells<'_>) -> Claim {
    let others = c.sum(&[Scheme::Linux], Property::Inhibits);
    let (ours, holds) = c.sum(PAPER, Property::Inhibits).ours("ACKs");
    claim!("inhibits-reductions", "{ours} (Linux {} of {})", others.broken, others.cases).holds(holds)
}

fn observed_anywhere(c: &Cells<'_>) -> Claim {
    let found = c.sum(PAPER, Property::ObservedAnywhere);
    let networks = c.networks(PAPER, Property::ObservedAnywhere);
    let claim = claim("delivered-anywhere").result(found.ours("ACKs"));
    if networks.is_empty() { claim.noted("blocks-cover-lost-acks") } else { claim.fill(&[&networks]) }
}

fn linux_pipe(c: &Cells<'_>) -> Claim {
    let of = |network| c.get(network, Scheme::Linux).check(Property::Shrinks);
    let [heavy, stalls] = [Network::Bursts, Network::Stalls].map(of);
    claim!(
        "linux-pipe-shrinks",
        "broken by {} of {} and {} of {} ACKs",
        heavy.broken,
        heavy.cases,
        stalls.broken,
        stalls.cases
    )
    .holds(heavy.broken + stalls.broken == 0 && heavy.cases > 0 && stalls.cases > 0)
}

fn rfc_banks(c: &Cells<'_>) -> Claim {
    let most = |scheme| c.get(Network::Stalls, scheme).most_with_a_write;
    let [rfc, linux] = [Scheme::Rfc3517, Scheme::Linux].map(most);
    claim!("rfc3517-banks", "{rfc} segments (Linux {linux})").holds(rfc > 1 && rfc > linux)
}

fn rfc_sends_nothing(c: &Cells<'_>) -> Claim {
    let share = |scheme| {
        let sent_one = total(c, &[scheme], |cell| cell.sent_one);
        Share::of(sent_one, total(c, &[scheme], |cell| cell.recoveries))
    };
    let [rfc, prr] = [Scheme::Rfc3517, Scheme::Prr].map(share);
    claim!("rfc3517-sends-nothing", "RFC 3517 {rfc}, PRR {prr}").needs(rfc.above(prr))
}

fn rfc_timeouts(c: &Cells<'_>) -> Claim {
    let share = |scheme| {
        let timed_out = total(c, &[scheme], |cell| cell.timed_out);
        Share::of(timed_out, total(c, &[scheme], |cell| cell.recoveries))
    };
    let [rfc, prr] = [Scheme::Rfc3517, Scheme::Prr].map(share);
    claim!("rfc3517-silence-timeouts", "RFC 3517 {rfc}, PRR {prr}").needs(rfc.above(prr))
}
