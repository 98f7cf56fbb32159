//! Captures, read and analyzed one after another.

use crate::{Failure, interrupt};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use recoup_lab::analysis::{self, Analyzed, View};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{ReadError, Reader};
use std::path::{Path, PathBuf};

/// What became of captures.
pub struct All<V> {
    /// Those that could be read, in order.
    pub analyzed: Vec<Analyzed<V>>,
    /// How many were taken up, from the first: an interrupt leaves the others.
    pub taken_up: usize,
    /// Whether one of these could not be read. The user was told.
    pub failed: bool,
}

/// Checks that all captures are there, and no directories: what is wrong with one's name is told before
/// another is read. They are not opened: what comes through a pipe comes once.
pub fn check(captures: &[PathBuf]) -> Result<(), Failure> {
    for path in captures.iter().filter(|path| path.as_os_str() != "-") {
        let file = path.display().to_string();
        match path.metadata() {
            Ok(about) if about.is_dir() => return Err(ReadError::Directory { file }.into()),
            Ok(_) => {}
            Err(source) => return Err(ReadError::Unreadable { file, source }.into()),
        }
    }
    Ok(())
}

/// Analyzes one capture after another, till the last or an interrupt. What is wrong with one is told,
/// and the others are analyzed.
pub fn analyze_all<V: View + Default>(captures: &[PathBuf], settings: &Settings) -> All<V> {
    let mut all = All {
        analyzed: Vec::new(),
        taken_up: 0,
        failed: false,
    };
    for path in captures {
        all.taken_up += 1;
        match open_and_analyze(path, captures.len() > 1, settings) {
            Ok(analyzed) => all.analyzed.push(analyzed),
            Err(failure) => {
                failure.tell();
                all.failed = true;
            }
        }
        if interrupt::noted() {
            break;
        }
    }
    all
}

fn open_and_analyze<V: View + Default>(
    path: &Path,
    is_one_of_several: bool,
    settings: &Settings,
) -> Result<Analyzed<V>, Failure> {
    let name = path.display().to_string();
    let reader = Reader::open(path)?;
    let bar = progress(&reader);
    if is_one_of_several {
        bar.set_prefix(format!("{} ", said(&name)));
    }
    analyze_one(&name, reader, settings, &bar, V::default)
}

/// Analyzes a capture, till the end or an interrupt.
pub fn analyze_one<V: View>(
    name: &str,
    reader: Reader<'_>,
    settings: &Settings,
    bar: &ProgressBar,
    view: impl Fn() -> V,
) -> Result<Analyzed<V>, Failure> {
    let watch = |reader: &Reader<'_>| {
        bar.set_position(reader.taken());
        !interrupt::noted()
    };
    let analyzed = analysis::run(name, reader, settings, view, watch);
    bar.finish_and_clear();
    Ok(analyzed?)
}

/// A bar that appears when standard error is a terminal; of a capture whose size nobody knows, how
/// much of it was read.
pub fn progress(reader: &Reader<'_>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(5);
    let bar = ProgressBar::with_draw_target(reader.size(), target);
    let template = match reader.size() {
        Some(_) => "{prefix}{wide_bar} {decimal_bytes}/{decimal_total_bytes}{left}",
        None => "{prefix}{spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
    };
    // Before anything is read nobody knows how long the rest takes.
    let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let known = state.pos() > 0;
        let _ = known.then(|| write!(to, ", {:#} left", HumanDuration(state.eta())));
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("left", left));
    }
    bar
}

/// What notes call a capture.
pub fn said(capture: &str) -> &str {
    match capture {
        "-" => "standard input",
        name => name,
    }
}
