//! An analysis that a state file carries from one run to the next: `--state` and `--merge-state`.

use super::{AnalyzeError, Progress};
use recoup_lab::analysis::{Analyzed, Continuation, ContinueError, Continued};
use recoup_lab::output_file::OutputFile;
use recoup_lab::state_file::{Origin, StateReader, StateWriter};
use recoup_trace::analyze::{SavedAnalysis, Settings};
use recoup_trace::read::{Joined, PacketSource};
use std::path::{Path, PathBuf};

/// The state files of a run.
#[derive(Clone, Copy, Debug)]
pub struct StateFiles<'a> {
    /// The state that the run continues and saves; a file that does not exist is an analysis that has
    /// read nothing yet. `None`: nothing is saved.
    pub state: Option<&'a Path>,
    /// States that are merged into it.
    pub merged: &'a [PathBuf],
}

impl StateFiles<'_> {
    /// The names of all states, for a run without captures.
    fn names(&self) -> String {
        let merged = self.merged.iter().map(PathBuf::as_path);
        let all = self.state.into_iter().chain(merged);
        let names: Vec<String> = all.map(|path| path.display().to_string()).collect();
        names.join(", ")
    }
}

/// What a run shows, and what the next one continues.
#[derive(Debug)]
pub struct Run<V: Continued> {
    /// The findings so far, as if the last capture ended here; rows only if they changed. `None` if there
    /// was nothing to read but captures that cannot be read.
    pub analyzed: Option<Analyzed<V::Shown>>,
    /// Why captures could not be read, in order.
    pub failures: Vec<AnalyzeError>,
    /// The new state, which gets its name when it is published: once the findings are out. `None` if it
    /// is as it was.
    pub state: Option<OutputFile>,
}

/// Goes on with an analysis in these captures, which are joined (`-` is standard input). Captures that
/// earlier runs have read are skipped. After [`Progress::is_stopped`] the state says how far the reading
/// came.
///
/// # Errors
/// A state that cannot be read, continued, merged or written; captures in which nothing is readable.
pub fn continue_analysis<V: Continued>(
    captures: &[PathBuf],
    files: StateFiles<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Run<V>, AnalyzeError> {
    let origin = Origin {
        view: V::ARGUMENT.into(),
        profile: settings.profile.as_ref().map(ToString::to_string),
        idle: settings.idle,
        filter: settings.filter.as_ref().map(ToString::to_string),
        window: settings.window,
    };
    let open = |path: &Path| {
        let state = StateReader::open(path, SavedAnalysis::VERSION, &origin);
        state.map_err(ContinueError::from)
    };
    // The first run begins a state. Without captures there must be one to show.
    let begins = !captures.is_empty() || !files.merged.is_empty();
    let before = files.state.filter(|path| !begins || path.exists());
    let before = before.map(open).transpose()?;
    let merged = files.merged.iter().map(|path| open(path));
    let merged = merged.collect::<Result<Vec<StateReader>, _>>()?;
    let mut analysis = Continuation::<V>::load(before, merged, settings)?;
    let mut joined = Joined::open(captures, &analysis.counts().files);
    let failures = joined.failures().into_iter();
    let failures: Vec<AnalyzeError> = failures.map(AnalyzeError::from).collect();
    if joined.files_to_read() == 0 && !failures.is_empty() {
        return Ok(Run {
            analyzed: None,
            failures,
            state: None,
        });
    }
    let changes = joined.files_to_read() > 0 || !files.merged.is_empty();
    let writer = files.state.filter(|_| changes);
    let writer = writer.map(|path| StateWriter::create(path, SavedAnalysis::VERSION, &origin));
    let writer = writer.transpose().map_err(ContinueError::from)?;
    let name = match captures {
        [] => files.names(),
        _ => joined.name().to_owned(),
    };
    if joined.files_to_read() > 0 {
        progress.capture_begins(&name, joined.size());
        let read = analysis.read(joined, |joined| {
            progress.bytes_read(joined.taken());
            !progress.is_stopped()
        });
        progress.capture_ends();
        read?;
    }
    let (analyzed, state) = analysis.finish(&name, writer)?;
    Ok(Run {
        analyzed: Some(analyzed),
        failures,
        state,
    })
}
