//! Diagrams of files: the event stream of `recoup run --events`, or a packet capture. The first bytes
//! decide which of the two a file is.

use super::{capture, event_stream};
use crate::suggest::did_you_mean;
use recoup_draw::sequence::Panel;
use recoup_trace::read::ReadError;
use recoup_units::Direction;
use std::io::{self, BufReader, Cursor, Read};
use thiserror::Error;

/// Which part of a file to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The profile of an event stream; `None`: all profiles, one panel each.
    pub profile: Option<String>,
    /// The flow of an event stream; `None`: the only flow.
    pub flow: Option<u64>,
    /// The connection of a capture, counted from 0 in the order of their first packets; `None`: the
    /// only connection with data.
    pub connection: Option<usize>,
    /// The direction whose data to draw; `None`: the direction with more data.
    pub direction: Option<Direction>,
}

/// The panels read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// A title for the diagram.
    pub title: String,
    /// One panel per profile of an event stream; one panel for a connection.
    pub panels: Vec<Panel>,
    /// Notes for the user, such as what could not be read.
    pub notes: Vec<String>,
}

/// Why a file cannot be drawn.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The operating system cannot read the file.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The file's name.
        file: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is neither an event stream nor a capture.
    #[error(
        "{file}: {found}: expected the JSON lines of `recoup run --events`, or a capture as pcap or pcapng"
    )]
    Unknown {
        /// The file's name.
        file: String,
        /// What was found instead.
        found: &'static str,
    },
    /// The file is compressed.
    #[error(
        "{file}: the file is compressed: unpack it first, as with `{unpack} FILE | recoup plot -`"
    )]
    Compressed {
        /// The file's name.
        file: String,
        /// The command that unpacks this compression format to standard output.
        unpack: &'static str,
    },
    /// A line of an event stream is invalid.
    #[error("{file}:{line}: {why}")]
    Line {
        /// The file's name.
        file: String,
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong, and what was expected.
        why: String,
    },
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(ReadError),
    /// The file does not have what was chosen, or there are several to choose from.
    #[error("{file}: {why}")]
    Choice {
        /// The file's name.
        file: String,
        /// What the file has.
        why: String,
        /// The choices, one per line, if there are more than fit into `why`.
        list: Vec<String>,
    },
}

/// The kind of a file, found by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Events,
    Capture,
    /// A compressed file, with the command that unpacks it.
    Compressed(&'static str),
}

/// The number of bytes at the start of a file that decide its kind.
const HEAD: u64 = 64;

impl Kind {
    /// The kind of a file that begins with `head`, or a description of an unknown one.
    fn of(head: &[u8]) -> Result<Self, &'static str> {
        // Classic pcap in both byte orders (microseconds, nanoseconds, the modified format), and
        // the section header of pcapng (draft-ietf-opsawg-pcap §4, -pcapng §4.1).
        const PCAP: [u32; 3] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];
        const PCAPNG: u32 = 0x0a0d_0d0a;
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let mut text = text.iter().skip_while(|byte| byte.is_ascii_whitespace());
        let word = head.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        match word {
            Some(word) if PCAP.contains(&word) || PCAP.contains(&word.swap_bytes()) => {
                Ok(Self::Capture)
            }
            Some(PCAPNG) => Ok(Self::Capture),
            _ if head.starts_with(&[0x1f, 0x8b]) => Ok(Self::Compressed("zcat")),
            _ if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => Ok(Self::Compressed("zstdcat")),
            _ if head.starts_with(b"\xfd7zXZ") => Ok(Self::Compressed("xzcat")),
            _ => match text.next() {
                Some(b'{') => Ok(Self::Events),
                Some(_) => Err("neither events nor a capture"),
                None => Err("the file is empty"),
            },
        }
    }
}

/// Reads the panels to draw from `input`; errors name it `file`.
///
/// # Errors
/// When the file cannot be read or is invalid, or when `choice` does not fit it.
pub fn read(
    file: &str,
    mut input: impl Read + Send,
    choice: &Choice,
) -> Result<Source, SourceError> {
    let unreadable = |source| SourceError::Unreadable {
        file: file.into(),
        source,
    };
    let mut head = Vec::new();
    let beginning = (&mut input).take(HEAD).read_to_end(&mut head);
    beginning.map_err(unreadable)?;
    let kind = Kind::of(&head).map_err(|found| SourceError::Unknown {
        file: file.into(),
        found,
    })?;
    let input = Cursor::new(head).chain(input);
    let out_of_place = |option: &str, instead: &str| SourceError::Choice {
        file: file.into(),
        why: format!("--{option} is for {instead}"),
        list: vec![],
    };
    match kind {
        Kind::Compressed(unpack) => Err(SourceError::Compressed {
            file: file.into(),
            unpack,
        }),
        Kind::Events if choice.connection.is_some() => Err(out_of_place(
            "connection",
            "captures; an event stream has --profile and --flow",
        )),
        Kind::Capture if choice.flow.is_some() => Err(out_of_place(
            "flow",
            "event streams; a capture has --connection",
        )),
        Kind::Capture if choice.profile.is_some() => Err(out_of_place(
            "profile",
            "event streams; a capture has --connection",
        )),
        Kind::Events => event_stream::read(file, BufReader::new(input), choice),
        Kind::Capture => capture::read(file, input, choice),
    }
}

/// The direction to draw: the one chosen, or the one with more data; `bytes` are those up and down.
pub(super) fn direction(choice: &Choice, bytes: [u64; 2]) -> Direction {
    choice.direction.unwrap_or(if bytes[0] > bytes[1] {
        Direction::Up
    } else {
        Direction::Down
    })
}

/// The error text for a `word` that is not in `known`.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let near = did_you_mean(word, known.iter().copied());
    format!(
        "no {what} `{word}`: expected one of {}{near}",
        known.join(", ")
    )
}
