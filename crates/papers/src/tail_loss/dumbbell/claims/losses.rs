//! What the bottleneck loses, and what it loses of flows.

use super::*;
use crate::tail_loss::dumbbell::LOSS;
use std::time::Duration;

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    vec![
        congestion(cells),
        same_background(cells),
        tails_of_short_flows(cells),
        tails_of_long_flows(cells),
        less_bursty_near(cells),
        less_bursty_far(cells),
        losses_are_rare(cells),
    ]
}

fn congestion(cells: &Cells<'_>) -> Claim {
    let link = &cells.get('a', Mechanism::Baseline).bottleneck.record;
    let loss = link.dropped_by_queue as f64 / link.packets.max(1) as f64;
    let longest = link.queueing.longest();
    let ms = |share| {
        let delay = link.queueing.quantile(share).unwrap_or_default();
        delay.as_secs_f64() * 1e3
    };
    let in_range = (loss - LOSS.0).abs() <= LOSS.1 && longest <= Duration::from_millis(35);
    let ours = format!(
        "{:.2} % lost; queueing delay: half below {:.1} ms, 99 % below {:.1} ms, at most {:.1} ms",
        loss * 100.0,
        ms(0.5),
        ms(0.99),
        longest.as_secs_f64() * 1e3,
    );
    claim(
        "congestion",
        "3.2",
        "The bottleneck loses about 1.5 % of its packets, and delays them by up to 35 ms",
        "panel a, baseline: 1.5 ± 0.1 % lost, no packet waits longer than 35 ms",
        (ours, in_range),
    )
    .paper("about 1.5 %, up to 35 ms")
}

fn tails_of_short_flows(cells: &Cells<'_>) -> Claim {
    let of = |size| {
        let all = cells.episodes(|one| one == size);
        Share::of(all.at_tail, all.episodes)
    };
    let [four, ten] = [of(4), of(10)];
    judged(
        "short-flows-lose-tails",
        "3.2",
        "More than 95 % of the loss episodes of flows of 4 and 10 segments are tail loss",
        "share of the runs of consecutive segments lost that include the last segment, of all flows with 4 and with 10 segments",
        (
            format!("4 segments: {four}, 10 segments: {ten}"),
            ClaimVerdict::all([four, ten].map(|share| above(share, 0.95))),
        ),
    )
    .paper("over 95 %")
}

fn tails_of_long_flows(cells: &Cells<'_>) -> Claim {
    let all = cells.episodes(|size| size == 100);
    let share = Share::of(all.at_tail, all.episodes);
    let others = Share::of(all.episodes - all.at_tail, all.episodes);
    judged(
        "long-flows-lose-elsewhere",
        "3.2",
        "At most 10 % of the loss episodes of flows of 100 segments are tail loss",
        "share of the runs of consecutive segments lost that include the last segment",
        (share.to_string(), above(others, 0.9)),
    )
    .paper("at most 10 %")
}

fn less_bursty(cells: &Cells<'_>, short: char, long: char) -> (String, ClaimVerdict) {
    let [short, long] = [short, long].map(|panel| {
        let cell = cells.get(panel, Mechanism::Baseline);
        cell.with_several_at_tail()
    });
    let ours = format!("4 segments: {short}, 100 segments: {long}");
    (ours, larger(short, long))
}

/// How both claims about bursts are checked.
const SEVERAL: &str = "baseline: the share that lost more than one of the last four segments, of the flows that lost any of \
                       them, is smaller with 100 segments than with 4";

fn less_bursty_near(cells: &Cells<'_>) -> Claim {
    judged(
        "long-flows-are-less-bursty",
        "3.2",
        "Larger flows lose segments less in bursts, so that they lose several at the tail more seldom (5 ms)",
        SEVERAL,
        less_bursty(cells, 'a', 'c'),
    )
}

fn less_bursty_far(cells: &Cells<'_>) -> Claim {
    let note =
        "At 160 ms a flow of 100 segments ends within slow start, whose last window is one burst, as a short flow is.";
    Claim {
        note: Some(note.into()),
        ..judged(
            "long-flows-are-less-bursty-far",
            "3.2",
            "Larger flows lose segments less in bursts, so that they lose several at the tail more seldom (160 ms)",
            SEVERAL,
            less_bursty(cells, 'd', 'f'),
        )
    }
}

/// The background's connections begin at drawn times, which do not depend on the foreground.
fn same_background(cells: &Cells<'_>) -> Claim {
    let (mut same, mut worlds) = (0, 0);
    for world in 0..cells.0.iter().map(|cell| cell.worlds).max().unwrap_or(0) {
        let counts = cells.0.iter().filter_map(|cell| cell.background.get(world));
        let mut counts = counts.copied();
        let first = counts.next();
        worlds += 1;
        same += usize::from(first.is_some_and(|first| first > 0 && counts.all(|one| one == first)));
    }
    claim(
        "background-is-the-same",
        "3.2",
        "The background traffic is the same in all experiments",
        "as many connections of the background begin in world n of each cell",
        (format!("{same} of {worlds} worlds"), same == worlds && worlds > 0),
    )
    .by_construction()
}

/// The relative gain of TLPR in the mean FCT, over all flows and over those selected.
fn losses_are_rare(cells: &Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for panel in ['a', 'd'] {
        let gain = |all: bool| {
            let [baseline, tlpr] = [Mechanism::Baseline, Mechanism::Tlpr].map(|m| {
                let cell = cells.get(panel, m);
                match all {
                    true => Estimate::of(cell.all_fcts().into_iter()),
                    false => cell.mean(),
                }
            });
            below(1.0, ratio(tlpr, baseline))
        };
        let [all, selected] = [gain(true), gain(false)];
        let fifth = Estimate { mean: selected.mean / 5.0, half: selected.half / 5.0 };
        parts.push(ClaimVerdict::on_positive(fifth.minus(all)));
        let percent = |gain: Estimate| format!("{:.1} ± {:.1} %", 100.0 * gain.mean, 100.0 * gain.half);
        shown.push(format!("{panel}: {} of all, {} of those selected", percent(all), percent(selected)));
    }
    judged(
        "losses-are-rare",
        "3.2",
        "The low loss rate obscures the mechanisms' effect on flows that lose something, so only those with a loss among the last four segments are shown",
        "a, d: TLPR's relative gain in the mean FCT of all flows is less than a fifth of that of the selected flows",
        (shown.join("; "), ClaimVerdict::all(parts)),
    )
    .note(
        "the effect is smaller in all flows, but not hidden: at 5 ms a flow with a timeout takes ten times as long as one without losses, so that \
         the few that lose a tail weigh in the mean. In a distribution of all flows, as the paper draws them, only the last percent would move",
    )
}
