//! Runs the worlds of the dumbbell: how many, with which load, until there are flows enough.

use super::{DumbbellCell, Foreground, OWN_SETTINGS, WORLD, Watch};
use crate::prelude::*;
use crate::tail_loss::NAME;
use crate::tail_loss::cell::{Acks, MECHANISMS, Mechanism};
use recoup_lab::scenario::Experiment;
use recoup_lab::world::{self, Calibration, Chosen, LinkResult, Target, WorldScenario};

/// How much work a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Flows that each mechanism needs in a panel, with a loss among their last four segments.
    pub selected: usize,
    /// Worlds that run before their flows are counted again.
    pub batch: usize,
    /// The most worlds of a panel's mechanism.
    pub most: usize,
    /// The worlds of a mechanism in a setup without a panel.
    pub without_panel: usize,
    /// The worlds of each load that is tried.
    pub calibration: u64,
    /// How long a world runs.
    pub duration: &'static str,
}

impl Amount {
    pub const fn of(effort: Effort) -> Self {
        match effort {
            Effort::Full => {
                Self { selected: 250, batch: 1, most: 12, without_panel: 1, calibration: 4, duration: "600s" }
            }
            Effort::Quick => {
                Self { selected: 1, batch: 1, most: 1, without_panel: 0, calibration: 1, duration: "360s" }
            }
        }
    }
}

/// Pairs of hosts that run short flows at once.
pub const PAIRS: u64 = 4;

/// The scale of the synthetic background that is tried first.
const FIRST_SCALE: &str = "1.3";

/// The loss rate of the bottleneck (§3.2), and how far from it the calibration may end.
pub const LOSS: (f64, f64) = (0.015, 0.001);

/// A world, and the load that was found for it.
#[derive(Clone, Debug)]
pub struct Calibrated {
    pub world: WorldScenario,
    pub load: Calibration,
}

/// The world with the background that loses what the paper's lost. The foreground's hosts have those settings of the setup
/// that are not the paper's.
pub fn calibrated(setup: &Setup, amount: Amount) -> Result<Calibrated> {
    let base = &setup.base;
    let Experiment::World(mut world) = Experiment::load(WORLD)? else {
        return Err(format!("{WORLD}: expected a world").into());
    };
    world.seed = base.seed;
    let paper = Scenario::load(NAME)?;
    let host_settings = world::host_settings().filter(|key| !OWN_SETTINGS.contains(key));
    for key in host_settings {
        if let Some(value) = base.settings.get(key)
            && paper.settings.get(key).as_ref() != Some(&value)
        {
            world.set(&format!("workloads.foreground.{key}"), &value)?;
        }
    }
    world.runs = amount.calibration;
    world.set("duration", amount.duration)?;
    for workload in ["background", "reverse"] {
        let key = |key: &str| format!("workloads.{workload}.{key}");
        match &setup.background {
            Some(file) => world.set(&key("tmix"), &file.display().to_string())?,
            None => world.set(&key("scale"), FIRST_SCALE)?,
        }
    }
    world.set("workloads.foreground.pairs", &PAIRS.to_string())?;
    if setup.is_mutated("deep-queue") {
        world.set("links.bottleneck.queue", "84kB")?;
    }
    if setup.is_mutated("slow-access") {
        world.set("links.sender.rate", "5Mbit")?;
    }
    let target = Target { link: "bottleneck".into(), direction: Direction::Up, loss: LOSS.0, tolerance: LOSS.1 };
    let load = world.calibrate(&target, cores(), |_| (), || false)?;
    Ok(Calibrated { world: *world, load })
}

/// Runs worlds `first` to `first + worlds` of a foreground, with all mechanisms.
pub fn run_batch(
    setup: &Setup,
    world: &WorldScenario,
    foreground: Foreground,
    first: usize,
    worlds: usize,
) -> Result<Vec<DumbbellCell>, String> {
    let mut world = world.clone();
    world.set("workloads.foreground.segments", &foreground.size.to_string())?;
    let acks = if setup.is_mutated("quick-acks") { Acks::Quick } else { foreground.acks };
    world.set("workloads.foreground.ack", acks.name())?;
    if foreground.size == 100 {
        // Several long flows at once would be a load of their own.
        world.set("workloads.foreground.pairs", "1")?;
    }
    world.set("links.receiver.delay", &format!("{}ms", foreground.owd_ms))?;
    let chosen = [world.choose("foreground")?];
    let runs = in_parallel(MECHANISMS.len() * worlds, cores(), |i| {
        let mechanism = MECHANISMS[i / worlds];
        let run = (first + i % worlds) as u64;
        run_one(setup, &world, &chosen, foreground, mechanism, run)
    })?;
    let of_mechanism = |runs: &[DumbbellCell]| {
        let (one, others) = runs.split_first()?;
        let mut all = one.clone();
        others.iter().for_each(|other| all.add(other));
        Some(all)
    };
    Ok(runs.chunks(worlds).filter_map(of_mechanism).collect())
}

impl DumbbellCell {
    /// Adds the flows of other worlds.
    fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.flows.extend(&other.flows);
        self.bottleneck.record.merge(&other.bottleneck.record);
        self.background.extend(&other.background);
    }
}

fn run_one(
    setup: &Setup,
    world: &WorldScenario,
    chosen: &[Chosen],
    foreground: Foreground,
    mechanism: Mechanism,
    run: u64,
) -> Result<DumbbellCell, String> {
    let profile = setup.profile(mechanism.profile());
    let mut watch = world::Watch::new(Watch::in_world(run), chosen);
    let result = world.run_one(&profile, run, None, &mut watch, |_| (), || false)?;
    let is_bottleneck = |link: &&LinkResult| link.name == "bottleneck";
    let bottleneck = result.links.iter().find(is_bottleneck);
    let background = result.workloads.iter().find(|one| one.name == "background");
    Ok(DumbbellCell {
        foreground,
        mechanism,
        worlds: 1,
        flows: watch.into_observer().flows,
        bottleneck: bottleneck.ok_or("expected a link `bottleneck`")?.clone(),
        background: background.map(|one| one.cost.flows).into_iter().collect(),
    })
}

/// Runs a foreground with all mechanisms until each has selected flows enough.
pub fn run_foreground(
    setup: &Setup,
    world: &WorldScenario,
    foreground: Foreground,
    amount: Amount,
) -> Result<Vec<DumbbellCell>, String> {
    if foreground.panel().is_none() {
        if amount.without_panel == 0 {
            return Ok(vec![]);
        }
        return run_batch(setup, world, foreground, 0, amount.without_panel);
    }
    let mut cells = run_batch(setup, world, foreground, 0, amount.batch)?;
    let lacks = |cells: &[DumbbellCell]| {
        let mut all = cells.iter();
        all.any(|cell| cell.selected().count() < amount.selected)
    };
    while lacks(&cells) && cells[0].worlds < amount.most {
        let more = run_batch(setup, world, foreground, cells[0].worlds, amount.batch)?;
        cells.iter_mut().zip(&more).for_each(|(cell, more)| cell.add(more));
    }
    Ok(cells)
}
