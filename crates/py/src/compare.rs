//! `recoup.compare`.

use crate::errors::{capture, defect, wrong};
use crate::settings::{self, Options};
use crate::watch;
use pyo3::prelude::*;
use recoup_captures::capture::Input;
use recoup_captures::compare::{self as captures, Expectation, comparison_page, comparison_text, write_comparison};
use recoup_captures::whatif::{Alternative, Request};
use std::path::PathBuf;

/// Two captures beside each other.
#[pyclass(frozen, module = "recoup._recoup")]
pub struct Comparison(captures::Comparison);

#[pymethods]
impl Comparison {
    /// As `recoup compare` prints it.
    fn text(&self) -> String {
        comparison_text(&self.0)
    }

    /// The JSON document of `recoup compare --format json`.
    fn json(&self) -> PyResult<String> {
        let mut out = Vec::new();
        write_comparison(&self.0, &mut out).map_err(defect)?;
        String::from_utf8(out).map_err(defect)
    }

    /// The page: HTML.
    fn page(&self) -> String {
        comparison_page(&self.0).to_html()
    }
}

/// The files of one capture.
fn input(files: &[PathBuf]) -> PyResult<Input<'_>> {
    settings::input(files, files.len() > 1)
}

/// Compares two captures, the files of each joined.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    before: Vec<PathBuf>,
    after: Vec<PathBuf>,
    options: Options,
    alternative: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let [one, other] = [input(&before)?, input(&after)?];
    let settings = options.settings()?;
    let expectation = alternative.map(|text| {
        let parsed = Alternative::parse(text).map_err(|e| wrong(format_args!("{text}: {e}")));
        parsed.map(|alternative| {
            Expectation::Rerun(Request { alternatives: vec![alternative], draws: 10, seed: 1, names_profile: false })
        })
    });
    let expectation = expectation.transpose()?;
    let compared =
        watch::run(py, progress, |meter| captures::compare(one, other, expectation.as_ref(), &settings, meter))?;
    compared.map(Comparison).map_err(capture)
}
