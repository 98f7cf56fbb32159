//! Runs a scenario in the simulator, over real packets, or both: `recoup run` without its arguments and
//! its printing.

pub mod changes;
mod files;
pub mod sweep;
pub mod world;

use files::{EventStream, Files, is_standard_output};
use recoup_lab::effect;
use recoup_lab::flows::{FlowOutput, FlowSink};
use recoup_lab::pcap::{CaptureError, Order};
use recoup_lab::run::{ProfileResult, run_observed_with_flows, run_with_flows};
use recoup_lab::scenario::Scenario;
use recoup_lab::settings::SettingsError;
use recoup_lab::stage::{self, Ends, Outputs, Stage, StageError};
use recoup_support::output_file::{OutputError, OverwriteError};
use recoup_support::threads::cores;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// A run: its scenario, its stages and the files that it writes.
#[derive(Debug)]
pub struct Request {
    /// The scenario with its profiles, flows and seed.
    pub scenario: Scenario,
    /// Whether to run it in the simulator.
    pub simulate: bool,
    /// The stages with real packets to run it on, after the simulator.
    pub real: Vec<Ends>,
    /// The folder for packet captures, two for each profile.
    pub pcap: Option<PathBuf>,
    /// The file of the event stream, `-` for standard output: the simulator's, or without it that of the stages with
    /// real packets.
    pub events: Option<PathBuf>,
    /// Takes a row for each flow of the simulator.
    pub flows: Option<Arc<dyn FlowSink>>,
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// A result for each stage and profile, in the order they were run. After an interruption, only
    /// profiles with at least one finished flow have one.
    pub results: Vec<ProfileResult>,
    /// Notes on the results, a line each.
    pub notes: Vec<String>,
    /// Whether [`Progress::is_stopped`] ended the run early. Files of an interrupted run are not
    /// written.
    pub interrupted: bool,
}

/// A part of a run, of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The flows of a stage.
    Flows(Stage),
    /// Milliseconds of simulated time of worlds.
    SimulatedTime,
}

/// Follows a run, and may end it. Calls come from any thread.
pub trait Progress: Sync {
    /// Work of this size begins.
    fn begins(&self, work: Work, size: u64);

    /// This much more of the work is done.
    fn advanced(&self, by: u64);

    /// The work is over.
    fn ends(&self);

    /// Whether to begin no other flow, and to end worlds where they are.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Why a request cannot be carried out.
#[derive(Debug, Error)]
pub enum RunError {
    /// The settings do not fit together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The world cannot be built.
    #[error("{0}")]
    World(String),
    /// A stage with real packets failed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A capture cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Two profiles would write the same files.
    #[error("profile {0} is given twice: its files would have one name")]
    ProfileTwice(String),
    /// A file would replace one that is read, or another one.
    #[error(transparent)]
    Overwrite(#[from] OverwriteError),
    /// This system has no testbed.
    #[error("--on {0}: real packets need Linux")]
    NoTestbed(&'static str),
}

impl Request {
    /// Notes on settings that have no effect on the stages of this request, a line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = effect::notes_on_no_effect(&self.scenario);
        notes.extend(stage::notes(&self.scenario, self.simulate, &self.real));
        if self.events.is_some() {
            notes.extend(self.real.iter().filter_map(|ends| ends.events_note()));
        }
        notes
    }

    /// Checks that every file to be written has a name of its own, and that none of them is read.
    ///
    /// # Errors
    /// A profile that is named twice; an output file that is an input.
    pub fn check_files(&self) -> Result<(), RunError> {
        files::check(self)
    }

    /// Runs the scenario on each stage in turn.
    ///
    /// # Errors
    /// Files that cannot be written, settings that do not fit together, a system that refuses what a
    /// testbed needs.
    pub fn run(self, progress: &dyn Progress) -> Result<Outcome, RunError> {
        self.check_files()?;
        let (scenario, real, pcap) = (&self.scenario, &self.real, self.pcap.as_deref());
        let has_files = pcap.is_some() || self.events.as_ref().is_some_and(|path| !is_standard_output(path));
        let (files, stream) = match (pcap, self.events) {
            (None, None) => (None, None),
            (pcap, events) if self.simulate => {
                let order = Order::OneByOne;
                let files = Files::begin(&scenario.profiles, order, pcap, events)?;
                (Some(files), None)
            }
            (_, events) => (None, events.map(EventStream::begin).transpose()?),
        };
        let rows = self.flows.map(FlowOutput::new);
        let mut results = Vec::new();
        if self.simulate {
            let flows = flows(scenario, scenario.profiles.len());
            progress.begins(Work::Flows(Stage::Sim), flows);
            results = match files {
                Some(files) => {
                    let is_stopped = || progress.is_stopped();
                    files.run(&scenario.profiles, &is_stopped, |profile, observer| {
                        let done = |n| progress.advanced(n);
                        Ok(run_observed_with_flows(scenario, profile, observer, rows.as_ref(), done, is_stopped)?)
                    })?
                }
                None => {
                    let done = |n| progress.advanced(n);
                    run_with_flows(scenario, cores(), rows.as_ref(), done, || progress.is_stopped())?
                }
            };
            progress.ends();
        }
        let mut stream = stream;
        let mut events = stream.as_mut().map(EventStream::writer);
        for ends in real {
            if progress.is_stopped() {
                break;
            }
            let profiles = match ends.has_profiles() {
                true => scenario.profiles.len(),
                false => 1,
            };
            let flows = flows(scenario, profiles);
            progress.begins(Work::Flows(ends.stage), flows);
            let outputs = Outputs { pcap, events: events.as_mut() };
            results.extend(real_packets(scenario, *ends, flows, outputs, progress)?);
            progress.ends();
        }
        let written = events.map_or(Ok(()), |events| events.finish().map(drop));
        if let Some(stream) = stream.filter(|_| !progress.is_stopped()) {
            stream.complete(written)?;
        }
        let interrupted = progress.is_stopped();
        let mut notes = Vec::new();
        if interrupted {
            notes.push(interruption(scenario, &results, has_files));
            results.retain(|result| result.cost.flows > 0);
        }
        notes.extend(drop_without_effect(scenario, &results));
        Ok(Outcome { results, notes, interrupted })
    }
}

fn flows(scenario: &Scenario, profiles: usize) -> u64 {
    scenario.flows.saturating_mul(profiles as u64)
}

#[cfg(target_os = "linux")]
fn real_packets(
    scenario: &Scenario,
    ends: Ends,
    flows: u64,
    outputs: Outputs<'_, '_>,
    progress: &dyn Progress,
) -> Result<Vec<ProfileResult>, RunError> {
    use recoup_lab::stage::RealStage;

    let is_stopped = || progress.is_stopped();
    let testbeds = crate::testbeds::Testbeds { is_stopped: &is_stopped };
    let lanes = stage::lanes(&scenario.settings, flows);
    let finished = |n| progress.advanced(n);
    Ok(testbeds.run(scenario, ends, lanes, outputs, &finished)?)
}

/// Other systems have no TUN devices and network namespaces.
#[cfg(not(target_os = "linux"))]
fn real_packets(
    _: &Scenario,
    ends: Ends,
    _: u64,
    _: Outputs<'_, '_>,
    _: &dyn Progress,
) -> Result<Vec<ProfileResult>, RunError> {
    Err(RunError::NoTestbed(ends.stage.name()))
}

/// A note on the flows that an interrupted run finished.
fn interruption(scenario: &Scenario, results: &[ProfileResult], has_files: bool) -> String {
    let finished = results.iter().filter(|result| result.cost.flows > 0).map(|result| {
        let (profile, stage) = (&result.profile, result.stage.name());
        let (flows, of) = (result.cost.flows, scenario.flows);
        format!("{profile} on {stage} {flows} of {of} flows")
    });
    let finished: Vec<String> = finished.collect();
    let finished = match finished.is_empty() {
        true => "no flow is finished".into(),
        false => finished.join(", "),
    };
    let files = match has_files {
        true => "; captures and events are not written",
        false => "",
    };
    format!("interrupted: {finished}{files}")
}

/// A note when losses are set and no packet was lost.
fn drop_without_effect(scenario: &Scenario, results: &[ProfileResult]) -> Option<String> {
    let drop = scenario.settings.get("drop").filter(|drop| drop != "none")?;
    let dropped = results.iter().any(|r| r.cost.packets_dropped > 0);
    let hint = match drop.contains("up:") {
        true => "",
        false => "; without up: it applies to the server's packets",
    };
    (!dropped && !results.is_empty()).then(|| format!("drop={drop} met no packet{hint}"))
}

#[cfg(test)]
mod tests;
