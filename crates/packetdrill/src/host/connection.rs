//! A connection with Linux's socket semantics, on top of [`recoup_tcp::Connection`].

use super::packet::Packet;
use crate::{
    errno::{Errno, Outcome},
    settings::Personality,
};
use recoup_recovery::Transmission;
use recoup_tcp::{self as tcp, Closed, Config, Flush, Read, State, Transmit, Unreachable, Wake, WriteMode};
use recoup_units::Instant;
use recoup_wire::{Decoded, Endpoints, Segment};
#[derive(Debug)]
pub struct Connection {
    pub tcp: tcp::Connection,
    /// The addresses and ports of the packets sent.
    pub path: Endpoints,
    personality: Personality,
    /// The error the next call reports.
    error: Option<Errno>,
    /// Whether no descriptor refers to it any more.
    pub orphan: bool,
    /// Whether the application has shut down the read side.
    pub read_shut: bool,
    /// The state after the last packet, which shows how a connection ended.
    before: State,
}

impl Connection {
    /// A connection along `path` that sends a SYN, or waits for one if `listens`.
    pub fn new(config: &Config, listens: bool, path: Endpoints, personality: Personality) -> Self {
        let limits = personality.send_limits();
        let tcp =
            if listens { tcp::Connection::listen(config, limits) } else { tcp::Connection::connect(config, limits) };
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

    /// Applies the settings of socket options.
    pub fn set_personality(&mut self, personality: Personality) {
        self.tcp.set_limits(personality.send_limits());
        self.tcp.set_nagle(personality.nagle);
        self.tcp.set_corked(personality.corked);
        self.personality = personality;
    }

    /// The settings of socket options.
    pub fn personality(&self) -> &Personality {
        &self.personality
    }

    /// Whether the peer's stream has ended and was read completely.
    pub fn at_end(&self) -> bool {
        self.tcp.endpoint().receiver().finished() || self.tcp.is_closed() || self.read_shut
    }

    /// The error that the next call would report.
    pub fn pending_error(&self) -> Option<Errno> {
        self.error
    }

    /// Removes and returns the pending error.
    pub fn take_error(&mut self) -> Option<Errno> {
        self.error.take()
    }

    /// Processes a packet of this connection. `marked`: a router set "congestion experienced".
    pub fn deliver(&mut self, now: Instant, packet: &Decoded, payload: &[u8], marked: bool) {
        if marked {
            self.tcp.endpoint_mut().on_congestion_experienced();
        }
        self.before = self.tcp.state();
        self.tcp.deliver(now, &packet.segment, payload);
        self.note_end();
    }

    /// Records the error to report if the connection did not end with two FINs.
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
            (Closed::Unreachable(why), _) => Some(unreachable(why)),
            (Closed::Gracefully | Closed::ByAbort, _) => None,
        };
        self.before = self.tcp.state();
    }

    /// Processes an expired timer.
    pub fn on_wake(&mut self, now: Instant, wake: Wake) {
        self.before = self.tcp.state();
        self.tcp.on_wake(now, wake);
        self.note_end();
    }

    /// Accepts `bytes` to send and returns their number. During a long write, transmits when Linux does.
    pub fn write(&mut self, now: Instant, bytes: &[u8], mode: WriteMode, out: &mut Vec<Packet>) -> Outcome<usize> {
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

    /// Sends the data held back, corked or not.
    pub fn uncork(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.tcp.uncork(now);
        self.transmit(now, out);
    }

    /// Sends all segments that may be sent now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Packet>) {
        transmit(now, &mut self.tcp, self.path, Flush::All, out);
    }

    /// Reads up to `count` bytes. `peek`: they stay in the receive buffer.
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
        if self.read_shut || self.tcp.is_closed() { Ok(Vec::new()) } else { Err(Errno::AGAIN) }
    }

    /// The last descriptor was closed. `reset`: `SO_LINGER` is zero.
    pub fn release_descriptor(&mut self, now: Instant, reset: bool) {
        self.orphan = true;
        self.tcp.release(now, reset);
    }
}

/// The error that Linux makes of an ICMP message (`icmp_err_convert`).
const fn unreachable(why: Unreachable) -> Errno {
    match why {
        Unreachable::Net => Errno::NETWORK_UNREACHABLE,
        Unreachable::Host => Errno::HOST_UNREACHABLE,
        Unreachable::Protocol => Errno::NO_PROTOCOL_OPTION,
        Unreachable::Port => Errno::CONNECTION_REFUSED,
        Unreachable::Prohibited => Errno::ACCESS,
    }
}

/// Sends all segments that may be sent now, or only the current burst.
fn transmit(now: Instant, tcp: &mut tcp::Connection, path: Endpoints, flush: Flush, out: &mut Vec<Packet>) {
    let mut segment = Segment::default();
    while let Some(what) = tcp.poll_transmit(now, &mut segment) {
        let payload = tcp.payload(what.payload_span(&segment)).concat();
        let new_data = matches!(what, Transmit::Stream(what) if Transmission::is_new(what));
        let ecn_capable = tcp.endpoint().is_ecn_capable() && new_data && !payload.is_empty();
        out.push(Packet { at: now, path, segment, payload, ecn_capable });
        if flush == Flush::Burst && !tcp.endpoint().is_in_burst() {
            return;
        }
    }
}
