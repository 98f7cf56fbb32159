//! Analyzes captures one after another: `recoup analyze` without its arguments and its printing.

mod continued;
mod joined;
mod slp;

pub use continued::{Run, StateFiles, Steps, continue_analysis};
pub use joined::analyze_joined;
pub use slp::study_all;

use recoup_captures::analysis::{
    self, AnalysisError, Analyzed, CaptureEnds, Collector, ContinueError, FinishError, WithEnds, rotation_note,
};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{PacketSource, ReadError, Reader};
use std::path::PathBuf;
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
    /// A note, if captures continue each other. Each was analyzed by itself.
    pub rotation: Option<String>,
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

/// Why a capture cannot be analyzed.
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
}

impl From<FinishError> for AnalyzeError {
    fn from(error: FinishError) -> Self {
        match error {
            FinishError::Analysis(error) => error.into(),
            FinishError::State(error) => ContinueError::from(error).into(),
        }
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

/// Analyzes one capture after another (`-` is standard input). `view` makes what collects the findings. A
/// capture that cannot be read does not keep the others from being analyzed.
pub fn analyze_all<V: Collector>(
    captures: &[PathBuf],
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> V,
) -> Captures<V> {
    let mut all = Captures { analyzed: Vec::new(), failures: Vec::new(), begun: 0, rotation: None };
    let mut ends: Vec<CaptureEnds> = Vec::new();
    for path in captures {
        all.begun += 1;
        let name = path.display().to_string();
        let opened = Reader::open(path).map_err(AnalyzeError::from);
        let with_ends = || WithEnds { view: view(), ends: CaptureEnds::default() };
        let analyzed = opened.and_then(|reader| analyze(&name, reader, settings, progress, with_ends));
        match analyzed {
            Ok(analyzed) => {
                let WithEnds { view, ends: own } = analyzed.findings;
                ends.push(own);
                all.analyzed.push(Analyzed {
                    capture: analyzed.capture,
                    counts: analyzed.counts,
                    interrupted: analyzed.interrupted,
                    findings: view,
                });
            }
            Err(error) => all.failures.push(error),
        }
        if progress.is_stopped() {
            break;
        }
    }
    let names = all.analyzed.iter().map(|analyzed| &*analyzed.capture);
    all.rotation = rotation_note(&names.zip(&ends).collect::<Vec<_>>());
    all
}

pub(crate) fn analyze<V: Collector, S: PacketSource>(
    name: &str,
    source: S,
    settings: &Settings,
    progress: &dyn Progress,
    view: impl Fn() -> V,
) -> Result<Analyzed<V>, AnalyzeError> {
    progress.capture_begins(name, source.size());
    let watch = |source: &S| {
        progress.bytes_read(source.taken());
        !progress.is_stopped()
    };
    let analyzed = analysis::run(name, source, settings, view, watch);
    progress.capture_ends();
    Ok(analyzed?)
}
