//! `recoup.explain`.

use crate::errors::{capture, defect, wrong};
use crate::settings::{self, Options};
use crate::table::Table;
use crate::watch;
use pyo3::prelude::*;
use recoup_captures::analysis::Analyzed;
use recoup_captures::capture::Input;
use recoup_captures::explain::{
    self as captures, ExplainError, Facts, GroupBy, PageRequest, Report, SortBy, TextShape, Total, connection_text,
    explanation_text, group_columns, group_rows, page_without_diagrams, write_explanations,
};
use recoup_support::suggest::did_you_mean;
use recoup_table::Part;
use recoup_trace::analyze::Settings;
use std::path::PathBuf;

/// Connections that a text lists.
const LISTED: usize = 3;

/// Explanations of captures.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Explanation {
    explained: Vec<Analyzed<Facts>>,
    /// All captures together, if there are several.
    total: Option<Total>,
    failures: Vec<String>,
}

#[pymethods]
impl Explanation {
    /// As `recoup explain --all` prints it, with three connections.
    fn text(&self) -> String {
        let shape = |capture: &str| TextShape {
            lines: None,
            connections: LISTED,
            groups: usize::MAX,
            one_connection: format!("recoup explain {capture} --connection"),
            option: "--",
            all: "",
        };
        match (&self.total, self.explained.as_slice()) {
            (Some(total), _) => explanation_text(&Report::of_all(total), &shape("CAPTURE")),
            (None, all) => {
                let texts = all.iter().map(|one| explanation_text(&Report::new(one), &shape(&one.capture)));
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The main finding of each capture, a sentence each.
    #[getter]
    fn findings(&self) -> Vec<String> {
        let reports = self.explained.iter().map(Report::new);
        reports.map(|report| report.finding).collect()
    }

    /// A row for each group of connections, of all captures together.
    #[getter]
    fn groups(&self) -> PyResult<Table> {
        let rows = match (&self.total, self.explained.first()) {
            (Some(total), _) => group_rows(&total.facts),
            (None, Some(one)) => group_rows(&one.findings),
            (None, None) => Vec::new(),
        };
        Table::new(&group_columns(), &[Part { name: "", rows: &rows }])
    }

    /// The JSON document of `recoup explain --format json`.
    fn json(&self) -> PyResult<String> {
        let mut out = Vec::new();
        write_explanations(&self.explained, self.total.as_ref(), &mut out).map_err(defect)?;
        String::from_utf8(out).map_err(defect)
    }

    /// A page for each capture, without diagrams, from what is in memory: its name and the HTML. `rows`: connections in
    /// its table.
    fn pages(&self, rows: usize) -> Vec<(String, String)> {
        let pages = self.explained.iter();
        pages.map(|analyzed| (analyzed.capture.clone(), page_without_diagrams(analyzed, rows).to_html())).collect()
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

fn groups(by: &[String]) -> PyResult<Vec<GroupBy>> {
    let read = |name: &String| name.parse().map_err(|why| wrong(format_args!("by {name}: {why}")));
    by.iter().map(read).collect()
}

/// Explains captures, joined or each by itself.
#[pyfunction]
#[pyo3(signature = (captures, join, options, advice, sort, top, by, progress))]
#[allow(clippy::too_many_arguments)]
pub fn explain(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    advice: bool,
    sort: &str,
    top: usize,
    by: Vec<String>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Explanation> {
    let input = input(&captures, join)?;
    // A page draws what happened over time.
    let settings = Settings { timeline: true, ..options.settings()? };
    let (order, by) = (order(sort)?, groups(&by)?);
    let view = || {
        let facts = Facts::new(order, top).with_groups(&by);
        if advice { facts.with_advice() } else { facts }
    };
    let all = watch::run(py, progress, |meter| captures::explain(input, &settings, meter, view))?;
    let failures = settings::failures(&all)?;
    let total = (captures.len() > 1 && !join).then(|| {
        let mut total = Total::new(order, top, &by);
        all.analyzed.iter().for_each(|analyzed| total.add(analyzed));
        total
    });
    Ok(Explanation { explained: all.analyzed, total, failures })
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
    let shape = TextShape {
        lines: None,
        connections: LISTED,
        groups: usize::MAX,
        one_connection: String::new(),
        option: "--",
        all: "",
    };
    Ok(connection_text(&analyzed, &shape).unwrap_or_default())
}

/// The page of a capture: HTML.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (captures, join, options, advice, sort, top, by, progress))]
pub fn page(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    advice: bool,
    sort: &str,
    top: usize,
    by: Vec<String>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let input = input(&captures, join)?;
    let settings = options.settings()?;
    let by = groups(&by)?;
    let request = PageRequest { order: order(sort)?, most: top, first: None, advice, by: &by };
    let page = watch::run(py, progress, |meter| {
        let made = captures::explain_as_page(input, request, &settings, meter);
        (made.page.map(|page| page.to_html()), made.failures)
    })?;
    let (html, mut failures) = page;
    match (html, failures.is_empty()) {
        (Some(html), _) => Ok(html),
        (None, true) => Err(defect("no capture was read")),
        (None, false) => Err(capture(failures.remove(0))),
    }
}

fn error(error: ExplainError) -> PyErr {
    match error {
        ExplainError::Analysis(error) => capture(error),
        error @ ExplainError::NoConnection { .. } => wrong(error),
    }
}
