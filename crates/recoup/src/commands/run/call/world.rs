//! Runs a world in the simulator.

use super::files::{Files, check_outputs};
use super::{EventTarget, RunError};
use recoup_lab::pcap::{CapturePaths, Order};
use recoup_lab::world::{Chosen, Watch, WorldResult, WorldScenario};
use recoup_support::quantity::format_duration;
use recoup_support::threads::cores;
use std::path::PathBuf;
use std::time::Duration;

/// Which world to run, and what to write meanwhile.
#[derive(Debug)]
pub struct WorldRequest {
    /// The world with its profiles, runs and seed.
    pub world: WorldScenario,
    /// The folder for packet captures, two for each profile. They have the first run's packets.
    pub pcap: Option<PathBuf>,
    /// Where the event stream of the first runs goes.
    pub events: Option<EventTarget>,
    /// The flows whose packets and events are written; all if empty.
    pub watched: Vec<Chosen>,
}

/// What a run of a world found.
#[derive(Debug, Default)]
pub struct WorldOutcome {
    /// A result for each profile of which something was simulated.
    pub results: Vec<WorldResult>,
    /// What the user should know of the results, a line each.
    pub notes: Vec<String>,
}

impl WorldRequest {
    /// The time to simulate, of all worlds together.
    pub fn total(&self) -> Duration {
        self.world.total()
    }

    /// Runs the world. `done` is called from any thread with the simulated time since its last call; `is_stopped` may
    /// end the run early. Files of an interrupted run are not written.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn run(
        self,
        done: &(dyn Fn(Duration) + Sync),
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<WorldOutcome, RunError> {
        let world = &self.world;
        let dirs = self.pcap.iter();
        let captures = dirs.flat_map(|dir| {
            let profiles = world.profiles.iter();
            profiles.map(|profile| CapturePaths::new(dir, profile.name()))
        });
        check_outputs(&world.profiles, captures, self.events.as_ref(), || world.files())?;
        let has_files = self.pcap.is_some() || self.events.is_some();
        let mut results = match has_files {
            false => world.run(cores(), done, is_stopped).map_err(RunError::World)?,
            true => {
                let order = Order::Together;
                let pcap = self.pcap.as_deref();
                let files = Files::begin(&world.profiles, order, pcap, self.events)?;
                files.run(&world.profiles, is_stopped, |profile, observer| {
                    let mut watch = Watch::new(observer, &self.watched);
                    let result = world.run_observed(profile, &mut watch, done, is_stopped);
                    result.map_err(RunError::World)
                })?
            }
        };
        let mut notes = Vec::new();
        if is_stopped() {
            notes.push(interruption(world, &results, has_files));
            results.retain(|result| !result.simulated.is_zero());
        }
        notes.extend(cut_off(world, &results));
        Ok(WorldOutcome { results, notes })
    }
}

/// How far an interrupted run came.
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
