//! Runs the worlds of the dumbbell: how many, with which load, until there are flows enough.

use super::{DumbbellCell, Foreground, OWN_SETTINGS, SIZES, WORLD, Watch};
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
    /// How long a world runs, in s.
    pub seconds: u32,
}

impl Amount {
    pub const fn of(effort: Effort) -> Self {
        match effort {
            Effort::Full => Self { selected: 150, batch: 1, most: 6, without_panel: 1, calibration: 2, seconds: 40 },
            Effort::Quick => Self { selected: 1, batch: 1, most: 1, without_panel: 0, calibration: 1, seconds: 20 },
        }
    }
}

/// Pairs of hosts that run flows of four segments at once at the shortest delay, for each Mbit/s of the bottleneck. Their load is a
/// small part of it.
const PAIRS: f64 = 0.8;

/// Pairs that run long flows, of those: several long flows at once would be a load of their own.
const LONG_PAIRS: f64 = 0.125;

/// The queueing delay of a full queue, in ms (§3.2), with the packet that is being sent.
const QUEUE_MS: f64 = 35.0;

/// The bytes of a full packet.
const PACKET: f64 = 1500.0;

/// The scale of the synthetic background that is tried first.
const FIRST_SCALE: &str = "1.1";

/// A shorter world has too few losses to be calibrated.
const LEAST_SECONDS: u32 = 10;

/// The timers of the foreground's hosts, where the user changes nothing.
const TIMERS: &str = "linux-jiffies:250";

/// The loss rate of the bottleneck (§3.2), and how far from it the calibration may end.
pub const LOSS: (f64, f64) = (0.015, 0.001);

/// A world, and the load that was found for it.
#[derive(Clone, Debug)]
pub struct Calibrated {
    pub world: WorldScenario,
    pub load: Calibration,
}

/// The world of the fit's parameters with the background that loses what the paper's lost. The foreground's hosts have those
/// settings of the setup that are not the paper's.
pub fn calibrated(setup: &Setup, fitted: &Parameters, amount: Amount) -> Result<Calibrated> {
    let base = &setup.base;
    let Experiment::World(mut world) = Experiment::load(WORLD)? else {
        return Err(format!("{WORLD}: expected a world").into());
    };
    world.seed = base.seed;
    let rate = fitted.get("bottleneck");
    let queue = if setup.is_mutated("deep-queue") { 2.0 * QUEUE_MS } else { QUEUE_MS };
    world.set("links.bottleneck.rate", &format!("{rate}Mbit"))?;
    world.set("links.bottleneck.queue", &format!("{:.0}B", queue * rate * 1e3 / 8.0 - PACKET))?;
    for link in ["servers", "sender", "clients"] {
        world.set(&format!("links.{link}.rate"), &format!("{}Mbit", fitted.get("access") * 1e3))?;
    }
    world.set("workloads.foreground.timers", TIMERS)?;
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
    world.set("duration", &format!("{}s", amount.seconds))?;
    for (workload, share) in [("background", 1.0), ("reverse", fitted.get("reverse"))] {
        let key = |key: &str| format!("workloads.{workload}.{key}");
        match &setup.background {
            Some(file) => world.set(&key("tmix"), &file.display().to_string())?,
            None => {
                world.set(&key("tmix"), &format!("synth:{}", rate * share))?;
                world.set(&key("scale"), FIRST_SCALE)?;
            }
        }
    }
    world.set("workloads.foreground.pairs", &(PAIRS * rate).round().max(1.0).to_string())?;
    if setup.is_mutated("slow-access") {
        world.set("links.sender.rate", "5Mbit")?;
    }
    let target = Target { link: "bottleneck".into(), direction: Direction::Up, loss: LOSS.0, tolerance: LOSS.1 };
    let load = world.calibrate(&target, cores(), |_| (), || false)?;
    Ok(Calibrated { world: *world, load })
}

/// The pairs of hosts that run flows at once, if `most` run short ones at the shortest delay.
fn pairs(foreground: Foreground, most: u64) -> u64 {
    let share = if foreground.size == 100 { LONG_PAIRS } else { 1.0 };
    // A flow ends half a second and a few round-trip times after the last one.
    let longer = 1.0 + foreground.owd_ms as f64 / 160.0;
    (most as f64 * share * longer).round().max(1.0) as u64
}

/// The pairs of the foreground of a world.
fn pairs_of(world: &WorldScenario) -> u64 {
    world.workloads.iter().find(|one| one.name == "foreground").and_then(|one| one.pairs).unwrap_or(1)
}

/// The world of a foreground.
fn world_of(setup: &Setup, world: &WorldScenario, foreground: Foreground) -> Result<WorldScenario, String> {
    let mut world = world.clone();
    world.set("workloads.foreground.segments", &foreground.size.to_string())?;
    let acks = if setup.is_mutated("quick-acks") { Acks::Quick } else { foreground.acks };
    world.set("workloads.foreground.ack", acks.name())?;
    world.set("links.receiver.delay", &format!("{}ms", foreground.owd_ms))?;
    let most = pairs_of(&world);
    world.set("workloads.foreground.pairs", &pairs(foreground, most).to_string())?;
    Ok(world)
}

/// The numbers of the environment that the paper prints, and the baseline's share of spurious retransmissions. No other mechanism
/// runs.
pub fn measure_baseline(setup: &Setup, parameters: &Parameters, seconds: u32) -> Result<Measured> {
    let amount = Amount { calibration: 1, seconds: seconds.max(LEAST_SECONDS), ..Amount::of(Effort::Full) };
    let Calibrated { world, load } = calibrated(setup, parameters, amount)?;
    let all: Vec<Foreground> = Foreground::all().collect();
    let cells = in_parallel(all.len(), cores(), |i| {
        let world = world_of(setup, &world, all[i])?;
        let chosen = [world.choose("foreground")?];
        run_one(setup, &world, &chosen, all[i], Mechanism::Baseline, 0)
    })?;
    let longest = cells.iter().map(|cell| cell.bottleneck.record.queueing.longest()).max().unwrap_or_default();
    let at_tail = |size| {
        let of_size = cells.iter().filter(|cell| cell.foreground.size == size);
        let all = of_size.fold(super::Episodes::default(), |all, cell| all.and(cell.episodes()));
        100.0 * all.at_tail as f64 / all.episodes.max(1) as f64
    };
    let elsewhere = [SIZES[0], SIZES[1]].map(|size| 100.0 - at_tail(size));
    Ok(vec![
        ("loss", 100.0 * load.loss),
        ("queueing", ms(longest)),
        ("short_elsewhere", (elsewhere[0].max(elsewhere[1]) - 5.0).max(0.0)),
        ("long_tails", (at_tail(SIZES[2]) - 10.0).max(0.0)),
        ("spurious", 1e4 * super::spurious(cells.iter(), 1).share),
    ])
}

/// Runs worlds `first` to `first + worlds` of a foreground, with all mechanisms.
pub fn run_batch(
    setup: &Setup,
    world: &WorldScenario,
    foreground: Foreground,
    first: usize,
    worlds: usize,
) -> Result<Vec<DumbbellCell>, String> {
    let world = world_of(setup, world, foreground)?;
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
        pairs: pairs_of(world),
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
