//! What is wrong with a list of loss rules.

use recoup_units::Direction;
use thiserror::Error;

use super::grammar::{KINDS, PARAMETERS};

/// A loss rule that cannot be read, or that does not fit the flow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DropRulesError {
    /// Nothing where a rule should be.
    #[error("`{list}`: a loss rule is missing: expected one such as data:3, or none")]
    Missing {
        /// The whole list.
        list: String,
    },
    /// A kind of loss nobody knows.
    #[error("`{rule}`: unknown kind of loss `{word}`: expected {}, after up: or down: if any", KINDS.join(", "))]
    UnknownKind {
        /// The rule.
        rule: String,
        /// The word that is not known.
        word: String,
    },
    /// A named value nobody knows.
    #[error("`{rule}`: unknown parameter `{word}`: expected {}", PARAMETERS.join(" or "))]
    UnknownParameter {
        /// The rule.
        rule: String,
        /// The word that is not known.
        word: String,
    },
    /// What follows the kind is not what it takes.
    #[error("`{rule}`: expected {expected}")]
    Malformed {
        /// The rule.
        rule: String,
        /// What it should look like.
        expected: &'static str,
    },
    /// Not a probability.
    #[error(
        "`{rule}`: `{text}` is not a probability: expected a number from 0 to 1, or 0% to 100%"
    )]
    NotAProbability {
        /// The rule.
        rule: String,
        /// What stands in its place.
        text: String,
    },
    /// A tail whose flow's length nobody knows.
    #[error(
        "`{rule}`: the number of data segments of the flow is not known, so neither is its tail: expected data:K"
    )]
    UnknownLength {
        /// The rule.
        rule: String,
    },
    /// More data segments than the flow has.
    #[error("`{rule}`: the flow has only {segments} data segments {}", way(*direction))]
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
    /// The unknown word and the words known in its place, to suggest a near match.
    pub fn unknown(&self) -> Option<(&str, &'static [&'static str])> {
        match self {
            Self::UnknownKind { word, .. } => Some((word, KINDS)),
            Self::UnknownParameter { word, .. } => Some((word, PARAMETERS)),
            _ => None,
        }
    }
}

const fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "from client to server",
        Direction::Down => "from server to client",
    }
}
