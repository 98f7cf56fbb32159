//! `recoup.whatif`.

use crate::errors::wrong;
use crate::settings::{self, Options};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use recoup_captures::analysis::Analyzed;
use recoup_captures::whatif::{Alternative, Answer, Request, answer_text, predictions, results, what_if};
use recoup_table::Part;
use std::path::PathBuf;

/// What other loss recovery would have changed in captures.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Answers {
    answers: Vec<Analyzed<Answer>>,
    failures: Vec<String>,
}

#[pymethods]
impl Answers {
    /// A row for each mechanism: what it would have changed.
    #[getter]
    fn results(&self) -> PyResult<Table> {
        let parts =
            self.answers.iter().map(|analyzed| Part { name: &analyzed.capture, rows: &analyzed.findings.results });
        Table::new(&results(), &parts.collect::<Vec<_>>())
    }

    /// A row for each connection and mechanism: what is predicted.
    #[getter]
    fn connections(&self) -> PyResult<Table> {
        let rows = self.answers.iter().map(|analyzed| analyzed.findings.predictions());
        let rows: Vec<_> = rows.collect();
        let parts = self.answers.iter().zip(&rows).map(|(analyzed, rows)| Part { name: &analyzed.capture, rows });
        Table::new(&predictions(), &parts.collect::<Vec<_>>())
    }

    /// As `recoup whatif` prints it.
    fn text(&self) -> String {
        self.answers.iter().map(answer_text).collect::<Vec<_>>().join("\n")
    }

    /// What the user should know.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let notes = self.answers.iter().flat_map(|analyzed| {
            let own = analyzed.notes().into_iter();
            own.chain(analyzed.findings.notes.iter().cloned())
        });
        notes.collect()
    }

    /// Why captures could not be read.
    #[getter]
    fn failures(&self) -> Vec<String> {
        self.failures.clone()
    }
}

/// Runs the connections of captures again with other settings or loss recovery.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn whatif(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    alternatives: Vec<String>,
    draws: u32,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Answers> {
    let input = settings::input(&captures, join)?;
    let settings = options.settings()?;
    if !(2..=1000).contains(&draws) {
        return Err(wrong(format_args!("draws {draws}: expected 2 to 1000")));
    }
    let alternatives = alternatives.iter().map(|text| {
        let all = "`recoup profiles` lists what there is";
        let parsed = Alternative::parse(text);
        parsed.map_err(|e| wrong(format_args!("{text}: {e} ({all})")))
    });
    let request = Request { alternatives: alternatives.collect::<PyResult<_>>()?, draws, seed, names_profile: true };
    let all =
        watch::run(py, progress, |meter| input.each(meter, |capture| what_if(capture, &request, &settings, meter)))?;
    let failures = settings::failures(&all)?;
    Ok(Answers { answers: all.analyzed, failures })
}
