//! `recoup.run`: scenarios and sweeps in the simulator.

use crate::errors::{defect, wrong};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use recoup::commands::run::Changes;
use recoup::commands::run::call::changes::ChangeError;
use recoup::commands::run::call::sweep::{SweepRequest, WorldSweepRequest};
use recoup::commands::run::call::world::WorldRequest;
use recoup::commands::run::call::{Request, RunError};
use recoup_lab::report::{Report, View};
use recoup_lab::scenario::{BUILT_IN, Experiment, Scenario};
use recoup_lab::sweep::{Sweep, SweepReport};
use recoup_lab::world::{WorldReport, WorldScenario};
use recoup_table::Keep;

/// What the profiles of a run cost.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Results {
    report: AnyReport,
    notes: Vec<String>,
    seed: u64,
}

enum AnyReport {
    Pair(Report),
    World(WorldReport),
    Sweep(SweepReport),
}

#[pymethods]
impl Results {
    /// A row for each profile; in a sweep for each combination of values, and in a world for each workload.
    #[getter]
    fn results(&self) -> PyResult<Table> {
        let batches = match &self.report {
            AnyReport::Pair(report) => report.to_arrow(),
            AnyReport::World(report) => report.to_arrow(),
            AnyReport::Sweep(report) => report.to_arrow(),
        };
        batches.map(Table::from).map_err(defect)
    }

    /// As `recoup run` prints it.
    fn text(&self) -> String {
        match &self.report {
            AnyReport::Pair(report) => report.to_table(View::default(), Keep::Telling),
            AnyReport::World(report) => report.to_table(View::default(), Keep::Telling),
            AnyReport::Sweep(report) => report.to_table(),
        }
    }

    /// The JSON document of `recoup run --format json`.
    fn json(&self) -> String {
        match &self.report {
            AnyReport::Pair(report) => report.to_json(),
            AnyReport::World(report) => report.to_json(),
            AnyReport::Sweep(report) => report.to_json(),
        }
    }

    /// What the user should know of the results.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The seed that repeats the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }
}

/// A change that cannot be made, with the name of Python's argument where it has one.
fn wrong_change(error: ChangeError) -> PyErr {
    match error {
        ChangeError::Set(why) | ChangeError::Combination(why) | ChangeError::Sweep(why) => wrong(why),
        ChangeError::Profile(name, why) => wrong(format_args!("profile {name}: {why}")),
        ChangeError::FlowsOfWorld => {
            wrong("flows: in a world, set the flows of a workload: settings={'workloads.NAME.flows': N}")
        }
    }
}

/// Runs a scenario, or every combination of the values in `sweep` (`KEY=VALUE;VALUE`).
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    scenario: &str,
    profile_names: Vec<String>,
    flows: Option<u64>,
    seed: Option<u64>,
    settings: Vec<(String, String)>,
    sweep: Vec<String>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    if flows == Some(0) {
        return Err(wrong("flows: expected at least 1"));
    }
    let settings = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let changes = Changes { profile: profile_names, flows, seed, settings, sweeps: sweep };
    let sweep = Sweep::parse(&changes.sweeps).map_err(wrong)?;
    match Experiment::load(scenario).map_err(wrong)? {
        Experiment::Pair(pair) => {
            let pair = changes.scenario(*pair).map_err(wrong_change)?;
            match sweep.is_empty() {
                true => run_pair(py, pair, progress),
                false => sweep_pairs(py, &pair, &sweep, progress),
            }
        }
        Experiment::World(world) => {
            let world = changes.world(*world).map_err(wrong_change)?;
            match sweep.is_empty() {
                true => run_world(py, world, progress),
                false => sweep_worlds(py, &world, &sweep, progress),
            }
        }
    }
}

fn run_pair(py: Python<'_>, scenario: Scenario, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Results> {
    let request =
        Request { scenario: scenario.clone(), simulate: true, real: vec![], pcap: None, events: None, flows: None };
    let mut notes = request.notes();
    let outcome = watch::run(py, progress, |meter| request.run(meter))?.map_err(error)?;
    notes.extend(outcome.notes);
    Ok(Results {
        report: AnyReport::Pair(py.detach(|| Report::new(&scenario, &outcome.results))),
        notes,
        seed: scenario.seed,
    })
}

fn run_world(py: Python<'_>, world: WorldScenario, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Results> {
    let request = WorldRequest { world: world.clone(), pcap: None, events: None, watched: vec![], flows: None };
    let outcome = watch::run(py, progress, |meter| request.run(meter))?.map_err(error)?;
    Ok(Results {
        report: AnyReport::World(WorldReport::new(&world, &outcome.results)),
        notes: outcome.notes,
        seed: world.seed,
    })
}

fn sweep_pairs(
    py: Python<'_>,
    base: &Scenario,
    sweep: &Sweep,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let request =
        SweepRequest { cells: sweep.scenarios(base).map_err(wrong)?, simulate: true, real: vec![], flows: None };
    let mut notes = request.notes();
    let outcome = watch::run(py, progress, |meter| request.run(meter))?.map_err(error)?;
    notes.extend(outcome.notes);
    let report = SweepReport::of_pairs(base, sweep, &outcome.finished);
    Ok(Results { report: AnyReport::Sweep(report.map_err(defect)?), notes, seed: base.seed })
}

fn sweep_worlds(
    py: Python<'_>,
    base: &WorldScenario,
    sweep: &Sweep,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let request = WorldSweepRequest { cells: sweep.worlds(base).map_err(wrong)?, flows: None };
    let outcome = watch::run(py, progress, |meter| request.run(meter))?.map_err(error)?;
    let report = SweepReport::of_worlds(base, sweep, &outcome.finished);
    Ok(Results { report: AnyReport::Sweep(report.map_err(defect)?), notes: outcome.notes, seed: base.seed })
}

/// The built-in scenarios: name and description.
#[pyfunction]
pub fn scenarios() -> PyResult<Vec<(&'static str, String)>> {
    let described = BUILT_IN.iter().map(|(name, _)| {
        let scenario = Experiment::load(name).map_err(defect)?;
        Ok((*name, scenario.about().to_owned()))
    });
    described.collect()
}

fn error(error: RunError) -> PyErr {
    wrong(error)
}
