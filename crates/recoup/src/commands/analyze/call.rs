//! An analysis that a state file carries from one run to the next: `--state` and `--merge-state`.

use recoup_captures::analysis::{AnalysisError, Analyzed, Continuation, ContinueError, Continued, FinishError};
use recoup_captures::capture::Progress;
use recoup_captures::state_file::{Origin, StateReader, StateWriter};
use recoup_support::output_file::OutputFile;
use recoup_trace::analyze::{SavedAnalysis, Settings};
use recoup_trace::read::{Joined, PacketSource, ReadError};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an analysis does not go on.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    /// A capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Nothing can be analyzed.
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

/// The view of a run, and the state that the next one continues.
#[derive(Debug)]
pub struct Run<V: Continued> {
    /// The findings so far, as if the last capture ended here; rows only if they changed. `None` if there
    /// was nothing to read but captures that cannot be read.
    pub analyzed: Option<Analyzed<V::Shown>>,
    /// Why captures could not be read, in order.
    pub failures: Vec<ReadError>,
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
    // The first run begins a state. Without captures there must be one to show.
    let begins = !captures.is_empty() || !files.merged.is_empty();
    let before = files.state.filter(|path| !begins || path.exists());
    let mut steps = Steps::<V>::begin(before, files.merged, settings)?;
    let joined = steps.open(captures);
    // Beside captures that were read before, one that cannot be read keeps nothing from being shown.
    let all_failed = steps.failures.len() == captures.len();
    if joined.files_to_read() == 0 && !steps.failures.is_empty() && (before.is_none() || all_failed) {
        return Ok(Run { analyzed: None, failures: steps.failures, state: None });
    }
    let changes = joined.files_to_read() > 0 || !files.merged.is_empty();
    let writer = files.state.filter(|_| changes);
    let writer = writer.map(|path| steps.writer(path)).transpose()?;
    if captures.is_empty() {
        steps.name = files.names();
    }
    steps.read(joined, progress)?;
    steps.finish(writer)
}

/// An analysis that goes on from one step to the next: reading captures again and again, then
/// finishing.
pub struct Steps<V: Continued> {
    analysis: Continuation<V>,
    origin: Origin,
    name: String,
    failures: Vec<ReadError>,
}

impl<V: Continued> Steps<V> {
    /// Goes on from a state, or begins, with other states merged into it.
    ///
    /// # Errors
    /// A state that cannot be read, continued or merged.
    pub fn begin(state: Option<&Path>, merged: &[PathBuf], settings: &Settings) -> Result<Self, AnalyzeError> {
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
        let before = state.map(open).transpose()?;
        let merged = merged.iter().map(|path| open(path)).collect::<Result<Vec<StateReader>, _>>()?;
        Ok(Self {
            analysis: Continuation::load(before, merged, settings)?,
            origin,
            name: String::new(),
            failures: Vec::new(),
        })
    }

    /// The next captures, which go on from those read before.
    pub fn open(&mut self, captures: &[PathBuf]) -> Joined {
        let mut joined = Joined::open(captures, &self.analysis.counts().files);
        self.failures.extend(joined.failures());
        joined
    }

    /// Reads captures, if there is anything in them that was not read before.
    ///
    /// # Errors
    /// A capture that is cut off from what was read before.
    pub fn read(&mut self, joined: Joined, progress: &dyn Progress) -> Result<(), AnalyzeError> {
        if self.name.is_empty() {
            joined.name().clone_into(&mut self.name);
        }
        if joined.files_to_read() == 0 {
            return Ok(());
        }
        progress.capture_begins(joined.name(), joined.size());
        let read = self.analysis.read(joined, |joined| progress.reads(joined.taken()));
        progress.capture_ends();
        Ok(read?)
    }

    /// The file of the state that will be saved.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn writer(&self, path: &Path) -> Result<StateWriter, AnalyzeError> {
        let writer = StateWriter::create(path, SavedAnalysis::VERSION, &self.origin);
        Ok(writer.map_err(ContinueError::from)?)
    }

    /// The view of the analysis so far, and the state that the next one continues.
    ///
    /// # Errors
    /// A state that cannot be written; captures in which nothing is readable.
    pub fn finish(self, writer: Option<StateWriter>) -> Result<Run<V>, AnalyzeError> {
        let (analyzed, state) = self.analysis.finish(&self.name, writer)?;
        Ok(Run { analyzed: Some(analyzed), failures: self.failures, state })
    }
}
