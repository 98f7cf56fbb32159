//! Scenarios: experiments as data, shipped in the binary or written by the user.
//!
//! ```toml
//! about = "what it shows, in one line"
//! profiles = ["linux-3.17", "linux-3.17+tlp"]
//! flows = 1
//! seed = 1
//!
//! [settings]          # any setting of `recoup run --set`, with its value as text or number
//! rtt = "80ms"
//! drop = "tail:1"
//! ```
//!
//! A scenario with links and workloads describes a [world](crate::world).

mod text;

pub(crate) use text::{Origin, ScenarioText};

use crate::settings::{Settings, SettingsError};
use crate::world::{WorldScenario, is_world};
use recoup_recovery::Profile;
use recoup_support::profile::parse_profile;
use recoup_support::suggest::did_you_mean;
use std::path::Path;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The most flows of a profile.
const MOST_FLOWS: u64 = 1_000_000_000;

/// The most profiles. The results of all are kept.
pub(crate) const MOST_PROFILES: usize = 100;

/// The longest scenario file that is read, in bytes.
const LONGEST_SCENARIO: u64 = 1 << 20;

/// The scenarios in the binary: name and text.
pub const BUILT_IN: [(&str, &str); 8] = [
    ("tail-loss", include_str!("../scenarios/tail-loss.toml")),
    ("prr", include_str!("../scenarios/prr.toml")),
    ("fetch", include_str!("../scenarios/fetch.toml")),
    ("syn-loss", include_str!("../scenarios/syn-loss.toml")),
    ("reordering", include_str!("../scenarios/reordering.toml")),
    ("dumbbell", include_str!("../scenarios/dumbbell.toml")),
    ("slp-congestion", include_str!("../scenarios/slp-congestion.toml")),
    ("tail-loss-dumbbell", include_str!("../scenarios/tail-loss-dumbbell.toml")),
];

/// A scenario of either kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Experiment {
    /// One pair of hosts.
    Pair(Box<Scenario>),
    /// Many flows over links that they share.
    World(Box<WorldScenario>),
}

impl Experiment {
    /// The scenario `name`, as [`Scenario::load`] finds it. A world has links or workloads.
    ///
    /// # Errors
    /// An unknown name, an unreadable file, or a line that is wrong.
    pub fn load(name: &str) -> Result<Self, ScenarioError> {
        let source = ScenarioText::load(name)?;
        let table = source.table()?;
        Ok(match is_world(table.get_ref()) {
            true => Self::World(Box::new(WorldScenario::read(&source, table.get_ref())?)),
            false => Self::Pair(Box::new(Scenario::read(&source, table.get_ref())?)),
        })
    }

    /// Its description, one line.
    pub fn about(&self) -> &str {
        match self {
            Self::Pair(scenario) => &scenario.about,
            Self::World(world) => &world.about,
        }
    }
}

/// Settings, and the profiles that are compared under them.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// A built-in scenario's name, or a file's without its ending.
    pub name: String,
    /// The description, one line.
    pub about: String,
    /// The profiles, each of which runs the same flows.
    pub profiles: Vec<Profile>,
    /// Flows per profile.
    pub flows: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// Path, traffic and hosts.
    pub settings: Settings,
    /// The source of the settings, so that an error in their combination can name a line.
    origin: Origin,
}

/// An error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// Neither a built-in scenario nor a file.
    #[error("no scenario `{name}`: expected one of {}, a .toml file, or - for standard input{}",
        BUILT_IN.map(|(name, _)| name).join(", "), did_you_mean(name, BUILT_IN.map(|(name, _)| name)))]
    Unknown {
        /// The name given.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read the scenario {file}: {why}")]
    Unreadable {
        /// Its name.
        file: String,
        /// The system's error.
        why: String,
    },
    /// It describes a world, where a pair of hosts is expected.
    #[error(
        "scenario `{name}`: expected one pair of hosts, found a world of links and workloads, which `recoup run` runs"
    )]
    World {
        /// Its name.
        name: String,
    },
    /// A mistake in the file.
    #[error("{file}:{line}: {why}")]
    Wrong {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The mistake, and the text expected.
        why: String,
    },
}

impl Scenario {
    /// The scenario `name`: built in, a file (anything with a path separator or ending in .toml),
    /// or `-` for standard input.
    ///
    /// # Errors
    /// An unknown name, an unreadable file, a line that is wrong, or a world, which is no pair of hosts.
    pub fn load(name: &str) -> Result<Self, ScenarioError> {
        match Experiment::load(name)? {
            Experiment::Pair(scenario) => Ok(*scenario),
            Experiment::World(_) => Err(ScenarioError::World { name: name.into() }),
        }
    }

    /// The files the scenario was read from: its own, recorded links and likelihoods.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let own = self.origin.path.as_deref();
        own.into_iter().chain(self.settings.files())
    }

    /// Changes a setting from outside the file. File names are relative to the working directory.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), SettingsError> {
        self.settings.set(key, text, Path::new(""))?;
        self.origin.lines.remove(key.trim());
        Ok(())
    }

    /// Checks that the settings fit together. An error names the line of the setting in the file.
    ///
    /// # Errors
    /// A loss rule that does not fit the flow's length, too many flows, profiles or packets in flight.
    pub fn check(&self) -> Result<(), String> {
        if self.flows > MOST_FLOWS {
            return Err(format!("flows: expected at most {MOST_FLOWS}, found {}", self.flows));
        }
        check_profiles(&self.profiles)?;
        let Err(e) = self.settings.path().and_then(|_| self.settings.check_flight()) else {
            return Ok(());
        };
        let line = match &e {
            SettingsError::Invalid { key, .. } => self.origin.lines.get(*key),
            SettingsError::UnknownKey { .. } | SettingsError::Path(_) => None,
        };
        Err(line.map_or(e.to_string(), |line| format!("{}:{line}: {e}", self.origin.file)))
    }

    /// Reads a scenario's text. Errors call it `file`; file names in it are relative to `base`.
    ///
    /// # Errors
    /// A line that is wrong.
    pub fn parse(name: &str, file: &str, text: &str, base: &Path) -> Result<Self, ScenarioError> {
        let source = ScenarioText::new(name, file, text, base);
        Self::read(&source, source.table()?.get_ref())
    }

    fn read(source: &ScenarioText, table: &DeTable<'_>) -> Result<Self, ScenarioError> {
        let wrong = |span, why: String| source.wrong(span, why);
        let mut scenario = Self {
            name: source.name.clone(),
            about: String::new(),
            profiles: vec![],
            flows: 1,
            seed: 1,
            settings: Settings::default(),
            origin: source.origin(),
        };
        for (key, value) in table {
            let at = |why| wrong(value.span(), why);
            match key.get_ref().as_ref() {
                "about" => scenario.about = as_text(value.get_ref()).map_err(at)?,
                "profiles" => {
                    let DeValue::Array(items) = value.get_ref() else {
                        return Err(at("profiles: expected a list, such as [\"linux-3.17\"]".into()));
                    };
                    for item in items {
                        let profile = as_text(item.get_ref()).and_then(|t| parse_profile(&t));
                        scenario.profiles.push(profile.map_err(|why| wrong(item.span(), why))?);
                    }
                }
                "flows" => scenario.flows = as_count(value.get_ref(), 1).map_err(at)?,
                "seed" => scenario.seed = as_count(value.get_ref(), 0).map_err(at)?,
                "settings" => {
                    let DeValue::Table(settings) = value.get_ref() else {
                        return Err(at("settings: expected a table".into()));
                    };
                    for (name, key, value) in flat(settings) {
                        let text = as_text(value.get_ref()).map_err(|why| wrong(value.span(), why))?;
                        let set = scenario.settings.set(&name, &text, &source.base);
                        set.map_err(|e| {
                            let unknown = matches!(e, SettingsError::UnknownKey { .. });
                            let span = if unknown { key.span() } else { value.span() };
                            wrong(span, e.to_string())
                        })?;
                        let line = source.line_of(&value.span());
                        scenario.origin.lines.insert(name, line);
                    }
                }
                word => {
                    let known = ["about", "profiles", "flows", "seed", "settings"];
                    let near = did_you_mean(word, known);
                    let why = format!("unknown key `{word}`: expected one of {}{near}", known.join(", "));
                    return Err(wrong(key.span(), why));
                }
            }
        }
        if scenario.profiles.is_empty() {
            scenario.profiles.push(Profile::default());
        }
        Ok(scenario)
    }
}

/// Checks the number of profiles.
pub(crate) fn check_profiles(profiles: &[Profile]) -> Result<(), String> {
    match profiles.len() {
        found if found > MOST_PROFILES => Err(format!("profiles: expected at most {MOST_PROFILES}, found {found}")),
        _ => Ok(()),
    }
}

/// The settings of a table with their names, keys and values. The settings of a nested table, which
/// `slp.p = 0.02` makes, are named by both keys.
fn flat<'a>(table: &'a DeTable<'a>) -> Vec<(String, &'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>)> {
    let mut all = Vec::new();
    for (key, value) in table {
        match value.get_ref() {
            DeValue::Table(inner) => all.extend(
                flat(inner)
                    .into_iter()
                    .map(|(name, key_of, value)| (format!("{}.{name}", key.get_ref()), key_of, value)),
            ),
            _ => all.push((key.get_ref().to_string(), key, value)),
        }
    }
    all
}

/// A string, number or truth value as the text of a setting.
pub(crate) fn as_text(value: &DeValue) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(n) => Ok(n.to_string()),
        DeValue::Float(n) => Ok(n.to_string()),
        DeValue::Boolean(b) => Ok(b.to_string()),
        other => Err(format!("expected text or a number, found {}", other.type_str())),
    }
}

fn as_count(value: &DeValue, least: u64) -> Result<u64, String> {
    as_text(value)?.parse().ok().filter(|n| *n >= least).ok_or_else(|| format!("expected a whole number from {least}"))
}

#[cfg(test)]
mod tests;
