//! What §2, §3.1 and §3.4 say that these figures can decide.

use super::cell::{Acks, Cell, FLOWS, First, MECHANISMS, run_cell};
use super::{DEGREES, FIG2_RTT, RTTS};
use crate::claims::{Claim, Verdict};
use crate::scenario::Scenario;
use crate::settings::SettingsError;
use recoup_recovery::Trigger;

/// Times are compared to the microsecond: the engine keeps nanoseconds and shifts integers.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

/// The cells of a figure by what they are.
struct Cells<'a>(&'a [Cell]);

impl Cells<'_> {
    fn get(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: &str) -> &Cell {
        let found = self.0.iter().find(|c| {
            c.ack == acks.name() && c.rtt_ms == rtt_ms && c.lost == lost && c.mechanism == mechanism
        });
        found.unwrap_or(&self.0[0])
    }

    fn fct(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: &str) -> f64 {
        self.get(acks, rtt_ms, lost, mechanism)
            .fct_ms
            .unwrap_or(f64::NAN)
    }

    /// Baseline's FCT less the mechanism's.
    fn saved(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: &str) -> f64 {
        self.fct(acks, rtt_ms, lost, "baseline") - self.fct(acks, rtt_ms, lost, mechanism)
    }

    fn first(&self, acks: Acks, rtt_ms: u64, lost: u64, mechanism: &str) -> Option<First> {
        self.get(acks, rtt_ms, lost, mechanism).first
    }
}

/// Equation 1, in ms.
fn equation_1(first: &First) -> f64 {
    (2.0 * first.srtt_ms).max(10.0)
}

/// Equation 2 capped by the RTO, in ms.
fn equation_2(first: &First) -> f64 {
    let pto = (2.0 * first.srtt_ms).max(1.5 * first.srtt_ms + 200.0);
    pto.min(first.rto_ms)
}

/// A list of values for a report.
fn list(values: impl IntoIterator<Item = f64>) -> String {
    let rounded = values
        .into_iter()
        .map(|v| format!("{}", (v * 1e3).round() / 1e3));
    rounded.collect::<Vec<_>>().join(", ")
}

/// How many of the cells of figure 1 satisfy `f`, as text, and whether all do.
fn in_every_cell(f: impl Fn(Acks, u64) -> bool) -> (String, bool) {
    let cells = Acks::ALL
        .iter()
        .flat_map(|&acks| RTTS.map(|rtt| f(acks, rtt)));
    let holds = cells.filter(|holds| *holds).count();
    let all = Acks::ALL.len() * RTTS.len();
    (format!("{holds} of {all} cells"), holds == all)
}

fn claim(
    id: &'static str,
    section: &'static str,
    statement: &'static str,
    check: &'static str,
    (ours, holds): (String, bool),
) -> Claim {
    let verdict = Verdict::on(holds);
    Claim {
        id,
        section,
        statement,
        check,
        ours,
        verdict,
        known: Verdict::Holds,
        note: None,
    }
}

/// The claims figure 1 decides.
pub fn fig1(cells: &[Cell], base: &Scenario) -> Result<Vec<Claim>, SettingsError> {
    let c = Cells(cells);
    let mut claims = restart_claims(&c);
    claims.extend(probe_claims(&c));
    claims.push(probe_restart_claim(&c));
    claims.push(ten_ms_exception(&c, base)?);
    claims.extend(common(cells));
    if let Some(claim) = claims.iter_mut().find(|c| c.id == "no-spurious") {
        claim.note = Some(tie_break_note(base)?);
    }
    Ok(claims)
}

fn restart_claims(c: &Cells) -> Vec<Claim> {
    let (quick, delayed) = (Acks::Quick, Acks::Delayed);
    let saved = |acks| RTTS.map(|rtt| c.saved(acks, rtt, 1, "RTOR"));
    let held = |acks| if acks == delayed { 200.0 } else { 0.0 };
    let rto_and_more = |acks, rtt| {
        let expected = |f: First| f.rto_ms + rtt as f64 + held(acks);
        c.first(acks, rtt, 1, "baseline")
            .is_some_and(|f| same(f.since_earliest_ms, expected(f)))
    };
    let exactly_rto = |acks, rtt| {
        c.first(acks, rtt, 1, "RTOR")
            .is_some_and(|f| same(f.since_earliest_ms, f.rto_ms))
    };
    let saves = |acks, more: f64| {
        let all = RTTS
            .iter()
            .all(|&rtt| same(c.saved(acks, rtt, 1, "RTOR"), rtt as f64 + more));
        (format!("saved {} ms", list(saved(acks))), all)
    };
    let relative =
        RTTS.map(|rtt| c.saved(delayed, rtt, 1, "RTOR") / c.fct(delayed, rtt, 1, "baseline"));
    vec![
        claim(
            "restart-costs-rtt",
            "2.1",
            "The standard timer adds one RTT to the recovery of a lost tail segment, and a delayed ACK's delay on top",
            "baseline: retransmission − transmission of the lost segment = RTO + RTT (+ 200 ms with delayed ACKs), at every RTT",
            in_every_cell(rto_and_more),
        ),
        claim(
            "rtor-exactly-rto",
            "2.1, 3.4",
            "With RTO restart the retransmission comes exactly one RTO after the transmission, never earlier",
            "RTOR: retransmission − transmission of the lost segment = RTO, at every RTT",
            in_every_cell(exactly_rto),
        ),
        claim(
            "rtor-reduces",
            "3.1",
            "RTOR consistently reduces the FCT",
            "RTOR's FCT below the baseline's at every RTT, both receivers",
            in_every_cell(|acks, rtt| c.saved(acks, rtt, 1, "RTOR") > 0.0),
        ),
        claim(
            "rtor-quick-rtt",
            "3.1",
            "With quick ACKs RTOR saves one RTT",
            "saved = RTT at every RTT",
            saves(quick, 0.0),
        ),
        claim(
            "rtor-delayed-ack",
            "3.1",
            "With delayed ACKs RTOR saves the delayed-ACK time as well",
            "saved = RTT + 200 ms at every RTT (the last ACK, of the ninth segment, is a delayed one)",
            saves(delayed, 200.0),
        ),
        claim(
            "delack-weighs-at-small-rtt",
            "3.1",
            "The smaller the RTT, the more the delayed-ACK timer weighs in RTOR's gain",
            "RTOR's relative gain with delayed ACKs falls as the RTT grows",
            (
                format!("relative gain {}", list(relative)),
                relative.windows(2).all(|w| w[0] > w[1]),
            ),
        ),
    ]
}

fn probe_claims(c: &Cells) -> Vec<Claim> {
    let (quick, delayed) = (Acks::Quick, Acks::Delayed);
    let (small, large) = RTTS.split_at(4);
    let by = |acks, rtts: &[u64], expected: fn(&First) -> f64| {
        rtts.iter().all(|&rtt| {
            let first = c.first(acks, rtt, 1, "TLP");
            first.is_some_and(|f| f.trigger == "tlp" && same(f.since_last_ack_ms, expected(&f)))
        })
    };
    let normalised = |acks, rtts: &[u64]| {
        let of = |&rtt: &u64| {
            c.get(acks, rtt, 1, "TLP")
                .fct_normalised
                .unwrap_or(f64::NAN)
        };
        format!("normalised FCT {}", list(rtts.iter().map(of)))
    };
    let gains_much =
        |rtt: &u64| c.saved(delayed, *rtt, 1, "TLP") > 0.4 * c.fct(delayed, *rtt, 1, "baseline");
    vec![
        claim(
            "tlp-large-gains",
            "3.1",
            "With delayed ACKs TLP gains much at RTTs of 10 to 80 ms, since the probe timeout of equation 1 passes before the held ACK is back",
            "10 to 80 ms: the probe leaves 2·SRTT (at least 10 ms) after the last ACK, and the FCT falls by more than 40 %",
            (
                normalised(delayed, small),
                by(delayed, small, equation_1) && small.iter().all(gains_much),
            ),
        ),
        claim(
            "tlp-gains-end-at-160",
            "3.1",
            "From 160 ms on the held ACK returns before the probe timeout and equation 2 takes over",
            "160 to 640 ms: the probe leaves min(max(2·SRTT, 1.5·SRTT + 200 ms), RTO) after the last ACK, the held one (200 ms < 2·RTT), and the FCT falls by less than 40 %",
            (
                normalised(delayed, large),
                by(delayed, large, equation_2) && !large.iter().any(gains_much),
            ),
        ),
        claim(
            "quick-equation-2",
            "3.1",
            "With quick ACKs equation 2 is used",
            "20 to 640 ms: the probe leaves min(max(2·SRTT, 1.5·SRTT + 200 ms), RTO) after the last ACK",
            (
                normalised(quick, &RTTS[1..]),
                by(quick, &RTTS[1..], equation_2),
            ),
        ),
    ]
}

/// TLPR's timer, by either equation: which one depends on what was outstanding at the last ACK.
fn probe_restart_claim(c: &Cells) -> Claim {
    let capped = |pto: f64, f: &First| pto.min(f.rto_ms);
    let from_transmission = |acks, rtt| {
        c.first(acks, rtt, 1, "TLPR").is_some_and(|f| {
            let by =
                |equation: fn(&First) -> f64| same(f.since_earliest_ms, capped(equation(&f), &f));
            f.trigger == "tlp" && (by(equation_1) || by(equation_2))
        })
    };
    claim(
        "tlpr-from-transmission",
        "2.3",
        "TLPR sends its probe PTO after the last segment was transmitted, not after the last ACK",
        "TLPR: probe − transmission of the last segment = min(PTO, RTO), PTO by equation 1 or 2, at every RTT",
        in_every_cell(from_transmission),
    )
}

/// The paper's exception at 10 ms, and the receiver that would produce it.
fn ten_ms_exception(c: &Cells, base: &Scenario) -> Result<Claim, SettingsError> {
    let (acks, tlp) = (Acks::Quick, 2);
    let first = c.first(acks, 10, 1, "TLP");
    let waited = first.map_or(f64::NAN, |f| f.since_last_ack_ms);
    let holds = first.is_some_and(|f| same(waited, equation_1(&f)));
    let by_equation_1 = |rtt| -> Result<bool, SettingsError> {
        let first = run_cell(base, acks, rtt, 1, tlp, &[("ack", "linux:8")])?.first;
        Ok(first.is_some_and(|f| same(f.since_last_ack_ms, equation_1(&f))))
    };
    let explained = by_equation_1(10)? && !by_equation_1(20)?;
    let mut claim = claim(
        "ten-ms-exception",
        "3.1",
        "With quick ACKs, at 10 ms the probe timeout of equation 1 passes before the ACK of the ninth segment arrives",
        "10 ms: the probe leaves 2·SRTT = 20 ms after the last ACK",
        (
            format!(
                "the probe leaves {} ms after the ninth segment's ACK",
                list([waited])
            ),
            holds,
        ),
    );
    claim.known = Verdict::Fails;
    claim.note = Some(format!(
        "it does not follow from exact timers and an ACK a segment: all nine ACKs are back after \
         10 ms, equation 1 waits 20. A receiver whose quick ACKs end at eight would produce it: the \
         ninth ACK is then held for 40 ms, Linux's shortest delay, which is longer than 2·SRTT at \
         10 ms and no longer at 20 ms. With ack=linux:8 that {}",
        match explained {
            true => "is what happens: equation 1 at 10 ms, not at 20 ms",
            false => "does not happen either",
        }
    ));
    Ok(claim)
}

/// A link rate breaks the tie between RTOR's deadline and a held ACK.
fn tie_break_note(base: &Scenario) -> Result<String, SettingsError> {
    let spurious = |more: &[(&str, &str)]| -> Result<u64, SettingsError> {
        Ok(run_cell(base, Acks::Delayed, FIG2_RTT, 1, 1, more)?.spurious)
    };
    let (without, with) = (spurious(&[])?, spurious(&[("rate", "100Mbit")])?);
    Ok(format!(
        "RTOR's deadline for the ninth segment and its ACK, held for 200 ms, fall on the same \
         instant (RTO = RTT + 200 ms), and the ACK is handled first. A link rate makes the ACK later \
         than the deadline: at 80 ms with delayed ACKs, {without} spurious retransmissions in {FLOWS} \
         flows with rate=none, {with} with rate=100Mbit"
    ))
}

/// The claims figure 2 decides.
pub fn fig2(cells: &[Cell]) -> Vec<Claim> {
    let c = Cells(cells);
    let rtt = FIG2_RTT;
    let every = |degrees: &[u64], f: &dyn Fn(Acks, u64) -> bool| {
        Acks::ALL
            .iter()
            .all(|&acks| degrees.iter().all(|&n| f(acks, n)))
    };
    let saved = |mechanism: &str| {
        let of = |acks| list(DEGREES.map(|n| c.saved(acks, rtt, n, mechanism)));
        format!(
            "saved {} ms (delayed), {} ms (quick)",
            of(Acks::Delayed),
            of(Acks::Quick)
        )
    };
    let mut claims = vec![
        claim(
            "rtor-at-least-one-rtt",
            "3.4",
            "RTOR saves at least one RTT",
            "saved ≥ RTT for one to three lost segments",
            (
                saved("RTOR"),
                every(&[1, 2, 3], &|a, n| {
                    c.saved(a, rtt, n, "RTOR") >= rtt as f64 - 1e-3
                }),
            ),
        ),
        claim(
            "rtor-not-above-three",
            "3.1",
            "RTOR saves nothing when more than three segments are lost",
            "RTOR's FCT = the baseline's for four and five lost segments",
            (
                saved("RTOR"),
                every(&[4, 5], &|a, n| same(c.saved(a, rtt, n, "RTOR"), 0.0)),
            ),
        ),
        claim(
            "probes-help-at-any-degree",
            "3.1",
            "TLP and TLPR reduce the FCT as the degree of loss grows, above three too",
            "their FCTs below the baseline's for two to five lost segments",
            (
                format!("TLP {}; TLPR {}", saved("TLP"), saved("TLPR")),
                every(&[2, 3, 4, 5], &|a, n| {
                    c.saved(a, rtt, n, "TLP") > 0.0 && c.saved(a, rtt, n, "TLPR") > 0.0
                }),
            ),
        ),
    ];
    claims.extend(repair_claims(&c));
    claims.extend(common(cells));
    claims
}

/// What repairs the segments that the probe itself did not.
fn repair_claims(c: &Cells) -> [Claim; 3] {
    let repaired_by = |degrees: &[u64], trigger: Trigger| {
        let as_claimed = |cell: &Cell| {
            let rest = cell.lost - 1;
            cell.count(Trigger::Tlp) == 1
                && cell.count(trigger) == rest
                && cell.count(Trigger::Rto) == 0
        };
        let cells: Vec<&Cell> = degrees
            .iter()
            .flat_map(|&n| Acks::ALL.map(|acks| (acks, n)))
            .flat_map(|(acks, n)| ["TLP", "TLPR"].map(|m| c.get(acks, FIG2_RTT, n, m)))
            .collect();
        let holds = cells.iter().filter(|cell| as_claimed(cell)).count();
        (
            format!("{holds} of {} cells", cells.len()),
            holds == cells.len(),
        )
    };
    [
        claim(
            "probe-repairs-the-last",
            "2.2",
            "The probe itself repairs the loss of the last segment",
            "one lost: the probe is the only retransmission",
            repaired_by(&[1], Trigger::Fast),
        ),
        claim(
            "early-retransmit-for-2-3",
            "3.1",
            "With two or three lost, early retransmit repairs what the probe did not",
            "two and three lost: one probe, all others sent by early retransmit, no timeout",
            repaired_by(&[2, 3], Trigger::Early),
        ),
        claim(
            "fack-for-4-and-more",
            "3.1",
            "With four or more lost, FACK starts the recovery after the probe",
            "four and five lost: one probe, all others sent in fast recovery, no timeout",
            repaired_by(&[4, 5], Trigger::Fast),
        ),
    ]
}

/// What both figures decide.
fn common(cells: &[Cell]) -> [Claim; 3] {
    let mut worse = Vec::new();
    let groups: Vec<&[Cell]> = cells.chunks(MECHANISMS.len()).collect();
    for bars in &groups {
        let fct = |cell: &Cell| cell.fct_ms.unwrap_or(f64::INFINITY);
        let Some((tlpr, others)) = bars.split_last() else {
            continue;
        };
        if others.iter().any(|other| fct(other) < fct(tlpr) - 1e-3) {
            worse.push(format!(
                "{} at {} ms, {} lost",
                tlpr.ack, tlpr.rtt_ms, tlpr.lost
            ));
        }
    }
    let best = format!(
        "best or tied in {} of {} groups",
        groups.len() - worse.len(),
        groups.len()
    );
    let mut best = claim(
        "tlpr-best",
        "3.1, 5",
        "TLPR gives the largest reductions",
        "TLPR's FCT the lowest, or tied, in every group of bars",
        (best, worse.is_empty()),
    );
    best.note =
        (!worse.is_empty()).then(|| format!("another mechanism is faster: {}", worse.join("; ")));
    let steady = cells.iter().filter(|c| !c.varies).count();
    let spurious: u64 = cells.iter().map(|c| c.spurious).sum();
    let flows = FLOWS * cells.len() as u64;
    [
        best,
        claim(
            "no-variation",
            "3.1",
            "Nothing varies between runs",
            "eleven flows a cell, each with its own initial sequence numbers, take equally long",
            (
                format!("{steady} of {} cells", cells.len()),
                steady == cells.len(),
            ),
        ),
        claim(
            "no-spurious",
            "3.1",
            "No retransmission is spurious",
            "spurious retransmissions of all flows, with rate=none",
            (format!("{spurious} in {flows} flows"), spurious == 0),
        ),
    ]
}
