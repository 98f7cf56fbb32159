//! `recoup paper mutations`, and `--mutate`.

use super::bar::ExperimentBar;
use crate::PAPERS;
use crate::experiment::{self, Effort, Experiment};
use crate::ledger;
use crate::run::{self, MutationReport, PaperError, Planned, Request};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use recoup::output::print;
use recoup::{Failure, console, interrupt};
use recoup_table::plain_table;
use std::path::PathBuf;

const HELP: &str = "\
A mutation takes a mechanism away or changes the setup, so that claims about it get another verdict. Each runs
at the effort of --quick. `recoup paper PAPER EXPERIMENT --quick --mutate NAME` shows one with its figure.

Exit status: 0 when every mutation turns the claims that the committed ledger names, and no other; 1 when one
turns fewer or more; 2 wrong use.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Papers whose experiments are broken [default: all]
    #[arg(value_parser = papers())]
    papers: Vec<&'static str>,
    /// List the mutations, and run none
    #[arg(long)]
    list: bool,
    /// Record what the mutations turn in the ledgers in this folder (in the source: crates/papers/ledger)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    update_ledger: Option<PathBuf>,
}

/// The names of papers, as values of an argument.
pub fn papers() -> impl TypedValueParser<Value = &'static str> {
    let names = || PAPERS.iter().map(|paper| paper.name);
    let named = move |name: String| names().find(|one| *one == name).ok_or("expected one of the possible values");
    PossibleValuesParser::new(names()).try_map(named)
}

/// Breaks the one experiment by the mutation of this name.
pub fn break_one(planned: Vec<Planned>, name: &str) -> Result<Vec<Planned>, Failure> {
    let [one] = <[Planned; 1]>::try_from(planned).map_err(|_| {
        Failure::Wrong("--mutate: name the one figure to break (`recoup paper mutations --list`)".into())
    })?;
    let experiment = one.experiment;
    let Some(mutation) = experiment.mutation(name) else {
        let known: Vec<&str> = experiment.mutations.iter().map(|mutation| mutation.name.as_str()).collect();
        let known =
            if known.is_empty() { "it has none".into() } else { format!("expected one of {}", known.join(", ")) };
        return Err(Failure::Wrong(format!("--mutate {name}: no mutation of {}: {known}", experiment.title())));
    };
    let setup = one.setup.mutated(mutation).map_err(PaperError::from)?;
    Ok(vec![Planned { experiment, setup }])
}

/// Runs the mutations of the papers, or of all.
pub fn run(args: &Args) -> Result<(), Failure> {
    let is_asked = |one: &&Experiment| args.papers.is_empty() || args.papers.contains(&one.paper);
    let experiments: Vec<&'static Experiment> = experiment::all().filter(is_asked).collect();
    if args.list {
        return print(&list(&experiments));
    }
    let request = Request { planned: run::mutated(&experiments)?, simulate: true, real: vec![] };
    let bar = ExperimentBar::new(&request, Effort::Quick, true);
    interrupt::defer();
    let outcome = request.run(&bar);
    let is_interrupted = interrupt::stop_deferring();
    let finished = outcome?;
    let mutations = request.planned.iter().map(|one| one.setup.mutation);
    let reports: Vec<MutationReport> = finished
        .runs
        .iter()
        .zip(mutations)
        .filter_map(|(run, mutation)| Some(MutationReport::new(run, mutation?)))
        .collect();
    print(&to_text(&reports))?;
    if is_interrupted {
        super::deliver::note_missing(&finished.missing);
        interrupt::exit();
    }
    if let Some(folder) = &args.update_ledger {
        let turned = reports.iter().map(|report| {
            let ids = report.turned.iter().map(|(id, ..)| *id).collect();
            (report.experiment, report.mutation, ids)
        });
        return Ok(ledger::record_turns(folder, &turned.collect::<Vec<_>>())?);
    }
    check(&reports)
}

fn list(experiments: &[&'static Experiment]) -> String {
    let mut table = plain_table();
    table.set_header(["mutation", "changes", "turns"]);
    for one in experiments {
        for mutation in &one.mutations {
            table.add_row([
                format!("{} --mutate {}", one.title(), mutation.name),
                format!("{}{}", mutation.about, if mutation.empties { " (empties the experiment)" } else { "" }),
                ledger::turns(one, mutation).join(", "),
            ]);
        }
    }
    format!("{table}\n")
}

fn to_text(reports: &[MutationReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let command = report.experiment.command(Effort::Quick);
        text += &format!("{command} --mutate {}\n", report.mutation.name);
        for (id, before, after) in &report.turned {
            let new = if report.new.contains(id) { " (NOT in the ledger)" } else { "" };
            text += &format!("  {id}: {before} becomes {after}{new}\n");
        }
        for id in &report.kept {
            text += &format!("  {id}: KEEPS its verdict\n");
        }
    }
    text
}

fn check(reports: &[MutationReport]) -> Result<(), Failure> {
    let of = |report: &MutationReport| {
        let title = report.experiment.title();
        let differing: Vec<String> = report
            .kept
            .iter()
            .chain(&report.new)
            .map(|id| format!("{title} {id} ({})", report.mutation.name))
            .collect();
        differing
    };
    let differing: Vec<String> = reports.iter().flat_map(of).collect();
    if differing.is_empty() {
        return Ok(());
    }
    let differing = differing.join(", ");
    console::error(&format!("claims that a mutation turns by the ledger or by this run alone: {differing}"));
    Err(Failure::CheckFailed)
}
