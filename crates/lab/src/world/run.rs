//! Runs a world: each profile in worlds of its own, several at a time.

use super::build::{Flows, link_id};
use super::{Workload, WorldScenario};
use crate::flows::{FlowGroup, FlowOutput, FlowRow, delivered};
use crate::run::Cost;
use crate::scenario::check_profiles;
use recoup_recovery::Profile;
use recoup_sim::traffic::{Mix, NewFlow, Source};
use recoup_sim::world::{FlowEnd, LinkRecord, MOST_OPEN, MOST_PACKETS, Overload, World};
use recoup_sim::{NoObserver, Observer};
use recoup_support::quantity::format_duration;
use recoup_support::stats::Durations;
use recoup_support::threads::in_parallel;
use recoup_units::{BitRate, Direction, FlowId, Instant};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The number of parts in which a world runs. After each, an interrupt may end it.
const SLICES: u32 = 200;

/// One profile's result.
#[derive(Clone, Debug)]
pub struct WorldResult {
    /// The profile's name.
    pub profile: String,
    /// The time simulated, of all runs together.
    pub simulated: Duration,
    /// The workloads, in the order of the file.
    pub workloads: Vec<WorkloadResult>,
    /// The links, in the order of the file, first up and then down.
    pub links: Vec<LinkResult>,
}

/// One workload's result.
#[derive(Clone, Debug)]
pub struct WorkloadResult {
    /// The workload's name.
    pub name: String,
    /// The flow completion times of each run.
    pub by_run: Vec<Durations>,
    /// The cost of its flows, of all runs together. A flow that was open at the end counts as not completed.
    pub cost: Cost,
    /// Payload bytes that arrived, of both directions.
    pub delivered: u64,
    /// Jain's index of the bytes that the pairs received, the mean of all runs; `None` with one pair, or none that
    /// received anything. 1 if all received the same, 1/n if one of n received everything.
    pub fairness: Option<f64>,
}

/// One link's result, one way.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkResult {
    /// The link's name.
    pub name: String,
    /// The way.
    pub direction: Direction,
    /// Its rate, if it has a fixed one.
    pub rate: Option<BitRate>,
    /// The packets that it carried, of all runs together.
    pub record: LinkRecord,
    /// Flows of which the link dropped a packet, of all runs together.
    pub flows_with_drops: u64,
    /// The most packets of one flow that the link dropped.
    pub most_drops_of_a_flow: u64,
}

impl WorldScenario {
    /// The time to simulate, of all runs of all profiles together.
    pub fn total(&self) -> Duration {
        let worlds = self.profiles.len() as u64 * self.runs;
        let worlds = u32::try_from(worlds).unwrap_or(u32::MAX);
        self.duration.saturating_mul(worlds)
    }

    /// Runs all profiles on `threads` cores. `done` is called from any thread with the simulated time since its last
    /// call. Once `is_stopped` says so, worlds end where they are, and the results are of the time simulated by then.
    /// The result does not depend on `threads`.
    ///
    /// # Errors
    /// A world that cannot be built, although it could when it was read or changed; too many profiles, or too much
    /// traffic at once for memory.
    pub fn run(
        &self,
        threads: usize,
        done: impl Fn(Duration) + Sync,
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<Vec<WorldResult>, String> {
        self.run_with_flows(threads, None, done, is_stopped)
    }

    /// As [`run`](Self::run), and hands over a row for each flow. Those of an interrupted run lack some flows. The rows of
    /// a world are in memory until it ends.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with_flows(
        &self,
        threads: usize,
        flows: Option<&FlowOutput>,
        done: impl Fn(Duration) + Sync,
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<Vec<WorldResult>, String> {
        check_profiles(&self.profiles)?;
        let runs = self.runs as usize;
        let one = |number: usize| {
            let (profile, run) = (&self.profiles[number / runs], (number % runs) as u64);
            self.run_one(profile, run, flows, &mut NoObserver, &done, &is_stopped)
        };
        let all = in_parallel(self.profiles.len() * runs, threads, one)?;
        Ok(all.chunks(runs).filter_map(WorldResult::of_runs).collect())
    }

    /// Runs all worlds of a profile one after another, the first with an observer.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_observed<O: Observer>(
        &self,
        profile: &Profile,
        flows: Option<&FlowOutput>,
        observer: &mut O,
        done: impl Fn(Duration),
        is_stopped: impl Fn() -> bool,
    ) -> Result<WorldResult, String> {
        let mut runs = vec![self.run_one(profile, 0, flows, observer, &done, &is_stopped)?];
        for run in 1..self.runs {
            runs.push(self.run_one(profile, run, flows, &mut NoObserver, &done, &is_stopped)?);
        }
        WorldResult::of_runs(&runs).ok_or_else(|| "a world has at least one run".into())
    }

    /// The tasks of the rows of all flows: a run of a profile each.
    pub fn flow_tasks(&self) -> u64 {
        (self.profiles.len() as u64).saturating_mul(self.runs)
    }

    /// Runs one world of a profile, and hands over the rows of its flows. `run` counts from 0.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_one<O: Observer>(
        &self,
        profile: &Profile,
        run: u64,
        flows: Option<&FlowOutput>,
        observer: &mut O,
        done: impl Fn(Duration),
        is_stopped: impl Fn() -> bool,
    ) -> Result<WorldResult, String> {
        let seed = self.seed.wrapping_add(run);
        let built = self.build(profile, seed).map_err(|(_, why)| why)?;
        let mut world = World::new(&built.topology, seed).map_err(|e| e.to_string())?;
        let group = |workload: &Workload, output: &FlowOutput| FlowGroup {
            cell: output.cell.clone(),
            profile: profile.name().into(),
            workload: Some(workload.name.clone()),
            run: Some(run),
            seed,
        };
        let sources = built.flows.into_iter().zip(&self.workloads).map(|(source, workload)| {
            let rows = flows.map(|output| Rows::new(group(workload, output)));
            Counted::new(source, rows)
        });
        let mut traffic = Mix::new(sources.collect());
        let mut until = Duration::ZERO;
        let slice = self.duration / SLICES;
        for left in (0..SLICES).rev() {
            if is_stopped() {
                break;
            }
            let next = self.duration - slice * left;
            let ended = world.run(&mut traffic, Instant::ZERO + next, observer);
            if let Some(overload) = ended.overload {
                return Err(too_much(overload, ended.at));
            }
            done(next - until);
            until = next;
        }
        let links = self.link_results(&world);
        world.cut_off(&mut traffic);
        let mut workloads = traffic.into_sources();
        if let Some(output) = flows {
            let number = self.profiles.iter().position(|one| one == profile).unwrap_or(0) as u64;
            let rows = workloads.iter_mut().filter_map(|counted| counted.rows.take()).flat_map(Rows::in_order);
            output.add(number * self.runs + run, rows.collect());
        }
        let workloads = self.workloads.iter().zip(workloads);
        Ok(WorldResult {
            profile: profile.name().into(),
            simulated: until,
            workloads: workloads.map(|(one, counted)| counted.result(&one.name)).collect(),
            links,
        })
    }

    fn link_results<A: recoup_sim::Application>(&self, world: &World<A>) -> Vec<LinkResult> {
        let links = self.links.iter().enumerate();
        let both = links.flat_map(|link| [Direction::Up, Direction::Down].map(|way| (link, way)));
        let result = |((number, link), direction): ((usize, &super::Link), Direction)| {
            let record = world.link(link_id(number, direction)).clone();
            LinkResult {
                name: link.name.clone(),
                direction,
                rate: link.rate(direction),
                flows_with_drops: record.drops_by_flow.len() as u64,
                most_drops_of_a_flow: record.drops_by_flow.values().copied().max().unwrap_or(0),
                record,
            }
        };
        both.map(result).collect()
    }
}

impl WorldResult {
    /// Several runs of one profile as one.
    fn of_runs(runs: &[Self]) -> Option<Self> {
        let (first, others) = runs.split_first()?;
        let mut all = first.clone();
        for run in others {
            all.simulated += run.simulated;
            for (ours, theirs) in all.workloads.iter_mut().zip(&run.workloads) {
                ours.cost.merge(&theirs.cost);
                ours.by_run.extend(theirs.by_run.iter().cloned());
                ours.delivered += theirs.delivered;
            }
            for (ours, theirs) in all.links.iter_mut().zip(&run.links) {
                ours.record.merge(&theirs.record);
                ours.flows_with_drops += theirs.flows_with_drops;
                ours.most_drops_of_a_flow = ours.most_drops_of_a_flow.max(theirs.most_drops_of_a_flow);
            }
        }
        for (number, workload) in all.workloads.iter_mut().enumerate() {
            let known = runs.iter().filter_map(|run| run.workloads[number].fairness);
            let known: Vec<f64> = known.collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            workload.fairness = (!known.is_empty()).then_some(mean);
        }
        Some(all)
    }
}

impl WorkloadResult {
    /// Payload that arrived, in bit/s.
    pub fn goodput(&self, simulated: Duration) -> Option<f64> {
        let seconds = simulated.as_secs_f64();
        (seconds > 0.0).then(|| self.delivered as f64 * 8.0 / seconds)
    }
}

impl LinkResult {
    /// The share of its rate that the link carried, from 0 to 1; `None` without a fixed rate.
    pub fn utilisation(&self, simulated: Duration) -> Option<f64> {
        let seconds = simulated.as_secs_f64();
        let rate = self.rate.filter(|_| seconds > 0.0)?;
        let bits = self.record.bytes_delivered as f64 * 8.0;
        Some(bits / (rate.bits_per_second() as f64 * seconds))
    }
}

/// Flows with their cost.
struct Counted {
    source: Box<dyn Source>,
    cost: Cost,
    /// Payload bytes that arrived at each pair of hosts.
    by_pair: Vec<u64>,
    /// A row for each flow, if they are asked for.
    rows: Option<Rows>,
}

/// The rows of the flows of a workload.
struct Rows {
    group: Arc<FlowGroup>,
    /// When the flows began that have not ended, by number.
    open: HashMap<u64, Instant>,
    ended: Vec<FlowRow>,
}

impl Rows {
    fn new(group: FlowGroup) -> Self {
        Self { group: Arc::new(group), open: HashMap::new(), ended: Vec::new() }
    }

    fn end(&mut self, number: u64, ended: &FlowEnd<'_>) {
        let begin = self.open.remove(&number).unwrap_or(Instant::ZERO);
        self.ended.push(FlowRow::new(&self.group, FlowId(number), begin, ended.record, ended.endpoints));
    }

    /// The rows by the numbers of their flows.
    fn in_order(mut self) -> Vec<FlowRow> {
        self.ended.sort_by_key(|row| row.flow);
        self.ended
    }
}

impl Counted {
    fn new(Flows { source, pairs }: Flows, rows: Option<Rows>) -> Self {
        Self { source, cost: Cost::default(), by_pair: vec![0; pairs], rows }
    }

    fn result(self, name: &str) -> WorkloadResult {
        WorkloadResult {
            name: name.into(),
            by_run: vec![self.cost.fct.clone()],
            cost: self.cost,
            delivered: self.by_pair.iter().sum(),
            fairness: (self.by_pair.len() > 1).then(|| jains_index(&self.by_pair)).flatten(),
        }
    }
}

impl Source for Counted {
    fn next_start(&self) -> Option<Instant> {
        self.source.next_start()
    }

    fn start(&mut self, now: Instant) -> NewFlow<'_> {
        let new = self.source.start(now);
        if let Some(rows) = &mut self.rows {
            rows.open.insert(new.number, now);
        }
        new
    }

    fn on_complete(&mut self, now: Instant, number: u64) {
        self.source.on_complete(now, number);
    }

    fn on_end(&mut self, now: Instant, number: u64, ended: &FlowEnd<'_>) {
        let senders = ended.endpoints.iter().map(|endpoint| endpoint.sender());
        let recoveries = senders.flat_map(|sender| sender.recoveries());
        self.cost.add_flow(ended.record, recoveries);
        self.cost.responses.add(ended.responses);
        let pair = number % self.by_pair.len() as u64;
        self.by_pair[pair as usize] += ended.endpoints.iter().map(|one| delivered(one)).sum::<u64>();
        if let Some(rows) = &mut self.rows {
            rows.end(number, ended);
        }
        self.source.on_end(now, number, ended);
    }
}

/// The error of a world that has too much of something.
fn too_much(overload: Overload, at: Instant) -> String {
    let at = format_duration(at.since(Instant::ZERO));
    let (what, fewer) = match overload {
        Overload::Flows => (format!("{MOST_OPEN} flows are open"), "fewer pairs, a longer `every` or a larger `scale`"),
        Overload::Packets => (format!("{MOST_PACKETS} packets are on their way"), "shorter queues or less traffic"),
    };
    format!("more than {what} at once after {at} of the simulated time: expected {fewer}")
}

/// The fairness index of Jain, Chiu and Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
/// Allocation in Shared Computer Systems", 1984; `None` if nobody got anything.
fn jains_index(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_too_much_traffic_says_when_and_what_helps() {
        let at = Instant::from_millis(20);
        for (overload, error) in [
            (
                Overload::Flows,
                "more than 100000 flows are open at once after 20ms of the simulated time: expected fewer",
            ),
            (
                Overload::Packets,
                "more than 4000000 packets are on their way at once after 20ms of the simulated time: ",
            ),
        ] {
            assert!(too_much(overload, at).starts_with(error), "{}", too_much(overload, at));
        }
    }

    #[test]
    fn jains_index_is_one_for_equal_shares() {
        for (shares, expected) in [
            (&[5, 5, 5][..], Some(1.0)),
            (&[9, 0, 0], Some(1.0 / 3.0)),
            (&[1, 2, 3], Some(36.0 / 42.0)),
            (&[0, 0], None),
        ] {
            assert_eq!(jains_index(shares), expected, "{shares:?}");
        }
    }
}
