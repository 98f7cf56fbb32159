//! The two ends of a browser's connection.

use super::{REQUEST, Shared};
use crate::Application;
use recoup_tcp::Endpoint;
use recoup_tcp::flow::Action;
use recoup_units::{Instant, Offset};

/// The browser's end of a connection.
#[derive(Debug)]
pub struct WebClient {
    download: Shared,
    connection: usize,
    /// Whether the connection's first request was written.
    has_begun: bool,
}

impl WebClient {
    pub(super) const fn new(download: Shared, connection: u64) -> Self {
        Self { download, connection: connection as usize, has_begun: false }
    }
}

impl Application for WebClient {
    fn poll(&mut self, now: Instant, endpoint: &Endpoint) -> Option<Action> {
        if !endpoint.is_open() {
            return None;
        }
        if !self.has_begun {
            self.has_begun = true;
            return Some(Action::Write(REQUEST));
        }
        self.download.lock().on_received(now, self.connection, received(endpoint))
    }

    fn wake(&self) -> Option<Instant> {
        None
    }

    /// Other connections decide how many objects are left for this one.
    fn total(&self) -> Option<u64> {
        None
    }
}

/// The server's end of a connection.
#[derive(Debug)]
pub struct WebServer {
    download: Shared,
    connection: usize,
    /// Requests answered.
    answered: usize,
    has_closed: bool,
}

impl WebServer {
    pub(super) const fn new(download: Shared, connection: u64) -> Self {
        Self { download, connection: connection as usize, answered: 0, has_closed: false }
    }
}

impl Application for WebServer {
    fn poll(&mut self, _: Instant, endpoint: &Endpoint) -> Option<Action> {
        if received(endpoint) < (self.answered as u64 + 1) * REQUEST {
            let closes = !self.has_closed && endpoint.receiver().finished();
            self.has_closed |= closes;
            return closes.then_some(Action::Close);
        }
        let download = self.download.lock();
        let responses = &download.connections[self.connection].responses;
        let bytes = *responses.get(self.answered)?;
        self.answered += 1;
        Some(Action::Write(bytes))
    }

    fn wake(&self) -> Option<Instant> {
        None
    }

    fn total(&self) -> Option<u64> {
        None
    }
}

/// The bytes of the peer's stream that have arrived in order, without its FIN.
fn received(endpoint: &Endpoint) -> u64 {
    let receiver = endpoint.receiver();
    receiver.next().0.saturating_sub(Offset::DATA.0 + u64::from(receiver.finished()))
}
