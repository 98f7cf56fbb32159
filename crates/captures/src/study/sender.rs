//! Senders by profile, and how many of their retransmissions are explained.

use recoup_trace::finding::{Direction, Identification};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which profile a sender behaves like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Sender {
    /// This profile.
    Profile(String),
    /// Several profiles that explain equally many: their names joined by `|`, best first.
    Several(String),
    /// No profile explains even half.
    None,
    /// Unknown.
    Nothing,
}

impl Sender {
    /// The kind of identification, as in the table of connections.
    pub const fn identification(&self) -> &'static str {
        match self {
            Self::Profile(_) => "profile",
            Self::Several(_) => "several",
            Self::None => "none",
            Self::Nothing => "nothing",
        }
    }

    /// The profile, or the profiles that explain equally many.
    pub fn profile(&self) -> Option<&str> {
        match self {
            Self::Profile(names) | Self::Several(names) => Some(names),
            Self::None | Self::Nothing => None,
        }
    }

    /// The sender's kind in the study's tables, where all senders with several profiles are one kind.
    pub(super) fn kind(&self) -> Self {
        match self {
            Self::Several(_) => Self::Several(String::new()),
            other => other.clone(),
        }
    }

    /// [`profile`](Self::profile) by value.
    pub fn into_profile(self) -> Option<String> {
        self.profile().map(str::to_owned)
    }
}

impl From<&Identification> for Sender {
    fn from(found: &Identification) -> Self {
        match found {
            Identification::Profile(one) => Self::Profile(one.profile.clone()),
            Identification::Several(several) => {
                let names: Vec<&str> = several.iter().map(|e| &*e.profile).collect();
                Self::Several(names.join("|"))
            }
            Identification::None(_) => Self::None,
            Identification::Nothing => Self::Nothing,
        }
    }
}

impl fmt::Display for Sender {
    /// The kind's name in the study's tables: the profile's name, `several`, `none` or
    /// `unidentified`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Profile(name) => name,
            Self::Several(_) => "several",
            Self::None => "none",
            Self::Nothing => "unidentified",
        })
    }
}

/// How many retransmissions of some senders are explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// Ends of connections that retransmitted something.
    pub senders: u64,
    /// Their retransmissions.
    pub retransmissions: u64,
    /// Retransmissions that the best profile would have sent at that time and for that reason.
    pub explained: u64,
    /// Retransmissions that the best profile should explain.
    pub of: u64,
}

impl Explained {
    /// Of one sender.
    pub(super) fn of(direction: &Direction) -> Self {
        let (explained, of) = direction.profile.best().map_or((0, 0), |best| (best.explained, best.of));
        Self { senders: 1, retransmissions: direction.retransmissions.total(), explained, of }
    }
}

merge_fields!(Explained: senders, retransmissions, explained, of);
