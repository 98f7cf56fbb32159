//! Flows of 100 segments: panels c and f.

use super::*;
use crate::tail_loss::cell::MECHANISMS;
use crate::tail_loss::dumbbell::Flow;
use Mechanism::{Baseline, Rtor, Tlp, Tlpr};

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    vec![
        long_flows_differ_little(cells),
        acks_recover_most(cells),
        restart_is_best_in_long_flows(cells),
        restart_is_best_after_earlier_losses(cells),
    ]
}

/// The largest relative gain of a mechanism in a panel, of mean FCTs: those of long flows have two peaks, between which a
/// median jumps.
fn largest_gain(cells: &Cells<'_>, panel: char) -> Estimate {
    let baseline = cells.get(panel, Baseline).mean();
    let gains = MECHANISMS.iter().skip(1).map(|m| gain(cells.get(panel, *m).mean(), baseline));
    let larger = |one: Estimate, other: Estimate| if other.mean > one.mean { other } else { one };
    gains.reduce(larger).expect("three mechanisms")
}

fn long_flows_differ_little(cells: &Cells<'_>) -> Claim {
    claim("long-flows-differ-little").each(
        "; ",
        [('a', 'c'), ('d', 'f')].map(|(short, long)| {
            let [small, large] = [long, short].map(|panel| largest_gain(cells, panel));
            let half = large / 2.0;

            let percent = |gain: Estimate| 100.0 * gain.mean;
            (format!("{long} {:.0} %, {short} {:.0} %", percent(small), percent(large)), half.above(small))
        }),
    )
}

fn restart_is_best_in_long_flows(cells: &Cells<'_>) -> Claim {
    let median = |mechanism| cells.get('f', mechanism).median();
    let saved = [Baseline, Tlp, Tlpr].map(|other| (other.name(), median(other) - median(Rtor)));
    claim("rtor-is-best-in-long-flows").shows(list(saved)).needs_all(saved.map(|(_, saved)| saved.above(0.0)))
}

fn acks_recover_most(cells: &Cells<'_>) -> Claim {
    claim("acks-recover-most-of-long-flows").each(
        ", ",
        ['c', 'f'].map(|panel| {
            let flows = &cells.get(panel, Baseline).flows;
            let sum = |of: fn(&Flow) -> u64| flows.iter().map(of).sum();
            let share = Share::of(sum(|flow| flow.by_acks), sum(|flow| flow.retransmissions));
            (format!("{panel}: {share}"), share.above(0.5))
        }),
    )
}

fn restart_is_best_after_earlier_losses(cells: &Cells<'_>) -> Claim {
    let of = |mechanism| {
        let fcts = cells.get('f', mechanism).fcts_after_earlier_losses();
        (fcts.len(), Estimate::of_median(&fcts))
    };
    let (flows, rtor) = of(Rtor);
    let saved = [Tlp, Tlpr].map(|m| (m.name(), of(m).1 - rtor));
    claim!("rtor-is-best-after-earlier-losses", "{} ({flows} flows of RTOR)", list(saved))
        .needs_all(saved.map(|(_, saved)| saved.above(0.0)))
}
