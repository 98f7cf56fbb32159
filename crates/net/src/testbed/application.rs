//! The application at one end of a flow, independent of its stack.

use recoup_tcp::flow::{Host, LaterWrites, Workload};
use recoup_units::Instant;

/// An application and its progress through its workload. Only the number of bytes it writes matters.
#[derive(Debug)]
pub(super) struct Application {
    host: Host,
    workload: Workload,
    later: LaterWrites,
    open: bool,
    /// Whether it has begun to write.
    begun: bool,
    /// Whether all its writes have come due.
    written: bool,
    /// Bytes to write to the stack.
    waiting: u64,
    /// Bytes left to read.
    expected: u64,
    closed: bool,
    /// Whether the peer has closed.
    ended: bool,
}

impl Application {
    pub fn new(host: Host, workload: &Workload) -> Self {
        let expected = match host {
            Host::Client => workload.response_len(),
            Host::Server => workload.request,
        };
        Self {
            host,
            workload: workload.clone(),
            later: LaterWrites::default(),
            open: false,
            begun: false,
            written: false,
            waiting: 0,
            expected,
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
        self.expected = self.expected.saturating_sub(count);
        self.advance(now);
    }

    /// The peer has closed, and everything before was read.
    pub const fn ended(&mut self) {
        self.ended = true;
    }

    /// Begins to write when it is its turn, and continues when a later write is due.
    pub fn advance(&mut self, now: Instant) {
        let turn = self.open && (self.host == Host::Client || self.expected == 0);
        if turn && !self.begun {
            self.begun = true;
            match self.host {
                Host::Client => {
                    self.waiting = self.workload.request;
                    self.written = true;
                }
                Host::Server => {
                    self.waiting = self.workload.response;
                    self.written = self.workload.later.is_empty();
                    self.later.begin(now);
                }
            }
        }
        while self.host == Host::Server
            && let Some((bytes, last)) = self.later.take(now, &self.workload)
        {
            self.waiting += bytes;
            self.written = last;
        }
    }

    /// When its next timed write is due.
    pub fn due(&self) -> Option<Instant> {
        match self.host {
            Host::Client => None,
            Host::Server => self.later.due(&self.workload),
        }
    }

    /// Bytes to write now.
    pub const fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Bytes left to read.
    pub const fn expected(&self) -> u64 {
        self.expected
    }

    /// The stack took `count` bytes.
    pub const fn wrote(&mut self, count: u64) {
        self.waiting = self.waiting.saturating_sub(count);
    }

    /// Whether it closes now. Returns true only once.
    pub const fn closes(&mut self) -> bool {
        let closes = self.workload.close && self.has_written() && !self.closed;
        self.closed |= closes;
        closes
    }

    const fn has_written(&self) -> bool {
        self.written && self.waiting == 0
    }

    /// Whether it has read and written everything, and, if the workload closes, seen the peer close.
    pub const fn is_finished(&self) -> bool {
        self.has_written() && self.expected == 0 && (self.ended || !self.workload.close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_tcp::flow::Write;
    use std::time::Duration;

    fn workload(request: u64, response: u64, later: &[(u64, u64)], close: bool) -> Workload {
        let write = |&(ms, bytes): &(u64, u64)| Write {
            after: Duration::from_millis(ms),
            bytes,
        };
        Workload {
            request,
            response,
            later: later.iter().map(write).collect(),
            close,
        }
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
}
