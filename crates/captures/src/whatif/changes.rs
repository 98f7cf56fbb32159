//! How a mechanism changes a set of connections.

use super::interval::{ModelError, once_more, paired};
use super::prediction::Prediction;
use super::reruns::Rerun;

/// A connection counts as better or worse if its completion time changes by more than this share.
const NOTICEABLE: f64 = 0.01;

/// The quantiles that an answer has.
pub(super) const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// How a mechanism changes a set of connections. Times are in ms, and negative changes are faster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Connections.
    pub connections: u64,
    /// Their mean flow completion time without the mechanism.
    pub mean_fct_ms: Option<f64>,
    /// Their mean flow completion time from establishment, without the mechanism.
    pub mean_fct_established_ms: Option<f64>,
    /// The mean change.
    pub mean_change_ms: Option<f64>,
    /// The 95 % interval of the mean change that these connections would show if they ran once more; `None` if nothing was drawn.
    /// Connections that were chosen because they lost something would lose less in another run, whatever the mechanism: for
    /// them it is the next one.
    pub interval_ms: Option<(f64, f64)>,
    /// Whether they were chosen because they lost something.
    pub are_chosen: bool,
    /// The 95 % interval of the mean change, each connection compared with itself: whether there is a change beyond chance.
    /// `None` for a single connection, or a single draw.
    pub paired_interval_ms: Option<(f64, f64)>,
    /// The sum of all changes.
    pub sum_change_ms: f64,
    /// The 5th, 25th, 50th, 75th and 95th percentile of the change.
    pub quantiles_ms: Option<[f64; 5]>,
    /// Connections that end sooner by more than 1 % of their completion time.
    pub better: u64,
    /// Connections that end later by more than that.
    pub worse: u64,
    /// IP bytes that both ends send without the mechanism.
    pub bytes: u64,
    /// IP bytes with the mechanism beyond that; negative: fewer.
    pub extra_bytes: f64,
    /// Retransmissions without the mechanism.
    pub retransmissions: u64,
    /// Retransmissions with the mechanism beyond that.
    pub extra_retransmissions: f64,
    /// Spurious retransmissions without the mechanism.
    pub spurious: u64,
    /// Spurious retransmissions with the mechanism beyond that.
    pub extra_spurious: f64,
    /// Connections whose change rests on drawn fates.
    pub drawn_connections: u64,
    /// The part of all changes (as amounts) that rests on drawn fates, 0 to 1.
    pub share_drawn: f64,
}

impl Changes {
    /// Sums up these connections under the `number`-th mechanism. `model`: the errors of the base runs. `are_chosen`: because they
    /// lost something.
    pub(super) fn of(
        connections: &[(&Rerun, &Prediction)],
        number: usize,
        model: ModelError,
        are_chosen: bool,
    ) -> Self {
        let n = connections.len();
        if n == 0 {
            return Self::default();
        }
        let mut changes = Self { connections: n as u64, ..Self::default() };
        let (mut fct, mut established, mut amount, mut drawn) = (0.0, 0.0, 0.0, 0.0);
        for (rerun, prediction) in connections {
            changes.add(rerun, prediction);
            fct += rerun.base_fct_ms;
            established += rerun.base_fct_established_ms;
            amount += prediction.change_ms.abs();
            if prediction.draws > 0 {
                drawn += prediction.change_ms.abs();
            }
        }
        let mean = changes.sum_change_ms / n as f64;
        let around = |half: f64| (mean - half, mean + half);
        changes.mean_fct_ms = Some(fct / n as f64);
        changes.mean_fct_established_ms = Some(established / n as f64);
        changes.mean_change_ms = Some(mean);
        changes.are_chosen = are_chosen;
        changes.paired_interval_ms = paired(connections, model).map(around);
        changes.interval_ms = match are_chosen {
            true => changes.paired_interval_ms,
            false => once_more(connections, number, model).map(around),
        };
        changes.quantiles_ms = Some(quantiles(connections));
        changes.share_drawn = if amount > 0.0 { drawn / amount } else { 0.0 };
        changes
    }

    fn add(&mut self, rerun: &Rerun, prediction: &Prediction) {
        let change = prediction.change_ms;
        self.sum_change_ms += change;
        let noticeable = change.abs() > NOTICEABLE * rerun.base_fct_ms;
        self.better += u64::from(noticeable && change < 0.0);
        self.worse += u64::from(noticeable && change > 0.0);
        self.bytes += rerun.bytes;
        self.extra_bytes += prediction.extra_bytes;
        self.retransmissions += rerun.retransmissions;
        self.extra_retransmissions += prediction.extra_retransmissions;
        self.spurious += rerun.spurious;
        self.extra_spurious += prediction.extra_spurious;
        self.drawn_connections += u64::from(prediction.draws > 0);
    }

    /// Whether connections end sooner beyond chance: the whole interval of the paired change lies below 0.
    pub fn helps(&self) -> bool {
        self.paired_interval_ms.is_some_and(|(_, high)| high < 0.0)
    }

    /// Whether connections end later beyond chance.
    pub fn harms(&self) -> bool {
        self.paired_interval_ms.is_some_and(|(low, _)| low > 0.0)
    }

    /// Extra bytes in percent of those sent without the mechanism.
    pub fn extra_bytes_percent(&self) -> Option<f64> {
        (self.bytes > 0).then(|| 100.0 * self.extra_bytes / self.bytes as f64)
    }

    /// This count in percent of the connections.
    pub fn percent(&self, count: u64) -> Option<f64> {
        (self.connections > 0).then(|| 100.0 * count as f64 / self.connections as f64)
    }
}

/// The smallest values that at least each share of all changes does not exceed.
fn quantiles(connections: &[(&Rerun, &Prediction)]) -> [f64; 5] {
    let changes = connections.iter().map(|(_, one)| one.change_ms);
    let mut changes: Vec<f64> = changes.collect();
    changes.sort_by(f64::total_cmp);
    QUANTILES.map(|share| {
        let rank = (share * changes.len() as f64).ceil() as usize;
        changes.get(rank.max(1) - 1).copied().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests;
