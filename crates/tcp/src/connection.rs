//! A connection: an endpoint, the bytes of both streams, and what the application is notified of.
//!
//! ```text
//!   application ── write, read, close ──► Connection ── poll_transmit ──► segments
//!       ▲                                    ▲    ▲
//!       └───────────── notices ──────────────┘    └ deliver, on_timer
//! ```
//! Every host of this project that handles bytes holds its connections in this form. The host adds what
//! takes more than one connection: addresses, ports, descriptors, budgets.
//!
//! Payload is taken when the endpoint takes the sequence space it covers, and byte by byte only once. What
//! the endpoint drops (a segment outside the window, with an old timestamp, or with an ACK of data never
//! sent) does not change what arrived before. Of data that arrives twice, the first copy stays. The payload
//! of a SYN is not taken; the peer retransmits it.
//!
//! Out-of-order data takes memory in proportion to what arrived. What exceeds twice the receive buffer, the bookkeeping
//! included, is discarded from the end, and a host may discard all of it: the peer keeps and retransmits what is not
//! acknowledged cumulatively, SACKed or not (RFC 2018 §8).
//!
//! Sources: RFC 9293 §3.10.7.4 (a segment is checked before its text is used), §3.10.7.3 (data on a SYN may
//! be left to a retransmission); Linux `tcp_sendmsg_locked` and `sk_stream_write_space` (how much of a
//! write is taken, and when a writer is woken), `tcp_data_queue`, `tcp_prune_ofo_queue` (discards out-of-order data
//! from the end), socket(7) (`SO_RCVBUF` is doubled for bookkeeping).
//!
//! Deviation: where an out-of-order segment covers several that arrived before, Linux keeps the new copy.

mod held;
mod reassembly;

use crate::{Buffer, Closed, Config, Endpoint, Push, State, Timer, Transmit};
use held::{HeldData, WritePart};
use reassembly::Reassembly;
use recoup_recovery::MoreSent;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, Segment};

/// Bytes of each buffer that a connection keeps on [`Connection::reset`].
const KEPT: usize = 64 << 10;

/// Memory that out-of-order data may always take, in bytes, however small the receive buffer is.
const LEAST_REASSEMBLY: u64 = 128 << 10;

/// How many bytes the application may write ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLimits {
    /// Bytes written and not acknowledged, at most (Linux `SO_SNDBUF`).
    pub buffer: u64,
    /// Bytes written and not sent, at most (Linux `TCP_NOTSENT_LOWAT`).
    pub unsent: u64,
}

/// How a write is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteMode {
    /// More follows soon (`MSG_MORE`).
    pub more: bool,
    /// A record ends with it (`MSG_EOR`).
    pub ends_record: bool,
}

/// How much may be transmitted while a write is still being taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// One burst of segments (see [`Endpoint::is_in_burst`]).
    Burst,
    /// Everything the windows permit.
    All,
}

/// Why a write is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// This side has closed the stream.
    Shut,
    /// The connection is over.
    Ended(Closed),
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes were read, at least one.
    Bytes(usize),
    /// There are no bytes now.
    Nothing,
    /// The stream has ended, and all of it was read.
    End,
}

/// Notices to the application. It compares them with the notices it saw before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// The handshake is done.
    pub opened: bool,
    /// How often in-order data or the end of the stream arrived since the application looked.
    pub readable: u32,
    /// How often the send buffer drained after a write that did not fit.
    pub writable: u32,
    /// The connection is over.
    pub closed: bool,
}

/// The event for which a connection must be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A timer of its endpoint.
    Endpoint(Timer),
    /// Held data has waited an RTO for more to join it.
    Held,
}

/// The parts of a segment that are missing: mostly one.
#[derive(Debug, Default)]
struct Gaps {
    first: Option<Span>,
    others: Vec<Span>,
}

impl Gaps {
    #[inline]
    fn add(&mut self, gap: Span) {
        match self.first {
            None => self.first = Some(gap),
            Some(_) => self.others.push(gap),
        }
    }
}

impl IntoIterator for Gaps {
    type Item = Span;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Span>, std::vec::IntoIter<Span>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.others)
    }
}

/// One side of a connection, with its bytes; see the [module](self).
#[derive(Debug)]
pub struct Connection {
    endpoint: Endpoint,
    sent: Buffer,
    /// In-order data that the application has not read.
    received: Buffer,
    reassembly: Reassembly,
    held: HeldData,
    limits: SendLimits,
    nagle: bool,
    corked: bool,
    notices: Notices,
    /// Up to where the application was notified of received data.
    notified_to: Offset,
    /// A write found too little room.
    missed_room: bool,
}

impl Connection {
    /// A connection that connects.
    pub fn connect(config: &Config, limits: SendLimits) -> Self {
        Self::around(Endpoint::connect(config), config, limits)
    }

    /// A connection that waits for a SYN.
    pub fn listen(config: &Config, limits: SendLimits) -> Self {
        Self::around(Endpoint::listen(config), config, limits)
    }

    fn around(endpoint: Endpoint, config: &Config, limits: SendLimits) -> Self {
        Self {
            endpoint,
            sent: Buffer::default(),
            received: Buffer::default(),
            reassembly: Reassembly::default(),
            held: HeldData::default(),
            limits,
            nagle: config.nagle,
            corked: false,
            notices: Notices::default(),
            notified_to: Offset::DATA,
            missed_room: false,
        }
    }

    /// Resets to a new connection, as by [`connect`](Self::connect) or [`listen`](Self::listen), and keeps the
    /// memory.
    pub fn reset(&mut self, config: &Config, connects: bool, limits: SendLimits) {
        self.endpoint.reset(config, connects);
        self.sent.reset(KEPT);
        self.received.reset(KEPT);
        self.reassembly.clear();
        self.held = HeldData::default();
        self.limits = limits;
        self.nagle = config.nagle;
        self.corked = false;
        self.notices = Notices::default();
        self.notified_to = Offset::DATA;
        self.missed_room = false;
    }

    /// Frees the memory of both streams and discards their bytes.
    pub fn give_back_memory(&mut self) {
        self.sent.reset(KEPT);
        self.received.reset(KEPT);
        self.reassembly.clear();
    }

    /// Frees the memory of each finished stream: the send stream once the peer has acknowledged it to its end,
    /// and the receive stream once it was read to its end. `unread`: arriving data will not be read. This
    /// matters because the connection may continue to exist for long.
    pub fn give_back_unused_memory(&mut self, unread: bool) {
        let (sender, receiver) = (self.endpoint.sender(), self.endpoint.receiver());
        if sender.fin().is_some_and(|fin| sender.una() > fin) {
            self.sent.give_back_memory();
        }
        if receiver.finished() || unread {
            self.received.give_back_memory();
        }
        if unread || self.is_closed() {
            self.discard_out_of_order();
        }
    }

    /// The memory of the bytes of both streams, in bytes: what the rings take, full or not, and out-of-order data with its
    /// bookkeeping. The endpoint's own state is not included.
    pub fn memory(&self) -> usize {
        self.sent.memory() + self.received.memory() + self.reassembly.memory()
    }

    /// The memory that `bytes` more would need if they arrived now, at most, in bytes.
    pub fn memory_to_receive(&self, bytes: usize) -> usize {
        self.received.growth(bytes).max(bytes)
    }

    /// Bytes that can be written when the send stream may take `memory` bytes of memory more, whatever the limits are.
    pub fn writable_within(&self, memory: usize) -> usize {
        self.sent.room_within(memory)
    }

    /// The present limits on what is written ahead.
    pub const fn limits(&self) -> SendLimits {
        self.limits
    }

    /// Whether neither stream holds a byte.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.received.is_empty() && self.reassembly.is_empty()
    }

    /// Frees memory of both streams that is not in use. A ring keeps the size that its stream once needed, which is right
    /// while data flows. So call this for a connection that has been idle for a while, or when memory is scarce.
    pub fn shrink(&mut self) {
        self.sent.shrink();
        self.received.shrink();
        self.held.free_unused();
        self.endpoint.free_unused();
    }

    /// The size in bytes that the receive buffer should have, if it should be larger; see
    /// [`Endpoint::wanted_receive_buffer`]. To be asked after each read.
    pub fn wanted_receive_buffer(&mut self, now: Instant) -> Option<u64> {
        self.endpoint.wanted_receive_buffer(now)
    }

    /// Sets the size of the receive buffer, in bytes; see [`Endpoint::set_receive_buffer`]. Out-of-order data that is too
    /// much for it is discarded, from its end.
    pub fn set_receive_buffer(&mut self, now: Instant, bytes: u64) {
        self.endpoint.set_receive_buffer(now, bytes);
        self.limit_reassembly();
    }

    /// The size in bytes that the send buffer should have; see [`Endpoint::wanted_send_buffer`] and
    /// [`set_limits`](Self::set_limits).
    pub fn wanted_send_buffer(&self) -> u64 {
        self.endpoint.wanted_send_buffer()
    }

    /// The memory that out-of-order data takes, bookkeeping included, in bytes.
    pub fn out_of_order_memory(&self) -> usize {
        self.reassembly.memory()
    }

    /// Discards all out-of-order data. The peer retransmits it.
    pub fn discard_out_of_order(&mut self) {
        if !self.reassembly.is_empty() {
            self.reassembly.clear();
            self.endpoint.discard_received_from(Offset::SYN);
        }
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The endpoint, to change its settings. Data and segments go through the connection.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// The state.
    pub fn state(&self) -> State {
        self.endpoint.state()
    }

    /// Whether the handshake is done, now or before the connection ended.
    pub fn is_past_handshake(&self) -> bool {
        !matches!(self.state(), State::Listen | State::SynSent | State::SynReceived)
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        matches!(self.state(), State::Closed(_))
    }

    /// Whether nothing more can be written.
    pub fn is_write_shut(&self) -> bool {
        self.endpoint.sender().fin().is_some() || self.is_closed()
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
        self.queued() < self.limits.buffer && self.unsent() < self.limits.unsent
    }

    /// Whether enough is free to wake a waiting writer: a third of the buffer, and half of the limit on unsent
    /// data (Linux `sk_stream_write_space`, `tcp_stream_is_writeable`).
    pub fn has_much_room(&self) -> bool {
        let queued = self.queued();
        queued + queued / 2 <= self.limits.buffer && self.unsent().saturating_mul(2) < self.limits.unsent
    }

    /// Notifies the application when there is much room, as after a write that found too little.
    pub fn await_room(&mut self) {
        self.missed_room = true;
    }

    /// Takes other limits from now on.
    pub fn set_limits(&mut self, limits: SendLimits) {
        self.limits = limits;
    }

    /// Follows Nagle's rule from now on, or not.
    pub fn set_nagle(&mut self, on: bool) {
        self.nagle = on;
        self.update_nagle();
    }

    /// Holds back less than a full segment from now on, or not (`TCP_CORK`). Data held back already stays
    /// until [`uncork`](Self::uncork).
    pub fn set_corked(&mut self, on: bool) {
        self.corked = on;
    }

    /// Data held back for more to join it may go, corked or not.
    pub fn uncork(&mut self, now: Instant) {
        self.held.release();
        while self.give(now, false) {}
        self.update_nagle();
    }

    /// Accepts as many bytes to send as fit, and returns their number. If not all fit, a notice follows once
    /// [`has_much_room`](Self::has_much_room) holds.
    ///
    /// `flush` is called where Linux transmits in the middle of a long write. Its argument says how much to
    /// transmit; see [`Push::Burst`].
    ///
    /// # Errors
    /// When nothing more can be written.
    pub fn write(
        &mut self,
        now: Instant,
        bytes: &[u8],
        mode: WriteMode,
        mut flush: impl FnMut(&mut Self, Flush),
    ) -> Result<usize, WriteError> {
        self.check_writable()?;
        let mut taken = 0;
        while taken < bytes.len() {
            let rest = &bytes[taken..];
            let count = self.room().min(rest.len());
            if count == 0 {
                break;
            }
            self.sent.append(&rest[..count]);
            let first = taken == 0;
            taken += count;
            let last = taken == bytes.len();
            let part = WritePart {
                bytes: count as u64,
                pushed: last && !mode.more,
                ends_record: last && mode.ends_record,
                more: last && mode.more,
            };
            if let Some(much) = self.hand_over(now, part, first) {
                flush(self, much);
            }
        }
        self.missed_room |= taken < bytes.len();
        self.give_held(now);
        Ok(taken)
    }

    /// Accepts at most `most` bytes written in place: `fill` receives a slice and returns how many bytes it wrote at its
    /// start. Without room, `fill` is not called, and a notice follows once
    /// [`has_much_room`](Self::has_much_room) holds. Further calls fill more.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_with(
        &mut self,
        now: Instant,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, WriteError> {
        self.check_writable()?;
        let room = self.room().min(most);
        if room == 0 {
            self.missed_room = true;
            return Ok(0);
        }
        let taken = self.sent.append_with(room, fill);
        if taken > 0 {
            let part = WritePart { bytes: taken as u64, pushed: true, ends_record: false, more: false };
            self.hand_over(now, part, true);
            self.give_held(now);
        }
        Ok(taken)
    }

    fn check_writable(&self) -> Result<(), WriteError> {
        match self.state() {
            State::Closed(how) => Err(WriteError::Ended(how)),
            _ if self.is_write_shut() => Err(WriteError::Shut),
            _ => Ok(()),
        }
    }

    /// Bytes that the next part of a write may have. A chunk that is begun is filled, whatever the limits
    /// (Linux `tcp_sendmsg_locked`).
    fn room(&self) -> usize {
        let limits = self.limits;
        let room = match self.endpoint.push() {
            Push::Burst { .. } if self.endpoint.begins_chunk() && !self.has_room() => 0,
            Push::Burst { .. } => self.endpoint.chunk_room(),
            Push::WriteEnd => {
                limits.buffer.saturating_sub(self.queued()).min(limits.unsent.saturating_sub(self.unsent()))
            }
        };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Hands a part of a write to the endpoint, or holds it back. Returns how much of it may be transmitted
    /// before the rest of the write is taken.
    fn hand_over(&mut self, now: Instant, part: WritePart, first: bool) -> Option<Flush> {
        let waits = part.more || part.ends_record || self.corked;
        if waits || !self.held.is_empty() {
            self.held.keep(now, part);
            return None;
        }
        let all = self.endpoint.write_part(now, part.bytes, first);
        if part.pushed {
            self.endpoint.end_write();
            return None;
        }
        Some(if all { Flush::All } else { Flush::Burst })
    }

    /// Hands the held data to the endpoint that may go now, one part of it. Returns whether there was any.
    fn give(&mut self, now: Instant, corked: bool) -> bool {
        let sender = self.endpoint.sender();
        let unsent = sender.limit().since(sender.nxt());
        let mss = u64::from(self.endpoint.full_segment);
        let Some(part) = self.held.give(unsent, mss, corked) else {
            return false;
        };
        self.endpoint.write_part(now, part.bytes, true);
        if part.pushed {
            self.endpoint.end_write();
        }
        true
    }

    /// Hands all held data to the endpoint that may go now. Returns whether there was any.
    fn give_held(&mut self, now: Instant) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let mut any = false;
        while self.give(now, self.corked) {
            any = true;
        }
        self.update_nagle();
        any
    }

    /// Nagle's algorithm applies only to the end of the queue: a record with others behind it is sent.
    fn update_nagle(&mut self) {
        let behind = self.held.has_behind();
        self.endpoint.set_nagle(self.nagle && !behind);
    }

    /// Hands all held data to the endpoint, whatever it waits for. Records are joined.
    fn give_all(&mut self, now: Instant) {
        if let Some(bytes) = self.held.give_all() {
            self.endpoint.write_part(now, bytes, true);
            self.endpoint.end_write();
        }
    }

    /// Reads bytes that arrived, as many as fit in `into`, which should not be empty.
    ///
    /// # Errors
    /// How the connection ended, when it ended otherwise than by both sides closing it, and all that
    /// arrived before was read.
    pub fn read(&mut self, now: Instant, into: &mut [u8]) -> Result<Read, Closed> {
        let readable = usize::try_from(self.endpoint.readable()).unwrap_or(usize::MAX);
        let count = readable.min(into.len());
        if count > 0 {
            let count = self.received.take_into(&mut into[..count]);
            self.endpoint.read(now, count as u64);
            return Ok(Read::Bytes(count));
        }
        match self.state() {
            _ if readable > 0 => Ok(Read::Nothing),
            _ if self.endpoint.receiver().finished() => Ok(Read::End),
            State::Closed(Closed::Gracefully) => Ok(Read::End),
            State::Closed(how) => Err(how),
            _ => Ok(Read::Nothing),
        }
    }

    /// A copy of the first bytes that can be read, `count` at most. They stay.
    pub fn peek(&self, count: usize) -> Vec<u8> {
        let readable = usize::try_from(self.endpoint.readable()).unwrap_or(usize::MAX);
        self.received.peek(count.min(readable))
    }

    /// The application has finished writing: a FIN follows the written data, held data included.
    pub fn close(&mut self, now: Instant) {
        self.give_all(now);
        self.endpoint.close(now);
    }

    /// The application lets go of the connection; see [`Endpoint::release`].
    pub fn release(&mut self, now: Instant, reset: bool) {
        self.give_all(now);
        self.endpoint.release(now, reset);
    }

    /// The application gives the connection up; see [`Endpoint::abort`].
    pub fn abort(&mut self) {
        self.endpoint.abort();
    }

    /// A segment of this connection arrived, with its payload.
    pub fn deliver(&mut self, now: Instant, segment: &Segment, payload: &[u8]) {
        let start = match payload {
            [] => None,
            _ if segment.flags.contains(Flags::SYN) => None,
            _ => self.endpoint.receive_offset(segment.seq),
        };
        let mut gaps = Gaps::default();
        if let Some(start) = start {
            let span = Span::at(start, payload.len() as u64);
            self.endpoint.receiver().missing(span, |gap| gaps.add(gap));
        }
        self.endpoint.on_segment(now, segment);
        if let Some(start) = start {
            self.keep_what_was_taken(start, payload, gaps);
        }
        self.held.on_ack();
        self.sent.forget_before(self.endpoint.sender().una());
        self.give_held(now);
    }

    /// Keeps the bytes of `payload`, which begins at `start`, that were missing and are not any more.
    fn keep_what_was_taken(&mut self, start: Offset, payload: &[u8], missing: Gaps) {
        for gap in missing {
            // The endpoint takes a gap's beginning, up to the edge of the window, or nothing.
            let mut end = gap.end;
            self.endpoint.receiver().missing(gap, |still| end = end.min(still.start));
            self.keep(gap.start, &payload[gap.start.since(start) as usize..end.since(start) as usize]);
        }
        self.limit_reassembly();
    }

    /// Keeps bytes that arrived for the first time.
    fn keep(&mut self, at: Offset, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if at > self.received.end() {
            self.reassembly.put(at, bytes);
            return;
        }
        self.received.append(bytes);
        while let Some(next) = self.reassembly.take(self.received.end()) {
            self.received.append(&next);
        }
    }

    /// Discards out-of-order data from its end, as long as it takes more memory than it may.
    fn limit_reassembly(&mut self) {
        let most = self.endpoint.receiver().buffer().saturating_mul(2).max(LEAST_REASSEMBLY);
        while self.reassembly.memory() as u64 > most
            && let Some(from) = self.reassembly.discard_last()
        {
            self.endpoint.discard_received_from(from);
        }
    }

    /// When the connection must be woken next, and why.
    pub fn next_wake(&self) -> Option<(Instant, Wake)> {
        let endpoint = self.endpoint.next_timer();
        let endpoint = endpoint.map(|(at, timer)| (at, Wake::Endpoint(timer)));
        let sender = self.endpoint.sender();
        let idle = sender.una() == sender.nxt();
        let held = self.held.since().filter(|_| idle && !self.is_closed());
        let held = held.map(|since| (since + sender.rto(), Wake::Held));
        [endpoint, held].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// The connection is woken.
    pub fn on_wake(&mut self, now: Instant, wake: Wake) {
        match wake {
            Wake::Endpoint(timer) => self.endpoint.on_timer(now, timer),
            Wake::Held => self.give_all(now),
        }
        self.give_held(now);
    }

    /// Writes the next segment to transmit now to `segment`; see [`Endpoint::poll_transmit`].
    pub fn poll_transmit(&mut self, now: Instant, segment: &mut Segment) -> Option<Transmit> {
        loop {
            let transmit = self.endpoint.poll_transmit(now, segment);
            if transmit.is_some() || !self.give_held(now) {
                return transmit;
            }
        }
    }

    /// Transmits more segments like `segment`; see [`Endpoint::transmit_more`].
    pub fn transmit_more(&mut self, now: Instant, segment: &Segment, most: u32) -> MoreSent {
        self.endpoint.transmit_more(now, segment, most)
    }

    /// The bytes of `span` of the send stream, fewer if they are not all held, in two parts, of which the
    /// second is mostly empty.
    pub fn payload(&self, span: Span) -> [&[u8]; 2] {
        self.sent.parts(span)
    }

    /// The current notices to the application.
    pub fn notices(&mut self) -> Notices {
        let next = self.endpoint.receiver().next();
        self.notices.opened |= self.is_past_handshake() && !self.is_closed();
        if next > self.notified_to {
            self.notified_to = next;
            self.notices.readable = self.notices.readable.wrapping_add(1);
        }
        if self.missed_room && self.has_much_room() {
            self.missed_room = false;
            self.notices.writable = self.notices.writable.wrapping_add(1);
        }
        self.notices.closed = self.is_closed();
        self.notices
    }
}

#[cfg(test)]
mod tests;
