//! Reads worlds from TOML.

use super::{WorldScenario, keys};
use crate::scenario::{ScenarioError, ScenarioText, as_text};
use recoup_recovery::Profile;
use recoup_support::profile::parse_profile;
use recoup_support::suggest::did_you_mean;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::de::{DeTable, DeValue};

impl WorldScenario {
    /// Reads a world.
    ///
    /// # Errors
    /// A mistake, with its line.
    pub(crate) fn read(source: &ScenarioText, table: &DeTable<'_>) -> Result<Self, ScenarioError> {
        let mut world = Self {
            name: source.name.clone(),
            about: String::new(),
            profiles: Vec::new(),
            seed: 1,
            runs: 1,
            duration: Duration::from_secs(60),
            links: Vec::new(),
            workloads: Vec::new(),
            origin: source.origin(),
        };
        for (key, value) in in_order(table) {
            let wrong = |span, why| source.wrong(span, why);
            match (key.as_str(), &value.0) {
                ("about", Value::Text(text)) => world.about.clone_from(text),
                ("profiles", Value::List(items)) => {
                    for (item, span) in items {
                        let profile = parse_profile(item).map_err(|e| wrong(span.clone(), e))?;
                        world.profiles.push(profile);
                    }
                }
                (key, found) => {
                    let text = found.text(key).map_err(|e| wrong(value.1.clone(), e))?;
                    keys::set(&mut world, key, &text, &source.base, true).map_err(|why| {
                        let why = match key.contains('.') {
                            true => format!("{key}: {why}"),
                            false => why,
                        };
                        wrong(value.1.clone(), why)
                    })?;
                    let line = source.line_of(&value.1);
                    world.origin.lines.insert(key.into(), line);
                }
            }
        }
        if world.profiles.is_empty() {
            world.profiles.push(Profile::default());
        }
        world.check().map_err(|(key, why)| {
            let line = world.line(&key);
            let file = source.file.clone();
            ScenarioError::Wrong { file, line, why }
        })?;
        Ok(world)
    }

    /// Sets a key, such as `links.bottleneck.queue`, to what `text` says.
    ///
    /// # Errors
    /// An unknown key, with the most similar one; a value that does not fit. The world stays as it was.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let mut changed = self.clone();
        keys::set(&mut changed, key.trim(), text.trim(), Path::new(""), false)
            .map_err(|why| format!("{}: {why}", key.trim()))?;
        changed.origin.lines.remove(key.trim());
        changed.check().map_err(|(_, why)| why)?;
        *self = changed;
        Ok(())
    }

    /// The line of a key, or of the first key below it; 1 if it is not in the file.
    fn line(&self, key: &str) -> usize {
        let lines = &self.origin.lines;
        let below = || {
            let below = lines.iter().filter(|(known, _)| known.starts_with(key));
            below.map(|(_, line)| *line).min()
        };
        lines.get(key).copied().or_else(below).unwrap_or(1)
    }
}

/// A value of a key.
enum Value {
    Text(String),
    List(Vec<(String, Range<usize>)>),
    Other(&'static str),
}

impl Value {
    fn text(&self, key: &str) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::List(items) if key.ends_with(".between") => {
                let items: Vec<&str> = items.iter().map(|(item, _)| item.as_str()).collect();
                Ok(items.join(","))
            }
            Self::List(_) => Err(format!("{key}: expected text or a number, found a list")),
            Self::Other(kind) => Err(format!("{key}: expected text or a number, found {kind}")),
        }
    }
}

/// Keys with their values and places, tables within tables joined by dots, in the order of the file.
fn in_order(table: &DeTable) -> Vec<(String, (Value, Range<usize>))> {
    let mut all = Vec::new();
    flatten(table, "", &mut all);
    all.sort_by_key(|(_, (_, span))| span.start);
    all
}

fn flatten(table: &DeTable, prefix: &str, all: &mut Vec<(String, (Value, Range<usize>))>) {
    for (key, value) in table {
        let key_text = format!("{prefix}{}", key.get_ref());
        let found = match value.get_ref() {
            DeValue::Table(inner) if inner.is_empty() => Value::Other("an empty table"),
            DeValue::Table(inner) => {
                flatten(inner, &format!("{key_text}."), all);
                continue;
            }
            DeValue::Array(items) => {
                let items = items.iter().map(|item| Some((as_text(item.get_ref()).ok()?, item.span())));
                match items.collect() {
                    Some(items) => Value::List(items),
                    None => Value::Other("a list of lists or tables"),
                }
            }
            other => as_text(other).map_or(Value::Other(other.type_str()), Value::Text),
        };
        let span = match found {
            Value::Other(_) => key.span(),
            _ => value.span(),
        };
        all.push((key_text, (found, span)));
    }
}

/// Whether a scenario's text describes a world: it has links or workloads.
pub(crate) fn is_world(table: &DeTable) -> bool {
    let keys = || table.keys().map(|key| key.get_ref().as_ref());
    keys().any(|key| key == "links" || key == "workloads")
        || keys().any(|key| !did_you_mean(key, ["links", "workloads"]).is_empty() && key != "flows")
}
