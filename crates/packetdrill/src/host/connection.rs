//! A connection as Linux's sockets see it: what this host adds to [`recoup_tcp::Connection`].

use super::packet::Packet;
use crate::errno::{Errno, Outcome};
use crate::settings::Personality;
use recoup_recovery::Send;
use recoup_tcp::{self as tcp, Closed, Config, Flush, Read, State, Transmit, Wake, WriteMode};
use recoup_units::Instant;
use recoup_wire::{Decoded, Endpoints, Segment};

/// One connection.
#[derive(Debug)]
pub struct Connection {
    pub tcp: tcp::Connection,
    /// Of the packets sent.
    pub path: Endpoints,
    personality: Personality,
    /// The error the next call reports.
    error: Option<Errno>,
    /// No descriptor refers to it any more.
    pub orphan: bool,
    /// The application has shut the stream for reading.
    pub read_shut: bool,
    /// The state when the last packet had been handled, to tell how a connection ended.
    before: State,
}

impl Connection {
    /// A connection along `path` that connects, or waits for a SYN where `listens`.
    pub fn new(config: &Config, listens: bool, path: Endpoints, personality: Personality) -> Self {
        let limits = personality.send_limits();
        let tcp = match listens {
            true => tcp::Connection::listen(config, limits),
            false => tcp::Connection::connect(config, limits),
        };
        let mut connection = Self {
            before: tcp.state(),
            tcp,
            path,
            personality: personality.clone(),
            error: None,
            orphan: false,
            read_shut: false,
        };
        connection.set_personality(personality);
        connection
    }

    /// Takes what socket options set.
    pub fn set_personality(&mut self, personality: Personality) {
        self.tcp.set_limits(personality.send_limits());
        self.tcp.set_nagle(personality.nagle);
        self.tcp.set_corked(personality.corked);
        self.personality = personality;
    }

    /// What socket options set.
    pub fn personality(&self) -> &Personality {
        &self.personality
    }

    /// The peer has sent all it had, and all of it was read.
    pub fn at_end(&self) -> bool {
        self.tcp.endpoint().receiver().finished() || self.tcp.is_closed() || self.read_shut
    }

    /// The error the next call would report.
    pub fn pending_error(&self) -> Option<Errno> {
        self.error
    }

    /// That error, which is then forgotten.
    pub fn take_error(&mut self) -> Option<Errno> {
        self.error.take()
    }

    /// A packet of this connection arrived, `marked` by a router or not.
    pub fn deliver(&mut self, now: Instant, packet: &Decoded, payload: &[u8], marked: bool) {
        if marked {
            self.tcp.endpoint_mut().on_congestion_experienced();
        }
        self.before = self.tcp.state();
        self.tcp.deliver(now, &packet.segment, payload);
        self.note_end();
    }

    /// A connection that ended other than by two FINs leaves an error to report.
    fn note_end(&mut self) {
        let State::Closed(how) = self.tcp.state() else {
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
        self.before = self.tcp.state();
    }

    /// What it is woken for went off.
    pub fn on_wake(&mut self, now: Instant, wake: Wake) {
        self.before = self.tcp.state();
        self.tcp.on_wake(now, wake);
        self.note_end();
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
        if self.tcp.is_write_shut() {
            return Err(Errno::PIPE);
        }
        if !self.tcp.is_past_handshake() || (!self.tcp.has_room() && !bytes.is_empty()) {
            self.tcp.await_room();
            return Err(Errno::AGAIN);
        }
        let path = self.path;
        let taken = self.tcp.write(now, bytes, mode, |tcp, flush| {
            transmit(now, tcp, path, flush, out);
        });
        let taken = taken.map_err(|_| Errno::PIPE)?;
        self.transmit(now, out);
        Ok(taken)
    }

    /// No more waiting for more: what was held back goes, corked or not.
    pub fn uncork(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.tcp.uncork(now);
        self.transmit(now, out);
    }

    /// Sends what may go now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Packet>) {
        transmit(now, &mut self.tcp, self.path, Flush::All, out);
    }

    /// Reads up to `count` bytes; `peek`: leaves them.
    pub fn read(&mut self, now: Instant, count: usize, peek: bool) -> Outcome<Vec<u8>> {
        let readable = usize::try_from(self.tcp.endpoint().readable()).unwrap_or(usize::MAX);
        if peek && readable > 0 {
            return Ok(self.tcp.peek(count));
        }
        let mut bytes = vec![0; count.min(readable)];
        match self.tcp.read(now, &mut bytes) {
            Ok(Read::Bytes(read)) => {
                bytes.truncate(read);
                return Ok(bytes);
            }
            Ok(Read::End) if self.tcp.endpoint().receiver().finished() => return Ok(bytes),
            Ok(Read::Nothing) if readable > 0 => return Ok(bytes),
            Ok(Read::End | Read::Nothing) | Err(_) => {}
        }
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        match self.read_shut || self.tcp.is_closed() {
            true => Ok(Vec::new()),
            false => Err(Errno::AGAIN),
        }
    }

    /// The last descriptor is closed; `reset`: the application lingers not at all.
    pub fn release_descriptor(&mut self, now: Instant, reset: bool) {
        self.orphan = true;
        self.tcp.release(now, reset);
    }
}

/// Sends what may go now, or the present burst of it.
fn transmit(
    now: Instant,
    tcp: &mut tcp::Connection,
    path: Endpoints,
    flush: Flush,
    out: &mut Vec<Packet>,
) {
    let mut segment = Segment::default();
    while let Some(what) = tcp.poll_transmit(now, &mut segment) {
        let payload = tcp.payload(what.payload_span(&segment)).concat();
        let new_data = matches!(what, Transmit::Stream(what) if Send::is_new(what));
        let ecn_capable = tcp.endpoint().is_ecn_capable() && new_data && !payload.is_empty();
        out.push(Packet {
            at: now,
            path,
            segment,
            payload,
            ecn_capable,
        });
        if flush == Flush::Burst && !tcp.endpoint().is_in_burst() {
            return;
        }
    }
}
