//! The completion time that duplicated SYNs would save (§III-A, Table I).
//!
//! ```text
//! without SLP   FCT = last packet with data or FIN − first SYN
//! with SLP      FCT − (last SYN − first SYN)
//! ```
//! The paper assumes that the duplicate is not lost: the connection then begins with its first SYN. So
//! every flow with a lost SYN gets shorter by construction. Reductions compare equal percentiles of both
//! distributions.
//!
//! In the paper's table both rows differ by 0.68 to 0.73 s in every column. An initial RTO of 1 s or 3 s
//! does not give that; it looks like one mean subtracted from all. So a variant subtracts the mean wait.

use super::percent;
use serde::Serialize;
use std::time::Duration;

/// The percentiles of Table I, and the paper's values: without SLP and with it, in seconds, and the
/// reduction in percent.
pub const PAPER: [(u32, [f64; 3]); 5] = [
    (1, [0.81, 0.10, 87.7]),
    (10, [0.86, 0.15, 82.6]),
    (50, [1.37, 0.68, 50.4]),
    (90, [9.77, 9.04, 7.5]),
    (99, [20.26, 19.58, 3.4]),
];

/// The loss of a SYN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SynLoss {
    /// The number of the connection.
    pub connection: u64,
    /// From the first SYN to the last.
    pub wait: Duration,
    /// From the first SYN to the last packet with data or FIN. `None`: there is none, or the capture ends
    /// before the connection does.
    pub completion: Option<Duration>,
}

/// Table I for a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SynLosses {
    /// Flows whose SYN was captured.
    pub flows: u64,
    /// Those that sent it more than once.
    pub with_syn_loss: u64,
    /// Their share in percent; the paper has 2.6.
    pub with_syn_loss_percent: Option<f64>,
    /// Flows of these that have a completion time. The others are in no percentile.
    pub completed: u64,
    /// The mean time between first and last SYN, in seconds.
    pub mean_wait_s: Option<f64>,
    /// The percentiles; none without a completed flow.
    pub percentiles: Vec<Percentile>,
}

/// A column of Table I. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// The percentile, by nearest rank.
    pub percentile: u32,
    /// Completion time without SLP.
    pub without_slp_s: f64,
    /// Completion time with SLP: less the wait of each flow.
    pub with_slp_s: f64,
    /// The reduction in percent.
    pub reduction_percent: Option<f64>,
    /// Variant: less the mean wait of all flows.
    pub less_mean_wait_s: f64,
    /// Its reduction in percent.
    pub less_mean_wait_reduction_percent: Option<f64>,
    /// The paper's value without SLP.
    pub paper_without_slp_s: f64,
    /// The paper's value with SLP.
    pub paper_with_slp_s: f64,
    /// The paper's reduction in percent.
    pub paper_reduction_percent: f64,
}

impl SynLosses {
    /// Those of a capture with this many `flows` whose SYN was captured.
    pub fn new(losses: &[SynLoss], flows: u64) -> Self {
        let completed =
            losses.iter().filter_map(|loss| Some((loss.completion?.as_secs_f64(), loss.wait.as_secs_f64())));
        let completed: Vec<(f64, f64)> = completed.collect();
        let count = completed.len();
        let mean = completed.iter().map(|(_, wait)| wait).sum::<f64>() / count as f64;
        let sorted = |of: &dyn Fn(f64, f64) -> f64| {
            let mut values: Vec<f64> = completed.iter().map(|(fct, wait)| of(*fct, *wait)).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let without = sorted(&|fct, _| fct);
        let with = sorted(&|fct, wait| (fct - wait).max(0.0));
        let less_mean = sorted(&|fct, _| (fct - mean).max(0.0));
        let percentile = |(p, [paper_without, paper_with, paper_reduction]): (u32, [f64; 3])| {
            let rank = |values: &[f64]| nearest_rank(values, p);
            let (without, with, less_mean) = (rank(&without)?, rank(&with)?, rank(&less_mean)?);
            let reduction = |to: f64| (without > 0.0).then(|| 100.0 * (1.0 - to / without));
            Some(Percentile {
                percentile: p,
                without_slp_s: without,
                with_slp_s: with,
                reduction_percent: reduction(with),
                less_mean_wait_s: less_mean,
                less_mean_wait_reduction_percent: reduction(less_mean),
                paper_without_slp_s: paper_without,
                paper_with_slp_s: paper_with,
                paper_reduction_percent: paper_reduction,
            })
        };
        let with_syn_loss = losses.len() as u64;
        Self {
            flows,
            with_syn_loss,
            with_syn_loss_percent: percent(with_syn_loss, flows),
            completed: count as u64,
            mean_wait_s: (count > 0).then_some(mean),
            percentiles: PAPER.into_iter().filter_map(percentile).collect(),
        }
    }
}

/// The percentile of sorted values by nearest rank.
fn nearest_rank(sorted: &[f64], percentile: u32) -> Option<f64> {
    let rank = (sorted.len() as u64 * u64::from(percentile)).div_ceil(100);
    sorted.get((rank as usize).saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(completion_ms: u64, wait_ms: u64) -> SynLoss {
        SynLoss {
            connection: 0,
            wait: Duration::from_millis(wait_ms),
            completion: Some(Duration::from_millis(completion_ms)),
        }
    }

    #[test]
    fn reductions_compare_percentiles_of_both_distributions() {
        let unfinished = SynLoss { completion: None, ..loss(0, 9000) };
        let losses = [loss(1500, 1000), loss(4000, 3000), loss(2000, 1000), unfinished];
        let table = SynLosses::new(&losses, 100);
        assert_eq!((table.with_syn_loss, table.completed), (4, 3));
        assert_eq!(table.with_syn_loss_percent, Some(4.0));
        // The median without is 2 s; with, of 0.5, 1 and 1 s, it is 1 s.
        let median = table.percentiles[2];
        assert_eq!((median.without_slp_s, median.with_slp_s), (2.0, 1.0));
        assert_eq!(median.reduction_percent, Some(50.0));
        let mean = 5.0 / 3.0;
        assert_eq!(table.mean_wait_s, Some(mean));
        assert!((median.less_mean_wait_s - (2.0 - mean)).abs() < 1e-12);
    }

    #[test]
    fn without_flows_there_are_no_percentiles() {
        let table = SynLosses::new(&[], 0);
        assert_eq!(table, SynLosses::default());
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        for (p, value) in [(1, 2.0), (50, 100.0), (99, 198.0)] {
            assert_eq!(nearest_rank(&values, p), Some(value));
        }
    }
}
