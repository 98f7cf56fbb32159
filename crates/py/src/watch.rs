//! Long calls: they run on a thread of their own, without the GIL. The calling thread meanwhile looks for signals and
//! reports progress, so that Ctrl-C ends a call and no worker ever waits for the GIL.

use crate::errors::defect;
use pyo3::prelude::*;
use recoup::commands::run::call as run_call;
use recoup_captures::capture::Progress;
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often the calling thread looks for signals and reports progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The unit of connections that are run again.
const RERUNS: &str = "connections";

/// How far a call is. Workers write it, the calling thread reads it.
#[derive(Debug, Default)]
pub struct Meter {
    done: AtomicU64,
    /// 0: not known.
    all: AtomicU64,
    stopped: AtomicBool,
    /// What is being done: a capture, a stage, and the unit of what is counted.
    what: Mutex<(String, &'static str)>,
}

impl Meter {
    fn begins(&self, what: &str, unit: &'static str, all: u64) {
        *self.what.lock().unwrap_or_else(PoisonError::into_inner) = (what.to_owned(), unit);
        self.done.store(0, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
    }

    /// This much more is done.
    pub fn add(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Whether to end early.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn what(&self) -> (String, &'static str) {
        let what = self.what.lock().unwrap_or_else(PoisonError::into_inner);
        what.clone()
    }

    /// Calls `report(done, all, what, unit)`; `all` is `None` if it is not known.
    fn report(&self, report: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(report) = report else {
            return Ok(());
        };
        let (what, unit) = self.what();
        let done = self.done.load(Ordering::Relaxed);
        let all = Some(self.all.load(Ordering::Relaxed)).filter(|all| *all > 0);
        report.call1((done, all, what, unit)).map(drop)
    }
}

/// Runs `work`. `report` is called with its progress.
///
/// # Errors
/// KeyboardInterrupt, what another signal's handler raises, what `report` raises, and a defect that made `work` panic.
pub fn run<T: Send>(
    py: Python<'_>,
    report: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Meter) -> T + Send,
) -> PyResult<T> {
    let meter = Meter::default();
    let (send, mut receive) = sync_channel(1);
    let result = std::thread::scope(|scope| {
        let meter = &meter;
        let worker = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Whoever waits for it is there until this thread has ended.
            let _ = send.send(work(meter));
        })?;
        let mut stopped_by = None;
        let result = loop {
            let waited;
            (waited, receive) = py.detach(move || (receive.recv_timeout(INTERVAL), receive));
            match waited {
                Ok(result) => break Some(result),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) if stopped_by.is_some() => {}
                Err(RecvTimeoutError::Timeout) => {
                    let signals = py.check_signals();
                    stopped_by = signals.and_then(|()| meter.report(report)).err();
                    let is_stopped = stopped_by.is_some();
                    meter.stopped.store(is_stopped, Ordering::Relaxed);
                }
            }
        };
        let ended = py.detach(|| worker.join());
        match (stopped_by, result, ended) {
            (Some(error), ..) => Err(error),
            (None, Some(result), _) => Ok(result),
            (None, None, ended) => Err(defect(panic_text(ended.err()))),
        }
    });
    if result.is_ok() {
        meter.report(report)?;
    }
    result
}

/// What a worker said as it panicked.
fn panic_text(panic: Option<Box<dyn Any + Send>>) -> String {
    let said = panic.as_ref().and_then(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied())
    });
    format!("a defect of Recoup: {}", said.unwrap_or("a worker panicked"))
}

impl Progress for Meter {
    fn capture_begins(&self, name: &str, size: Option<u64>) {
        self.begins(name, "bytes", size.unwrap_or(0));
    }

    fn bytes_read(&self, bytes: u64) {
        self.done.store(bytes, Ordering::Relaxed);
    }

    fn rerun(&self, done: u64, all: u64) {
        if done == 0 || self.what().1 != RERUNS {
            let (capture, _) = self.what();
            self.begins(&capture, RERUNS, all);
        }
        self.done.store(done, Ordering::Relaxed);
    }

    fn capture_ends(&self) {
        let all = self.all.load(Ordering::Relaxed);
        if all > 0 && !self.is_stopped() {
            self.done.store(all, Ordering::Relaxed);
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped()
    }
}

impl run_call::Progress for Meter {
    fn begins(&self, work: run_call::Work, size: u64) {
        match work {
            run_call::Work::Flows(stage) => self.begins(stage.name(), "flows", size),
            run_call::Work::SimulatedTime => self.begins("simulated time", "ms", size),
        }
    }

    fn advanced(&self, by: u64) {
        self.add(by);
    }

    fn ends(&self) {}

    fn is_stopped(&self) -> bool {
        self.is_stopped()
    }
}
