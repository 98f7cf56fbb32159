//! Whose behaviour a sender's retransmissions are, and how much of it is explained.

use crate::finding::{Direction, Identification};
use std::fmt;

/// Whose behaviour a sender's is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// A profile's, unambiguously.
    Profile(String),
    /// Several explain as much: their names joined by `|`, best first.
    Ambiguous(String),
    /// None explains even half.
    None,
    /// Nothing tells.
    Nothing,
}

impl Sender {
    /// The kind of identification, as in the columns of connections.
    pub const fn identification(&self) -> &'static str {
        match self {
            Self::Profile(_) => "profile",
            Self::Ambiguous(_) => "ambiguous",
            Self::None => "none",
            Self::Nothing => "nothing",
        }
    }

    /// The profile, or those that explain as much.
    pub fn profile(&self) -> Option<&str> {
        match self {
            Self::Profile(names) | Self::Ambiguous(names) => Some(names),
            Self::None | Self::Nothing => None,
        }
    }

    /// The kind of senders it is one of in the study's tables: those that are ambiguous are one kind.
    pub(super) fn kind(&self) -> Self {
        match self {
            Self::Ambiguous(_) => Self::Ambiguous(String::new()),
            other => other.clone(),
        }
    }

    /// The profile, or those that explain as much, taken out of it.
    pub fn into_profile(self) -> Option<String> {
        match self {
            Self::Profile(names) | Self::Ambiguous(names) => Some(names),
            Self::None | Self::Nothing => None,
        }
    }
}

impl From<&Identification> for Sender {
    fn from(found: &Identification) -> Self {
        match found {
            Identification::Profile(one) => Self::Profile(one.profile.clone()),
            Identification::Ambiguous(several) => {
                let names: Vec<&str> = several.iter().map(|e| &*e.profile).collect();
                Self::Ambiguous(names.join("|"))
            }
            Identification::None(_) => Self::None,
            Identification::Nothing => Self::Nothing,
        }
    }
}

impl fmt::Display for Sender {
    /// The kind's name in the study's tables: the profile's, `ambiguous`, `none` or
    /// `unidentified`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Profile(name) => name,
            Self::Ambiguous(_) => "ambiguous",
            Self::None => "none",
            Self::Nothing => "unidentified",
        })
    }
}

/// How much of what senders sent again is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// Ends of connections that sent something again.
    pub senders: u64,
    /// What they sent again.
    pub retransmissions: u64,
    /// Sent when and because the best profile would have.
    pub explained: u64,
    /// Put to it.
    pub of: u64,
}

impl Explained {
    /// One sender.
    pub(super) fn of(direction: &Direction) -> Self {
        let best = direction.profile.best();
        Self {
            senders: 1,
            retransmissions: direction.retransmissions.total(),
            explained: best.map_or(0, |best| best.explained),
            of: best.map_or(0, |best| best.of),
        }
    }

    /// Takes in others.
    pub fn merge(&mut self, other: &Self) {
        self.senders += other.senders;
        self.retransmissions += other.retransmissions;
        self.explained += other.explained;
        self.of += other.of;
    }
}
