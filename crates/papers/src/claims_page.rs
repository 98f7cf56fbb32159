//! `CLAIMS.md`: the committed ledgers as a page.

use crate::coverage::Coverage;
use crate::experiment::{Effort, Experiment};
use crate::ledger::{Count, Entry, Ledger};
use crate::{PAPERS, Paper};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Claims

What four papers say, and what Recoup finds. This page is generated from the committed ledgers. Do not edit it.

- `recoup paper all --out DIR` repeats everything in fifteen minutes on two cores, and writes a report with every
  figure. With `--quick` it takes two minutes.
- The quick run has fewer flows, so it leaves more claims undecided. Each run has its own column of verdicts.
- *Holds by construction*: the claim follows from definitions or arithmetic. No run could refute it.
- *Turned by*: the mutation that gives the claim another verdict. `recoup paper mutations` runs them all.
- A section `ours` marks a claim that no paper makes.
";

/// The page.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_string();
    page += "\n| paper | sentences | tested | claims | full run | quick run |\n| --- | --- | --- | --- | --- | --- |\n";
    for paper in PAPERS {
        let Coverage { sentences } = paper.coverage();
        let tested = sentences.iter().filter(|one| one.untested.is_none());
        let counts = [Effort::Full, Effort::Quick].map(|effort| {
            let claims = claims(paper, effort).iter();
            Count::of(claims.map(|claim| claim.verdict))
        });
        row(
            &mut page,
            &[
                &format!("[{0}](#{0})", paper.name),
                &sentences.len().to_string(),
                &tested.count().to_string(),
                &claims(paper, Effort::Full).len().to_string(),
                &counts[0].to_string(),
                &counts[1].to_string(),
            ],
        );
    }
    PAPERS.iter().for_each(|paper| of_paper(&mut page, paper));
    page
}

fn claims(paper: &Paper, effort: Effort) -> &'static [Entry] {
    Ledger::committed(paper.name, effort).map_or(&[], |ledger| &ledger.claims)
}

fn of_paper(page: &mut String, paper: &Paper) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n## {}\n\n{}", paper.name, paper.citation);
    for experiment in paper.experiments {
        of_experiment(page, experiment);
    }
    let Coverage { sentences } = paper.coverage();
    let untested: Vec<_> = sentences.iter().filter_map(|one| Some((one, one.untested?))).collect();
    if untested.is_empty() {
        return;
    }
    *page += "\n### Sentences that are not tested\n\n| § | the paper says | why not |\n| --- | --- | --- |\n";
    for (sentence, reason) in untested {
        let because = sentence.because.as_deref().unwrap_or_default();
        let reason = format!("{}: {because}", reason.text());
        row(page, &[&sentence.section, &sentence.says, &reason]);
    }
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
        "\n### {}: {}\n\nSection {}; `{}`\n",
        experiment.title(),
        experiment.about,
        experiment.section,
        experiment.command(Effort::Full),
    );
    *page += "| claim | § | it says | the paper | ours | full run | quick run | turned by |\n";
    *page += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for claim in &claims {
        let ours = match &claim.interval {
            Some(interval) => format!("{} ({interval})", claim.ours),
            None => claim.ours.clone(),
        };
        let in_quick = quick.claim(experiment.name, &claim.id);
        let turned = experiment.mutations.iter();
        let turned = turned.filter(|one| one.turns.contains(&claim.id.as_str()));
        let turned: Vec<String> = turned.map(|one| format!("`{}`", one.name)).collect();
        row(
            page,
            &[
                &claim.id,
                &claim.place(),
                &claim.statement,
                claim.paper_says.as_deref().unwrap_or_default(),
                &ours,
                claim.verdict_name(),
                in_quick.map_or("", Entry::verdict_name),
                &turned.join(", "),
            ],
        );
    }
    let notes = claims.iter().filter_map(|claim| Some((claim, claim.note.as_ref()?)));
    let notes: Vec<String> = notes.map(|(claim, note)| format!("- {}: {}\n", claim.id, plain(note))).collect();
    if !notes.is_empty() {
        let _ = write!(page, "\n{}", notes.concat());
    }
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

    /// With `RECOUP_UPDATE_CLAIMS=1` the page is written.
    #[test]
    fn the_committed_page_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CLAIMS.md");
        let page = markdown();
        if std::env::var_os("RECOUP_UPDATE_CLAIMS").is_some() {
            std::fs::write(&path, &page).expect("a page that can be written");
        }
        let committed = std::fs::read_to_string(&path).expect("CLAIMS.md");
        assert!(
            committed == page,
            "CLAIMS.md is out of date: RECOUP_UPDATE_CLAIMS=1 cargo test -p recoup-papers claims_page"
        );
    }

    #[test]
    fn cells_stay_cells() {
        let mut page = String::new();
        row(&mut page, &["a|b", "two\nlines", "2*3 <i>"]);
        assert_eq!(page, "| a\\|b | two lines | 2\\*3 \\<i\\> |\n");
    }
}
