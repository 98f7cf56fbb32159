//! Diagrams of files: the event stream of `recoup run --events`, or a packet capture. Which of the
//! two a file is, its first bytes tell.

use super::{capture, lines};
use crate::suggest::did_you_mean;
use recoup_draw::sequence::Panel;
use recoup_trace::read::ReadError;
use recoup_units::Direction;
use std::io::{self, BufReader, Cursor, Read};
use thiserror::Error;

/// Which part of a file is to be drawn, as far as that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Of an event stream: the profile; else all, a panel each.
    pub profile: Option<String>,
    /// Of an event stream: the flow; else the only one.
    pub flow: Option<u64>,
    /// Of a capture: the connection, counted from 0 in the order of their first packets; else the
    /// only one with data.
    pub connection: Option<usize>,
    /// The direction whose data is drawn; else the one with more data.
    pub direction: Option<Direction>,
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// What it is, in a few words.
    pub title: String,
    /// One for each profile; one for a connection.
    pub panels: Vec<Panel>,
    /// What the user should know: what could not be read.
    pub notes: Vec<String>,
}

/// Why a file cannot be drawn.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The system cannot read it.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// Which file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is none of the files that can be drawn.
    #[error(
        "{file}: {found}: expected the JSON lines of `recoup run --events`, or a capture as pcap or pcapng"
    )]
    Unknown {
        /// Which file.
        file: String,
        /// What it is instead.
        found: &'static str,
    },
    /// It is compressed.
    #[error(
        "{file}: the file is compressed: expected it unpacked, as by `{unpack} FILE | recoup plot -`"
    )]
    Compressed {
        /// Which file.
        file: String,
        /// The command that unpacks such files to standard output.
        unpack: &'static str,
    },
    /// A line of an event stream is wrong.
    #[error("{file}:{line}: {why}")]
    Line {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: u64,
        /// What is wrong, and what was expected.
        why: String,
    },
    /// Nothing of a capture can be read.
    #[error(transparent)]
    Capture(ReadError),
    /// What was chosen is not there, or nothing was chosen where there is more than one.
    #[error("{file}: {why}")]
    Choice {
        /// Which file.
        file: String,
        /// What is there.
        why: String,
        /// What there is to choose from, a line each, where that is more than fits here.
        list: Vec<String>,
    },
}

/// The kinds of files, by how they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Events,
    Capture,
    /// To be unpacked by this command.
    Compressed(&'static str),
}

/// How much of a file tells its kind.
const HEAD: u64 = 64;

impl Kind {
    /// The kind of a file that begins with `head`, or what it is instead.
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

/// Reads what is to be drawn from `input`, which messages call `file`.
///
/// # Errors
/// A file that cannot be read or is wrong somewhere, or a choice that does not fit it.
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
        Kind::Events => lines::read(file, BufReader::new(input), choice),
        Kind::Capture => capture::read(file, input, choice),
    }
}

/// The direction to draw: the one chosen, or the one with more data; `volumes` are up and down.
pub(super) fn direction(choice: &Choice, volumes: [u64; 2]) -> Direction {
    choice.direction.unwrap_or(if volumes[0] > volumes[1] {
        Direction::Up
    } else {
        Direction::Down
    })
}

/// `word` is none of `known`.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let near = did_you_mean(word, known.iter().copied());
    format!(
        "no {what} `{word}`: expected one of {}{near}",
        known.join(", ")
    )
}
