//! `recoup.analyze`.

use crate::errors::defect;
use crate::settings::{self, Options};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use recoup_captures::analysis::{
    self, AllIntervals, AllRetransmissions, Analyzed, Everything, Interval, PackedConnections, Summary, summary_tables,
};
use recoup_captures::capture::Captures;
use recoup_table::{Columns, Part};
use recoup_trace::analyze::Settings;
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
    tables: [PyOnceLock<Py<Table>>; 5],
}

/// What was found in a capture.
struct Found {
    connections: PackedConnections,
    retransmissions: AllRetransmissions,
    summary: [Analyzed<Summary>; 1],
    /// `None` if they were not asked for.
    intervals: Option<Vec<Interval>>,
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

    fn parts<'a, R>(&self, parts: impl IntoIterator<Item = Part<'a, R>>) -> Vec<Part<'a, R>> {
        with_names(parts, self.several)
    }

    /// The time lost, of a batch of connections at a time.
    fn all_episodes(&self) -> PyResult<Table> {
        let columns = analysis::episodes();
        let mut all = columns.to_arrow(&self.parts([])).map_err(defect)?;
        for found in &self.found {
            for rows in analysis::packed_episodes(&found.connections, &found.retransmissions.rows, BATCH) {
                let part = Part { name: found.name(), rows: &rows.map_err(defect)? };
                all.append(columns.to_arrow(&self.parts([part])).map_err(defect)?);
            }
        }
        Ok(all.into())
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

    /// A row for each interval of time; None if `analyze` was not asked for them.
    #[getter]
    fn intervals<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Table>>> {
        if self.found.iter().any(|found| found.intervals.is_none()) {
            return Ok(None);
        }
        let of_rows = || self.of_rows(&analysis::intervals(), |found| found.intervals.as_deref().unwrap_or_default());
        self.table(py, 2, of_rows).map(Some)
    }

    /// A row for each episode of lost time.
    #[getter]
    fn episodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(py, 4, || self.all_episodes())
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

/// Analyzes captures, joined or each by itself. `intervals`: collects the traffic over time, too.
#[pyfunction]
pub fn analyze(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    intervals: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Analysis> {
    let input = settings::input(&captures, join)?;
    let settings = Settings { timeline: intervals, ..options.settings()? };
    let view = || match intervals {
        true => Everything::with_intervals(),
        false => Everything::default(),
    };
    let all: Captures<Everything> =
        watch::run(py, progress, |meter| analysis::analyze_all(input, &settings, meter, view))?;
    let failures = settings::failures(&all)?;
    let several = is_several(&captures, join);
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
    Ok(Analysis { found, several, notes, failures, tables: [const { PyOnceLock::new() }; 5] })
}

/// The traffic of captures over time: a row for each interval.
#[pyfunction]
pub fn intervals(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let input = settings::input(&captures, join)?;
    let settings = Settings { timeline: true, ..options.settings()? };
    let all: Captures<AllIntervals> =
        watch::run(py, progress, |meter| analysis::analyze_all(input, &settings, meter, AllIntervals::default))?;
    settings::failures(&all)?;
    let rows: Vec<Vec<Interval>> = all.analyzed.iter().map(|analyzed| analyzed.findings.intervals()).collect();
    let parts = all.analyzed.iter().zip(&rows).map(|(analyzed, rows)| Part { name: &analyzed.capture, rows });
    Table::new(&analysis::intervals(), &with_names(parts, is_several(&captures, join)))
}

/// Whether tables name the capture of each row.
fn is_several(captures: &[PathBuf], join: bool) -> bool {
    captures.len() > 1 && !join
}

/// These parts of a table. With `several`, its columns are those of several captures even where one alone could be read.
fn with_names<'a, R>(parts: impl IntoIterator<Item = Part<'a, R>>, several: bool) -> Vec<Part<'a, R>> {
    let mut parts: Vec<Part<'a, R>> = parts.into_iter().collect();
    while several && parts.len() < 2 {
        parts.push(Part { name: "", rows: &[] });
    }
    parts
}
