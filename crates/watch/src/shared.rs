//! What the watcher shares with those that show it: the screen, and the server of metrics.

use crate::event::Event;
use crate::kept::Kept;
use crate::kernel_reasons::Agreement;
use crate::recent::Survey;
use crate::totals::Totals;
use recoup_captures::analysis::copies_line;
use recoup_captures::wording::{count, grouped};
use recoup_trace::read::Counts;
use recoup_units::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Events that are kept for those who look later.
const MOST_EVENTS: usize = 2_000;

/// What is known at some time.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// What is watched.
    pub name: String,
    /// Counts since the start.
    pub totals: Totals,
    /// The frames so far.
    pub counts: Counts,
    /// Bytes on the wire so far.
    pub bytes: u64,
    /// Open connections.
    pub open: u64,
    /// Memory of open connections, in bytes.
    pub memory: usize,
    /// Frames that the kernel dropped.
    pub dropped: u64,
    /// How often the kernel's reasons agree with ours, if they are asked for.
    pub kernel: Option<Agreement>,
    /// The last survey of the last minute.
    pub survey: Option<Arc<Survey>>,
    /// All packets before this time were read.
    pub settled: Instant,
    /// Why the watcher has ended, once it has.
    pub ended: Option<String>,
}

impl Status {
    /// What was watched, a sentence or two a line.
    pub fn summary(&self) -> Vec<String> {
        let copies = self.counts.copies.as_ref().map(copies_line);
        [Some(self.watched()), copies, self.kernel.as_ref().map(Agreement::summary)].into_iter().flatten().collect()
    }

    fn watched(&self) -> String {
        let retransmissions: u64 = self.totals.retransmissions.iter().sum();
        format!(
            "{}: {} TCP packets of {}, {}, {}; the kernel dropped {}",
            self.name,
            grouped(self.counts.packets),
            count(self.counts.frames, "frame"),
            count(self.totals.ended.iter().sum(), "connection"),
            count(retransmissions, "retransmission"),
            grouped(self.dropped),
        )
    }
}

/// The latest events, and how many there were so far.
#[derive(Debug, Default)]
struct Events {
    latest: VecDeque<(Instant, Event)>,
    count: u64,
}

/// What the watcher shares. It holds each lock for a short time.
#[derive(Debug, Default)]
pub struct Shared {
    status: Mutex<Status>,
    events: Mutex<Events>,
    kept: Mutex<Kept>,
}

impl Shared {
    /// Keeps frames as this memory does.
    pub fn new(name: String, kept: Kept) -> Self {
        let status = Status { name, ..Status::default() };
        Self { status: Mutex::new(status), events: Mutex::default(), kept: Mutex::new(kept) }
    }

    pub fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events after the first `taken`, as far as they are kept, each with the time when it was said; and how many there were
    /// so far.
    pub fn events_after(&self, taken: u64) -> (u64, Vec<(Instant, Event)>) {
        let events = self.lock_events();
        let new = usize::try_from(events.count.saturating_sub(taken)).unwrap_or(usize::MAX);
        let skipped = events.latest.len().saturating_sub(new);
        (events.count, events.latest.iter().skip(skipped).cloned().collect())
    }

    fn lock_events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest frames.
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps events that were said at this time.
    pub fn keep(&self, events: &[Event], at: Instant) {
        let mut kept = self.lock_events();
        kept.count += events.len() as u64;
        kept.latest.extend(events.iter().map(|event| (at, event.clone())));
        let beyond = kept.latest.len().saturating_sub(MOST_EVENTS);
        kept.latest.drain(..beyond);
    }
}
