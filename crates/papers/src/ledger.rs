//! The ledger: every claim with its verdict.
//!
//! The committed ledgers (`ledger/` in this crate) hold the verdicts that are expected, apart for the full and the quick
//! effort. A run whose verdicts differ from them has changed what Recoup says of a paper. They are generated:
//! `recoup paper PAPER [--quick] --out DIR` writes `DIR/ledger.json`.

use crate::Sheet;
use crate::claims::{Claim, ClaimVerdict, Source, place};
use crate::experiment::{Effort, Experiment};
use recoup_table::{Columns, Schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The JSON document of a ledger: `effort` (`full` or `quick`) and `claims`, an [`Entry`] each.
pub const SCHEMA: Schema = Schema { name: "recoup.ledger", version: 1 };

/// A claim with its verdict.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Entry {
    /// The paper's name on the command line.
    pub paper: String,
    /// The experiment that decides it.
    pub experiment: String,
    /// A short name, unique in the experiment.
    pub id: String,
    /// Who makes it.
    pub source: Source,
    /// The section of the paper or the RFC.
    pub section: Option<String>,
    /// The claim in our words.
    pub statement: String,
    /// How it is checked.
    pub check: String,
    /// What the paper gives: a number, a comparison.
    pub paper_says: Option<String>,
    /// Our result.
    pub ours: String,
    /// The 95 % confidence interval of our result.
    pub interval: Option<String>,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Whether the claim follows from definitions, so that no run could refute it.
    pub by_construction: bool,
    /// Why it fails, or a remark.
    pub note: Option<String>,
    /// The command that repeats it.
    pub command: String,
}

/// The claims of experiments at one effort.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Ledger {
    /// `full` or `quick`.
    pub effort: String,
    /// In the order of the experiments.
    pub claims: Vec<Entry>,
}

/// The columns of the claims.
pub fn columns() -> Columns<Entry> {
    fn text(value: &str) -> Option<Cow<'static, str>> {
        Some(value.to_owned().into())
    }
    Columns::<Entry>::new()
        .text(("paper", "", "the paper's name"), |e| text(&e.paper))
        .text(("experiment", "", "the experiment that decides the claim"), |e| text(&e.experiment))
        .text(("id", "", "a short name, unique in the experiment"), |e| text(&e.id))
        .text(("source", "", "who makes the claim"), |e| text(e.source.name()))
        .text(("section", "", "the section of the paper or the RFC"), |e| text(e.section.as_deref()?))
        .text(("statement", "", "the claim in our words"), |e| text(&e.statement))
        .text(("check", "", "how the claim is checked"), |e| text(&e.check))
        .text(("paper_says", "", "what the paper gives"), |e| text(e.paper_says.as_deref()?))
        .text(("ours", "", "our result"), |e| text(&e.ours))
        .text(("interval", "", "the 95 % confidence interval of our result"), |e| text(e.interval.as_deref()?))
        .text(("verdict", "", "whether the claim holds"), |e| text(e.verdict.name()))
        .flag(("by_construction", "", "the claim follows from definitions, so that no run could refute it"), |e| {
            e.by_construction
        })
        .text(("note", "", "why the claim fails, or a remark"), |e| text(e.note.as_deref()?))
        .text(("command", "", "the command that repeats it"), |e| text(&e.command))
}

impl Ledger {
    /// The claims of these experiments with their verdicts.
    pub fn new<'a>(effort: Effort, finished: impl IntoIterator<Item = (&'static Experiment, &'a Sheet)>) -> Self {
        let entries = |(experiment, sheet): (&'static Experiment, &'a Sheet)| {
            let claims = sheet.claims.iter();
            claims.map(move |claim| Entry::new(experiment, effort, claim))
        };
        Self { effort: effort.name().into(), claims: finished.into_iter().flat_map(entries).collect() }
    }

    /// The committed ledger of a paper; `None` if there is no such paper.
    pub fn committed(paper: &str, effort: Effort) -> Option<&'static Self> {
        static LEDGERS: OnceLock<BTreeMap<(&str, &str), Ledger>> = OnceLock::new();
        let ledgers = LEDGERS.get_or_init(|| {
            let of = |text: &str| serde_json::from_str(text).expect("a committed ledger");
            let both = crate::PAPERS.iter().flat_map(|paper| {
                [
                    ((paper.name, Effort::Full.name()), of(paper.full_ledger)),
                    ((paper.name, Effort::Quick.name()), of(paper.quick_ledger)),
                ]
            });
            both.collect()
        });
        let paper = crate::PAPERS.iter().find(|one| one.name == paper)?;
        ledgers.get(&(paper.name, effort.name()))
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
    fn new(experiment: &Experiment, effort: Effort, claim: &Claim) -> Self {
        Self {
            paper: experiment.paper.into(),
            experiment: experiment.name.into(),
            id: claim.id.into(),
            source: claim.source,
            section: claim.section.map(Into::into),
            statement: claim.statement.into(),
            check: claim.check.into(),
            paper_says: claim.paper_says.clone(),
            ours: claim.ours.clone(),
            interval: claim.interval.clone(),
            verdict: claim.verdict,
            by_construction: claim.by_construction,
            note: claim.note.clone(),
            command: experiment.command(effort),
        }
    }

    /// Where the claim stands: the section, or that it is ours.
    pub fn place(&self) -> String {
        place(self.source, self.section.as_deref())
    }

    /// The verdict in reports.
    pub const fn verdict_name(&self) -> &'static str {
        self.verdict.name_of(self.by_construction)
    }
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
