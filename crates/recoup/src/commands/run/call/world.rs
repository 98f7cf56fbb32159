//! Runs a world in the simulator.

use super::files::{Files, check_outputs};
use super::{Progress, RunError, Work};
use recoup_lab::flows::{FlowOutput, FlowSink};
use recoup_lab::pcap::{CapturePaths, Order};
use recoup_lab::world::{Chosen, Watch, WorldResult, WorldScenario};
use recoup_support::quantity::format_duration;
use recoup_support::threads::cores;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A run of a world, and the files that it writes.
#[derive(Debug)]
pub struct WorldRequest {
    /// The world with its profiles, runs and seed.
    pub world: WorldScenario,
    /// The folder for packet captures, two for each profile. They have the first run's packets.
    pub pcap: Option<PathBuf>,
    /// The file of the event stream of the first runs, `-` for standard output.
    pub events: Option<PathBuf>,
    /// The flows whose packets and events are written; all if empty.
    pub watched: Vec<Chosen>,
    /// Takes a row for each flow.
    pub flows: Option<Arc<dyn FlowSink>>,
}

/// The results of a run of a world.
#[derive(Debug, Default)]
pub struct WorldOutcome {
    /// A result for each profile of which something was simulated.
    pub results: Vec<WorldResult>,
    /// Notes on the results, a line each.
    pub notes: Vec<String>,
}

impl WorldRequest {
    /// Runs the world. Files of an interrupted run are not written.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn run(self, progress: &dyn Progress) -> Result<WorldOutcome, RunError> {
        let world = &self.world;
        let dirs = self.pcap.iter();
        let captures = dirs.flat_map(|dir| {
            let profiles = world.profiles.iter();
            profiles.map(|profile| CapturePaths::new(dir, profile.name()))
        });
        check_outputs(&world.profiles, captures, self.events.as_deref(), world.files())?;
        let has_files = self.pcap.is_some() || self.events.is_some();
        let rows = self.flows.map(FlowOutput::new);
        let mut results = follow(progress, world.total(), |done, is_stopped| match has_files {
            false => world.run_with_flows(cores(), rows.as_ref(), done, is_stopped).map_err(RunError::World),
            true => {
                let files = Files::begin(&world.profiles, Order::Together, self.pcap.as_deref(), self.events)?;
                files.run(&world.profiles, is_stopped, |profile, observer| {
                    let mut watch = Watch::new(observer, &self.watched);
                    let result = world.run_observed(profile, rows.as_ref(), &mut watch, done, is_stopped);
                    result.map_err(RunError::World)
                })
            }
        })?;
        let mut notes = Vec::new();
        if progress.is_stopped() {
            notes.push(interruption(world, &results, has_files));
            results.retain(|result| !result.simulated.is_zero());
        }
        notes.extend(cut_off(world, &results));
        Ok(WorldOutcome { results, notes })
    }
}

/// Runs worlds that simulate `total` together. `run` is given what to call with the time simulated since its last call,
/// and whether to end early.
pub(super) fn follow<T>(
    progress: &dyn Progress,
    total: Duration,
    run: impl FnOnce(&(dyn Fn(Duration) + Sync), &(dyn Fn() -> bool + Sync)) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    progress.begins(Work::SimulatedTime, millis(total));
    let result = run(&|time| progress.advanced(millis(time)), &|| progress.is_stopped());
    progress.ends();
    result
}

/// A note on the time that an interrupted run simulated.
fn interruption(world: &WorldScenario, results: &[WorldResult], has_files: bool) -> String {
    let begun = results.iter().filter(|result| !result.simulated.is_zero());
    let begun: Vec<String> =
        begun.map(|result| format!("{} {}", result.profile, format_duration(result.simulated))).collect();
    let begun = match begun.is_empty() {
        true => "nothing is simulated".into(),
        false => begun.join(", "),
    };
    let runs = match world.runs {
        1 => String::new(),
        runs => format!("{runs} times "),
    };
    let files = match has_files {
        true => "; captures and events are not written",
        false => "",
    };
    let duration = format_duration(world.duration);
    format!("interrupted: {begun} of {runs}{duration}{files}")
}

/// A note for each workload with flows that were open at the end.
pub(super) fn cut_off(world: &WorldScenario, results: &[WorldResult]) -> Vec<String> {
    let notes = world.workloads.iter().enumerate().filter_map(|(number, workload)| {
        let costs = results.iter().filter_map(|result| result.workloads.get(number));
        let open = costs.map(|workload| workload.cost.flows - workload.cost.completed);
        let most = open.max().filter(|open| *open > 0)?;
        let (name, after) = (&workload.name, format_duration(world.duration));
        let flows = if most == 1 { "flow was" } else { "flows were" };
        let up_to = if results.len() > 1 { "up to " } else { "" };
        Some(format!("{name}: {up_to}{most} {flows} not complete after {after}"))
    });
    notes.collect()
}
