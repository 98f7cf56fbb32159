//! The claims of §6. Sizes as in the claims of web servers.

use super::super::compare::{UNKNOWN, above, below, percent, relative, shown, sized, total};
use super::super::connection::{Answer, Connection};
use super::super::tables::{count, fast, latency, responses, retransmissions, undone};
use super::{Arms, TABLE_11, added, all_timeouts, in_disorder, spurious_early};
use crate::claims::{Claim, ClaimVerdict, claim};
use crate::prr::servers::{Note, judged, with_notes, with_printed};
use recoup_recovery::State;
use recoup_support::stats::Estimate;

/// All claims. `changes`: those of table 11.
pub fn all(arms: Arms<'_>, changes: &[Estimate]) -> Vec<Claim> {
    let claims = vec![
        naive_fast(arms),
        naive_timeouts(arms),
        naive_undo(arms),
        naive_bad_trade(arms),
        first_hardly_helps(arms),
        both_disorder(arms),
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
    ];
    with_printed(with_notes(claims, &NOTES), &PRINTED)
}

const FEW_TIMEOUTS: &str = "the baseline has fewer timeouts in Open than the paper's (table 2 of `web`), so those in Disorder are a larger part of \
     all, and ER prevents more of all";

/// What the paper prints.
const PRINTED: [Note; 7] = [
    ("er-naive-fast", "+31 %"),
    ("er-naive-timeouts", "−2 %"),
    ("er-naive-undo", "+27 %"),
    ("er-both-disorder", "−34 %"),
    ("er-both-spurious", "6 %"),
    ("er-both-total", "+1 %"),
    ("table11-reduces", "5 %: −8.5 %; 10 %: −5.6 %; 50 %: −8.0 %; 90 %: −3.3 %; 99 %: −0.6 %"),
];

/// The claims that do not hold, and why.
const NOTES: [Note; 7] = [
    (
        "er-naive-undo",
        "the direction is the paper's; the size is about twice the paper's. The share of reordered packets (0.75 %) is our choice",
    ),
    (
        "er-naive-fast",
        "the direction is the paper's, but not the size: the baseline has more fast retransmits per timeout than the paper's (63 and 24 % of \
         all retransmissions), so the same number of early ones is a smaller part",
    ),
    ("er-naive-timeouts", FEW_TIMEOUTS),
    (
        "er-both-disorder",
        "ER prevents more of these timeouts than in the paper. It acts whenever all but one of the outstanding segments are SACKed, and \
         here that is the usual way into Disorder. The paper does not say what other ways its servers had",
    ),
    ("er-few-in-disorder", FEW_TIMEOUTS),
    (
        "table11-reduces",
        "latencies fall, but at 5 and 10 % by more than 8.5 %, because ER prevents more timeouts (see er-both-disorder)",
    ),
    (
        "er-prr-independent",
        "three of four totals add within 0.2 %. The timeouts in Disorder do within 3.2 % of Linux's, where ER alone saves 71 %: more users \
         would decide whether it is 2 %",
    ),
];

/// A claim that a difference from Linux has the paper's size.
fn of_size(
    id: &'static str,
    section: &'static str,
    statement: &'static str,
    (difference, paper): (Estimate, f64),
) -> Claim {
    judged(
        claim(
            id,
            section,
            statement,
            "the difference has the paper's size: its interval lies within half to twice the value",
            (format!("{} (paper {paper})", shown(difference, " %")), false),
        ),
        sized(difference, paper),
    )
}

fn naive_fast(c: Arms<'_>) -> Claim {
    let difference = total(c.linux, c.naive, count(fast));
    let statement = "Naive ER increases fast retransmits by 31 %";
    of_size("er-naive-fast", "6.1", statement, (difference, 31.0))
}

fn naive_timeouts(c: Arms<'_>) -> Claim {
    let difference = total(c.linux, c.naive, count(all_timeouts));
    let statement = "Naive ER reduces timeouts by 2 %";
    of_size("er-naive-timeouts", "6.1", statement, (difference, -2.0))
}

fn naive_undo(c: Arms<'_>) -> Claim {
    let difference = total(c.linux, c.naive, count(undone));
    let statement = "Naive ER increases undo events by 27 %";
    of_size("er-naive-undo", "6.1", statement, (difference, 27.0))
}

fn naive_bad_trade(c: Arms<'_>) -> Claim {
    let more = total(c.linux, c.naive, count(fast));
    let spurious = [c.naive, c.both].map(spurious_early);
    let difference =
        Estimate { mean: spurious[0].mean - spurious[1].mean, half: spurious[0].half.hypot(spurious[1].half) };
    judged(
        claim(
            "er-naive-spurious",
            "6.1",
            "Reordering makes naive ER retransmit without need; both mitigations prevent much of this",
            "naive ER increases fast retransmits, and a larger share of its early retransmits is reported by DSACK than with both \
             mitigations",
            (format!("naive {}, both {}", shown(spurious[0], " %"), shown(spurious[1], " %")), false),
        ),
        ClaimVerdict::all([above(more, 0.0), above(difference, 0.0)]),
    )
}

fn first_hardly_helps(c: Arms<'_>) -> Claim {
    let [naive, first] = [c.naive, c.first].map(|cell| total(c.linux, cell, count(undone)));
    let less = total(c.linux, c.naive, count(undone)).mean / 2.0;
    // Of the increase with naive ER, the first mitigation leaves more than half.
    let left = Estimate { mean: first.mean - less, half: first.half };
    judged(
        claim(
            "er-first-hardly-helps",
            "6.1",
            "The first mitigation is not as effective, because most connections are short",
            "naive ER increases undo events, and with the first mitigation they increase by more than half as much, intervals included",
            (format!("naive {}, first mitigation {}", shown(naive, " %"), shown(first, " %")), false),
        ),
        ClaimVerdict::all([above(naive, 0.0), ClaimVerdict::on_positive(left)]),
    )
}

fn repaired_by_recovery(c: Arms<'_>) -> Claim {
    let recoveries = total(c.linux, c.both, count(fast));
    let timed_out = total(c.linux, c.both, count(all_timeouts));
    judged(
        claim(
            "er-both-repairs",
            "6.1",
            "With both mitigations some losses are repaired by fast recovery in place of a timeout",
            "fast retransmits increase, and timeouts decrease, intervals included",
            (format!("fast retransmits {}, timeouts {}", shown(recoveries, " %"), shown(timed_out, " %")), false),
        ),
        ClaimVerdict::all([above(recoveries, 0.0), below(timed_out, 0.0)]),
    )
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
    judged(
        claim(
            "er-first-needs-long-connections",
            "6.1",
            "The first mitigation is not as effective, because most connections are short",
            "it prevents a larger share of naive ER's spurious retransmissions on connections of eight responses and more than on those of at most three, interval \
             included, and some on the former",
            (format!("at most 3 responses {}, 8 or more {}", shown(short, " %"), shown(long, " %")), false),
        ),
        ClaimVerdict::all([ClaimVerdict::on(long.mean < 0.0), ClaimVerdict::on_positive(short.minus(long))]),
    )
}

fn limited(c: Arms<'_>) -> Claim {
    let all = relative(c.linux, c.both, latency(|_| true), responses(|_| true));
    let lossy = |one: &Answer| one.lost_one_of_several;
    let table11 = relative(c.linux, c.both, latency(lossy), responses(lossy));
    judged(
        claim(
            "er-overall-limited",
            "6.1",
            "The overall latency reduction by ER is limited",
            "the mean latency of all responses falls by less than half of what that of table 11's responses does, intervals included",
            (format!("all {}, table 11's {}", shown(all, " %"), shown(table11, " %")), false),
        ),
        ClaimVerdict::all([
            below(table11, 0.0),
            above(Estimate { mean: all.mean - table11.mean / 2.0, half: all.half.hypot(table11.half / 2.0) }, 0.0),
        ]),
    )
}

fn both_disorder(c: Arms<'_>) -> Claim {
    let difference = total(c.linux, c.both, count(in_disorder));
    let statement = "ER with both mitigations reduces timeouts in Disorder by 34 %";
    of_size("er-both-disorder", "6.1", statement, (difference, -34.0))
}

fn both_spurious(c: Arms<'_>) -> Claim {
    let share = spurious_early(c.both);
    judged(
        claim(
            "er-both-spurious",
            "6.1",
            "With both mitigations 6 % of the early retransmits are reported as spurious by DSACK",
            "the share has the paper's size",
            (shown(share, " %"), false),
        ),
        sized(share, 6.0),
    )
}

fn both_total(c: Arms<'_>) -> Claim {
    let difference = total(c.linux, c.both, count(retransmissions));
    let disorder = total(c.linux, c.both, count(in_disorder));
    let is_small = difference.mean.abs() + difference.half <= 2.0;
    judged(
        claim(
            "er-both-total",
            "6.1",
            "With both mitigations the number of retransmissions remains almost the same (+1 %)",
            "the difference from Linux, interval included, is at most 2 % either way, although timeouts in Disorder fall",
            (shown(difference, " %"), false),
        ),
        ClaimVerdict::all([ClaimVerdict::on(is_small), below(disorder, 0.0)]),
    )
}

fn few_in_disorder(c: Arms<'_>) -> Claim {
    let share = percent(c.linux, count(in_disorder), count(|c| c.timeouts_in(State::Open)));
    judged(
        claim(
            "er-few-in-disorder",
            "6.1",
            "The number of timeouts in Disorder is very small compared to those in Open",
            "baseline: less than a fifth, interval included",
            (shown(share, " %"), false),
        ),
        below(share, 20.0),
    )
}

fn list(changes: &[Estimate]) -> String {
    let pairs = TABLE_11.iter().zip(changes);
    let pairs = pairs.map(|(share, change)| format!("{:.0} %: {}", share * 100.0, shown(*change, " %")));
    pairs.collect::<Vec<_>>().join("; ")
}

fn latencies_fall(changes: &[Estimate]) -> Claim {
    let first_four = changes.iter().take(4).map(|change| below(*change, 0.0));
    let largest = changes.iter().map(|change| -change.mean - change.half);
    let is_bounded = largest.fold(f64::MIN, f64::max) <= 8.5;
    judged(
        claim(
            "table11-reduces",
            "6.1",
            "ER with both mitigations reduces latencies, by up to 8.5 %",
            "the latencies of table 11 fall at 5, 10, 50 and 90 %, intervals included, and none falls by more than 8.5 %, interval \
             included",
            (list(changes), false),
        ),
        ClaimVerdict::all(first_four.chain([ClaimVerdict::on(is_bounded)])),
    )
}

fn short_most(changes: &[Estimate]) -> Claim {
    let least = |a: Estimate, b: &Estimate| if b.mean < a.mean { *b } else { a };
    let short = changes.iter().take(3).fold(UNKNOWN, least);
    let long = changes.get(4).copied().unwrap_or(UNKNOWN);
    judged(
        claim(
            "table11-short-most",
            "6.1",
            "ER is most effective for short transactions",
            "the largest reduction at 5, 10 or 50 % exceeds that at 99 %, interval included",
            (format!("{} at most up to the median, {} at 99 %", shown(short, " %"), shown(long, " %")), false),
        ),
        ClaimVerdict::all([below(short, 0.0), ClaimVerdict::on_positive(long.minus(short))]),
    )
}

fn timer(c: Arms<'_>) -> Claim {
    let effects: Vec<Estimate> = c.timers.iter().map(|cell| total(c.linux, cell, count(in_disorder))).collect();
    let means = effects.iter().map(|effect| effect.mean);
    let most = means.clone().fold(f64::MIN, f64::max);
    let least = means.fold(f64::MAX, f64::min);
    let shown = effects.iter().zip(c.timers);
    let shown = shown.map(|(effect, cell)| format!("{} {}", cell.arm.name, shown_one(*effect)));
    claim(
        "er-timer",
        "6.1",
        "The timer of the delay does not affect the results much",
        "with SRTT/8, /4, /2 and SRTT the timeouts in Disorder all fall, by percentages of at most a quarter of the largest apart",
        (shown.collect::<Vec<_>>().join("; "), most < 0.0 && most - least <= least.abs() / 4.0),
    )
}

fn shown_one(effect: Estimate) -> String {
    shown(effect, " %")
}

fn independent(c: Arms<'_>) -> Claim {
    let added = added(c);
    let within = |(_, one): &(&str, Estimate)| one.mean.abs() + one.half <= 2.0;
    let has_effects =
        [below(total(c.linux, c.both, count(in_disorder)), 0.0), above(total(c.linux, c.prr, count(fast)), 0.0)];
    let verdict = match added.iter().all(within) {
        true => ClaimVerdict::Holds,
        false if added.iter().any(|(_, one)| one.mean.abs() - one.half > 2.0) => ClaimVerdict::Fails,
        false => ClaimVerdict::Undecided,
    };
    let list = added.iter().map(|(name, one)| format!("{name} {}", shown(*one, " %")));
    judged(
        claim(
            "er-prr-independent",
            "6.1",
            "ER and PRR are independent: their effects add",
            "ER reduces timeouts in Disorder, PRR increases fast retransmits, and both together differ from the sum of the effects by at most \
             2 % of Linux's total in each quantity, interval included",
            (list.collect::<Vec<_>>().join("; "), false),
        ),
        ClaimVerdict::all(has_effects.into_iter().chain([verdict])),
    )
}
