//! Claims about causes, decided by reruns.

use super::super::claims::{FREEBSD, LINUX, SOLARIS, WINDOWS};
use super::{K_2, Outcome, Outcomes, Runs};
use crate::prelude::*;
use recoup_captures::study::Detector;

const FAST: usize = Detector::FastRetransmit as usize;
const TIMEOUT: usize = Detector::Timeout as usize;

fn median(mut values: Vec<f64>) -> Estimate {
    values.sort_by(f64::total_cmp);
    Estimate::of_median(&values)
}

/// The median duration of detections by timeout, in RTTs.
pub fn median_timeout(outcomes: &Outcomes) -> Estimate {
    median(outcomes.iter().flat_map(|one| one.timeouts.clone()).collect())
}

/// The median length of recoveries, in RTTs.
pub fn median_recovery(outcomes: &Outcomes) -> Estimate {
    median(outcomes.iter().flat_map(|one| one.recoveries.clone()).collect())
}

/// The mean duration of completed flows, in ms.
pub fn mean_duration(outcomes: &Outcomes) -> f64 {
    let completed: Vec<f64> =
        outcomes.iter().filter(|one| !one.duration_ms.is_nan()).map(|one| one.duration_ms).collect();
    completed.iter().sum::<f64>() / completed.len() as f64
}

/// Spurious retransmissions by a detector, in % of all.
pub fn spurious_share(outcomes: &Outcomes, detector: usize) -> f64 {
    let sum = |of: &dyn Fn(&Outcome) -> u32| -> f64 { outcomes.iter().map(|one| f64::from(of(one))).sum() };
    let all = sum(&|one| one.detections[0][1] + one.detections[1][1]);
    100.0 * sum(&|one| one.detections[detector][0]) / all
}

/// A ratio of sums over flows.
#[derive(Clone, Copy)]
struct Ratio {
    part: fn(&Outcome) -> f64,
    whole: fn(&Outcome) -> f64,
}

impl Ratio {
    fn of(self, outcomes: &Outcomes) -> f64 {
        let sum = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
        sum(self.part) / sum(self.whole)
    }

    /// Its change from one run of the flows to another (the delta method; flows are independent).
    fn change(self, usual: &Outcomes, other: &Outcomes) -> Estimate {
        let (before, after) = (self.of(usual), self.of(other));
        let total = |outcomes: &Outcomes| outcomes.iter().map(self.whole).sum::<f64>();
        let (weight, other_weight) = (total(usual), total(other));
        let left = |one: &Outcome, ratio: f64, total: f64| ((self.part)(one) - ratio * (self.whole)(one)) / total;
        let pairs = usual.iter().zip(other);
        let moved: Vec<f64> =
            pairs.map(|(usual, other)| left(other, after, other_weight) - left(usual, before, weight)).collect();
        let n = moved.len() as f64;
        Estimate { mean: after - before, half: n * Estimate::of(moved.into_iter()).half }
    }
}

/// Packets lost, of those sent.
const LOSS: Ratio = Ratio { part: |one| one.lost[0], whole: |one| one.lost[1] };

/// Spurious retransmissions by timeout, of the packets sent.
const SPURIOUS_TIMEOUTS: Ratio = Ratio { part: |one| one.detections[TIMEOUT][0] as f64, whole: |one| one.lost[1] };

/// Retransmissions by FR/R, of all.
const FAST_SHARE: Ratio = Ratio {
    part: |one| one.detections[FAST][1] as f64,
    whole: |one| f64::from(one.detections[FAST][1] + one.detections[TIMEOUT][1]),
};

/// The change of the mean of a quantity, in % of its usual mean: of the flows for which both runs have it.
fn change(usual: &Outcomes, other: &Outcomes, of: impl Fn(&Outcome) -> f64) -> Estimate {
    let pairs: Vec<[f64; 2]> = usual
        .iter()
        .zip(other)
        .map(|(usual, other)| [of(usual), of(other)])
        .filter(|pair| !pair.iter().any(|value| value.is_nan()))
        .collect();
    let mean = pairs.iter().map(|[usual, _]| usual).sum::<f64>() / pairs.len() as f64;
    let difference = Estimate::of(pairs.iter().map(|[usual, other]| other - usual));
    difference * (100.0 / mean)
}

fn spurious_fast(outcomes: &Outcomes) -> u32 {
    outcomes.iter().map(|one| one.detections[FAST][0]).sum()
}

pub fn of(runs: &Runs) -> Vec<Claim> {
    [accuracy(runs), timeliness(runs), limits(runs), independence(runs)].concat()
}

fn accuracy(runs: &Runs) -> Vec<Claim> {
    let [with, without] = [&runs.usual, &runs.in_order].map(|all| all.iter().map(spurious_fast).collect::<Vec<u32>>());
    let after_timeouts: u32 = runs.in_order.iter().flatten().map(|one| one.fast_after_timeout).sum();
    vec![
        claim!(
            "spurious-fast-needs-reordering",
            "with reordering {with:?}, without {without:?}, {after_timeouts} of these on connections that had \
                 timed out before"
        )
        .holds(without.iter().all(|count| *count == 0) && with.iter().all(|count| *count > 0)),
        claim!("reordering-main-cause", "with reordering {with:?}, without {without:?}")
            .holds(with.iter().zip(&without).all(|(with, without)| 2 * without < *with)),
    ]
}

fn timeliness(runs: &Runs) -> Vec<Claim> {
    let usual: Vec<Estimate> = runs.usual.iter().map(median_timeout).collect();
    let quick = runs.quick.each_ref().map(median_timeout);
    let third = |a: Estimate, b: Estimate| ClaimVerdict::all([(b * (4.0 / 3.0)).above(a), (a * (4.0 / 3.0)).above(b)]);
    let systems = [LINUX, SOLARIS, FREEBSD];
    let fast = systems.map(|i| 100.0 * FAST_SHARE.of(&runs.usual[i]));
    let rise: [Estimate; 3] = std::array::from_fn(|i| FAST_SHARE.change(&runs.usual[systems[i]], &runs.two[i]) * 100.0);
    vec![
        claim!(
            "minimum-is-the-cause",
            "Solaris {:.1} becomes {:.1}, FreeBSD {:.1} becomes {:.1}; Linux {:.1}, Windows {:.1} RTTs",
            usual[SOLARIS].mean,
            quick[0].mean,
            usual[FREEBSD].mean,
            quick[1].mean,
            usual[LINUX].mean,
            usual[WINDOWS].mean
        )
        .needs(usual[SOLARIS].above(quick[0]))
        .needs(usual[FREEBSD].above(quick[1]))
        .needs(third(quick[0], usual[LINUX]))
        .needs(third(quick[1], usual[LINUX]))
        .interval(format!("±{:.1}, ±{:.1}", quick[0].half, quick[1].half)),
        claim!("smaller-d-more-fast", "{fast:.1?} % rise by {:.1?} points", rise.map(|of| of.mean))
            .needs_all(rise.map(|of| of.above(0.0)))
            .interval(format!("±{:.1?}", rise.map(|of| of.half))),
    ]
}

fn limits(runs: &Runs) -> Vec<Claim> {
    let duration = |one: &Outcome| one.duration_ms;
    let ticks = change(&runs.usual[WINDOWS], &runs.ticks, duration);
    let low = [WINDOWS, LINUX].map(|i| change(&runs.usual[i], &runs.low[i], duration));
    let small = || -1.0..1.0;
    let k = runs
        .other
        .iter()
        .find(|(name, _)| *name == K_2)
        .map(|(_, outcomes)| change(&runs.usual[LINUX], outcomes, duration))
        .unwrap_or(Estimate::exactly(NAN));
    let [coarse, fine] = &runs.small_k;
    let ticks_share = SPURIOUS_TIMEOUTS.change(coarse, fine) * 100.0;
    vec![
        claim!("granularity-no-limit", "{:+.2} %", ticks.mean)
            .needs(ticks.within(small()))
            .interval(format!("±{:.2}", ticks.half)),
        claim!("min-rto-no-limit", "Windows {:+.2} %, Linux {:+.2} %", low[0].mean, low[1].mean)
            .needs_all(low.map(|of| of.within(small())))
            .interval(format!("±{:.2}, ±{:.2}", low[0].half, low[1].half)),
        claim!(
            "ticks-hide-small-k",
            "{:.2} % with 100 ms, {:+.2} points with 10 ms",
            100.0 * SPURIOUS_TIMEOUTS.of(&runs.small_k[0]),
            ticks_share.mean
        )
        .needs(ticks_share.above(0.0))
        .interval(format!("±{:.2}", ticks_share.half)),
        claim!("k-2-rerun", "{:+.2} %", k.mean).needs(k.below(0.0)).interval(format!("±{:.2}", k.half)),
    ]
}

fn independence(runs: &Runs) -> Vec<Claim> {
    let usual = &runs.usual[LINUX];
    let each = |of: &dyn Fn(&Outcomes) -> Estimate| -> Vec<(&str, Estimate)> {
        runs.other.iter().map(|(name, outcomes)| (*name, of(outcomes))).collect()
    };
    let shown = |changes: &[(&str, Estimate)]| {
        changes.iter().map(|(name, of)| format!("{name}: {:+.1} %", of.mean)).joined(", ")
    };
    let halves = |changes: &[(&str, Estimate)]| changes.iter().map(|(_, of)| format!("±{:.1}", of.half)).joined(", ");
    let rtts = each(&|other| change(usual, other, |one| one.rtt_ms));
    let losses = each(&|other| LOSS.change(usual, other) * (100.0 / LOSS.of(usual)));
    let usual_recovery = median_recovery(usual);
    let recoveries = each(&|other| {
        let difference = median_recovery(other) - usual_recovery;
        difference * (100.0 / usual_recovery.mean)
    });
    let all_within = |changes: &[(&str, Estimate)], most: f64| {
        ClaimVerdict::all(changes.iter().map(|(_, of)| of.within(-most..most)))
    };
    vec![
        claim("rtts-independent").shows(shown(&rtts)).needs(all_within(&rtts, 2.0)).interval(halves(&rtts)),
        claim("losses-independent").shows(shown(&losses)).needs(all_within(&losses, 10.0)).interval(halves(&losses)),
        claim("recovery-independent")
            .shows(shown(&recoveries))
            .needs(all_within(&recoveries, 10.0))
            .interval(halves(&recoveries)),
    ]
}
