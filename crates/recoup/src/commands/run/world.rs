//! Worlds: many flows over links that they share.

use super::flows::FlowsFile;
use super::plot::PlotFile;
use super::{Args, FlowBar, Stages, deferring_interrupts, print_results};
use crate::commands::run::call::changes::ChangeError;
use crate::commands::run::call::world::WorldRequest;
use crate::{Failure, console, interrupt};
use indicatif::ProgressBar;
use recoup_lab::report::Plot;
use recoup_lab::world::{Target, WorldReport, WorldScenario};
use recoup_support::threads::cores;

pub fn run(args: &Args, world: WorldScenario) -> Result<(), Failure> {
    let mut world = changed(args, world)?;
    if let Some(target) = &args.calibrate {
        calibrate(&mut world, target)?;
    }
    let watched = args.watch.iter().map(|text| {
        let chosen = world.choose(text);
        chosen.map_err(|e| Failure::Wrong(format!("--watch {text}: {e}")))
    });
    let mut request = WorldRequest {
        watched: watched.collect::<Result<_, _>>()?,
        world,
        pcap: args.pcap.clone(),
        events: args.events.clone(),
        flows: None,
    };
    let world = request.world.clone();
    let mut files = args.files(world.files())?;
    let plot = PlotFile::create(args, &mut files)?;
    let flows = FlowsFile::create(args, &mut files, [])?;
    request.flows = flows.sink();
    deferring_interrupts(
        || request.run(&FlowBar::default()),
        |outcome| {
            outcome.notes.iter().for_each(console::note);
            let results = &outcome.results;
            if !args.prints_events() && !results.is_empty() {
                let report = WorldReport::new(&world, results).interrupted(interrupt::is_interrupted());
                let table = || report.to_table(args.view(), args.keep());
                print_results(args, || report.to_json(), || report.to_csv(), table)?;
            }
            flows.finish()?;
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
pub(super) fn changed(args: &Args, world: WorldScenario) -> Result<WorldScenario, Failure> {
    let simulated = |option| format!("{option}: a scenario with links and workloads runs in the simulator only");
    let wrong = if args.on != Stages::Sim {
        simulated("--on")
    } else if args.client.is_some() || args.server.is_some() {
        simulated("--client, --server")
    } else if args.changes.flows.is_some() {
        return Err(ChangeError::FlowsOfWorld.into());
    } else if !args.watch.is_empty() && args.pcap.is_none() && args.events.is_none() {
        "--watch: expected beside --pcap or --events".into()
    } else {
        args.check_format()?;
        return Ok(args.changes.world(world)?);
    };
    Err(Failure::Wrong(wrong))
}
