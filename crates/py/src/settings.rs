//! How captures are analyzed: the arguments of Python as the settings of the analysis.

use crate::errors::{capture, wrong};
use pyo3::prelude::*;
use recoup_captures::capture::{Captures, Input};
use recoup_captures::filter::Filter;
use recoup_captures::time_window::parse_time;
use recoup_support::profile::parse_profile;
use recoup_support::quantity::parse_duration;
use recoup_trace::analyze::{ConnectionFilter, Settings, TimeWindow};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// The settings, with a timeline.
    pub fn settings(&self) -> PyResult<Settings> {
        let usual = Settings::default();
        let filter = self.filter.as_deref().map(|text| {
            let parsed = text.parse::<Filter>();
            parsed.map_err(|e| wrong(format_args!("filter {text}: {e}")))
        });
        let time = |name: &str, text: &Option<String>| {
            let text = text.as_deref();
            let parsed = text.map(|text| parse_time(text).map_err(|e| wrong(format_args!("{name} {text}: {e}"))));
            parsed.transpose()
        };
        let window = TimeWindow { from: time("start", &self.start)?, to: time("end", &self.end)? };
        if window.is_empty() {
            return Err(wrong("no time in between: expected start before end"));
        }
        let profile = self.profile.as_deref().map(|text| {
            let all = "`recoup profiles` lists what there is";
            parse_profile(text).map_err(|e| wrong(format_args!("profile {text}: {e} ({all})")))
        });
        let idle = self.idle.as_deref().map(|text| match parse_duration(text) {
            Ok(idle) if idle.is_zero() => Err(wrong("idle: expected more than 0")),
            parsed => parsed.map_err(|e| wrong(format_args!("idle: {e}"))),
        });
        let threads = match self.threads {
            Some(number @ 1..=1024) => number - 1,
            Some(_) => return Err(wrong("threads: expected a number from 1 to 1024")),
            None => usual.threads,
        };
        let filter = filter.transpose()?;
        Ok(Settings {
            profile: profile.transpose()?,
            idle: idle.transpose()?.unwrap_or(usual.idle),
            threads,
            filter: filter.map(|filter| Arc::new(filter) as Arc<dyn ConnectionFilter>),
            window,
            timeline: true,
            ..usual
        })
    }
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
