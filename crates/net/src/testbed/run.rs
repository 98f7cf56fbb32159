//! A flow under way: what its two ends, and the one who runs them, agree on.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use recoup_tcp::flow::{Host, Workload};

/// How long to wait before looking whether the flow is over.
pub(super) const LOOK: Duration = Duration::from_millis(5);

/// A flow under way.
#[derive(Debug)]
pub(super) struct FlowRun {
    pub workload: Workload,
    /// Where the server is.
    pub to: SocketAddr,
    finished: [AtomicBool; 2],
    /// Until when nobody has to have finished.
    until: Instant,
}

impl FlowRun {
    /// One that is over when both ends have finished, or `patience` has.
    pub fn new(workload: Workload, to: SocketAddr, patience: Duration) -> Self {
        Self {
            workload,
            to,
            finished: Default::default(),
            until: Instant::now() + patience,
        }
    }

    /// An end has read and written everything and been told that it arrived, or never will.
    pub fn finish(&self, host: Host) {
        self.finished[host as usize].store(true, Ordering::Release);
    }

    /// Nothing can come of it any more.
    pub fn give_up(&self) {
        self.finish(Host::Client);
        self.finish(Host::Server);
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        let finished = |end: &AtomicBool| end.load(Ordering::Acquire);
        self.finished.iter().all(finished) || Instant::now() >= self.until
    }
}
