//! Diagrams of files: the event stream of `recoup run --events`, or a packet capture. The first bytes
//! decide which of the two a file is.

use super::{capture, event_stream};
use crate::analysis::AnalysisError;
use crate::capture::{Capture, Progress, Unwatched};
use recoup_draw::sequence::{Diagram, Panel, SequenceScale};
use recoup_support::suggest::did_you_mean;
use recoup_trace::analyze::Settings;
use recoup_trace::read::{ReadError, Reader};
use recoup_units::Direction;
use std::io::{self, BufReader, Cursor, Read};
use std::net::SocketAddr;
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
    pub connection: Option<u64>,
    /// The directions whose data to draw.
    pub directions: Directions,
}

/// Directions to draw, a panel each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// Those with data or retransmissions, and those with more of either first. Of several profiles,
    /// [`Main`](Self::Main).
    #[default]
    All,
    /// The one with more retransmissions in a capture, or else the one with more data.
    Main,
    /// Both, whether they have data or not.
    Both,
    /// This one.
    Only(Direction),
}

/// The panels read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// A title for the diagram.
    pub title: String,
    /// One panel per profile of an event stream; one per direction of a connection or of the only
    /// profile.
    pub panels: Vec<Panel>,
    /// The sender of each panel's data, of a connection of a capture.
    pub senders: Vec<SocketAddr>,
    /// Whether the panels share the scale of sequence numbers.
    pub scale: SequenceScale,
    /// Notes for the user, such as what could not be read.
    pub notes: Vec<String>,
}

impl Source {
    /// The diagram of everything that was read.
    pub fn into_diagram(self) -> Diagram {
        Diagram { title: self.title, panels: self.panels, scale: self.scale, ..Diagram::default() }
    }
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
    #[error("{file}: {found}: expected the JSON lines of `recoup run --events`, or a capture as pcap or pcapng")]
    Unknown {
        /// The file's name.
        file: String,
        /// Description of its first bytes.
        found: &'static str,
    },
    /// The file is compressed in a format that is not read.
    #[error("{file}: the file is compressed with xz: unpack it first, as with `xzcat FILE | recoup plot -`")]
    Compressed {
        /// The file's name.
        file: String,
    },
    /// A line of an event stream is invalid.
    #[error("{file}:{line}: {why}")]
    Line {
        /// The file's name.
        file: String,
        /// The number of the line, from 1.
        line: u64,
        /// The error, and the expected form.
        why: String,
    },
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(ReadError),
    /// Nothing in the capture can be analyzed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// The file does not have what was chosen, or there are several to choose from.
    #[error("{file}: {why}")]
    Choice {
        /// The file's name.
        file: String,
        /// The profiles, flows or connections of the file.
        why: String,
        /// The choices, one per line, if there are more than fit into `why`.
        list: Vec<String>,
        /// Notes for the user, such as what could not be read.
        notes: Vec<String>,
    },
}

/// The kind of a file, found by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An event stream.
    Events,
    /// A capture, which may be compressed.
    Capture,
}

/// The number of bytes at the start of a file that decide its kind.
const HEAD: u64 = 64;

impl Kind {
    /// The kind of the file, which begins with `head`.
    fn of(file: &str, head: &[u8]) -> Result<Self, SourceError> {
        let file = || file.to_owned();
        let unknown = |found| {
            let file = file();
            Err(SourceError::Unknown { file, found })
        };
        // Classic pcap in both byte orders (microseconds, nanoseconds, the modified format), and
        // the section header of pcapng (draft-ietf-opsawg-pcap §4, -pcapng §4.1).
        const PCAP: [u32; 3] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];
        const PCAPNG: u32 = 0x0a0d_0d0a;
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let mut text = text.iter().skip_while(|byte| byte.is_ascii_whitespace());
        let word = head.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        match word {
            Some(word) if PCAP.contains(&word) || PCAP.contains(&word.swap_bytes()) => Ok(Self::Capture),
            Some(PCAPNG) => Ok(Self::Capture),
            // gzip (RFC 1952 §2.3.1) and zstd (RFC 8878 §3.1.1): only captures may be compressed.
            _ if head.starts_with(&[0x1f, 0x8b]) => Ok(Self::Capture),
            _ if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => Ok(Self::Capture),
            _ if head.starts_with(b"\xfd7zXZ") => Err(SourceError::Compressed { file: file() }),
            _ => match text.next() {
                Some(b'{') => Ok(Self::Events),
                Some(_) => unknown("neither events nor a capture"),
                None => unknown("the file is empty"),
            },
        }
    }

    /// Finds the kind of the file by reading its beginning from `input`. Returns it with an input that
    /// begins at the beginning.
    ///
    /// # Errors
    /// When the file cannot be read, or is of no kind.
    pub fn sniff<R: Read>(file: &str, mut input: R) -> Result<(Self, impl Read + use<R>), SourceError> {
        let mut head = Vec::new();
        let beginning = (&mut input).take(HEAD).read_to_end(&mut head);
        beginning.map_err(|source| SourceError::Unreadable { file: file.into(), source })?;
        let kind = Self::of(file, &head)?;
        Ok((kind, Cursor::new(head).chain(input)))
    }
}

/// Reads the panels to draw from `input`, which is read once, to its end; errors name it `file`. A
/// capture is analyzed with the usual settings, on this thread.
///
/// # Errors
/// When the file cannot be read or is invalid, or when `choice` does not fit it.
pub fn read(file: &str, input: impl Read + Send, choice: &Choice) -> Result<Source, SourceError> {
    let settings = Settings { threads: 0, ..Settings::default() };
    read_with(file, input, choice, &settings, &Unwatched)
}

/// Reads the panels with these settings, as long as `progress` is not stopped.
///
/// # Errors
/// Those of [`read`].
pub fn read_with(
    file: &str,
    input: impl Read + Send,
    choice: &Choice,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Source, SourceError> {
    let (kind, input) = Kind::sniff(file, input)?;
    choice.check(file, kind)?;
    match kind {
        Kind::Events => event_stream::read(file, BufReader::new(input), choice),
        Kind::Capture => capture::draw(Capture::stream(file, Reader::new(file, input)?), choice, settings, progress),
    }
}

impl Choice {
    /// Checks that only options are given that a file of this kind has.
    ///
    /// # Errors
    /// An option of another kind of file.
    pub fn check(&self, file: &str, kind: Kind) -> Result<(), SourceError> {
        let wrong = match kind {
            Kind::Events if self.connection.is_some() => {
                "--connection is for captures; an event stream has --profile and --flow"
            }
            Kind::Capture if self.flow.is_some() => "--flow is for event streams; a capture has --connection",
            Kind::Capture if self.profile.is_some() => "--profile is for event streams; a capture has --connection",
            _ => return Ok(()),
        };
        Err(SourceError::Choice { file: file.into(), why: wrong.into(), list: vec![], notes: vec![] })
    }
}

/// The error text for a `word` that is not in `known`.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let near = did_you_mean(word, known.iter().copied());
    format!("no {what} `{word}`: expected one of {}{near}", known.join(", "))
}
