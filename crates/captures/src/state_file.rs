//! The file of `recoup analyze --state`: an analysis that later captures continue.
//!
//! ```text
//! magic, 8 bytes │ versions │ origin │ parts of the state, zstd-compressed │ XXH3 of all before, 8 bytes
//! ```
//!
//! Versions, origin and parts are [postcard](https://postcard.jamesmunns.com) values. A file is decoded
//! only after its checksum was compared, so that damage is never taken for a state. At most 4 GB are
//! decompressed. Magic, versions and checksum stay as they are in later formats: a file of another version
//! can always be recognized.

mod checksum;

use crate::time_window::arguments;
use checksum::ChecksumWriter;
use recoup_support::output_file::{OutputError, OutputFile};
use recoup_support::quantity::format_duration;
use recoup_trace::analyze::TimeWindow;
use recoup_units::visible;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, IntoInnerError, Read, Seek, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// How every state file begins. The first byte is no text, and the last ones show whether line ends were
/// converted.
const MAGIC: [u8; 8] = *b"\x89RCPST\r\n";

/// The version of everything that lab writes into the file.
const FORMAT: u32 = 1;

/// The length of the checksum.
const CHECKSUM: u64 = 8;

/// The most bytes that are decompressed.
const MOST_BYTES: u64 = 4 << 30;

/// The longest text in a state.
const LONGEST_TEXT: usize = 1 << 16;

/// zstd's fastest usual level.
const LEVEL: i32 = 1;

/// Which Recoup wrote a state. A state is continued by the same version only: another one may keep
/// something else, or explain a retransmission in another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Versions {
    /// Of [`FORMAT`], and of the analysis.
    layout: [u32; 2],
    recoup: String,
}

impl Versions {
    fn current(analysis: u32) -> Self {
        Self { layout: [FORMAT, analysis], recoup: env!("CARGO_PKG_VERSION").into() }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [format, analysis] = self.layout;
        write!(f, "Recoup {} (format {format}.{analysis})", self.recoup)
    }
}

/// The view and settings of a state. Only captures analyzed alike continue it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The view, such as `--summary`.
    pub view: String,
    /// The profile of all senders; `None`: the best of the known profiles for each.
    pub profile: Option<String>,
    /// A connection that is silent for longer is over.
    pub idle: Duration,
    /// Which connections are analyzed; `None`: all.
    pub filter: Option<String>,
    /// Which time is analyzed.
    pub window: TimeWindow,
}

impl Origin {
    /// The first thing that differs, as arguments: of this origin, and of the other.
    fn difference(&self, other: &Self) -> Option<[String; 2]> {
        let both = [self, other];
        let views = both.map(|origin| origin.view.clone());
        let profiles = both.map(|origin| match &origin.profile {
            Some(profile) => format!("--profile {profile}"),
            None => "no --profile".into(),
        });
        let idle = both.map(|origin| format!("--idle {}", format_duration(origin.idle)));
        let filters = both.map(|origin| match &origin.filter {
            Some(filter) => format!("--filter '{filter}'"),
            None => "no --filter".into(),
        });
        let windows = both.map(|origin| match arguments(&origin.window) {
            whole if whole.is_empty() => "neither --from nor --to".into(),
            window => window,
        });
        let all = [views, profiles, idle, filters, windows].into_iter();
        all.into_iter().find(|[one, other]| one != other)
    }
}

/// Why a state cannot be read or written. Each message is one line.
#[derive(Debug, Error)]
pub enum StateError {
    /// It cannot be opened or read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// It is something else.
    #[error("{0}: not a state file: expected one that `recoup analyze --state` wrote, or no file")]
    Foreign(String),
    /// Another version of Recoup wrote it.
    #[error("{file}: state written by {found}: expected {expected}; analyze the captures again")]
    Version {
        /// The file.
        file: String,
        /// The version that wrote it.
        found: String,
        /// This version.
        expected: String,
    },
    /// It is of another view, or was made with other settings.
    #[error("{file}: state made with {found}: expected {expected}")]
    Origin {
        /// The file.
        file: String,
        /// The setting of the state.
        found: String,
        /// The setting of this run.
        expected: String,
    },
    /// It is not as it was written.
    #[error("{0}: state file cut or damaged: expected the checksum at its end to match")]
    Damaged(String),
    /// Its parts are not what this version writes.
    #[error("{file}: state file cannot be decoded: {why}")]
    Undecodable {
        /// The file.
        file: String,
        /// The decoder's error.
        why: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    Unwritable(#[from] OutputError),
}

/// Reads a state, part by part, as they were written.
pub struct StateReader {
    file: String,
    parts: BufReader<Take<zstd::Decoder<'static, BufReader<Take<File>>>>>,
}

impl StateReader {
    /// Opens a state and checks all of it. `analysis` is the version of what is in it besides lab's own.
    ///
    /// # Errors
    /// A file that cannot be read, that is no state, that is damaged, or that another version, view or
    /// setting made.
    pub fn open(path: &Path, analysis: u32, expected: &Origin) -> Result<Self, StateError> {
        let file = visible(&path.to_string_lossy()).into_owned();
        let unreadable = |source| StateError::Unreadable { file: file.clone(), source };
        let mut input = File::open(path).map_err(unreadable)?;
        let about = input.metadata().map_err(unreadable)?;
        if !about.is_file() || !begins_with_magic(&mut input).map_err(unreadable)? {
            return Err(StateError::Foreign(file));
        }
        let end = about.len().saturating_sub(CHECKSUM);
        if !checksum::matches(&mut input, end).map_err(unreadable)? {
            return Err(StateError::Damaged(file));
        }
        let after_magic = SeekFrom::Start(MAGIC.len() as u64);
        input.seek(after_magic).map_err(unreadable)?;
        let mut input = BufReader::new(input.take(end - MAGIC.len() as u64));
        let versions: Versions = decode(&mut input, &file)?;
        let current = Versions::current(analysis);
        if versions != current {
            return Err(StateError::Version { file, found: versions.to_string(), expected: current.to_string() });
        }
        let origin: Origin = decode(&mut input, &file)?;
        if let Some([found, expected]) = origin.difference(expected) {
            return Err(StateError::Origin { file, found, expected });
        }
        let parts = zstd::Decoder::with_buffer(input).map_err(unreadable)?;
        let parts = BufReader::new(parts.take(MOST_BYTES));
        Ok(Self { file, parts })
    }

    /// The file's name, for messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// The next part.
    ///
    /// # Errors
    /// If it is something else.
    pub fn part<T: DeserializeOwned>(&mut self) -> Result<T, StateError> {
        decode(&mut self.parts, &self.file)
    }
}

fn begins_with_magic(input: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    input.take(MAGIC.len() as u64).read_to_end(&mut head)?;
    Ok(head == MAGIC)
}

fn decode<T: DeserializeOwned>(input: impl Read, file: &str) -> Result<T, StateError> {
    let mut text = vec![0; LONGEST_TEXT];
    let decoded = postcard::from_io((input, &mut text));
    let (part, _) = decoded.map_err(|e| StateError::Undecodable { file: file.into(), why: e.to_string() })?;
    Ok(part)
}

/// Writes a state, part by part. The file gets its name when it is [published](OutputFile::publish);
/// until then an earlier state is left alone.
pub struct StateWriter(BufWriter<Encoder>);

type Encoder = zstd::Encoder<'static, ChecksumWriter<BufWriter<OutputFile>>>;

impl StateWriter {
    /// Begins a state. `analysis` is the version of what is in it besides lab's own.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn create(path: &Path, analysis: u32, origin: &Origin) -> Result<Self, StateError> {
        let mut out = ChecksumWriter::new(BufWriter::new(OutputFile::create(path)?));
        let unwritable = |source| OutputError { path: path.into(), source };
        // Memory takes everything.
        let mut head = MAGIC.to_vec();
        head.extend(postcard::to_stdvec(&Versions::current(analysis)).unwrap_or_default());
        head.extend(postcard::to_stdvec(origin).unwrap_or_default());
        out.write_all(&head).map_err(unwritable)?;
        let encoder = zstd::Encoder::new(out, LEVEL).map_err(unwritable)?;
        Ok(Self(BufWriter::new(encoder)))
    }

    /// Writes the next part.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn part(&mut self, part: &impl Serialize) -> Result<(), StateError> {
        let written = postcard::to_io(part, &mut self.0);
        let error = written.err().map(io::Error::other);
        error.map_or(Ok(()), |error| Err(self.unwritable(error)))
    }

    /// Writes the checksum. The file is whole, but does not have its name yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn complete(mut self) -> Result<OutputFile, StateError> {
        if let Err(error) = self.0.flush() {
            return Err(self.unwritable(error));
        }
        let path = self.target();
        let encoder = self.0.into_inner().map_err(IntoInnerError::into_error);
        let out = encoder.and_then(zstd::Encoder::finish).and_then(ChecksumWriter::finish);
        let file = out.and_then(|out| out.into_inner().map_err(IntoInnerError::into_error));
        Ok(file.map_err(|source| OutputError { path, source })?)
    }

    fn target(&self) -> PathBuf {
        self.0.get_ref().get_ref().get_ref().get_ref().target().into()
    }

    /// The system's error if there was one: postcard does not pass it on.
    fn unwritable(&mut self, error: io::Error) -> StateError {
        let system = self.0.get_mut().get_mut().take_error();
        let source = system.unwrap_or(error);
        let path = self.target();
        OutputError { path, source }.into()
    }
}

#[cfg(test)]
mod tests;
