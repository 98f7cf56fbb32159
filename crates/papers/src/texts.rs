//! The texts of a paper: its experiments and their mutations, its claims, and its sentences.
//!
//! They are data (`claims/PAPER.toml` in this crate), written by hand. Code computes results and finds their texts by
//! the names of the experiment and of the claim.

use crate::PAPERS;
use crate::claims::{Class, Source};
use crate::coverage::Sentence;
use crate::experiment::{Budget, Mutation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The texts of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// A heading in few words.
    pub heading: String,
    /// Authors, title, venue and year.
    pub citation: String,
    /// The built-in scenario whose settings the cells of its experiments start from.
    pub scenario: String,
    /// The experiments.
    #[serde(rename = "experiment")]
    pub experiments: Vec<About>,
    /// The mutations; each breaks one experiment or several.
    #[serde(rename = "mutation")]
    pub mutations: Vec<Mutation>,
    /// Notes by name: those that several claims have, and those that code chooses.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
    /// The claims.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Text>,
    /// The sentences, in the paper's order.
    #[serde(default, rename = "sentence")]
    pub sentences: Vec<Sentence>,
}

/// The description of an experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its name on the command line; unique in its paper.
    pub name: String,
    /// The section of the paper.
    pub section: String,
    /// A line that says what it shows.
    pub about: String,
    /// How long it may take.
    pub budget: Budget,
}

/// The statement of a claim, and its check.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// The claim's short name.
    #[serde(skip_serializing)]
    pub id: String,
    /// The experiments that decide it.
    #[serde(rename = "in", skip_serializing)]
    pub experiments: Vec<String>,
    /// Who makes it.
    #[serde(default)]
    pub source: Source,
    /// The section of the paper or of the RFC; `None` for our own claims about no section.
    pub section: Option<String>,
    /// The claim in our words.
    pub statement: String,
    /// How the claim is checked.
    pub check: String,
    /// The paper's result, in short: a number, a comparison.
    #[serde(rename(deserialize = "prints"))]
    pub paper_says: Option<String>,
    /// What its verdict rests on.
    #[serde(default)]
    pub class: Class,
    /// Whether the paper prints the number, and we judge it: it was not fitted.
    #[serde(default)]
    pub figure: bool,
    /// A choice that was made after a result had been seen: of a bound, a tolerance, a population.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_after: Option<String>,
    /// Why it fails, or a remark, if that does not depend on the result.
    #[serde(skip_serializing)]
    pub note: Option<String>,
    /// The name of the note, if other claims have it, too.
    #[serde(skip_serializing)]
    pub noted: Option<String>,
}

/// No text.
pub const NO_TEXT: Text = Text {
    id: String::new(),
    experiments: Vec::new(),
    source: Source::Paper,
    section: None,
    statement: String::new(),
    check: String::new(),
    paper_says: None,
    class: Class::Implemented,
    figure: false,
    chosen_after: None,
    note: None,
    noted: None,
};

/// The texts of a result until they are known.
pub static UNKNOWN: Text = NO_TEXT;

impl Texts {
    /// Reads the texts of a paper.
    ///
    /// # Panics
    /// Never with the committed ones: a test reads them.
    pub fn read(toml: &str) -> Self {
        toml::from_str(toml).unwrap_or_else(|e| panic!("the texts of a paper: {e}"))
    }

    /// The text of a claim of an experiment.
    pub fn claim(&self, experiment: &str, id: &str) -> Option<&Text> {
        self.claims.iter().find(|text| text.id == id && text.is_of(experiment))
    }

    /// The note of a claim, unless its result decides: the claim's own, or the one whose name it has.
    pub fn note<'a>(&'a self, text: &'a Text) -> Option<&'a str> {
        let named = || self.notes.get(text.noted.as_ref()?).map(String::as_str);
        text.note.as_deref().filter(|note| !note.contains(GAP)).or_else(named)
    }
}

impl Text {
    /// Whether an experiment of this name decides it.
    pub fn is_of(&self, experiment: &str) -> bool {
        self.experiments.iter().any(|one| one == experiment)
    }
}

/// Begins a gap for a value in a note: `{}`, or with the number of decimals `{:.1}`.
const GAP: char = '{';

/// The note with gaps of the claim of this name.
///
/// # Panics
/// Without one: only code that fills the gaps asks for it.
pub fn template(id: &str) -> &'static str {
    let notes = PAPERS.iter().flat_map(|paper| &paper.texts.claims).filter(|text| text.id == id);
    notes.filter_map(|text| text.note.as_deref()).find(|note| note.contains(GAP)).expect("a note with gaps")
}

/// The note with its gaps filled by these values.
///
/// # Panics
/// If gaps and values differ in number.
pub fn filled(note: &str, values: &[&dyn Display]) -> String {
    let mut parts = note.split(GAP);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut values = values.iter();
    for part in parts {
        let (format, rest) = part.split_once('}').expect("the end of a gap");
        let value = values.next().expect("a value for each gap");
        text += &match format.strip_prefix(":.").and_then(|digits| digits.parse().ok()) {
            Some(digits) => format!("{value:.digits$}"),
            None => value.to_string(),
        };
        text += rest;
    }
    assert_eq!(values.len(), 0, "a gap for each value: {note}");
    text
}

#[cfg(test)]
mod tests {
    use super::filled;
    use crate::PAPERS;
    use std::collections::BTreeSet;

    #[test]
    fn values_fill_the_gaps_of_notes() {
        assert_eq!(filled("{} of {:.1} %", &[&3, &2.25]), "3 of 2.2 %");
        assert_eq!(filled("no gap", &[]), "no gap");
    }

    /// A text without a result is in no ledger, and a result without a text stops the run that would record it.
    #[test]
    fn every_claim_has_one_text_and_a_result() {
        for paper in PAPERS.iter() {
            let texts = paper.texts;
            let decided = texts.claims.iter().flat_map(|text| text.experiments.iter().map(|one| (one, &text.id)));
            let mut decided: Vec<(&String, &String)> = decided.collect();
            let mut recorded: Vec<(&String, &String)> =
                paper.records.iter().map(|one| (&one.experiment, &one.id)).collect();
            decided.sort();
            recorded.sort();
            assert_eq!(decided, recorded, "{}: the texts, and the ledger", paper.name);
            decided.dedup();
            assert_eq!(decided.len(), recorded.len(), "{}: two texts of one claim", paper.name);
        }
    }

    #[test]
    fn names_are_those_of_experiments_mutations_and_notes() {
        for paper in PAPERS.iter() {
            let texts = paper.texts;
            let experiments: BTreeSet<&str> = paper.experiments.iter().map(|one| one.name).collect();
            let described: BTreeSet<&str> = texts.experiments.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(experiments, described, "{}", paper.name);
            let broken = texts.mutations.iter().flat_map(|one| &one.experiments);
            let unknown: Vec<&String> = broken.filter(|name| !experiments.contains(name.as_str())).collect();
            assert!(unknown.is_empty(), "{}: no such experiment: {unknown:?}", paper.name);
            for record in &paper.records {
                let experiment = paper.experiments.iter().find(|one| one.name == record.experiment);
                let experiment = experiment.expect("an experiment");
                let turned_by = record.turned_by.iter().all(|name| experiment.mutation(name).is_some());
                assert!(turned_by, "{}/{}: {:?}", record.experiment, record.id, record.turned_by);
            }
            for text in &texts.claims {
                assert!(text.noted.iter().all(|name| texts.notes.contains_key(name)), "{}", text.id);
                assert!(text.note.is_none() || text.noted.is_none(), "{}: two notes", text.id);
            }
        }
    }
}
