//! An analysis that goes on in later captures, with the view that is shown of it.

use super::changes::Continued;
use super::findings::{AnalysisError, Analyzed, check_readable};
use crate::state_file::{StateError, StateReader, StateWriter};
use recoup_support::output_file::OutputFile;
use recoup_trace::analyze::{Analyzer, MergeError, ResumeError, SavedAnalysis, Settings};
use recoup_trace::read::{Counts, JoinedFile, JoinedFiles, PacketSource, ReadError};
use std::cell::RefCell;
use thiserror::Error;

/// The contents of a state file, in order.
struct State<V: Continued> {
    analysis: SavedAnalysis,
    /// The saved form of each thread's collector.
    collectors: Vec<V::Saved>,
    given_out: V::GivenOut,
}

impl<V: Continued> State<V> {
    fn read(file: &mut StateReader) -> Result<Self, StateError> {
        Ok(Self { analysis: file.part()?, collectors: file.part()?, given_out: file.part()? })
    }

    /// Adds another state, of other connections. Its numbers go on after those of this one.
    fn merge(&mut self, mut file: StateReader) -> Result<(), ContinueError> {
        let name = file.name().to_owned();
        let Some(merge) = V::MERGE else {
            return Err(ContinueError::Rows(name));
        };
        let by = self.analysis.renumbering();
        let Self { analysis, collectors, .. } = Self::read(&mut file)?;
        let both = [&self.analysis, &analysis].map(|analysis| &analysis.counts().files);
        if let Some(capture) = capture_of_both(both) {
            let file = name;
            return Err(ContinueError::Repeated { file, capture });
        }
        let merged = self.analysis.merge(analysis);
        merged.map_err(|why| ContinueError::Merge { file: name, why })?;
        // Connections stay with the collector of their number.
        for (mine, theirs) in self.collectors.iter_mut().zip(collectors) {
            merge(mine, theirs, by);
        }
        Ok(())
    }
}

/// The name of a capture that two analyses have read.
fn capture_of_both([mine, theirs]: [&JoinedFiles; 2]) -> Option<String> {
    let is_mine = |theirs: &&JoinedFile| mine.iter().any(|mine| mine.is_same_capture(theirs));
    let mut both = theirs.iter().filter(is_mine);
    both.next().map(|file| file.name.clone())
}

/// Why a state cannot be used. Each message is one line.
#[derive(Debug, Error)]
pub enum ContinueError {
    /// Its file cannot be read or written.
    #[error(transparent)]
    File(#[from] StateError),
    /// Its analysis cannot be continued.
    #[error("{file}: {why}")]
    Resume {
        /// The file.
        file: String,
        /// The reason.
        why: ResumeError,
    },
    /// It holds rows.
    #[error("{0}: rows of several states cannot be merged: expected states of --summary")]
    Rows(String),
    /// Its totals are merged already.
    #[error("{file}: the totals contain the capture {capture} already")]
    Repeated {
        /// The file.
        file: String,
        /// A capture that was read for both.
        capture: String,
    },
    /// It cannot be merged into another one.
    #[error("{file}: {why}")]
    Merge {
        /// The file.
        file: String,
        /// The reason.
        why: MergeError,
    },
}

/// An analysis that later captures continue.
pub struct Continuation<V: Continued> {
    analyzer: Analyzer<V>,
    given_out: V::GivenOut,
    interrupted: bool,
}

impl<V: Continued> Continuation<V> {
    /// Goes on from a state, or begins, with other states merged into it.
    ///
    /// # Errors
    /// A file that cannot be decoded, a state made with other settings, and states that cannot be merged.
    pub fn load(
        state: Option<StateReader>,
        merged: Vec<StateReader>,
        settings: &Settings,
    ) -> Result<Self, ContinueError> {
        let mut files = state.into_iter().chain(merged);
        let Some(mut file) = files.next() else {
            return Ok(Self {
                analyzer: Analyzer::new(settings, V::default),
                given_out: V::GivenOut::default(),
                interrupted: false,
            });
        };
        let mut state = State::<V>::read(&mut file)?;
        files.try_for_each(|file| state.merge(file))?;
        let collectors = RefCell::new(state.collectors.into_iter());
        // Each thread goes on with its own.
        let next = || collectors.borrow_mut().next().map_or_else(V::default, V::load);
        let analyzer = Analyzer::resume(state.analysis, settings, next);
        let file = file.name().into();
        Ok(Self {
            analyzer: analyzer.map_err(|why| ContinueError::Resume { file, why })?,
            given_out: state.given_out,
            interrupted: false,
        })
    }

    /// Counts of everything read so far.
    pub fn counts(&self) -> Counts {
        self.analyzer.counts()
    }

    /// Analyzes the next capture. `watch` is called every few thousand packets, and ends the reading by
    /// returning `false`.
    ///
    /// # Errors
    /// Those of [`Analyzer::read`].
    pub fn read<S: PacketSource>(
        &mut self,
        source: S,
        mut watch: impl FnMut(&S) -> bool + Send,
    ) -> Result<(), ReadError> {
        let interrupted = &mut self.interrupted;
        self.analyzer.read(source, |source| {
            let continues = watch(source);
            *interrupted |= !continues;
            continues
        })
    }

    /// Saves what later captures continue, and returns what this run shows, as if the last capture ended
    /// here. `name` is the user's name for what was read. The file returned is whole, but does not have
    /// its name yet.
    ///
    /// # Errors
    /// If the state cannot be written, or no frame is readable.
    pub fn finish(
        mut self,
        name: &str,
        state: Option<StateWriter>,
    ) -> Result<(Analyzed<V::Shown>, Option<OutputFile>), FinishError> {
        let may_be_revised = self.analyzer.may_be_revised();
        let collectors: Vec<V::Saved> =
            self.analyzer.findings_mut().map(|collector| collector.save(&may_be_revised)).collect();
        let mut state = state;
        if let Some(file) = &mut state {
            file.part(self.analyzer.save())?;
            file.part(&collectors)?;
        }
        let analysis = self.analyzer.finish().map_err(AnalysisError::from)?;
        let counts = analysis.counts;
        check_readable(name, &counts)?;
        let all = analysis.findings.into_iter().reduce(|mut all, part| {
            all.merge(part);
            all
        });
        let findings = all.unwrap_or_default().show(&mut self.given_out);
        let file = state.map(|mut file| {
            file.part(&self.given_out)?;
            file.complete()
        });
        let shown = Analyzed { capture: name.into(), counts, interrupted: self.interrupted, findings };
        Ok((shown, file.transpose()?))
    }
}

/// Why a run cannot end.
#[derive(Debug, Error)]
pub enum FinishError {
    /// Nothing can be analyzed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// The state cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
}

#[cfg(test)]
mod tests;
