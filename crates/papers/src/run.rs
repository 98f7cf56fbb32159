//! Runs experiments of papers and checks the papers' claims: `recoup paper` without its arguments and its printing.

pub mod report;

use crate::experiment::{Effort, Experiment, ExperimentError, Mutation, Setup};
use crate::ledger::{self, Ledger};
use crate::{Sheet, tail_loss};
use recoup_lab::scenario::Scenario;
use recoup_lab::stage::{self, Ends, Stage, StageError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Follows a run of experiments. Calls come from any thread.
pub trait Progress: Sync {
    /// An experiment begins in the simulator; it is the `number`-th, counted from 1, of `all`.
    fn experiment_begins(&self, experiment: &'static Experiment, number: usize, all: usize);

    /// A figure begins over real packets, with this many flows.
    fn measurement_begins(&self, experiment: &'static Experiment, stage: Stage, flows: u64);

    /// This many more flows are finished.
    fn flows_finished(&self, flows: u64);

    /// The experiment is finished; in the simulator it took this long.
    fn experiment_ends(&self, took: Option<Duration>);

    /// Called again and again while an experiment is simulated. `false` gives it up.
    fn goes_on(&self) -> bool {
        true
    }
}

/// How often [`Progress::goes_on`] is asked.
const ASK_INTERVAL: Duration = Duration::from_millis(10);

/// Why experiments cannot run.
#[derive(Debug, Error)]
pub enum PaperError {
    /// An experiment's settings do not fit together.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// A setting that the cells set themselves.
    #[error("--set {0}: the cells of the figures set it; name other figures, or use `recoup run` for one of your own")]
    OwnSetting(&'static str),
    /// A stage with real packets failed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// This system has no testbed.
    #[cfg(not(target_os = "linux"))]
    #[error("--on {0}: real packets need Linux")]
    NoTestbed(&'static str),
}

/// An experiment with what it starts from.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// Its starting point.
    pub setup: Setup,
}

/// A finished experiment.
#[derive(Clone, Debug)]
pub struct Run {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// The seed of everything random.
    pub seed: u64,
    /// Its figure and claims.
    pub sheet: Sheet,
    /// How long it took in the simulator; `None` over real packets.
    pub took: Option<Duration>,
}

/// The experiments that are finished.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// In order.
    pub runs: Vec<Run>,
    /// Those that [`Progress::goes_on`] kept from being finished, in order; the first had begun.
    pub missing: Vec<&'static Experiment>,
}

impl Finished {
    /// The claims with their verdicts.
    pub fn ledger(&self, effort: Effort) -> Ledger {
        Ledger::new(effort, self.sheets())
    }

    /// The experiments with their figures and claims.
    pub fn sheets(&self) -> impl Iterator<Item = (&'static Experiment, &Sheet)> {
        self.runs.iter().map(|run| (run.experiment, &run.sheet))
    }
}

/// Experiments, and where to run them.
#[derive(Clone, Debug)]
pub struct Request {
    /// The experiments, in order.
    pub planned: Vec<Planned>,
    /// Whether to run them in the simulator.
    pub simulate: bool,
    /// The stages with real packets to measure them on, after the simulator.
    pub real: Vec<Stage>,
}

/// The setup of each experiment, with its scenario as `change` changes it. `is_changed` says whether a setting is changed.
///
/// # Errors
/// A setting that the cells set themselves; settings that do not fit together; errors of `change`.
pub fn plan<E: From<PaperError>>(
    experiments: &[&'static Experiment],
    effort: Effort,
    is_changed: impl Fn(&str) -> bool,
    change: impl Fn(&mut Scenario) -> Result<(), E>,
) -> Result<Vec<Planned>, E> {
    let own = experiments.iter().flat_map(|one| one.own_settings);
    if let Some(key) = own.copied().find(|key| is_changed(key)) {
        return Err(PaperError::OwnSetting(key).into());
    }
    let planned = |experiment: &&'static Experiment| {
        let mut setup = Setup::new(experiment, effort).map_err(PaperError::from)?;
        change(&mut setup.base)?;
        setup.base.check().map_err(|line| PaperError::from(ExperimentError::Unfit(line)))?;
        Ok(Planned { experiment, setup })
    };
    experiments.iter().map(planned).collect()
}

impl Request {
    /// The settings without effect on the stages with real packets, a line each.
    pub fn notes(&self) -> Vec<String> {
        let ends: Vec<Ends> = self.real.iter().copied().filter_map(|s| Ends::new(s, None, None)).collect();
        match self.planned.first() {
            Some(first) if !ends.is_empty() => stage::notes(&first.setup.base, self.simulate, &ends),
            _ => vec![],
        }
    }

    /// Runs the experiments in the simulator, then measures those that can be measured. If [`Progress::goes_on`] says no, the
    /// experiments that are finished are returned at once. A simulation that is under way then goes on in a thread of its own,
    /// until the process ends.
    ///
    /// # Errors
    /// Settings that do not fit together; a system that refuses what a testbed needs.
    pub fn run(&self, progress: &dyn Progress) -> Result<Finished, PaperError> {
        let mut runs = vec![];
        let simulated = if self.simulate { self.planned.as_slice() } else { &[] };
        for (i, planned) in simulated.iter().enumerate() {
            progress.experiment_begins(planned.experiment, i + 1, simulated.len());
            let begin = Instant::now();
            let sheet = planned.run_apart(progress);
            let took = Some(begin.elapsed());
            let Some(sheet) = sheet else {
                progress.experiment_ends(None);
                let missing = simulated[i..].iter().map(|one| one.experiment).collect();
                return Ok(Finished { runs, missing });
            };
            let sheet = sheet?;
            progress.experiment_ends(took);
            runs.push(planned.finished(sheet, took));
        }
        for planned in &self.planned {
            for stage in &self.real {
                let sheet = planned.measure(*stage, progress)?;
                runs.extend(sheet.map(|sheet| planned.finished(sheet, None)));
            }
        }
        Ok(Finished { runs, missing: vec![] })
    }
}

impl Planned {
    fn finished(&self, sheet: Sheet, took: Option<Duration>) -> Run {
        Run { experiment: self.experiment, seed: self.setup.seed(), sheet, took }
    }

    /// Runs it in the simulator, in a thread of its own. `None` if it was stopped first.
    fn run_apart(&self, progress: &dyn Progress) -> Option<Result<Sheet, ExperimentError>> {
        let Self { experiment, setup } = self.clone();
        let Ok(worker) = thread::Builder::new().spawn(move || experiment.run(&setup)) else {
            // Without a thread of its own it cannot be stopped.
            return Some(self.experiment.run(&self.setup));
        };
        while !worker.is_finished() {
            if !progress.goes_on() {
                return None;
            }
            thread::sleep(ASK_INTERVAL);
        }
        match worker.join() {
            Ok(sheet) => Some(sheet),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Measures it over real packets. `None` for experiments that are not measured.
    #[cfg(target_os = "linux")]
    fn measure(&self, stage: Stage, progress: &dyn Progress) -> Result<Option<Sheet>, PaperError> {
        let Self { experiment, setup } = self;
        let mut figures = tail_loss::Id::ALL.into_iter();
        let figure = figures.find(|id| id.name() == experiment.name);
        let Some(id) = figure.filter(|_| experiment.paper == tail_loss::NAME) else {
            return Ok(None);
        };
        let testbeds = recoup::testbeds::Testbeds::default();
        progress.measurement_begins(experiment, stage, tail_loss::stages::flows(id, stage));
        let finished = |n| progress.flows_finished(n);
        let sheet = tail_loss::stages::sheet(id, &setup.base, stage, &testbeds, &finished);
        progress.experiment_ends(None);
        Ok(sheet?)
    }

    /// Other systems have no TUN devices and network namespaces.
    #[cfg(not(target_os = "linux"))]
    fn measure(&self, stage: Stage, _: &dyn Progress) -> Result<Option<Sheet>, PaperError> {
        Err(PaperError::NoTestbed(stage.name()))
    }
}

/// The claims that a mutation turned, compared with the committed ledger.
#[derive(Clone, Debug)]
pub struct MutationReport {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// The mutation.
    pub mutation: &'static Mutation,
    /// The claims whose verdict it changed, with the verdict's name before and after.
    pub turned: Vec<(&'static str, &'static str, &'static str)>,
    /// The claims that it turns by the ledger, and that kept their verdict.
    pub kept: Vec<&'static str>,
    /// The claims that it turned, and does not turn by the ledger.
    pub new: Vec<&'static str>,
}

impl MutationReport {
    /// Compares the claims of a mutated run with the committed ledger.
    pub fn new(run: &Run, mutation: &'static Mutation) -> Self {
        let turned: Vec<_> = run
            .sheet
            .claims
            .iter()
            .filter(|claim| claim.changed())
            .map(|claim| {
                let before = claim.expected.map_or("none", |verdict| verdict.name());
                (claim.id, before, claim.verdict.name())
            })
            .collect();
        let is_turned = |id: &&str| turned.iter().any(|(one, ..)| one == id);
        let recorded = ledger::turns(run.experiment, mutation);
        Self {
            experiment: run.experiment,
            mutation,
            kept: recorded.iter().copied().filter(|id| !is_turned(id)).collect(),
            new: turned.iter().map(|(id, ..)| *id).filter(|id| !recorded.contains(id)).collect(),
            turned,
        }
    }
}

/// Every mutation of these experiments, each with its experiment set up for it, at the quick effort.
///
/// # Errors
/// A mutation's setting does not fit its experiment.
pub fn mutated(experiments: &[&'static Experiment]) -> Result<Vec<Planned>, PaperError> {
    let of = |experiment: &'static Experiment| {
        experiment.mutations.iter().map(move |mutation| {
            let setup = Setup::new(experiment, Effort::Quick)?.mutated(mutation)?;
            Ok(Planned { experiment, setup })
        })
    };
    experiments.iter().flat_map(|experiment| of(experiment)).collect::<Result<_, ExperimentError>>().map_err(Into::into)
}
