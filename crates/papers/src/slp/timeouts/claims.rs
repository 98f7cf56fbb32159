//! What the paper says of timeouts and of lost SYNs (§I, §II-B, §III-A).
//!
//! Our triggers decide, because they are right in a capture at the sender. The shares by k-means, the paper's
//! classifier, stand beside them. Whether k-means agrees is a claim of its own.

use super::columns::ColumnCell;
use super::{RerunFlow, Studied};
use crate::claims::{Claim, claim};
use recoup_trace::study::slp::{Classification, Classifier, Report, Statement};

/// Why a ratio of ten is out of reach.
const ELSEWHERE: &str = "nearly every such loss causes a timeout, but so do more than a tenth of the other losses: short flights, bursts and lost retransmissions leave too few duplicate ACKs";

/// The claims of Figure 1, and those on all retransmissions.
pub fn positions(report: &Report) -> Vec<Claim> {
    let of = |name| statement(report, name);
    vec![
        fails(
            "the share describes the networks that the paper measured; this population's flows are short, and half of its paths lose packets in bursts",
            claim(
                "timeout-share",
                "I, II-B2",
                "Timeouts are about 10.1 % of all retransmissions",
                "share from 5 to 20 %",
                within(of("timeouts"), 5.0, 20.0),
            ),
        ),
        fails(
            "the few longest intervals, of timers that backed off, pull the threshold up to seconds, and most other timeouts fall below it",
            claim(
                "k-means-threshold",
                "II-B2",
                "k-means infers a threshold that separates timeouts from fast retransmissions",
                "less than 5 % of its classes differ from our triggers",
                different(report, |one| one.against_triggers.different_percent, 5.0),
            ),
        ),
        fails(
            "Wireshark calls a retransmission fast only within 20 ms of two duplicate ACKs that ask for it, and so misses all but the first of a recovery with SACK",
            claim(
                "wireshark",
                "II-B2",
                "k-means and Wireshark classify about 3 % of retransmissions differently",
                "less than 6 % differ from Wireshark's rule for fast retransmissions",
                different(report, |one| one.against_wireshark.different_percent, 6.0),
            ),
        ),
        claim(
            "syn-timeouts",
            "II-B3",
            "More than 70 % of lost SYNs cause a timeout",
            "share above 70 %",
            above(of("syn"), 70.0),
        ),
        claim(
            "head-more",
            "II-B3",
            "The loss of the first packet causes a timeout more often than losses elsewhere",
            "ratio of the shares above 1",
            higher(of("head"), of("elsewhere"), 1.0),
        ),
        claim(
            "tail-more",
            "II-B3",
            "The loss of the last packet causes a timeout more often than losses elsewhere",
            "ratio of the shares above 1",
            higher(of("tail"), of("elsewhere"), 1.0),
        ),
        fails(
            ELSEWHERE,
            claim(
                "head-ten-times",
                "I",
                "The loss of the first packet is at least ten times more likely to cause a timeout",
                "ratio of the shares at least 10",
                higher(of("head"), of("elsewhere"), 10.0),
            ),
        ),
        fails(
            ELSEWHERE,
            claim(
                "tail-ten-times",
                "I",
                "The loss of the last packet is at least ten times more likely to cause a timeout",
                "ratio of the shares at least 10",
                higher(of("tail"), of("elsewhere"), 10.0),
            ),
        ),
    ]
}

/// The claims of Figure 3.
pub fn flags(report: &Report) -> Vec<Claim> {
    let of = |name| statement(report, name);
    vec![
        claim(
            "syn-more",
            "II-B4",
            "The loss of a SYN causes a timeout more often than that of a plain data packet",
            "ratio of the shares above 1",
            higher(of("syn"), of("plain"), 1.0),
        ),
        claim(
            "fin-more",
            "II-B4",
            "The loss of a packet with FIN causes a timeout more often than that of a plain data packet",
            "ratio of the shares above 1",
            higher(of("fin"), of("plain"), 1.0),
        ),
        claim(
            "psh-more",
            "II-B4",
            "The loss of a packet with PSH causes a timeout significantly more often than that of a plain data packet",
            "ratio of the shares above 1.5",
            higher(of("push"), of("plain"), 1.5),
        ),
        fails(
            ELSEWHERE,
            claim(
                "psh-ten-times",
                "I",
                "The loss of a packet with PSH is at least ten times more likely to cause a timeout",
                "ratio of the shares at least 10",
                higher(of("push"), of("plain"), 10.0),
            ),
        ),
    ]
}

/// The claims of Table I.
pub fn table(studied: &Studied, cells: &[ColumnCell]) -> Vec<Claim> {
    let differences = cells
        .iter()
        .map(|cell| cell.computed.paper_without_slp_s - cell.computed.paper_with_slp_s);
    let [least, most] = ends(differences);
    let deviation = cells.iter().map(|cell| {
        let paper = &cell.computed;
        let reduction = 100.0 * (1.0 - paper.paper_with_slp_s / paper.paper_without_slp_s);
        (reduction - paper.paper_reduction_percent).abs()
    });
    let [_, deviation] = ends(deviation);
    let shorter = |of: fn(&RerunFlow) -> Option<f64>| {
        let flows = studied.reruns.iter();
        let shorter = flows.filter(|flow| of(flow).is_some_and(|s| s < flow.without_s));
        shorter.count()
    };
    let all = studied.reruns.len();
    let (computed, rerun) = (
        shorter(|flow| Some(flow.computed_s)),
        shorter(|flow| flow.rerun_s),
    );
    vec![
        claim(
            "arithmetic",
            "III-A",
            "Table I: the reductions are those of its two rows",
            "each differs by less than 0.1 percentage points",
            (
                format!("largest difference {deviation:.2} points"),
                deviation < 0.1,
            ),
        ),
        fails(
            "an initial RTO of 1 s or 3 s shortens each flow by 1, 3, 7 … s; the paper's rows differ by nearly the same 0.7 s everywhere, as if one mean had been subtracted from all",
            claim(
                "initial-rto",
                "III-A",
                "Table I: with SLP, flows are shorter by the time that lost SYNs waited",
                "the rows of the table differ by at least 1 s, the initial RTO",
                (
                    format!("they differ by {least:.2} to {most:.2} s"),
                    least >= 1.0,
                ),
            ),
        ),
        claim(
            "all-shorter-computed",
            "III-A",
            "SLP shortens all flows with SYN loss, if duplicates are not lost",
            "completion time less the wait, below that without SLP; holds by construction",
            (
                format!("{computed} of {all} flows"),
                computed == all && all > 0,
            ),
        ),
        fails(
            "a path that loses the SYN may lose its duplicate too, or the SYN-ACK, which is not duplicated",
            claim(
                "all-shorter-rerun",
                "III-A",
                "SLP shortens all flows with SYN loss",
                "the flows run again with duplicated SYNs are all shorter",
                (format!("{rerun} of {all} flows"), rerun == all && all > 0),
            ),
        ),
    ]
}

fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold(
        [f64::INFINITY, f64::NEG_INFINITY],
        |[least, most], value| [least.min(value), most.max(value)],
    )
}

fn statement<'a>(report: &'a Report, name: &str) -> Option<&'a Statement> {
    report.statements.iter().find(|one| one.name == name)
}

/// Shares by k-means and by our triggers.
fn both(one: Option<&Statement>) -> Option<[f64; 2]> {
    let one = one?;
    Some([one.by_k_means?, one.by_triggers?])
}

fn unknown() -> (String, bool) {
    ("no such retransmissions".into(), false)
}

fn within(one: Option<&Statement>, least: f64, most: f64) -> (String, bool) {
    let Some([k_means, triggers]) = both(one) else {
        return unknown();
    };
    let holds = (least..=most).contains(&triggers);
    (
        format!("{triggers:.1} % by trigger, {k_means:.1} % by k-means"),
        holds,
    )
}

fn above(one: Option<&Statement>, least: f64) -> (String, bool) {
    let Some([k_means, triggers]) = both(one) else {
        return unknown();
    };
    let ours = format!("{triggers:.1} % by trigger, {k_means:.1} % by k-means");
    (ours, triggers > least)
}

/// Whether one share is more than `times` the other.
fn higher(one: Option<&Statement>, other: Option<&Statement>, times: f64) -> (String, bool) {
    let (Some(one), Some(other)) = (both(one), both(other)) else {
        return unknown();
    };
    (compared(one, other), one[1] > times * other[1])
}

fn compared([k_means, triggers]: [f64; 2], [other_k_means, other_triggers]: [f64; 2]) -> String {
    format!(
        "{triggers:.1} % against {other_triggers:.1} % by trigger, {k_means:.1} % against {other_k_means:.1} % by k-means"
    )
}

/// Whether less than `most` percent of the paper's classes differ, by this measure.
fn different(report: &Report, of: fn(&Classification) -> Option<f64>, most: f64) -> (String, bool) {
    let mut classifications = report.classifications.iter();
    let k_means = classifications.find(|one| one.classifier == Classifier::KMeans);
    k_means.and_then(of).map_or_else(unknown, |percent| {
        (format!("{percent:.1} %"), percent < most)
    })
}

/// A claim that is known to fail, and why.
fn fails(why: &str, claim: Claim) -> Claim {
    Claim {
        note: Some(why.into()),
        ..claim
    }
}
