//! The claims that figure 2 (one to five lost segments, RTT 80 ms) decides.

use super::{Cells, common, list};
use crate::prelude::*;
use crate::tail_loss::cell::{Acks, Mechanism, TailLossCell, bench};
use crate::tail_loss::{DEGREES, FIG2_RTT};
use Mechanism::{Baseline, Rtor, Tlpr};
use recoup_recovery::detect::EarlyRetransmit;

/// Checks the claims.
pub fn fig2(cells: &[TailLossCell], setup: &Setup) -> Result<Vec<Claim>> {
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
        claim("rtor-at-least-one-rtt")
            .shows(saved(Rtor))
            .holds(every(&[1, 2, 3], &|a, n| c.saved(a, rtt, n, Rtor) >= rtt as f64 - 1e-3)),
        claim("rtor-not-above-three")
            .shows(saved(Rtor))
            .holds(every(&[4, 5], &|a, n| same(c.saved(a, rtt, n, Rtor), 0.0))),
        claim!("probes-help-at-any-degree", "TLP {}; TLPR {}", saved(Mechanism::Tlp), saved(Tlpr))
            .holds(every(&[2, 3, 4, 5], &|a, n| {
                c.saved(a, rtt, n, Mechanism::Tlp) > 0.0 && c.saved(a, rtt, n, Tlpr) > 0.0
            })),
    ];
    claims.push(held_ack_claim(&c));
    claims.push(early_retransmit_claim(&c, setup)?);
    claims.extend(repair_claims(&c));
    claims.extend(common(cells, setup)?);
    Ok(claims)
}

/// RTOR also saves the receiver's delay if the last ACK was delayed.
fn held_ack_claim(c: &Cells) -> Claim {
    let saved = [1, 2, 3].map(|n| c.saved(Acks::Delayed, FIG2_RTT, n, Rtor));
    let rtt = FIG2_RTT as f64;
    let expected = [rtt + 200.0, rtt, rtt + 200.0];
    claim!("held-ack-saved-where-held", "saved {} ms", list(saved))
        .holds(saved.iter().zip(expected).all(|(s, e)| same(*s, e)))
}

/// The baseline with and without early retransmit.
fn early_retransmit_claim(c: &Cells, setup: &Setup) -> Result<Claim> {
    let mut equal = 0;
    for acks in Acks::ALL {
        for lost in DEGREES {
            let mut bench = bench(setup, acks, FIG2_RTT, lost, Baseline, "")?;
            bench.spec.server.mechanisms.early_retransmit = EarlyRetransmit::Off;
            let without = bench.run(0).fct_ms().unwrap_or(NAN);
            equal += usize::from(same(without, c.fct(acks, FIG2_RTT, lost, Baseline)));
        }
    }
    let all = Acks::ALL.len() * DEGREES.len();
    Ok(claim("early-retransmit-no-help").every(equal, all, "cells"))
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
            .flat_map(|(acks, n)| [Mechanism::Tlp, Tlpr].map(|m| c.get(acks, FIG2_RTT, n, m)))
            .collect();
        let holds = cells.iter().filter(|cell| as_claimed(cell)).count();
        (format!("{holds} of {} cells", cells.len()), holds == cells.len())
    };
    [
        claim("probe-repairs-the-last").result(repaired_by(&[1], Trigger::Fast)),
        claim("early-retransmit-for-2-3").result(repaired_by(&[2, 3], Trigger::Early)),
        claim("fack-for-4-and-more").result(repaired_by(&[4, 5], Trigger::Fast)),
    ]
}
