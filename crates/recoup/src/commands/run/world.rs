//! Worlds: many flows over links that they share.

use super::plot::PlotFile;
use super::{Args, Stages, deferring_interrupts, key_and_value};
use crate::commands::run::call::world::{WorldOutcome, WorldRequest};
use crate::output::{Format, print};
use crate::{Failure, console, interrupt};
use indicatif::{ProgressBar, ProgressStyle};
use recoup_lab::report::Plot;
use recoup_lab::world::{Target, WorldReport, WorldScenario};
use recoup_support::threads::cores;
use std::time::Duration;

pub fn run(args: &Args, world: WorldScenario) -> Result<(), Failure> {
    let mut world = changed(args, world)?;
    if let Some(target) = &args.calibrate {
        calibrate(&mut world, target)?;
    }
    let watched = args.watch.iter().map(|text| {
        let chosen = world.choose(text);
        chosen.map_err(|e| Failure::Wrong(format!("--watch {text}: {e}")))
    });
    let request = WorldRequest {
        watched: watched.collect::<Result<_, _>>()?,
        world,
        pcap: args.pcap.clone(),
        events: args.event_target(),
    };
    let world = request.world.clone();
    let plot = PlotFile::create(args, || world.files())?;
    let bar = progress(request.total());
    let done = |simulated: Duration| bar.inc(millis(simulated));
    deferring_interrupts(
        || {
            let outcome = request.run(&done, &interrupt::is_interrupted);
            bar.finish_and_clear();
            outcome
        },
        |outcome| {
            print_outcome(args, &world, &outcome)?;
            let results = &outcome.results;
            plot.map_or(Ok(()), |file| file.write(&Plot::of_world(&world, results)))
        },
    )
}

/// Finds the load with this loss, and says what it is.
fn calibrate(world: &mut WorldScenario, target: &str) -> Result<(), Failure> {
    let wrong = |e| Failure::Wrong(format!("--calibrate {target}: {e}"));
    let goal = Target::parse(target).map_err(wrong)?;
    let spinner = ProgressBar::with_draw_target(None, console::progress_target());
    spinner.set_message("finding the load");
    let found = world.calibrate(&goal, cores(), |_| spinner.tick(), || false);
    spinner.finish_and_clear();
    let found = found.map_err(wrong)?;
    console::note(format_args!(
        "scale = {:.6}: the queue of {} drops {:.2} % of its packets with {}; {} loads tried",
        found.scale,
        goal.link,
        found.loss * 100.0,
        world.profiles[0].name(),
        found.tries
    ));
    Ok(())
}

/// The world with the changes of the command line.
pub(super) fn changed(args: &Args, mut world: WorldScenario) -> Result<WorldScenario, Failure> {
    let wrong = |line: &str| Err(Failure::Wrong(line.into()));
    if args.on != Stages::Sim {
        return wrong("--on: a scenario with links and workloads runs in the simulator only");
    }
    if args.client.is_some() || args.server.is_some() {
        return wrong("--client, --server: a scenario with links and workloads runs in the simulator only");
    }
    if args.flows.is_some() {
        return wrong("--flows: in a world, set the flows of a workload: --set workloads.NAME.flows=N");
    }
    if !args.watch.is_empty() && args.pcap.is_none() && args.events.is_none() {
        return wrong("--watch: expected beside --pcap or --events");
    }
    args.check_format()?;
    for setting in &args.settings {
        let (key, value) = key_and_value(setting, "duration=10s")?;
        let set = world.set(key, value);
        set.map_err(|e| Failure::Wrong(format!("--set {e}")))?;
    }
    if let Some(profiles) = args.profiles()? {
        world.profiles = profiles;
    }
    world.seed = args.seed.unwrap_or(world.seed);
    Ok(world)
}

fn print_outcome(args: &Args, world: &WorldScenario, outcome: &WorldOutcome) -> Result<(), Failure> {
    outcome.notes.iter().for_each(console::note);
    if args.prints_events() || outcome.results.is_empty() {
        return Ok(());
    }
    let report = WorldReport::new(world, &outcome.results);
    match args.format {
        Format::Json => print(&report.to_json()),
        Format::Csv => print(&report.to_csv()),
        _ => print(&report.to_table(args.view(), args.keep())),
    }
}

/// A bar of simulated time, drawn when standard error is a terminal.
pub(super) fn progress(total: Duration) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(millis(total)), console::progress_target());
    let template = "{wide_bar} {percent} % of the simulated time";
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
