//! Why a capture cannot be read at all.

use super::window::{Over, Window};
use super::{Ending, link};
use std::io;
use thiserror::Error;

/// Why a capture cannot be read at all: a line each.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The system cannot read it, or it cannot be unpacked.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// Which file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is a directory.
    #[error("{file}: a directory: expected a capture file")]
    Directory {
        /// Which file.
        file: String,
    },
    /// It is something else.
    #[error(
        "{file}: {found}: expected a capture as pcap or pcapng, plain or compressed by gzip or zstd"
    )]
    Unknown {
        /// Which file.
        file: String,
        /// What it is instead.
        found: &'static str,
    },
    /// It ends before its first packet could stand.
    #[error("{file}: the capture ends within its header")]
    Cut {
        /// Which file.
        file: String,
    },
    /// Its header makes no sense.
    #[error("{file}: {why}")]
    Header {
        /// Which file.
        file: String,
        /// What is wrong, and what was expected.
        why: String,
    },
    /// All of its frames are of a link type that is not read.
    #[error("{file}: link type {link}: expected {}", link::KNOWN)]
    LinkType {
        /// Which file.
        file: String,
        /// The link type.
        link: i32,
    },
}

impl ReadError {
    /// For a file that begins with something else, `found`.
    pub(super) fn beginning(file: String, found: &'static str, window: &mut Window<'_>) -> Self {
        match window.over() {
            Some(Over::Failed(why)) => Self::Unreadable {
                file,
                source: io::Error::other(why.clone()),
            },
            Some(Over::Cut) => Self::Cut { file },
            _ => Self::Unknown { file, found },
        }
    }
}

/// What is wrong with the header of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// The input is over.
    Over(Ending),
    /// It makes no sense: what is wrong, and what was expected.
    Damaged(String),
}

impl Header {
    /// At the start of `file`.
    pub fn in_file(self, file: &str) -> ReadError {
        let file = file.to_owned();
        match self {
            Self::Over(Ending::Unreadable { why, .. }) => ReadError::Unreadable {
                file,
                source: io::Error::other(why),
            },
            Self::Over(_) => ReadError::Cut { file },
            Self::Damaged(why) => ReadError::Header { file, why },
        }
    }

    /// Further on, at `offset`.
    pub fn ending(self, offset: u64) -> Ending {
        match self {
            Self::Over(ending) => ending,
            Self::Damaged(what) => Ending::Damaged { offset, what },
        }
    }
}
