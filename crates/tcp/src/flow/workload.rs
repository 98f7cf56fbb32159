//! What the applications at both ends do, and where they are with it.

use recoup_units::Instant;
use std::sync::Arc;
use std::time::Duration;

/// What the applications do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Bytes the client writes as soon as it is connected.
    pub request: u64,
    /// Bytes the server writes as soon as the whole request has arrived (at accept when there is
    /// none): its turn.
    pub response: u64,
    /// What the server writes after that, in the order of time.
    pub later: Arc<[Write]>,
    /// Each side closes as soon as it has written everything.
    pub close: bool,
}

/// Something the server writes at a time of its own, whatever was acknowledged until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// How long after the server's turn.
    pub after: Duration,
    /// How much.
    pub bytes: u64,
}

impl Workload {
    /// Bytes the server writes in all.
    pub fn response_len(&self) -> u64 {
        let later = self.later.iter().map(|write| write.bytes);
        later.fold(self.response, u64::saturating_add)
    }
}

/// The server's later writes, one after another.
#[derive(Debug, Default)]
pub struct LaterWrites {
    /// The server's turn, once it has come.
    turn: Option<Instant>,
    done: usize,
    /// When the latest was done: time does not run backwards, whatever the list says.
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

    /// Takes the write that is due at `now`: its bytes, and whether it is the last.
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
