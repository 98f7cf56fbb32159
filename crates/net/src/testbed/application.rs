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
            self.close_due |= matches!(action, Action::Close | Action::WriteAndClose(_));
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
mod tests {
    use super::*;
    use recoup_tcp::flow::{Script, TimedWrite, When, Write};
    use std::time::Duration;

    fn workload(request: u64, response: u64, later: &[(u64, u64)], close: bool) -> Workload {
        let write = |&(ms, bytes): &(u64, u64)| TimedWrite { after: Duration::from_millis(ms), bytes };
        let later: Vec<_> = later.iter().map(write).collect();
        Workload::exchange(request, response).with_later_writes(&later).closing(close)
    }

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_server_answers_the_whole_request_and_writes_on_time() {
        let mut server = Application::new(Host::Server, &workload(100, 1000, &[(50, 10)], true));
        server.opened(at(1));
        server.read(at(2), 60);
        assert_eq!((server.waiting(), server.due()), (0, None));
        server.read(at(3), 40);
        assert_eq!((server.waiting(), server.due()), (1000, Some(at(53))));
        server.wrote(1000);
        assert!(!server.closes(), "it has more to write");
        server.advance(at(60));
        assert_eq!((server.waiting(), server.due()), (10, None));
        server.wrote(10);
        assert!(server.closes() && !server.closes());
        assert!(!server.is_finished(), "the client has not closed");
        server.ended();
        assert!(server.is_finished());
    }

    #[test]
    fn the_client_asks_at_once_and_reads_all() {
        let mut client = Application::new(Host::Client, &workload(7, 20, &[(5, 1)], false));
        assert_eq!(client.waiting(), 0, "not open yet");
        client.opened(at(1));
        assert_eq!((client.waiting(), client.expected()), (7, 21));
        client.wrote(7);
        assert!(!client.is_finished());
        client.read(at(9), 21);
        assert!(client.is_finished() && !client.closes());
    }

    #[test]
    fn the_client_of_a_kept_connection_reads_one_response_at_a_time() {
        let write = |received, acknowledged, ms, bytes| Write {
            when: When { received, acknowledged, after: Duration::from_millis(ms) },
            bytes,
        };
        let workload = Workload {
            client: Script::of(&[write(0, 0, 0, 10), write(500, 0, 20, 11), write(0, 21, 0, 12)]),
            server: Script::of(&[write(10, 0, 0, 500), write(21, 0, 0, 700)]),
        };
        let mut client = Application::new(Host::Client, &workload);
        client.opened(at(1));
        client.wrote(10);
        assert_eq!((client.expected(), client.due()), (500, None));
        client.read(at(5), 500);
        assert_eq!((client.waiting(), client.due()), (0, Some(at(25))));
        assert_eq!(client.expected(), 700, "everything else");
        client.advance(at(25));
        assert_eq!(client.waiting(), 11);
        client.wrote(11);
        assert!(client.awaits_acknowledgment());
        client.unacknowledged(at(30), 1);
        assert_eq!(client.waiting(), 0);
        client.unacknowledged(at(31), 0);
        assert_eq!(client.waiting(), 12);
        assert!(!client.awaits_acknowledgment());
        client.wrote(12);
        client.read(at(40), 700);
        assert!(client.is_finished());
    }
}
