//! The progress bar of an analysis.

use crate::commands::analyze::call::Progress;
use crate::{console, interrupt};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::sync::{Mutex, PoisonError};

/// Shows the progress of an analysis, and ends it after an interrupt.
pub(crate) struct CaptureBar {
    bar: Mutex<ProgressBar>,
    /// Whether the bar names the capture.
    is_one_of_several: bool,
}

impl CaptureBar {
    pub fn new(is_one_of_several: bool) -> Self {
        Self { bar: Mutex::new(ProgressBar::hidden()), is_one_of_several }
    }

    fn with(&self, act: impl FnOnce(&mut ProgressBar)) {
        act(&mut self.bar.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for CaptureBar {
    fn capture_begins(&self, name: &str, size: Option<u64>) {
        let bar = bar(size);
        if self.is_one_of_several {
            bar.set_prefix(format!("{} ", display_name(name)));
        }
        self.with(|shown| *shown = bar);
    }

    fn bytes_read(&self, bytes: u64) {
        self.with(|bar| bar.set_position(bytes));
    }

    fn capture_ends(&self) {
        self.with(|bar| bar.finish_and_clear());
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_interrupted()
    }
}

/// A progress bar, drawn when standard error is a terminal. Without a known size it shows the bytes
/// read.
fn bar(size: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(size, console::progress_target());
    let template = match size {
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
