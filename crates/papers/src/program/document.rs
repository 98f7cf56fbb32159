//! `recoup paper document`: everything about finished experiments as one JSON document, for the Python package. Standard
//! error has a line for each step of progress: `progress`, the experiment, how many are done, how many there are, with
//! tabs in between.

use super::{effort, named_or_all};
use crate::claims;
use crate::experiment::{self, Experiment};
use crate::ledger;
use crate::run::{PaperError, Progress, Request, plan, report};
use recoup::output::print;
use recoup::{Failure, console};
use recoup_lab::stage::Stage;
use recoup_support::suggest::did_you_mean;
use serde_json::json;
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct Args {
    /// A paper, or all
    paper: String,
    /// Figures [default: all]
    figures: Vec<String>,
    /// Run a fraction of the flows
    #[arg(long)]
    quick: bool,
    /// Seed of everything random
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// The experiments named; all of the paper if none is, and of all papers if the paper is `all`.
fn chosen(paper: &str, figures: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    let unknown = |what: &str, word: &str, known: &[&str]| {
        let hint = did_you_mean(word, known.iter().copied());
        Failure::Wrong(format!("{what} {word}: expected {}{hint}", known.join(", ")))
    };
    let papers: Vec<&str> = crate::PAPERS.iter().map(|paper| paper.name).chain(["all"]).collect();
    if !papers.contains(&paper) {
        return Err(unknown("paper", paper, &papers));
    }
    let of = || experiment::all().filter(|one| paper == "all" || one.paper == paper);
    let named = figures
        .iter()
        .map(|name| {
            let names = || of().map(|one| one.name).collect::<Vec<_>>();
            of().find(|one| one.name == name).ok_or_else(|| unknown("figure", name, &names()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    match paper {
        "all" if named.is_empty() => Ok(of().collect()),
        paper => Ok(named_or_all(&named, paper)),
    }
}

/// Writes each step to standard error.
struct Steps;

impl Progress for Steps {
    fn experiment_begins(&self, experiment: &'static Experiment, number: usize, all: usize) {
        console::plain(&format!("progress\t{}\t{}\t{all}", experiment.title(), number - 1));
    }

    fn measurement_begins(&self, _: &'static Experiment, _: Stage, _: u64) {}

    fn flows_finished(&self, _: u64) {}

    fn experiment_ends(&self, _: Option<Duration>) {}
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let effort = effort(args.quick);
    let planned = plan(
        &chosen(&args.paper, &args.figures)?,
        effort,
        |_| false,
        |base| {
            base.seed = args.seed.unwrap_or(base.seed);
            Ok::<(), PaperError>(())
        },
    )?;
    let finished = Request { planned, simulate: true, real: vec![] }.run(&Steps)?;
    let figures = finished.runs.iter().map(|run| {
        let sheet = &run.sheet;
        json!({
            "paper": sheet.paper,
            "name": sheet.figure,
            "title": sheet.title,
            "svg": sheet.picture.to_svg(),
            "data": sheet.json(),
            "csv": sheet.csv,
            "claims": claims::to_table(&sheet.claims),
            "text": sheet.to_text(),
        })
    });
    let figures: Vec<_> = figures.collect();
    let entries = finished.ledger(effort).claims;
    let columns = ledger::columns();
    let document = json!({
        "figures": figures,
        "columns": columns.fields().iter().map(|field| [&*field.path, &*field.about]).collect::<Vec<_>>(),
        "claims": crate::to_value(&columns.to_json(&entries)),
        "report": report::to_html(&finished, effort),
    });
    print(&document.to_string())
}
