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
use crate::experiment::{self, Change, ExperimentError, Mutation};
use crate::{Figure, Picture, Sheet};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_lab::scenario::Experiment;
use recoup_lab::world::{WorldResult, WorldScenario};
use recoup_recovery::Profile;
use recoup_sim::NoObserver;
use recoup_support::stats::Estimate;
use recoup_support::threads::{cores, in_parallel};

/// The name on the command line.
pub const ID: &str = "congestion";

/// What turns the claims.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "no-slp",
        about: "no SLP: nothing is copied",
        change: Change::Swap(&[("slp", "")]),
        turns: &["duplicates-do-not-congest"],
    },
    Mutation {
        name: "overload",
        about: "the light load is an overload too",
        change: Change::Own,
        turns: &["copies-do-nothing-in-a-light-load"],
    },
    Mutation {
        name: "few-others",
        about: "the group that does not copy has a quarter of the hosts",
        change: Change::Own,
        turns: &["copies-take-little-goodput"],
    },
];

/// The world's name among the built-in scenarios.
pub const WORLD: &str = "slp-congestion";

/// The workloads: the group that may copy, and the other one.
pub const GROUPS: [&str; 2] = ["copying", "others"];

/// What both groups do besides.
pub const PROFILES: [&str; 2] = ["linux-3.17", "linux-6"];

/// How long a pair of hosts pauses between fetches, on average: from a light load to an overload.
pub const THINK_TIMES: [&str; 3] = ["2.5s", "1s", "250ms"];

/// Who sends copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// Nobody.
    None,
    /// The first group.
    Half,
    /// Both groups.
    All,
}

impl Copying {
    /// In the order of reports.
    pub const ALL: [Self; 3] = [Self::None, Self::Half, Self::All];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "nobody",
            Self::Half => "half",
            Self::All => "all",
        }
    }

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// What both groups do besides copying.
    pub profile: &'static str,
    /// The mean pause between fetches.
    pub think: &'static str,
    /// Who copies.
    pub copying: Copying,
}

impl Setup {
    fn all() -> impl Iterator<Item = Self> {
        let loads = PROFILES.iter().flat_map(|profile| THINK_TIMES.map(|think| (profile, think)));
        loads.flat_map(|(profile, think)| Copying::ALL.map(|copying| Self { profile, think, copying }))
    }
}

/// What a group of hosts got.
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

impl CongestionCell {
    fn of(setup: Setup, runs: &[WorldResult]) -> Self {
        let group = |place: usize| {
            let mut group = Group::default();
            for run in runs {
                let workload = &run.workloads[place];
                let fct = workload.cost.fct.summary().map_or(0.0, |fct| fct.mean);
                group.fct_ms.push(fct);
                let goodput = workload.goodput(run.simulated).unwrap_or(0.0);
                group.goodput_mbps.push(goodput / 1e6);
                let counters = &workload.cost.counters;
                group.copies += counters.copies;
                group.segments += workload.cost.segments_sent;
                group.timeouts += counters.retransmissions.of(recoup_recovery::Trigger::Rto);
            }
            group
        };
        let loss = |run: &WorldResult| {
            let record = &run.links[0].record;
            record.dropped_by_queue as f64 / record.packets.max(1) as f64
        };
        Self { setup, groups: [group(0), group(1)], loss: runs.iter().map(loss).collect() }
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
    let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
    mean(&differences)
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
    let cells = setups.iter().zip(results.chunks(runs));
    let cells: Vec<_> = cells.map(|(setup, runs)| CongestionCell::of(*setup, runs)).collect();
    Ok(Figure {
        paper: NAME,
        figure: ID,
        title: format!(
            "Copies that share a bottleneck with what they compete with: {runs} worlds of {} s per row, seeds from {}",
            world.duration.as_secs(),
            world.seed
        ),
        claims: claims::all(&cells),
        picture: Picture::Bars(chart(&cells)),
        cells,
    })
}

fn run_one(
    experiment: &experiment::Setup,
    world: &WorldScenario,
    setup: Setup,
    run: u64,
) -> Result<WorldResult, String> {
    let mut world = world.clone();
    for (place, group) in GROUPS.iter().enumerate() {
        let profile = match setup.copying.copies(place) {
            true => experiment.profile_name(&format!("{}+slp", setup.profile)),
            false => setup.profile.to_owned(),
        };
        let is_light = setup.think == THINK_TIMES[0];
        let think = match experiment.is_mutated("overload") && is_light {
            true => THINK_TIMES[2],
            false => setup.think,
        };
        world.set(&format!("workloads.{group}.profile"), &profile)?;
        world.set(&format!("workloads.{group}.slp.p"), "learned")?;
        world.set(&format!("workloads.{group}.think"), think)?;
    }
    let profile: Profile = setup.profile.parse().map_err(|_| setup.profile)?;
    world.run_one(&profile, run, &mut NoObserver, |_| (), || false)
}

fn chart(cells: &[CongestionCell]) -> BarChart {
    let panel = |profile: &str, group: usize| {
        let bars = THINK_TIMES.map(|think| BarGroup {
            label: think.into(),
            values: Copying::ALL
                .map(|copying| {
                    let cell = cells.iter().find(|cell| {
                        cell.setup.profile == profile && cell.setup.think == think && cell.setup.copying == copying
                    });
                    cell.map(|cell| mean(&cell.groups[group].fct_ms).mean)
                })
                .to_vec(),
        });
        BarPanel {
            title: format!("{profile}, {}", ["the group that may copy", "the other group"][group]),
            groups: bars.to_vec(),
        }
    };
    let panels = PROFILES.iter().flat_map(|profile| [0, 1].map(|group| panel(profile, group)));
    BarChart {
        title: "Mean FCT of fetches on a shared bottleneck".into(),
        x_label: "mean pause between fetches of a pair of hosts".into(),
        y_label: "mean FCT (ms)".into(),
        series: Copying::ALL.map(|copying| format!("copies: {}", copying.name())).to_vec(),
        panels: panels.collect(),
    }
}

/// The cells as [`figure`] computes them, in every format.
///
/// # Errors
/// As [`figure`].
pub fn sheet(setup: &experiment::Setup) -> Result<Sheet, ExperimentError> {
    let figure = figure(setup)?;
    let rows = columns::rows(&figure.cells);
    let (text, columns) = (columns::text(&rows), columns::all());
    let Figure { paper, figure, title, claims, picture, .. } = figure;
    let figure = Figure { paper, figure, title, cells: rows, claims, picture };
    Ok(figure.into_sheet(&text, &columns))
}

#[cfg(test)]
mod tests;
