//! Errors of scripts, with their places.

use std::fmt;

/// A place in a script: line and column, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A script cannot be parsed, or asks for something that is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{script}:{place}: {message}")]
pub struct ScriptError {
    /// The script's name.
    pub script: String,
    /// The place of the error.
    pub place: Place,
    /// The problem, and the expected input.
    pub message: String,
}

/// A [`ScriptError`] without the script's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub place: Place,
    pub message: String,
}

impl Wrong {
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    /// The error for a `word` that is not in `known`; `what` is what it should name.
    pub fn unknown<'a>(place: Place, what: &str, word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Self {
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
            // Quotations of the script may span lines.
            message: self.message.replace(['\n', '\r'], " "),
        }
    }
}

/// Fails with `message` at `place`.
pub(crate) fn wrong<T, E: From<Wrong>>(place: Place, message: impl Into<String>) -> Result<T, E> {
    Err(Wrong::new(place, message).into())
}

/// `, did you mean `known`?` with the known word most similar to `word`; empty if none is similar.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known, 0.6).map_or(String::new(), |known| format!(", did you mean `{known}`?"))
}

/// The known word most similar to `word`, with at least this similarity (0 to 1).
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, least: f64) -> Option<&'a str> {
    // The time to compute similarity grows with the product of the lengths.
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
