//! `recoup.run`: scenarios and sweeps in the simulator.

use crate::errors::{defect, wrong};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use recoup::commands::run::call::sweep::{SweepRequest, WorldSweepRequest};
use recoup::commands::run::call::world::WorldRequest;
use recoup::commands::run::call::{Request, RunError};
use recoup_lab::report::{Report, View};
use recoup_lab::scenario::{BUILT_IN, Experiment, Scenario};
use recoup_lab::sweep::{Sweep, SweepReport};
use recoup_lab::world::{WorldReport, WorldScenario};
use recoup_recovery::Profile;
use recoup_support::profile::parse_profile;
use recoup_table::Keep;
use std::time::Duration;

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

/// The changes that a call makes to a scenario.
struct Changes<'a> {
    profiles: Vec<Profile>,
    flows: Option<u64>,
    seed: Option<u64>,
    settings: &'a [(String, String)],
}

impl Changes<'_> {
    fn pair(&self, mut scenario: Scenario) -> PyResult<Scenario> {
        for (key, value) in self.settings {
            scenario.set(key, value).map_err(wrong)?;
        }
        if !self.profiles.is_empty() {
            scenario.profiles.clone_from(&self.profiles);
        }
        scenario.flows = self.flows.unwrap_or(scenario.flows);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.check().map_err(wrong)?;
        Ok(scenario)
    }

    fn world(&self, mut world: WorldScenario) -> PyResult<WorldScenario> {
        if self.flows.is_some() {
            let line = "flows: in a world, set the flows of a workload: settings={'workloads.NAME.flows': N}";
            return Err(wrong(line));
        }
        for (key, value) in self.settings {
            world.set(key, value).map_err(wrong)?;
        }
        if !self.profiles.is_empty() {
            world.profiles.clone_from(&self.profiles);
        }
        world.seed = self.seed.unwrap_or(world.seed);
        Ok(world)
    }
}

fn profiles(names: &[String]) -> PyResult<Vec<Profile>> {
    let parsed = names.iter().map(|text| {
        let profile = parse_profile(text);
        profile.map_err(|e| wrong(format_args!("profile {text}: {e}")))
    });
    parsed.collect()
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
    let changes = Changes { profiles: profiles(&profile_names)?, flows, seed, settings: &settings };
    let sweep = Sweep::parse(&sweep).map_err(wrong)?;
    match Experiment::load(scenario).map_err(wrong)? {
        Experiment::Pair(pair) => {
            let pair = changes.pair(*pair)?;
            match sweep.is_empty() {
                true => run_pair(py, pair, progress),
                false => sweep_pairs(py, &pair, &sweep, progress),
            }
        }
        Experiment::World(world) => {
            let world = changes.world(*world)?;
            match sweep.is_empty() {
                true => run_world(py, world, progress),
                false => sweep_worlds(py, &world, &sweep, progress),
            }
        }
    }
}

fn run_pair(py: Python<'_>, scenario: Scenario, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Results> {
    let request = Request { scenario: scenario.clone(), simulate: true, real: vec![], pcap: None, events: None };
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
    let request = WorldRequest { world: world.clone(), pcap: None, events: None, watched: vec![] };
    let outcome = simulated(py, progress, request.total(), |done, is_stopped| request.run(done, is_stopped))?;
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
    let request = SweepRequest { cells: sweep.scenarios(base).map_err(wrong)?, simulate: true, real: vec![] };
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
    let request = WorldSweepRequest { cells: sweep.worlds(base).map_err(wrong)? };
    let outcome = simulated(py, progress, request.total(), |done, is_stopped| request.run(done, is_stopped))?;
    let report = SweepReport::of_worlds(base, sweep, &outcome.finished);
    Ok(Results { report: AnyReport::Sweep(report.map_err(defect)?), notes: outcome.notes, seed: base.seed })
}

/// Runs worlds, with the simulated time as progress. `run` is given what to call with the time since the last call, and
/// whether to end early.
fn simulated<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    total: Duration,
    run: impl FnOnce(&(dyn Fn(Duration) + Sync), &(dyn Fn() -> bool + Sync)) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let outcome = watch::run(py, progress, |meter| {
        meter.simulates(millis(total));
        run(&|time| meter.add(millis(time)), &|| meter.is_stopped())
    })?;
    outcome.map_err(error)
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

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn error(error: RunError) -> PyErr {
    wrong(error)
}
