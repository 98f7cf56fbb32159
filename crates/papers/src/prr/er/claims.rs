//! The claims of §6 that single flows decide.

use super::{Data, RESPONSE};
use crate::claims::{Claim, ClaimVerdict, claim};
use crate::prr::finding::list;
use crate::prr::trace::Trace;
use recoup_recovery::Trigger;
use recoup_support::stats::Estimate;

/// All claims.
pub fn all(data: &Data) -> Vec<Claim> {
    vec![
        lowers_dupthresh(data),
        too_close_to_the_end(data),
        single_segment(data),
        reordering_triggers(data),
        lowers_the_window(data),
        slows_the_next(data),
        off_after_reordering(data),
        delay_cancels(data),
        timer(data),
    ]
}

/// Segments SACKed when recovery begins by early retransmit.
fn sacked_at_early(trace: &Trace) -> Option<u32> {
    let begin = trace.recovery()?.0.first()?;
    let is_early = begin.again.iter().any(|(_, by)| *by == Trigger::Early);
    is_early.then_some(begin.sacked)
}

fn lowers_dupthresh(data: &Data) -> Claim {
    let found = [0, 1].map(|i| sacked_at_early(&data.thresholds[i][1]));
    let without = [0, 1].map(|i| data.thresholds[i][0].timeouts());
    claim(
        "er-lowers-dupthresh",
        "6",
        "ER lowers dupthresh to 1 or 2 when the outstanding data drops to 2 or 3 segments",
        "the first of 2 and 3 segments lost: naive ER retransmits on the first and on the second duplicate ACK; without ER each times out",
        (
            format!(
                "on duplicate ACK {}; without ER {} timeouts",
                list(found.map(|sacked| sacked.unwrap_or(0))),
                list(without)
            ),
            found == [Some(1), Some(2)] && without.iter().all(|timeouts| *timeouts > 0),
        ),
    )
}

fn too_close_to_the_end(data: &Data) -> Claim {
    let timing_out = |which: usize| -> Vec<u64> {
        let flows = (1..).zip(&data.positions);
        flows.filter(|(_, traces)| traces[which].timeouts() > 0).map(|(lost, _)| lost).collect()
    };
    let [without, with] = [0, 1].map(timing_out);
    claim(
        "er-end-of-stream",
        "6",
        "A loss too close to the end of a stream brings too few duplicate ACKs for a fast retransmit; ER overcomes this",
        "each of 6 segments lost in turn: without ER the last three time out; with ER fewer do",
        (
            format!("timeouts for segments {} without ER, {} with naive ER", list(&without), list(&with)),
            without == [RESPONSE - 2, RESPONSE - 1, RESPONSE] && with.len() < without.len(),
        ),
    )
}

fn single_segment(data: &Data) -> Claim {
    let [without, with] = [0, 1].map(|i| data.single[i].acked_ms(1));
    claim(
        "er-single-segment",
        "6.1",
        "ER cannot repair the loss of a response that fits into one segment",
        "the only segment lost: with both mitigations it is acknowledged at the same time as without ER, after a timeout",
        (
            format!("{:.0} and {:.0} ms", with.unwrap_or(f64::NAN), without.unwrap_or(f64::NAN)),
            with.is_some() && with == without && data.single[1].timeouts() > 0,
        ),
    )
}

fn reordering_triggers(data: &Data) -> Claim {
    let naive = data.held[0][0];
    claim(
        "er-reordering-triggers",
        "6",
        "Reordering falsely triggers early retransmit, and begins fast recovery",
        "3 segments, 15 % of them held back by 15 ms, none lost: naive ER retransmits in some flows, and the baseline in none",
        (
            format!(
                "{} early retransmissions in {} flows (baseline {})",
                naive.early, naive.flows, data.baseline.early
            ),
            naive.early > 0 && data.baseline.early == 0,
        ),
    )
}

fn lowers_the_window(data: &Data) -> Claim {
    let lower = data.needless.iter().filter(|one| one.ssthresh < one.cwnd_before);
    let (lower, all) = (lower.count(), data.needless.len());
    claim(
        "er-false-recovery-lowers-window",
        "6",
        "The false recovery lowers cwnd",
        "flows in which naive ER retransmits without need: ssthresh in recovery is below cwnd before it",
        (format!("{lower} of {all}"), lower == all && all > 0),
    )
}

fn slows_the_next(data: &Data) -> Claim {
    let slower: Vec<f64> = data.needless.iter().map(|one| one.slower_ms).collect();
    let mean = Estimate::of(slower.into_iter());
    claim(
        "er-false-recovery-slows-next",
        "6",
        "The false recovery slows the next response over the same connection",
        "the same flows, ten segments written when the next request arrives: they take longer than with the baseline, interval included",
        (format!("{mean} ms longer"), false),
    )
    .verdict(ClaimVerdict::on_positive(mean))
    .interval(format!("±{:.1} ms", mean.half))
}

fn off_after_reordering(data: &Data) -> Claim {
    let [naive, first] = data.many;
    claim(
        "er-off-after-reordering",
        "6",
        "The first mitigation turns ER off once the connection has detected reordering",
        "12 responses of 3 segments, 20 % of them held back by 60 ms: no early retransmission after detected reordering, some before; naive ER has some after",
        (
            format!(
                "{} of {} after it (naive {} of {})",
                first.after_reordering, first.early, naive.after_reordering, naive.early
            ),
            first.after_reordering == 0 && first.early > 0 && naive.after_reordering > 0,
        ),
    )
}

fn delay_cancels(data: &Data) -> Claim {
    let [[naive, short], [_, long]] = data.held;
    claim(
        "er-delay-cancels",
        "6, 6.1",
        "A small delay cancels the early retransmission if the missing segment arrives slightly late",
        "none lost; the delay is 25 ms or more: with segments held back by 15 ms no early retransmission is left of naive ER's; with 60 ms some are",
        (
            format!("{} with 15 ms (naive {}), {} with 60 ms", short.early, naive.early, long.early),
            short.early == 0 && naive.early > 0 && long.early > 0,
        ),
    )
}

fn timer(data: &Data) -> Claim {
    let due = |rtt: f64| (rtt / 4.0).clamp(25.0, 500.0);
    let off = data.delays.iter().filter(|(rtt, delay)| delay.is_nan() || (delay - due(*rtt)).abs() > 1.0);
    let shown = data.delays.iter().map(|(rtt, delay)| format!("{delay:.0} at {rtt:.0}"));
    claim(
        "er-delay",
        "6.1",
        "The delay is a quarter of the smoothed RTT, within 25 and 500 ms",
        "RTTs from 40 to 2400 ms: the time from the first SACK to the retransmission is within 1 ms of it",
        (format!("{} ms", shown.collect::<Vec<_>>().join(", ")), off.count() == 0 && !data.delays.is_empty()),
    )
}
