//! `recoup run --sweep`.

use super::{Args, FlowBar, deferring_interrupts, world};
use crate::commands::run::call::sweep::{SweepRequest, WorldSweepRequest};
use crate::output::{Format, print};
use crate::{Failure, console, interrupt};
use recoup_lab::scenario::Scenario;
use recoup_lab::sweep::{Sweep, SweepReport};
use recoup_lab::world::WorldScenario;
use std::time::Duration;

/// The most cells that a note about an interrupted sweep names.
const NAMED: usize = 10;

impl Args {
    /// The sweep of the command line, if it asks for one.
    pub(super) fn sweep(&self) -> Result<Option<Sweep>, Failure> {
        let wrong = |line: String| Err(Failure::Wrong(line));
        let sweep = Sweep::parse(&self.sweeps).map_err(wrong_cell)?;
        if sweep.is_empty() {
            return Ok(None);
        }
        let set = self.settings.iter().filter_map(|text| text.split_once('='));
        for (key, _) in set {
            let key = key.trim();
            if sweep.keys().any(|swept| swept == key) {
                return wrong(format!("--sweep {key}: --set {key} is given, too"));
            }
        }
        let unusable = [
            ("--pcap", self.pcap.is_some()),
            ("--events", self.events.is_some()),
            ("--plot", self.plot.is_some()),
            ("--watch", !self.watch.is_empty()),
            ("--calibrate", self.calibrate.is_some()),
            ("--report", self.report.is_some()),
            ("--all-rows", self.all_rows),
        ];
        match unusable.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => wrong(format!("{option}: expected without --sweep")),
            None => Ok(Some(sweep)),
        }
    }
}

pub(super) fn run_pairs(args: &Args, base: Scenario, sweep: &Sweep) -> Result<(), Failure> {
    let base = args.request(base)?.scenario;
    let cells = sweep.scenarios(&base).map_err(wrong_cell)?;
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
    let cells = sweep.worlds(&base).map_err(wrong_cell)?;
    let request = WorldSweepRequest { cells };
    let bar = world::progress(request.total());
    let done = |simulated: Duration| bar.inc(world::millis(simulated));
    deferring_interrupts(
        || {
            let outcome = request.run(&done, &interrupt::is_interrupted);
            bar.finish_and_clear();
            outcome
        },
        |outcome| {
            let report = SweepReport::of_worlds(&base, sweep, &outcome.finished);
            print_report(args, report, &outcome.notes)
        },
    )
}

fn wrong_cell(why: String) -> Failure {
    Failure::Wrong(format!("--sweep {why}"))
}

fn print_report(args: &Args, report: Result<SweepReport, serde_json::Error>, notes: &[String]) -> Result<(), Failure> {
    let report = report.map_err(|e| Failure::Wrong(format!("cannot write the results: {e}")))?;
    notes.iter().for_each(console::note);
    if let Some(note) = interruption(&report) {
        console::note(note);
    }
    match args.format {
        Format::Json => print(&report.to_json()),
        Format::Csv => print(&report.to_csv()),
        _ => print(&report.to_table()),
    }
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
