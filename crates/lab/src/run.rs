//! Runs a scenario: every profile with the same flows on the same network.

mod recoveries;
mod responses;

pub use recoveries::Recoveries;
pub use responses::ResponseTimes;

use crate::flows::{FlowGroup, FlowOutput, FlowRow};
use crate::scenario::Scenario;
use crate::settings::SettingsError;
use crate::stage::{Live, Stage};
use recoup_path::PathSpec;
use recoup_recovery::{Counters, Profile, Recovery};
use recoup_sim::{FlowSpec, NoObserver, Observer, Simulation};
use recoup_support::merge_fields;
use recoup_support::stats::Durations;
use recoup_support::threads::on_threads;
use recoup_tcp::flow::{FlowRecord, Host};
use recoup_units::{FlowId, Instant};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The flows whose completion time is kept: those with the lowest numbers.
pub const FLOWS_KEPT: u32 = 20_000;

/// The cost of all flows of one profile.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Flows run.
    pub flows: u64,
    /// Flows whose last byte was delivered.
    pub completed: u64,
    /// Flow completion times of the completed flows.
    pub fct: Durations,
    /// Flow completion times in ns by the number of the flow, in no order: of the completed ones among the first
    /// [`FLOWS_KEPT`] flows, if they have paths of their own.
    pub fct_by_flow: Vec<(u32, u64)>,
    /// Their flow completion times [from establishment](FlowRecord::fct_established).
    pub fct_established: Durations,
    /// Times from the last ACK to the first retransmission of data, for flows with a retransmission.
    pub last_ack_to_retransmission: Durations,
    /// Data segments sent, retransmissions, probes and copies included.
    pub segments_sent: u64,
    /// IP bytes sent in both directions.
    pub bytes_sent: u64,
    /// Packets dropped on the path.
    pub packets_dropped: u64,
    /// Spurious retransmissions: earlier transmissions delivered all their data.
    pub spurious: u64,
    /// Spurious retransmissions with payload, which are among `segments_sent`.
    pub spurious_data: u64,
    /// Payload bytes that arrived more than once.
    pub unnecessary_bytes: u64,
    /// The counters of both hosts' senders.
    pub counters: Counters,
    /// The recoveries of both hosts' senders.
    pub recoveries: Recoveries,
    /// The responses of the servers. Real packets do not show them.
    pub responses: ResponseTimes,
}

impl Cost {
    /// Adds a flow and the recoveries of its senders.
    pub fn add_flow<'a>(&mut self, flow: &FlowRecord, recoveries: impl IntoIterator<Item = &'a Recovery>) {
        self.flows += 1;
        if let Some(fct) = flow.fct {
            self.completed += 1;
            self.fct.add(fct);
        }
        if let Some(fct) = flow.fct_established {
            self.fct_established.add(fct);
        }
        if let Some(waited) = flow.last_ack_to_retransmission {
            self.last_ack_to_retransmission.add(waited);
        }
        self.segments_sent += flow.segments_sent;
        self.bytes_sent += flow.bytes_sent;
        self.packets_dropped += flow.packets_dropped;
        self.spurious += flow.spurious;
        self.spurious_data += flow.spurious_data;
        self.unnecessary_bytes += flow.unnecessary_bytes;
        self.counters.merge(&flow.counters);
        recoveries.into_iter().for_each(|recovery| self.recoveries.add(recovery));
    }

    /// Adds the flow just simulated, which had a path of its own.
    fn add_simulated(&mut self, simulation: &Simulation, number: FlowId, flow: &FlowRecord) {
        let hosts = [Host::Client, Host::Server].into_iter();
        self.add_flow(flow, hosts.flat_map(|host| simulation.endpoint(host).sender().recoveries()));
        self.responses.add(simulation.responses());
        self.keep_time(number, flow);
    }

    /// Keeps the completion time of a flow that has a path of its own.
    pub fn keep_time(&mut self, number: FlowId, flow: &FlowRecord) {
        let number = u32::try_from(number.0).ok();
        let number = number.filter(|number| *number < FLOWS_KEPT);
        if let Some((number, fct)) = number.zip(flow.fct) {
            let nanos = u64::try_from(fct.as_nanos()).unwrap_or(u64::MAX);
            self.fct_by_flow.push((number, nanos));
        }
    }

    /// Adds the cost of other flows.
    pub fn merge(&mut self, other: &Self) {
        self.fct_by_flow.extend(&other.fct_by_flow);
        merge_fields!(self, other: flows, completed, fct, fct_established, last_ack_to_retransmission);
        merge_fields!(self, other: segments_sent, bytes_sent, packets_dropped, spurious, spurious_data);
        merge_fields!(self, other: unnecessary_bytes, counters, recoveries, responses);
    }
}

/// One profile's result on one stage.
#[derive(Clone, Debug)]
pub struct ProfileResult {
    /// The profile's name, or the kernel's if the kernel sent the data.
    pub profile: String,
    /// The stage on which it ran.
    pub stage: Stage,
    /// Whether the senders' states are known, and not only their packets.
    pub senders_known: bool,
    /// The cost of its flows.
    pub cost: Cost,
    /// Additional facts about a run on real packets.
    pub live: Option<Live>,
}

impl ProfileResult {
    pub(crate) fn simulated(profile: &str, cost: Cost) -> Self {
        Self { profile: profile.into(), stage: Stage::Sim, senders_known: true, cost, live: None }
    }
}

/// The number of flows a worker thread takes at a time.
const BATCH: u64 = 64;

/// Runs all flows of all profiles on `threads` cores. `done` is called from any thread with the number
/// of flows finished since its last call. The result does not depend on `threads`.
///
/// # Errors
/// When settings contradict each other.
pub fn run(
    scenario: &Scenario,
    threads: usize,
    done: impl Fn(u64) + Sync,
) -> Result<Vec<ProfileResult>, SettingsError> {
    run_until(scenario, threads, done, || false)
}

/// As [`run`], but begins no flow once `is_stopped` says so: the results are then of the flows that
/// were finished.
///
/// # Errors
/// As [`run`].
pub fn run_until(
    scenario: &Scenario,
    threads: usize,
    done: impl Fn(u64) + Sync,
    is_stopped: impl Fn() -> bool + Sync,
) -> Result<Vec<ProfileResult>, SettingsError> {
    run_with_flows(scenario, threads, None, done, is_stopped)
}

/// As [`run_until`], and hands over a row for each flow. Those of an interrupted run lack some flows.
///
/// # Errors
/// As [`run`].
pub fn run_with_flows(
    scenario: &Scenario,
    threads: usize,
    flows: Option<&FlowOutput>,
    done: impl Fn(u64) + Sync,
    is_stopped: impl Fn() -> bool + Sync,
) -> Result<Vec<ProfileResult>, SettingsError> {
    let path = scenario.settings.path()?;
    let results = scenario.profiles.iter().zip(0..).map(|(profile, number)| {
        let spec = scenario.settings.flow(profile);
        let rows = flows.map(|output| ProfileRows::new(output, scenario, profile, number));
        let cost = run_flows(scenario, &path, &spec, threads, rows.as_ref(), &done, &is_stopped)?;
        Ok(ProfileResult::simulated(profile.name(), cost))
    });
    results.collect()
}

/// The tasks of a scenario's rows.
pub fn flow_tasks(scenario: &Scenario) -> u64 {
    batches(scenario).saturating_mul(scenario.profiles.len() as u64)
}

/// The batches of a profile.
const fn batches(scenario: &Scenario) -> u64 {
    scenario.flows.div_ceil(BATCH)
}

/// Where the rows of a profile's flows go. Each batch is a task.
struct ProfileRows<'a> {
    output: &'a FlowOutput,
    group: Arc<FlowGroup>,
    first_task: u64,
}

impl<'a> ProfileRows<'a> {
    fn new(output: &'a FlowOutput, scenario: &Scenario, profile: &Profile, number: u64) -> Self {
        Self { output, group: output.group(scenario, profile), first_task: number * batches(scenario) }
    }

    /// The row of the flow just simulated.
    fn row(&self, simulation: &Simulation, flow: FlowId, record: &FlowRecord) -> FlowRow {
        let endpoints = [Host::Client, Host::Server].map(|host| simulation.endpoint(host));
        FlowRow::new(&self.group, flow, Instant::ZERO, record, endpoints)
    }

    /// Hands over the rows of the batch that begins with flow `from`.
    fn add(&self, from: u64, rows: Vec<FlowRow>) {
        self.output.add(self.first_task + from / BATCH, rows);
    }
}

/// Runs the flows of one profile.
fn run_flows(
    scenario: &Scenario,
    path: &PathSpec,
    spec: &FlowSpec,
    threads: usize,
    rows: Option<&ProfileRows<'_>>,
    done: &(impl Fn(u64) + Sync),
    is_stopped: &(impl Fn() -> bool + Sync),
) -> Result<Cost, SettingsError> {
    let flows = scenario.flows;
    let next = AtomicU64::new(0);
    let work = || -> Result<Cost, SettingsError> {
        let mut simulation = simulation(path)?;
        let mut cost = Cost::default();
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            if from >= flows {
                return Ok(cost);
            }
            let to = (from + BATCH).min(flows);
            let mut of_batch = Vec::new();
            for flow in (from..to).map(FlowId) {
                if is_stopped() {
                    return Ok(cost);
                }
                let record = simulation.run(spec, scenario.seed, flow, &mut NoObserver);
                cost.add_simulated(&simulation, flow, &record);
                of_batch.extend(rows.map(|rows| rows.row(&simulation, flow, &record)));
            }
            if let Some(rows) = rows {
                rows.add(from, of_batch);
            }
            done(to - from);
        }
    };
    let mut cost = Cost::default();
    for part in on_threads(threads.min(flows.div_ceil(BATCH) as usize), work)? {
        cost.merge(&part);
    }
    Ok(cost)
}

/// Runs the flows of one profile one after another, with an observer.
///
/// # Errors
/// When settings contradict each other.
pub fn run_observed<O: Observer>(
    scenario: &Scenario,
    profile: &Profile,
    observer: &mut O,
    done: impl Fn(u64),
) -> Result<ProfileResult, SettingsError> {
    run_observed_with_flows(scenario, profile, observer, None, done, || false)
}

/// As [`run_observed`], but begins no flow once `is_stopped` says so, and hands over a row for each flow.
///
/// # Errors
/// As [`run_observed`].
pub fn run_observed_with_flows<O: Observer>(
    scenario: &Scenario,
    profile: &Profile,
    observer: &mut O,
    flows: Option<&FlowOutput>,
    done: impl Fn(u64),
    is_stopped: impl Fn() -> bool,
) -> Result<ProfileResult, SettingsError> {
    let mut simulation = simulation(&scenario.settings.path()?)?;
    let spec = scenario.settings.flow(profile);
    let number = scenario.profiles.iter().position(|one| one == profile).unwrap_or(0);
    let rows = flows.map(|output| ProfileRows::new(output, scenario, profile, number as u64));
    let mut of_batch = Vec::new();
    let mut cost = Cost::default();
    for flow in (0..scenario.flows).take_while(|_| !is_stopped()).map(FlowId) {
        let record = simulation.run(&spec, scenario.seed, flow, observer);
        cost.add_simulated(&simulation, flow, &record);
        if let Some(rows) = &rows {
            of_batch.push(rows.row(&simulation, flow, &record));
            let after = flow.0 + 1;
            if after.is_multiple_of(BATCH) || after == scenario.flows {
                rows.add(flow.0, std::mem::take(&mut of_batch));
            }
        }
        done(1);
    }
    Ok(ProfileResult::simulated(profile.name(), cost))
}

/// A simulation of this path.
///
/// # Errors
/// When a hop cannot be built.
pub fn simulation(path: &PathSpec) -> Result<Simulation, SettingsError> {
    Simulation::new(path).map_err(|e| SettingsError::Path(e.to_string()))
}

#[cfg(test)]
mod tests;
