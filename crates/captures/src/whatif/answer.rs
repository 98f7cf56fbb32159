//! The answer: what each mechanism would have changed.

use super::candidates::{Candidate, Candidates};
use super::changes::Changes;
use super::reasons::Reasons;
use super::reruns::{Done, Plan, Prediction, Rerun};
use crate::analysis::{Vantages, View, view};
use recoup_trace::finding::Cause;
use recoup_wire::Endpoints;
use std::sync::Arc;

/// Connections that an answer names as those that gain most, or lose most.
const MOST_NAMED: usize = 3;

/// Changes by each mechanism in a capture.
#[derive(Debug)]
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
    /// Connections that were not reached before an interrupt.
    pub interrupted: u64,
    /// Connections that their profile does not reproduce, by reason.
    pub apart: Reasons,
    /// Connections that cannot be rerun, by reason.
    pub refused: Reasons,
    /// The profiles that reproduce the connections, the most frequent first.
    pub bases: Vec<(String, u64)>,
    /// How far the base runs are from the capture: the root of the mean square, in ms.
    pub model_error_ms: f64,
    /// Runs with drawn fates for each connection and mechanism.
    pub draws: u32,
    /// The seed of the draws.
    pub seed: u64,
    /// For each mechanism, in the order asked for.
    pub results: Vec<MechanismResult>,
    /// Notes for the user, besides those on the capture.
    pub notes: Vec<String>,
    vantages: Vantages,
    candidates: Vec<Candidate>,
    base_names: Vec<String>,
    reruns: Vec<Arc<Rerun>>,
}

/// Changes by a mechanism.
#[derive(Clone, Debug, Default)]
pub struct MechanismResult {
    /// Its name, as asked for.
    pub mechanism: String,
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
        let squares = reruns.iter().map(|one| one.error_ms.powi(2));
        let model = squares.fold(0.0, |sum, square| sum + square) / (reruns.len() as f64).max(1.0);
        let names = plan.alternatives.0.iter().enumerate();
        let results = names.map(|(i, one)| result(one.name(), i, &reruns, rows, model)).collect();
        let base_names: Vec<String> = plan.bases.known().iter().map(|base| base.name().into()).collect();
        let mut refused = found.refused.clone();
        refused.merge(done.refused);
        Self {
            connections: found.connections,
            rerun: reruns.len() as u64,
            lossy: reruns.iter().filter(|one| one.is_lossy).count() as u64,
            paced_as_captured: reruns.iter().filter(|one| one.is_paced_as_captured).count() as u64,
            left_out: found.left_out(),
            interrupted: done.interrupted,
            apart: done.apart,
            refused,
            bases: bases(&reruns, &base_names),
            model_error_ms: model.sqrt(),
            draws: plan.draws,
            seed: plan.seed,
            results,
            notes: Vec::new(),
            vantages: *found.vantages(),
            candidates: rows.to_vec(),
            base_names,
            reruns: reruns.into_iter().map(Arc::new).collect(),
        }
    }

    /// The result of the mechanism that helps most: of those whose whole interval is below 0, the one
    /// with the least sum of changes.
    pub fn best(&self) -> Option<&MechanismResult> {
        let helping = self.results.iter().filter(|result| result.all.helps());
        helping.min_by(|a, b| a.all.sum_change_ms.total_cmp(&b.all.sum_change_ms))
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

/// The statistics of the `i`-th mechanism.
fn result(name: &str, i: usize, reruns: &[Rerun], candidates: &[Candidate], model: f64) -> MechanismResult {
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
        mechanism: name.into(),
        unfinished: (reruns.len() - all.len()) as u64,
        causes: by_cause(&all, candidates),
        gain_most: gain.take(MOST_NAMED).copied().collect(),
        lose_most: lose.take(MOST_NAMED).copied().collect(),
        all: Changes::of(&all, model),
        lossy: Changes::of(&lossy, model),
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
