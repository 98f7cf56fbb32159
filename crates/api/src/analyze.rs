//! Analyzes captures one after another, and draws a connection with its findings: `recoup analyze`
//! without its arguments and its printing.

mod connection;
mod continued;

pub use connection::{Drawing, draw_connection};
pub use continued::{Run, StateFiles, continue_analysis};

use recoup_lab::analysis::{self, AnalysisError, Analyzed, Collector, ContinueError, FinishError};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{PacketSource, ReadError, Reader};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The captures that were analyzed.
#[derive(Debug)]
pub struct Captures<V> {
    /// Those that could be read, in order.
    pub analyzed: Vec<Analyzed<V>>,
    /// Why the others could not be read, in order.
    pub failures: Vec<AnalyzeError>,
    /// How many captures were begun. [`Progress::is_stopped`] leaves the others unread.
    pub begun: usize,
}

/// Follows an analysis, and may end it. Calls come from any thread.
pub trait Progress: Sync {
    /// A capture is opened. `size` is its size in bytes, if it is known.
    fn capture_begins(&self, name: &str, size: Option<u64>);

    /// This many bytes of the capture are read.
    fn bytes_read(&self, bytes: u64);

    /// The capture is analyzed, or cannot be.
    fn capture_ends(&self);

    /// Whether to read no further. What was read is analyzed.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Why a capture cannot be analyzed or drawn.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    /// It cannot be opened or read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Nothing in it can be analyzed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// A state cannot be used.
    #[error(transparent)]
    State(#[from] ContinueError),
    /// It has no connection of this number.
    #[error("{capture}: no connection {number}: {}", existing(*.connections))]
    NoConnection {
        /// The capture.
        capture: String,
        /// The number asked for, from 0.
        number: u64,
        /// How many connections there are.
        connections: u64,
    },
    /// The connection carries no data.
    #[error("{0}: nothing to draw: no data goes either way")]
    Blank(String),
    /// The capture must be read twice and cannot be.
    #[error("{0}: --plot reads the capture twice: expected a file")]
    ReadOnce(String),
}

impl From<FinishError> for AnalyzeError {
    fn from(error: FinishError) -> Self {
        match error {
            FinishError::Analysis(error) => error.into(),
            FinishError::State(error) => ContinueError::from(error).into(),
        }
    }
}

/// Says which connections there are.
fn existing(connections: u64) -> String {
    match connections {
        0 => "there is none".into(),
        1 => "there is one, number 0".into(),
        n => format!("there are {n}, from 0 to {}", n - 1),
    }
}

/// Checks that all captures exist and none is a directory, so that a wrong name is found before the
/// first capture is read. It does not open them: a pipe can be read only once.
///
/// # Errors
/// The first capture that does not exist, or is a directory.
pub fn check(captures: &[PathBuf]) -> Result<(), ReadError> {
    for path in captures.iter().filter(|path| path.as_os_str() != "-") {
        let file = path.display().to_string();
        match path.metadata() {
            Ok(about) if about.is_dir() => return Err(ReadError::Directory { file }),
            Ok(_) => {}
            Err(source) => return Err(ReadError::Unreadable { file, source }),
        }
    }
    Ok(())
}

/// Analyzes one capture after another (`-` is standard input). A capture that cannot be read does not
/// keep the others from being analyzed.
pub fn analyze_all<V: Collector + Default>(
    captures: &[PathBuf],
    settings: &Settings,
    progress: &dyn Progress,
) -> Captures<V> {
    let mut all = Captures {
        analyzed: Vec::new(),
        failures: Vec::new(),
        begun: 0,
    };
    for path in captures {
        all.begun += 1;
        match analyze(path, settings, progress, V::default) {
            Ok(analyzed) => all.analyzed.push(analyzed),
            Err(error) => all.failures.push(error),
        }
        if progress.is_stopped() {
            break;
        }
    }
    all
}

fn analyze<V: Collector>(
    path: &Path,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> V,
) -> Result<Analyzed<V>, AnalyzeError> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    progress.capture_begins(&name, reader.size());
    let watch = |reader: &Reader<'_>| {
        progress.bytes_read(reader.taken());
        !progress.is_stopped()
    };
    let analyzed = analysis::run(&name, reader, settings, view, watch);
    progress.capture_ends();
    Ok(analyzed?)
}
