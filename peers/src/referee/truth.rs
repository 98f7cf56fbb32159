//! What the retransmissions of a TCP flow were, by what the bench knows: every packet sent, why, and whether it arrived.

use crate::bench::{Cause, Log};
use rangemap::RangeSet;
use recoup_tcp::flow::Host;
use recoup_units::{Direction, Instant, Offset};
use recoup_wire::{Flags, SeqNumber, decode_unverified};
use std::{collections::HashMap, ops::Range, time::Duration};

/// A retransmission of data by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Its place in the log.
    pub number: usize,
    pub at: Instant,
    /// What made the server send it.
    pub cause: Cause,
    /// Whether earlier transmissions deliver every byte of it, even later than it was sent.
    pub spurious: bool,
    /// Since the last packet of the client arrived.
    pub since_arrival: Option<Duration>,
    /// Whether a timer had sent some data again before, and what this one sends was outstanding then.
    pub after_timeout: bool,
}

/// The server's data of one flow.
#[derive(Debug, Default)]
pub struct Truth {
    /// In the order in which they were sent.
    pub retransmissions: Vec<Retransmission>,
    /// Data packets that did not arrive.
    pub lost: u64,
    /// The most data packets sent at one instant.
    pub burst: u64,
    /// When the last data packets left, and how many at once.
    last: Option<(Instant, u64)>,
    /// Bytes outstanding as the server knows, after each packet that it sent or received.
    flight: Vec<(Instant, u64)>,
}

impl Truth {
    /// Of the flow with this index, whose packets are TCP.
    pub fn of_tcp(log: &Log, flow: usize) -> Self {
        let mut truth = Self::default();
        let mut stream = Stream::default();
        let mut last_arrival = None;
        for (at, number, bytes) in log.captured(Host::Server, Some(flow)) {
            let sent = &log.packets[number];
            if sent.direction == Direction::Up {
                last_arrival = Some(at);
                continue;
            }
            let Ok(decoded) = decode_unverified(bytes) else { continue };
            let segment = decoded.segment;
            let len = u64::from(segment.payload_len);
            let Some(start) = stream.place(segment.seq, segment.flags) else { continue };
            if len == 0 {
                continue;
            }
            truth.count(at, sent.arrived.is_none());
            let span = start..start + len;
            if let Some((spurious, after_timeout)) = stream.send(sent.cause, &span) {
                let since_arrival = last_arrival.map(|last| at.since(last));
                let cause = sent.cause;
                truth.retransmissions.push(Retransmission {
                    number,
                    at,
                    cause,
                    spurious,
                    since_arrival,
                    after_timeout,
                });
            }
            if sent.arrived.is_some() {
                stream.delivered.insert(span);
            }
        }
        truth.flight = flight(log, flow);
        truth
    }

    /// Of the flow with this index, whose packets are encrypted: a packet longer than an acknowledgment has data.
    pub fn of_datagrams(log: &Log, flow: usize) -> Self {
        let mut truth = Self::default();
        for sent in
            log.packets.iter().filter(|sent| sent.flow == flow && sent.direction == Direction::Down && sent.is_long())
        {
            truth.count(sent.at, sent.arrived.is_none());
        }
        truth
    }

    fn count(&mut self, at: Instant, lost: bool) {
        self.lost += u64::from(lost);
        let together = match self.last {
            Some((last, together)) if last == at => together + 1,
            _ => 1,
        };
        self.last = Some((at, together));
        self.burst = self.burst.max(together);
    }

    pub fn spurious(&self) -> u64 {
        self.retransmissions.iter().filter(|one| one.spurious).count() as u64
    }

    /// How often a timer made the server send data again.
    pub fn timeouts(&self) -> u64 {
        let by_timer = self.retransmissions.iter().filter(|one| one.cause == Cause::Timer).map(|one| one.at);
        let mut times: Vec<_> = by_timer.collect();
        times.dedup();
        times.len() as u64
    }

    /// The most bytes outstanding in `after`, as a share of those in `before`.
    pub fn restored(&self, before: [Duration; 2], after: [Duration; 2]) -> Option<f64> {
        let most = |[from, to]: [Duration; 2]| {
            let within = Instant::ZERO + from..Instant::ZERO + to;
            let within = self.flight.iter().filter(|(at, _)| within.contains(at));
            within.map(|(_, bytes)| *bytes).max()
        };
        let (before, after) = (most(before)?, most(after)?);
        (before > 0).then(|| after as f64 / before as f64)
    }
}

/// The server's data as it is sent.
#[derive(Default)]
struct Stream {
    isn: Option<SeqNumber>,
    /// The end of what was sent.
    sent: u64,
    /// The end of what had been sent when a timer last sent data again.
    timed_out: u64,
    /// What earlier packets deliver, now or later.
    delivered: RangeSet<u64>,
}

impl Stream {
    /// The place of a sequence number in the stream, counted from the SYN.
    fn place(&mut self, seq: SeqNumber, flags: Flags) -> Option<u64> {
        let syn = flags.contains(Flags::SYN);
        let isn = match self.isn {
            Some(isn) => isn,
            None if syn => *self.isn.insert(seq),
            None => return None,
        };
        seq.unwrap(isn, Offset(self.sent.max(1))).map(|offset| offset.0)
    }

    /// This span is sent. If it was sent before: whether earlier packets deliver what is sent again, and whether it was
    /// outstanding when a timer last sent data again.
    fn send(&mut self, cause: Cause, span: &Range<u64>) -> Option<(bool, bool)> {
        let again = span.start..span.end.min(self.sent);
        let outstanding = self.sent;
        self.sent = self.sent.max(span.end);
        if again.is_empty() {
            return None;
        }
        let spurious = self.delivered.gaps(&again).next().is_none();
        let after_timeout = again.start < self.timed_out;
        if cause == Cause::Timer {
            self.timed_out = self.timed_out.max(outstanding);
        }
        Some((spurious, after_timeout))
    }
}

/// The bytes outstanding at the server after each packet that it sends or receives.
fn flight(log: &Log, flow: usize) -> Vec<(Instant, u64)> {
    let mut stream = Stream::default();
    let mut acknowledged = 0;
    let mut flight = Vec::new();
    for (at, number, bytes) in log.captured(Host::Server, Some(flow)) {
        let Ok(decoded) = decode_unverified(bytes) else { continue };
        let segment = decoded.segment;
        match log.packets[number].direction {
            Direction::Down => {
                let Some(start) = stream.place(segment.seq, segment.flags) else { continue };
                stream.sent = stream.sent.max(start + u64::from(segment.payload_len));
            }
            Direction::Up => {
                let Some(isn) = stream.isn else { continue };
                if let Some(ack) = segment.ack.unwrap(isn, Offset(stream.sent.max(1))) {
                    acknowledged = acknowledged.max(ack.0);
                }
            }
        }
        flight.push((at, stream.sent.saturating_sub(acknowledged)));
    }
    flight
}

/// The retransmissions by their place in the log.
pub fn by_number(truth: &Truth) -> HashMap<usize, Retransmission> {
    truth.retransmissions.iter().map(|one| (one.number, *one)).collect()
}
