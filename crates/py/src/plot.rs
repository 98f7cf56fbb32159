//! Time–sequence diagrams of connections.

use crate::errors::{capture, wrong};
use crate::settings::{self, Options};
use crate::watch;
use pyo3::prelude::*;
use recoup::commands::plot::call::{PlotError, Request, draw};
use recoup_captures::diagram::source::{Choice, Directions};
use recoup_draw::look::{Look, Theme, Width};
use std::path::PathBuf;

/// The diagram of a connection of a capture as SVG.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn plot(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    join: bool,
    options: Options,
    connection: u64,
    width: Option<&str>,
    dark: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let input = settings::input(&captures, join)?;
    let settings = options.settings()?;
    if captures.len() > 1 && !join {
        return Err(wrong("plot: expected one capture, or join=True"));
    }
    let request = Request {
        input,
        choice: Choice { connection: Some(connection), directions: Directions::All, ..Choice::default() },
        settings: &settings,
        title: None,
        from: None,
        to: None,
    };
    let usual = Look::default();
    let width = width.map(|text| {
        let width = text.parse::<Width>();
        width.map_err(|e| wrong(format_args!("width {text}: {e}")))
    });
    let look = Look {
        width: width.transpose()?.unwrap_or(usual.width),
        theme: match dark {
            true => Theme::Dark,
            false => Theme::Light,
        },
    };
    let drawing = watch::run(py, progress, |meter| draw(&request, meter))?;
    let drawing = drawing.map_err(error)?;
    Ok(drawing.diagram.map_err(error)?.to_svg_as(&look))
}

fn error(error: PlotError) -> PyErr {
    match error {
        PlotError::Source(error) => capture(error),
        other => wrong(other),
    }
}
