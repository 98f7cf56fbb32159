//! What a flow cost, told by who carried its packets.
//!
//! The emulator stands beside both ends: a packet is sent when it reaches the path and arrives when it
//! leaves it. So the same is measured of any stack: the kernel's, ours, one of each.
//!
//! Deviations from what the simulator records: extra copies sent in advance look like retransmissions
//! here, and are spurious ones where they arrive beside their originals; resets are left out, with which
//! the testbed ends its connections.

use rangemap::RangeSet;
use recoup_path::DropCause;
use recoup_tcp::flow::{FlowRecord, Host, Ledger, Workload};
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};

use crate::{PacketOutcome, PacketRecord, Tcp};

/// One direction of a flow.
#[derive(Debug, Default)]
struct Way {
    isn: Option<SeqNumber>,
    /// Up to where it was sent.
    sent: Offset,
    /// Sequence space that has arrived.
    arrived: RangeSet<u64>,
    ledger: Ledger,
    /// When the latest packet with an ACK arrived at the sender.
    last_ack_at: Option<Instant>,
}

impl Way {
    /// The sequence space of a segment.
    fn span(&mut self, tcp: &Tcp) -> Span {
        let [syn, fin] = [Flags::SYN, Flags::FIN].map(|flag| tcp.flags.contains(flag));
        let isn = match self.isn {
            Some(isn) => isn,
            None if syn => *self.isn.insert(SeqNumber(tcp.seq)),
            None => return Span::default(),
        };
        let len = u64::from(tcp.payload_len) + u64::from(syn) + u64::from(fin);
        let start = SeqNumber(tcp.seq).unwrap(isn, self.sent);
        start.map_or(Span::default(), |start| Span::at(start, len))
    }

    /// Whether the stream has arrived without a gap up to `end`.
    fn has_arrived(&self, end: Offset) -> bool {
        let from_start = self.arrived.get(&0);
        from_start.is_some_and(|range| range.end >= end.0)
    }
}

/// Something that happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Sent,
    Arrived,
    Dropped,
}

#[derive(Debug)]
struct FlowMeter<'a> {
    workload: &'a Workload,
    up: Way,
    down: Way,
    /// When the client's first SYN was sent.
    began: Option<Instant>,
    flow: FlowRecord,
}

/// What flow number `flow` cost, from what became of its packets. Counters are left to who has them.
pub(super) fn measure(records: &[PacketRecord], flow: FlowId, workload: &Workload) -> FlowRecord {
    let concerned = |record: &&PacketRecord| {
        let ours = |tcp: Tcp| !tcp.flags.contains(Flags::RST);
        record.flow == flow && record.tcp.is_some_and(ours)
    };
    let mut events = Vec::new();
    let mut last_sent = [0; 2];
    let mut by_number: Vec<_> = records.iter().filter(concerned).collect();
    by_number.sort_by_key(|record| (record.direction == Direction::Down, record.number));
    for record in by_number {
        // A copy the path made was sent once, with its original. What a receiver with delayed ACKs
        // would not have sent was not sent.
        let sent = &mut last_sent[usize::from(record.direction == Direction::Down)];
        let first = std::mem::replace(sent, record.number) != record.number;
        let thinned = is_thinned(record.outcome);
        if first && !thinned {
            events.push((record.arrival, What::Sent, record));
        }
        match record.outcome {
            PacketOutcome::Delivered { departure, .. } if !record.damaged => {
                events.push((departure, What::Arrived, record));
            }
            PacketOutcome::Dropped { due, .. } if !thinned => {
                events.push((due, What::Dropped, record))
            }
            _ => {}
        }
    }
    // What is equal in time stays as it is: sent, then arrived.
    events.sort_by_key(|(at, _, _)| *at);
    let mut meter = FlowMeter {
        workload,
        up: Way::default(),
        down: Way::default(),
        began: None,
        flow: FlowRecord::default(),
    };
    for &(at, what, record) in &events {
        if let Some(tcp) = &record.tcp {
            meter.see(at, what, record, tcp);
        }
    }
    meter.finish(events.last().map(|(at, _, _)| *at))
}

/// Whether the packet is an ACK that a receiver with delayed ACKs would not have sent.
fn is_thinned(outcome: PacketOutcome) -> bool {
    matches!(
        outcome,
        PacketOutcome::Dropped {
            cause: DropCause::Thinned,
            ..
        }
    )
}

impl FlowMeter<'_> {
    const fn way(&mut self, direction: Direction) -> &mut Way {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    fn see(&mut self, at: Instant, what: What, record: &PacketRecord, tcp: &Tcp) {
        self.flow.events += 1;
        let span = self.way(record.direction).span(tcp);
        match what {
            What::Dropped => self.flow.packets_dropped += 1,
            What::Sent => self.sent(at, record, tcp, span),
            What::Arrived => self.arrived(at, record, tcp, span),
        }
    }

    fn sent(&mut self, at: Instant, record: &PacketRecord, tcp: &Tcp, span: Span) {
        self.flow.bytes_sent += record.len as u64;
        self.flow.segments_sent += u64::from(tcp.payload_len > 0);
        let syn = tcp.flags.contains(Flags::SYN);
        if syn && record.direction == Direction::Up {
            self.began = self.began.or(Some(at));
        }
        let way = self.way(record.direction);
        let again = Span::new(span.start, span.end.min(way.sent));
        way.sent = way.sent.max(span.end);
        if again.is_empty() {
            return;
        }
        let arrived = &way.arrived;
        way.ledger.on_retransmission(record.number, |missing| {
            for gap in arrived.gaps(&(again.start.0..again.end.0)) {
                missing(Span::new(Offset(gap.start), Offset(gap.end)));
            }
        });
        let waited = way.last_ack_at.map(|then| at.since(then));
        if !syn {
            let first = &mut self.flow.last_ack_to_retransmission;
            *first = first.or(waited);
        }
    }

    fn arrived(&mut self, at: Instant, record: &PacketRecord, tcp: &Tcp, span: Span) {
        if tcp.flags.contains(Flags::ACK) {
            self.way(record.direction.reverse()).last_ack_at = Some(at);
        }
        if !span.is_empty() {
            let start = span.start + u64::from(tcp.flags.contains(Flags::SYN));
            let end = start + u64::from(tcp.payload_len);
            let way = self.way(record.direction);
            let fresh: u64 = match end > start {
                true => way
                    .arrived
                    .gaps(&(start.0..end.0))
                    .map(|gap| gap.end - gap.start)
                    .sum(),
                false => 0,
            };
            way.ledger.on_arrival(record.number, span);
            way.arrived.insert(span.start.0..span.end.0);
            self.flow.unnecessary_bytes += u64::from(tcp.payload_len) - fresh;
        }
        let (last, bytes) = match self.workload.response_len() {
            0 => (Host::Client, self.workload.request),
            bytes => (Host::Server, bytes),
        };
        // A flow without data is complete when the server, too, is open.
        let ends = record.direction == last.sends() && tcp.flags.contains(Flags::ACK);
        if ends
            && self.flow.fct.is_none()
            && self.way(last.sends()).has_arrived(Offset::DATA + bytes)
        {
            self.flow.fct = self.began.map(|began| at.since(began));
        }
    }

    fn finish(mut self, last: Option<Instant>) -> FlowRecord {
        self.flow.spurious = self.up.ledger.spurious() + self.down.ledger.spurious();
        let duration = self.began.zip(last).map(|(began, last)| last.since(began));
        self.flow.duration = duration.unwrap_or_default();
        self.flow
    }
}

#[cfg(test)]
mod tests;
