//! The text of a scenario, and where it came from.

use super::{BUILT_IN, LONGEST_SCENARIO, ScenarioError};
use recoup_support::input;
use recoup_units::visible;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::DeTable;

/// A scenario's text, which may describe a pair of hosts or a world.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioText {
    /// A built-in scenario's name, or a file's without its ending.
    pub name: String,
    /// The file's name in errors.
    pub file: String,
    /// `None` for a built-in scenario and for standard input.
    pub path: Option<PathBuf>,
    /// The folder to which file names in the text are relative.
    pub base: PathBuf,
    text: String,
}

/// The file of a scenario, and the lines of its settings that were not changed since.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Origin {
    pub file: String,
    /// `None` for a built-in scenario and for standard input.
    pub path: Option<PathBuf>,
    pub lines: BTreeMap<String, usize>,
}

impl ScenarioText {
    /// The text of the scenario `name`: built in, a file (anything with a path separator or ending in .toml), or `-`
    /// for standard input.
    ///
    /// # Errors
    /// An unknown name, or an unreadable file.
    pub fn load(name: &str) -> Result<Self, ScenarioError> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
            let file = format!("scenarios/{name}.toml");
            return Ok(Self::new(name, &file, text, Path::new(".")));
        }
        let unreadable =
            |file: &str, e: std::io::Error| ScenarioError::Unreadable { file: file.into(), why: e.to_string() };
        if name == "-" {
            let file = "<standard input>";
            let text = input::read_text(std::io::stdin(), LONGEST_SCENARIO);
            let text = text.map_err(|e| unreadable(file, e))?;
            return Ok(Self::new("-", file, &text, Path::new(".")));
        }
        let path = Path::new(name);
        let is_file = name.contains(std::path::is_separator) || name.ends_with(".toml");
        if !is_file && !path.is_file() {
            return Err(ScenarioError::Unknown { name: name.into() });
        }
        let text = input::read_file(path, LONGEST_SCENARIO).map_err(|e| unreadable(name, e))?;
        let stem = path.file_stem();
        let stem = stem.map_or(name.into(), |stem| stem.to_string_lossy());
        let base = path.parent().unwrap_or(Path::new("."));
        Ok(Self { path: Some(path.into()), ..Self::new(&stem, name, &text, base) })
    }

    /// A text that errors call `file`. File names in it are relative to `base`.
    pub fn new(name: &str, file: &str, text: &str, base: &Path) -> Self {
        let [name, file] = [name, file].map(|text| visible(text).into_owned());
        Self { name, file, path: None, base: base.into(), text: text.into() }
    }

    /// The text as a table, which is not empty.
    ///
    /// # Errors
    /// A line that is not TOML.
    pub fn table(&self) -> Result<Spanned<DeTable<'_>>, ScenarioError> {
        let end = self.text.len();
        let table = DeTable::parse(&self.text).map_err(|e| {
            let why = e.message().replace('\n', ", ");
            self.wrong(e.span().unwrap_or(end..end), why)
        })?;
        if table.get_ref().is_empty() {
            let why = "the scenario is empty: expected profiles, flows, seed or [settings]; or [links.NAME] and [workloads.NAME]";
            return Err(self.wrong(0..0, why));
        }
        Ok(table)
    }

    /// The origin of a scenario of which no key has been set.
    pub fn origin(&self) -> Origin {
        Origin { file: self.file.clone(), path: self.path.clone(), lines: BTreeMap::new() }
    }

    /// The line, from 1, at which a part of the text begins.
    pub fn line_of(&self, span: &Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// An error in a part of the text.
    pub fn wrong(&self, span: Range<usize>, why: impl Into<String>) -> ScenarioError {
        ScenarioError::Wrong { file: self.file.clone(), line: self.line_of(&span), why: why.into() }
    }
}
