//! Where a script is wrong, and how that is told.

use std::fmt;

/// A place in a script: line and column, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A script that cannot be read, or asks for what there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{script}:{place}: {message}")]
pub struct ScriptError {
    /// The script's name.
    pub script: String,
    /// Where.
    pub place: Place,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// A [`ScriptError`] before it is known which script it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub place: Place,
    pub message: String,
}

impl Wrong {
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
        }
    }

    /// `word` is not one of `known` (`what`: what it should name).
    pub fn unknown<'a>(
        place: Place,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let near = did_you_mean(word, known.clone());
        let hint = if near.is_empty() {
            let known: Vec<&str> = known.into_iter().collect();
            format!(", expected one of: {}", known.join(", "))
        } else {
            near
        };
        Self::new(place, format!("unknown {what} `{word}`{hint}"))
    }

    pub fn in_script(self, script: &str) -> ScriptError {
        ScriptError {
            script: script.into(),
            place: self.place,
            // What is quoted of the script may span lines.
            message: self.message.replace(['\n', '\r'], " "),
        }
    }
}

/// `, did you mean `known`?` for the known word most like `word`; empty if none is like it.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known, 0.6).map_or(String::new(), |known| format!(", did you mean `{known}`?"))
}

/// The known word most like `word`, at least this much (0 to 1).
pub(crate) fn nearest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    least: f64,
) -> Option<&'a str> {
    // The distance takes time that grows with the product of lengths.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|known| {
            let like = strsim::normalized_damerau_levenshtein(&word, &known.to_lowercase());
            (like, known)
        })
        .filter(|(like, _)| *like >= least)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
