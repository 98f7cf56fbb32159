//! The captures that a command reads.

use super::{Again, Capture, CaptureSource, Memory, Origin, Progress};
use crate::analysis::{AnalysisError, Analyzed};
use recoup_trace::analyze::Settings;
use recoup_trace::read::ReadError;
use recoup_units::visible;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The captures that a command reads.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The built-in capture.
    Demo,
    /// Captures, each by itself; `-` is standard input.
    Each(&'a [PathBuf]),
    /// Files that are one capture, in the order of their times.
    Joined(&'a [PathBuf]),
    /// A capture that has no path.
    Source(&'a dyn CaptureSource),
}

/// Why captures cannot be read. Each message is one line.
#[derive(Debug, Error)]
pub enum InputError {
    /// Standard input is named twice.
    #[error("-: standard input can be read only once")]
    Twice,
    /// Standard input is one of several files that are joined.
    #[error("-: standard input cannot be joined with files: expected files only")]
    Joined,
    /// A capture does not exist, or is a directory.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Findings of captures.
#[derive(Debug)]
pub struct Captures<V> {
    /// Those that could be read, in order.
    pub analyzed: Vec<Analyzed<V>>,
    /// Why the others could not be read, in order.
    pub failures: Vec<AnalysisError>,
    /// How many captures were begun. [`Progress::is_stopped`] leaves the others unread.
    pub begun: usize,
    /// A note, if captures continue each other. Each was analyzed by itself.
    pub rotation: Option<String>,
}

impl<V> Captures<V> {
    fn add(&mut self, one: Result<Analyzed<V>, AnalysisError>) {
        match one {
            Ok(analyzed) => self.analyzed.push(analyzed),
            Err(error) => self.failures.push(error),
        }
    }
}

impl<'a> Input<'a> {
    /// Checks that standard input is read once, that all captures exist and that none is a directory, so that a wrong
    /// name is found before the first capture is read. It opens none: a pipe can be read only once.
    ///
    /// # Errors
    /// The first capture that cannot be read.
    pub fn new(paths: &'a [PathBuf], join: bool) -> Result<Self, InputError> {
        let is_stdin = |path: &&PathBuf| path.as_os_str() == "-";
        match paths.iter().filter(is_stdin).count() {
            0 => {}
            1 if join && paths.len() > 1 => return Err(InputError::Joined),
            1 => {}
            _ => return Err(InputError::Twice),
        }
        for path in paths.iter().filter(|path| !is_stdin(path)) {
            let file = visible(&path.to_string_lossy()).into_owned();
            match path.metadata() {
                Ok(about) if about.is_dir() => return Err(ReadError::Directory { file }.into()),
                Ok(_) => {}
                Err(source) => return Err(ReadError::Unreadable { file, source }.into()),
            }
        }
        Ok(match join {
            true => Self::Joined(paths),
            false => Self::Each(paths),
        })
    }

    /// Shows one capture after another. A capture that cannot be read does not keep the others from being shown.
    pub fn each<V>(
        self,
        progress: &dyn Progress,
        mut view: impl FnMut(Capture<'a>) -> Result<Analyzed<V>, AnalysisError>,
    ) -> Captures<V> {
        let mut all = Captures { analyzed: Vec::new(), failures: Vec::new(), begun: 0, rotation: None };
        let mut show = |opened: Result<Capture<'a>, ReadError>| watched(opened?, progress, &mut view);
        match self {
            Self::Demo => {
                all.begun = 1;
                all.add(show(Capture::demo()));
            }
            Self::Source(source) => {
                all.begun = 1;
                all.add(show(Capture::source(source)));
            }
            Self::Joined(paths) => {
                all.begun = paths.len();
                let (joined, failures) = Capture::join(paths);
                all.failures.extend(failures.into_iter().map(AnalysisError::from));
                if let Some(joined) = joined {
                    all.add(show(Ok(joined)));
                }
            }
            Self::Each(paths) => {
                for path in paths {
                    all.begun += 1;
                    all.add(show(Capture::open(path)));
                    if progress.is_stopped() {
                        break;
                    }
                }
            }
        }
        all
    }

    /// Shows the first of the captures.
    ///
    /// # Errors
    /// A capture that cannot be opened, and those of `view`.
    pub fn first<R, E: From<ReadError>>(
        self,
        progress: &dyn Progress,
        view: impl FnOnce(Capture<'a>) -> Result<R, E>,
    ) -> Result<R, E> {
        watched(self.open()?, progress, view)
    }

    /// Opens the first of the captures.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(self) -> Result<Capture<'a>, ReadError> {
        match self {
            Self::Demo => Capture::demo(),
            Self::Each(paths) => Capture::open(paths.first().map_or(Path::new("-"), PathBuf::as_path)),
            Self::Joined(paths) => Capture::joined(paths),
            Self::Source(source) => Capture::source(source),
        }
    }

    /// The capture of this name, which was analyzed, for a second reading. `None` for a stream.
    pub(crate) fn again(self, name: &str, settings: &Settings) -> Option<Again<'a>> {
        let origin = match self {
            Self::Demo => Origin::Demo,
            Self::Joined(paths) => Origin::Joined(paths),
            Self::Source(source) => Origin::Source(source),
            Self::Each(_) => {
                let path = PathBuf::from(name);
                path.metadata().is_ok_and(|about| about.is_file()).then_some(Origin::File(path))?
            }
        };
        Some(Again { origin, memory: Memory::default(), copies: settings.copies.clone() })
    }
}

fn watched<'a, R>(capture: Capture<'a>, progress: &dyn Progress, view: impl FnOnce(Capture<'a>) -> R) -> R {
    progress.capture_begins(capture.name(), capture.size());
    let result = view(capture);
    progress.capture_ends();
    result
}
