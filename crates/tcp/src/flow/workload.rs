//! The workload of the applications at both ends, and its progress.

use recoup_units::Instant;
use std::sync::Arc;
use std::time::Duration;

/// The bytes the applications write, and when they close.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Bytes the client writes as soon as it is connected.
    pub request: u64,
    /// Bytes the server writes as soon as the whole request has arrived, or at accept without a request. This
    /// moment is the server's turn.
    pub response: u64,
    /// The server's later writes, in the order of time.
    pub later: Arc<[Write]>,
    /// Whether each side closes as soon as it has written everything.
    pub close: bool,
}

/// A write by the server at a fixed time, independent of acknowledgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The time after the server's turn.
    pub after: Duration,
    /// The number of bytes.
    pub bytes: u64,
}

impl Workload {
    /// Total bytes the server writes.
    pub fn response_len(&self) -> u64 {
        let later = self.later.iter().map(|write| write.bytes);
        later.fold(self.response, u64::saturating_add)
    }
}

/// The progress of the server's later writes.
#[derive(Debug, Default)]
pub struct LaterWrites {
    /// When the server's turn came.
    turn: Option<Instant>,
    done: usize,
    /// When the last write was done. A later write is never due earlier, even if the list is unsorted.
    latest: Instant,
}

impl LaterWrites {
    /// The server's turn has come.
    pub fn begin(&mut self, now: Instant) {
        self.turn = Some(now);
    }

    /// When the next write is due.
    pub fn due(&self, workload: &Workload) -> Option<Instant> {
        let write = workload.later.get(self.done)?;
        self.turn.map(|turn| (turn + write.after).max(self.latest))
    }

    /// Removes the write due at `now`. Returns its bytes and whether it is the last one.
    pub fn take(&mut self, now: Instant, workload: &Workload) -> Option<(u64, bool)> {
        if self.due(workload)? > now {
            return None;
        }
        let write = workload.later.get(self.done)?;
        self.done += 1;
        self.latest = now;
        Some((write.bytes, self.done == workload.later.len()))
    }
}
