//! What the paper says of timers and of duplicate ACKs.

use super::cells::{Cells, LEAST_RTOS, RTTS};
use crate::claims::{Claim, claim};

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
    claim(
        "missing-ack-ambiguous",
        "I",
        "A sender cannot tell whether an ACK is missing because of a loss or because of a delay",
        "a flow whose one segment is lost, and one whose segment is delayed by 600 ms: the sender does the same at the same times up to its retransmission, which is needed in one and needless in the other",
        (
            format!(
                "{differ} of {compared} transmissions differ; the retransmission is {} after the loss and {} after the delay",
                text(needless[0]),
                text(needless[1]),
            ),
            compared > 1 && differ == 0 && needless == [false, true],
        ),
    )
}

fn too_early(cells: &Cells) -> Claim {
    let [early, late] = cells.needless;
    claim(
        "too-early-is-needless",
        "I",
        "A sender that retransmits too early retransmits without need",
        "60 flows without loss, of 1 to 20 segments, whose ACKs are delayed by up to 200 ms: more needless retransmissions with a smallest RTO of 1 ms than with Linux's",
        (format!("{early} instead of {late}"), early > late),
    )
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
    claim(
        "waiting-hurts",
        "I",
        "A sender that waits too long before it retransmits harms the application",
        "the last of ten segments lost: at every RTT it costs more time with a smallest RTO of 1 s than with 200 ms, and more with 3 s than with 1 s",
        (format!("{least:.0}, {middle:.0} and {most:.0} ms at {ms} ms"), costs.iter().all(grows)),
    )
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
    claim(
        "fine-timers-help",
        "I",
        "Fine-grained timers alleviate the cost of timeouts",
        "the last of ten segments lost: at RTTs of 20 and 80 ms it costs less with a smallest RTO of 1 ms than with Linux's 200 ms, and no more at longer ones",
        (shown.join(", "), helps.iter().all(|helps| *helps)),
    )
    .note("at long RTTs 4·RTTVAR exceeds 200 ms so soon after the handshake, and the smallest RTO is no limit")
}

fn fast_helps(cells: &Cells) -> Claim {
    let linux = LEAST_RTOS[1];
    let costs = RTTS.map(|rtt_ms| {
        let cost = |lost| cells.get(rtt_ms, linux, lost).cost_ms;
        (rtt_ms, cost("first"), cost("last"))
    });
    let shown = costs.map(|(rtt_ms, fast, timeout)| format!("{fast:.0} instead of {timeout:.0} ms at {rtt_ms} ms"));
    claim(
        "fast-retransmission-helps",
        "Abstract, I",
        "A timeout increases latency without need where a fast retransmission would have repaired the loss",
        "the first of ten segments lost is retransmitted fast, the last one by a timer: at every RTT the first costs less than half as much time",
        (shown.join(", "), costs.iter().all(|(_, fast, timeout)| *fast < timeout / 2.0)),
    )
}

fn wide_area(cells: &Cells) -> Claim {
    let costs = [80, 160].map(|rtt_ms| (rtt_ms, last(cells, rtt_ms)[0]));
    let shown = costs.map(|(rtt_ms, cost)| format!("{cost:.0} ms at {rtt_ms} ms"));
    claim(
        "wide-area-timeouts",
        "I",
        "In wide area networks a timeout can take a few hundred milliseconds even with fine-grained timers",
        "the last of ten segments lost, smallest RTO 1 ms, RTTs of 80 and 160 ms: the loss costs 100 to 999 ms",
        (shown.join(", "), costs.iter().all(|(_, cost)| (100.0..1000.0).contains(cost))),
    )
}

fn any_timer(cells: &Cells) -> Claim {
    let shorter = cells.copied.iter().filter(|(_, _, with, without)| with < without);
    let (shorter, all) = (shorter.count(), cells.copied.len());
    let shown = cells.copied.iter().filter(|(rtt_ms, ..)| *rtt_ms == RTTS[0]);
    let shown: Vec<String> = shown
        .map(|(_, least, with, without)| format!("{with:.0} instead of {without:.0} ms (smallest RTO {least} ms)"))
        .collect();
    claim(
        "slp-with-any-timer",
        "IV",
        "SLP shortens latency with both fine-grained and coarse-grained timers",
        "the last of eight segments lost, and duplicated with SLP: at every RTT and with every smallest RTO it costs less time with SLP",
        (format!("{shorter} of {all} cells; at {} ms: {}", RTTS[0], shown.join(", ")), shorter == all && all > 0),
    )
}

fn fast_not_always(cells: &Cells) -> Claim {
    let plain: Vec<bool> = cells.follow.iter().map(|[plain, _]| *plain).collect();
    claim(
        "fast-not-always",
        "I",
        "A fast retransmission is not always triggered",
        "the fourth segment lost, followed by 0 to 6 others: a timer retransmits it if none follows, a fast retransmission does if three or more follow",
        (followers(&plain), plain.len() > 3 && plain[0] && plain[3..].iter().all(|times_out| !times_out)),
    )
}

fn three_must_follow(cells: &Cells) -> Claim {
    let plain: Vec<bool> = cells.follow.iter().map(|[plain, _]| *plain).collect();
    let before = &cells.follow_before;
    claim(
        "three-must-follow",
        "II-B4",
        "A fast retransmission needs three later packets that arrive at the receiver",
        "the same: a timer retransmits the lost segment if fewer than three follow",
        (followers(&plain), as_the_threshold(&plain)),
    )
    .note(format!(
        "Linux has retransmitted early since 3.5 (RFC 5827): when nothing new can be sent, one or two followers do. Before, with linux-2.6: {}",
        followers(before),
    ))
}

fn push_is_not_special(cells: &Cells) -> Claim {
    let alike = cells.follow.iter().filter(|[plain, push]| plain == push);
    let push: Vec<bool> = cells.follow.iter().map(|[_, push]| *push).collect();
    claim(
        "push-is-not-special",
        "II-B4",
        "The loss of a PSH packet causes a timeout because too few packets follow it",
        "the same where the lost segment carries PSH and the others are a write of their own: it times out without followers, and with any number of them it fares as a plain segment does",
        (followers(&push), alike.count() == push.len() && push.first() == Some(&true) && push.last() == Some(&false)),
    )
}

fn followers(times_out: &[bool]) -> String {
    let of = |by_timer: bool| {
        let places = times_out.iter().enumerate().filter(|(_, is)| **is == by_timer);
        let places: Vec<String> = places.map(|(n, _)| n.to_string()).collect();
        if places.is_empty() { "never".into() } else { places.join(", ") }
    };
    format!("timeout with {} followers, fast with {}", of(true), of(false))
}

fn as_the_threshold(times_out: &[bool]) -> bool {
    times_out.iter().enumerate().all(|(n, is)| *is == (n < 3)) && times_out.len() > 3
}
