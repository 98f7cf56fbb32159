//! The claims that figure 2 (one to five lost segments, RTT 80 ms) decides.

use super::{Cells, Setup, claim, common, list, same};
use crate::claims::Claim;
use crate::tail_loss::cell::{Acks, Mechanism, TailLossCell, bench};
use crate::tail_loss::{DEGREES, FIG2_RTT};
use recoup_lab::settings::SettingsError;
use recoup_recovery::Trigger;
use recoup_recovery::detect::EarlyRetransmit;

/// Checks the claims.
pub fn fig2(cells: &[TailLossCell], setup: &Setup) -> Result<Vec<Claim>, SettingsError> {
    let c = Cells::new(cells);
    let rtt = FIG2_RTT;
    let every = |degrees: &[u64], f: &dyn Fn(Acks, u64) -> bool| {
        Acks::ALL.iter().all(|&acks| degrees.iter().all(|&n| f(acks, n)))
    };
    let saved = |mechanism: Mechanism| {
        let of = |acks| list(DEGREES.map(|n| c.saved(acks, rtt, n, mechanism)));
        format!("saved {} ms (delayed), {} ms (quick)", of(Acks::Delayed), of(Acks::Quick))
    };
    let mut claims = vec![
        claim(
            "rtor-at-least-one-rtt",
            "3.4",
            "RTOR saves at least one RTT when up to three segments are lost",
            "FCT saved ≥ RTT for one to three lost segments",
            (
                saved(Mechanism::Rtor),
                every(&[1, 2, 3], &|a, n| c.saved(a, rtt, n, Mechanism::Rtor) >= rtt as f64 - 1e-3),
            ),
        ),
        claim(
            "rtor-not-above-three",
            "3.1",
            "RTOR saves nothing when more than three segments are lost",
            "RTOR's FCT = the baseline's for four and five lost segments",
            (saved(Mechanism::Rtor), every(&[4, 5], &|a, n| same(c.saved(a, rtt, n, Mechanism::Rtor), 0.0))),
        ),
        claim(
            "probes-help-at-any-degree",
            "3.1",
            "TLP and TLPR reduce the FCT also when more than three segments are lost",
            "their FCTs are below the baseline's for two to five lost segments",
            (
                format!("TLP {}; TLPR {}", saved(Mechanism::Tlp), saved(Mechanism::Tlpr)),
                every(&[2, 3, 4, 5], &|a, n| {
                    c.saved(a, rtt, n, Mechanism::Tlp) > 0.0 && c.saved(a, rtt, n, Mechanism::Tlpr) > 0.0
                }),
            ),
        ),
    ];
    claims.push(held_ack_claim(&c));
    claims.push(early_retransmit_claim(&c, setup)?);
    claims.extend(repair_claims(&c));
    claims.extend(common(cells, setup)?);
    Ok(claims)
}

/// RTOR also saves the receiver's delay if the last ACK was delayed.
fn held_ack_claim(c: &Cells) -> Claim {
    let saved = [1, 2, 3].map(|n| c.saved(Acks::Delayed, FIG2_RTT, n, Mechanism::Rtor));
    let rtt = FIG2_RTT as f64;
    let expected = [rtt + 200.0, rtt, rtt + 200.0];
    claim(
        "held-ack-saved-where-held",
        "3.1",
        "RTOR also saves the delayed-ACK time if the last ACK is delayed",
        "delayed ACKs: FCT saved = RTT + 200 ms with an odd number of segments before the loss (n = 1, 3), RTT with an even number (n = 2)",
        (format!("saved {} ms", list(saved)), saved.iter().zip(expected).all(|(s, e)| same(*s, e))),
    )
}

/// The baseline with and without early retransmit.
fn early_retransmit_claim(c: &Cells, setup: &Setup) -> Result<Claim, SettingsError> {
    let mut equal = 0;
    for acks in Acks::ALL {
        for lost in DEGREES {
            let mut bench = bench(setup, acks, FIG2_RTT, lost, Mechanism::Baseline, &[])?;
            bench.spec.server.mechanisms.early_retransmit = EarlyRetransmit::Off;
            let without = bench.run(0).fct_ms().unwrap_or(f64::NAN);
            equal += usize::from(same(without, c.fct(acks, FIG2_RTT, lost, Mechanism::Baseline)));
        }
    }
    let all = Acks::ALL.len() * DEGREES.len();
    Ok(claim(
        "early-retransmit-no-help",
        "2",
        "Early retransmit does not help when the last segments of a flow are lost",
        "the baseline's FCT is the same with early retransmit off",
        (format!("{equal} of {all} cells"), equal == all),
    ))
}

/// The mechanisms that repair the losses which the probe does not.
fn repair_claims(c: &Cells) -> [Claim; 3] {
    let repaired_by = |degrees: &[u64], trigger: Trigger| {
        let as_claimed = |cell: &TailLossCell| {
            let rest = cell.lost - 1;
            cell.count(Trigger::Tlp) == 1 && cell.count(trigger) == rest && cell.count(Trigger::Rto) == 0
        };
        let cells: Vec<&TailLossCell> = degrees
            .iter()
            .flat_map(|&n| Acks::ALL.map(|acks| (acks, n)))
            .flat_map(|(acks, n)| [Mechanism::Tlp, Mechanism::Tlpr].map(|m| c.get(acks, FIG2_RTT, n, m)))
            .collect();
        let holds = cells.iter().filter(|cell| as_claimed(cell)).count();
        (format!("{holds} of {} cells", cells.len()), holds == cells.len())
    };
    [
        claim(
            "probe-repairs-the-last",
            "2.2",
            "The probe itself repairs the loss of the last segment",
            "one segment lost: the probe is the only retransmission",
            repaired_by(&[1], Trigger::Fast),
        ),
        claim(
            "early-retransmit-for-2-3",
            "3.1",
            "With two or three segments lost, early retransmit repairs the losses that the probe does not",
            "two and three segments lost: one probe, all other retransmissions by early retransmit, no timeout",
            repaired_by(&[2, 3], Trigger::Early),
        ),
        claim(
            "fack-for-4-and-more",
            "3.1",
            "With four or more segments lost, FACK starts the recovery after the probe",
            "four and five segments lost: one probe, all other retransmissions in fast recovery, no timeout",
            repaired_by(&[4, 5], Trigger::Fast),
        ),
    ]
}
