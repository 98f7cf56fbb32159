//! The answer: what each mechanism would have changed.

use super::alternatives::Alternative;
use super::bases::SenderFact;
use super::candidates::{Candidate, Candidates};
use super::changes::Changes;
use super::interval::ModelError;
use super::prediction::Prediction;
use super::reasons::Reasons;
use super::reruns::{Done, Plan, Rerun};
use crate::analysis::{Vantages, View, view};
use crate::levers::{LeverValue, Need};
use recoup_tcp::flow::Host;
use recoup_trace::finding::{Cause, TimeByState};
use recoup_wire::Endpoints;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Connections that an answer names as those that gain most, or lose most.
const MOST_NAMED: usize = 3;

/// Changes by each mechanism in a capture.
#[derive(Debug, Default)]
pub struct Answer {
    /// Connections of the capture.
    pub connections: u64,
    /// Connections that were rerun.
    pub rerun: u64,
    /// Those of them that lost a packet.
    pub lossy: u64,
    /// Those of the rerun connections whose new data keeps the sender's own timing.
    pub paced_as_captured: u64,
    /// Connections that could be rerun, but are not in the sample.
    pub left_out: u64,
    /// Connections that suit, whether they had trouble or not.
    pub suited: u64,
    /// How the senders of those that could be rerun spent their time.
    pub time: TimeByState,
    /// Whether a sender of those that could be rerun retransmitted or lost time.
    pub shows_losses: bool,
    /// Whether some of the senders accept connections.
    pub senders_accept: bool,
    /// Connections that were not reached before an interrupt.
    pub interrupted: u64,
    /// Connections that their profile does not reproduce, by reason.
    pub apart: Reasons,
    /// Their part of the time of all connections that were rerun or are apart, 0 to 1.
    pub apart_share_of_time: f64,
    /// Connections that cannot be rerun, by reason.
    pub refused: Reasons,
    /// The profiles that reproduce the connections, the most frequent first.
    pub bases: Vec<(String, u64)>,
    /// The profiles of the listeners, as far as connections voted for them.
    pub senders: Vec<SenderFact>,
    /// How far the base runs are from the capture: the root of the mean square, in ms.
    pub model_error_ms: f64,
    /// Runs with drawn fates for each connection and mechanism.
    pub draws: u32,
    /// The seed of the draws.
    pub seed: u64,
    /// For each mechanism, in the order asked for; by default levers first.
    pub results: Vec<MechanismResult>,
    /// Levers that were not tried because they cannot matter, by what the capture does not show.
    pub without_effect: BTreeMap<Need, Vec<&'static str>>,
    /// Notes for the user, besides those on the capture.
    pub notes: Vec<String>,
    /// Whether the user wants a profile named.
    pub(super) names_profile: bool,
    /// The profiles tried for it. Predictions of them come after those of the results.
    pub(super) profiles: Vec<String>,
    pub(super) vantages: Vantages,
    pub(super) model: ModelError,
    pub(super) are_chosen: bool,
    pub(super) candidates: Vec<Candidate>,
    pub(super) base_names: Vec<String>,
    pub(super) reruns: Vec<Arc<Rerun>>,
}

/// Changes by a mechanism.
#[derive(Clone, Debug, Default)]
pub struct MechanismResult {
    /// Its name, as asked for.
    pub mechanism: String,
    /// The lever, if an operator can switch it on.
    pub lever: Option<LeverValue>,
    /// It is the base of all connections, or a lever that none of their senders has: the default list does not know.
    pub(super) is_idle: bool,
    /// It changes no connection.
    pub is_without_effect: bool,
    /// Over all connections that complete under it.
    pub all: Changes,
    /// Over those of them with a loss.
    pub lossy: Changes,
    /// Connections that do not complete under it. They are in no other count.
    pub unfinished: u64,
    /// By the cause that cost each connection most time.
    pub causes: Vec<CauseChange>,
    /// The connections that gain most: number and change in ms.
    pub gain_most: Vec<(u64, f64)>,
    /// The connections that lose most.
    pub lose_most: Vec<(u64, f64)>,
}

/// Changes by a mechanism in the connections that one cause cost most time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CauseChange {
    /// The cause.
    pub cause: Cause,
    /// Connections.
    pub connections: u64,
    /// Their mean change in ms; negative: faster.
    pub mean_change_ms: f64,
    /// The sum of their changes in ms.
    pub sum_change_ms: f64,
}

/// Changes by a mechanism in one connection. Values of several draws are means.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionRow {
    /// The connection's number.
    pub connection: u64,
    /// The capture point, in a merged file.
    pub capture_point: u32,
    /// Client and server.
    pub endpoints: Endpoints,
    /// `client` or `server`: the end whose loss recovery is replaced.
    pub sender: &'static str,
    /// The mechanism, as asked for.
    pub mechanism: String,
    /// The profile that reproduces the connection.
    pub base: String,
    /// The cause that cost it most time.
    pub cause: Option<Cause>,
    pub(super) rerun: Arc<Rerun>,
    /// `None` if it does not complete under the mechanism.
    pub(super) prediction: Option<Prediction>,
}

impl PredictionRow {
    /// The prediction, or no change.
    pub(super) fn known(&self) -> Prediction {
        self.prediction.unwrap_or_default()
    }
}

impl Answer {
    pub(super) fn new(found: &Candidates, plan: &Plan<'_>, mut done: Done) -> Self {
        let rows = plan.candidates;
        done.reruns.sort_unstable_by_key(|one| one.candidate);
        let reruns = done.reruns;
        let model = ModelError::of(&reruns);
        let base_names: Vec<String> = plan.bases.known().iter().map(|base| base.name().into()).collect();
        let bases = bases(&reruns, &base_names);
        let names = plan.alternatives.listed.iter().enumerate();
        let results = names.map(|(i, one)| result(one, i, &reruns, rows, (model, found.only_troubled()))).collect();
        let mut refused = found.refused.clone();
        refused.merge(done.refused);
        let time: f64 = reruns.iter().map(|one| one.recorded_ms).sum::<f64>() + done.apart_ms;
        Self {
            connections: found.connections,
            rerun: reruns.len() as u64,
            lossy: reruns.iter().filter(|one| one.is_lossy).count() as u64,
            paced_as_captured: reruns.iter().filter(|one| one.is_paced_as_captured).count() as u64,
            left_out: found.left_out(),
            suited: found.suited,
            shows_losses: found.shown.has(Need::Losses),
            senders_accept: rows.iter().any(|row| row.sender == Host::Server),
            time: found.shown.time,
            interrupted: done.interrupted,
            apart: done.apart,
            apart_share_of_time: if time > 0.0 { done.apart_ms / time } else { 0.0 },
            refused,
            bases,
            senders: plan.bases.facts(),
            model_error_ms: root_mean_square(&reruns),
            draws: plan.draws,
            seed: plan.seed,
            results,
            without_effect: BTreeMap::new(),
            notes: Vec::new(),
            names_profile: false,
            profiles: plan.alternatives.profiles.iter().map(|one| one.name().into()).collect(),
            vantages: *found.vantages(),
            model,
            are_chosen: found.only_troubled(),
            candidates: rows.to_vec(),
            base_names,
            reruns: reruns.into_iter().map(Arc::new).collect(),
        }
    }

    /// Leaves out what was tried by default and turned out to be what the senders have, or cannot have.
    pub(super) fn leave_out_idle(&mut self) {
        let kept: Vec<bool> = self
            .results
            .iter()
            .map(|result| {
                let is_theirs = |lever: &LeverValue| self.bases.iter().any(|(base, _)| lever.is_offered_to(base));
                !result.is_idle && result.lever.as_ref().is_none_or(is_theirs)
            })
            .collect();
        let mut place = kept.iter();
        self.results.retain(|_| place.next().copied().unwrap_or(true));
        for rerun in &mut self.reruns {
            let rerun = Arc::make_mut(rerun);
            let mut place = kept.iter();
            rerun.predictions.retain(|_| place.next().copied().unwrap_or(true));
            let mut place = kept.iter();
            if let Some(anew) = &mut rerun.anew {
                anew.with.retain(|_| place.next().copied().unwrap_or(true));
            }
        }
    }

    /// The result of the mechanism that helps most: of those whose whole interval is below 0, the one
    /// with the least sum of changes.
    pub fn best(&self) -> Option<&MechanismResult> {
        self.helping().into_iter().min_by(|a, b| a.all.sum_change_ms.total_cmp(&b.all.sum_change_ms))
    }

    /// Connections that could be rerun: those of the sample and those beside it, also if they are reported apart.
    pub fn troubled(&self) -> u64 {
        self.rerun + self.left_out + self.interrupted + self.apart.total()
    }

    /// Those that help: levers first, and of each kind those that help most.
    pub fn helping(&self) -> Vec<&MechanismResult> {
        let mut helping: Vec<_> = self.results.iter().filter(|result| result.all.helps()).collect();
        helping.sort_by(|a, b| {
            let rank = |of: &MechanismResult| of.lever.is_none();
            rank(a).cmp(&rank(b)).then(a.all.sum_change_ms.total_cmp(&b.all.sum_change_ms))
        });
        helping
    }

    /// The changes by the `number`-th mechanism in the connections whose peer `is_meant`, by its address: all of them, and those
    /// with a loss.
    pub fn changes_towards(&self, number: usize, is_meant: impl Fn(IpAddr) -> bool) -> [Changes; 2] {
        let reruns = self.reruns.iter().map(|rerun| &**rerun);
        let meant = reruns.filter(|rerun| is_meant(self.candidates[rerun.candidate].peer_address()));
        let all: Vec<(&Rerun, &Prediction)> =
            meant.filter_map(|rerun| Some((rerun, rerun.predictions.get(number)?.as_ref()?))).collect();
        let lossy: Vec<_> = all.iter().filter(|(rerun, _)| rerun.is_lossy).copied().collect();
        [Changes::of(&all, number, self.model, self.are_chosen), Changes::of(&lossy, number, self.model, true)]
    }

    /// A row for each connection and mechanism, by connection.
    pub fn predictions(&self) -> Vec<PredictionRow> {
        let rows = self.reruns.iter().flat_map(|rerun| {
            let of = rerun.predictions.iter().zip(&self.results);
            of.map(|(prediction, result)| self.row(rerun, *prediction, result))
        });
        rows.collect()
    }

    fn row(&self, rerun: &Arc<Rerun>, prediction: Option<Prediction>, result: &MechanismResult) -> PredictionRow {
        let candidate = &self.candidates[rerun.candidate];
        PredictionRow {
            connection: candidate.sought.id,
            capture_point: candidate.sought.point.number,
            endpoints: candidate.sought.endpoints,
            sender: candidate.sender.name(),
            mechanism: result.mechanism.clone(),
            base: self.base_names[rerun.base].clone(),
            cause: candidate.cause,
            rerun: Arc::clone(rerun),
            prediction,
        }
    }
}

/// The root of the mean square of the base runs' errors, in ms.
fn root_mean_square(reruns: &[Rerun]) -> f64 {
    let squares = reruns.iter().fold(0.0, |sum, one| sum + one.error_ms.powi(2));
    (squares / (reruns.len() as f64).max(1.0)).sqrt()
}

/// The statistics of the `i`-th mechanism.
fn result(
    tried: &Alternative,
    i: usize,
    reruns: &[Rerun],
    candidates: &[Candidate],
    (model, only_troubled): (ModelError, bool),
) -> MechanismResult {
    let all: Vec<(&Rerun, &Prediction)> =
        reruns.iter().filter_map(|rerun| Some((rerun, rerun.predictions[i].as_ref()?))).collect();
    let lossy: Vec<_> = all.iter().filter(|(rerun, _)| rerun.is_lossy).copied().collect();
    let mut changed: Vec<(u64, f64)> = all
        .iter()
        .map(|(rerun, one)| (candidates[rerun.candidate].sought.id, one.change_ms))
        .filter(|(_, change)| *change != 0.0)
        .collect();
    changed.sort_by(|a, b| a.1.total_cmp(&b.1));
    let gain = changed.iter().take_while(|(_, change)| *change < 0.0);
    let lose = changed.iter().rev().take_while(|(_, change)| *change > 0.0);
    MechanismResult {
        mechanism: tried.name().into(),
        lever: tried.lever().cloned(),
        is_idle: all.iter().all(|(_, one)| !one.is_tried),
        is_without_effect: all.len() == reruns.len() && all.iter().all(|(_, one)| !one.is_changed),
        unfinished: (reruns.len() - all.len()) as u64,
        causes: by_cause(&all, candidates),
        gain_most: gain.take(MOST_NAMED).copied().collect(),
        lose_most: lose.take(MOST_NAMED).copied().collect(),
        all: Changes::of(&all, i, model, only_troubled),
        lossy: Changes::of(&lossy, i, model, true),
    }
}

fn by_cause(all: &[(&Rerun, &Prediction)], candidates: &[Candidate]) -> Vec<CauseChange> {
    let causes = Cause::ALL.into_iter().map(|cause| {
        let of = all.iter().filter(|(rerun, _)| candidates[rerun.candidate].cause == Some(cause));
        let (count, sum) = of.fold((0_u64, 0.0), |(count, sum), (_, one)| (count + 1, sum + one.change_ms));
        CauseChange { cause, connections: count, mean_change_ms: sum / count.max(1) as f64, sum_change_ms: sum }
    });
    causes.filter(|cause| cause.connections > 0).collect()
}

/// The names of the bases, the most frequent first.
fn bases(reruns: &[Rerun], names: &[String]) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = names.iter().map(|name| (name.clone(), 0)).collect();
    reruns.iter().for_each(|one| counts[one.base].1 += 1);
    counts.retain(|(_, count)| *count > 0);
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

view!(Answer: connections, vantages);
