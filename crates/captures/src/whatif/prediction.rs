//! What a mechanism changes in one connection.

use crate::wording::in_ms;
use recoup_whatif::Outcome;

/// Predicted changes by a mechanism in one connection. Values of several draws are means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Prediction {
    /// The change of the flow completion time; negative: faster.
    pub change_ms: f64,
    /// The variance of the draws, in ms².
    pub variance: f64,
    /// How many draws; 0 if nothing was drawn.
    pub draws: u32,
    /// Whether what was tried is other than the base.
    pub is_tried: bool,
    /// Whether it runs in another way than before.
    pub is_changed: bool,
    /// Packets whose fate was drawn.
    pub packets_drawn: f64,
    /// Where the path's rate is unknown: how much later than this change it ends at the lowest rate, and sooner without one.
    pub pace_ms: f64,
    pub extra_bytes: f64,
    pub extra_retransmissions: f64,
    pub extra_spurious: f64,
}

/// Runs of a connection with all fates drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Anew {
    pub base: Spread,
    /// For each mechanism.
    pub with: Vec<Spread>,
}

/// Completion times of runs that differ by chance alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub runs: u32,
    pub mean_ms: f64,
    /// In ms²; 0 for less than two runs.
    pub variance: f64,
}

impl Prediction {
    /// From the runs under a mechanism. `None` if half of them or more did not complete.
    pub fn of(base: &Outcome, runs: &[Outcome]) -> Option<Self> {
        let base_fct = in_ms(base.fct?);
        let complete: Vec<(&Outcome, f64)> =
            runs.iter().filter_map(|run| Some((run, in_ms(run.fct?) - base_fct))).collect();
        if 2 * complete.len() <= runs.len() {
            return None;
        }
        let n = complete.len() as f64;
        let mean = |of: &dyn Fn(&Outcome) -> f64| {
            let values = complete.iter().map(|(run, _)| of(run));
            values.sum::<f64>() / n
        };
        let extra = |of: fn(&Outcome) -> u64| {
            let before = of(base) as f64;
            mean(&|run| of(run) as f64 - before)
        };
        let change_ms = complete.iter().map(|(_, change)| change).sum::<f64>() / n;
        let squares = complete.iter().map(|(_, c)| (c - change_ms).powi(2));
        let is_drawn = complete.iter().any(|(run, _)| run.packets_drawn > 0);
        Some(Self {
            change_ms,
            variance: squares.sum::<f64>() / (n - 1.0).max(1.0),
            draws: if is_drawn { complete.len() as u32 } else { 0 },
            is_tried: true,
            is_changed: complete.iter().any(|(run, change)| {
                *change != 0.0 || (run.segments_sent, run.retransmissions) != (base.segments_sent, base.retransmissions)
            }),
            packets_drawn: mean(&|run| run.packets_drawn as f64),
            pace_ms: 0.0,
            extra_bytes: extra(|run| run.bytes_sent),
            extra_retransmissions: extra(|run| run.retransmissions),
            extra_spurious: extra(|run| run.spurious),
        })
    }

    /// The path may be as slow as in this other prediction: the change lies between both.
    pub fn meet(&mut self, slow: Option<Self>) {
        if let Some(slow) = slow {
            self.pace_ms = (slow.change_ms - self.change_ms) / 2.0;
            self.change_ms += self.pace_ms;
            self.is_changed |= slow.is_changed;
        }
    }

    /// What this changes beyond what the other does. Draws of both count as independent, which makes it less certain than it is.
    pub fn less(&self, other: &Self) -> Self {
        if self == other {
            return Self::default();
        }
        Self {
            change_ms: self.change_ms - other.change_ms,
            variance: self.variance + other.variance,
            draws: if self.draws == 0 || other.draws == 0 {
                self.draws.max(other.draws)
            } else {
                self.draws.min(other.draws)
            },
            is_tried: true,
            is_changed: true,
            packets_drawn: self.packets_drawn + other.packets_drawn,
            pace_ms: self.pace_ms - other.pace_ms,
            extra_bytes: self.extra_bytes - other.extra_bytes,
            extra_retransmissions: self.extra_retransmissions - other.extra_retransmissions,
            extra_spurious: self.extra_spurious - other.extra_spurious,
        }
    }

    /// As much between a fast path and a slow one as another prediction.
    pub fn with_pace_of(mut self, other: Option<&Self>) -> Self {
        self.pace_ms = other.map_or(0.0, |other| other.pace_ms);
        self.change_ms += self.pace_ms;
        self
    }
}

impl Spread {
    /// Of the runs that complete.
    pub fn of(runs: impl Iterator<Item = Outcome>) -> Self {
        let times: Vec<f64> = runs.filter_map(|run| run.fct.map(in_ms)).collect();
        let n = times.len() as f64;
        let mean_ms = times.iter().sum::<f64>() / n.max(1.0);
        let squares = times.iter().map(|time| (time - mean_ms).powi(2));
        Self { runs: times.len() as u32, mean_ms, variance: squares.sum::<f64>() / (n - 1.0).max(1.0) }
    }
}
