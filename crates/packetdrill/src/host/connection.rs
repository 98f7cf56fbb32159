//! A connection: an endpoint, its bytes, and what Linux does around it.

use super::held::{Held, Part};
use super::packet::Packet;
use crate::errno::{Errno, Outcome};
use crate::settings::Personality;
use recoup_recovery::Send;
use recoup_tcp::{Buffer, Closed, Endpoint, State, Timer, Transmit};
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Decoded, Endpoints, Flags, Segment, SeqNumber};

/// One connection.
#[derive(Debug)]
pub struct Connection {
    pub endpoint: Endpoint,
    /// Of the packets sent.
    pub path: Endpoints,
    pub personality: Personality,
    peer_isn: Option<SeqNumber>,
    sent: Buffer,
    received: Buffer,
    /// What was written and the endpoint is not told of yet.
    held: Held,
    /// The error the next call reports.
    error: Option<Errno>,
    /// No descriptor refers to it any more.
    pub orphan: bool,
    pub read_shut: bool,
    /// The state when the last packet had been handled, to tell how a connection ended.
    before: State,
    /// Counts what could make a reader or a writer try again, for edge-triggered waiting.
    pub news: News,
}

/// How often something happened that wakes who waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Data or an end of the stream arrived.
    pub readable: u64,
    /// Room in the send buffer was missed, and there is room again.
    pub writable: u64,
    /// A writer found no room.
    pub missed_room: bool,
}

/// What wakes a connection.
#[derive(Clone, Copy, Debug)]
pub enum Wake {
    /// A timer of its endpoint.
    Endpoint(Timer),
    /// Data held back for more to join it has waited long enough.
    Held,
}

/// How a write is to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteMode {
    /// More follows soon.
    pub more: bool,
    /// A record ends with it.
    pub ends_record: bool,
}

impl Connection {
    /// One around `endpoint`.
    pub fn new(endpoint: Endpoint, path: Endpoints, own: Personality) -> Self {
        Self {
            before: endpoint.state(),
            endpoint,
            path,
            personality: own,
            peer_isn: None,
            sent: Buffer::default(),
            received: Buffer::default(),
            held: Held::default(),
            error: None,
            orphan: false,
            read_shut: false,
            news: News::default(),
        }
    }

    /// The handshake is done, or was.
    pub fn is_open(&self) -> bool {
        !matches!(
            self.endpoint.state(),
            State::Listen | State::SynSent | State::SynReceived
        )
    }

    /// Over, one way or another.
    pub fn is_closed(&self) -> bool {
        matches!(self.endpoint.state(), State::Closed(_))
    }

    /// The peer has sent all it had, and all of it was read.
    pub fn at_end(&self) -> bool {
        self.endpoint.receiver().finished() || self.is_closed() || self.read_shut
    }

    /// Nothing more can be written.
    pub fn write_shut(&self) -> bool {
        self.endpoint.sender().fin().is_some() || self.is_closed()
    }

    /// The error the next call would report.
    pub fn pending_error(&self) -> Option<Errno> {
        self.error
    }

    /// That error, which is then forgotten.
    pub fn take_error(&mut self) -> Option<Errno> {
        self.error.take()
    }

    /// Bytes written and not acknowledged.
    pub fn queued(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Bytes written and not sent.
    pub fn unsent(&self) -> u64 {
        let sender = self.endpoint.sender();
        let end = sender.fin().unwrap_or(sender.limit());
        end.since(sender.nxt()) + self.held.bytes()
    }

    /// Whether more may be written now.
    pub fn has_room(&self) -> bool {
        self.queued() < self.personality.send_buffer && self.unsent() < self.personality.lowat()
    }

    /// Whether there is so much room that who waits for some is woken: a third of the buffer, and
    /// half of what may wait unsent.
    pub fn has_much_room(&self) -> bool {
        let queued = self.queued();
        queued + queued / 2 <= self.personality.send_buffer
            && self.unsent().saturating_mul(2) < self.personality.lowat()
    }

    /// A packet of this connection arrived, `marked` by a router or not.
    pub fn deliver(&mut self, now: Instant, packet: &Decoded, payload: &[u8], marked: bool) {
        let segment = &packet.segment;
        if marked {
            self.endpoint.on_congestion_experienced();
        }
        self.before = self.endpoint.state();
        if segment.flags.contains(Flags::SYN) && !self.is_open() {
            self.peer_isn = Some(segment.seq);
        }
        let receiver = self.endpoint.receiver();
        let (next, edge) = (receiver.next(), receiver.edge());
        let (readable, had_room) = (self.endpoint.readable(), self.has_much_room());
        self.endpoint.on_segment(now, segment);
        self.held.on_ack();
        let start = self.peer_isn.and_then(|isn| segment.seq.unwrap(isn, next));
        if let Some(start) = start.filter(|_| !payload.is_empty()) {
            self.received.put(start, payload, Span::new(next, edge));
        }
        self.sent.forget_before(self.endpoint.sender().una());
        if self.endpoint.readable() > readable || self.endpoint.receiver().finished() {
            self.news.readable += 1;
        }
        self.note_room(had_room);
        self.note_end();
    }

    fn note_room(&mut self, had_room: bool) {
        if self.news.missed_room && self.has_much_room() {
            self.news.missed_room = false;
            self.news.writable += 1;
        } else if !had_room && self.has_much_room() {
            self.news.writable += 1;
        }
    }

    /// A connection that ended other than by two FINs leaves an error to report.
    fn note_end(&mut self) {
        let State::Closed(how) = self.endpoint.state() else {
            return;
        };
        if matches!(self.before, State::Closed(_)) {
            return;
        }
        self.error = match (how, self.before) {
            (Closed::ByReset, State::SynSent) => Some(Errno::CONNECTION_REFUSED),
            (Closed::ByReset, State::CloseWait) => Some(Errno::PIPE),
            (Closed::ByReset, _) => Some(Errno::CONNECTION_RESET),
            (Closed::ByTimeout, _) => Some(Errno::TIMED_OUT),
            (Closed::Gracefully | Closed::ByAbort, _) => None,
        };
        self.before = self.endpoint.state();
        self.news.readable += 1;
        self.news.writable += 1;
    }

    /// What it is woken for went off.
    pub fn on_wake(&mut self, now: Instant, wake: Wake) {
        self.before = self.endpoint.state();
        match wake {
            Wake::Endpoint(timer) => self.endpoint.on_timer(now, timer),
            Wake::Held => self.give_all(now),
        }
        self.note_end();
    }

    /// What wakes it next, and when.
    pub fn next_wake(&self) -> Option<(Instant, Wake)> {
        let endpoint = self.endpoint.next_timer();
        let endpoint = endpoint.map(|(at, timer)| (at, Wake::Endpoint(timer)));
        let sender = self.endpoint.sender();
        let idle = sender.una() == sender.nxt();
        let held = self.held.since().filter(|_| idle && !self.is_closed());
        let held = held.map(|since| (since + sender.rto(), Wake::Held));
        let all = [endpoint, held].into_iter().flatten();
        all.min_by_key(|(at, _)| *at)
    }

    /// Takes `bytes` to send and returns how many; transmits as Linux does while it takes in a long
    /// write.
    pub fn write(
        &mut self,
        now: Instant,
        bytes: &[u8],
        mode: WriteMode,
        out: &mut Vec<Packet>,
    ) -> Outcome<usize> {
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        if self.write_shut() {
            return Err(Errno::PIPE);
        }
        if !self.is_open() || (!self.has_room() && !bytes.is_empty()) {
            self.news.missed_room = true;
            return Err(Errno::AGAIN);
        }
        let mut taken = 0;
        while taken < bytes.len() {
            let chunks = self.personality.in_chunks;
            if (!chunks || self.endpoint.begins_chunk()) && !self.has_room() {
                break;
            }
            let rest = &bytes[taken..];
            let room = match chunks {
                true => self.endpoint.chunk_room(),
                false => self.personality.send_buffer.saturating_sub(self.queued()),
            };
            let count = usize::try_from(room).unwrap_or(usize::MAX).min(rest.len());
            self.sent.append(&rest[..count]);
            let first = taken == 0;
            taken += count;
            let last = taken == bytes.len();
            let part = Part {
                bytes: count as u64,
                pushed: last && !mode.more,
                ends_record: last && mode.ends_record,
                more: last && mode.more,
            };
            self.hand_over(now, part, first, out);
        }
        if taken < bytes.len() {
            self.news.missed_room = true;
        }
        self.transmit(now, out);
        Ok(taken)
    }

    /// Tells the endpoint of a part of a write, or keeps it for later.
    fn hand_over(&mut self, now: Instant, part: Part, first: bool, out: &mut Vec<Packet>) {
        let waits = part.more || part.ends_record || self.personality.corked;
        if waits || !self.held.is_empty() {
            return self.held.keep(now, part);
        }
        let all = self.endpoint.write_part(now, part.bytes, first);
        if part.pushed {
            self.endpoint.end_write();
        } else {
            self.transmit_some(now, !all, out);
        }
    }

    /// No more waiting for more: what was held back goes, corked or not.
    pub fn uncork(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.held.release();
        while self.take_held(now, false) {}
        self.transmit(now, out);
    }

    /// Tells the endpoint of the data that may follow now; whether there was any.
    fn take_held(&mut self, now: Instant, corked: bool) -> bool {
        let sender = self.endpoint.sender();
        let unsent = sender.limit().since(sender.nxt());
        let given = self
            .held
            .give(unsent, u64::from(self.endpoint.info(now).snd_mss), corked);
        if let Some(part) = given {
            self.endpoint.write_part(now, part.bytes, true);
            if part.pushed {
                self.endpoint.end_write();
            }
        }
        given.is_some()
    }

    /// Sends what may go now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Packet>) {
        loop {
            let corked = self.personality.corked;
            while self.take_held(now, corked) {}
            // Nagle's rule is for the end of the queue: a record with others behind it goes.
            let behind = self.held.has_behind();
            self.endpoint.set_nagle(self.personality.nagle && !behind);
            self.transmit_some(now, false, out);
            if !self.take_held(now, corked) {
                return;
            }
        }
    }

    fn transmit_some(&mut self, now: Instant, one_burst: bool, out: &mut Vec<Packet>) {
        let mut segment = Segment::default();
        while let Some(what) = self.endpoint.poll_transmit(now, &mut segment) {
            let stream = match what {
                Transmit::Stream(what) => Some(what),
                Transmit::Control => None,
            };
            let payload = stream.and_then(Send::span).map_or(Vec::new(), |span| {
                let start = span.start.max(Offset::DATA);
                let len = u64::from(segment.payload_len);
                self.sent.copy(Span::at(start, len))
            });
            let new_data = stream.is_some_and(Send::is_new);
            let ecn_capable = self.endpoint.is_ecn_capable() && new_data && !payload.is_empty();
            out.push(Packet {
                at: now,
                path: self.path,
                segment,
                payload,
                ecn_capable,
            });
            if one_burst && !self.endpoint.is_in_burst() {
                return;
            }
        }
    }

    /// Reads up to `count` bytes; `peek`: leaves them.
    pub fn read(&mut self, now: Instant, count: usize, peek: bool) -> Outcome<Vec<u8>> {
        let readable = self.endpoint.readable() as usize;
        if readable > 0 {
            let count = count.min(readable);
            if peek {
                return Ok(self.received.peek(count));
            }
            self.endpoint.read(now, count as u64);
            return Ok(self.received.take(count));
        }
        if self.endpoint.receiver().finished() {
            return Ok(Vec::new());
        }
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        match self.endpoint.state() {
            _ if self.read_shut => Ok(Vec::new()),
            State::Closed(_) => Ok(Vec::new()),
            State::Listen | State::SynSent | State::SynReceived => Err(Errno::AGAIN),
            _ => Err(Errno::AGAIN),
        }
    }

    /// The application is done sending.
    pub fn shut_write(&mut self, now: Instant) {
        self.give_all(now);
        self.endpoint.close(now);
    }

    /// What was held back does not wait for more any longer; records end with the stream.
    fn give_all(&mut self, now: Instant) {
        if let Some(bytes) = self.held.give_all() {
            self.endpoint.write_part(now, bytes, true);
            self.endpoint.end_write();
        }
    }

    /// The last descriptor is closed; `reset`: the application lingers not at all.
    pub fn release_descriptor(&mut self, now: Instant, reset: bool) {
        self.orphan = true;
        self.give_all(now);
        self.endpoint.release(now, reset);
    }
}
