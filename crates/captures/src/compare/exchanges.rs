//! Requests with their responses in a connection, and how long each took.
//!
//! An exchange begins with new data while all data before is acknowledged: of the client after data of the server, or of either
//! after a pause of [`QUIET`]. It ends with the ACK of its last byte. Data of the client while a response is on its way belongs to
//! the same exchange: so requests that overlap, as in HTTP/2, are one.

use crate::tmix::{Data, QUIET, SentBytes};
use recoup_trace::read::CapturedPacket;
use recoup_units::{Direction, Instant};
use recoup_wire::Flags;
use std::time::Duration;

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    pub begun: Instant,
    /// Bytes of the client.
    pub request: u64,
    /// Bytes of the server.
    pub response: u64,
    /// From the last byte of the request to the first of the response, if both are there.
    pub wait: Option<Duration>,
    /// From the first byte to the ACK of the last.
    pub time: Duration,
}

/// A connection that is complete: all data of both ends is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Complete {
    /// When the SYN passed.
    pub begun: Instant,
    /// Bytes of the client and of the server.
    pub bytes: [u64; 2],
    /// From the client's first SYN to the ACK of the last byte.
    pub time: Duration,
}

/// Follows a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    ends: [SentBytes; 2],
    /// When the client's first SYN passed.
    syn: Option<Instant>,
    current: Option<Current>,
}

/// An exchange under way.
#[derive(Clone, Copy, Debug)]
struct Current {
    begun: Instant,
    bytes: [u64; 2],
    /// When data was last new.
    last_new: Instant,
    wait: Option<Duration>,
    /// When all of it was acknowledged.
    done: Option<Instant>,
}

impl Current {
    fn begin(at: Instant) -> Self {
        Self { begun: at, bytes: [0; 2], last_new: at, wait: None, done: None }
    }

    fn end(self) -> Option<Exchange> {
        let [request, response] = self.bytes;
        let time = self.done?.since(self.begun);
        Some(Exchange { begun: self.begun, request, response, wait: self.wait, time })
    }

    /// Whether new data of this end at this time begins another exchange.
    fn is_over(&self, end: usize, at: Instant) -> bool {
        let answers_response = end == 0 && self.bytes[1] > 0;
        self.done.is_some() && (answers_response || at.since(self.last_new) > QUIET && self.bytes[end] > 0)
    }
}

impl Tracker {
    /// The next packet. Returns the exchange that is over.
    pub fn packet(&mut self, direction: Direction, packet: &CapturedPacket) -> Option<Exchange> {
        let (end, segment) = (direction as usize, &packet.segment);
        let is_syn = segment.flags.contains(Flags::SYN);
        if self.ends[end].isn().is_none() {
            // The capture may begin within the connection.
            self.ends[end].open(if is_syn { segment.seq } else { segment.seq - 1 });
        }
        if is_syn {
            if end == 0 {
                self.syn.get_or_insert(packet.at);
            }
            return None;
        }
        if segment.flags.contains(Flags::ACK) {
            self.ends[1 - end].acknowledge(segment.ack);
            let is_done = self.ends.iter().all(SentBytes::is_acknowledged);
            if let Some(current) = self.current.as_mut().filter(|current| is_done && current.done.is_none()) {
                current.done = Some(packet.at);
            }
        }
        match segment.payload_len {
            0 => None,
            _ => match self.ends[end].send(segment) {
                Data::New(new) => self.data(end, new, packet.at),
                Data::Foreign | Data::Probe | Data::Again => None,
            },
        }
    }

    fn data(&mut self, end: usize, new: u64, at: Instant) -> Option<Exchange> {
        let over = self.current.take_if(|current| current.is_over(end, at)).and_then(Current::end);
        let current = self.current.get_or_insert(Current::begin(at));
        if end == 1 && current.bytes[0] > 0 && current.bytes[1] == 0 {
            current.wait = Some(at.since(current.last_new));
        }
        current.bytes[end] += new;
        current.last_new = at;
        current.done = None;
        over
    }

    /// There are no more packets. Returns the last exchange, and the connection if it is complete.
    pub fn finish(self) -> (Option<Exchange>, Option<Complete>) {
        let done = self.current.and_then(|current| current.done);
        let complete = self.syn.zip(done).map(|(syn, done)| Complete {
            begun: syn,
            bytes: self.ends.map(|end| end.sent()),
            time: done.since(syn),
        });
        (self.current.and_then(Current::end), complete)
    }
}

#[cfg(test)]
mod tests;
