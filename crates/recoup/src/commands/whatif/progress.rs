//! The progress of reruns: a bar for the reading, and one for the connections.

use crate::commands::analyze::CaptureBar;
use crate::commands::analyze::call::Progress;
use crate::commands::whatif::call::RerunProgress;
use crate::console;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::{Mutex, PoisonError};

/// Shows the progress of reruns, and ends them after an interrupt.
pub(crate) struct RerunBar {
    reading: CaptureBar,
    reruns: Mutex<Option<ProgressBar>>,
}

impl RerunBar {
    pub fn new(is_one_of_several: bool) -> Self {
        Self { reading: CaptureBar::new(is_one_of_several), reruns: Mutex::new(None) }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Option<ProgressBar>) -> R) -> R {
        act(&mut self.reruns.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Progress for RerunBar {
    fn capture_begins(&self, name: &str, size: Option<u64>) {
        self.reading.capture_begins(name, size);
    }

    fn bytes_read(&self, bytes: u64) {
        self.reading.bytes_read(bytes);
    }

    fn capture_ends(&self) {
        self.with(|bar| bar.take().inspect(ProgressBar::finish_and_clear));
        self.reading.capture_ends();
    }

    fn is_stopped(&self) -> bool {
        self.reading.is_stopped()
    }
}

impl RerunProgress for RerunBar {
    fn rerun(&self, done: u64, all: u64) {
        self.with(|shown| {
            let bar = shown.get_or_insert_with(|| {
                self.reading.capture_ends();
                bar(all)
            });
            bar.set_position(done);
        });
    }
}

fn bar(all: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(all), console::progress_target());
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} connections") {
        bar.set_style(style);
    }
    bar
}
