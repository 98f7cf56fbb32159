//! Reruns the connections of captures under other mechanisms: `recoup whatif` without its arguments and
//! its printing.

use crate::analyze::{AnalyzeError, Captures, Progress};
use crate::plot::open_joined;
use recoup_lab::analysis::Analyzed;
use recoup_lab::whatif::{Answer, Request, Watch, what_if, what_if_stream};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{Joined, JoinedFiles, PacketSource, Reader};
use std::path::{Path, PathBuf};

/// What is rerun.
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
    let mut all = Captures {
        analyzed: Vec::new(),
        failures: Vec::new(),
        begun: 0,
        rotation: None,
    };
    match input {
        Input::Joined(captures) => {
            all.begun = captures.len();
            let mut joined = Joined::open(captures, &JoinedFiles::default());
            let failures = joined.failures().into_iter();
            all.failures.extend(failures.map(AnalyzeError::from));
            if joined.files_to_read() > 0 {
                all.add(of_joined(joined, captures, request, settings, progress));
            }
        }
        Input::Each(captures) => {
            for path in captures {
                all.begun += 1;
                all.add(of_one(path, request, settings, progress));
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

fn of_joined(
    joined: Joined,
    captures: &[PathBuf],
    request: &Request,
    settings: &Settings,
    progress: &dyn RerunProgress,
) -> Result<Analyzed<Answer>, AnalyzeError> {
    let name = joined.name().to_owned();
    watched(&name, joined.size(), progress, |watch| {
        let again = |_| open_joined(captures);
        Ok(what_if(&name, joined, again, request, settings, watch)?)
    })
}

/// A file is read twice. Of a stream, which is read once, a limited number of packets is kept.
fn of_one(
    path: &Path,
    request: &Request,
    settings: &Settings,
    progress: &dyn RerunProgress,
) -> Result<Analyzed<Answer>, AnalyzeError> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    watched(&name, reader.size(), progress, |watch| {
        Ok(match is_file {
            true => {
                let again = |_| Reader::open(path);
                what_if(&name, reader, again, request, settings, watch)?
            }
            false => what_if_stream(&name, reader, request, settings, watch)?,
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
    let result = run(Watch {
        bytes: &bytes,
        reruns: &reruns,
    });
    progress.capture_ends();
    result
}
