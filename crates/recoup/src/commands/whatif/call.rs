//! Reruns the connections of captures under other mechanisms: `recoup whatif` without its arguments and
//! its printing.

use crate::commands::analyze::call::{AnalyzeError, Captures, Progress};
use crate::commands::plot::call::open_joined;
use recoup_captures::analysis::{AnalysisError, Analyzed};
use recoup_captures::whatif::{Answer, Request, Watch, what_if, what_if_stream};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Counts, Joined, JoinedFiles, PacketSource, ReadError, Reader};
use std::path::{Path, PathBuf};

/// The captures that are read.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Captures, each by itself; `-` is standard input.
    Each(&'a [PathBuf]),
    /// Captures that are one.
    Joined(&'a [PathBuf]),
}

/// Follows the reading of a capture, and then its reruns. Calls come from any thread.
pub trait RerunProgress: Progress {
    /// This many connections are done, of this many.
    fn rerun(&self, done: u64, all: u64);
}

/// Reruns the connections of captures. A capture that cannot be read does not keep the others from being
/// rerun.
pub fn what_if_all(
    input: Input<'_>,
    request: &Request,
    settings: &Settings,
    progress: &dyn RerunProgress,
) -> Captures<Answer> {
    read_all(input, progress, &mut Reruns { request, settings })
}

struct Reruns<'a> {
    request: &'a Request,
    settings: &'a Settings,
}

impl ReadTwice for Reruns<'_> {
    type Found = Answer;

    fn capture<S: PacketSource, T: PacketSource>(
        &mut self,
        name: &str,
        first: S,
        again: impl FnOnce(Counts) -> Result<T, ReadError>,
        watch: Watch<'_>,
    ) -> Result<Analyzed<Answer>, AnalysisError> {
        what_if(name, first, again, self.request, self.settings, watch)
    }

    fn stream<S: PacketSource>(
        &mut self,
        name: &str,
        source: S,
        watch: Watch<'_>,
    ) -> Result<Analyzed<Answer>, AnalysisError> {
        what_if_stream(name, source, self.request, self.settings, watch)
    }
}

/// What is found in captures that are read twice.
pub(crate) trait ReadTwice {
    type Found;

    /// Reads `first`, and then what `again` opens.
    fn capture<S: PacketSource, T: PacketSource>(
        &mut self,
        name: &str,
        first: S,
        again: impl FnOnce(Counts) -> Result<T, ReadError>,
        watch: Watch<'_>,
    ) -> Result<Analyzed<Self::Found>, AnalysisError>;

    /// Reads a stream, which can be read once: a limited number of its packets is kept.
    fn stream<S: PacketSource>(
        &mut self,
        name: &str,
        source: S,
        watch: Watch<'_>,
    ) -> Result<Analyzed<Self::Found>, AnalysisError>;
}

/// Reads captures. A capture that cannot be read does not keep the others from being read.
pub(crate) fn read_all<F: ReadTwice>(
    input: Input<'_>,
    progress: &dyn RerunProgress,
    find: &mut F,
) -> Captures<F::Found> {
    let mut all = Captures { analyzed: Vec::new(), failures: Vec::new(), begun: 0, rotation: None };
    match input {
        Input::Joined(captures) => {
            all.begun = captures.len();
            let mut joined = Joined::open(captures, &JoinedFiles::default());
            let failures = joined.failures().into_iter();
            all.failures.extend(failures.map(AnalyzeError::from));
            if joined.files_to_read() > 0 {
                all.add(of_joined(joined, captures, progress, find));
            }
        }
        Input::Each(captures) => {
            for path in captures {
                all.begun += 1;
                all.add(of_one(path, progress, find));
                if progress.is_stopped() {
                    break;
                }
            }
        }
    }
    all
}

impl<V> Captures<V> {
    fn add(&mut self, one: Result<Analyzed<V>, AnalyzeError>) {
        match one {
            Ok(analyzed) => self.analyzed.push(analyzed),
            Err(error) => self.failures.push(error),
        }
    }
}

fn of_joined<F: ReadTwice>(
    joined: Joined,
    captures: &[PathBuf],
    progress: &dyn RerunProgress,
    find: &mut F,
) -> Result<Analyzed<F::Found>, AnalyzeError> {
    let name = joined.name().to_owned();
    watched(&name, joined.size(), progress, |watch| {
        let again = |_| open_joined(captures);
        Ok(find.capture(&name, joined, again, watch)?)
    })
}

/// A file is read twice.
fn of_one<F: ReadTwice>(
    path: &Path,
    progress: &dyn RerunProgress,
    find: &mut F,
) -> Result<Analyzed<F::Found>, AnalyzeError> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    watched(&name, reader.size(), progress, |watch| {
        Ok(match is_file {
            true => find.capture(&name, reader, |_| Reader::open(path), watch)?,
            false => find.stream(&name, reader, watch)?,
        })
    })
}

pub(crate) fn watched<R>(
    name: &str,
    size: Option<u64>,
    progress: &dyn RerunProgress,
    run: impl FnOnce(Watch<'_>) -> R,
) -> R {
    progress.capture_begins(name, size);
    let bytes = |bytes| {
        progress.bytes_read(bytes);
        !progress.is_stopped()
    };
    let reruns = |done, all| {
        progress.rerun(done, all);
        !progress.is_stopped()
    };
    let result = run(Watch { bytes: &bytes, reruns: &reruns });
    progress.capture_ends();
    result
}
