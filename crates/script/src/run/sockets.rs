//! Descriptors and their states.

use super::{arguments::EVENTS, setup::SocketOptions};
use recoup_tcp::{Closed, Endpoint, State, Unreachable};
use std::collections::BTreeMap;

/// The role of a socket in the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Fresh,
    /// A listening socket; `accept` returns its connection.
    Listener,
    Connection,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Socket {
    pub role: Role,
    pub nonblocking: bool,
    pub options: SocketOptions,
    /// Whether `connect` has reported success.
    pub connect_reported: bool,
    /// Whether the error that ended the connection has been reported.
    pub error_reported: bool,
    /// Whether `close` resets the connection.
    pub linger_zero: bool,
    /// Whether reads no longer wait (SHUT_RD).
    pub reading_over: bool,
}

impl Socket {
    pub fn new(nonblocking: bool) -> Self {
        Self { nonblocking, ..Self::default() }
    }
}

/// The descriptors and events that an epoll descriptor watches.
pub(super) type Interest = BTreeMap<i64, i64>;

#[derive(Clone, Debug, Default)]
pub(super) struct Sockets {
    pub streams: BTreeMap<i64, Socket>,
    pub epolls: BTreeMap<i64, Interest>,
    /// Whether the listener's connection has been accepted.
    pub accepted: bool,
}

impl Sockets {
    pub fn is_used(&self, fd: i64) -> bool {
        self.streams.contains_key(&fd) || self.epolls.contains_key(&fd)
    }

    /// The lowest unused number, from 3 on.
    pub fn free(&self) -> i64 {
        (3..).find(|fd| !self.is_used(*fd)).unwrap_or(i64::MAX)
    }
}

/// The bits of poll.
pub(super) mod bits {
    pub const IN: i64 = 1;
    pub const OUT: i64 = 4;
    pub const ERR: i64 = 8;
    pub const HUP: i64 = 0x10;
    pub const RDNORM: i64 = 0x40;
    pub const WRNORM: i64 = 0x100;
    pub const RDHUP: i64 = 0x2000;
}

/// The names of the bits, for messages.
pub(super) fn event_names(events: i64) -> String {
    let names: Vec<&str> = EVENTS.iter().filter(|(_, bit)| events & bit != 0).map(|(name, _)| *name).collect();
    if names.is_empty() { "0".into() } else { names.join("|") }
}

/// The error that ended the connection.
pub(super) fn fatal_error(endpoint: &Endpoint, connecting: bool) -> Option<&'static str> {
    match endpoint.state() {
        State::Closed(Closed::ByReset) if connecting => Some("ECONNREFUSED"),
        State::Closed(Closed::ByReset) => Some("ECONNRESET"),
        State::Closed(Closed::ByTimeout) => Some("ETIMEDOUT"),
        State::Closed(Closed::Unreachable(why)) => Some(unreachable(why)),
        _ => None,
    }
}

/// The error that Linux makes of an ICMP message (`icmp_err_convert`).
const fn unreachable(why: Unreachable) -> &'static str {
    match why {
        Unreachable::Net => "ENETUNREACH",
        Unreachable::Host => "EHOSTUNREACH",
        Unreachable::Protocol => "ENOPROTOOPT",
        Unreachable::Port => "ECONNREFUSED",
        Unreachable::Prohibited => "EACCES",
    }
}

/// Whether the handshake was completed at any time.
pub(super) fn has_opened(endpoint: &Endpoint) -> bool {
    !matches!(endpoint.state(), State::Listen | State::SynSent | State::SynReceived | State::Closed(_))
}

/// The events of a connection that poll reports (Linux `tcp_poll`).
pub(super) fn readiness(endpoint: &Endpoint, error: bool) -> i64 {
    let finished = endpoint.receiver().finished();
    let closed = matches!(endpoint.state(), State::Closed(_));
    let sending = endpoint.sender().fin().is_none();
    let mut events = 0;
    if closed || (finished && !sending) {
        events |= bits::HUP;
    }
    if finished || closed {
        events |= bits::IN | bits::RDNORM | bits::RDHUP;
    }
    if error {
        events |= bits::ERR;
    }
    if has_opened(endpoint) || closed {
        if endpoint.readable() > 0 {
            events |= bits::IN | bits::RDNORM;
        }
        events |= bits::OUT | bits::WRNORM;
    }
    events
}
