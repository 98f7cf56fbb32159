//! `docs/claims/`: the committed ledgers as pages, one for each paper, and an index.

use crate::claims::{ClaimVerdict, Class};
use crate::experiment::{Effort, Experiment};
use crate::fit;
use crate::ledger::{Count, Entry, Ledger, Turned, turned, turned_by};
use crate::{PAPERS, Paper};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Claims

What four papers say, and what Recoup finds; and the claims of our own [finding](../finding.md). These pages are generated from the committed ledgers. Do not edit them.

- `recoup paper all --out DIR` repeats everything in fifteen minutes on two cores, and writes a report with every
  figure. With `--quick` it takes two minutes.
- The quick run has fewer flows, so it leaves more claims undecided. Each run has its own column of verdicts.
- *Class*: what the verdict rests on. *Reproduced*: a figure or a comparison of the paper's own world, over our population or
  flows in its place. *Implemented*: the engine does what the paper or an RFC specifies. *Fitted*: a number that the population
  was fitted to, or an input; no result. *By construction*: it follows from definitions or arithmetic, so no run could refute it.
- *Printed figures* are the claims for which the paper prints a number that was not fitted.
- *Fitted, held out*: the populations were fitted to what a paper prints of its baseline arm alone (`recoup paper fit`). The
  arms ran afterwards, with another seed.
- *Turned by*: the mutations that give the claim another verdict. `recoup paper mutations` runs them all. *(empties)* marks a
  mutation that leaves the experiment without what it is about: nothing is lost, or nothing is delayed. A claim that nothing
  else turns is *turned only by emptying*: it says that there is an effect, and little of its size or cause.
- A section `ours` marks a claim that no paper makes.
";

/// The pages: each with the name of its file.
pub fn pages() -> Vec<(String, String)> {
    let of_papers = PAPERS.iter().map(|paper| (format!("{}.md", paper.name), of_paper(paper)));
    std::iter::once(("README.md".into(), index())).chain(of_papers).collect()
}

fn index() -> String {
    let mut page = INTRODUCTION.to_string();
    page += "\n| paper | sentences | tested | claims | full run | quick run |\n| --- | --- | --- | --- | --- | --- |\n";
    for paper in PAPERS.iter() {
        let tested = paper.sentences.iter().filter(|one| one.untested.is_none());
        let counts = [Effort::Full, Effort::Quick].map(|effort| {
            let claims = claims(paper, effort).iter();
            Count::of(claims.map(|claim| claim.verdict))
        });
        row(
            &mut page,
            &[
                &format!("[{0}]({0}.md)", paper.name),
                &paper.sentences.len().to_string(),
                &tested.count().to_string(),
                &claims(paper, Effort::Full).len().to_string(),
                &counts[0].to_string(),
                &counts[1].to_string(),
            ],
        );
    }
    page += "\n| class | full run |\n| --- | --- |\n";
    let all = || PAPERS.iter().flat_map(|paper| claims(paper, Effort::Full));
    for class in Class::ALL {
        let of = all().filter(|claim| claim.class == class);
        let what = format!("{}: {}", class.name(), class.about());
        row(&mut page, &[&what, &Count::of(of.map(|claim| claim.verdict)).to_string()]);
    }
    let figures = all().filter(|claim| claim.figure);
    row(
        &mut page,
        &["of the reproduced: figures that a paper prints", &Count::of(figures.map(|claim| claim.verdict)).to_string()],
    );
    let only: Vec<String> = turned_only_by_emptying().map(|claim| format!("`{claim}`")).collect();
    let _ = writeln!(
        page,
        "\nOf the claims that hold in the quick run, and not by construction, {} are turned only by emptying: {}.",
        only.len(),
        only.join(", ")
    );
    page
}

/// The claims that hold at the quick effort, not by construction, and that nothing but an emptied experiment turns: `slp stakes
/// advantage-above`.
pub fn turned_only_by_emptying() -> impl Iterator<Item = String> {
    let experiments = PAPERS.iter().flat_map(|paper| paper.experiments.iter().map(move |one| (paper, one)));
    experiments.flat_map(|(paper, experiment)| {
        let own = claims(paper, Effort::Quick).iter().filter(move |claim| claim.experiment == experiment.name);
        let own = own.filter(|claim| claim.verdict == ClaimVerdict::Holds && !claim.by_construction);
        let only = own.filter(|claim| turned(experiment, &claim.id) == Turned::OnlyByEmptying);
        only.map(|claim| format!("{} {}", experiment.title(), claim.id))
    })
}

fn claims(paper: &Paper, effort: Effort) -> &'static [Entry] {
    Ledger::committed(paper.name, effort).map_or(&[], |ledger| &ledger.claims)
}

fn of_paper(paper: &Paper) -> String {
    let mut page = format!("# {}\n\n{}\n\n[What the columns mean](README.md)\n", paper.name, paper.citation);
    for experiment in &paper.experiments {
        of_experiment(&mut page, experiment);
    }
    let untested: Vec<_> = paper.sentences.iter().filter_map(|one| Some((one, one.untested?))).collect();
    if untested.is_empty() {
        return page;
    }
    page += "\n## Sentences that are not tested\n\n| § | the paper says | why not |\n| --- | --- | --- |\n";
    for (sentence, reason) in untested {
        let because = sentence.because.as_deref().unwrap_or_default();
        let reason = format!("{}: {because}", reason.text());
        row(&mut page, &[&sentence.section, &sentence.says, &reason]);
    }
    page
}

fn of_experiment(page: &mut String, experiment: &Experiment) {
    let Some([full, quick]) = both(experiment) else {
        return;
    };
    let of = |claim: &&Entry| claim.experiment == experiment.name;
    let claims: Vec<&Entry> = full.claims.iter().filter(of).collect();
    if claims.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "\n## {}: {}\n\nSection {}; `{}`\n",
        experiment.title(),
        experiment.about,
        experiment.section,
        experiment.command(Effort::Full),
    );
    *page += "| claim | § | class | it says | the paper | ours | full run | quick run | turned by |\n";
    *page += "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for claim in &claims {
        let ours = match &claim.interval {
            Some(interval) => format!("{} ({interval})", claim.ours),
            None => claim.ours.clone(),
        };
        let in_quick = quick.claim(experiment.name, &claim.id);
        let turned = turning(experiment, &claim.id);
        row(
            page,
            &[
                &claim.id,
                &claim.place(),
                &class(claim),
                claim.statement,
                claim.paper_says.unwrap_or_default(),
                &ours,
                claim.verdict_name(),
                in_quick.map_or("", Entry::verdict_name),
                &turned,
            ],
        );
    }
    let notes: Vec<String> = claims
        .iter()
        .filter_map(|claim| Some((claim, claim.note.as_ref()?)))
        .map(|(claim, note)| format!("- {}: {}\n", claim.id, plain(note)))
        .collect();
    if !notes.is_empty() {
        let _ = write!(page, "\n{}", notes.concat());
    }
    let chosen = claims.iter().filter_map(|claim| Some((claim, claim.chosen_after?)));
    let chosen: Vec<String> = chosen.map(|(claim, what)| format!("- {}: {}\n", claim.id, plain(what))).collect();
    if !chosen.is_empty() {
        let _ = write!(page, "\nChosen after a result had been seen:\n\n{}", chosen.concat());
    }
    for (fitted, fit) in fit::used_by(&experiment.title()) {
        let text = fit::text(fitted.name, fit);
        let _ = write!(page, "\nFitted, held out (`recoup paper fit {}`):\n\n```text\n{text}```\n", fitted.name);
    }
}

/// The mutations that turn a claim.
fn turning(experiment: &Experiment, id: &str) -> String {
    let named = turned_by(experiment, id).iter().map(|name| {
        let empties = experiment.mutation(name).is_some_and(|mutation| mutation.empties);
        format!("`{name}`{}", if empties { " (empties)" } else { "" })
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match turned(experiment, id) {
        Turned::OnlyByEmptying => format!("only by emptying: {named}"),
        _ => named,
    }
}

/// The class of a claim, and whether the paper prints a figure.
fn class(claim: &Entry) -> String {
    if claim.figure { format!("{}, figure", claim.class.name()) } else { claim.class.name().into() }
}

fn both(experiment: &Experiment) -> Option<[&'static Ledger; 2]> {
    let of = |effort| Ledger::committed(experiment.paper, effort);
    Some([of(Effort::Full)?, of(Effort::Quick)?])
}

fn row(page: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| plain(cell).replace('|', "\\|")).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

/// Text on one line that Markdown shows as it is.
fn plain(text: &str) -> String {
    let one_line: Vec<&str> = text.split_whitespace().collect();
    let mut plain = String::new();
    for c in one_line.join(" ").chars() {
        if matches!(c, '*' | '_' | '<' | '>') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// With `RECOUP_UPDATE_CLAIMS=1` the pages are written.
    #[test]
    fn the_committed_pages_are_up_to_date() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/claims");
        for (name, page) in pages() {
            let path = folder.join(&name);
            if std::env::var_os("RECOUP_UPDATE_CLAIMS").is_some() {
                std::fs::write(&path, &page).expect("a page that can be written");
            }
            let committed = std::fs::read_to_string(&path).expect("a page");
            assert!(
                committed == page,
                "docs/claims/{name} is out of date: RECOUP_UPDATE_CLAIMS=1 cargo test -p recoup-papers claims_page"
            );
        }
    }

    #[test]
    fn cells_stay_cells() {
        let mut page = String::new();
        row(&mut page, &["a|b", "two\nlines", "2*3 <i>"]);
        assert_eq!(page, "| a\\|b | two lines | 2\\*3 \\<i\\> |\n");
    }
}
