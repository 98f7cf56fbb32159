//! `recoup.analyze`.

use crate::errors::defect;
use crate::settings::{self, Options};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use recoup_captures::analysis::{
    self, AllRetransmissions, Analyzed, Everything, Interval, PackedConnections, Summary, summary_tables,
};
use recoup_captures::capture::Captures;
use recoup_table::{Columns, Part};
use recoup_trace::read::JoinedFiles;
use std::path::PathBuf;

/// What one reading of captures found. Each table is made when it is first asked for.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Analysis {
    found: Vec<Found>,
    /// Whether tables name the capture of each row.
    several: bool,
    notes: Vec<String>,
    failures: Vec<String>,
    tables: [PyOnceLock<Py<Table>>; 4],
}

/// What was found in a capture.
struct Found {
    connections: PackedConnections,
    retransmissions: AllRetransmissions,
    summary: [Analyzed<Summary>; 1],
    intervals: Vec<Interval>,
}

impl Found {
    fn name(&self) -> &str {
        &self.summary[0].capture
    }
}

/// Connections that are a batch of their table. More would need more memory while they are converted.
const BATCH: usize = 1 << 13;

impl Analysis {
    /// A table, made once.
    fn table<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        make: impl FnOnce() -> PyResult<Table> + Send,
    ) -> PyResult<Bound<'py, Table>> {
        let table = self.tables[number].get_or_try_init(py, || Py::new(py, py.detach(make)?))?;
        Ok(table.bind(py).clone())
    }

    /// A table of rows that each capture has.
    fn of_rows<R: 'static>(&self, columns: &Columns<R>, rows: impl Fn(&Found) -> &[R]) -> PyResult<Table> {
        let parts = self.found.iter().map(|found| Part { name: found.name(), rows: rows(found) });
        Table::new(columns, &self.parts(parts))
    }

    /// These parts of a table. Its columns are those of several captures even where one alone could be read.
    fn parts<'a, R>(&self, parts: impl IntoIterator<Item = Part<'a, R>>) -> Vec<Part<'a, R>> {
        let mut parts: Vec<Part<'a, R>> = parts.into_iter().collect();
        while self.several && parts.len() < 2 {
            parts.push(Part { name: "", rows: &[] });
        }
        parts
    }

    /// The connections, unpacked a batch at a time.
    fn all_connections(&self) -> PyResult<Table> {
        let columns = analysis::connections();
        let mut all = columns.to_arrow(&self.parts([])).map_err(defect)?;
        for found in &self.found {
            let connections = &found.connections;
            for begin in (0..connections.len()).step_by(BATCH) {
                let end = connections.len().min(begin + BATCH);
                let rows = connections.rows(begin..end).map_err(defect)?;
                let part = Part { name: found.name(), rows: &rows };
                all.append(columns.to_arrow(&self.parts([part])).map_err(defect)?);
            }
        }
        Ok(all.into())
    }
}

#[pymethods]
impl Analysis {
    /// A row for each retransmission, in the order of the capture.
    #[getter]
    fn retransmissions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(py, 0, || {
            let no_files = JoinedFiles::default();
            let first = self.found.first();
            let files = first.map_or(&no_files, |found| &found.summary[0].counts.files);
            let columns = analysis::retransmissions_in(files);
            self.of_rows(&columns, |found| &found.retransmissions.rows)
        })
    }

    /// A row for each connection, ordered by number.
    #[getter]
    fn connections<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(py, 1, || self.all_connections())
    }

    /// A row for each interval of time.
    #[getter]
    fn intervals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(py, 2, || self.of_rows(&analysis::intervals(), |found| &found.intervals))
    }

    /// A row for each capture: the totals.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(py, 3, || self.of_rows(&analysis::summaries(), |found| &found.summary))
    }

    /// The names of the captures, in order.
    #[getter]
    fn captures(&self) -> Vec<&str> {
        self.found.iter().map(Found::name).collect()
    }

    /// What the user should know of the captures.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Why captures could not be read.
    #[getter]
    fn failures(&self) -> Vec<String> {
        self.failures.clone()
    }

    /// The totals as text, as `recoup analyze` prints them.
    fn text(&self) -> String {
        let texts = self.found.iter().map(|found| {
            let [summary] = &found.summary;
            format!("{}\n\n{}", summary.capture, summary_tables(summary))
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Analyzes captures, joined or each by itself.
#[pyfunction]
pub fn analyze(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Analysis> {
    let input = settings::input(&captures, join)?;
    let settings = options.settings()?;
    let all: Captures<Everything> =
        watch::run(py, progress, |meter| analysis::analyze_all(input, &settings, meter, Everything::default))?;
    let failures = settings::failures(&all)?;
    let several = captures.len() > 1 && !join;
    let mut notes = Vec::new();
    for analyzed in &all.analyzed {
        let own = analyzed.notes().into_iter();
        notes.extend(own.map(|note| format!("{}: {note}", analyzed.capture)));
    }
    notes.extend(all.rotation);
    let found = py.detach(|| {
        let found = all.analyzed.into_iter().map(|analyzed| {
            let (connections, retransmissions, summary, intervals) = analyzed.divide();
            Found { connections, retransmissions, summary: [summary], intervals }
        });
        found.collect()
    });
    Ok(Analysis { found, several, notes, failures, tables: [const { PyOnceLock::new() }; 4] })
}
