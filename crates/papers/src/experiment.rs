//! The experiments: figures and tables of the papers, and other studies of their claims.
//!
//! An experiment runs at one of two efforts. The full effort is what the committed figures show. The quick one has less
//! statistical power, so it decides fewer claims. Both have expected verdicts (module `ledger`).
//!
//! A mutation breaks an experiment on purpose: it takes a mechanism away, or changes the setup. A claim that no mutation
//! can turn would say nothing about the engine.

use crate::Sheet;
use crate::ledger::Ledger;
use recoup_lab::scenario::{Scenario, ScenarioError};
use recoup_lab::settings::SettingsError;
use recoup_recovery::Profile;
use recoup_sim::traffic::web::Page;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The built-in scenario whose settings its cells start from.
    pub scenario: &'static str,
    /// The settings that its cells set themselves, and that cannot be changed.
    pub own_settings: &'static [&'static str],
    /// What turns its claims.
    pub mutations: &'static [Mutation],
    /// Runs it in the simulator.
    pub run: fn(&Setup) -> Result<Sheet, ExperimentError>,
}

/// A change that an experiment must notice.
#[derive(Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The name on the command line; unique in its experiment.
    pub name: &'static str,
    /// A line that says what it changes.
    pub about: &'static str,
    /// What it changes.
    pub change: Change,
    /// The claims whose verdict it changes at the quick effort.
    pub turns: &'static [&'static str],
}

/// What a mutation changes.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// Parts of profile names become others: `("tlpr", "rtor")` makes `linux-3.17+rtor` of `linux-3.17+tlpr`; an empty
    /// name removes the mechanism.
    Swap(&'static [(&'static str, &'static str)]),
    /// Settings of the scenario.
    Set(&'static [(&'static str, &'static str)]),
    /// The experiment itself changes something else; it asks [`Setup::is_mutated`].
    Own,
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
}

impl From<String> for ExperimentError {
    fn from(line: String) -> Self {
        Self::Unfit(line)
    }
}

/// What an experiment starts from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scenario that its cells vary, with the seed.
    pub base: Scenario,
    /// How much it runs.
    pub effort: Effort,
    /// What is broken on purpose.
    pub mutation: Option<&'static Mutation>,
    /// The users of the data centers of PRR; `None`: as many as the effort has.
    pub users: Option<u32>,
    /// A file of connection vectors for the background of figure 3 of tail loss, in place of the synthetic mix.
    pub background: Option<PathBuf>,
    /// The pages of figure 4 of tail loss, and how often they are downloaded.
    pub pages: Pages,
}

impl Setup {
    /// The setup of an experiment as the paper has it.
    ///
    /// # Errors
    /// The experiment's scenario cannot be read.
    pub fn new(experiment: &Experiment, effort: Effort) -> Result<Self, ExperimentError> {
        Ok(Self {
            base: Scenario::load(experiment.scenario)?,
            effort,
            mutation: None,
            users: None,
            background: None,
            pages: Pages::default(),
        })
    }

    /// The same with a mutation.
    ///
    /// # Errors
    /// A mutation's setting does not fit the scenario.
    pub fn mutated(mut self, mutation: &'static Mutation) -> Result<Self, ExperimentError> {
        if let Change::Set(settings) = &mutation.change {
            for (key, value) in *settings {
                self.base.settings.set(key, value, Path::new(""))?;
            }
        }
        self.mutation = Some(mutation);
        Ok(self)
    }

    /// The seed of everything random.
    pub const fn seed(&self) -> u64 {
        self.base.seed
    }

    /// Whether the mutation of this name is in force.
    pub fn is_mutated(&self, name: &str) -> bool {
        self.mutation.is_some_and(|mutation| mutation.name == name)
    }

    /// The name of the profile to run where `name` is asked for: the same, unless a mutation swaps a part of it.
    pub fn profile_name(&self, name: &str) -> String {
        let Some(Change::Swap(swaps)) = self.mutation.map(|mutation| &mutation.change) else {
            return name.into();
        };
        let swapped = |part| {
            let swap = swaps.iter().find(|(from, _)| *from == part);
            swap.map_or(part, |(_, to)| *to)
        };
        let parts = name.split('+').map(swapped);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
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
    let papers = crate::PAPERS.iter();
    papers.flat_map(|paper| paper.experiments)
}

impl Experiment {
    /// Its paper and name: `slp combined`.
    pub fn title(&self) -> String {
        format!("{} {}", self.paper, self.name)
    }

    /// The mutation of this name.
    pub fn mutation(&self, name: &str) -> Option<&'static Mutation> {
        self.mutations.iter().find(|mutation| mutation.name == name)
    }

    /// Runs it. Every claim has the verdict that the committed ledger expects at this effort.
    ///
    /// # Errors
    /// Settings that do not fit together.
    pub fn run(&self, setup: &Setup) -> Result<Sheet, ExperimentError> {
        let mut sheet = (self.run)(setup)?;
        let expected = Ledger::committed(self.paper, setup.effort);
        for claim in &mut sheet.claims {
            claim.expected = expected.and_then(|ledger| ledger.verdict(self.name, claim.id));
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

    fn setup(change: Change) -> Setup {
        let mutation = Box::leak(Box::new(Mutation { name: "broken", about: "breaks it", change, turns: &[] }));
        let experiment = all().next().expect("an experiment");
        let setup = Setup::new(experiment, Effort::Quick).expect("its scenario");
        setup.mutated(mutation).expect("settings that fit")
    }

    #[test]
    fn a_swap_replaces_whole_parts_of_names() {
        let setup = setup(Change::Swap(&[("tlpr", "rtor"), ("slp", "")]));
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
        let setup = setup(Change::Set(&[("rtt", "123ms")]));
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
            assert!(sum <= most, "{} s of {most} s", sum);
        }
    }
}
