//! `recoup paper` without a paper: the experiments.

use crate::PAPERS;
use crate::experiment::{self, Effort, Experiment};
use crate::ledger::{Count, Ledger};
use recoup::Failure;
use recoup::output::print;
use recoup_table::plain_table;

/// How many claims of an experiment have each verdict in the committed ledger.
fn claims(experiment: &Experiment) -> String {
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

/// The list of all experiments.
fn text() -> String {
    let mut text = String::new();
    for paper in PAPERS.iter() {
        text += &format!("{}: {}\n\n", paper.name, paper.citation);
        let mut table = plain_table();
        table.set_header(["experiment", "section", "shows", "claims", "s", "s (--quick)"]);
        for one in &paper.experiments {
            table.add_row([
                one.name.into(),
                one.section.into(),
                one.about.into(),
                claims(one),
                one.budget.full_s.to_string(),
                one.budget.quick_s.to_string(),
            ]);
        }
        text += &format!("{table}\n\n");
    }
    let [full, quick] =
        [Effort::Full, Effort::Quick].map(|effort| minutes(experiment::all().map(|one| one.budget.of(effort)).sum()));
    text + &format!(
        "Claims: as the committed ledger has them (docs/claims). s: the most it takes on two cores; all: {full}, with --quick {quick}.\n\
         `recoup paper all --out DIR` runs all; `recoup paper PAPER EXPERIMENT` runs one.\n"
    )
}

pub fn run() -> Result<(), Failure> {
    print(&text())
}
