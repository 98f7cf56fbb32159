//! What the paper says of timers and of duplicate ACKs.

use super::cells::{Cells, LEAST_RTOS, RTTS};
use crate::prelude::*;

/// Checks the claims.
pub fn all(cells: &Cells) -> Vec<Claim> {
    vec![
        ambiguous(cells),
        too_early(cells),
        waiting_hurts(cells),
        fine_timers(cells),
        fast_helps(cells),
        wide_area(cells),
        any_timer(cells),
        fast_not_always(cells),
        three_must_follow(cells),
        push_is_not_special(cells),
    ]
}

fn ambiguous(cells: &Cells) -> Claim {
    let (compared, differ, needless) = cells.ambiguous;
    let text = |needless| if needless { "needless" } else { "needed" };
    claim!(
        "missing-ack-ambiguous",
        "{differ} of {compared} transmissions differ; the retransmission is {} after the loss and {} after the \
             delay",
        text(needless[0]),
        text(needless[1])
    )
    .holds(compared > 1 && differ == 0 && needless == [false, true])
}

fn too_early(cells: &Cells) -> Claim {
    let [early, late] = cells.needless;
    claim!("too-early-is-needless", "{early} instead of {late}").holds(early > late)
}

/// The costs of a lost last segment at an RTT, by smallest RTO.
fn last(cells: &Cells, rtt_ms: u64) -> [f64; LEAST_RTOS.len()] {
    LEAST_RTOS.map(|least| cells.get(rtt_ms, least, "last").cost_ms)
}

fn waiting_hurts(cells: &Cells) -> Claim {
    let costs = RTTS.map(|rtt_ms| last(cells, rtt_ms));
    // Linux's 200 ms, 1 s and 3 s.
    let grows = |costs: &[f64; 4]| costs[1] < costs[2] && costs[2] < costs[3];
    let [_, ms, ..] = RTTS;
    let [_, least, middle, most] = last(cells, ms);
    claim!("waiting-hurts", "{least:.0}, {middle:.0} and {most:.0} ms at {ms} ms").holds(costs.iter().all(grows))
}

fn fine_timers(cells: &Cells) -> Claim {
    let shown = RTTS.map(|rtt_ms| {
        let [fine, linux, ..] = last(cells, rtt_ms);
        format!("{fine:.0} instead of {linux:.0} ms at {rtt_ms} ms")
    });
    let helps = RTTS.map(|rtt_ms| {
        let [fine, linux, ..] = last(cells, rtt_ms);
        if rtt_ms < 100 { fine < linux } else { fine <= linux }
    });
    claim("fine-timers-help").shows(shown.join(", ")).holds(helps.iter().all(|helps| *helps))
}

fn fast_helps(cells: &Cells) -> Claim {
    let linux = LEAST_RTOS[1];
    let costs = RTTS.map(|rtt_ms| {
        let cost = |lost| cells.get(rtt_ms, linux, lost).cost_ms;
        (rtt_ms, cost("first"), cost("last"))
    });
    let shown = costs.map(|(rtt_ms, fast, timeout)| format!("{fast:.0} instead of {timeout:.0} ms at {rtt_ms} ms"));
    claim("fast-retransmission-helps")
        .shows(shown.join(", "))
        .holds(costs.iter().all(|(_, fast, timeout)| *fast < timeout / 2.0))
}

fn wide_area(cells: &Cells) -> Claim {
    let costs = [80, 160].map(|rtt_ms| (rtt_ms, last(cells, rtt_ms)[0]));
    let shown = costs.map(|(rtt_ms, cost)| format!("{cost:.0} ms at {rtt_ms} ms"));
    claim("wide-area-timeouts")
        .shows(shown.join(", "))
        .holds(costs.iter().all(|(_, cost)| (100.0..1000.0).contains(cost)))
}

fn any_timer(cells: &Cells) -> Claim {
    let shorter = cells.copied.iter().filter(|(_, _, with, without)| with < without);
    let (shorter, all) = (shorter.count(), cells.copied.len());
    let shown = cells
        .copied
        .iter()
        .filter(|(rtt_ms, ..)| *rtt_ms == RTTS[0])
        .map(|(_, least, with, without)| format!("{with:.0} instead of {without:.0} ms (smallest RTO {least} ms)"));
    claim!("slp-with-any-timer", "{shorter} of {all} cells; at {} ms: {}", RTTS[0], shown.joined(", "))
        .holds(shorter == all && all > 0)
}

fn fast_not_always(cells: &Cells) -> Claim {
    let plain: Vec<bool> = cells.follow.iter().map(|[plain, _]| *plain).collect();
    claim("fast-not-always")
        .shows(followers(&plain))
        .holds(plain.len() > 3 && plain[0] && plain[3..].iter().all(|times_out| !times_out))
}

fn three_must_follow(cells: &Cells) -> Claim {
    let plain: Vec<bool> = cells.follow.iter().map(|[plain, _]| *plain).collect();
    let before = &cells.follow_before;
    claim("three-must-follow").shows(followers(&plain)).holds(as_the_threshold(&plain)).fill(&[&followers(before)])
}

fn push_is_not_special(cells: &Cells) -> Claim {
    let alike = cells.follow.iter().filter(|[plain, push]| plain == push);
    let push: Vec<bool> = cells.follow.iter().map(|[_, push]| *push).collect();
    claim("push-is-not-special")
        .shows(followers(&push))
        .holds(alike.count() == push.len() && push.first() == Some(&true) && push.last() == Some(&false))
}

fn followers(times_out: &[bool]) -> String {
    let of = |by_timer: bool| {
        let places: Vec<String> =
            times_out.iter().enumerate().filter(|(_, is)| **is == by_timer).map(|(n, _)| n.to_string()).collect();
        if places.is_empty() { "never".into() } else { places.join(", ") }
    };
    format!("timeout with {} followers, fast with {}", of(true), of(false))
}

fn as_the_threshold(times_out: &[bool]) -> bool {
    times_out.iter().enumerate().all(|(n, is)| *is == (n < 3)) && times_out.len() > 3
}
