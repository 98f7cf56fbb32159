//! `recoup.analyze`.

use crate::settings::{self, Options};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use recoup_api::analyze::{Captures, analyze_all, analyze_joined};
use recoup_lab::analysis::{
    self, AllConnections, AllRetransmissions, Analyzed, Everything, Interval, Summary,
    summary_tables,
};
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
    connections: AllConnections,
    retransmissions: AllRetransmissions,
    summary: [Analyzed<Summary>; 1],
    intervals: Vec<Interval>,
}

impl Found {
    fn name(&self) -> &str {
        &self.summary[0].capture
    }
}

impl Analysis {
    /// A table of rows that each capture has, made once.
    fn table<'py, R: 'static>(
        &self,
        py: Python<'py>,
        number: usize,
        columns: impl FnOnce(&JoinedFiles) -> Columns<R> + Send,
        rows: impl Fn(&Found) -> &[R] + Send + Sync,
    ) -> PyResult<Bound<'py, Table>>
    where
        R: Sync,
    {
        let make = || {
            let table = py.detach(|| {
                let no_files = JoinedFiles::default();
                let first = self
                    .found
                    .first()
                    .map(|found| &found.summary[0].counts.files);
                let parts = self.found.iter().map(|found| Part {
                    name: found.name(),
                    rows: rows(found),
                });
                let mut parts: Vec<Part<'_, R>> = parts.collect();
                // The columns are those of several captures even where one alone could be read.
                if self.several && parts.len() < 2 {
                    parts.push(Part {
                        name: "",
                        rows: &[],
                    });
                }
                Table::new(&columns(first.unwrap_or(&no_files)), &parts)
            });
            Py::new(py, table?)
        };
        let table = self.tables[number].get_or_try_init(py, make)?;
        Ok(table.bind(py).clone())
    }
}

#[pymethods]
impl Analysis {
    /// A row for each retransmission, in the order of the capture.
    #[getter]
    fn retransmissions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        let columns = analysis::retransmissions_in;
        self.table(py, 0, columns, |found| &found.retransmissions.rows)
    }

    /// A row for each connection, ordered by number.
    #[getter]
    fn connections<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(
            py,
            1,
            |_| analysis::connections(),
            |found| &found.connections.rows,
        )
    }

    /// A row for each interval of time.
    #[getter]
    fn intervals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(py, 2, |_| analysis::intervals(), |found| &found.intervals)
    }

    /// A row for each capture: the totals.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Table>> {
        self.table(py, 3, |_| analysis::summaries(), |found| &found.summary)
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
    settings::check(&captures)?;
    let settings = options.settings()?;
    let all: Captures<Everything> = watch::run(py, progress, |meter| match join {
        true => analyze_joined(&captures, &settings, meter, Everything::default),
        false => analyze_all(&captures, &settings, meter, Everything::default),
    })?;
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
            Found {
                connections,
                retransmissions,
                summary: [summary],
                intervals,
            }
        });
        found.collect()
    });
    Ok(Analysis {
        found,
        several,
        notes,
        failures,
        tables: [const { PyOnceLock::new() }; 4],
    })
}
