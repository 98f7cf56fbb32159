//! A row for each instance, for each sender and instance, and for each changed detection.

use super::read::ParameterStudy;
use super::totals::{InstanceTotals, Totals};
use crate::study::Model;
use recoup_recovery::parameters::Parameters;
use recoup_whatif::parameters::{Change, DetectionChange, Instances, StudiedSender};
use recoup_wire::Endpoints;
use std::sync::Arc;
use std::time::Duration;

/// The name of all senders together, in place of a profile.
pub(super) const ALL: &str = "all";

/// An instance by its number and its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstanceValues {
    /// Its number, from 0.
    pub number: usize,
    /// Its values.
    pub parameters: Parameters,
}

/// Changes by an instance for the senders of a profile.
#[derive(Clone, Debug)]
pub struct ResultRow {
    /// The profile, or `all`.
    pub profile: Arc<str>,
    /// The instance.
    pub instance: InstanceValues,
    /// Senders.
    pub senders: u64,
    /// The sums.
    pub totals: InstanceTotals,
    /// The mean reductions in ms, by each of [`Model::ALL`]; negative: longer.
    pub mean_saved_ms: [Option<f64>; 2],
    /// The mean reductions in RTTs, by model.
    pub mean_saved_rtts: [Option<f64>; 2],
}

/// A sender that was studied.
#[derive(Clone, Copy, Debug)]
pub struct SenderRow<'a> {
    /// Its connection, ends and profile.
    pub identity: &'a SenderIdentity,
    /// The time that ideal loss detection would have saved.
    pub best_case: Duration,
    /// How long the connection lasts.
    pub duration: Duration,
    /// Changes by each instance.
    pub studied: &'a StudiedSender,
    /// The instances.
    pub instances: &'a Instances,
}

/// Which sender a row is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderIdentity {
    /// The connection's number.
    pub connection: u64,
    /// The capture point, in a merged file.
    pub capture_point: u32,
    /// Client and server.
    pub endpoints: Endpoints,
    /// `client` or `server`.
    pub sender: &'static str,
    /// Its profile.
    pub profile: Arc<str>,
}

/// Changes by an instance for one sender.
#[derive(Clone, Debug)]
pub struct ChangeRow {
    /// The sender.
    pub identity: SenderIdentity,
    /// The instance.
    pub instance: InstanceValues,
    /// The mean RTT of the sender; zero if it has no sample.
    pub mean_rtt: Duration,
    /// The time that ideal loss detection would have saved.
    pub best_case: Duration,
    /// How long the connection lasts.
    pub duration: Duration,
    /// The sums by kind.
    pub change: Change,
}

/// A change by an instance at one detection.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// The sender.
    pub identity: SenderIdentity,
    /// The instance.
    pub instance: InstanceValues,
    /// The change.
    pub event: DetectionChange,
}

impl SenderRow<'_> {
    /// A row for each instance that changes something.
    pub fn changes(&self) -> impl Iterator<Item = ChangeRow> {
        let changes = self.studied.changes.iter().enumerate().filter(|(_, change)| !change.is_none());
        changes.map(|(number, change)| ChangeRow {
            identity: self.identity.clone(),
            instance: self.instance(number),
            mean_rtt: self.studied.mean_rtt,
            best_case: self.best_case,
            duration: self.duration,
            change: *change,
        })
    }

    /// A row for each change of a detection, in the order of time.
    pub fn events(&self) -> impl Iterator<Item = EventRow> {
        self.studied.events.iter().map(|(number, event)| EventRow {
            identity: self.identity.clone(),
            instance: self.instance(*number as usize),
            event: *event,
        })
    }

    fn instance(&self, number: usize) -> InstanceValues {
        InstanceValues { number, parameters: self.instances.all().get(number).copied().unwrap_or_default() }
    }
}

impl ChangeRow {
    /// The time that the instance saves, in RTTs of the sender, if it has an RTT sample.
    pub fn saved_rtts(&self, model: Model) -> Option<f64> {
        let rtt = self.mean_rtt.as_nanos() as f64;
        (rtt > 0.0).then(|| self.change.saved(model) as f64 / rtt)
    }
}

impl ParameterStudy {
    /// A row for each instance: for all senders, and then for each profile.
    pub fn results(&self) -> Vec<ResultRow> {
        let mut rows = self.results_of(ALL, &self.all);
        for one in &self.profiles {
            rows.extend(self.results_of(&one.profile, &one.totals));
        }
        rows
    }

    pub(super) fn results_of(&self, profile: &str, totals: &Totals) -> Vec<ResultRow> {
        let profile: Arc<str> = profile.into();
        let instances = self.instances.all().iter().zip(&totals.instances);
        let rows = instances.enumerate().map(|(number, (parameters, sums))| ResultRow {
            profile: Arc::clone(&profile),
            instance: InstanceValues { number, parameters: *parameters },
            senders: totals.senders,
            totals: *sums,
            mean_saved_ms: Model::ALL.map(|model| totals.mean_ms(sums.saved(model))),
            mean_saved_rtts: sums.saved_rtts.map(|sum| totals.mean_rtts(sum)),
        });
        rows.collect()
    }
}
