//! Claims of §I and §II about what senders do.

use super::{Reactions, Values};
use crate::claims::{Claim, claim};
use recoup_captures::study::published::System;

fn shown(values: &Values, unit: &str) -> String {
    let each = System::ALL.iter().zip(values);
    let each: Vec<String> =
        each.map(|(system, v)| format!("{} {}{unit}", system.name, (v * 10.0).round() / 10.0)).collect();
    each.join(", ")
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
        claim(
            "duplicates",
            "II",
            "Each segment delivered above a lost one triggers a duplicate ACK for the lost one",
            "segment 5 of 20 is lost: 15 duplicate ACKs",
            (shown(&found.duplicates, ""), all(&found.duplicates, |count| (count - 15.0).abs() < 0.5)),
        ),
        claim(
            "reordering",
            "II",
            "Reordering triggers duplicate ACKs too, and senders take them for a loss",
            "nothing is lost, and D segments overtake one: it is retransmitted",
            (shown(enough, ""), all(enough, |count| count >= 1.0)),
        ),
        claim(
            "waits-for-d",
            "II",
            "Senders wait for D > 1 duplicate ACKs before they take a segment for lost",
            "D − 1 segments overtake one: nothing is retransmitted; D do: it is",
            (
                format!("D − 1: {}; D: {}", shown(few, ""), shown(enough, "")),
                all(few, |count| count < 0.5) && all(enough, |count| count >= 1.0),
            ),
        ),
        claim(
            "immediate",
            "II, V-A2b",
            "A segment is retransmitted as soon as its loss is detected",
            "from the D-th duplicate ACK to the retransmission: no time",
            (shown(&found.delay_ms, " ms"), all(&found.delay_ms, |delay| delay.abs() < 1e-6)),
        ),
        claim(
            "sack-shows-losses",
            "II",
            "SACK helps to detect the further losses quickly when several segments are lost",
            "Windows, three losses in a flight: with SACK the third is retransmitted within 1.5 RTTs, without at least an RTT later",
            (format!("with {with:.2}, without {without:.2} RTTs"), with <= 1.5 && without >= with + 1.0),
        ),
    ]
}

/// What detections cost.
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
        claim(
            "needless-costs",
            "I, II",
            "A loss that is inferred in error adds to the duration",
            "a needless fast retransmit, and a needless timeout, lengthen a transfer of 200 segments on each system",
            (
                format!("FR/R {}; timeout {}", shown(needless_fast, " ms"), shown(needless_timeout, " ms")),
                all(needless_fast, |ms| ms > 0.0) && all(needless_timeout, |ms| ms > 0.0),
            ),
        ),
        claim(
            "late-detection-costs",
            "I, II",
            "The longer a loss takes to be detected, the longer the connection takes",
            "a lost tail with a minimum RTO twice as large: the transfer takes longer on each system",
            (shown(later, " ms longer"), all(later, |ms| ms > 0.0)),
        ),
        claim(
            "rto-change-is-duration",
            "IV-D",
            "If an RTO changes, the duration changes by as much",
            "a lost tail with a minimum RTO twice as large: what is added to the duration, less what is added to the wait",
            (
                format!("the wait grows by {}; the rest: {}", shown(later, " ms"), shown(unexplained, " ms")),
                all(unexplained, |ms| ms.abs() < 1e-3) && all(later, |ms| ms > 0.0),
            ),
        ),
        claim(
            "timeouts-take-longer",
            "II",
            "FR/R is a faster means of detecting losses than the timeout",
            "the same loss of a flight of 20 at an RTT of 100 ms: FR/R takes less than half as long on each system",
            (
                format!("FR/R {}; timeout {}", shown(by_fast, ""), shown(by_timeout, " RTTs")),
                by_fast.iter().zip(by_timeout).all(|(fast, timeout)| 2.0 * fast < *timeout),
            ),
        ),
        claim(
            "timeouts-cost-more",
            "II",
            "Recovery by timeout is more costly than by FR/R",
            "the same loss of a transfer of 200 segments: the duplicate ACKs arrive, or are lost",
            (shown(&found.timeout_ms, " ms longer"), all(&found.timeout_ms, |ms| ms > 0.0)),
        ),
        claim(
            "fast-halves",
            "II, IV-D",
            "After a fast retransmit the flight is half of what it was",
            "ssthresh at the entry to recovery, in segments: 0.4 to 0.6 of the window before",
            (format!("{}; before {}", shown(fast, ""), shown(before, "")), halves),
        ),
        claim(
            "timeout-to-one",
            "II, IV-D",
            "After a timeout the flight is reduced to one segment",
            "the window after the timeout",
            (shown(timeout, ""), all(timeout, |window| (window - 1.0).abs() < 0.5)),
        ),
        claim(
            "window-stalls",
            "footnote 3",
            "While a loss is not detected the sender typically cannot send new data, because its window does not advance",
            "new segments sent between the last ACK and the timeout: none",
            (shown(&found.sent_while_waiting, ""), all(&found.sent_while_waiting, |sent| sent < 0.5)),
        ),
    ]
}

/// What D changes.
fn thresholds(found: &Reactions) -> Vec<Claim> {
    let [smallest, small, _, large] = &found.by_fast;
    let gain = |by_d: &[f64; 4]| by_d[0] - by_d[2];
    let ascending =
        found.by_fast.iter().all(|by_d| by_d.windows(2).all(|pair| pair[0] >= pair[1]) && by_d[0] > by_d[3]);
    let sooner = found.fast_ms[2] - found.fast_ms[0];
    let instead = found.timeout_wait_ms - found.fast_ms[2];
    vec![
        claim(
            "smaller-d-more-fast",
            "II, V-A2a",
            "The smaller D, the more losses FR/R detects instead of the timeout",
            "every segment of transfers of 4 to 40 segments is lost once: the share of FR/R falls as D rises, for each size",
            (format!("8 segments: {small:.0?} % for D = 1 to 4; 40: {large:.0?} %"), ascending),
        ),
        claim(
            "small-connections-gain",
            "II",
            "A smaller D helps small connections above all, which send too few segments for D duplicate ACKs",
            "the share of FR/R with D = 1 less that with D = 3: larger in transfers of 4 and 8 segments than in those of 40",
            (
                format!("4 segments {:.0}, 8 {:.0}, 40 {:.0} points", gain(smallest), gain(small), gain(large)),
                gain(smallest) > gain(large) && gain(small) > gain(large),
            ),
        ),
        claim(
            "fast-sooner-slightly",
            "II",
            "A smaller D also shortens detection by FR/R, but only slightly beside what FR/R saves in place of a timeout",
            "segments 1 ms apart: D = 1 instead of 3 saves something, and less than a tenth of what FR/R saves on a timeout",
            (
                format!("{sooner:.1} ms; FR/R in place of a timeout {instead:.0} ms"),
                sooner > 0.0 && sooner < instead / 10.0,
            ),
        ),
    ]
}
