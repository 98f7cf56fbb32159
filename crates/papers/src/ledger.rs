//! The ledger: every claim with its verdict.
//!
//! The committed ledgers (`ledger/PAPER.json` in this crate) hold the results and verdicts that are expected, at the
//! full and at the quick effort, and the mutations that turn each claim. A run whose verdicts differ from them has
//! changed what Recoup says of a paper. They are generated: `recoup paper … --update-ledger DIR` records the results of
//! a run in the ledgers in `DIR`, and `recoup paper mutations --update-ledger DIR` what the mutations turn.
//!
//! With `--out DIR` a run writes its own ledger, with all texts: [`Ledger`].

use crate::claims::{Claim, ClaimVerdict, Class, Source};
use crate::experiment::{Effort, Experiment, Mutation};
use crate::texts::Text;
use crate::{PAPERS, Sheet};
use recoup_table::{Columns, Schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use std::{fs, io};

/// The JSON document of a ledger: `effort` (`full` or `quick`) and `claims`, an [`Entry`] each.
pub const SCHEMA: Schema = Schema { name: "recoup.ledger", version: 1 };

/// A claim with its verdict.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Entry {
    /// The paper's name on the command line.
    pub paper: &'static str,
    /// The experiment that decides it.
    pub experiment: &'static str,
    /// A short name, unique in the experiment.
    pub id: String,
    /// Who makes it.
    pub source: Source,
    /// The section of the paper or the RFC.
    pub section: Option<&'static str>,
    /// The claim in our words.
    pub statement: &'static str,
    /// How it is checked.
    pub check: &'static str,
    /// The paper's result: a number, a comparison.
    pub paper_says: Option<&'static str>,
    /// Our result.
    pub ours: String,
    /// The 95 % confidence interval of our result.
    pub interval: Option<String>,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// What the verdict rests on.
    pub class: Class,
    /// Whether the paper prints the number, and we judge it: it was not fitted.
    pub figure: bool,
    /// A choice that was made after a result had been seen.
    pub chosen_after: Option<&'static str>,
    /// Whether the claim follows from definitions, so that no run could refute it.
    pub by_construction: bool,
    /// Why it fails, or a remark.
    pub note: Option<String>,
    /// The command that repeats it.
    pub command: String,
}

/// The claims of experiments at one effort.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Ledger {
    /// `full` or `quick`.
    pub effort: &'static str,
    /// In the order of the experiments.
    pub claims: Vec<Entry>,
}

/// A claim in a committed ledger.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The experiment.
    pub experiment: String,
    /// The claim's short name.
    pub id: String,
    /// The result of the full effort.
    pub full: Outcome,
    /// The result of the quick effort, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Outcome>,
    /// The mutations that turn the claim at the quick effort.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turned_by: Vec<String>,
}

/// The result of a claim at one effort.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    verdict: ClaimVerdict,
    ours: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<String>,
    /// The note, if it is not that of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Record {
    /// The result at an effort.
    fn of(&self, effort: Effort) -> &Outcome {
        effort.of(&self.full, self.quick.as_ref().unwrap_or(&self.full))
    }

    #[cfg(test)]
    fn is_of(&self, experiment: &str, id: &str) -> bool {
        self.experiment == experiment && self.id == id
    }
}

/// Reads a committed ledger.
///
/// # Panics
/// Never with the committed ones: a test reads them.
pub fn read(json: &str) -> Vec<Record> {
    serde_json::from_str(json).unwrap_or_else(|e| panic!("a committed ledger: {e}"))
}

/// The columns of the claims.
pub fn columns() -> Columns<Entry> {
    fn text(value: &str) -> Option<Cow<'static, str>> {
        Some(value.to_owned().into())
    }
    Columns::<Entry>::new()
        .text(("paper", "", "the paper's name"), |e| text(e.paper))
        .text(("experiment", "", "the experiment that decides the claim"), |e| text(e.experiment))
        .text(("id", "", "a short name, unique in the experiment"), |e| text(&e.id))
        .text(("source", "", "who makes the claim"), |e| text(e.source.name()))
        .text(("section", "", "the section of the paper or the RFC"), |e| text(e.section?))
        .text(("statement", "", "the claim in our words"), |e| text(e.statement))
        .text(("check", "", "how the claim is checked"), |e| text(e.check))
        .text(("paper_says", "", "what the paper gives"), |e| text(e.paper_says?))
        .text(("ours", "", "our result"), |e| text(&e.ours))
        .text(("interval", "", "the 95 % confidence interval of our result"), |e| text(e.interval.as_deref()?))
        .text(("verdict", "", "whether the claim holds"), |e| text(e.verdict.name()))
        .text(("class", "", "what the verdict rests on: reproduced, implemented, fitted or by construction"), |e| {
            text(e.class.name())
        })
        .flag(("figure", "", "the paper prints the number, and it was not fitted"), |e| e.figure)
        .text(("chosen_after", "", "a choice made after a result had been seen"), |e| text(e.chosen_after?))
        .flag(("by_construction", "", "the claim follows from definitions, so that no run could refute it"), |e| {
            e.by_construction
        })
        .text(("note", "", "why the claim fails, or a remark"), |e| text(e.note.as_deref()?))
        .text(("command", "", "the command that repeats it"), |e| text(&e.command))
}

impl Ledger {
    /// The claims of these experiments with their verdicts.
    pub fn new<'a>(effort: Effort, finished: impl IntoIterator<Item = (&'static Experiment, &'a Sheet)>) -> Self {
        let entry = |experiment: &'static Experiment, claim: &Claim| {
            let Claim { ours, interval, verdict, note, .. } = claim.clone();
            let outcome = Outcome { verdict, ours, interval, note };
            Entry::new(experiment.paper, experiment.name, experiment.command(effort), claim.text, outcome)
        };
        let entries = finished
            .into_iter()
            .flat_map(|(experiment, sheet)| sheet.claims.iter().map(move |claim| entry(experiment, claim)));
        Self { effort: effort.name(), claims: entries.collect() }
    }

    /// The claims of these experiments in a committed ledger. Claims without text are left out.
    pub fn of(effort: Effort, experiments: &[Experiment], records: &[Record]) -> Self {
        let entry = |record: &Record| {
            let experiment = experiments.iter().find(|one| one.name == record.experiment)?;
            let text = experiment.texts.claim(experiment.name, &record.id)?;
            let mut outcome = record.of(effort).clone();
            outcome.note = outcome.note.or_else(|| experiment.texts.note(text).map(Into::into));
            Some(Entry::new(experiment.paper, experiment.name, experiment.command(effort), text, outcome))
        };
        Self { effort: effort.name(), claims: records.iter().filter_map(entry).collect() }
    }

    /// The committed ledger of a paper; `None` if there is no such paper.
    pub fn committed(paper: &str, effort: Effort) -> Option<&'static Self> {
        let paper = PAPERS.iter().find(|one| one.name == paper)?;
        let [full, quick] = &paper.ledgers;
        Some(effort.of(full, quick))
    }

    /// The verdict of a claim.
    pub fn verdict(&self, experiment: &str, id: &str) -> Option<ClaimVerdict> {
        self.claim(experiment, id).map(|claim| claim.verdict)
    }

    /// A claim.
    pub fn claim(&self, experiment: &str, id: &str) -> Option<&Entry> {
        let is_it = |claim: &&Entry| claim.experiment == experiment && claim.id == id;
        self.claims.iter().find(is_it)
    }

    /// The JSON document (see [`SCHEMA`]), indented, with a final newline.
    pub fn to_json(&self) -> String {
        // Writing to memory cannot fail.
        SCHEMA.to_text(self).unwrap_or_default()
    }
}

impl Entry {
    fn new(paper: &'static str, experiment: &'static str, command: String, text: &'static Text, of: Outcome) -> Self {
        Self {
            paper,
            experiment,
            id: text.id.clone(),
            source: text.source,
            section: text.section.as_deref(),
            statement: &text.statement,
            check: &text.check,
            paper_says: text.paper_says.as_deref(),
            ours: of.ours,
            interval: of.interval,
            verdict: of.verdict,
            class: text.class,
            figure: text.figure,
            chosen_after: text.chosen_after.as_deref(),
            by_construction: text.class == Class::ByConstruction,
            note: of.note,
            command,
        }
    }

    /// Where the claim stands: the section, or that it is ours.
    #[cfg(test)]
    pub fn place(&self) -> String {
        crate::claims::place(self.source, self.section)
    }

    /// The verdict in reports.
    #[cfg(test)]
    pub const fn verdict_name(&self) -> &'static str {
        self.verdict.name_of(self.by_construction)
    }
}

/// The mutations that turn a claim at the quick effort, by the committed ledger.
#[cfg(test)]
pub fn turned_by(experiment: &Experiment, id: &str) -> &'static [String] {
    let paper = PAPERS.iter().find(|paper| paper.name == experiment.paper);
    let mut records = paper.into_iter().flat_map(|paper| &paper.records);
    records.find(|record| record.is_of(experiment.name, id)).map_or(&[], |record| &record.turned_by)
}

/// What turns a claim.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// A mutation that leaves the experiment what it is about.
    ByChange,
    /// Mutations that empty the experiment, and no other.
    OnlyByEmptying,
    /// No mutation.
    ByNothing,
}

/// What turns a claim at the quick effort, by the committed ledger.
#[cfg(test)]
pub fn turned(experiment: &Experiment, id: &str) -> Turned {
    let names = turned_by(experiment, id);
    let changes = |name: &String| experiment.mutation(name).is_some_and(|mutation| !mutation.empties);
    match names.iter().any(changes) {
        true => Turned::ByChange,
        false if names.is_empty() => Turned::ByNothing,
        false => Turned::OnlyByEmptying,
    }
}

/// The claims that a mutation turns at the quick effort, by the committed ledger.
pub fn turns(experiment: &Experiment, mutation: &Mutation) -> Vec<&'static str> {
    let paper = PAPERS.iter().find(|paper| paper.name == experiment.paper);
    let records = paper.into_iter().flat_map(|paper| &paper.records);
    let is_turned =
        |record: &&Record| record.experiment == experiment.name && record.turned_by.contains(&mutation.name);
    records.filter(is_turned).map(|record| record.id.as_str()).collect()
}

/// Changes the records of a paper's ledger in a folder. Those of experiments that no longer exist are removed; the
/// others are in the order of the experiments.
fn update(folder: &Path, paper: &str, change: impl FnOnce(&mut Vec<Record>)) -> io::Result<()> {
    let path = folder.join(format!("{paper}.json"));
    let mut records: Vec<Record> = match fs::read_to_string(&path) {
        Ok(json) => serde_json::from_str(&json)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => vec![],
        Err(e) => return Err(e),
    };
    change(&mut records);
    let experiments = PAPERS.iter().find(|one| one.name == paper).map_or(&[][..], |one| &one.experiments);
    let position = |record: &Record| experiments.iter().position(|one| one.name == record.experiment);
    records.retain(|record| position(record).is_some());
    records.sort_by_key(position);
    fs::write(path, serde_json::to_string_pretty(&records)? + "\n")
}

/// Records the results of experiments at an effort in the ledgers in this folder.
///
/// # Errors
/// A file that cannot be read or written.
pub fn record<'a>(
    folder: &Path,
    effort: Effort,
    finished: impl IntoIterator<Item = (&'static Experiment, &'a Sheet)>,
) -> io::Result<()> {
    for (experiment, sheet) in finished {
        update(folder, experiment.paper, |records| {
            let (mut before, others): (Vec<Record>, _) =
                std::mem::take(records).into_iter().partition(|record| record.experiment == experiment.name);
            let claims = sheet.claims.iter().map(|claim| {
                let outcome = Outcome {
                    verdict: claim.verdict,
                    ours: claim.ours.clone(),
                    interval: claim.interval.clone(),
                    note: claim.note.clone().filter(|note| Some(note.as_str()) != experiment.texts.note(claim.text)),
                };
                let known = before.iter().position(|record| record.id == claim.id).map(|at| before.swap_remove(at));
                let (full, quick) = match &known {
                    Some(known) => effort
                        .of((outcome.clone(), known.of(Effort::Quick).clone()), (known.full.clone(), outcome.clone())),
                    None => (outcome.clone(), outcome),
                };
                Record {
                    experiment: experiment.name.into(),
                    id: claim.id.into(),
                    quick: Some(quick).filter(|quick| *quick != full),
                    full,
                    turned_by: known.map_or_else(Vec::new, |known| known.turned_by),
                }
            });
            *records = others.into_iter().chain(claims).collect();
        })?;
    }
    Ok(())
}

/// Records the claims that each mutation of these experiments turns in the ledgers in this folder. All mutations of an
/// experiment must be given.
///
/// # Errors
/// A file that cannot be read or written.
pub fn record_turns(folder: &Path, turned: &[(&'static Experiment, &'static Mutation, Vec<&str>)]) -> io::Result<()> {
    for paper in PAPERS.iter() {
        let own = || turned.iter().filter(|(experiment, ..)| experiment.paper == paper.name);
        if own().next().is_none() {
            continue;
        }
        update(folder, paper.name, |records| {
            for record in records.iter_mut().filter(|record| own().any(|(one, ..)| one.name == record.experiment)) {
                let turns = own().filter(|(experiment, _, ids)| {
                    experiment.name == record.experiment && ids.contains(&record.id.as_str())
                });
                record.turned_by = turns.map(|(_, mutation, _)| mutation.name.clone()).collect();
            }
        })?;
    }
    Ok(())
}

/// How many claims have each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Claims that hold, those by construction included.
    pub hold: usize,
    /// Claims that fail.
    pub fail: usize,
    /// Claims that the data do not decide.
    pub undecided: usize,
}

impl Count {
    /// Counts verdicts.
    pub fn of(verdicts: impl IntoIterator<Item = ClaimVerdict>) -> Self {
        let mut count = Self::default();
        for verdict in verdicts {
            match verdict {
                ClaimVerdict::Holds => count.hold += 1,
                ClaimVerdict::Fails => count.fail += 1,
                ClaimVerdict::Undecided => count.undecided += 1,
            }
        }
        count
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { hold, fail, undecided } = self;
        write!(f, "{hold} hold, {fail} fail, {undecided} undecided")
    }
}
