//! The workload: what the applications at both ends write, and when they close.
//!
//! Each application follows a [`Script`]. A step of a script waits for data of the peer, for
//! acknowledgments of its own data, and for time. So scripts express requests and responses on one
//! connection, think times, uploads, and the a-b-t vectors of Tmix (Weigle et al., "Tmix: A Tool for
//! Generating Realistic TCP Application Workloads in ns-2", 2006, §3).

use std::sync::Arc;
use std::time::Duration;

/// The writes of the applications at both ends, and when they close.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// The application of the host that connects.
    pub client: Script,
    /// The application of the host that accepts.
    pub server: Script,
}

/// The steps of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its writes, in order. A write waits for the one before it.
    pub writes: Arc<[Write]>,
    /// When it closes, after all its writes. `None`: it never closes.
    pub close: Option<When>,
}

/// A write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// When the application writes.
    pub when: When,
    /// The number of bytes.
    pub bytes: u64,
}

/// When a step is due: a delay after its condition on the data of both streams was first met with the
/// connection open, or after the previous step was due, whichever was later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Bytes of the peer's stream that must have been received in order.
    pub received: u64,
    /// Bytes of the application's own stream that must have been acknowledged.
    pub acknowledged: u64,
    /// The delay.
    pub after: Duration,
}

/// A write at a fixed time, independent of acknowledgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedWrite {
    /// The time after the server's turn: when it is connected and has received the whole request.
    pub after: Duration,
    /// The number of bytes.
    pub bytes: u64,
}

impl Workload {
    /// The client writes `request` bytes as soon as it is connected. The server writes `response` bytes as
    /// soon as it has received them, or at accept without a request. Neither closes.
    pub fn exchange(request: u64, response: u64) -> Self {
        let write = |received, bytes| Write { when: When { received, ..When::default() }, bytes };
        Self { client: Script::of(&[write(0, request)]), server: Script::of(&[write(request, response)]) }
    }

    /// This workload, and the server writes again at these times after its turn. A write that is not in the order
    /// of time follows the one before it at once.
    #[must_use]
    pub fn with_later_writes(mut self, later: &[TimedWrite]) -> Self {
        let received = self.client.total();
        let mut writes = self.server.writes.to_vec();
        let mut latest = Duration::ZERO;
        for &TimedWrite { after, bytes } in later {
            let when = When { received, after: after.saturating_sub(latest), ..When::default() };
            writes.push(Write { when, bytes });
            latest = latest.max(after);
        }
        self.server.writes = writes.into();
        self
    }

    /// This workload, and with `close` each side closes as soon as it has written everything.
    #[must_use]
    pub fn closing(mut self, close: bool) -> Self {
        let when = close.then(When::default);
        self.client.close = when;
        self.server.close = when;
        self
    }
}

impl Script {
    /// These writes. The application does not close.
    pub fn of(writes: &[Write]) -> Self {
        Self { writes: writes.into(), close: None }
    }

    /// All bytes it writes.
    pub fn total(&self) -> u64 {
        let bytes = self.writes.iter().map(|write| write.bytes);
        bytes.fold(0, u64::saturating_add)
    }
}
