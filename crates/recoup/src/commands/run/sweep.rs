//! `recoup run --sweep`.

use super::flows::FlowsFile;
use super::plot::PlotFile;
use super::{Args, FlowBar, deferring_interrupts, print_results, world};
use crate::commands::run::call::changes::ChangeError;
use crate::commands::run::call::sweep::{SweepRequest, WorldSweepRequest};
use crate::{Failure, console};
use recoup_lab::scenario::Scenario;
use recoup_lab::sweep::{Sweep, SweepReport};
use recoup_lab::world::WorldScenario;
use std::path::Path;

/// The most cells that a note about an interrupted sweep names.
const NAMED: usize = 10;

/// The sweep of the command line, if it asks for one.
pub(super) fn of(args: &Args) -> Result<Option<Sweep>, Failure> {
    let Some(sweep) = args.changes.sweep()? else {
        return Ok(None);
    };
    let unusable = [
        ("--pcap", args.pcap.is_some()),
        ("--events", args.events.is_some()),
        ("--plot-kind", args.plot_kind.is_some()),
        ("--watch", !args.watch.is_empty()),
        ("--calibrate", args.calibrate.is_some()),
        ("--report", args.report.is_some()),
        ("--all-rows", args.all_rows),
    ];
    match unusable.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::Wrong(format!("{option}: expected without --sweep"))),
        None => Ok(Some(sweep)),
    }
}

pub(super) fn run_pairs(args: &Args, base: Scenario, sweep: &Sweep) -> Result<(), Failure> {
    let base = args.request(base)?.scenario;
    let cells = sweep.scenarios(&base).map_err(ChangeError::Sweep)?;
    let real = args.all_ends()?;
    let stages = usize::from(args.on.simulates()) + real.len();
    let Outputs { plot, flows } = Outputs::create(args, sweep, base.files(), stages)?;
    let request = SweepRequest { cells, simulate: args.on.simulates(), real, flows: flows.sink() };
    args.note_unused_profiles(&request.real);
    request.notes().iter().for_each(console::note);
    deferring_interrupts(
        || request.run(&FlowBar::default()),
        |outcome| {
            let report = SweepReport::of_pairs(&base, sweep, &outcome.finished);
            print_report(args, report, &outcome.notes, Outputs { plot, flows })
        },
    )
}

pub(super) fn run_worlds(args: &Args, base: WorldScenario, sweep: &Sweep) -> Result<(), Failure> {
    let base = world::changed(args, base)?;
    let cells = sweep.worlds(&base).map_err(ChangeError::Sweep)?;
    let Outputs { plot, flows } = Outputs::create(args, sweep, base.files(), base.workloads.len())?;
    let request = WorldSweepRequest { cells, flows: flows.sink() };
    deferring_interrupts(
        || request.run(&FlowBar::default()),
        |outcome| {
            let report = SweepReport::of_worlds(&base, sweep, &outcome.finished);
            print_report(args, report, &outcome.notes, Outputs { plot, flows })
        },
    )
}

/// The files of a sweep.
struct Outputs {
    plot: Option<PlotFile>,
    flows: FlowsFile,
}

impl Outputs {
    /// The files of the command line. They are created before the run, so that a run is not in vain. A plot has `parts`
    /// panels for each combination of the keys that are not on its x axis.
    fn create<'a>(
        args: &Args,
        sweep: &Sweep,
        inputs: impl Iterator<Item = &'a Path>,
        parts: usize,
    ) -> Result<Self, Failure> {
        if args.plot.is_some() {
            sweep.check_panels(parts).map_err(|why| Failure::Wrong(format!("--plot: {why}")))?;
        }
        let mut files = args.files(inputs)?;
        Ok(Self {
            plot: PlotFile::create(args, &mut files)?,
            flows: FlowsFile::create(args, &mut files, sweep.keys())?,
        })
    }
}

fn print_report(
    args: &Args,
    report: Result<SweepReport, serde_json::Error>,
    notes: &[String],
    outputs: Outputs,
) -> Result<(), Failure> {
    let report = report.map_err(|e| Failure::Wrong(format!("cannot write the results: {e}")))?;
    notes.iter().for_each(console::note);
    if let Some(note) = interruption(&report) {
        console::note(note);
    }
    print_results(args, || report.to_json(), || report.to_csv(), || report.to_table())?;
    outputs.flows.finish()?;
    outputs.plot.map_or(Ok(()), |file| file.write_svg(|| report.to_svg()))
}

/// The cells that an interrupted sweep lacks.
fn interruption(report: &SweepReport) -> Option<String> {
    let missing = report.missing();
    let named: Vec<String> = missing.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match missing.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!missing.is_empty()).then(|| {
        let (count, named) = (missing.len(), named.join(", "));
        let are = if count == 1 { "combination is" } else { "combinations are" };
        format!("interrupted: {count} {are} not finished: {named}{more}")
    })
}
