//! Captures, read and analyzed one after another.

use crate::{Failure, console, interrupt};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use recoup_lab::analysis::{self, Analyzed, View};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{ReadError, Reader};
use std::path::{Path, PathBuf};

/// The captures that were analyzed.
pub struct AnalyzedCaptures<V> {
    /// Those that could be read, in order.
    pub analyzed: Vec<Analyzed<V>>,
    /// How many captures were begun, in order. An interrupt leaves the others unread.
    pub begun: usize,
    /// Whether one of them could not be read. Its error was printed.
    pub failed: bool,
}

/// Checks that all captures exist and none is a directory, so that a wrong name is reported before the
/// first capture is read. It does not open them: a pipe can be read only once.
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

/// Analyzes one capture after another, until the last or an interrupt. Prints the error of a capture
/// that cannot be read, and goes on with the next.
pub fn analyze_all<V: View + Default>(
    captures: &[PathBuf],
    settings: &Settings,
) -> AnalyzedCaptures<V> {
    let mut all = AnalyzedCaptures {
        analyzed: Vec::new(),
        begun: 0,
        failed: false,
    };
    for path in captures {
        all.begun += 1;
        match open_and_analyze(path, captures.len() > 1, settings) {
            Ok(analyzed) => all.analyzed.push(analyzed),
            Err(failure) => {
                failure.print();
                all.failed = true;
            }
        }
        if interrupt::is_interrupted() {
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
        bar.set_prefix(format!("{} ", display_name(&name)));
    }
    analyze_one(&name, reader, settings, &bar, V::default)
}

/// Analyzes a capture, until its end or an interrupt.
pub fn analyze_one<V: View>(
    name: &str,
    reader: Reader<'_>,
    settings: &Settings,
    bar: &ProgressBar,
    view: impl Fn() -> V,
) -> Result<Analyzed<V>, Failure> {
    let watch = |reader: &Reader<'_>| {
        bar.set_position(reader.taken());
        !interrupt::is_interrupted()
    };
    let analyzed = analysis::run(name, reader, settings, view, watch);
    bar.finish_and_clear();
    Ok(analyzed?)
}

/// A progress bar, drawn when standard error is a terminal. Without a known size it shows the bytes
/// read.
pub fn progress(reader: &Reader<'_>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(reader.size(), console::progress_target());
    let template = match reader.size() {
        Some(_) => "{prefix}{wide_bar} {decimal_bytes}/{decimal_total_bytes}{left}",
        None => "{prefix}{spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
    };
    // There is no estimate before the first packet is read.
    let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let known = state.pos() > 0;
        let _ = known.then(|| write!(to, ", {:#} left", HumanDuration(state.eta())));
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("left", left));
    }
    bar
}

/// The name of a capture in notes and tables.
pub fn display_name(capture: &str) -> &str {
    match capture {
        "-" => "standard input",
        name => name,
    }
}
