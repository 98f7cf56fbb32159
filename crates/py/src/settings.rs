//! How captures are analyzed: the arguments of Python as the settings of the analysis.

use crate::errors::{capture, wrong};
use pyo3::prelude::*;
use recoup::analysis_args::{AnalysisArgs, AnalysisArgsError, parse_idle, parse_threads};
use recoup_captures::capture::{Captures, Input};
use recoup_captures::filter::Filter;
use recoup_captures::time_window::parse_time;
use recoup_trace::analyze::Settings;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The arguments that every analysis takes.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub struct Options {
    filter: Option<String>,
    start: Option<String>,
    end: Option<String>,
    profile: Option<String>,
    idle: Option<String>,
    threads: Option<usize>,
}

impl Options {
    /// The settings.
    pub fn settings(&self) -> PyResult<Settings> {
        let time = |name, text: &Option<String>| parsed(name, text, parse_time);
        let args = AnalysisArgs {
            filter: parsed("filter", &self.filter, str::parse::<Filter>)?,
            from: time("start", &self.start)?,
            to: time("end", &self.end)?,
            profile: self.profile.clone(),
            idle: match &self.idle {
                Some(text) => parse_idle(text).map_err(|e| wrong(format_args!("idle: {e}")))?,
                None => Settings::default().idle,
            },
            threads: self.threads,
            guard_log: Vec::new(),
        };
        if let Some(threads) = self.threads {
            parse_threads(&threads.to_string()).map_err(|e| wrong(format_args!("threads: {e}")))?;
        }
        args.settings().map_err(|error| match error {
            AnalysisArgsError::EmptyWindow(_) => wrong("no time in between: expected start before end"),
            // Python's arguments have no dashes.
            unknown => wrong(unknown.to_string().trim_start_matches('-')),
        })
    }
}

/// An argument as its value.
fn parsed<T, E: Display>(
    name: &str,
    text: &Option<String>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> PyResult<Option<T>> {
    let value = text.as_deref().map(|text| parse(text).map_err(|e| wrong(format_args!("{name} {text}: {e}"))));
    value.transpose()
}

/// What is read. Checks that captures exist and none is a folder, before the first is read.
pub fn input(captures: &[PathBuf], join: bool) -> PyResult<Input<'_>> {
    let stdin = captures.iter().find(|path| path.as_path() == Path::new("-"));
    match stdin {
        Some(_) => Err(wrong("-: expected a file, or a binary file object such as sys.stdin.buffer")),
        None => Input::new(captures, join).map_err(capture),
    }
}

/// What cannot be read of some captures, a line each. If nothing could be analyzed, the first of them is raised.
pub fn failures<V>(all: &Captures<V>) -> PyResult<Vec<String>> {
    let mut lines: Vec<String> = all.failures.iter().map(ToString::to_string).collect();
    match all.analyzed.is_empty() && !lines.is_empty() {
        true => Err(capture(lines.remove(0))),
        false => Ok(lines),
    }
}
