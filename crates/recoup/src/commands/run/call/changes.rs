//! The arguments that change a scenario: the same on the command line and in Python.

use recoup_lab::scenario::Scenario;
use recoup_lab::sweep::Sweep;
use recoup_lab::world::WorldScenario;
use recoup_recovery::Profile;
use recoup_support::profile::parse_profile;
use thiserror::Error;

/// Changes of a scenario.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Changes {
    /// Run this profile, such as linux-3.17+tlp, instead of the scenario's; repeat for several
    #[arg(long, value_name = "PROFILE")]
    pub profile: Vec<String>,
    /// Flows per profile [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub flows: Option<u64>,
    /// Seed of everything random [default: the scenario's]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Change a setting of the scenario; repeat for several (see `recoup scenario list`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Run with each of these values of a setting; repeat for every combination with those of others
    #[arg(long = "sweep", value_name = "KEY=VALUE,…")]
    pub sweeps: Vec<String>,
}

/// A change that cannot be made. The text is the command line's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// A setting.
    #[error("--set {0}")]
    Set(String),
    /// A profile by its name, and what is wrong with it.
    #[error("--profile {0}: {1}{more}", more = if .0.contains(',') { "; for several, repeat --profile" } else { "" })]
    Profile(String, String),
    /// A world has no flows of its own.
    #[error("--flows: in a world, set the flows of a workload: --set workloads.NAME.flows=N")]
    FlowsOfWorld,
    /// Settings that do not fit together.
    #[error("{0}")]
    Combination(String),
    /// A sweep.
    #[error("--sweep {0}")]
    Sweep(String),
}

impl Changes {
    /// The scenario with these changes.
    ///
    /// # Errors
    /// A change that cannot be made, or settings that do not fit together.
    pub fn scenario(&self, mut scenario: Scenario) -> Result<Scenario, ChangeError> {
        apply_settings(&mut scenario, &self.settings)?;
        scenario.profiles = self.profiles(scenario.profiles)?;
        scenario.flows = self.flows.unwrap_or(scenario.flows);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.check().map_err(ChangeError::Combination)?;
        Ok(scenario)
    }

    /// The world with these changes.
    ///
    /// # Errors
    /// A change that cannot be made.
    pub fn world(&self, mut world: WorldScenario) -> Result<WorldScenario, ChangeError> {
        if self.flows.is_some() {
            return Err(ChangeError::FlowsOfWorld);
        }
        set(&self.settings, "duration=10s", |key, value| world.set(key, value))?;
        world.profiles = self.profiles(world.profiles)?;
        world.seed = self.seed.unwrap_or(world.seed);
        Ok(world)
    }

    /// The profiles of the arguments, or else `usual`.
    fn profiles(&self, usual: Vec<Profile>) -> Result<Vec<Profile>, ChangeError> {
        let parse = |text: &String| parse_profile(text).map_err(|why| ChangeError::Profile(text.clone(), why));
        match self.profile.is_empty() {
            true => Ok(usual),
            false => self.profile.iter().map(parse).collect(),
        }
    }

    /// The sweep; `None` without one.
    ///
    /// # Errors
    /// A sweep that cannot be read, or of a key that is set, too.
    pub fn sweep(&self) -> Result<Option<Sweep>, ChangeError> {
        let sweep = Sweep::parse(&self.sweeps).map_err(ChangeError::Sweep)?;
        let mut set = self.settings.iter().filter_map(|text| text.split_once('=')).map(|(key, _)| key.trim());
        match set.find(|key| sweep.keys().any(|swept| swept == *key)) {
            Some(key) => Err(ChangeError::Sweep(format!("{key}: --set {key} is given, too"))),
            None => Ok(Some(sweep).filter(|sweep| !sweep.is_empty())),
        }
    }
}

/// Applies settings of the form `KEY=VALUE`.
///
/// # Errors
/// The first that cannot be applied.
pub fn apply_settings(scenario: &mut Scenario, settings: &[String]) -> Result<(), ChangeError> {
    set(settings, "rtt=80ms", |key, value| scenario.set(key, value).map_err(|e| e.to_string()))
}

fn set(
    settings: &[String],
    example: &str,
    mut apply: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<(), ChangeError> {
    settings.iter().try_for_each(|setting| {
        let wrong = || ChangeError::Set(format!("{setting}: expected KEY=VALUE, such as {example}"));
        let (key, value) = setting.split_once('=').ok_or_else(wrong)?;
        apply(key, value).map_err(ChangeError::Set)
    })
}
