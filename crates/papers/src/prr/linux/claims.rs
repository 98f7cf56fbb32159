//! The claims of §2.1 and §3.2 that the flows of `linux` decide.

use super::{DUPTHRESH, Data, Entries, FLIGHT};
use crate::prelude::*;
use crate::prr::finding::list;
use crate::prr::trace::{Step, Trace};
use recoup_recovery::LossDetector;

/// All claims.
pub fn all(data: &Data) -> Vec<Claim> {
    vec![
        first_sack(data),
        holes_marked(data),
        holes_repaired(data),
        lost_retransmission(data),
        additional_round_trip(data),
        undetected(data),
        reordering_ends_fack(data),
        large_reordering_ends_fack(data),
        alternate_acks(data),
        halves_for_cubic(data),
        follows_pipe(data),
        window_of_one(data),
        slow_start_after_one_loss(data),
    ]
}

fn first_sack(data: &Data) -> Claim {
    let beyond = data.first_sack.iter().filter(|one| one.missing > DUPTHRESH);
    let least = data.first_sack.iter().find(|one| one.with_fack);
    let without = data.first_sack.iter().any(|one| one.without);
    claim!(
        "fack-first-sack",
        "with FACK from {} missing segments on; without FACK {}",
        least.map_or("no number of".into(), |one| one.missing.to_string()),
        if without { "too" } else { "never" }
    )
    .holds(beyond.clone().count() > 0 && beyond.clone().all(|one| one.with_fack) && !without)
}

fn holes_marked(data: &Data) -> Claim {
    let not: Vec<u64> = data.holes.iter().filter(|hole| !hole.is_marked).map(|hole| hole.segment).collect();
    claim!(
        "fack-marks-all-holes",
        "{} of {} marked{}",
        data.holes.len() - not.len(),
        data.holes.len(),
        if not.is_empty() { String::new() } else { format!("; not segment {}", list(&not)) }
    )
    .holds(not.is_empty() && !data.holes.is_empty())
}

fn holes_repaired(data: &Data) -> Claim {
    let repaired = data.holes.iter().filter(|hole| hole.is_repaired).count();
    claim("holes-repaired").every(repaired, data.holes.len(), "")
}

/// When segment 1 was retransmitted, and by what trigger.
fn of_first(trace: &Trace) -> Vec<(f64, Trigger)> {
    trace.retransmissions().filter(|(_, number, _)| *number == 1).map(|(at, _, trigger)| (at, trigger)).collect()
}

/// The ACK with which this many segments are delivered.
fn after_delivering(trace: &Trace, segments: u32) -> Option<&Step> {
    let mut delivered = 0;
    // The first step delivers the SYN.
    trace.steps.iter().skip(1).find(|step| {
        delivered += step.delivered;
        delivered >= segments
    })
}

fn lost_retransmission(data: &Data) -> Claim {
    let trace = &data.lost_again[0];
    let mark = trace.steps.iter().find(|step| {
        let mut marked = step.marked.iter();
        marked.any(|one| *one == (1, LossDetector::LostRetransmission))
    });
    // All segments sent by the time of the retransmission except segment 1, and one segment more.
    let again = trace.steps.iter().position(|step| !step.again.is_empty());
    let sent_before = &trace.steps[..=again.unwrap_or(0)];
    let sent_before = sent_before.iter().map(|step| step.new).sum();
    let reported = after_delivering(trace, sent_before).map(|step| step.at_ms);
    let found = mark.map(|step| step.at_ms);
    let again = of_first(trace).get(1).copied();
    claim!(
        "lost-retransmission",
        "marked at {}, first report of later data at {}",
        found.map_or("no time".into(), |ms| format!("{ms:.1} ms")),
        reported.map_or("no time".into(), |ms| format!("{ms:.1} ms"))
    )
    .holds(
        found.is_some()
            && found == reported
            && again.is_some_and(|(at, trigger)| trigger == Trigger::Fast && Some(at) == found),
    )
}

fn additional_round_trip(data: &Data) -> Claim {
    let [with, _, without] = &data.lost_again;
    let longer = with.recovery_ms().zip(without.recovery_ms()).map(|(with, without)| with - without);
    claim!(
        "lost-retransmission-rtts",
        "{} longer, {} timeouts",
        longer.map_or("not".into(), |ms| format!("{ms:.0} ms")),
        with.timeouts()
    )
    .holds(longer.is_some_and(|ms| ms >= 100.0) && with.timeouts() == 0)
}

fn undetected(data: &Data) -> Claim {
    let timeouts = data.lost_again[1].timeouts();
    claim!("undetected-timeout", "{timeouts} timeouts").holds(timeouts > 0)
}

fn entries(entries: Entries) -> String {
    format!("{} of {}", entries.by_fack, entries.all)
}

fn reordering_ends_fack(data: &Data) -> Claim {
    let found = data.reordering;
    let after = found.small.by_fack + found.large.by_fack;
    let cases = found.small.all.min(found.large.all);
    claim!(
        "reordering-ends-fack",
        "begun by FACK: {} before, {} after a segment late by at most dupthresh, {} after a later one",
        entries(found.none),
        entries(found.small),
        entries(found.large)
    )
    .holds(after == 0 && cases > 0 && found.none.by_fack > 0)
}

fn large_reordering_ends_fack(data: &Data) -> Claim {
    let found = data.reordering;
    claim!(
        "large-reordering-ends-fack",
        "begun by FACK: {} before, {} after",
        entries(found.none),
        entries(found.large)
    )
    .holds(found.large.by_fack == 0 && found.large.all > 0 && found.none.by_fack > 0)
}

fn alternate_acks(data: &Data) -> Claim {
    let sent = data.one_lost.sent_per_ack();
    // The ACKs of the first flight alone: those that show the loss are three.
    let first: Vec<u32> = sent.into_iter().take(FLIGHT as usize - 5).collect();
    let alternates = first.windows(2).all(|pair| (pair[0] == 0) != (pair[1] == 0));
    claim("linux-alternate-acks")
        .shows(list(&first))
        .holds(alternates && first.len() == FLIGHT as usize - 5 && first.iter().all(|sent| *sent <= 1))
}

/// Segments sent per ACK while pipe is above ssthresh.
fn rate_while_falling(trace: &Trace) -> f64 {
    let (acks, sent) = trace
        .recovery_acks()
        .skip(1)
        .take_while(|step| step.pipe > step.ssthresh)
        .fold((0.0, 0.0), |(acks, sent), step| (acks + 1.0, sent + f64::from(step.sent())));
    sent / acks
}

fn halves_for_cubic(data: &Data) -> Claim {
    let [linux, prr] = [0, 1].map(|i| rate_while_falling(&data.cubic[i]));
    let end = data.cubic[0].recovery().and_then(|(steps, _)| steps.last());
    claim!("halving-for-cubic", "Linux {linux:.2}, PRR {prr:.2} segments per ACK")
        .holds((0.45..=0.55).contains(&linux) && (0.65..=0.75).contains(&prr))
        .note(end.map_or(String::new(), |end| {
            format!(
                "the window does not halve: with CUBIC, Linux stops at ssthresh (cwnd {}, ssthresh {} before the last \
                 ACK), because CUBIC sets no smaller minimum",
                end.cwnd, end.ssthresh
            )
        }))
}

fn follows_pipe(data: &Data) -> Claim {
    let acks = || data.heavy.iter().flat_map(Trace::recovery_acks);
    let above = acks().filter(|step| step.cwnd > step.pipe_before_sending() + 1);
    let (above, all) = (above.count(), acks().count());
    claim!("linux-follows-pipe", "broken by {above} of {all} ACKs").holds(above == 0 && all > 0)
}

fn window_of_one(data: &Data) -> Claim {
    let least = data.lonely.iter().filter(|one| one.timeouts == 0).map(|one| one.cwnd).min();
    claim("linux-window-of-one")
        .shows(least.map_or("no recovery".into(), |least| least.to_string()))
        .holds(least == Some(1))
}

fn slow_start_after_one_loss(data: &Data) -> Claim {
    let ends = |trace: &Trace| {
        let end = trace.recovery().and_then(|(_, end)| end);
        end.map_or((0, 0), |end| (end.cwnd, end.ssthresh))
    };
    let [linux, prr] = &data.next_write;
    let (cwnd, ssthresh) = ends(linux);
    let timeouts = linux.timeouts();
    let rounds = [linux, prr].map(|trace| rounds_after(trace, 500.0));
    claim!(
        "linux-slow-start-after-one-loss",
        "cwnd {cwnd}, ssthresh {ssthresh}, {timeouts} timeouts; ten segments in {} round trips (PRR {})",
        rounds[0],
        rounds[1]
    )
    .holds(cwnd <= 3 && cwnd < ssthresh && timeouts == 0 && rounds[1] == 1 && rounds[0] > rounds[1])
}

/// The round trips in which the server sent what it wrote from `from_ms` on. A round trip ends when its first segment is
/// acknowledged.
fn rounds_after(trace: &Trace, from_ms: f64) -> usize {
    let (mut rounds, mut first, mut sent) = (0, None, 0);
    for step in trace.steps.iter().filter(|step| step.new > 0) {
        if step.at_ms >= from_ms && first.is_none_or(|first| step.acked > first) {
            rounds += 1;
            first = Some(sent);
        }
        sent += u64::from(step.new);
    }
    rounds
}
