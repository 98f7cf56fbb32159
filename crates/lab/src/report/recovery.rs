//! What recovery looked like: the columns of Tables 2, 3, 5 to 8 and 10 of Dukkipati et al. 2011,
//! "Proportional Rate Reduction for TCP".

use crate::run::Cost;
use crate::stats::{Integers, Summary};
use recoup_recovery::undo::Proof;
use recoup_recovery::{State, Trigger};
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// One profile's recoveries.
#[derive(Clone, Debug, Serialize)]
pub struct Recovery {
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// How those ended that did.
    pub ended: Ended,
    /// Retransmission timeouts by the state they found; those in `loss` are exponential back-off.
    pub timeouts: Map<String, Value>,
    /// Retransmissions of which nothing was heard before the connection was given up; each counts
    /// under its trigger too.
    pub failed_retransmissions: u64,
    /// Retransmissions found lost.
    pub lost_retransmissions: u64,
    /// Bytes of sequence space sent again.
    pub retransmitted_bytes: u64,
    /// Duplicate segments reported.
    pub dsacks: u64,
    /// Recoveries with a report of a duplicate.
    pub recoveries_with_dsack: u64,
    /// Reductions taken back, by proof.
    pub undone: Map<String, Value>,
    /// Recoveries that left a window below ssthresh.
    pub slow_starts: u64,
    /// Segments sent in recovery.
    pub segments_sent: u64,
    /// Segments delivered, in recovery or not.
    pub delivered: u64,
    /// How often the path was seen to reorder.
    pub reordering_seen: u64,
    /// ACKs of data never sent, ignored.
    pub impossible_acks: u64,
    /// SACK blocks that cannot be, ignored.
    pub impossible_blocks: u64,
    /// How often a receiver took back what it had SACKed.
    pub reneged: u64,
    /// Time with data unacknowledged, in ms, of all flows together.
    pub transmit_time_ms: f64,
    /// Time in fast recovery, in ms, of all flows together.
    pub in_recovery_ms: f64,
    /// Time in timeout recovery, in ms, of all flows together.
    pub in_loss_ms: f64,
    /// The same in proportion.
    pub ratios: Ratios,
    /// Pipe − ssthresh as recoveries began, in segments.
    pub pipe_minus_ssthresh: OnEntry,
    /// Window − ssthresh just before they ended, in segments.
    pub cwnd_minus_ssthresh: Percentiles,
    /// The window after them, in segments.
    pub cwnd_after: Percentiles,
    /// How long they took; `null` when none ended.
    pub time_ms: Option<Summary>,
}

/// Recoveries by their ends.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ended {
    /// The recovery point was acknowledged.
    pub complete: u64,
    /// Found needless.
    pub undone: u64,
    /// In a retransmission timeout.
    pub timeout: u64,
}

/// Ratios; `null` where nothing is compared with. Fast retransmits are all retransmissions of fast
/// recovery, early ones included.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ratios {
    /// Fast retransmits / recoveries.
    pub fast_retransmits_per_recovery: Option<f64>,
    /// Recoveries with a DSACK / recoveries.
    pub recoveries_with_dsack_percent: Option<f64>,
    /// DSACKs / fast retransmits.
    pub dsacks_per_fast_retransmit_percent: Option<f64>,
    /// DSACKs / retransmissions of data.
    pub dsacks_per_retransmission_percent: Option<f64>,
    /// Lost retransmissions / recoveries.
    pub lost_retransmissions_per_recovery_percent: Option<f64>,
    /// Lost retransmissions / fast retransmits.
    pub lost_retransmissions_per_fast_retransmit_percent: Option<f64>,
    /// Retransmissions of data / data segments sent.
    pub retransmission_rate_percent: Option<f64>,
    /// Time with data unacknowledged / flows.
    pub transmit_time_per_flow_ms: f64,
    /// Time in fast or timeout recovery / time with data unacknowledged.
    pub time_in_loss_recovery_percent: Option<f64>,
    /// Segments sent in recovery / data segments sent.
    pub segments_sent_in_recovery_percent: Option<f64>,
    /// Recoveries that left a window below ssthresh / recoveries.
    pub slow_start_after_recovery_percent: Option<f64>,
}

/// Table 5's figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OnEntry {
    /// Recoveries that began with pipe < ssthresh.
    pub below: u64,
    /// … with pipe = ssthresh.
    pub equal: u64,
    /// … with pipe > ssthresh.
    pub above: u64,
    /// The smallest difference.
    pub min: Option<i64>,
    /// The first percentile.
    pub p1: Option<i64>,
    /// The median.
    pub p50: Option<i64>,
    /// The 99th percentile.
    pub p99: Option<i64>,
    /// The largest.
    pub max: Option<i64>,
}

/// The percentiles of Tables 6 and 7; `null` when there is nothing to rank.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percentiles {
    /// The 5th.
    pub p5: Option<i64>,
    /// The 10th.
    pub p10: Option<i64>,
    /// The 25th.
    pub p25: Option<i64>,
    /// The median.
    pub p50: Option<i64>,
    /// The 75th.
    pub p75: Option<i64>,
    /// The 90th.
    pub p90: Option<i64>,
    /// The 95th.
    pub p95: Option<i64>,
    /// The 99th.
    pub p99: Option<i64>,
}

impl Recovery {
    /// Of all flows of a profile.
    pub fn new(cost: &Cost) -> Self {
        let (counters, recoveries) = (&cost.counters, &cost.recoveries);
        Self {
            recoveries: counters.recoveries,
            ended: Ended {
                complete: recoveries.complete,
                undone: recoveries.undone,
                timeout: recoveries.timed_out,
            },
            timeouts: counts(State::ALL.map(|s| (s.name(), counters.timeouts_in(s)))),
            failed_retransmissions: counters.failed_retransmissions,
            lost_retransmissions: counters.lost_retransmissions,
            retransmitted_bytes: counters.retransmitted_bytes,
            dsacks: counters.dsacks,
            recoveries_with_dsack: counters.recoveries_with_dsack,
            undone: counts(Proof::ALL.map(|p| (p.name(), counters.undone_by(p)))),
            slow_starts: counters.slow_starts_after_recovery,
            segments_sent: counters.sent_in_recovery,
            delivered: counters.delivered,
            reordering_seen: counters.reordering_seen,
            impossible_acks: counters.impossible_acks,
            impossible_blocks: counters.impossible_blocks,
            reneged: counters.reneged,
            transmit_time_ms: ms(counters.busy),
            in_recovery_ms: ms(counters.in_recovery),
            in_loss_ms: ms(counters.in_loss),
            ratios: Ratios::new(cost),
            pipe_minus_ssthresh: OnEntry::new(&recoveries.pipe_above_ssthresh),
            cwnd_minus_ssthresh: Percentiles::new(&recoveries.cwnd_above_ssthresh),
            cwnd_after: Percentiles::new(&recoveries.cwnd_after),
            time_ms: recoveries.time.summary(),
        }
    }
}

impl Ratios {
    fn new(cost: &Cost) -> Self {
        let counters = &cost.counters;
        let (again, sent) = (&cost.counters.retransmissions, cost.segments_sent);
        let fast = again.of(Trigger::Fast) + again.of(Trigger::Early);
        let data = again.total() - again.of(Trigger::Syn) - again.of(Trigger::SynAck);
        let (recoveries, lost) = (counters.recoveries, counters.lost_retransmissions);
        let busy = ms(counters.busy);
        let recovering = ms(counters.in_recovery + counters.in_loss);
        Self {
            fast_retransmits_per_recovery: ratio(fast, recoveries),
            recoveries_with_dsack_percent: percent(counters.recoveries_with_dsack, recoveries),
            dsacks_per_fast_retransmit_percent: percent(counters.dsacks, fast),
            dsacks_per_retransmission_percent: percent(counters.dsacks, data),
            lost_retransmissions_per_recovery_percent: percent(lost, recoveries),
            lost_retransmissions_per_fast_retransmit_percent: percent(lost, fast),
            retransmission_rate_percent: percent(data, sent),
            transmit_time_per_flow_ms: busy / cost.flows.max(1) as f64,
            time_in_loss_recovery_percent: (busy > 0.0).then_some(100.0 * recovering / busy),
            segments_sent_in_recovery_percent: percent(counters.sent_in_recovery, sent),
            slow_start_after_recovery_percent: percent(
                counters.slow_starts_after_recovery,
                recoveries,
            ),
        }
    }
}

impl OnEntry {
    fn new(of: &Integers) -> Self {
        let signs = of.signs();
        Self {
            below: signs.below,
            equal: signs.zero,
            above: signs.above,
            min: of.min(),
            p1: of.percentile(1),
            p50: of.percentile(50),
            p99: of.percentile(99),
            max: of.max(),
        }
    }
}

impl Percentiles {
    fn new(of: &Integers) -> Self {
        Self {
            p5: of.percentile(5),
            p10: of.percentile(10),
            p25: of.percentile(25),
            p50: of.percentile(50),
            p75: of.percentile(75),
            p90: of.percentile(90),
            p95: of.percentile(95),
            p99: of.percentile(99),
        }
    }
}

fn counts<const N: usize>(of: [(&str, u64); N]) -> Map<String, Value> {
    of.into_iter().map(|(k, n)| (k.into(), n.into())).collect()
}

fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A share in percent.
pub(super) fn percent(part: u64, whole: u64) -> Option<f64> {
    ratio(part, whole).map(|share| 100.0 * share)
}
