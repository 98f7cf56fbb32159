//! The statements of §V-A that simulated populations decide: orderings between systems, mechanisms and
//! numbers of losses.

use super::{Id, Populations};
use crate::claims::{Claim, claim, noted};
use recoup_trace::study::published::System;
use recoup_trace::study::{FlightRecovery, MOST_LOST, SenderReport};
use std::ops::RangeInclusive;

/// Quantities of the systems, in the order of [`System::ALL`].
type Values = [f64; 4];

/// The positions of the systems in [`System::ALL`].
const WINDOWS: usize = 0;
const LINUX: usize = 1;
const SOLARIS: usize = 2;
const FREEBSD: usize = 3;

/// The claims of a figure.
pub fn of(id: Id, populations: &Populations) -> Vec<Claim> {
    match id {
        Id::Tables => [accuracy(populations), recovery(populations)].concat(),
        Id::Fig1 => vec![],
        Id::Fig2 => timeliness(populations),
        Id::Fig3 => scope(populations),
    }
}

impl Populations {
    /// A quantity of each system; NaN, which fulfils no claim, where there is none.
    fn values(&self, of: impl Fn(&SenderReport) -> Option<f64>) -> Values {
        std::array::from_fn(|i| {
            self.system(&System::ALL[i])
                .and_then(&of)
                .unwrap_or(f64::NAN)
        })
    }

    /// The figure of a statement for each system.
    fn stated(&self, what: &str) -> Values {
        self.values(|sender| {
            let mut claims = sender.claims.iter();
            claims.find(|claim| claim.what == what)?.here
        })
    }
}

/// The quantities with the names of the systems.
fn shown(values: &Values, unit: &str) -> String {
    let each = System::ALL.iter().zip(values);
    let each: Vec<String> = each
        .map(|(system, v)| format!("{} {v:.1}{unit}", system.name))
        .collect();
    each.join(", ")
}

/// The least and the largest; NaN if one of them is NaN.
fn range(values: &[f64]) -> (f64, f64) {
    if values.iter().any(|value| value.is_nan()) {
        return (f64::NAN, f64::NAN);
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, largest)
}

/// §V-A1.
fn accuracy(populations: &Populations) -> Vec<Claim> {
    let by_rto = populations.stated("spurious retransmissions by RTO");
    let by_fast = populations.stated("spurious retransmissions by FR/R");
    let (least, most) = range(&by_fast);
    vec![
        noted(
            "By §II Linux's minimum of 200 ms applies to the RTO, as on Windows. So on short paths both systems time out \
             needlessly when the path pauses. In the kernel the minimum applies to 4·RTTVAR. With it (linux-2.4+minrttvar) \
             Linux's share is 18.3 %, and the claim holds.",
            claim(
                "spurious-timeouts",
                "V-A1",
                "Spurious timeouts are a far larger share of Windows's retransmissions (26 %) than of Linux's (less than 4 %)",
                "Windows's share is at least twice Linux's",
                (shown(&by_rto, " %"), by_rto[WINDOWS] >= 2.0 * by_rto[LINUX]),
            ),
        ),
        noted(
            "FreeBSD, whose minimum RTO is 1.2 s, rarely times out for nothing here. Its share of both depends on how \
             often paths pause and reorder, which is our choice. The study found 31.7 % and 4.5 %.",
            claim(
                "timeouts-most-spurious",
                "V-A1",
                "Most spurious retransmissions are triggered by a timeout, not by FR/R",
                "on each system, the share of spurious timeouts is the larger one",
                (
                    format!(
                        "by timeout {}; by FR/R {}",
                        shown(&by_rto, " %"),
                        shown(&by_fast, " %")
                    ),
                    by_rto.iter().zip(&by_fast).all(|(rto, fast)| rto > fast),
                ),
            ),
        ),
        claim(
            "spurious-fast",
            "V-A1",
            "The share of spurious FR/R is small (3-5 %) and differs little between systems",
            "the largest share is at most 5 points above the least",
            (shown(&by_fast, " %"), most - least <= 5.0),
        ),
    ]
}

/// §V-A2a.
fn timeliness(populations: &Populations) -> Vec<Claim> {
    let fast = populations.values(|sender| sender.detection.fast_retransmit.p50);
    let timeouts = populations.values(|sender| sender.detection.rto.p50);
    let long = populations.stated("detections by RTO that take more than 10 RTTs");
    let slow = [timeouts[SOLARIS], timeouts[FREEBSD]];
    let quick = [timeouts[WINDOWS], timeouts[LINUX]];
    let ratio = timeouts[WINDOWS] / timeouts[LINUX];
    let few = populations.few_outstanding;
    vec![
        claim(
            "fast-1-2-rtts",
            "V-A2a",
            "Most FR/R detections take about 1-2 RTTs on all systems",
            "the median is 1 to 2 RTTs, rounded",
            (
                shown(&fast, ""),
                fast.iter().all(|median| (0.5..2.5).contains(median)),
            ),
        ),
        claim(
            "timeouts-slower",
            "V-A2a",
            "Timeouts take much longer than FR/R to detect losses",
            "the median is at least twice that of FR/R, for each system",
            (
                shown(&timeouts, ""),
                timeouts
                    .iter()
                    .zip(fast)
                    .all(|(rto, fast)| *rto >= 2.0 * fast),
            ),
        ),
        claim(
            "solaris-freebsd-slower",
            "V-A2a",
            "Solaris and FreeBSD take longer to detect a loss by timeout (median almost 10 RTTs) than Windows and Linux (4 RTTs)",
            "both medians are larger than the other two",
            (shown(&timeouts, ""), range(&slow).0 > range(&quick).1),
        ),
        claim(
            "windows-like-linux",
            "V-A2a",
            "The medians of Windows and Linux are about the same",
            "they differ by less than a third",
            (
                format!(
                    "Windows {:.1}, Linux {:.1} RTTs",
                    timeouts[WINDOWS], timeouts[LINUX]
                ),
                (0.75..4.0 / 3.0).contains(&ratio),
            ),
        ),
        claim(
            "few-outstanding",
            "V-A2a",
            "Timeouts are frequent because often too few segments are in flight to trigger duplicate ACKs",
            "most needed timeouts come with no more segments outstanding than D, the duplicate ACK threshold",
            (shown(&few, " %"), few.iter().all(|share| *share > 50.0)),
        ),
        noted(
            "The study names the initial RTO as the cause. In the simulation both systems measure the RTT in the \
             handshake, so the initial RTO applies to hardly any data. Most of Windows's timeouts here are \
             spurious, and those come early",
            claim(
                "windows-tail",
                "V-A2a",
                "More of Windows's timeouts (25 %) than of Linux's (10 %) take longer than 10 RTTs",
                "Windows's share is larger",
                (shown(&long, " %"), long[WINDOWS] > long[LINUX]),
            ),
        ),
    ]
}

/// §V-A2b. The median recovery of flights of all systems together, unless the check says otherwise. The
/// claims about SACK leave out FreeBSD, which has none: otherwise they would compare systems.
fn recovery(populations: &Populations) -> Vec<Claim> {
    let median = |sender: &SenderReport, lost: usize, detected_by: &str, sack: Option<bool>| {
        let mut lines = sender.recoveries.iter();
        let is_it = |line: &&FlightRecovery| {
            (line.lost, line.detected_by, line.sack) == (lost, detected_by, sack)
        };
        lines.find(is_it)?.p50
    };
    let all = &populations.report.all;
    let of_all = |lost| median(all, lost, "any", None).unwrap_or(f64::NAN);
    let by_lost: [f64; MOST_LOST] = std::array::from_fn(|i| of_all(i + 1));
    let by_system = populations.values(|sender| median(sender, 1, "any", None));
    let mechanisms =
        ["fast_retransmit", "rto"].map(|by| median(all, 1, by, None).unwrap_or(f64::NAN));
    let stated = |what: &str| {
        let mut claims = populations.with_sack.claims.iter();
        let claim = claims.find(|claim| claim.what == what);
        claim.and_then(|claim| claim.here).unwrap_or(f64::NAN)
    };
    let few = stated("recovery with SACK, in % of that without; 1 or 2 segments lost in a flight");
    let many =
        stated("recovery with SACK, in % of that without; 3 or more segments lost in a flight");
    let flights = |lost: RangeInclusive<usize>| {
        let count = |sack: bool| -> u64 {
            let lines = populations.with_sack.recoveries.iter().filter(|line| {
                line.detected_by == "any" && line.sack == Some(sack) && lost.contains(&line.lost)
            });
            lines.map(|line| line.recoveries).sum()
        };
        format!(
            "{} recoveries with SACK, {} without",
            count(true),
            count(false)
        )
    };
    let (least, most) = range(&by_system);
    vec![
        claim(
            "recovery-mechanism",
            "V-A2b",
            "How long a recovery takes does not depend on the mechanism that detected the loss",
            "one segment lost: the medians after FR/R and after a timeout differ by less than a fourth",
            (
                format!(
                    "FR/R {:.2}, timeout {:.2} RTTs",
                    mechanisms[0], mechanisms[1]
                ),
                (0.8..1.25).contains(&(mechanisms[0] / mechanisms[1])),
            ),
        ),
        claim(
            "recovery-losses",
            "V-A2b",
            "It depends primarily on the number of segments lost in the flight",
            "the median with four or more segments lost is at least twice that with one, and those with two or three lie in between",
            (
                format!(
                    "{:.2}, {:.2}, {:.2}, {:.2} RTTs for 1, 2, 3, 4 or more",
                    by_lost[0], by_lost[1], by_lost[2], by_lost[3]
                ),
                by_lost[3] >= 2.0 * by_lost[0]
                    && by_lost[1..3]
                        .iter()
                        .all(|median| (by_lost[0]..by_lost[3]).contains(median)),
            ),
        ),
        claim(
            "recovery-system",
            "V-A2b",
            "It is relatively independent of the system",
            "one segment lost: the largest median is at most a third above the least",
            (shown(&by_system, ""), most <= 4.0 / 3.0 * least),
        ),
        claim(
            "sack-few-losses",
            "V-A2b",
            "SACK does not shorten recoveries if one or two segments are lost in a flight",
            "the median with SACK is at least 95 % of that without; Windows, Linux and Solaris together",
            (format!("{few:.0} % ({})", flights(1..=2)), few >= 95.0),
        ),
        claim(
            "sack-three-losses",
            "V-A2b",
            "SACK shortens recoveries if three or more segments are lost in a flight",
            "the median with SACK is at most 90 % of that without; Windows, Linux and Solaris together",
            (
                format!("{many:.0} % ({})", flights(3..=MOST_LOST)),
                many <= 90.0,
            ),
        ),
    ]
}

/// §V-A3.
fn scope(populations: &Populations) -> Vec<Claim> {
    let much = populations.stated("senders with a best-case reduction of more than 10 %");
    let others = [much[WINDOWS], much[SOLARIS], much[FREEBSD]];
    vec![noted(
        "Over the same networks the systems with the larger least RTOs (FreeBSD 1200 ms, Solaris 400 ms) have more \
         to gain. In the study each system had its own networks: all senders of one trace ran Linux (Table III, ibi)",
        claim(
            "linux-gains-most",
            "V-A3",
            "More of Linux's connections than of the others' can become more than 10 % shorter (more than 40 % against less than 15 %)",
            "Linux's share is larger than each other",
            (shown(&much, " %"), much[LINUX] > range(&others).1),
        ),
    )]
}
