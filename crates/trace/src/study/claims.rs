//! The statements of §V-A, computed for the senders of a capture.

use super::detections::Detector;
use super::distribution::Distribution;
use super::tables::{Classification, percent};
use serde::Serialize;

/// A statement of the study about senders: its figure and that of this capture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The section of the study.
    pub section: &'static str,
    /// What is counted.
    pub what: &'static str,
    /// `%` or `RTTs`.
    pub unit: &'static str,
    /// The study's figure.
    pub study: &'static str,
    /// The figure of this capture; `None` if there is nothing to count.
    pub here: Option<f64>,
}

/// The claims for one kind of senders. As in Table IV, shares refer to RTO and FR/R together.
/// Shares of verdicts leave out unknowable retransmissions. The study's ranges are those of its
/// four systems.
pub(super) fn of(
    table: &Classification,
    detection: &[Distribution; 2],
    reduction: &Distribution,
) -> Vec<Claim> {
    let (rto, fast) = (&table.rto, &table.fast_retransmit);
    let judged = [rto, fast].map(|split| split.needed + split.spurious);
    let judged = judged.iter().sum();
    let of_judged = |part| percent(part, judged);
    let fast_retransmits = &detection[Detector::FastRetransmit as usize];
    let timeouts = &detection[Detector::Timeout as usize];
    let in_percent = |share: Option<f64>| share.map(|share| 100.0 * share);
    let row = |section, what, unit, study, here| Claim {
        section,
        what,
        unit,
        study,
        here,
    };
    vec![
        row(
            "V-A1",
            "spurious retransmissions",
            "%",
            "6.2 to 36.2",
            of_judged(rto.spurious + fast.spurious),
        ),
        row(
            "V-A1",
            "spurious retransmissions by RTO",
            "%",
            "3.5 (Linux) to 31.7 (FreeBSD)",
            of_judged(rto.spurious),
        ),
        row(
            "V-A1",
            "spurious retransmissions by FR/R",
            "%",
            "2.7 to 4.5",
            of_judged(fast.spurious),
        ),
        row(
            "V-A2a",
            "retransmissions by RTO",
            "%",
            "60 to 88",
            percent(rto.total(), rto.total() + fast.total()),
        ),
        row(
            "V-A2a",
            "median detection time by FR/R",
            "RTTs",
            "1 to 2",
            fast_retransmits.quantile(0.5),
        ),
        row(
            "V-A2a",
            "detections by FR/R that take more than 5 RTTs",
            "%",
            "7 (Solaris)",
            in_percent(fast_retransmits.share_above(5.0)),
        ),
        row(
            "V-A2a",
            "median detection time by RTO",
            "RTTs",
            "4 (Linux, Windows) to 10 (Solaris, FreeBSD)",
            timeouts.quantile(0.5),
        ),
        row(
            "V-A2a",
            "detections by RTO that take more than 10 RTTs",
            "%",
            "10 (Linux), 25 (Windows)",
            in_percent(timeouts.share_above(10.0)),
        ),
        row(
            "V-A3",
            "connections with a best-case reduction of less than 1 %",
            "%",
            "45 to 75",
            in_percent(reduction.share_below(1.0)),
        ),
        row(
            "V-A3",
            "connections with a best-case reduction of more than 10 %",
            "%",
            "15 to 40",
            in_percent(reduction.share_above(10.0)),
        ),
    ]
}
