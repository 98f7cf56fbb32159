//! The claims of §6. Sizes as in the claims of web servers.

use super::super::compare::{UNKNOWN, percent, relative, shown, total};
use super::super::connection::{Answer, Connection};
use super::super::tables::{count, fast, latency, responses, retransmissions, undone};
use super::{Arms, TABLE_11, added, all_timeouts, in_disorder, spurious_early};
use crate::prelude::*;

/// All claims. `changes`: those of table 11.
pub fn all(arms: Arms<'_>, changes: &[Estimate]) -> Vec<Claim> {
    vec![
        of_size("er-naive-fast", total(arms.linux, arms.naive, count(fast)), 31.0),
        of_size("er-naive-timeouts", total(arms.linux, arms.naive, count(all_timeouts)), -2.0),
        of_size("er-naive-undo", total(arms.linux, arms.naive, count(undone)), 27.0),
        naive_bad_trade(arms),
        first_hardly_helps(arms),
        of_size("er-both-disorder", total(arms.linux, arms.both, count(in_disorder)), -34.0),
        both_spurious(arms),
        both_total(arms),
        few_in_disorder(arms),
        latencies_fall(changes),
        short_most(changes),
        timer(arms),
        independent(arms),
        repaired_by_recovery(arms),
        short_connections(arms),
        limited(arms),
    ]
}

/// A claim that a difference from Linux has the paper's size.
fn of_size(id: &'static str, difference: Estimate, paper: f64) -> Claim {
    claim!(id, "{} (paper {paper})", shown(difference, " %")).needs(difference.sized(paper))
}

fn naive_bad_trade(c: Arms<'_>) -> Claim {
    let more = total(c.linux, c.naive, count(fast));
    let spurious = [c.naive, c.both].map(spurious_early);
    let difference = spurious[0] - spurious[1];
    claim!("er-naive-spurious", "naive {}, both {}", shown(spurious[0], " %"), shown(spurious[1], " %"))
        .needs(more.above(0.0))
        .needs(difference.above(0.0))
}

fn first_hardly_helps(c: Arms<'_>) -> Claim {
    let [naive, first] = [c.naive, c.first].map(|cell| total(c.linux, cell, count(undone)));
    let less = total(c.linux, c.naive, count(undone)).mean / 2.0;
    // Of the increase with naive ER, the first mitigation leaves more than half.
    let left = first - less;
    claim!("er-first-hardly-helps", "naive {}, first mitigation {}", shown(naive, " %"), shown(first, " %"))
        .needs(naive.above(0.0))
        .needs(left.above(0.0))
}

fn repaired_by_recovery(c: Arms<'_>) -> Claim {
    let recoveries = total(c.linux, c.both, count(fast));
    let timed_out = total(c.linux, c.both, count(all_timeouts));
    claim!("er-both-repairs", "fast retransmits {}, timeouts {}", shown(recoveries, " %"), shown(timed_out, " %"))
        .needs(recoveries.above(0.0))
        .needs(timed_out.below(0.0))
}

/// Early retransmissions of connections with few or with many responses, with the first mitigation in percent of naive ER.
fn left_by_first(c: Arms<'_>, counts: impl Fn(&Connection) -> bool + Copy) -> Estimate {
    let early = move |connection: &Connection| {
        let early = connection.disturbed.as_ref().map_or(0, |it| it.early_reported);
        if counts(connection) { early as f64 } else { 0.0 }
    };
    total(c.naive, c.first, early)
}

fn short_connections(c: Arms<'_>) -> Claim {
    let short = left_by_first(c, |connection| connection.responses.len() <= 3);
    let long = left_by_first(c, |connection| connection.responses.len() >= 8);
    claim!(
        "er-first-needs-long-connections",
        "at most 3 responses {}, 8 or more {}",
        shown(short, " %"),
        shown(long, " %")
    )
    .holds(long.mean < 0.0)
    .needs(short.above(long))
}

fn limited(c: Arms<'_>) -> Claim {
    let all = relative(c.linux, c.both, latency(|_| true), responses(|_| true));
    let lossy = |one: &Answer| one.lost_one_of_several;
    let table11 = relative(c.linux, c.both, latency(lossy), responses(lossy));
    claim!("er-overall-limited", "all {}, table 11's {}", shown(all, " %"), shown(table11, " %"))
        .needs(table11.below(0.0))
        .needs((all - table11 / 2.0).above(0.0))
}

fn both_spurious(c: Arms<'_>) -> Claim {
    let share = spurious_early(c.both);
    claim("er-both-spurious").shows(shown(share, " %")).needs(share.sized(6.0))
}

fn both_total(c: Arms<'_>) -> Claim {
    let difference = total(c.linux, c.both, count(retransmissions));
    let disorder = total(c.linux, c.both, count(in_disorder));
    let is_small = difference.mean.abs() + difference.half <= 2.0;
    claim("er-both-total").shows(shown(difference, " %")).holds(is_small).needs(disorder.below(0.0))
}

fn few_in_disorder(c: Arms<'_>) -> Claim {
    let share = percent(c.linux, count(in_disorder), count(|c| c.timeouts_in(State::Open)));
    claim("er-few-in-disorder").shows(shown(share, " %")).needs(share.below(20.0))
}

fn list(changes: &[Estimate]) -> String {
    let pairs =
        TABLE_11.iter().zip(changes).map(|(share, change)| format!("{:.0} %: {}", share * 100.0, shown(*change, " %")));
    pairs.joined("; ")
}

fn latencies_fall(changes: &[Estimate]) -> Claim {
    let first_four = changes.iter().take(4).map(|change| change.below(0.0));
    let is_bounded = changes.iter().map(|change| -change.mean - change.half).fold(f64::MIN, f64::max) <= 8.5;
    claim("table11-reduces").shows(list(changes)).needs_all(first_four).holds(is_bounded)
}

fn short_most(changes: &[Estimate]) -> Claim {
    let least = |a: Estimate, b: &Estimate| if b.mean < a.mean { *b } else { a };
    let short = changes.iter().take(3).fold(UNKNOWN, least);
    let long = changes.get(4).copied().unwrap_or(UNKNOWN);
    claim!("table11-short-most", "{} at most up to the median, {} at 99 %", shown(short, " %"), shown(long, " %"))
        .needs(short.below(0.0))
        .needs(long.above(short))
}

fn timer(c: Arms<'_>) -> Claim {
    let effects: Vec<Estimate> = c.timers.iter().map(|cell| total(c.linux, cell, count(in_disorder))).collect();
    let means = effects.iter().map(|effect| effect.mean);
    let most = means.clone().fold(f64::MIN, f64::max);
    let least = means.fold(f64::MAX, f64::min);
    let shown = effects.iter().zip(c.timers).map(|(effect, cell)| format!("{} {}", cell.arm.name, shown_one(*effect)));
    claim("er-timer").shows(shown.joined("; ")).holds(most < 0.0 && most - least <= least.abs() / 4.0)
}

fn shown_one(effect: Estimate) -> String {
    shown(effect, " %")
}

fn independent(c: Arms<'_>) -> Claim {
    let added = added(c);
    let within = added.iter().map(|(_, one)| one.within(-2.0..2.0));
    let has_effects =
        [total(c.linux, c.both, count(in_disorder)).below(0.0), total(c.linux, c.prr, count(fast)).above(0.0)];
    let list = added.iter().map(|(name, one)| format!("{name} {}", shown(*one, " %")));
    claim("er-prr-independent").shows(list.joined("; ")).needs_all(has_effects).needs_all(within)
}
