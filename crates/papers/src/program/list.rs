//! `recoup paper list`: papers, experiments and claims by name, and what each command takes.

use super::mutations::papers;
use crate::experiment::{Effort, Experiment};
use crate::ledger::{Count, Ledger};
use crate::{PAPERS, Paper};
use recoup::Failure;
use recoup::output::print;
use recoup_table::plain_table;

#[derive(clap::Args)]
pub struct Args {
    /// Papers to list [default: all]
    #[arg(value_parser = papers())]
    papers: Vec<&'static str>,
    /// List every claim with its verdict, in place of the experiments
    #[arg(long)]
    claims: bool,
}

/// How many claims of an experiment have each verdict in the committed ledger.
fn verdicts(experiment: &Experiment) -> String {
    let ledger = Ledger::committed(experiment.paper, Effort::Full);
    let own = ledger.iter().flat_map(|ledger| &ledger.claims).filter(|claim| claim.experiment == experiment.name);
    match Count::of(own.map(|claim| claim.verdict)) {
        count if count == Count::default() => "none".into(),
        count => count.to_string(),
    }
}

fn minutes(seconds: u32) -> String {
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// The options of a paper's command: `--set KEY=VALUE, --quick`.
fn options(paper: &str) -> String {
    let command = super::command();
    let arguments = command.find_subcommand(paper).into_iter().flat_map(clap::Command::get_arguments);
    let options = arguments.filter(|one| !one.is_hide_short_help_set() && one.get_id() != "help");
    let options = options.filter_map(|one| {
        let value = one.get_value_names().filter(|_| one.get_action().takes_values());
        let value = value.and_then(|names| names.first()).map_or(String::new(), |name| format!(" {name}"));
        Some(format!("--{}{value}", one.get_long()?))
    });
    options.collect::<Vec<_>>().join(", ")
}

/// A row for each experiment of a paper.
fn experiments(paper: &Paper) -> String {
    let mut table = plain_table();
    table.set_header(["experiment", "section", "shows", "claims", "s", "s (--quick)"]);
    for one in &paper.experiments {
        table.add_row([
            one.name.into(),
            one.section.into(),
            one.about.into(),
            verdicts(one),
            one.budget.full_s.to_string(),
            one.budget.quick_s.to_string(),
        ]);
    }
    table.to_string()
}

/// A row for each claim of a paper.
fn claims(paper: &Paper) -> String {
    let mut table = plain_table();
    table.set_header(["experiment", "claim", "section", "verdict"]);
    let ledger = Ledger::committed(paper.name, Effort::Full);
    for claim in ledger.iter().flat_map(|ledger| &ledger.claims) {
        let verdict = claim.verdict.name_of(claim.by_construction);
        table.add_row([claim.experiment, &claim.id, claim.section.unwrap_or("ours"), verdict]);
    }
    table.to_string()
}

/// The list of these papers.
fn text(papers: &[&Paper], with_claims: bool) -> String {
    let mut text = String::new();
    for paper in papers {
        let (name, citation) = (paper.name, paper.citation);
        text += &format!("{name}: {citation}\nrecoup paper {name} [EXPERIMENT]… takes {}\n\n", options(name));
        let table = if with_claims { claims(paper) } else { experiments(paper) };
        text += &format!("{table}\n\n");
    }
    if with_claims {
        return text + "Verdicts are those of the committed ledger. docs/claims has the statements and checks.\n";
    }
    let budget = |effort: Effort| {
        let experiments = papers.iter().flat_map(|paper| &paper.experiments);
        minutes(experiments.map(|one| one.budget.of(effort)).sum())
    };
    let [full, quick] = [Effort::Full, Effort::Quick].map(budget);
    text + &format!(
        "Claims: as the committed ledger has them (docs/claims). s: the most it takes on two cores; all: {full}, with --quick {quick}.\n\
         `recoup paper all --out DIR` runs all; `recoup paper PAPER EXPERIMENT` runs one; `recoup paper list --claims` names the claims.\n"
    )
}

/// Lists all papers with their experiments.
pub fn run_all() -> Result<(), Failure> {
    print(&text(&PAPERS.iter().collect::<Vec<_>>(), false))
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let is_chosen = |paper: &&Paper| args.papers.is_empty() || args.papers.contains(&paper.name);
    print(&text(&PAPERS.iter().filter(is_chosen).collect::<Vec<_>>(), args.claims))
}
