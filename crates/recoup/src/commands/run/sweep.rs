//! `recoup run --sweep`.

use super::{Args, FlowBar, deferring_interrupts, print_results, world};
use crate::commands::run::call::changes::ChangeError;
use crate::commands::run::call::sweep::{SweepRequest, WorldSweepRequest};
use crate::{Failure, console};
use recoup_lab::scenario::Scenario;
use recoup_lab::sweep::{Sweep, SweepReport};
use recoup_lab::world::WorldScenario;

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
        ("--plot", args.plot.is_some()),
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
    let request = SweepRequest { cells, simulate: args.on.simulates(), real: args.all_ends()? };
    args.note_unused_profiles(&request.real);
    request.notes().iter().for_each(console::note);
    deferring_interrupts(
        || request.run(&FlowBar::default()),
        |outcome| {
            let report = SweepReport::of_pairs(&base, sweep, &outcome.finished);
            print_report(args, report, &outcome.notes)
        },
    )
}

pub(super) fn run_worlds(args: &Args, base: WorldScenario, sweep: &Sweep) -> Result<(), Failure> {
    let base = world::changed(args, base)?;
    let cells = sweep.worlds(&base).map_err(ChangeError::Sweep)?;
    deferring_interrupts(
        || WorldSweepRequest { cells }.run(&FlowBar::default()),
        |outcome| {
            let report = SweepReport::of_worlds(&base, sweep, &outcome.finished);
            print_report(args, report, &outcome.notes)
        },
    )
}

fn print_report(args: &Args, report: Result<SweepReport, serde_json::Error>, notes: &[String]) -> Result<(), Failure> {
    let report = report.map_err(|e| Failure::Wrong(format!("cannot write the results: {e}")))?;
    notes.iter().for_each(console::note);
    if let Some(note) = interruption(&report) {
        console::note(note);
    }
    print_results(args, || report.to_json(), || report.to_csv(), || report.to_table())
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
