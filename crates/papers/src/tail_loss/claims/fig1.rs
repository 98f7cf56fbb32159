//! The claims that figure 1 (one lost segment, by RTT) decides.

use super::{Cells, common, comparisons, list};
use crate::prelude::*;
use crate::tail_loss::RTTS;
use crate::tail_loss::cell::{Acks, First, Mechanism, TailLossCell, bench, run_cell};
use Mechanism::{Baseline, Rtor, Tlpr};

/// Equation 1, in ms.
fn equation_1(first: &First) -> f64 {
    (2.0 * first.srtt_ms).max(10.0)
}

/// Equation 2 capped by the RTO, in ms.
fn equation_2(first: &First) -> f64 {
    let pto = (2.0 * first.srtt_ms).max(1.5 * first.srtt_ms + 200.0);
    pto.min(first.rto_ms)
}

/// The number of figure 1's cells that satisfy `f`, as text, and whether all do.
fn in_every_cell(f: impl Fn(Acks, u64) -> bool) -> (String, bool) {
    let cells = Acks::ALL.iter().flat_map(|&acks| RTTS.map(|rtt| f(acks, rtt)));
    let holds = cells.filter(|holds| *holds).count();
    let all = Acks::ALL.len() * RTTS.len();
    (format!("{holds} of {all} cells"), holds == all)
}

/// Checks the claims.
pub fn fig1(cells: &[TailLossCell], setup: &Setup) -> Result<Vec<Claim>> {
    let c = Cells::new(cells);
    let mut claims = restart_claims(&c);
    claims.extend(probe_claims(&c));
    claims.push(probe_restart_claim(&c));
    claims.push(equations_claim(setup));
    claims.push(capped_claim(&c));
    claims.push(idle_probe_claim(setup)?);
    claims.push(ten_ms_exception(&c, setup)?);
    claims.extend(comparisons::claims(cells, setup)?);
    claims.extend(common(cells, setup)?);
    Ok(claims)
}

fn restart_claims(c: &Cells) -> Vec<Claim> {
    let (quick, delayed) = (Acks::Quick, Acks::Delayed);
    let saved = |acks| RTTS.map(|rtt| c.saved(acks, rtt, 1, Rtor));
    let held = |acks| if acks == delayed { 200.0 } else { 0.0 };
    let rto_and_more = |acks, rtt| {
        let expected = |f: First| f.rto_ms + rtt as f64 + held(acks);
        c.first(acks, rtt, 1, Baseline).is_some_and(|f| same(f.since_earliest_ms, expected(f)))
    };
    let exactly_rto = |acks, rtt| c.first(acks, rtt, 1, Rtor).is_some_and(|f| same(f.since_earliest_ms, f.rto_ms));
    let saves = |acks, more: f64| {
        let all = RTTS.iter().all(|&rtt| same(c.saved(acks, rtt, 1, Rtor), rtt as f64 + more));
        (format!("saved {} ms", list(saved(acks))), all)
    };
    let relative = RTTS.map(|rtt| c.saved(delayed, rtt, 1, Rtor) / c.fct(delayed, rtt, 1, Baseline));
    vec![
        claim("restart-costs-rtt").result(in_every_cell(rto_and_more)),
        claim("rtor-exactly-rto").result(in_every_cell(exactly_rto)),
        claim("rtor-reduces").result(in_every_cell(|acks, rtt| c.saved(acks, rtt, 1, Rtor) > 0.0)),
        claim("rtor-quick-rtt").result(saves(quick, 0.0)),
        claim("rtor-delayed-ack").result(saves(delayed, 200.0)),
        claim!("delack-weighs-at-small-rtt", "relative gain {}", list(relative))
            .holds(relative.windows(2).all(|w| w[0] > w[1])),
    ]
}

fn probe_claims(c: &Cells) -> Vec<Claim> {
    let (quick, delayed) = (Acks::Quick, Acks::Delayed);
    let (small, large) = RTTS.split_at(4);
    let by = |acks, rtts: &[u64], expected: fn(&First) -> f64| {
        rtts.iter().all(|&rtt| {
            c.first(acks, rtt, 1, Mechanism::Tlp)
                .is_some_and(|f| f.trigger == "tlp" && same(f.since_last_ack_ms, expected(&f)))
        })
    };
    let normalised = |acks, rtts: &[u64]| {
        let of = |&rtt: &u64| c.get(acks, rtt, 1, Mechanism::Tlp).fct_established_normalised.unwrap_or(NAN);
        format!("normalised FCT {}", list(rtts.iter().map(of)))
    };
    let gains_much = |rtt: &u64| c.saved(delayed, *rtt, 1, Mechanism::Tlp) > 0.4 * c.fct(delayed, *rtt, 1, Baseline);
    vec![
        claim("tlp-large-gains")
            .shows(normalised(delayed, small))
            .holds(by(delayed, small, equation_1) && small.iter().all(gains_much)),
        claim("tlp-gains-end-at-160")
            .shows(normalised(delayed, large))
            .holds(by(delayed, large, equation_2) && !large.iter().any(gains_much)),
        claim("quick-equation-2").shows(normalised(quick, &RTTS[1..])).holds(by(quick, &RTTS[1..], equation_2)),
    ]
}

/// The ratio of the two probe timeouts.
fn equations_claim(setup: &Setup) -> Claim {
    let rules = setup.profile(Mechanism::Tlp.profile()).mechanisms().probe;
    let ratio = RTTS.map(|rtt| {
        let pto = |outstanding| {
            let srtt = Some(Duration::from_millis(rtt));
            let timeout = rules.and_then(|rules| rules.timeout(srtt, Segments(outstanding)));
            timeout.map_or(NAN, |timeout| timeout.as_secs_f64())
        };
        pto(10) / pto(1)
    });
    let small = ratio[..4].iter().all(|r| *r <= 0.5) && ratio.is_sorted();
    claim!("equation-1-much-smaller", "ratio {}", list(ratio)).holds(small)
}

/// The smaller of probe timeout and RTO applies.
fn capped_claim(c: &Cells) -> Claim {
    let short = &RTTS[..4];
    let capped = short.iter().filter_map(|&rtt| c.first(Acks::Quick, rtt, 1, Mechanism::Tlp)).filter(|f| {
        let pto = (2.0 * f.srtt_ms).max(1.5 * f.srtt_ms + 200.0);
        f.trigger == "tlp" && pto > f.rto_ms && same(f.since_last_ack_ms, f.rto_ms)
    });
    let count = capped.count();
    claim("pto-capped-by-rto").every(count, short.len(), "cells")
}

/// A probe after which nothing turns out lost.
fn idle_probe_claim(setup: &Setup) -> Result<Claim> {
    let mut unchanged = 0;
    for mechanism in [Mechanism::Tlp, Tlpr] {
        for rtt in RTTS {
            // The client's first pure ACK ends the handshake, so the eleventh is the last.
            let mut bench = bench(setup, Acks::Quick, rtt, 0, mechanism, "drop=up:ack:11")?;
            let record = bench.record(0);
            let sender = bench.simulation.endpoint(Host::Server).sender();
            let probed =
                record.counters.retransmissions.of(Trigger::Tlp) == 1 && record.counters.retransmissions.total() == 1;
            let untouched = sender.state() == State::Open && sender.ssthresh() == Segments::MAX;
            unchanged += usize::from(probed && untouched);
        }
    }
    let all = 2 * RTTS.len();
    Ok(claim("probe-without-loss").every(unchanged, all, "flows"))
}

/// TLPR's timer. The number of segments outstanding at the last ACK decides between the equations.
fn probe_restart_claim(c: &Cells) -> Claim {
    let capped = |pto: f64, f: &First| pto.min(f.rto_ms);
    let from_transmission = |acks, rtt| {
        c.first(acks, rtt, 1, Tlpr).is_some_and(|f| {
            let by = |equation: fn(&First) -> f64| same(f.since_earliest_ms, capped(equation(&f), &f));
            f.trigger == "tlp" && (by(equation_1) || by(equation_2))
        })
    };
    claim("tlpr-from-transmission").result(in_every_cell(from_transmission))
}

/// The paper's exception at 10 ms, and a receiver that produces it.
fn ten_ms_exception(c: &Cells, setup: &Setup) -> Result<Claim> {
    let (acks, tlp) = (Acks::Quick, Mechanism::Tlp);
    let first = c.first(acks, 10, 1, Mechanism::Tlp);
    let waited = first.map_or(NAN, |f| f.since_last_ack_ms);
    let holds = first.is_some_and(|f| same(waited, equation_1(&f)));
    let by_equation_1 = |rtt| -> Result<bool> {
        let first = run_cell(setup, acks, rtt, 1, tlp, "ack=linux:8")?.first;
        Ok(first.is_some_and(|f| same(f.since_last_ack_ms, equation_1(&f))))
    };
    let explained = by_equation_1(10)? && !by_equation_1(20)?;

    Ok(claim!("ten-ms-exception", "the probe leaves {} ms after the ninth segment's ACK", list([waited]))
        .holds(holds)
        .fill(&[&if explained {
            "the simulator shows this: equation 1 at an RTT of 10 ms, but not at 20 ms"
        } else {
            "the simulator does not show this either"
        }]))
}
