//! What the bottleneck loses, and what it loses of flows.

use super::*;
use crate::prelude::*;
use crate::tail_loss::dumbbell::LOSS;

pub fn claims(cells: &Cells<'_>) -> Vec<Claim> {
    vec![
        congestion(cells),
        same_background(cells),
        tails_of_short_flows(cells),
        tails_of_long_flows(cells),
        claim("long-flows-are-less-bursty").result(less_bursty(cells, 'a', 'c')),
        claim("long-flows-are-less-bursty-far").result(less_bursty(cells, 'd', 'f')),
        losses_are_rare(cells),
    ]
}

fn congestion(cells: &Cells<'_>) -> Claim {
    let link = &cells.get('a', Mechanism::Baseline).bottleneck.record;
    let loss = link.dropped_by_queue as f64 / link.packets.max(1) as f64;
    let longest = link.queueing.longest();
    let ms = |share| link.queueing.quantile(share).unwrap_or_default().as_secs_f64() * 1e3;
    let in_range = (loss - LOSS.0).abs() <= LOSS.1 && longest <= Duration::from_millis(35);
    let ours = format!(
        "{:.2} % lost; queueing delay: half below {:.1} ms, 99 % below {:.1} ms, at most {:.1} ms",
        loss * 100.0,
        ms(0.5),
        ms(0.99),
        longest.as_secs_f64() * 1e3,
    );
    claim("congestion").shows(ours).holds(in_range)
}

fn tails_of_short_flows(cells: &Cells<'_>) -> Claim {
    let of = |size| {
        let all = cells.episodes(|one| one == size);
        Share::of(all.at_tail, all.episodes)
    };
    let [four, ten] = [of(4), of(10)];
    claim!("short-flows-lose-tails", "4 segments: {four}, 10 segments: {ten}")
        .needs_all([four, ten].map(|share| share.above(0.95)))
}

fn tails_of_long_flows(cells: &Cells<'_>) -> Claim {
    let all = cells.episodes(|size| size == 100);
    let share = Share::of(all.at_tail, all.episodes);
    claim("long-flows-lose-elsewhere").shows(share.to_string()).needs(share.below(0.1))
}

fn less_bursty(cells: &Cells<'_>, short: char, long: char) -> (String, ClaimVerdict) {
    let [short, long] = [short, long].map(|panel| cells.get(panel, Mechanism::Baseline).with_several_at_tail());
    let ours = format!("4 segments: {short}, 100 segments: {long}");
    (ours, short.above(long))
}

/// The background's connections begin at drawn times, which do not depend on the foreground.
fn same_background(cells: &Cells<'_>) -> Claim {
    let (mut same, mut worlds) = (0, 0);
    for world in 0..cells.0.iter().map(|cell| cell.worlds).max().unwrap_or(0) {
        let mut counts = cells.0.iter().filter_map(|cell| cell.background.get(world)).copied();
        let first = counts.next();
        worlds += 1;
        same += usize::from(first.is_some_and(|first| first > 0 && counts.all(|one| one == first)));
    }
    claim("background-is-the-same").every(same, worlds, "worlds")
}

/// The relative gain of TLPR in the mean FCT, over all flows and over those selected.
fn losses_are_rare(cells: &Cells<'_>) -> Claim {
    claim("losses-are-rare").each(
        "; ",
        ['a', 'd'].map(|panel| {
            let gain = |all: bool| {
                let [baseline, tlpr] = [Mechanism::Baseline, Mechanism::Tlpr].map(|m| {
                    let cell = cells.get(panel, m);
                    if all { Estimate::of(cell.all_fcts().into_iter()) } else { cell.mean() }
                });
                super::gain(tlpr, baseline)
            };
            let [all, selected] = [gain(true), gain(false)];
            let fifth = selected / 5.0;

            let percent = |gain: Estimate| format!("{:.1} ± {:.1} %", 100.0 * gain.mean, 100.0 * gain.half);
            (format!("{panel}: {} of all, {} of those selected", percent(all), percent(selected)), fifth.above(all))
        }),
    )
}
