//! The claims of §2, §3 and §5 about web servers.
//!
//! A difference has the paper's size if its 95 % interval lies within half to twice the paper's value
//! ([`Compare::sized`]).

mod recoveries;

use super::super::compare::{percent, shown, total};
use super::super::tables::{
    self, all_sized, count, fast, latency, latency_difference, pipe_above, retransmissions, sized_total, slow_start,
    timeouts,
};
use super::{Cell, PAPERS_TABLE_7, TABLE_7, bursts_above_ten, cwnd_after, of_recoveries};
use crate::prelude::*;

/// All claims.
pub fn all(cells: &[Cell]) -> Vec<Claim> {
    let [linux, rfc, prr] = cells else {
        return vec![];
    };
    let c = Arms { linux, rfc, prr };
    vec![
        kinds(c),
        open(c),
        modes(c),
        large_bursts(c),
        convergence(c),
        below_three(c),
        windows_as_printed(c),
        similar_windows(c),
        sized_total("table8-total", linux, [rfc, prr], tables::ALL),
        sized_total("table8-fast", linux, [rfc, prr], tables::FAST),
        all_sized("table8-fewer-fast", &[("PRR", total(c.rfc, c.prr, count(fast)), -3.3)]),
        all_sized("table8-timeouts-prr", &[("PRR", timeouts_in_recovery(c.linux, c.prr), -5.0)]),
        all_sized("table8-timeouts-rfc", &[("RFC 3517", timeouts_in_recovery(c.linux, c.rfc), -2.5)]),
        timeouts_prr_rfc(c),
        sized_total("table8-lost", linux, [rfc, prr], tables::LOST),
        lost_order(c),
        latency_retransmitted(c),
        latency_similar(c),
        latency_overall(c),
        recoveries::seven_to_ten(c),
        recoveries::near_ideal(c),
        recoveries::spread(c),
        recoveries::recovery_time(c),
        recoveries::fewer_timeouts(c),
        recoveries::window_as_intended(c),
        recoveries::same_per_recovery(c),
        recoveries::too_heavy(c),
        recoveries::larger_by_timeouts(c),
    ]
}

#[derive(Clone, Copy)]
struct Arms<'a> {
    linux: &'a Cell,
    rfc: &'a Cell,
    prr: &'a Cell,
}

fn kinds(c: Arms<'_>) -> Claim {
    let shares = [timeouts, fast, slow_start].map(|kind| percent(c.linux, count(kind), count(retransmissions)).mean);
    let [timeout, fast, slow] = shares;
    claim!("web-kinds", "timeout {timeout:.0} %, fast {fast:.0} %, slow start {slow:.0} %")
        .holds(timeout > fast && fast > slow)
}

fn open(c: Arms<'_>) -> Claim {
    let shares = [State::Open, State::Disorder, State::Recovery, State::Loss]
        .map(|state| percent(c.linux, count(|c| c.timeouts_in(state)), count(timeouts)).mean);
    let [open, disorder, recovery, _] = shares;
    claim!("web-open-timeouts", "Open {open:.0} %, Disorder {disorder:.0} %, Recovery {recovery:.0} % of the timeouts")
        .holds(open > 50.0 && disorder <= open / 5.0)
}

fn modes(c: Arms<'_>) -> Claim {
    let below = tables::recoveries(c.prr, |r| pipe_above(r) < 0).mean;
    let equal = tables::recoveries(c.prr, |r| pipe_above(r) == 0).mean;
    let above = tables::recoveries(c.prr, |r| pipe_above(r) > 0).mean;
    claim!("table5-modes", "above {above:.0} %, below {below:.0} %, equal {equal:.0} %")
        .holds(above > below && below > equal)
}

fn large_bursts(c: Arms<'_>) -> Claim {
    let start = tables::recoveries(c.rfc, |r| pipe_above(r) < -10);
    let sent = bursts_above_ten(c.rfc);
    claim!("table5-bursts", "{}; pipe starts more than ten below ssthresh in {}", shown(sent, " %"), shown(start, " %"))
        .needs(sent.sized(1.0))
}

fn convergence(c: Arms<'_>) -> Claim {
    let share = tables::recoveries(c.prr, |r| r.last_cwnd == r.ssthresh);
    claim("table6-converges").shows(shown(share, " %")).holds((85.0..=95.0).contains(&share.mean))
}

fn below_three(c: Arms<'_>) -> Claim {
    let [linux, rfc, prr] = [c.linux, c.rfc, c.prr].map(|cell| tables::recoveries(cell, |r| r.cwnd.0 < 3));
    claim!(
        "table7-below-three",
        "Linux {}, RFC 3517 {}, PRR {}",
        shown(linux, " %"),
        shown(rfc, " %"),
        shown(prr, " %")
    )
    .needs(linux.above(50.0))
}

/// The windows after recovery at the percentiles of table 7.
fn windows(cell: &Cell) -> [f64; 7] {
    let windows = of_recoveries(cell, cwnd_after);
    TABLE_7.map(|share| quantile(&windows, share).unwrap_or(0.0))
}

fn list(windows: [f64; 7]) -> String {
    windows.map(|window| format!("{window:.0}")).join(" ")
}

/// The windows themselves, as far as the paper's users and ours are alike.
fn windows_as_printed(c: Arms<'_>) -> Claim {
    let ours = [windows(c.rfc), windows(c.prr)];
    let near = |ours: &f64, paper: &f64| (paper / 2.0..=paper * 2.0).contains(ours);
    let is_near =
        ours.iter().zip(&PAPERS_TABLE_7[1..]).all(|(ours, paper)| ours.iter().zip(paper).all(|(a, b)| near(a, b)));
    claim!("table7-quantiles", "RFC 3517 {}; PRR {}", list(ours[0]), list(ours[1])).holds(is_near)
}

fn similar_windows(c: Arms<'_>) -> Claim {
    let [linux, rfc, prr] = [c.linux, c.rfc, c.prr].map(windows);
    let similar = rfc.iter().zip(&prr).all(|(rfc, prr)| prr >= rfc && prr - rfc <= (0.2 * rfc).max(1.0));
    let larger = linux.iter().zip(&prr).any(|(linux, prr)| prr > linux);
    claim!("table7-similar", "PRR {}; RFC 3517 {}", list(prr), list(rfc)).holds(similar && larger)
}

fn timeouts_in_recovery(base: &Cell, arm: &Cell) -> Estimate {
    total(base, arm, count(|c| c.timeouts_in(State::Recovery)))
}

fn timeouts_prr_rfc(c: Arms<'_>) -> Claim {
    let against_linux = [c.rfc, c.prr].map(|arm| timeouts_in_recovery(c.linux, arm));
    let difference = timeouts_in_recovery(c.rfc, c.prr);
    let [rfc, prr] = against_linux.map(|one| shown(one, " %"));
    claim!(
        "table8-timeouts-prr-rfc",
        "{} (paper -2.6); against Linux RFC 3517 {rfc}, PRR {prr}",
        shown(difference, " %")
    )
    .needs(difference.sized(-2.6))
    .needs_all(against_linux.map(|one| one.below(0.0)))
}

fn lost_order(c: Arms<'_>) -> Claim {
    let more = total(c.prr, c.rfc, count(|c| c.detected_lost_retransmissions));
    claim("table8-lost-order").shows(shown(more, " %")).needs(more.above(0.0))
}

fn latency_retransmitted(c: Arms<'_>) -> Claim {
    let [rfc, prr] = [c.rfc, c.prr].map(|arm| latency_difference(c.linux, arm));
    claim!("table9-mean", "RFC 3517 {}; PRR {}", shown(rfc, " %"), shown(prr, " %"))
        .needs(between(rfc, -10.0, -3.0))
        .needs(between(prr, -10.0, -3.0))
}

/// Whether a difference is negative and its interval overlaps this range.
fn between(difference: Estimate, low: f64, high: f64) -> ClaimVerdict {
    let Estimate { mean, half } = difference;
    if mean + half < low || mean - half > high { ClaimVerdict::Fails } else { difference.below(0.0) }
}

fn latency_similar(c: Arms<'_>) -> Claim {
    let difference = latency_difference(c.rfc, c.prr);
    let rfc = latency_difference(c.linux, c.rfc);
    claim("table9-similar").shows(shown(difference, " %")).needs(difference.within(-2.0..2.0)).needs(rfc.below(0.0))
}

fn latency_overall(c: Arms<'_>) -> Claim {
    let of = |arm| total(c.linux, arm, latency(|_| true));
    let (rfc, prr) = (of(c.rfc), of(c.prr));
    claim!("table9-overall", "RFC 3517 {}; PRR {}", shown(rfc, " %"), shown(prr, " %"))
        .needs(between(rfc, -5.0, -3.0))
        .needs(between(prr, -5.0, -3.0))
}
