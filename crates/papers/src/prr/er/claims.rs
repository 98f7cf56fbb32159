//! The claims of §6 that single flows decide.

use super::{Data, RESPONSE};
use crate::prelude::*;
use crate::prr::finding::list;
use crate::prr::trace::Trace;

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
    begin.again.iter().any(|(_, by)| *by == Trigger::Early).then_some(begin.sacked)
}

fn lowers_dupthresh(data: &Data) -> Claim {
    let found = [0, 1].map(|i| sacked_at_early(&data.thresholds[i][1]));
    let without = [0, 1].map(|i| data.thresholds[i][0].timeouts());
    claim!(
        "er-lowers-dupthresh",
        "on duplicate ACK {}; without ER {} timeouts",
        list(found.map(|sacked| sacked.unwrap_or(0))),
        list(without)
    )
    .holds(found == [Some(1), Some(2)] && without.iter().all(|timeouts| *timeouts > 0))
}

fn too_close_to_the_end(data: &Data) -> Claim {
    let timing_out = |which: usize| -> Vec<u64> {
        let flows = (1..).zip(&data.positions);
        flows.filter(|(_, traces)| traces[which].timeouts() > 0).map(|(lost, _)| lost).collect()
    };
    let [without, with] = [0, 1].map(timing_out);
    claim!("er-end-of-stream", "timeouts for segments {} without ER, {} with naive ER", list(&without), list(&with))
        .holds(without == [RESPONSE - 2, RESPONSE - 1, RESPONSE] && with.len() < without.len())
}

fn single_segment(data: &Data) -> Claim {
    let [without, with] = [0, 1].map(|i| data.single[i].acked_ms(1));
    claim!("er-single-segment", "{:.0} and {:.0} ms", with.unwrap_or(NAN), without.unwrap_or(NAN))
        .holds(with.is_some() && with == without && data.single[1].timeouts() > 0)
}

fn reordering_triggers(data: &Data) -> Claim {
    let naive = data.held[0][0];
    claim!(
        "er-reordering-triggers",
        "{} early retransmissions in {} flows (baseline {})",
        naive.early,
        naive.flows,
        data.baseline.early
    )
    .holds(naive.early > 0 && data.baseline.early == 0)
}

fn lowers_the_window(data: &Data) -> Claim {
    let lower = data.needless.iter().filter(|one| one.ssthresh < one.cwnd_before);
    let (lower, all) = (lower.count(), data.needless.len());
    claim("er-false-recovery-lowers-window").every(lower, all, "")
}

fn slows_the_next(data: &Data) -> Claim {
    let slower: Vec<f64> = data.needless.iter().map(|one| one.slower_ms).collect();
    let mean = Estimate::of(slower.into_iter());
    claim!("er-false-recovery-slows-next", "{mean} ms longer")
        .needs(mean.above(0.0))
        .interval(format!("±{:.1} ms", mean.half))
}

fn off_after_reordering(data: &Data) -> Claim {
    let [naive, first] = data.many;
    claim!(
        "er-off-after-reordering",
        "{} of {} after it (naive {} of {})",
        first.after_reordering,
        first.early,
        naive.after_reordering,
        naive.early
    )
    .holds(first.after_reordering == 0 && first.early > 0 && naive.after_reordering > 0)
}

fn delay_cancels(data: &Data) -> Claim {
    let [[naive, short], [_, long]] = data.held;
    claim!("er-delay-cancels", "{} with 15 ms (naive {}), {} with 60 ms", short.early, naive.early, long.early)
        .holds(short.early == 0 && naive.early > 0 && long.early > 0)
}

fn timer(data: &Data) -> Claim {
    let due = |rtt: f64| (rtt / 4.0).clamp(25.0, 500.0);
    let off = data.delays.iter().filter(|(rtt, delay)| delay.is_nan() || (delay - due(*rtt)).abs() > 1.0);
    let shown = data.delays.iter().map(|(rtt, delay)| format!("{delay:.0} at {rtt:.0}"));
    claim!("er-delay", "{} ms", shown.joined(", ")).holds(off.count() == 0 && !data.delays.is_empty())
}
