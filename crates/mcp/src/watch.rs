//! Watches the work of a call: ends it, and reports its progress.

use recoup_captures::capture::Progress;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// The time between two reports.
const EVERY: Duration = Duration::from_millis(500);

/// A report: how long the work has taken, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// In seconds; it increases from report to report, as the protocol asks for.
    pub seconds: f64,
    /// Such as `read 12 of 40 MB`.
    pub message: String,
}

/// The work of a call.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    deadline: Instant,
    stopped: AtomicBool,
    /// The size of the capture in bytes; 0 if it is not known.
    size: AtomicU64,
    /// Where reports go, if the client wants any, and when the last one went.
    reports: Option<Mutex<(UnboundedSender<Report>, Instant)>>,
}

impl Watch {
    /// Work that begins now and ends at the deadline.
    pub fn new(deadline: Instant, reports: Option<UnboundedSender<Report>>) -> Self {
        let begun = Instant::now();
        Self {
            begun,
            deadline,
            stopped: AtomicBool::new(false),
            size: AtomicU64::new(0),
            reports: reports.map(|sender| Mutex::new((sender, begun))),
        }
    }

    /// Ends the work soon.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn report(&self, message: impl Fn() -> String) {
        let Some(reports) = &self.reports else {
            return;
        };
        let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now.duration_since(reports.1) >= EVERY {
            reports.1 = now;
            let seconds = now.duration_since(self.begun).as_secs_f64();
            // Without a receiver the call is over.
            _ = reports.0.send(Report { seconds, message: message() });
        }
    }
}

impl Progress for Watch {
    fn capture_begins(&self, _: &str, size: Option<u64>) {
        self.size.store(size.unwrap_or_default(), Ordering::Relaxed);
    }

    fn bytes_read(&self, bytes: u64) {
        let mega = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
        self.report(|| match self.size.load(Ordering::Relaxed) {
            0 => format!("read {} MB", mega(bytes)),
            size => format!("read {} of {} MB", mega(bytes), mega(size)),
        });
    }

    fn rerun(&self, done: u64, all: u64) {
        self.report(|| format!("ran {done} of {all} connections again"));
    }

    fn capture_ends(&self) {}

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[test]
    fn work_ends_at_its_deadline_or_before() {
        let later = Instant::now() + Duration::from_secs(3600);
        let watch = Watch::new(later, None);
        assert!(!watch.is_stopped());
        watch.stop();
        assert!(watch.is_stopped());
        assert!(Watch::new(Instant::now(), None).is_stopped());
    }

    #[test]
    fn reports_are_rare_and_say_how_far_the_work_is() {
        let (sender, mut receiver) = unbounded_channel();
        let watch = Watch::new(Instant::now() + Duration::from_secs(3600), Some(sender));
        watch.capture_begins("x", Some(40_000_000));
        watch.bytes_read(1);
        std::thread::sleep(EVERY);
        watch.bytes_read(12_000_000);
        watch.bytes_read(13_000_000);
        let report = receiver.try_recv().expect("a report");
        assert_eq!(report.message, "read 12.0 of 40.0 MB");
        assert!(report.seconds >= 0.5, "{report:?}");
        assert!(receiver.try_recv().is_err());
    }
}
