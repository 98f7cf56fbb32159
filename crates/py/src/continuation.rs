//! `recoup.Continuation`: an analysis that goes on from file to file, and from process to process.

use crate::errors::{StateError, capture, defect, wrong};
use crate::settings::{self, Options};
use crate::table::Table;
use crate::watch::{self, Meter};
use pyo3::prelude::*;
use recoup::commands::analyze::call::{AnalyzeError, Run, Steps};
use recoup_captures::analysis::{
    AllConnections, AllEpisodes, AllRetransmissions, Analyzed, Continued, Summary, Tabular,
};
use recoup_support::suggest::did_you_mean;
use recoup_trace::analyze::Settings;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// An analysis that later captures continue.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Continuation(Mutex<Option<AnySteps>>);

/// The steps of one of the tables.
enum AnySteps {
    Retransmissions(Box<Steps<AllRetransmissions>>),
    Episodes(Box<Steps<AllEpisodes>>),
    Connections(Box<Steps<AllConnections>>),
    Summary(Box<Steps<Summary>>),
}

/// What an analysis shows so far.
struct Shown {
    table: PyResult<Table>,
    failures: Vec<String>,
    notes: Vec<String>,
    frames: u64,
}

const TABLES: [&str; 4] = ["retransmissions", "episodes", "connections", "summary"];

impl AnySteps {
    fn begin(table: &str, state: Option<&Path>, settings: &Settings) -> PyResult<Self> {
        Ok(match table {
            "retransmissions" => Self::Retransmissions(Box::new(begin(state, settings)?)),
            "episodes" => Self::Episodes(Box::new(begin(state, settings)?)),
            "connections" => Self::Connections(Box::new(begin(state, settings)?)),
            "summary" => Self::Summary(Box::new(begin(state, settings)?)),
            other => {
                let (all, hint) = (TABLES.join(", "), did_you_mean(other, TABLES));
                return Err(wrong(format_args!("table {other}: expected {all}{hint}")));
            }
        })
    }

    fn read(&mut self, captures: &[PathBuf], meter: &Meter) -> Result<(), AnalyzeError> {
        match self {
            Self::Retransmissions(steps) => read(steps, captures, meter),
            Self::Episodes(steps) => read(steps, captures, meter),
            Self::Connections(steps) => read(steps, captures, meter),
            Self::Summary(steps) => read(steps, captures, meter),
        }
    }

    fn finish(self, state: Option<&Path>) -> Result<Shown, AnalyzeError> {
        match self {
            Self::Retransmissions(steps) => finish(*steps, state),
            Self::Episodes(steps) => finish(*steps, state),
            Self::Connections(steps) => finish(*steps, state),
            Self::Summary(steps) => finish(*steps, state),
        }
    }
}

fn begin<V: Continued>(state: Option<&Path>, settings: &Settings) -> PyResult<Steps<V>> {
    Steps::begin(state, &[], settings).map_err(error)
}

fn read<V: Continued>(steps: &mut Steps<V>, captures: &[PathBuf], meter: &Meter) -> Result<(), AnalyzeError> {
    let joined = steps.open(captures);
    steps.read(joined, meter)
}

fn finish<V: Continued<Shown: Tabular>>(steps: Steps<V>, state: Option<&Path>) -> Result<Shown, AnalyzeError> {
    let writer = state.map(|path| steps.writer(path)).transpose()?;
    let Run { analyzed, failures, state } = steps.finish(writer)?;
    let published = state.map(|file| file.publish()).transpose();
    let published = published.map_err(wrong);
    let shown = analyzed.as_ref();
    Ok(Shown {
        table: published.and_then(|_| match shown {
            Some(shown) => Table::of(shown),
            None => Err(defect("an analysis without a result")),
        }),
        failures: failures.iter().map(ToString::to_string).collect(),
        notes: shown.map(Analyzed::notes).unwrap_or_default(),
        frames: shown.map_or(0, |shown| shown.counts.frames),
    })
}

/// `finish`'s result: the records, failures, notes, and the number of frames read so far.
type Finished = (Table, Vec<String>, Vec<String>, u64);

#[pymethods]
impl Continuation {
    /// Goes on from the state in a file, or begins.
    #[new]
    fn new(py: Python<'_>, table: &str, state: Option<PathBuf>, options: Options) -> PyResult<Self> {
        let settings = options.settings()?;
        let steps = py.detach(|| AnySteps::begin(table, state.as_deref(), &settings))?;
        Ok(Self(Mutex::new(Some(steps))))
    }

    /// Reads captures, joined, which go on from those read before.
    fn read(&self, py: Python<'_>, captures: Vec<PathBuf>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        settings::input(&captures, true)?;
        let mut steps = self.0.try_lock().map_err(|_| wrong(BUSY))?;
        let steps = steps.as_mut().ok_or_else(|| wrong(OVER))?;
        watch::run(py, progress, |meter| steps.read(&captures, meter))?.map_err(error)
    }

    /// What the analysis shows so far. Saves the state in a file.
    fn finish(&self, py: Python<'_>, state: Option<PathBuf>) -> PyResult<Finished> {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let steps = steps.ok_or_else(|| wrong(OVER))?;
        let shown = py.detach(|| steps.finish(state.as_deref())).map_err(error)?;
        Ok((shown.table?, shown.failures, shown.notes, shown.frames))
    }
}

const OVER: &str = "the analysis is finished: begin another one with its state";
const BUSY: &str = "the analysis is reading in another thread";

fn error(error: AnalyzeError) -> PyErr {
    match error {
        AnalyzeError::State(error) => StateError::new_err(error.to_string()),
        other => capture(other),
    }
}
