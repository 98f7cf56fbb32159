//! §2 and §2.1: the retransmission timer, and RTO restart.

use super::{Cells, Mechanism};
use crate::flow::{run, run_many};
use crate::prelude::*;
use crate::tail_loss::RTTS;
use crate::tail_loss::cell::{Acks, MECHANISMS};
use Mechanism::{Baseline, Rtor};
use Trigger::{Fast, Rto};

/// Fewer segments outstanding than RTO restart's threshold, and as many or more.
const BELOW_FOUR: &[u64] = &[1, 2, 3];
const FOUR_AND_MORE: &[u64] = &[4, 5, 6];
const ALL: &[u64] = &super::LOST;

pub fn claims(setup: &Setup, cells: &Cells<'_>) -> Result<Vec<Claim>> {
    Ok(vec![
        timeout_without_ack(setup)?,
        rto_follows_the_rtt(setup)?,
        claim("rto-after-last-ack").result(cells.in_every(Baseline, ALL, |_, first| {
            first.trigger == Some(Rto)
                && same(first.since_last_ack_ms, first.rto_ms)
                && first.since_earliest_ms > first.rto_ms + 1e-3
        })),
        below_four(cells),
        too_few_for_fast_retransmit(setup)?,
        never_below_the_rto(setup)?,
        converges_in_long_flows(setup)?,
        lost_ack_is_spurious(setup)?,
        repaired_segment_is_acked_late(setup)?,
    ])
}

/// Flows of one segment, which is lost or not.
fn timeout_without_ack(setup: &Setup) -> Result<Claim> {
    let (mut as_claimed, mut all) = (0, 0);
    for rtt_ms in RTTS {
        for drop in ["tail:1", "none"] {
            let repairs =
                run(setup, Baseline.profile(), &format!("rtt={rtt_ms}ms segments=1 ack=quick drop={drop}"))?.repairs();
            all += 1;
            as_claimed += usize::from(match (drop, &repairs[..]) {
                ("none", []) => true,
                ("tail:1", [one]) => one.trigger == Some(Rto) && same(one.since_earliest_ms, one.rto_ms),
                _ => false,
            });
        }
    }
    Ok(claim("rto-without-ack").every(as_claimed, all, "flows"))
}

/// A path whose RTT grows from segment to segment, because they queue.
fn rto_follows_the_rtt(setup: &Setup) -> Result<Claim> {
    let own = "drop=none rate=1Mbit ack=quick segments=40";
    let samples = run(setup, Baseline.profile(), own)?.rtt_samples();
    let pairs = samples.windows(2).filter(|pair| {
        let [_, before, _] = pair[0];
        let [rtt, srtt, rto] = pair[1];
        let between = srtt >= before.min(rtt) - 1e-6 && srtt <= before.max(rtt) + 1e-6;
        between && rto >= srtt + 200.0 - 1e-6
    });
    let (count, all) = (pairs.count(), samples.len().saturating_sub(1));
    let grown = samples.last().zip(samples.first()).map_or(NAN, |(last, first)| last[1] - first[1]);
    Ok(claim!("rto-follows-the-rtt", "{count} of {all} samples; SRTT grew by {grown:.0} ms")
        .holds(all > 0 && count == all && grown > 100.0))
}

fn below_four(cells: &Cells<'_>) -> Claim {
    let few = cells.in_every(Rtor, BELOW_FOUR, |cell, first| {
        first.trigger == Some(Rto)
            && first.outstanding as u64 == cell.lost
            && same(first.since_earliest_ms, first.rto_ms)
    });
    let many = cells.in_every(Rtor, FOUR_AND_MORE, |cell, first| {
        first.trigger == Some(Rto)
            && first.outstanding as u64 == cell.lost
            && same(first.since_last_ack_ms, first.rto_ms)
            && first.since_earliest_ms > first.rto_ms + 1e-3
    });
    claim!("restart-below-four", "one to three: {}; four to six: {}", few.0, many.0).holds(few.1 && many.1)
}

/// Flows of n segments that lose the first one. Early retransmit is off.
fn too_few_for_fast_retransmit(setup: &Setup) -> Result<Claim> {
    let (mut shown, mut holds) = (vec![], true);
    for segments in 2..=6_u64 {
        let first =
            run(setup, "linux-3.17+noer", &format!("segments={segments} drop=data:1 ack=quick"))?.first_repair();
        let trigger = first.and_then(|first| first.trigger);
        let expected = if segments < 4 { Rto } else { Fast };
        holds &= trigger == Some(expected);
        shown.push(format!("{segments}: {}", trigger.map_or("none", Trigger::name)));
    }
    Ok(claim("below-four-no-fast-retransmit").shows(shown.join(", ")).holds(holds))
}

/// Random losses in both directions.
fn never_below_the_rto(setup: &Setup) -> Result<Claim> {
    let flows = setup.effort.of(2000, 400);
    let (mut early, mut timeouts) = (0, 0);
    for acks in Acks::ALL {
        for trace in
            run_many(setup, Rtor.profile(), &format!("drop=bernoulli:10%,up:bernoulli:10% ack={}", acks.name()), flows)?
        {
            // The timer's retransmissions: no ACK asks for them.
            for one in trace.repairs() {
                if matches!(one.trigger, Some(Rto | Trigger::Tlp) | None) {
                    timeouts += 1;
                    early += u64::from(one.since_earliest_ms < one.rto_ms - 1e-3);
                }
            }
        }
    }
    let share = Share::of(early, timeouts);
    Ok(claim!("rtor-never-below-rto", "{} of {} earlier", share.hits, share.trials).holds(timeouts > 0 && early == 0))
}

/// The RTO when the last of four and of 100 segments is lost.
fn converges_in_long_flows(setup: &Setup) -> Result<Claim> {
    let of = |segments, mechanism: Mechanism| -> Result<(f64, f64)> {
        let trace = run(setup, mechanism.profile(), &format!("rtt=320ms segments={segments} drop=tail:1 ack=quick"))?;
        let rto = trace.first_repair().map_or(NAN, |first| first.rto_ms);
        Ok((rto, trace.fct_ms().unwrap_or(NAN)))
    };
    let (short, long) = (of("4", Baseline)?.0, of("100", Baseline)?.0);
    let lead = |segments| -> Result<f64> { Ok(of(segments, Mechanism::Tlp)?.1 - of(segments, Rtor)?.1) };
    let (short_lead, long_lead) = (lead("4")?, lead("100")?);
    Ok(claim!(
        "rto-converges-in-long-flows",
        "RTO {short:.0} and {long:.0} ms; RTOR's lead {short_lead:.0} and {long_lead:.0} ms"
    )
    .holds(long < short && long_lead > short_lead))
}

/// Only the ACK of the last segment is lost. The client's first pure ACK ends the handshake, so the eleventh is the last.
fn lost_ack_is_spurious(setup: &Setup) -> Result<Claim> {
    let (mut counted, mut all) = (0, 0);
    for mechanism in MECHANISMS {
        for rtt_ms in RTTS {
            let record = run(setup, mechanism.profile(), &format!("rtt={rtt_ms}ms drop=up:ack:11 ack=quick"))?.record;
            all += 1;
            counted += usize::from(record.spurious_data == 1);
        }
    }
    Ok(claim("lost-ack-is-spurious").every(counted, all, "flows"))
}

/// Four segments, the last two lost: RTOR repeats the third, which arrives in order, and TLP the fourth, which does not.
fn repaired_segment_is_acked_late(setup: &Setup) -> Result<Claim> {
    let rtts = ["160ms", "320ms", "640ms"];
    let wait = |rtt, mechanism: Mechanism| -> Result<f64> {
        let trace = run(setup, mechanism.profile(), &format!("rtt={rtt} segments=4 drop=tail:2 ack=delayed:200ms"))?;
        let arrival = trace.first_repair().and_then(|first| trace.arrival_after(first.at));
        let answer = arrival.and_then(|at| trace.acks().map(|ack| ack.at).find(|ack| *ack >= at));
        let both = arrival.zip(answer);
        Ok(both.map_or(NAN, |(at, answer)| answer.since(at).as_secs_f64() * 1e3))
    };
    let (mut shown, mut holds) = (vec![], true);
    for rtt in rtts {
        let [rtor, tlp] = [wait(rtt, Rtor)?, wait(rtt, Mechanism::Tlp)?];
        holds &= same(rtor, 200.0) && same(tlp, 0.0);
        shown.push(format!("{rtt}: {rtor:.0} and {tlp:.0} ms"));
    }
    Ok(claim("repaired-segment-is-acked-late").shows(shown.join(", ")).holds(holds))
}
