//! Changes by each instance, summed over the senders of each profile and over all.

use super::bins::Bins;
use crate::study::Model;
use recoup_whatif::parameters::{Change, ChangeKind, Instances, StudiedSender};
use std::time::Duration;

/// The senders of a profile.
#[derive(Clone, Debug)]
pub struct ProfileTotals {
    /// The profile's name.
    pub profile: String,
    /// Their sums.
    pub totals: Totals,
}

/// Sums over senders.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Senders.
    pub senders: u64,
    /// Those of them without an RTT sample. Means in RTTs leave them out.
    pub without_rtt: u64,
    /// Timeouts studied.
    pub timeouts: u64,
    /// Fast retransmits studied.
    pub fast_retransmits: u64,
    /// Detections that the capture does not show well enough.
    pub unmeasured: u64,
    /// The sum of their best cases: what ideal loss detection would have saved.
    pub best_case: Duration,
    /// The sum of the durations of their connections.
    pub duration: Duration,
    /// The sum of their best cases, each in the mean RTT of its sender.
    pub best_case_rtts: f64,
    /// Sums for each instance, in order.
    pub instances: Vec<InstanceTotals>,
    /// The points of the figures, for each instance that replaces one parameter.
    pub bins: Vec<Bins>,
}

/// Changes by an instance, summed over senders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InstanceTotals {
    /// Senders whose connection would have ended sooner, by each of [`Model::ALL`].
    pub faster: [u64; 2],
    /// Senders whose connection would have ended later.
    pub slower: [u64; 2],
    /// The sum of the reductions, each in the mean RTT of its sender; negative: longer.
    pub saved_rtts: [f64; 2],
    /// Detections that change, by kind.
    pub events: [u64; ChangeKind::ALL.len()],
    /// The time that these changes save, in ns, by model and kind.
    pub saved: [[i128; ChangeKind::ALL.len()]; 2],
}

/// A sender's figures besides what the instances change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub best_case: Duration,
    pub duration: Duration,
}

impl Totals {
    /// Nothing yet.
    pub(super) fn new(instances: &Instances) -> Self {
        Self {
            instances: vec![InstanceTotals::default(); instances.all().len()],
            bins: vec![Bins::default(); instances.singles().len()],
            ..Self::default()
        }
    }

    /// Adds a sender. `model` is that of the figures.
    pub(super) fn add(&mut self, sender: &StudiedSender, measured: Measured, model: Model) {
        self.senders += 1;
        self.timeouts += u64::from(sender.timeouts);
        self.fast_retransmits += u64::from(sender.fast_retransmits);
        self.unmeasured += u64::from(sender.unmeasured);
        self.best_case = self.best_case.saturating_add(measured.best_case);
        self.duration = self.duration.saturating_add(measured.duration);
        let rtt = sender.mean_rtt.as_nanos() as f64;
        let in_rtts = |nanos: f64| (rtt > 0.0).then(|| nanos / rtt);
        let best_case = in_rtts(measured.best_case.as_nanos() as f64);
        self.without_rtt += u64::from(best_case.is_none());
        self.best_case_rtts += best_case.unwrap_or_default();
        for (instance, change) in self.instances.iter_mut().zip(&sender.changes) {
            if !change.is_none() {
                instance.add(change, in_rtts(1.0).unwrap_or_default());
            }
        }
        for (bins, change) in self.bins.iter_mut().zip(&sender.changes) {
            let saved = in_rtts(change.saved(model) as f64);
            if let Some((best_case, saved)) = best_case.zip(saved) {
                bins.add(best_case, saved);
            }
        }
    }

    /// A sum over senders, in ms for each sender.
    pub fn mean_ms(&self, nanos: i128) -> Option<f64> {
        (self.senders > 0).then(|| nanos as f64 / 1e6 / self.senders as f64)
    }

    /// A sum over senders in RTTs, for each sender with an RTT.
    pub fn mean_rtts(&self, sum: f64) -> Option<f64> {
        let senders = self.senders - self.without_rtt;
        (senders > 0).then(|| sum / senders as f64)
    }

    /// The mean of the best cases in ms.
    pub fn mean_best_case_ms(&self) -> Option<f64> {
        self.mean_ms(self.best_case.as_nanos() as i128)
    }

    /// The mean duration of the connections in ms.
    pub fn mean_duration_ms(&self) -> Option<f64> {
        self.mean_ms(self.duration.as_nanos() as i128)
    }

    /// The instance that saves most, among those of these numbers; the first among equals. `None` if none saves
    /// anything.
    pub fn best_of(&self, numbers: impl Iterator<Item = usize>, model: Model) -> Option<usize> {
        let saved = |number: usize| self.instances.get(number).map(|one| one.saved(model));
        let saving = numbers.filter_map(|number| Some((number, saved(number)?))).filter(|(_, saved)| *saved > 0);
        let best = saving.reduce(|best, other| if other.1 > best.1 { other } else { best });
        best.map(|(number, _)| number)
    }
}

impl InstanceTotals {
    /// Adds what it changes for a sender. `rtts`: RTTs of this sender in a nanosecond.
    fn add(&mut self, change: &Change, rtts: f64) {
        for (number, model) in Model::ALL.into_iter().enumerate() {
            let saved = change.saved(model);
            self.faster[number] += u64::from(saved > 0);
            self.slower[number] += u64::from(saved < 0);
            self.saved_rtts[number] += saved as f64 * rtts;
            for (sum, kind) in self.saved[number].iter_mut().zip(ChangeKind::ALL) {
                *sum += i128::from(change.saved_by(kind, model));
            }
        }
        for (sum, kind) in self.events.iter_mut().zip(ChangeKind::ALL) {
            *sum += u64::from(change.events(kind));
        }
    }

    /// Whether it changes no detection.
    pub fn is_none(&self) -> bool {
        self.events.iter().all(|events| *events == 0)
    }

    /// The time that all changes save, in ns.
    pub fn saved(&self, model: Model) -> i128 {
        self.saved[model as usize].iter().sum()
    }

    /// How many detections change in one of these ways.
    pub fn events_of(&self, kinds: &[ChangeKind]) -> u64 {
        kinds.iter().map(|kind| self.events[*kind as usize]).sum()
    }
}
