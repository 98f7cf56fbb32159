//! `recoup.explain`.

use crate::errors::{capture, defect, wrong};
use crate::settings::{self, Options};
use crate::watch;
use pyo3::prelude::*;
use recoup_captures::analysis::Analyzed;
use recoup_captures::capture::Input;
use recoup_captures::explain::{
    self as captures, ExplainError, Facts, PageRequest, Report, SortBy, connection_text, explanation_text,
    write_explanations,
};
use recoup_support::suggest::did_you_mean;
use std::path::PathBuf;

/// Explanations of captures.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Explanation {
    explained: Vec<Analyzed<Facts>>,
    failures: Vec<String>,
}

#[pymethods]
impl Explanation {
    /// As `recoup explain` prints it.
    fn text(&self) -> String {
        let texts = self.explained.iter().map(|analyzed| {
            let command = format!("recoup explain {}", analyzed.capture);
            explanation_text(&Report::new(analyzed), &command)
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The main finding of each capture, a sentence each.
    #[getter]
    fn findings(&self) -> Vec<String> {
        let reports = self.explained.iter().map(Report::new);
        reports.map(|report| report.finding).collect()
    }

    /// The JSON document of `recoup explain --format json`.
    fn json(&self) -> PyResult<String> {
        let mut out = Vec::new();
        write_explanations(&self.explained, &mut out).map_err(defect)?;
        String::from_utf8(out).map_err(defect)
    }

    /// Why captures could not be read.
    #[getter]
    fn failures(&self) -> Vec<String> {
        self.failures.clone()
    }
}

/// What is explained; no capture is the built-in one.
fn input(captures: &[PathBuf], join: bool) -> PyResult<Input<'_>> {
    match captures {
        [] => Ok(Input::Demo),
        captures => settings::input(captures, join),
    }
}

fn order(name: &str) -> PyResult<SortBy> {
    let found = SortBy::ALL.into_iter().find(|order| order.name() == name);
    found.ok_or_else(|| {
        let names = SortBy::ALL.map(SortBy::name);
        let hint = did_you_mean(name, names);
        wrong(format_args!("sort {name}: expected {}{hint}", names.join(", ")))
    })
}

/// Explains captures, joined or each by itself.
#[pyfunction]
#[pyo3(signature = (captures, join, options, advice, sort, top, progress))]
#[allow(clippy::too_many_arguments)]
pub fn explain(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    advice: bool,
    sort: &str,
    top: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Explanation> {
    let input = input(&captures, join)?;
    let settings = options.settings()?;
    let order = order(sort)?;
    let view = || match advice {
        true => Facts::new(order, top).with_advice(),
        false => Facts::new(order, top),
    };
    let all = watch::run(py, progress, |meter| captures::explain(input, &settings, meter, view))?;
    let failures = settings::failures(&all)?;
    Ok(Explanation { explained: all.analyzed, failures })
}

/// Explains one connection as text.
#[pyfunction]
pub fn explain_connection(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    number: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let input = input(&captures, join)?;
    let settings = options.settings()?;
    let explained = watch::run(py, progress, |meter| captures::explain_connection(input, number, &settings, meter))?;
    let analyzed = explained.map_err(error)?;
    Ok(connection_text(&analyzed).unwrap_or_default())
}

/// The page of a capture: HTML.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn page(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    advice: bool,
    sort: &str,
    top: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let input = input(&captures, join)?;
    let settings = options.settings()?;
    let request = PageRequest { order: order(sort)?, most: top, first: None, advice };
    let page = watch::run(py, progress, |meter| {
        let page = captures::explain_as_page(input, request, &settings, meter);
        page.map(|page| page.to_html())
    })?;
    page.map_err(capture)
}

fn error(error: ExplainError) -> PyErr {
    match error {
        ExplainError::Analysis(error) => capture(error),
        error @ ExplainError::NoConnection { .. } => wrong(error),
    }
}
