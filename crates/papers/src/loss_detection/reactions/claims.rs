//! Claims of §I and §II about what senders do.

use super::{Reactions, Values};
use crate::loss_detection::claims::by_system;
use crate::prelude::*;

fn shown(values: &Values, unit: &str) -> String {
    by_system(values, |v| format!("{}{unit}", (v * 10.0).round() / 10.0))
}

fn all(values: &Values, holds: impl Fn(f64) -> bool) -> bool {
    values.iter().all(|value| holds(*value))
}

pub fn of(found: &Reactions) -> Vec<Claim> {
    [signs(found), costs(found), thresholds(found)].concat()
}

/// Duplicate ACKs and retransmissions.
fn signs(found: &Reactions) -> Vec<Claim> {
    let [few, enough] = &found.overtaken;
    let [with, without] = found.third_loss_rtts;
    vec![
        claim("duplicates")
            .shows(shown(&found.duplicates, ""))
            .holds(all(&found.duplicates, |count| (count - 15.0).abs() < 0.5)),
        claim("reordering").shows(shown(enough, "")).holds(all(enough, |count| count >= 1.0)),
        claim!("waits-for-d", "D − 1: {}; D: {}", shown(few, ""), shown(enough, ""))
            .holds(all(few, |count| count < 0.5) && all(enough, |count| count >= 1.0)),
        claim("immediate").shows(shown(&found.delay_ms, " ms")).holds(all(&found.delay_ms, |delay| delay.abs() < 1e-6)),
        claim!("sack-shows-losses", "with {with:.2}, without {without:.2} RTTs")
            .holds(with <= 1.5 && without >= with + 1.0),
    ]
}

/// The cost of detections.
fn costs(found: &Reactions) -> Vec<Claim> {
    let [before, fast, timeout] = &found.windows;
    let [needless_fast, needless_timeout] = &found.needless_ms;
    let [unexplained, later] = &found.later_ms;
    let [by_fast, by_timeout] = &found.detection_rtts;
    let halves = before.iter().zip(fast).all(|(before, after)| {
        let half = after / before;
        (0.4..0.6).contains(&half)
    });
    vec![
        claim!("needless-costs", "FR/R {}; timeout {}", shown(needless_fast, " ms"), shown(needless_timeout, " ms"))
            .holds(all(needless_fast, |ms| ms > 0.0) && all(needless_timeout, |ms| ms > 0.0)),
        claim("late-detection-costs").shows(shown(later, " ms longer")).holds(all(later, |ms| ms > 0.0)),
        claim!(
            "rto-change-is-duration",
            "the wait grows by {}; the rest: {}",
            shown(later, " ms"),
            shown(unexplained, " ms")
        )
        .holds(all(unexplained, |ms| ms.abs() < 1e-3) && all(later, |ms| ms > 0.0)),
        claim!("timeouts-take-longer", "FR/R {}; timeout {}", shown(by_fast, ""), shown(by_timeout, " RTTs"))
            .holds(by_fast.iter().zip(by_timeout).all(|(fast, timeout)| 2.0 * fast < *timeout)),
        claim("timeouts-cost-more")
            .shows(shown(&found.timeout_ms, " ms longer"))
            .holds(all(&found.timeout_ms, |ms| ms > 0.0)),
        claim!("fast-halves", "{}; before {}", shown(fast, ""), shown(before, "")).holds(halves),
        claim("timeout-to-one").shows(shown(timeout, "")).holds(all(timeout, |window| (window - 1.0).abs() < 0.5)),
        claim("window-stalls")
            .shows(shown(&found.sent_while_waiting, ""))
            .holds(all(&found.sent_while_waiting, |sent| sent < 0.5)),
    ]
}

/// The effects of D.
fn thresholds(found: &Reactions) -> Vec<Claim> {
    let [smallest, small, _, large] = &found.by_fast;
    let gain = |by_d: &[f64; 4]| by_d[0] - by_d[2];
    let ascending =
        found.by_fast.iter().all(|by_d| by_d.windows(2).all(|pair| pair[0] >= pair[1]) && by_d[0] > by_d[3]);
    let sooner = found.fast_ms[2] - found.fast_ms[0];
    let instead = found.timeout_wait_ms - found.fast_ms[2];
    vec![
        claim!("smaller-d-more-fast", "8 segments: {small:.0?} % for D = 1 to 4; 40: {large:.0?} %").holds(ascending),
        claim!(
            "small-connections-gain",
            "4 segments {:.0}, 8 {:.0}, 40 {:.0} points",
            gain(smallest),
            gain(small),
            gain(large)
        )
        .holds(gain(smallest) > gain(large) && gain(small) > gain(large)),
        claim!("fast-sooner-slightly", "{sooner:.1} ms; FR/R in place of a timeout {instead:.0} ms")
            .holds(sooner > 0.0 && sooner < instead / 10.0),
    ]
}
