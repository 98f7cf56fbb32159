//! Why a capture cannot be read at all.

use super::{
    Ending, link,
    sniff::EMPTY,
    window::{InputEnd, Window},
};
use crate::finding::Inseparable;
use std::{io, time::Duration};
use thiserror::Error;

/// Why a capture cannot be read at all. Each message is one line.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The system cannot read it, or it cannot be decompressed.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// It is a directory.
    #[error("{file}: a directory: expected a capture file")]
    Directory {
        /// The file.
        file: String,
    },
    /// It is a pipe or another kind of stream, which cannot be looked at before it is read.
    #[error("{file}: expected a file, because joined captures are looked at before they are read")]
    NoFile {
        /// The stream.
        file: String,
    },
    /// It is the same capture as another one.
    #[error("{file}: the same packets as in {other}: expected each capture once")]
    Repeated {
        /// The file.
        file: String,
        /// The other one.
        other: String,
    },
    /// Another capture was written to it after it was looked at.
    #[error("{file}: overwritten while the captures were read")]
    Overwritten {
        /// The file.
        file: String,
    },
    /// It begins before the end of what was read earlier.
    #[error(
        "{file}: begins {:.1} s before the end of the captures that were read before: expected later packets",
        by.as_secs_f64()
    )]
    Early {
        /// The file.
        file: String,
        /// By how much.
        by: Duration,
    },
    /// It is no capture.
    #[error("{file}: {found}: expected a pcap or pcapng capture, plain or compressed by gzip or zstd")]
    Unknown {
        /// The file.
        file: String,
        /// The content found.
        found: &'static str,
    },
    /// It is a trace of QUIC.
    #[error("{file}: a qlog trace of QUIC, which only `recoup explain` reads: expected a pcap or pcapng capture")]
    Qlog {
        /// The file.
        file: String,
    },
    /// It ends before its first packet.
    #[error("{file}: the capture ends within its header")]
    Cut {
        /// The file.
        file: String,
    },
    /// Its header is invalid.
    #[error("{file}: {why}")]
    Header {
        /// The file.
        file: String,
        /// The header found, and the expected one.
        why: String,
    },
    /// It was recorded before that it cannot be read.
    #[error("{why}")]
    Recorded {
        /// The error message.
        why: String,
    },
    /// A record of the order of its packets is damaged.
    #[error("{file}: {what}: expected the packet times that were recorded of a capture")]
    Record {
        /// The file.
        file: String,
        /// The content found.
        what: String,
    },
    /// None of its frames has a supported link type.
    #[error("{file}: link type {link}: expected {}", link::KNOWN)]
    LinkType {
        /// The file.
        file: String,
        /// The link type.
        link: i32,
    },
    /// It is merged from captures of several points that cannot be told apart.
    #[error(
        "{file}: merged from captures of several points, which cannot be told apart: {}, frame {}: {}; analyze each capture by itself",
        first.endpoints, first.frame, first.why
    )]
    Merged {
        /// The file.
        file: String,
        /// The first connection that several points captured.
        first: Inseparable,
    },
}

impl ReadError {
    /// The error for a file without a byte.
    pub fn empty(file: &str) -> Self {
        Self::Unknown { file: file.into(), found: EMPTY }
    }

    /// The error for a trace of QUIC.
    pub(crate) fn qlog(file: &str) -> Self {
        Self::Qlog { file: file.into() }
    }

    /// The error for a file that begins with `found`, which is no capture.
    pub(super) fn beginning(file: String, found: &'static str, window: &mut Window<'_>) -> Self {
        match window.input_end() {
            Some(InputEnd::Failed(why)) => Self::Unreadable { file, source: io::Error::other(why.clone()) },
            Some(InputEnd::Cut) => Self::Cut { file },
            _ => Self::Unknown { file, found },
        }
    }
}

/// Error in the header of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// The input ended.
    Over(Ending),
    /// It is invalid: what was found, and what was expected.
    Damaged(String),
}

impl Header {
    /// The error if the header begins `file`.
    pub fn in_file(self, file: &str) -> ReadError {
        let file = file.to_owned();
        match self {
            Self::Over(Ending::Unreadable { why, .. }) => ReadError::Unreadable { file, source: io::Error::other(why) },
            Self::Over(_) => ReadError::Cut { file },
            Self::Damaged(why) => ReadError::Header { file, why },
        }
    }

    /// How reading ends if the header is at `offset`.
    pub fn ending(self, offset: u64) -> Ending {
        match self {
            Self::Over(ending) => ending,
            Self::Damaged(what) => Ending::Damaged { offset, what },
        }
    }
}
