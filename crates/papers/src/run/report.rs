//! The report of a run over all papers.

use super::{Finished, Run};
use crate::claims::{self, ClaimVerdict};
use crate::experiment::{self, Effort};
use crate::fit;
use crate::html::{Claim, Data, Experiment, Figure, Ledger, Outcome, Paper, Report, Sentence, Untested, Verdict};
use crate::{PAPERS, Sheet};

/// The endings of a figure's files beside the report.
const FILE_ENDINGS: [&str; 5] = ["svg", "pdf", "png", "json", "csv"];

/// The report of these experiments, as one HTML page. Experiments of a paper that are not finished are named as missing.
pub fn to_html(finished: &Finished, effort: Effort) -> String {
    let mut seeds: Vec<String> = finished.runs.iter().map(|run| run.seed.to_string()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let version = env!("CARGO_PKG_VERSION");
    let report = Report {
        title: "Loss recovery: four papers checked".into(),
        made: format!(
            "Recoup {version}, {} run, seed {}. Repeat it: recoup paper all --out DIR{}",
            effort.name(),
            seeds.join(" and "),
            effort.of("", " --quick"),
        ),
        papers: PAPERS.iter().map(|one| paper(one, finished, effort)).collect(),
        notes: vec![],
        generator: format!("recoup {version}"),
    };
    report.to_html()
}

fn paper(paper: &crate::Paper, finished: &Finished, effort: Effort) -> Paper {
    let experiments = paper.experiments.iter().map(|one| experiment(one, finished, effort));
    let sentences = paper.sentences.iter().cloned().map(|one| Sentence {
        section: one.section,
        says: one.says,
        claims: one.claims,
        untested: one
            .untested
            .map(|reason| Untested { kind: reason.text().into(), because: one.because.unwrap_or_default() }),
    });
    Paper {
        id: paper.name.into(),
        name: paper.heading.into(),
        citation: paper.citation.into(),
        experiments: experiments.collect(),
        sentences: sentences.collect(),
    }
}

fn experiment(experiment: &experiment::Experiment, finished: &Finished, effort: Effort) -> Experiment {
    let empty = Experiment {
        name: experiment.name.into(),
        section: experiment.section.into(),
        about: experiment.about.into(),
        outcome: Outcome::Missing("not finished: the run was interrupted".into()),
        budget: Some(experiment.budget.of(effort).into()),
        ..Experiment::default()
    };
    let mut runs = finished.runs.iter();
    let Some(run) = runs.find(|run| run.experiment.title() == experiment.title()) else {
        return empty;
    };
    let Run { sheet, took, .. } = run;
    let file = format!("{}-{}", sheet.paper, sheet.figure);
    Experiment {
        outcome: Outcome::Finished { seconds: took.unwrap_or_default().as_secs_f64() },
        figures: figures(sheet),
        data: Data::Text(sheet.table.clone()),
        fits: fit::used_by(&experiment.title()).map(|(fitted, fit)| fit::text(fitted.name, fit)).collect(),
        claims: sheet.claims.iter().map(|one| claim(one, experiment, effort)).collect(),
        files: FILE_ENDINGS.map(|ending| format!("{file}.{ending}")).to_vec(),
        ..empty
    }
}

fn figures(sheet: &Sheet) -> Vec<Figure> {
    let first = (sheet.figure, &sheet.picture);
    let further = sheet.further.iter();
    let all = std::iter::once(first).chain(further.map(|(name, picture)| (*name, picture)));
    let figure = |(name, picture): (&str, &crate::Picture)| Figure {
        name: name.into(),
        about: sheet.title.clone(),
        svg: picture.to_svg(),
    };
    all.map(figure).collect()
}

fn claim(claim: &claims::Claim, experiment: &experiment::Experiment, effort: Effort) -> Claim {
    let verdict = |verdict| verdict_of(verdict, claim.by_construction);
    Claim {
        id: claim.id.into(),
        section: claim.place(),
        class: claim.text.class,
        statement: claim.text.statement.clone(),
        check: claim.text.check.clone(),
        paper: claim.text.paper_says.clone(),
        ours: claim.ours.clone(),
        interval: claim.interval.clone(),
        verdict: verdict(claim.verdict),
        note: claim.note.clone(),
        command: experiment.command(effort),
        ledger: match claim.expected {
            None => Ledger::New,
            Some(expected) if expected == claim.verdict => Ledger::Same,
            Some(expected) => Ledger::Differs(verdict(expected)),
        },
    }
}

const fn verdict_of(verdict: ClaimVerdict, by_construction: bool) -> Verdict {
    match verdict {
        ClaimVerdict::Holds if by_construction => Verdict::ByConstruction,
        ClaimVerdict::Holds => Verdict::Holds,
        ClaimVerdict::Fails => Verdict::Fails,
        ClaimVerdict::Undecided => Verdict::Undecided,
    }
}
