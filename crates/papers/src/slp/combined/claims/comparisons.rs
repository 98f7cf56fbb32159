//! Comparisons of copies with other mechanisms, and of different copies.

use super::{Cells, by_load, by_network};
use crate::prelude::*;
use crate::slp::combined::CombinedCell;
use crate::slp::combined::grid::{Copied, Load, Network, Recovery, everywhere};
use Recovery::{Linux6, Tlpr};

pub fn more_than_tlpr(c: &Cells<'_>) -> Claim {
    let saved = |load, recovery, copied| c.get(load, Network::Random, recovery, copied).saved_ms;
    let slp = |load| saved(load, Recovery::Nothing, Copied::Paper);
    let tlpr = |load| saved(load, Tlpr, Copied::Nothing);
    claim("slp-saves-more").shows(by_load(|load| format!("SLP {} ms, TLPR {} ms", slp(load), tlpr(load)))).holds(
        Load::ALL.iter().all(|load| {
            let (slp, tlpr) = (slp(*load), tlpr(*load));
            slp.mean - slp.half > tlpr.mean + tlpr.half
        }),
    )
}

/// The mean FCT that copies by the paper's q save in addition to a mechanism.
fn saved_on_top(c: &Cells<'_>, recovery: Recovery, load: Load, network: Network) -> Estimate {
    c.get(load, network, recovery, Copied::Paper).saved_by_copies_ms
}

/// The FCT saved on top of `recovery` under random losses as text, and whether it is above 0.
fn saved_on_top_in_random(c: &Cells<'_>, recovery: Recovery) -> (String, bool) {
    let saved = |load| saved_on_top(c, recovery, load, Network::Random);
    let text = by_load(|load| format!("{} ms", saved(load)));
    (text, Load::ALL.iter().all(|load| saved(*load).is_positive()))
}

/// The FCT saved on top of `recovery` in bursts as text.
fn saved_on_top_in_bursts(c: &Cells<'_>, recovery: Recovery) -> String {
    let saved = |load| {
        let saved = |network| saved_on_top(c, recovery, load, network);
        let (short, long) = (saved(Network::Bursts3), saved(Network::Bursts8));
        format!("{short} and {long} ms")
    };
    format!("in bursts of 3 and of 8 {}", by_load(saved))
}

pub fn on_top_of_tlpr(c: &Cells<'_>) -> Claim {
    let alone = |load| {
        let saved = |recovery, copied| c.get(load, Network::Random, recovery, copied).saved_by_copies_ms;
        format!(
            "{} alone, {} with TLPR and copies of tails",
            saved(Recovery::Nothing, Copied::Paper),
            saved(Tlpr, Copied::Tails)
        )
    };
    claim("slp-on-tlpr")
        .result(saved_on_top_in_random(c, Tlpr))
        .fill(&[&by_load(alone), &saved_on_top_in_bursts(c, Tlpr)])
}

pub fn on_top_of_linux_6(c: &Cells<'_>) -> Claim {
    claim("slp-on-linux-6").result(saved_on_top_in_random(c, Linux6)).note(saved_on_top_in_bursts(c, Linux6))
}

pub fn handshake(c: &Cells<'_>) -> Claim {
    let saved = |load, copied| {
        let cell = c.get(load, Network::Random, Recovery::Nothing, copied);
        (cell.saved_ms, cell.saved_per_kb().unwrap_or(NAN))
    };
    let both = |load| [Copied::Handshake, Copied::Paper].map(|copied| saved(load, copied));
    let text = |load| {
        let [part, whole] = both(load);
        format!("{:.1} of {:.1} ms", part.0.mean, whole.0.mean)
    };
    let note = by_load(|load| {
        let [part, whole] = both(load);
        format!("{:.0} and {:.0} ms per kB added, {} of {} ms", part.1, whole.1, part.0, whole.0)
    });
    claim("mostly-the-handshake")
        .shows(by_load(text))
        .holds(Load::ALL.iter().all(|load| {
            let [part, whole] = both(*load);
            part.0.mean > whole.0.mean / 2.0 && part.1 > whole.1
        }))
        .note(note)
}

/// The paper's own claim among these: its takeaway from the traces.
pub fn important_packets(c: &Cells<'_>) -> Claim {
    let cell = |load| c.get(load, Network::Random, Recovery::Nothing, Copied::Tails);
    let shown = by_load(|load| {
        let cell = cell(load);
        let more = 100.0 * cell.added_bytes.mean / (cell.bytes - cell.added_bytes.mean);
        format!("{} ms saved, {more:.1} % more bytes", cell.saved_ms)
    });
    let saved = Load::ALL.map(|load| cell(load).saved_ms.above(0.0));
    claim("important-packets").shows(shown).needs_all(saved)
}

/// Milliseconds saved per byte added; infinite if none is added.
fn per_byte(cell: &CombinedCell) -> f64 {
    match cell.added_bytes.mean {
        added if added > 0.0 => cell.saved_ms.mean / added,
        _ if cell.saved_ms.mean > 0.0 => f64::INFINITY,
        _ => 0.0,
    }
}

pub fn tlpr_saves_more_per_byte(c: &Cells<'_>) -> Claim {
    let pair = |load, network| {
        (c.get(load, network, Tlpr, Copied::Nothing), c.get(load, network, Recovery::Nothing, Copied::Paper))
    };
    let bytes = |load| {
        by_network(|network| {
            let (tlpr, slp) = pair(load, network);
            format!("{} and {}", tlpr.added_bytes, slp.added_bytes)
        })
    };
    let better: Vec<bool> = everywhere()
        .map(|(load, network)| pair(load, network))
        .map(|(tlpr, slp)| per_byte(tlpr) > per_byte(slp))
        .collect();
    let count = better.iter().filter(|better| **better).count();

    claim!("tlpr-cheaper", "in {count} of {}", better.len()).holds(count == better.len()).fill(&[&by_load(bytes)])
}

pub fn tails_withheld(c: &Cells<'_>) -> Claim {
    let get = |copied| c.get(Load::Fetch, Network::Random, Recovery::Nothing, copied);
    let (tails, paper) = (get(Copied::Tails), get(Copied::Paper));
    let flows = tails.flows as f64;
    let withheld = tails.withheld as f64 / flows;
    let more = (tails.copies as f64 - paper.copies as f64) / flows;
    claim!("window-withholds-tails", "{withheld:.3} copies withheld per flow, {more:.3} more sent")
        .holds(withheld >= 0.9 && more < 0.1)
}

pub fn tail_copies_save_least_per_byte(c: &Cells<'_>) -> Claim {
    let get = |recovery, copied| c.get(Load::Short, Network::Random, recovery, copied);
    let step = |recovery, from, to| {
        let (from, to) = (get(recovery, from), get(recovery, to));
        let saved = from.fct_ms.mean - to.fct_ms.mean;
        (saved, to.bytes - from.bytes)
    };
    let per_kb = |(saved, bytes): (f64, f64)| saved / bytes * 1e3;
    let handshake = step(Recovery::Nothing, Copied::Nothing, Copied::Handshake);
    let tail = step(Recovery::Nothing, Copied::Paper, Copied::Tails);
    let on_tlpr = step(Tlpr, Copied::Paper, Copied::Tails);
    let text = |(saved, bytes)| format!("{saved:.1} ms for {bytes:.0} bytes");
    let p99 = |copied| format!("{:.0} ms", get(Tlpr, copied).p99_ms);
    claim!(
        "tail-copies-dear",
        "tails {:.1} ms per kB, with TLPR {:.1}; handshake {:.1}",
        per_kb(tail),
        per_kb(on_tlpr),
        per_kb(handshake)
    )
    .holds(per_kb(tail) < per_kb(handshake) / 5.0 && per_kb(on_tlpr) < per_kb(handshake) / 5.0)
    .fill(&[&p99(Copied::Paper), &p99(Copied::Tails), &text(tail), &text(on_tlpr), &text(handshake)])
}
