//! Errors in a list of loss rules.

use recoup_units::Direction;
use thiserror::Error;

use super::grammar::{KINDS, MOST_RULES};

/// A loss rule that cannot be read, or that does not fit the flow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DropRulesError {
    /// A rule is missing between commas, or the list is empty.
    #[error("`{list}`: a loss rule is missing: expected one such as data:3, or none")]
    Missing {
        /// The whole list.
        list: String,
    },
    /// There are too many rules.
    #[error("expected at most {MOST_RULES} loss rules, found {found}")]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// An unknown kind of loss.
    #[error("`{rule}`: unknown kind of loss `{word}`: expected {}, after up: or down: if any (3 % at random: bernoulli:3%)", KINDS.join(", "))]
    UnknownKind {
        /// The rule.
        rule: String,
        /// The unknown word.
        word: String,
    },
    /// An unknown name of a value.
    #[error("`{rule}`: unknown parameter `{word}`: expected {}", known.join(" or "))]
    UnknownParameter {
        /// The rule.
        rule: String,
        /// The unknown word.
        word: String,
        /// The names that the rule knows.
        known: &'static [&'static str],
    },
    /// The values after the kind do not fit it.
    #[error("`{rule}`: expected {expected}")]
    Malformed {
        /// The rule.
        rule: String,
        /// The form a rule of this kind has.
        expected: &'static str,
    },
    /// Not a probability.
    #[error("`{rule}`: `{text}` is not a probability: expected a number from 0 to 1, or 0% to 100%")]
    NotAProbability {
        /// The rule.
        rule: String,
        /// The text in its place.
        text: String,
    },
    /// A tail of a flow whose length is unknown.
    #[error("`{rule}`: the number of data segments of the flow is not known, so neither is its tail: expected data:K")]
    UnknownLength {
        /// The rule.
        rule: String,
    },
    /// A rule names data segments beyond the end of the flow.
    #[error("`{rule}`: the flow has only {segments} data segments {}", description(*direction))]
    BeyondFlow {
        /// The rule.
        rule: String,
        /// The direction it applies to.
        direction: Direction,
        /// How many data segments there are in that direction.
        segments: u64,
    },
}

impl DropRulesError {
    /// The unknown word and the words expected in its place, to suggest a near match.
    pub fn unknown(&self) -> Option<(&str, &'static [&'static str])> {
        match self {
            Self::UnknownKind { word, .. } => Some((word, KINDS)),
            Self::UnknownParameter { word, known, .. } => Some((word, known)),
            _ => None,
        }
    }
}

const fn description(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "from client to server",
        Direction::Down => "from server to client",
    }
}
