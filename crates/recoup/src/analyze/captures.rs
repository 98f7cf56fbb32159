//! Captures, read and analyzed one after another.

use crate::{Failure, interrupt};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use recoup_lab::analysis::{self, Analyzed, View};
use recoup_trace::analyze::Settings;
use recoup_trace::read::Reader;
use std::path::PathBuf;

/// Opens every capture, then analyzes one after another, till the end or an interrupt.
pub fn analyze_all<V: View + Default>(
    captures: &[PathBuf],
    settings: &Settings,
) -> Result<Vec<Analyzed<V>>, Failure> {
    let open = |path: &PathBuf| {
        let reader = Reader::open(path)?;
        Ok::<_, Failure>((path.display().to_string(), reader))
    };
    let readers = captures.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let several = readers.len() > 1;
    let mut all = Vec::new();
    for (name, reader) in readers {
        let bar = progress(&reader);
        if several {
            bar.set_prefix(format!("{} ", said(&name)));
        }
        all.push(analyze_one(&name, reader, settings, &bar, V::default)?);
        if interrupt::noted() {
            break;
        }
    }
    Ok(all)
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
