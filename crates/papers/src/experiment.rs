//! The experiments: figures and tables of the papers, and other studies of their claims.
//!
//! An experiment runs at one of two efforts. The full effort is what the committed figures show. The quick one has less
//! statistical power, so it decides fewer claims. Both have expected verdicts (module `ledger`).
//!
//! A mutation breaks an experiment on purpose: it takes a mechanism away, or changes the setup. A claim that no mutation
//! can break tests nothing. The committed ledger has the claims that each mutation turns.
//!
//! The descriptions of experiments and mutations are data (module `texts`), and code has the functions that run them.

use crate::claims::Class;
use crate::fit::{self, Change, Parameters};
use crate::ledger::Ledger;
use crate::texts::{About, Texts};
use crate::{PAPERS, Sheet};
use recoup_lab::scenario::{Scenario, ScenarioError};
use recoup_lab::settings::SettingsError;
use recoup_recovery::Profile;
use recoup_sim::traffic::web::Page;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How much an experiment runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// As much as its figures need.
    #[default]
    Full,
    /// A first look: about a tenth of the full effort.
    Quick,
}

impl Effort {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }

    /// The one of two sizes that belongs to this effort.
    pub fn of<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// How long an experiment may take on two cores, in s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// With the full effort.
    pub full_s: u32,
    /// With the quick effort.
    pub quick_s: u32,
}

impl Budget {
    /// The budget of an effort, in s.
    pub const fn of(self, effort: Effort) -> u32 {
        match effort {
            Effort::Full => self.full_s,
            Effort::Quick => self.quick_s,
        }
    }
}

/// A figure or table of a paper, or another study of its claims.
#[derive(Debug)]
pub struct Experiment {
    /// The paper's name on the command line.
    pub paper: &'static str,
    /// The experiment's name on the command line; unique in its paper.
    pub name: &'static str,
    /// The section of the paper.
    pub section: &'static str,
    /// A line that says what it shows.
    pub about: &'static str,
    /// How long it may take.
    pub budget: Budget,
    /// The settings that its cells set themselves, and that cannot be changed.
    pub own_settings: &'static [&'static str],
    /// The mutations that break it.
    pub mutations: Vec<&'static Mutation>,
    pub texts: &'static Texts,
    run: RunFn,
}

/// Runs an experiment in the simulator. The claims of the sheet have no texts yet.
type RunFn = fn(&Setup) -> Result<Sheet, ExperimentError>;

/// The part of an experiment that is code.
#[derive(Debug)]
pub struct Run {
    name: &'static str,
    own_settings: &'static [&'static str],
    run: RunFn,
}

/// An experiment: its name, the settings that its cells set themselves, and what runs it.
pub const fn run(name: &'static str, own_settings: &'static [&'static str], run: RunFn) -> Run {
    Run { name, own_settings, run }
}

/// A change that an experiment must notice. Without `swap` and `set` the experiment itself changes something else: it
/// asks [`Setup::is_mutated`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// The name on the command line; unique in its experiments.
    pub name: String,
    /// The experiments that it breaks.
    #[serde(rename = "in")]
    pub experiments: Vec<String>,
    /// A line that says what it changes.
    pub about: String,
    /// Whether it leaves the experiment without what it is about: losses, or delays. Nearly every claim about them then has
    /// another verdict, so such a turn says little.
    #[serde(default)]
    pub empties: bool,
    /// Parts of profile names become others: `tlpr = "rtor"` makes `linux-3.17+rtor` of `linux-3.17+tlpr`. An empty name
    /// removes the part.
    #[serde(default)]
    swap: BTreeMap<String, String>,
    /// Settings of the scenario that change: `KEY=VALUE`.
    #[serde(default)]
    set: Vec<String>,
}

/// Which pages are downloaded, and how often.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The pages; `None`: those of the paper's sites, about which the paper's claims are.
    pub own: Option<Vec<Page>>,
    /// Downloads of a page with each mechanism; `None`: as many as the effort has.
    pub downloads: Option<usize>,
}

/// Why an experiment cannot run.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// Its scenario cannot be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The settings do not fit together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The settings do not fit together; the text says where they are from.
    #[error("{0}")]
    Unfit(String),
    /// It decides a claim that the texts do not have.
    #[error("{0}: no claim of this name among the texts of the paper")]
    NoText(String),
}

impl From<String> for ExperimentError {
    fn from(line: String) -> Self {
        Self::Unfit(line)
    }
}

/// The starting point of an experiment.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scenario that its cells vary, with the seed.
    pub base: Scenario,
    /// How much it runs.
    pub effort: Effort,
    /// The mutation in force.
    pub mutation: Option<&'static Mutation>,
    /// The users of the data centers of PRR; `None`: as many as the effort has.
    pub users: Option<u32>,
    /// A file of connection vectors for the background of figure 3 of tail loss, in place of the synthetic mix.
    pub background: Option<PathBuf>,
    /// The pages of figure 4 of tail loss, and how often they are downloaded.
    pub pages: Pages,
    /// Parameters of the population that are not as committed.
    pub changes: Vec<Change>,
}

impl Setup {
    /// The setup of an experiment as the paper has it.
    ///
    /// # Errors
    /// The experiment's scenario cannot be read.
    pub fn new(experiment: &Experiment, effort: Effort) -> Result<Self, ExperimentError> {
        Ok(Self {
            base: Scenario::load(&experiment.texts.scenario)?,
            effort,
            mutation: None,
            users: None,
            background: None,
            pages: Pages::default(),
            changes: vec![],
        })
    }

    /// This setup with a mutation.
    ///
    /// # Errors
    /// A mutation's setting does not fit the scenario.
    pub fn mutated(mut self, mutation: &'static Mutation) -> Result<Self, ExperimentError> {
        for (key, value) in mutation.set.iter().filter_map(|setting| setting.split_once('=')) {
            self.base.settings.set(key, value, Path::new(""))?;
        }
        self.mutation = Some(mutation);
        Ok(self)
    }

    /// The seed of everything random.
    pub const fn seed(&self) -> u64 {
        self.base.seed
    }

    /// The parameters of the population of this fit.
    pub fn fitted(&self, fit: &str) -> Parameters {
        fit::parameters(fit, &self.changes)
    }

    /// Whether the mutation of this name is in force.
    pub fn is_mutated(&self, name: &str) -> bool {
        self.mutation.is_some_and(|mutation| mutation.name == name)
    }

    /// The name of the profile to run where `name` is asked for: the same, unless a mutation swaps a part of it.
    pub fn profile_name(&self, name: &str) -> String {
        let Some(mutation) = self.mutation else {
            return name.into();
        };
        let parts: Vec<&str> = name
            .split('+')
            .map(|part| mutation.swap.get(part).map_or(part, String::as_str))
            .filter(|part| !part.is_empty())
            .collect();
        parts.join("+")
    }

    /// The profile to run where `name` is asked for.
    ///
    /// # Panics
    /// If the experiment asks for a profile that does not exist.
    pub fn profile(&self, name: &str) -> Profile {
        let name = self.profile_name(name);
        let profile = name.parse();
        profile.unwrap_or_else(|e| panic!("`{name}` is no profile: {e}"))
    }
}

/// The experiments of all papers, in the order of their publication on the command line.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    PAPERS.iter().flat_map(|paper| &paper.experiments)
}

/// The experiment of this name of a paper.
pub fn named(paper: &str, name: &str) -> Option<&'static Experiment> {
    all().find(|one| (one.paper, one.name) == (paper, name))
}

/// The setup of an experiment.
#[cfg(test)]
pub fn setup_of(paper: &str, name: &str, effort: Effort) -> Setup {
    Setup::new(named(paper, name).expect("an experiment"), effort).expect("its scenario")
}

impl Experiment {
    /// Its paper and name: `slp combined`.
    pub fn title(&self) -> String {
        format!("{} {}", self.paper, self.name)
    }

    /// Joins the code of an experiment and its description.
    ///
    /// # Panics
    /// If there is no description. It never happens: a test describes all experiments.
    pub fn new(paper: &'static str, texts: &'static Texts, code: &Run) -> Self {
        let Run { name, own_settings, run } = *code;
        let found = texts.experiments.iter().find(|one| one.name == name);
        let About { section, about, budget, .. } = found.expect("a description of the experiment");
        let breaks_it = |mutation: &&Mutation| mutation.experiments.iter().any(|one| one == name);
        let mutations = texts.mutations.iter().filter(breaks_it).collect();
        Self { paper, name, section, about, budget: *budget, own_settings, mutations, texts, run }
    }

    /// The mutation of this name.
    pub fn mutation(&self, name: &str) -> Option<&'static Mutation> {
        self.mutations.iter().find(|mutation| mutation.name == name).copied()
    }

    /// Runs it. Every claim has its text, and the verdict that the committed ledger expects at this effort.
    ///
    /// # Errors
    /// Settings that do not fit together.
    pub fn run(&self, setup: &Setup) -> Result<Sheet, ExperimentError> {
        let mut sheet = (self.run)(setup)?;
        let expected = Ledger::committed(self.paper, setup.effort);
        for claim in &mut sheet.claims {
            let text = self.texts.claim(self.name, claim.id);
            claim.text = text.ok_or_else(|| ExperimentError::NoText(format!("{} {}", self.title(), claim.id)))?;
            claim.by_construction = claim.text.class == Class::ByConstruction;
            claim.expected = expected.and_then(|ledger| ledger.verdict(self.name, claim.id));
            let note = claim
                .noted
                .and_then(|name| self.texts.notes.get(name))
                .map(String::as_str)
                .or_else(|| self.texts.note(claim.text));
            claim.note = claim.note.take().or_else(|| note.map(Into::into));
        }
        Ok(sheet)
    }

    /// The command that repeats it.
    pub fn command(&self, effort: Effort) -> String {
        let quick = effort.of("", " --quick");
        format!("recoup paper {} {}{quick}", self.paper, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(mutation: &str) -> Setup {
        let mutation = toml::from_str(&format!("name = 'broken'\nin = []\nabout = 'breaks it'\n{mutation}"));
        let mutation = Box::leak(Box::new(mutation.expect("a mutation")));
        let experiment = all().next().expect("an experiment");
        let setup = Setup::new(experiment, Effort::Quick).expect("its scenario");
        setup.mutated(mutation).expect("settings that fit")
    }

    #[test]
    fn a_swap_replaces_whole_parts_of_names() {
        let setup = setup("swap = { tlpr = 'rtor', slp = '' }");
        for (asked, run) in [
            ("linux-3.17+tlpr", "linux-3.17+rtor"),
            ("linux-3.17+tlp", "linux-3.17+tlp"),
            ("linux-3.17+tlpr+slp", "linux-3.17+rtor"),
            ("linux-3.17", "linux-3.17"),
        ] {
            assert_eq!(setup.profile_name(asked), run);
            assert_eq!(setup.profile(asked).name(), run);
        }
        assert!(setup.is_mutated("broken"));
    }

    #[test]
    fn a_setting_changes_the_scenario() {
        let setup = setup("set = ['rtt=123ms']");
        assert_eq!(setup.base.settings.get("rtt").as_deref(), Some("123ms"));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<String> = all().map(Experiment::title).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn all_keep_to_the_time_of_a_whole_run() {
        for (effort, most) in [(Effort::Full, 15 * 60), (Effort::Quick, 2 * 60)] {
            let sum: u32 = all().map(|one| one.budget.of(effort)).sum();
            assert!(sum <= most, "{sum} s of {most} s");
        }
    }
}
