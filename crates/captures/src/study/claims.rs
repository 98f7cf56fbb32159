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
    /// What is counted.
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

/// What the study says of one quantity.
struct Statement {
    section: &'static str,
    what: &'static str,
    unit: &'static str,
    /// Of all four systems.
    all: &'static str,
    /// In the order of [`System::ALL`]: Windows, Linux, Solaris, FreeBSD.
    systems: [Option<&'static str>; 4],
    note: Option<&'static str>,
}

impl Statement {
    fn claim(&self, system: Option<&System>, here: Option<f64>) -> Claim {
        let own = |system: &System| {
            let own = System::ALL.iter().zip(self.systems);
            own.filter(|(one, _)| *one == system).find_map(|(_, figure)| figure)
        };
        Claim {
            section: self.section,
            what: self.what,
            unit: self.unit,
            study: system.map_or(Some(self.all), own),
            study_system: system.map(|system| system.name),
            here,
            note: self.note,
        }
    }
}

const CONTRADICTION: Option<&str> = Some(
    "§V-A3 contradicts itself: 15-40 % of all connections, but of each system's more than 40 % or less than 15 %.",
);

const FEW_FREEBSD: Option<&str> =
    Some("The study plots no FR/R of FreeBSD, of which it had 271 detections (footnote 10).");

const UNPRINTED: Option<&str> =
    Some("The study gives no numbers for §V-A2b. The figures here compare the medians of recoveries.");

/// The statements, in the order of the values in [`of`].
const STATEMENTS: [Statement; 14] = [
    Statement {
        section: "V-A1",
        what: "spurious retransmissions",
        unit: "%",
        all: "6.2 to 36.2",
        systems: [Some("29.6"), Some("6.2"), Some("9.4"), Some("36.2")],
        note: None,
    },
    Statement {
        section: "V-A1",
        what: "spurious retransmissions by RTO",
        unit: "%",
        all: "3.5 to 31.7",
        systems: [Some("26.0"), Some("3.5"), Some("4.9"), Some("31.7")],
        note: None,
    },
    Statement {
        section: "V-A1",
        what: "spurious retransmissions by FR/R",
        unit: "%",
        all: "2.7 to 4.5",
        systems: [Some("3.6"), Some("2.7"), Some("4.5"), Some("4.5")],
        note: None,
    },
    Statement {
        section: "V-A1",
        what: "RTO's share of the spurious retransmissions",
        unit: "%",
        all: "52.1 to 87.8",
        systems: [Some("87.8"), Some("56.0"), Some("52.1"), Some("87.5")],
        note: None,
    },
    Statement {
        section: "V-A2a",
        what: "retransmissions by RTO",
        unit: "%",
        all: "60.1 to 88.3",
        systems: [Some("85.5"), Some("60.1"), Some("75.6"), Some("88.3")],
        note: None,
    },
    Statement {
        section: "V-A2a",
        what: "median detection time by FR/R",
        unit: "RTTs",
        all: "1 to 2",
        systems: [Some("1 to 2"), Some("1 to 2"), Some("1 to 2"), None],
        note: FEW_FREEBSD,
    },
    Statement {
        section: "V-A2a",
        what: "detections by FR/R that take more than 5 RTTs",
        unit: "%",
        all: "7 (Solaris)",
        systems: [None, None, Some("7"), None],
        note: None,
    },
    Statement {
        section: "V-A2a",
        what: "median detection time by RTO",
        unit: "RTTs",
        all: "4 to 10",
        systems: [Some("4"), Some("4"), Some("almost 10"), Some("almost 10")],
        note: None,
    },
    Statement {
        section: "V-A2a",
        what: "detections by RTO that take more than 10 RTTs",
        unit: "%",
        all: "10 (Linux), 25 (Windows)",
        systems: [Some("almost 25"), Some("10"), None, None],
        note: None,
    },
    Statement {
        section: "V-A2b",
        what: "recovery after RTO, in % of that after FR/R; 1 segment lost",
        unit: "%",
        all: "about the same",
        systems: [Some("about the same"); 4],
        note: UNPRINTED,
    },
    Statement {
        section: "V-A2b",
        what: "recovery with SACK, in % of that without; 1 or 2 segments lost in a flight",
        unit: "%",
        all: "about the same",
        systems: [Some("about the same"); 4],
        note: UNPRINTED,
    },
    Statement {
        section: "V-A2b",
        what: "recovery with SACK, in % of that without; 3 or more segments lost in a flight",
        unit: "%",
        all: "shorter",
        systems: [Some("shorter"); 4],
        note: UNPRINTED,
    },
    Statement {
        section: "V-A3",
        what: "senders with a best-case reduction of less than 1 %",
        unit: "%",
        all: "45 to 75",
        systems: [Some("45 to 75"); 4],
        note: None,
    },
    Statement {
        section: "V-A3",
        what: "senders with a best-case reduction of more than 10 %",
        unit: "%",
        all: "15 to 40",
        systems: [Some("less than 15"), Some("more than 40"), Some("less than 15"), Some("less than 15")],
        note: CONTRADICTION,
    },
];

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
    let values = [
        of_judged(rto.spurious + fast.spurious),
        of_judged(rto.spurious),
        of_judged(fast.spurious),
        percent(rto.spurious, rto.spurious + fast.spurious),
        percent(rto.total(), rto.total() + fast.total()),
        fast_retransmits.quantile(0.5),
        in_percent(fast_retransmits.share_above(5.0)),
        timeouts.quantile(0.5),
        in_percent(timeouts.share_above(10.0)),
        recoveries.timeouts_to_fast_retransmits(1..=1),
        recoveries.with_sack_to_without(1..=2),
        recoveries.with_sack_to_without(3..=MOST_LOST),
        in_percent(reduction.share_below(1.0)),
        in_percent(reduction.share_above(10.0)),
    ];
    let both = STATEMENTS.iter().zip(values);
    both.map(|(statement, here)| statement.claim(system, here)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures that follow from Table IV agree with it.
    #[test]
    fn figures_of_table_iv_are_its_shares() {
        let figure = |what: &str, system: &System| -> f64 {
            let statement = STATEMENTS.iter().find(|s| s.what == what).unwrap();
            let claim = statement.claim(Some(system), None);
            assert_eq!(claim.study_system, Some(system.name));
            claim.study.unwrap().parse().unwrap()
        };
        for system in &System::ALL {
            let table = system.classification();
            let (rto, fast) = (table.rto, table.fast_retransmit);
            let spurious = rto.spurious + fast.spurious;
            for (what, part, whole) in [
                ("spurious retransmissions", spurious, table.total),
                ("spurious retransmissions by RTO", rto.spurious, table.total),
                ("spurious retransmissions by FR/R", fast.spurious, table.total),
                ("RTO's share of the spurious retransmissions", rto.spurious, spurious),
                ("retransmissions by RTO", rto.total(), table.total),
            ] {
                let expected = percent(part, whole).unwrap();
                let found = figure(what, system);
                assert!((found - expected).abs() <= 0.051, "{what}: {found} {expected}");
            }
        }
    }
}
