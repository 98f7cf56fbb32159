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

pub(crate) use text::ScenarioText;

use crate::settings::{Settings, SettingsError};
use crate::world::{WorldScenario, is_world};
use recoup_recovery::Profile;
use recoup_support::profile::parse_profile;
use recoup_support::suggest::did_you_mean;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

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

    /// What it shows, in one line.
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
    /// What it shows.
    pub about: String,
    /// The profiles, each of which runs the same flows.
    pub profiles: Vec<Profile>,
    /// Flows per profile.
    pub flows: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// Path, traffic and hosts.
    pub settings: Settings,
    /// Where the settings come from, so that an error in their combination can name a line.
    origin: Origin,
}

/// The file of a scenario, and the lines of its settings that were not changed since.
#[derive(Clone, Debug, Default, PartialEq)]
struct Origin {
    file: String,
    /// `None` for a built-in scenario and for standard input.
    path: Option<PathBuf>,
    lines: BTreeMap<String, usize>,
}

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// Neither a built-in scenario nor a file.
    #[error("no scenario `{name}`: expected one of {}, a .toml file, or - for standard input{}",
        BUILT_IN.map(|(name, _)| name).join(", "), did_you_mean(name, BUILT_IN.map(|(name, _)| name)))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read the scenario {file}: {why}")]
    Unreadable {
        /// Which.
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
    /// Something in the file is wrong.
    #[error("{file}:{line}: {why}")]
    Wrong {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
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
    /// A loss rule that does not fit the flow's length.
    pub fn check(&self) -> Result<(), String> {
        let Err(e) = self.settings.path() else {
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
            origin: Origin { file: source.file.clone(), path: source.path.clone(), lines: BTreeMap::new() },
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
fn as_text(value: &DeValue) -> Result<String, String> {
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
mod tests {
    use super::*;
    use recoup_tcp::AckPolicy;
    use std::time::Duration;

    fn parse(text: &str) -> Result<Scenario, String> {
        Scenario::parse("x", "x.toml", text, Path::new(".")).map_err(|e| e.to_string())
    }

    #[test]
    fn built_in_scenarios_load_and_their_settings_fit_together() {
        for (name, _) in BUILT_IN {
            let found = Experiment::load(name).unwrap();
            assert!(!found.about().is_empty());
            match found {
                Experiment::Pair(scenario) => {
                    assert_eq!(scenario.name, name);
                    scenario.settings.path().unwrap();
                }
                Experiment::World(world) => assert_eq!(world.name, name),
            }
        }
    }

    #[test]
    fn tail_loss_is_set_where_probes_help() {
        let scenario = Scenario::load("tail-loss").unwrap();
        let names: Vec<_> = scenario.profiles.iter().map(Profile::name).collect();
        assert_eq!(names, ["linux-3.17", "linux-6", "linux-6+tlpr"]);
        let defaults = Settings {
            drop: "tail:1".parse().unwrap(),
            ack: AckPolicy::Delayed(Duration::from_millis(200)),
            ..Settings::default()
        };
        assert_eq!(scenario.settings, defaults);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, error) in [
            ("", "x.toml:1: the scenario is empty: expected profiles"),
            ("# nothing\n", "x.toml:1: the scenario is empty"),
            ("flows = 0", "x.toml:1: expected a whole number from 1"),
            (
                "\n\nflow = 1",
                "x.toml:3: unknown key `flow`: expected one of about, profiles, flows, seed, settings, did you mean `flows`?",
            ),
            ("profiles = \"linux-3.17\"", "x.toml:1: profiles: expected a list"),
            (
                "profiles = [\n\"linux-3.17\",\n\"linux-3.17+tpl\"]",
                "x.toml:3: unknown mechanism 'tpl', did you mean `tlp`?",
            ),
            ("seed = 1\n[settings]\nrtt = \"80\"", "x.toml:3: rtt: `80` is not a duration"),
            ("[settings]\nsegment = 3", "x.toml:2: unknown setting `segment`, did you mean `segments`?"),
            ("[settings]\nrtt = [1]", "x.toml:2: expected text or a number, found array"),
            ("seed = ", "x.toml:1: "),
            ("seed = 1\nseed = 2", "x.toml:2: "),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(error) && !found.contains('\n'), "{text}\n{found}");
        }
    }

    #[test]
    fn dotted_settings_may_be_written_as_toml_has_them() {
        for text in [
            "slp.p = 0.03\nslp.q = \"tail:1\"",
            "\"slp.p\" = \"3%\"\n\"slp.q\" = \"tail:1\"",
            "[settings.slp]\np = 0.03\nq = \"tail:1\"",
        ] {
            let settings = parse(&format!("[settings]\n{text}")).unwrap().settings;
            assert_eq!(settings.get("slp.p").unwrap(), "0.03");
            assert_eq!(settings.get("slp.q").unwrap(), "tail:1");
        }
        let error = parse("[settings]\nslp.r = 1").unwrap_err();
        assert!(error.starts_with("x.toml:2: unknown setting `slp.r`"), "{error}");
    }

    #[test]
    fn a_setting_that_does_not_fit_the_others_is_named_with_its_line() {
        let text = "[settings]\nsegments = 3\ndrop = \"tail:4\"";
        let mut scenario = parse(text).unwrap();
        let error = "drop: `tail:4`: the flow has only 3 data segments from server to client";
        assert_eq!(scenario.check(), Err(format!("x.toml:3: {error}")));
        scenario.set("drop", "tail:4").unwrap();
        assert_eq!(scenario.check(), Err(error.into()));
        scenario.set("segments", "4").unwrap();
        assert_eq!(scenario.check(), Ok(()));
    }

    #[test]
    fn a_scenario_file_that_is_too_long_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.toml");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(LONGEST_SCENARIO + 1).unwrap();
        let name = path.display().to_string();
        let error = Scenario::load(&name).unwrap_err().to_string();
        let why = "longer than 1 MiB, the most that is read";
        assert_eq!(error, format!("cannot read the scenario {name}: {why}"));
    }

    #[test]
    fn unknown_names_are_refused() {
        let error = |name: &str| Scenario::load(name).unwrap_err().to_string();
        assert!(error("tail-los").ends_with("did you mean `tail-loss`?"));
        assert!(error("no/such.toml").starts_with("cannot read the scenario no/such.toml"));
    }
}
