//! Copies beside other mechanisms, and what is copied beside other copies.

use super::{Cells, OURS, by_load, by_network};
use crate::claims::{Claim, claim};
use crate::slp::combined::Cell;
use crate::slp::combined::grid::{Copied, Load, Network, Recovery, everywhere};
use recoup_lab::stats::Estimate;

pub fn more_than_tlpr(c: &Cells<'_>) -> Claim {
    let saved = |load, recovery, copied| c.get(load, Network::Random, recovery, copied).saved_ms;
    let slp = |load| saved(load, Recovery::Nothing, Copied::Paper);
    let tlpr = |load| saved(load, Recovery::Tlpr, Copied::Nothing);
    claim(
        "slp-saves-more",
        OURS,
        "Under random losses SLP shortens these flows by more than TLPR does: their dearest timeouts come before there is a tail",
        "mean FCT saved by the paper's q and by TLPR, and their intervals apart",
        (
            by_load(|load| format!("{} ms for {}", slp(load), tlpr(load))),
            Load::ALL.iter().all(|load| {
                let (slp, tlpr) = (slp(*load), tlpr(*load));
                slp.mean - slp.half > tlpr.mean + tlpr.half
            }),
        ),
    )
}

/// What the paper's q saves beside a mechanism.
fn beside(c: &Cells<'_>, recovery: Recovery, load: Load, network: Network) -> Estimate {
    let cell = c.get(load, network, recovery, Copied::Paper);
    cell.saved_by_copies_ms
}

/// The same under random losses, and whether it is more than nothing.
fn beside_in_random(c: &Cells<'_>, recovery: Recovery) -> (String, bool) {
    let saved = |load| beside(c, recovery, load, Network::Random);
    let told = by_load(|load| format!("{} ms", saved(load)));
    (
        told,
        Load::ALL.iter().all(|load| saved(*load).is_positive()),
    )
}

/// The same in bursts.
fn beside_in_bursts(c: &Cells<'_>, recovery: Recovery) -> String {
    let saved = |load| {
        let saved = |network| beside(c, recovery, load, network);
        let (short, long) = (saved(Network::Bursts3), saved(Network::Bursts8));
        format!("{short} and {long} ms")
    };
    format!("in bursts of 3 and of 8 {}", by_load(saved))
}

pub fn on_top_of_tlpr(c: &Cells<'_>) -> Claim {
    let mut claim = claim(
        "slp-on-tlpr",
        OURS,
        "SLP adds to what TLPR saves",
        "mean FCT of TLPR less that of TLPR with the paper's q; above 0 with 95 % confidence under random losses",
        beside_in_random(c, Recovery::Tlpr),
    );
    let alone = |load| {
        let saved = |recovery, copied| {
            let cell = c.get(load, Network::Random, recovery, copied);
            cell.saved_by_copies_ms
        };
        format!(
            "{} alone, {} with tails beside TLPR",
            saved(Recovery::Nothing, Copied::Paper),
            saved(Recovery::Tlpr, Copied::Tails)
        )
    };
    claim.note = Some(format!(
        "as much as alone: the two mend different losses. Under random losses {} (ms); {}",
        by_load(alone),
        beside_in_bursts(c, Recovery::Tlpr),
    ));
    claim
}

pub fn on_top_of_linux_6(c: &Cells<'_>) -> Claim {
    let mut claim = claim(
        "slp-on-linux-6",
        OURS,
        "SLP adds to what Linux 6 saves: RACK-TLP knows nothing for a handshake either",
        "mean FCT of linux-6 less that of linux-6+slp, the paper's q; above 0 with 95 % confidence under random losses",
        beside_in_random(c, Recovery::Linux6),
    );
    claim.note = Some(beside_in_bursts(c, Recovery::Linux6));
    claim
}

pub fn handshake(c: &Cells<'_>) -> Claim {
    let saved = |load, copied| {
        let cell = c.get(load, Network::Random, Recovery::Nothing, copied);
        (cell.saved_ms, cell.saved_per_kb().unwrap_or(f64::NAN))
    };
    let both = |load| [Copied::Handshake, Copied::Paper].map(|copied| saved(load, copied));
    let told = |load| {
        let [part, whole] = both(load);
        format!("{:.1} of {:.1} ms", part.0.mean, whole.0.mean)
    };
    let mut claim = claim(
        "mostly-the-handshake",
        OURS,
        "Most of what the paper's q saves, copies of SYN and SYN-ACK alone save, for fewer bytes",
        "under random losses: more than half of the mean FCT saved, and more for each kB added",
        (
            by_load(told),
            Load::ALL.iter().all(|load| {
                let [part, whole] = both(*load);
                part.0.mean > whole.0.mean / 2.0 && part.1 > whole.1
            }),
        ),
    );
    let note = by_load(|load| {
        let [part, whole] = both(load);
        format!(
            "{:.0} and {:.0} ms for each kB added, {} of {} ms",
            part.1, whole.1, part.0, whole.0
        )
    });
    claim.note = Some(note);
    claim
}

/// Milliseconds saved for each byte added, without bound where none is.
fn per_byte(cell: &Cell) -> f64 {
    match cell.added_bytes.mean {
        added if added > 0.0 => cell.saved_ms.mean / added,
        _ if cell.saved_ms.mean > 0.0 => f64::INFINITY,
        _ => 0.0,
    }
}

pub fn cheaper(c: &Cells<'_>) -> Claim {
    let pair = |load, network| {
        (
            c.get(load, network, Recovery::Tlpr, Copied::Nothing),
            c.get(load, network, Recovery::Nothing, Copied::Paper),
        )
    };
    let bytes = |load| {
        by_network(|network| {
            let (tlpr, slp) = pair(load, network);
            format!("{} for {}", tlpr.added_bytes, slp.added_bytes)
        })
    };
    let better = everywhere().map(|(load, network)| pair(load, network));
    let better: Vec<bool> = better
        .map(|(tlpr, slp)| per_byte(tlpr) > per_byte(slp))
        .collect();
    let of_all = better.iter().filter(|better| **better).count();
    let mut claim = claim(
        "tlpr-cheaper",
        OURS,
        "For each byte added TLPR is the better buy, on every network: a probe goes when an answer is overdue, a copy whether it is needed or not",
        "mean FCT saved over bytes added, TLPR against the paper's q, of each load on each network",
        (
            format!("in {of_all} of {}", better.len()),
            of_all == better.len(),
        ),
    );
    claim.note = Some(format!(
        "bytes added by TLPR and by the paper's q: {}. Of 2 % of packets lost, each of SLP's copies is needed once in fifty times. Some of what it adds are answers: the duplicate SYN draws a SYN-ACK of its own beside the SYN-ACK's copy, and each duplicate an ACK",
        by_load(bytes),
    ));
    claim
}

pub fn tails_withheld(c: &Cells<'_>) -> Claim {
    let get = |copied| c.get(Load::Fetch, Network::Random, Recovery::Nothing, copied);
    let (tails, paper) = (get(Copied::Tails), get(Copied::Paper));
    let flows = tails.flows as f64;
    let withheld = tails.withheld as f64 / flows;
    let more = (tails.copies as f64 - paper.copies as f64) / flows;
    claim(
        "window-withholds-tails",
        OURS,
        "Flows longer than the first window have hardly any tail copied, whatever q says: the window rule withholds it",
        "34 kB, random losses, q 1 for tails: a copy withheld in at least nine flows of ten, and less than one more a ten flows than with the paper's q",
        (
            format!("{withheld:.3} a flow withheld, {more:.3} more sent"),
            withheld >= 0.9 && more < 0.1,
        ),
    )
}

pub fn tails_dear(c: &Cells<'_>) -> Claim {
    let get = |recovery, copied| c.get(Load::Short, Network::Random, recovery, copied);
    let step = |recovery, from, to| {
        let (from, to) = (get(recovery, from), get(recovery, to));
        let saved = from.fct_ms.mean - to.fct_ms.mean;
        (saved, to.bytes - from.bytes)
    };
    let per_kb = |(saved, bytes): (f64, f64)| saved / bytes * 1e3;
    let handshake = step(Recovery::Nothing, Copied::Nothing, Copied::Handshake);
    let tail = step(Recovery::Nothing, Copied::Paper, Copied::Tails);
    let beside_tlpr = step(Recovery::Tlpr, Copied::Paper, Copied::Tails);
    let told = |(saved, bytes)| format!("{saved:.1} ms for {bytes:.0} bytes");
    let mut claim = claim(
        "tail-copies-dear",
        OURS,
        "Copies of tails are the worst buy: a full segment each time, for a timeout of an RTO where a handshake's takes a second",
        "8 segments, random losses: mean FCT saved for each kB added when tails are copied beside the paper's q, against the handshake's copies: less than a fifth",
        (
            format!(
                "{:.1} and, beside TLPR, {:.1} ms a kB; handshake {:.1}",
                per_kb(tail),
                per_kb(beside_tlpr),
                per_kb(handshake)
            ),
            per_kb(tail) < per_kb(handshake) / 5.0 && per_kb(beside_tlpr) < per_kb(handshake) / 5.0,
        ),
    );
    let p99 = |copied| format!("{:.0} ms", get(Recovery::Tlpr, copied).p99_ms);
    claim.note = Some(format!(
        "what they buy is the 99th percentile: {} to {} beside TLPR. Tails {}, beside TLPR {}, handshake {}",
        p99(Copied::Paper),
        p99(Copied::Tails),
        told(tail),
        told(beside_tlpr),
        told(handshake),
    ));
    claim
}
