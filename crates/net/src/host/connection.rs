//! One connection: an endpoint, the bytes of both streams, and what its owner is to be told.

use recoup_tcp::{Buffer, Closed, Config, Endpoint, State, Timer};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, Flags, Segment, SeqNumber};

use super::{
    ConnectionId, EMBRYONIC_LIFE, Event, HostError, ListenerId, ORPHAN_LIFE, Read, Settings,
};

/// Bytes of buffer that a connection's memory keeps for the next.
const KEPT: usize = 64 << 10;

/// What the owner has not been told yet.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    opened: bool,
    readable: bool,
    writable: bool,
    closed: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub endpoint: Endpoint,
    /// Of the packets sent.
    pub path: Endpoints,
    pub listener: Option<ListenerId>,
    pub isn: SeqNumber,
    pub peer_isn: SeqNumber,
    /// Bytes the path takes in a packet, if it was found to take fewer than the link.
    pub path_mtu: Option<u16>,
    pub sent: Buffer,
    received: Buffer,
    /// It has something to transmit, or may have.
    pub dirty: bool,
    /// Nobody owns it any more.
    pub released: bool,
    /// Its owner has been, or is about to be, told of it.
    pub opened: bool,
    /// It waits for an event to be taken out.
    pub announced: bool,
    ended: bool,
    /// It counts among its listener's embryonic connections.
    pub embryonic: bool,
    /// Where the receive stream stood when its owner was told last.
    told: Offset,
    /// A write found no room.
    missed_room: bool,
    news: News,
    /// When patience with a handshake, or with the peer of a connection nobody owns, ends.
    patience: Option<Instant>,
}

impl Connection {
    pub fn new(config: &Config, path: Endpoints, listener: Option<ListenerId>) -> Self {
        Self {
            endpoint: match listener {
                Some(_) => Endpoint::listen(config),
                None => Endpoint::connect(config),
            },
            path,
            listener,
            isn: config.isn,
            peer_isn: SeqNumber(0),
            path_mtu: None,
            sent: Buffer::default(),
            received: Buffer::default(),
            dirty: false,
            released: false,
            opened: false,
            announced: false,
            ended: false,
            embryonic: listener.is_some(),
            told: Offset::DATA,
            missed_room: false,
            news: News::default(),
            patience: None,
        }
    }

    /// Begins again as [`new`](Self::new), keeping memory.
    pub fn reset(&mut self, config: &Config, path: Endpoints, listener: Option<ListenerId>) {
        self.endpoint.reset(config, listener.is_none());
        self.path = path;
        self.listener = listener;
        self.isn = config.isn;
        self.peer_isn = SeqNumber(0);
        self.path_mtu = None;
        self.dirty = false;
        self.released = false;
        self.opened = false;
        self.announced = false;
        self.ended = false;
        self.embryonic = listener.is_some();
        self.told = Offset::DATA;
        self.missed_room = false;
        self.news = News::default();
        self.patience = None;
    }

    /// Gives back the memory of both streams.
    pub fn give_back_memory(&mut self) {
        self.sent.reset(KEPT);
        self.received.reset(KEPT);
    }

    /// Gives back the memory of a stream that is over: one that the peer has acknowledged to its end, one
    /// that was read to its end or will not be read. A connection may be around for long afterwards.
    pub fn give_back_what_is_over(&mut self) {
        let (sender, receiver) = (self.endpoint.sender(), self.endpoint.receiver());
        if sender.fin().is_some_and(|fin| sender.una() > fin) {
            self.sent.give_back_memory();
        }
        if receiver.finished() || self.released {
            self.received.give_back_memory();
        }
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.endpoint.state(), State::Closed(_))
    }

    /// Bytes written and not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.sent.len()
    }

    /// Bytes that may be written now.
    fn room(&self, settings: &Settings) -> usize {
        let sender = self.endpoint.sender();
        let unsent = sender.limit().since(sender.nxt()) as usize;
        let room = settings.send_buffer.saturating_sub(self.sent.len());
        room.min(settings.unsent.saturating_sub(unsent))
    }

    pub fn write(
        &mut self,
        now: Instant,
        bytes: &[u8],
        settings: &Settings,
    ) -> Result<usize, HostError> {
        self.check_writable()?;
        let taken = bytes.len().min(self.room(settings));
        self.missed_room |= taken < bytes.len();
        if taken > 0 {
            self.sent.append(&bytes[..taken]);
            self.endpoint.write(now, taken as u64);
        }
        Ok(taken)
    }

    pub fn write_with(
        &mut self,
        now: Instant,
        fill: impl FnOnce(&mut [u8]) -> usize,
        settings: &Settings,
    ) -> Result<usize, HostError> {
        self.check_writable()?;
        let room = self.room(settings);
        self.missed_room |= room == 0;
        let taken = match room {
            0 => 0,
            room => self.sent.append_with(room, fill),
        };
        if taken > 0 {
            self.endpoint.write(now, taken as u64);
        }
        Ok(taken)
    }

    fn check_writable(&self) -> Result<(), HostError> {
        match self.endpoint.state() {
            State::Closed(how) => Err(HostError::Ended(how)),
            _ if self.endpoint.sender().fin().is_some() => Err(HostError::NotWritable),
            _ => Ok(()),
        }
    }

    pub fn read(&mut self, now: Instant, into: &mut [u8]) -> Result<Read, HostError> {
        let readable = usize::try_from(self.endpoint.readable()).unwrap_or(usize::MAX);
        let count = readable.min(into.len());
        if count > 0 {
            let count = self.received.take_into(&mut into[..count]);
            self.endpoint.read(now, count as u64);
            return Ok(Read::Bytes(count));
        }
        match self.endpoint.state() {
            _ if readable > 0 => Ok(Read::Nothing),
            _ if self.endpoint.receiver().finished() => Ok(Read::End),
            State::Closed(Closed::Gracefully) => Ok(Read::End),
            State::Closed(how) => Err(HostError::Ended(how)),
            _ => Ok(Read::Nothing),
        }
    }

    /// A segment of this connection arrived, with its payload. `gaps` is room to work in.
    pub fn deliver(
        &mut self,
        now: Instant,
        segment: &Segment,
        payload: &[u8],
        gaps: &mut Vec<Span>,
    ) {
        if segment.flags.contains(Flags::SYN) {
            let waits = matches!(self.endpoint.state(), State::Listen | State::SynSent);
            self.endpoint.on_segment(now, segment);
            if waits && !matches!(self.endpoint.state(), State::Listen | State::SynSent) {
                self.peer_isn = segment.seq;
                let passive = self.endpoint.state() == State::SynReceived;
                self.patience = passive.then(|| now + EMBRYONIC_LIFE);
            }
            return;
        }
        let next = self.endpoint.receiver().next();
        let start = segment.seq.unwrap(self.peer_isn, next);
        let start = start.filter(|_| !payload.is_empty() && next > Offset::SYN);
        gaps.clear();
        if let Some(start) = start {
            // What the endpoint will not take (old timestamps, beyond the window) must not be put in
            // the place of what it took before: only what was missing and is not any more is.
            let span = Span::at(start, payload.len() as u64);
            self.endpoint.receiver().missing(span, |gap| gaps.push(gap));
        }
        self.endpoint.on_segment(now, segment);
        if let Some(start) = start {
            let receiver = self.endpoint.receiver();
            let received = &mut self.received;
            for gap in gaps.drain(..) {
                let mut at = gap.start;
                receiver.missing(gap, |still| {
                    received.put(start, payload, Span::new(at, still.start));
                    at = still.end;
                });
                received.put(start, payload, Span::new(at, gap.end));
            }
        }
        self.sent.forget_before(self.endpoint.sender().una());
    }

    /// When it is to be woken.
    pub fn next_timer(&self) -> Option<Instant> {
        let timer = self.endpoint.next_timer().map(|(at, _)| at);
        timer.into_iter().chain(self.patience).min()
    }

    /// The timer due goes off.
    pub fn on_time(&mut self, now: Instant) {
        if self.patience.is_some_and(|at| at <= now) {
            self.patience = None;
            self.endpoint.abort();
            return;
        }
        let due: Option<Timer> = self
            .endpoint
            .next_timer()
            .and_then(|(at, timer)| (at <= now).then_some(timer));
        if let Some(timer) = due {
            self.endpoint.on_timer(now, timer);
        }
    }

    /// Notes what there is to tell its owner, and says whether there is anything.
    pub fn note_news(&mut self, now: Instant, settings: &Settings) -> bool {
        let state = self.endpoint.state();
        if !self.opened && self.is_past_handshake() {
            self.opened = true;
            self.patience = None;
            self.news.opened = true;
        }
        let next = self.endpoint.receiver().next();
        if next > self.told {
            self.told = next;
            self.news.readable = true;
        }
        let half = settings.unsent.min(settings.send_buffer) / 2;
        if self.missed_room && self.room(settings) >= half {
            self.missed_room = false;
            self.news.writable = true;
        }
        if self.is_closed() && !self.ended {
            self.ended = true;
            self.news.closed = true;
        }
        if self.released && state == State::FinWait2 && self.patience.is_none() {
            self.patience = Some(now + ORPHAN_LIFE);
        }
        let News {
            opened,
            readable,
            writable,
            closed,
        } = self.news;
        // Nobody knows of a connection that came and did not get as far as open.
        let known = self.opened || self.listener.is_none();
        known && !self.released && (opened || readable || writable || closed)
    }

    fn is_past_handshake(&self) -> bool {
        !matches!(
            self.endpoint.state(),
            State::Listen | State::SynSent | State::SynReceived | State::Closed(_)
        )
    }

    /// Takes out what there is to tell.
    pub fn take_news(&mut self, id: ConnectionId) -> Option<Event> {
        self.announced = false;
        let News {
            opened,
            readable,
            writable,
            closed,
        } = std::mem::take(&mut self.news);
        if self.released || !(opened || readable || writable || closed) {
            return None;
        }
        let how = match self.endpoint.state() {
            State::Closed(how) if closed => Some(how),
            _ => None,
        };
        Some(Event {
            connection: id,
            opened,
            readable,
            writable,
            closed: how,
        })
    }
}
