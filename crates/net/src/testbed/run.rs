//! The state of a running flow that both its ends share.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use recoup_tcp::flow::{Host, Workload};

/// How often the ends check whether the flow is over.
pub(super) const LOOK: Duration = Duration::from_millis(5);

/// A running flow.
#[derive(Debug)]
pub(super) struct FlowRun {
    pub workload: Workload,
    /// The server's address.
    pub to: SocketAddr,
    finished: [AtomicBool; 2],
    /// When the flow is given up.
    until: Instant,
}

impl FlowRun {
    /// A flow that is over when both ends have finished, or after `patience`.
    pub fn new(workload: Workload, to: SocketAddr, patience: Duration) -> Self {
        Self { workload, to, finished: Default::default(), until: Instant::now() + patience }
    }

    /// An end has read and written everything, and its data is acknowledged or never will be.
    pub fn finish(&self, host: Host) {
        self.finished[host as usize].store(true, Ordering::Release);
    }

    /// The flow cannot complete any more.
    pub fn give_up(&self) {
        self.finish(Host::Client);
        self.finish(Host::Server);
    }

    /// Whether the flow is over.
    pub fn is_over(&self) -> bool {
        let finished = |end: &AtomicBool| end.load(Ordering::Acquire);
        self.finished.iter().all(finished) || Instant::now() >= self.until
    }
}
