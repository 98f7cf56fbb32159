//! §2.2 and §2.3: the tail loss probe, and its restart.

use super::{Cells, Mechanism, Repair};
use crate::flow::run;
use crate::prelude::*;
use crate::tail_loss::RTTS;
use crate::tail_loss::cell::Acks;
use crate::tail_loss::single_flow::run_losing_fin;

const ALL: &[u64] = &super::LOST;
const SEVERAL: &[u64] = &[2, 3, 4, 5, 6];

/// The mechanisms that probe.
const PROBES: [Mechanism; 2] = [Mechanism::Tlp, Mechanism::Tlpr];

pub fn claims(setup: &Setup, cells: &Cells<'_>) -> Result<Vec<Claim>> {
    Ok(vec![
        one_probe_per_tail(setup, cells)?,
        claim("equation-by-outstanding").result(cells.in_every(Mechanism::Tlp, ALL, |_, first| {
            is_probe(first) && same(first.since_last_ack_ms, first.pto_ms())
        })),
        from_the_last_transmission(cells),
        pto_below_the_rto(cells),
        induces_a_sack(cells),
        new_data_or_the_last_segment(setup)?,
        fin_is_probed(setup)?,
        no_probe_after_earlier_losses(setup)?,
    ])
}

fn one_probe_per_tail(setup: &Setup, cells: &Cells<'_>) -> Result<Claim> {
    let lost = PROBES.map(|mechanism| {
        let cells = cells.of(mechanism, ALL);
        let one = cells.iter().filter(|cell| cell.probes == 1).count();
        (one, cells.len())
    });
    let (mut busy, mut all_busy) = (0, 0);
    for mechanism in PROBES {
        for rtt_ms in RTTS {
            // Data that is acknowledged all the time, and a loss that duplicate ACKs report.
            for (segments, drop) in [("10", "none"), ("100", "none"), ("100", "data:40")] {
                let trace = run(
                    setup,
                    mechanism.profile(),
                    &format!("rtt={rtt_ms}ms segments={segments} drop={drop} ack=quick"),
                )?;
                all_busy += 1;
                busy += usize::from(trace.record.counters.probes == 0);
            }
        }
    }
    let [(tlp, all), (tlpr, all_tlpr)] = lost;
    Ok(claim!(
        "one-probe-when-idle",
        "TLP {tlp} of {all}, TLPR {tlpr} of {all_tlpr} flows; none in {busy} of {all_busy}"
    )
    .holds(tlp == all && tlpr == all_tlpr && busy == all_busy))
}

fn is_probe(first: &Repair) -> bool {
    first.trigger == Some(Trigger::Tlp)
}

fn from_the_last_transmission(cells: &Cells<'_>) -> Claim {
    claim("tlpr-from-last-transmission").result(cells.in_every(Mechanism::Tlpr, ALL, |_, first| {
        let with_ack = same(first.since_last_ack_ms, 0.0) && first.since_newest_ms > first.pto_ms();
        is_probe(first) && (same(first.since_newest_ms, first.pto_ms()) || with_ack)
    }))
}

/// The probe timeout as a share of the RTO, where several segments are outstanding.
fn pto_below_the_rto(cells: &Cells<'_>) -> Claim {
    let cells = cells.of(Mechanism::Tlp, &[2]);
    let quick = cells.iter().filter(|cell| cell.acks == Acks::Quick);
    let waited = |first: &Repair| first.since_last_ack_ms / first.rto_ms;
    let shares: Vec<f64> = quick.map(|cell| cell.first.as_ref().map_or(NAN, waited)).collect();
    let (small, large) = shares.split_at(3);
    claim!(
        "pto-below-rto-at-small-rtt",
        "share of the RTO at 10 to 640 ms: {}",
        shares.iter().map(|share| format!("{share:.2}")).joined(", ")
    )
    .holds(
        small.iter().all(|share| *share < 0.5) && large.iter().skip(1).all(|share| *share > 0.5) && shares.is_sorted(),
    )
}

fn induces_a_sack(cells: &Cells<'_>) -> Claim {
    let answered = |mechanism| {
        cells.in_every(mechanism, SEVERAL, |cell, first| {
            // The receiver answers the probe at once, because it leaves a hole.
            is_probe(first) && cell.sack_after_ms.is_some_and(|ms| same(ms, cell.rtt_ms as f64 / 2.0))
        })
    };
    let silent = cells.of(Mechanism::Baseline, SEVERAL);
    let without = silent.iter().filter(|cell| cell.sack_after_ms.is_none());
    let (without, all) = (without.count(), silent.len());
    let [tlp, tlpr] = PROBES.map(answered);
    claim!("probe-induces-sack", "TLP {}, TLPR {}; no SACK in {without} of {all} flows of the baseline", tlp.0, tlpr.0)
        .holds(tlp.1 && tlpr.1 && without == all)
}

/// Twelve segments and a window of ten, all of which are lost; the receiver may have room for ten.
fn new_data_or_the_last_segment(setup: &Setup) -> Result<Claim> {
    let (mut shown, mut holds) = (vec![], true);
    let no_room = (10 * 1448_u64).to_string();
    for (name, segments, buffer, new) in [
        ("new data", "12", "64MiB", true),
        ("no room at the receiver", "12", no_room.as_str(), false),
        ("no new data", "10", "64MiB", false),
    ] {
        let (mut as_claimed, mut all) = (0, 0);
        for mechanism in PROBES {
            for rtt_ms in RTTS {
                let first = run(
                    setup,
                    mechanism.profile(),
                    &format!("rtt={rtt_ms}ms segments={segments} receive_buffer={buffer} drop=data:1-10 ack=quick"),
                )?
                .first_repair();
                let segment = |first: &Repair| (first.span.start.0 - 1) / 1448 + 1;
                all += 1;
                as_claimed += usize::from(first.is_some_and(|first| {
                    if new {
                        first.trigger.is_none() && segment(&first) == 11
                    } else {
                        is_probe(&first) && segment(&first) == 10
                    }
                }));
            }
        }
        holds &= as_claimed == all;
        shown.push(format!("{name}: {as_claimed} of {all}"));
    }
    Ok(claim("probe-new-data-or-last").shows(shown.join("; ")).holds(holds))
}

/// The server closes after its data is acknowledged, and the FIN is lost.
fn fin_is_probed(setup: &Setup) -> Result<Claim> {
    let (mut as_claimed, mut all) = (0, 0);
    for mechanism in PROBES {
        for rtt_ms in RTTS {
            let trace = run_losing_fin(setup, mechanism.profile(), &format!("rtt={rtt_ms}ms drop=none ack=quick"))?;
            let alone = trace.fins().all(|fin| fin.segment.payload_len == 0);
            let by_probe = trace.fired(Timer::Probe) == 1 && trace.fired(Timer::Rto) == 0;
            all += 1;
            as_claimed += usize::from(alone && trace.fins().count() == 2 && by_probe);
        }
    }
    Ok(claim("fin-is-probed").every(as_claimed, all, "flows"))
}

/// A loss shortly before the tail, too: the sender recovers it when the tail is lost.
fn no_probe_after_earlier_losses(setup: &Setup) -> Result<Claim> {
    let (mut silent, mut probing, mut slower, mut all) = (0, 0, 0, 0);
    for rtt in ["40ms", "80ms", "160ms", "320ms"] {
        for earlier in [94, 95, 96] {
            let own = format!("rtt={rtt} segments=100 drop=data:{earlier},tail:1 ack=quick");
            let rtor = run(setup, Mechanism::Rtor.profile(), &own)?.fct_ms();
            for mechanism in PROBES {
                let trace = run(setup, mechanism.profile(), &own)?;
                let tail = run(setup, mechanism.profile(), &format!("{own} drop=tail:1"))?;
                all += 1;
                silent += usize::from(trace.record.counters.probes == 0);
                probing += usize::from(tail.record.counters.probes == 1);
                slower += usize::from(trace.fct_ms() > rtor);
            }
        }
    }
    Ok(claim!(
        "no-probe-after-earlier-loss",
        "no probe in {silent}, slower than RTOR in {slower}; last alone: a probe in {probing} of {all} flows"
    )
    .holds(silent == all && slower == all && probing == all))
}
