//! The application at one end of a flow, independent of its stack.

use recoup_tcp::flow::{Action, Host, ScriptProgress, Workload};
use recoup_units::Instant;

/// An application and its progress through its script. Only the number of bytes it writes matters.
#[derive(Debug)]
pub(super) struct Application {
    progress: ScriptProgress,
    /// All bytes that the peer's application writes.
    peer_total: u64,
    /// Whether the peer's application closes.
    peer_closes: bool,
    open: bool,
    /// Bytes to write to the stack.
    waiting: u64,
    /// Bytes written to the stack.
    written: u64,
    /// Bytes of them that the peer has acknowledged.
    acknowledged: u64,
    /// Bytes read from the stack.
    received: u64,
    /// Whether it closes once the stack has taken all bytes.
    close_due: bool,
    closed: bool,
    /// Whether the peer has closed.
    ended: bool,
}

impl Application {
    pub fn new(host: Host, workload: &Workload) -> Self {
        let (own, peer) = match host {
            Host::Client => (&workload.client, &workload.server),
            Host::Server => (&workload.server, &workload.client),
        };
        Self {
            progress: ScriptProgress::new(own),
            peer_total: peer.total(),
            peer_closes: peer.close.is_some(),
            open: false,
            waiting: 0,
            written: 0,
            acknowledged: 0,
            received: 0,
            close_due: false,
            closed: false,
            ended: false,
        }
    }

    /// The connection is open.
    pub fn opened(&mut self, now: Instant) {
        self.open = true;
        self.advance(now);
    }

    /// `count` bytes were read.
    pub fn read(&mut self, now: Instant, count: u64) {
        self.received = self.received.saturating_add(count);
        self.advance(now);
    }

    /// The peer has closed, and everything before was read.
    pub const fn ended(&mut self) {
        self.ended = true;
    }

    /// Whether its next step waits for acknowledgments.
    pub fn awaits_acknowledgment(&self) -> bool {
        let awaited = self.progress.next_step().map(|when| when.acknowledged);
        self.progress.due().is_none() && awaited.is_some_and(|bytes| bytes > self.acknowledged)
    }

    /// So many of the bytes written to the stack are not acknowledged yet.
    pub fn unacknowledged(&mut self, now: Instant, bytes: u64) {
        self.acknowledged = self.written.saturating_sub(bytes);
        self.advance(now);
    }

    /// Takes the steps of its script that are due.
    pub fn advance(&mut self, now: Instant) {
        if !self.open {
            return;
        }
        while let Some(action) = self.progress.poll(now, self.received, self.acknowledged) {
            if let Action::Write(bytes) | Action::WriteAndClose(bytes) = action {
                self.waiting = self.waiting.saturating_add(bytes);
            }
            self.close_due |= matches!(action, Action::Close | Action::WriteAndClose(_) | Action::Release);
        }
    }

    /// When its next step is due.
    pub const fn due(&self) -> Option<Instant> {
        self.progress.due()
    }

    /// Bytes to write now.
    pub const fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Bytes to read before the next thing happens: until its next step, or else until it has everything.
    pub fn expected(&self) -> u64 {
        let next = self.progress.next_step().map_or(0, |when| when.received);
        match next.saturating_sub(self.received) {
            0 => self.peer_total.saturating_sub(self.received),
            bytes => bytes,
        }
    }

    /// The stack took `count` bytes.
    pub const fn wrote(&mut self, count: u64) {
        self.waiting = self.waiting.saturating_sub(count);
        self.written = self.written.saturating_add(count);
    }

    /// Whether it closes now. Returns true only once.
    pub const fn closes(&mut self) -> bool {
        let closes = self.close_due && self.waiting == 0 && !self.closed;
        self.closed |= closes;
        closes
    }

    /// Whether it has read and written everything, and, if the peer closes, seen it close.
    pub fn is_finished(&self) -> bool {
        self.open
            && self.progress.is_finished()
            && self.waiting == 0
            && self.received >= self.peer_total
            && (self.ended || !self.peer_closes)
    }
}

#[cfg(test)]
mod tests;
