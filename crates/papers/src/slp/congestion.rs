//! SLP where losses come from congestion. The paper has no such experiment: its losses do not
//! depend on what is sent. But it says that copies will not congest the network.
//!
//! Two groups of hosts fetch files over one bottleneck (the built-in scenario `slp-congestion`). Copies take a share of
//! the rate and of the queue, so that they can cause the losses they are meant to repair, and losses of hosts that send
//! none. Compared are worlds in which nobody copies, one group copies, and both do.
//!
//! Worlds with equal seeds have equal start times and think times. So differences are computed world by world, with
//! 95 % confidence intervals over the worlds.

mod claims;
mod columns;

use super::NAME;
use crate::experiment;
use crate::prelude::*;
use recoup_lab::scenario::Experiment;
use recoup_lab::world::{WorldResult, WorldScenario};

/// The name on the command line.
pub const ID: &str = "congestion";

/// The world's name among the built-in scenarios.
pub const WORLD: &str = "slp-congestion";

/// The workloads: the group that may copy, and the other one.
pub const GROUPS: [&str; 2] = ["copying", "others"];

/// The profiles of both groups, without copies.
pub const PROFILES: [&str; 2] = ["linux-3.17", "linux-6"];

/// How long a pair of hosts pauses between fetches, on average: from a light load to an overload.
pub const THINK_TIMES: [&str; 3] = ["2.5s", "1s", "250ms"];

choices! {
    /// Who sends copies.
    pub enum Copying {
        /// Nobody.
        None = "nobody",
        /// The first group.
        Half = "half",
        /// Both groups.
        All = "all",
    }
}

impl Copying {
    /// Whether a group copies.
    const fn copies(self, group: usize) -> bool {
        match self {
            Self::None => false,
            Self::Half => group == 0,
            Self::All => true,
        }
    }
}

/// The worlds of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// The profile of both groups, without copies.
    pub profile: &'static str,
    /// The mean pause between fetches.
    pub think: &'static str,
    /// Who copies.
    pub copying: Copying,
}

impl Setup {
    fn all() -> impl Iterator<Item = Self> {
        PROFILES
            .iter()
            .flat_map(|profile| THINK_TIMES.map(|think| (profile, think)))
            .flat_map(|(profile, think)| Copying::ALL.map(|copying| Self { profile, think, copying }))
    }
}

/// The results of a group of hosts.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The mean completion time of its fetches in each world, in ms.
    pub fct_ms: Vec<f64>,
    /// Payload that arrived in each world, in Mbit/s.
    pub goodput_mbps: Vec<f64>,
    /// Copies sent in all worlds.
    pub copies: u64,
    /// Data segments sent in all worlds.
    pub segments: u64,
    /// Timeouts' retransmissions in all worlds.
    pub timeouts: u64,
}

/// The worlds of one setup.
#[derive(Clone, Debug)]
pub struct CongestionCell {
    /// The setup.
    pub setup: Setup,
    /// The groups, in the order of [`GROUPS`].
    pub groups: [Group; 2],
    /// The share of packets that the bottleneck dropped on the way of the data in each world.
    pub loss: Vec<f64>,
}

impl Keyed for CongestionCell {
    type Key = Setup;

    fn key(&self) -> Self::Key {
        self.setup
    }
}

impl CongestionCell {
    fn of(setup: Setup, runs: &[WorldResult]) -> Self {
        let group = |place: usize| {
            let mut group = Group::default();
            for run in runs {
                let workload = &run.workloads[place];
                let cost = &workload.cost;
                group.fct_ms.push(cost.fct.summary().map_or(0.0, |fct| fct.mean));
                group.goodput_mbps.push(workload.goodput(run.simulated).unwrap_or(0.0) / 1e6);
                group.copies += cost.counters.copies;
                group.segments += cost.segments_sent;
                group.timeouts += cost.counters.retransmissions.of(Trigger::Rto);
            }
            group
        };
        let loss = |run: &WorldResult| {
            let record = &run.links[0].record;
            record.dropped_by_queue as f64 / record.packets.max(1) as f64
        };
        Self { setup, groups: [0, 1].map(group), loss: runs.iter().map(loss).collect() }
    }

    /// Jain's fairness index of both groups' goodput, over all worlds: 1 if both got the same.
    pub fn fairness(&self) -> f64 {
        let [one, other] = [0, 1].map(|group: usize| self.groups[group].goodput_mbps.iter().sum::<f64>());
        (one + other).powi(2) / (2.0 * (one * one + other * other))
    }
}

/// A mean over worlds.
fn mean(values: &[f64]) -> Estimate {
    Estimate::of(values.iter().copied())
}

/// The mean of the differences of worlds with equal seeds.
fn difference(one: &[f64], other: &[f64]) -> Estimate {
    Estimate::of(one.iter().zip(other).map(|(one, other)| one - other))
}

fn world(setup: &experiment::Setup) -> Result<WorldScenario, String> {
    match Experiment::load(WORLD) {
        Ok(Experiment::World(mut world)) => {
            world.seed = setup.seed();
            if setup.effort == experiment::Effort::Quick {
                world.set("runs", "8")?;
                world.set("duration", "30s")?;
            }
            if setup.is_mutated("few-others") {
                world.set("workloads.others.pairs", "5")?;
            }
            Ok(*world)
        }
        Ok(_) => Err(format!("{WORLD}: expected a world")),
        Err(e) => Err(e.to_string()),
    }
}

/// Runs all worlds and checks the claims.
///
/// # Errors
/// Settings that do not fit together.
pub fn figure(setup: &experiment::Setup) -> Result<Figure<CongestionCell>, String> {
    figure_of(setup, &world(setup)?)
}

fn figure_of(experiment: &experiment::Setup, world: &WorldScenario) -> Result<Figure<CongestionCell>, String> {
    let setups: Vec<Setup> = Setup::all().collect();
    let runs = world.runs as usize;
    let results =
        in_parallel(setups.len() * runs, cores(), |i| run_one(experiment, world, setups[i / runs], (i % runs) as u64))?;
    let cells: Vec<_> =
        setups.iter().zip(results.chunks(runs)).map(|(setup, runs)| CongestionCell::of(*setup, runs)).collect();
    let title = format!(
        "Copies that share a bottleneck with what they compete with: {runs} worlds of {} s per row, seeds from {}",
        world.duration.as_secs(),
        world.seed
    );
    Ok(Figure::new(NAME, ID, title, claims::all(&cells), chart(&cells), cells))
}

fn run_one(
    experiment: &experiment::Setup,
    world: &WorldScenario,
    setup: Setup,
    run: u64,
) -> Result<WorldResult, String> {
    let mut world = world.clone();
    let is_light = setup.think == THINK_TIMES[0];
    let think = if experiment.is_mutated("overload") && is_light { THINK_TIMES[2] } else { setup.think };
    for (place, group) in GROUPS.iter().enumerate() {
        let profile = if setup.copying.copies(place) {
            experiment.profile_name(&format!("{}+slp", setup.profile))
        } else {
            setup.profile.to_owned()
        };
        for (key, value) in [("profile", &*profile), ("slp.p", "learned"), ("think", think)] {
            world.set(&format!("workloads.{group}.{key}"), value)?;
        }
    }
    let profile: Profile = setup.profile.parse().map_err(|_| setup.profile)?;
    world.run_one(&profile, run, None, &mut NoObserver, |_| (), || false)
}

fn chart(cells: &[CongestionCell]) -> BarChart {
    let grid = Grid::new(cells);
    let chart = BarChart::new(
        "Mean FCT of fetches on a shared bottleneck",
        "mean pause between fetches of a pair of hosts",
        "mean FCT (ms)",
        Copying::ALL.map(|copying| format!("copies: {}", copying.name())),
    );
    let groups = ["the group that may copy", "the other group"].into_iter().enumerate();
    PROFILES.iter().flat_map(|profile| groups.clone().map(move |group| (profile, group))).fold(
        chart,
        |chart, (profile, (group, name))| {
            let fct = |setup| Some(mean(&grid.at(setup).groups[group].fct_ms).mean);
            let bars = |think| (think, Copying::ALL.map(|copying| fct(Setup { profile, think, copying })));
            chart.panel(format!("{profile}, {name}"), THINK_TIMES.map(bars))
        },
    )
}

/// The cells as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &experiment::Setup) -> Result<Sheet> {
    let Figure { title, cells, claims, picture, .. } = figure(setup)?;
    let rows = columns::rows(&cells);
    Ok(Figure::new(NAME, ID, title, claims, picture, rows).sheet(columns::text, &columns::all()))
}

#[cfg(test)]
mod tests;
