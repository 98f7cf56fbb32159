//! One connection of a host: what the host adds to [`recoup_tcp::Connection`].

use recoup_tcp::{self as tcp, Config, Notices, SendLimits, State};
use recoup_units::{Instant, Offset};
use recoup_wire::{Endpoints, Flags, Segment};

use super::{ConnectionId, EMBRYONIC_LIFE, Event, ListenerId, ORPHAN_LIFE, ORPHAN_STALL, memory::Growth};

/// How a connection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The application connected.
    Connected,
    /// A SYN came to a listener.
    Listener(ListenerId),
    /// The application admitted a SYN.
    Admitted,
}

impl Origin {
    /// The listener it came to without anybody knowing of it.
    pub const fn listener(self) -> Option<ListenerId> {
        match self {
            Self::Listener(id) => Some(id),
            Self::Connected | Self::Admitted => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub tcp: tcp::Connection,
    /// Of the packets sent.
    pub path: Endpoints,
    pub origin: Origin,
    /// Until when its packets are smaller than the link's, because the path said so.
    pub limited_until: Option<Instant>,
    /// What its sender keeps of segments is limited.
    pub limited: bool,
    /// It has something to transmit, or may have.
    pub dirty: bool,
    /// The application has let go of it.
    pub released: bool,
    /// What its buffers may grow to.
    pub growth: Growth,
    /// It found no memory for a write, and waits for some.
    pub starved: bool,
    /// It waits for an event to be taken out.
    pub announced: bool,
    /// It counts among its listener's embryonic connections.
    pub embryonic: bool,
    /// Notices that the last event reported.
    seen: Notices,
    /// The handshake is done, or was.
    pub opened: bool,
    /// When the host gives up a handshake that is not done, or a released connection whose peer neither takes more data
    /// nor closes.
    patience: Option<Instant>,
    /// Up to where the peer had acknowledged when that was set for a released connection.
    orphan_una: Option<Offset>,
}

impl Connection {
    pub fn new(config: &Config, path: Endpoints, origin: Origin, limits: SendLimits) -> Self {
        Self {
            tcp: match origin {
                Origin::Listener(_) | Origin::Admitted => tcp::Connection::listen(config, limits),
                Origin::Connected => tcp::Connection::connect(config, limits),
            },
            path,
            origin,
            limited_until: None,
            limited: false,
            dirty: false,
            released: false,
            growth: Growth::default(),
            starved: false,
            announced: false,
            embryonic: origin.listener().is_some(),
            seen: Notices::default(),
            opened: false,
            patience: None,
            orphan_una: None,
        }
    }

    /// Begins again as [`new`](Self::new), keeping memory.
    pub fn reset(&mut self, config: &Config, path: Endpoints, origin: Origin, limits: SendLimits) {
        self.tcp.reset(config, origin == Origin::Connected, limits);
        self.path = path;
        self.origin = origin;
        self.limited_until = None;
        // Its scoreboard keeps the limit.
        self.limited = true;
        self.dirty = false;
        self.released = false;
        self.growth = Growth::default();
        self.starved = false;
        self.announced = false;
        self.embryonic = origin.listener().is_some();
        self.seen = Notices::default();
        self.opened = false;
        self.patience = None;
        self.orphan_una = None;
    }

    /// A segment of this connection arrived, with its payload.
    pub fn deliver(&mut self, now: Instant, segment: &Segment, payload: &[u8]) {
        let listens = self.tcp.state() == State::Listen;
        self.tcp.deliver(now, segment, payload);
        let syn = segment.flags.contains(Flags::SYN);
        if syn && listens && self.tcp.state() == State::SynReceived {
            self.patience = Some(now + EMBRYONIC_LIFE);
        }
    }

    /// When its SYN arrived, while its handshake is not done.
    pub fn syn_at(&self) -> Option<Instant> {
        let patience = self.patience.filter(|_| self.embryonic && !self.opened)?;
        Some(patience.minus_nanos(EMBRYONIC_LIFE.as_nanos() as u64))
    }

    /// Makes the connection again, whose SYN arrived at `since`.
    pub fn reopen(&mut self, reopen: impl FnOnce(&mut tcp::Connection), since: Instant) {
        reopen(&mut self.tcp);
        self.patience = Some(since + EMBRYONIC_LIFE);
    }

    /// When it is to be woken.
    pub fn next_timer(&self) -> Option<Instant> {
        let wake = self.tcp.next_wake().map(|(at, _)| at);
        wake.into_iter().chain(self.patience).min()
    }

    /// The timer due goes off.
    pub fn on_time(&mut self, now: Instant) {
        if self.patience.is_some_and(|at| at <= now) {
            self.patience = None;
            self.tcp.abort();
            return;
        }
        if let Some((_, wake)) = self.tcp.next_wake().filter(|(at, _)| *at <= now) {
            self.tcp.on_wake(now, wake);
        }
    }

    /// Lets the send buffer grow with the congestion window. That must happen before a writer that waits for room is looked
    /// after, too: there may be much in a buffer that has grown (Linux `tcp_new_space`).
    pub fn widen_send_buffer(&mut self) {
        let limits = self.tcp.limits();
        if limits.buffer < self.growth.send {
            let buffer = self.tcp.wanted_send_buffer().min(self.growth.send);
            if buffer > limits.buffer {
                self.tcp.set_limits(SendLimits { buffer, ..limits });
            }
        }
    }

    /// Notes what there is to tell its owner, and says whether there is anything.
    pub fn note_news(&mut self, now: Instant) -> bool {
        self.widen_send_buffer();
        let notices = self.tcp.notices();
        if notices.opened && !self.opened {
            self.opened = true;
            self.patience = None;
            if self.tcp.is_empty() {
                // What the handshake needed. Many connections never send much more.
                self.tcp.shrink();
            }
        }
        if self.released {
            self.limit_orphan(now);
        }
        // Nobody knows of a connection that came and did not get as far as open.
        let known = self.opened || self.origin.listener().is_none();
        known && !self.released && notices != self.seen
    }

    /// Nobody owns it: its peer must go on acknowledging, and then close.
    fn limit_orphan(&mut self, now: Instant) {
        let life = match self.tcp.state() {
            State::FinWait1 | State::Closing | State::LastAck => ORPHAN_STALL,
            State::FinWait2 => ORPHAN_LIFE,
            _ => return,
        };
        let una = Some(self.tcp.endpoint().sender().una());
        if self.orphan_una != una {
            self.orphan_una = una;
            self.patience = Some(now + life);
        }
    }

    /// Takes out what there is to tell.
    pub fn take_news(&mut self, id: ConnectionId) -> Option<Event> {
        self.announced = false;
        let notices = self.tcp.notices();
        let seen = std::mem::replace(&mut self.seen, notices);
        if self.released || notices == seen {
            return None;
        }
        let closed = match self.tcp.state() {
            State::Closed(how) if !seen.closed => Some(how),
            _ => None,
        };
        Some(Event {
            connection: id,
            opened: notices.opened && !seen.opened,
            readable: notices.readable != seen.readable,
            writable: notices.writable != seen.writable,
            closed,
        })
    }
}
