//! Which sentences of the papers are tested.
//!
//! The texts of a paper (`claims/` in this crate) have every sentence that could be computed or measured: a result, a
//! number, a mechanism's behaviour, a cause. A sentence names the claims that decide it, or why none does.

use serde::{Deserialize, Serialize};

/// A sentence that could be computed or measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sentence {
    /// The section of the paper.
    pub section: String,
    /// The statement, in our words.
    pub says: String,
    /// The claims that decide it: `experiment/id`.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Why no claim decides it.
    pub untested: Option<Untested>,
    /// More on the reason.
    pub because: Option<String>,
}

/// Why a sentence is not tested.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Untested {
    /// It describes a real population that is not ours.
    Population,
    /// The stored text cannot be read.
    Illegible,
    /// It reports the work of others.
    RelatedWork,
    /// It is an opinion or a plan.
    Opinion,
    /// It could be tested, and is not yet.
    NotBuilt,
}

impl Untested {
    /// The reason in reports.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Population => "not testable here: a real population",
            Self::Illegible => "illegible",
            Self::RelatedWork => "work of others",
            Self::Opinion => "opinion or plan",
            Self::NotBuilt => "not built",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::claims::{ClaimVerdict, Source};
    use crate::experiment::Effort;
    use crate::ledger::{Entry, Ledger, Turned, turned};
    use crate::{PAPERS, Paper};
    use std::collections::BTreeSet;

    fn ledger(paper: &Paper, effort: Effort) -> &'static [Entry] {
        &Ledger::committed(paper.name, effort).expect("a paper").claims
    }

    fn key(claim: &Entry) -> String {
        format!("{}/{}", claim.experiment, claim.id)
    }

    #[test]
    fn a_sentence_has_claims_or_a_reason() {
        for paper in PAPERS.iter() {
            // Our own finding is no paper.
            assert!(paper.sentences.len() > 20 || paper.name == crate::finding::NAME, "{}", paper.name);
            for sentence in paper.sentences {
                let is_tested = !sentence.claims.is_empty();
                assert_ne!(is_tested, sentence.untested.is_some(), "{sentence:?}");
                let is_explained = sentence.because.is_some();
                assert!(is_tested || is_explained, "{sentence:?}");
            }
        }
    }

    #[test]
    fn sentences_name_the_claims_of_the_ledger() {
        for paper in PAPERS.iter() {
            let claims = ledger(paper, Effort::Full);
            let known: BTreeSet<String> = claims.iter().map(key).collect();
            let named: BTreeSet<String> = paper.sentences.iter().flat_map(|one| one.claims.clone()).collect();
            let unknown: Vec<&String> = named.difference(&known).collect();
            assert!(unknown.is_empty(), "{}: no such claim: {unknown:?}", paper.name);
            let of_paper = claims.iter().filter(|claim| claim.source == Source::Paper);
            let of_paper: BTreeSet<String> = of_paper.map(key).collect();
            let unnamed: Vec<&String> = of_paper.difference(&named).collect();
            assert!(unnamed.is_empty(), "{}: claims of no sentence: {unnamed:?}", paper.name);
        }
    }

    #[test]
    fn whatever_holds_is_turned_by_a_mutation_or_holds_by_construction() {
        for paper in PAPERS.iter() {
            for experiment in &paper.experiments {
                let own = ledger(paper, Effort::Quick).iter().filter(|claim| claim.experiment == experiment.name);
                let own = own.filter(|claim| claim.verdict == ClaimVerdict::Holds && !claim.by_construction);
                let mut unturned = vec![];
                for claim in own {
                    match turned(experiment, &claim.id) {
                        // An emptied experiment turns nearly every claim about it. The claims' page names those that nothing else
                        // turns.
                        Turned::ByChange | Turned::OnlyByEmptying => {}
                        Turned::ByNothing => unturned.push(&claim.id),
                    }
                }
                assert!(unturned.is_empty(), "{}: nothing turns {unturned:?}", experiment.title());
            }
        }
    }
}
