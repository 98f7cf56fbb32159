//! The statements of §V-A, computed for the senders of a capture, beside the study's figures.
//!
//! Nothing is judged: the study's figures are shares of its own population, and a capture has another.
//! Senders of one of the study's four systems stand beside that system's figure, all others beside the range
//! of the four. Where the study prints a table, the figures are the table's, not the rounded ones of the text.

use super::distribution::Distribution;
use super::flights::{MOST_LOST, Recoveries};
use super::published::System;
use super::tables::{Classification, percent};
use recoup_whatif::detections::Detector;
use serde::Serialize;

/// A statement of the study about senders: its figure and that of this capture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The section of the study.
    pub section: &'static str,
    /// The quantity, in words.
    pub what: &'static str,
    /// `%` or `RTTs`.
    pub unit: &'static str,
    /// The study's figure, of [`study_system`](Self::study_system); `None` if it gives none for this system.
    pub study: Option<&'static str>,
    /// The system that these senders run, in the study's words; `None`: the figure is the range of all four.
    pub study_system: Option<&'static str>,
    /// The figure of this capture; `None` if there is nothing to count.
    pub here: Option<f64>,
    /// A remark on the study's figure.
    pub note: Option<&'static str>,
}

const CONTRADICTION: &str =
    "§V-A3 contradicts itself: 15-40 % of all connections, but of each system's more than 40 % or less than 15 %.";

const FEW_FREEBSD: &str = "The study plots no FR/R of FreeBSD, of which it had 271 detections (footnote 10).";

const UNPRINTED: &str = "The study gives no numbers for §V-A2b. The figures here compare the medians of recoveries.";

/// The claims for one kind of senders, which run `system` if it is one of the study's. As in Table IV,
/// shares refer to RTO and FR/R together. Shares of verdicts leave out unknowable retransmissions.
pub(super) fn of(
    system: Option<&System>,
    table: &Classification,
    detection: &[Distribution; 2],
    recoveries: &Recoveries,
    reduction: &Distribution,
) -> Vec<Claim> {
    let (rto, fast) = (&table.rto, &table.fast_retransmit);
    let judged = [rto, fast].map(|split| split.needed + split.spurious);
    let judged = judged.iter().sum();
    let of_judged = |part| percent(part, judged);
    let fast_retransmits = &detection[Detector::FastRetransmit as usize];
    let timeouts = &detection[Detector::Timeout as usize];
    let in_percent = |share: Option<f64>| share.map(|share| 100.0 * share);
    // The study's figures are those of all four systems and of each, in the order of `System::ALL`; empty: it gives none.
    let claim = |section, what, unit, (all, systems): (&'static str, [&'static str; 4]), here| {
        let own = |system: &System| {
            let place = System::ALL.iter().position(|one| one == system)?;
            Some(systems[place]).filter(|figure| !figure.is_empty())
        };
        let study = system.map_or(Some(all), own);
        Claim { section, what, unit, study, study_system: system.map(|system| system.name), here, note: None }
    };
    let noted = |note, claim| Claim { note: Some(note), ..claim };
    let each = |figure| (figure, [figure; 4]);
    vec![
        claim(
            "V-A1",
            "spurious retransmissions",
            "%",
            ("6.2 to 36.2", ["29.6", "6.2", "9.4", "36.2"]),
            of_judged(rto.spurious + fast.spurious),
        ),
        claim(
            "V-A1",
            "spurious retransmissions by RTO",
            "%",
            ("3.5 to 31.7", ["26.0", "3.5", "4.9", "31.7"]),
            of_judged(rto.spurious),
        ),
        claim(
            "V-A1",
            "spurious retransmissions by FR/R",
            "%",
            ("2.7 to 4.5", ["3.6", "2.7", "4.5", "4.5"]),
            of_judged(fast.spurious),
        ),
        claim(
            "V-A1",
            "RTO's share of the spurious retransmissions",
            "%",
            ("52.1 to 87.8", ["87.8", "56.0", "52.1", "87.5"]),
            percent(rto.spurious, rto.spurious + fast.spurious),
        ),
        claim(
            "V-A2a",
            "retransmissions by RTO",
            "%",
            ("60.1 to 88.3", ["85.5", "60.1", "75.6", "88.3"]),
            percent(rto.total(), rto.total() + fast.total()),
        ),
        noted(
            FEW_FREEBSD,
            claim(
                "V-A2a",
                "median detection time by FR/R",
                "RTTs",
                ("1 to 2", ["1 to 2", "1 to 2", "1 to 2", ""]),
                fast_retransmits.quantile(0.5),
            ),
        ),
        claim(
            "V-A2a",
            "detections by FR/R that take more than 5 RTTs",
            "%",
            ("7 (Solaris)", ["", "", "7", ""]),
            in_percent(fast_retransmits.share_above(5.0)),
        ),
        claim(
            "V-A2a",
            "median detection time by RTO",
            "RTTs",
            ("4 to 10", ["4", "4", "almost 10", "almost 10"]),
            timeouts.quantile(0.5),
        ),
        claim(
            "V-A2a",
            "detections by RTO that take more than 10 RTTs",
            "%",
            ("10 (Linux), 25 (Windows)", ["almost 25", "10", "", ""]),
            in_percent(timeouts.share_above(10.0)),
        ),
        noted(
            UNPRINTED,
            claim(
                "V-A2b",
                "recovery after RTO, in % of that after FR/R; 1 segment lost",
                "%",
                each("about the same"),
                recoveries.timeouts_to_fast_retransmits(1..=1),
            ),
        ),
        noted(
            UNPRINTED,
            claim(
                "V-A2b",
                "recovery with SACK, in % of that without; 1 or 2 segments lost in a flight",
                "%",
                each("about the same"),
                recoveries.with_sack_to_without(1..=2),
            ),
        ),
        noted(
            UNPRINTED,
            claim(
                "V-A2b",
                "recovery with SACK, in % of that without; 3 or more segments lost in a flight",
                "%",
                each("shorter"),
                recoveries.with_sack_to_without(3..=MOST_LOST),
            ),
        ),
        claim(
            "V-A3",
            "senders with a best-case reduction of less than 1 %",
            "%",
            each("45 to 75"),
            in_percent(reduction.share_below(1.0)),
        ),
        noted(
            CONTRADICTION,
            claim(
                "V-A3",
                "senders with a best-case reduction of more than 10 %",
                "%",
                ("15 to 40", ["less than 15", "more than 40", "less than 15", "less than 15"]),
                in_percent(reduction.share_above(10.0)),
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures that follow from Table IV agree with it.
    #[test]
    fn figures_of_table_iv_are_its_shares() {
        for system in &System::ALL {
            let none = Distribution::default();
            let claims = of(
                Some(system),
                &system.classification(),
                &[none.clone(), none.clone()],
                &Recoveries::default(),
                &none,
            );
            assert!(claims.iter().all(|claim| claim.study_system == Some(system.name)));
            for claim in &claims[..5] {
                let (found, expected): (f64, f64) = (claim.study.unwrap().parse().unwrap(), claim.here.unwrap());
                assert!((found - expected).abs() <= 0.051, "{}: {found} {expected}", claim.what);
            }
            assert!(claims[5..].iter().all(|claim| claim.here.is_none()));
        }
    }
}
