//! Measures a flow's cost by its packets at the path.
//!
//! A packet counts as sent when it reaches the path, and as arrived when it leaves it. So every stack is
//! measured alike: the kernel's, Recoup's, or one of each.
//!
//! Deviations from what the simulator records:
//!
//! - Extra copies sent in advance count as retransmissions, and as spurious ones if they arrive beside
//!   their originals.
//! - Resets are left out: the testbed ends its connections with them.

use rangemap::RangeSet;
use recoup_path::DropCause;
use recoup_tcp::flow::{FlowRecord, SpuriousRetransmissions, Workload};
use recoup_units::{Direction, FlowId, Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};

use crate::{PacketOutcome, PacketRecord, Tcp};

/// One direction of a flow's data.
#[derive(Debug, Default)]
struct Stream {
    isn: Option<SeqNumber>,
    /// The end of what was sent.
    sent: Offset,
    /// Sequence space that has arrived.
    arrived: RangeSet<u64>,
    spurious: SpuriousRetransmissions,
    /// When the latest ACK arrived at the sender.
    last_ack_at: Option<Instant>,
}

impl Stream {
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

    /// Whether everything before `end` has arrived.
    fn has_arrived(&self, end: Offset) -> bool {
        let from_start = self.arrived.get(&0);
        from_start.is_some_and(|range| range.end >= end.0)
    }
}

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathPoint {
    Sent,
    Arrived,
    Dropped,
}

#[derive(Debug)]
struct FlowMeter<'a> {
    workload: &'a Workload,
    /// When the client was established: the first SYN-ACK arrived.
    client_established: Option<Instant>,
    /// When the server was established: the first ACK of the client arrived.
    server_established: Option<Instant>,
    up: Stream,
    down: Stream,
    /// When the client's first SYN was sent.
    began: Option<Instant>,
    flow: FlowRecord,
}

/// The cost of flow number `flow`, from its packets' outcomes. The senders' counters are not included.
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
        // A copy that the path made does not count as sent, nor does an ACK that a receiver with delayed
        // ACKs would not have sent.
        let sent = &mut last_sent[usize::from(record.direction == Direction::Down)];
        let first = std::mem::replace(sent, record.number) != record.number;
        let thinned = is_thinned(record.outcome);
        if first && !thinned {
            events.push((record.arrival, PathPoint::Sent, record));
        }
        match record.outcome {
            PacketOutcome::Delivered { departure, .. } if !record.damaged => {
                events.push((departure, PathPoint::Arrived, record));
            }
            PacketOutcome::Dropped { due, .. } if !thinned => events.push((due, PathPoint::Dropped, record)),
            _ => {}
        }
    }
    // The sort is stable: a packet that is sent and arrives at one instant keeps this order.
    events.sort_by_key(|(at, _, _)| *at);
    let mut meter = FlowMeter {
        workload,
        client_established: None,
        server_established: None,
        up: Stream::default(),
        down: Stream::default(),
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
    matches!(outcome, PacketOutcome::Dropped { cause: DropCause::Thinned, .. })
}

impl FlowMeter<'_> {
    const fn stream(&mut self, direction: Direction) -> &mut Stream {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    fn see(&mut self, at: Instant, what: PathPoint, record: &PacketRecord, tcp: &Tcp) {
        self.flow.events += 1;
        let span = self.stream(record.direction).span(tcp);
        match what {
            PathPoint::Dropped => self.flow.packets_dropped += 1,
            PathPoint::Sent => self.sent(at, record, tcp, span),
            PathPoint::Arrived => self.arrived(at, record, tcp, span),
        }
    }

    fn sent(&mut self, at: Instant, record: &PacketRecord, tcp: &Tcp, span: Span) {
        self.flow.bytes_sent += record.len as u64;
        self.flow.segments_sent += u64::from(tcp.payload_len > 0);
        let syn = tcp.flags.contains(Flags::SYN);
        if syn && record.direction == Direction::Up {
            self.began = self.began.or(Some(at));
        }
        let stream = self.stream(record.direction);
        let again = Span::new(span.start, span.end.min(stream.sent));
        stream.sent = stream.sent.max(span.end);
        if again.is_empty() {
            return;
        }
        let (arrived, is_data) = (&stream.arrived, tcp.payload_len > 0);
        let number = record.number;
        stream.spurious.on_retransmission(number, is_data, |missing| {
            for gap in arrived.gaps(&(again.start.0..again.end.0)) {
                missing(Span::new(Offset(gap.start), Offset(gap.end)));
            }
        });
        let waited = stream.last_ack_at.map(|then| at.since(then));
        if !syn {
            let first = &mut self.flow.last_ack_to_retransmission;
            *first = first.or(waited);
        }
    }

    fn arrived(&mut self, at: Instant, record: &PacketRecord, tcp: &Tcp, span: Span) {
        if tcp.flags.contains(Flags::ACK) {
            self.stream(record.direction.reverse()).last_ack_at = Some(at);
        }
        if !span.is_empty() {
            let start = span.start + u64::from(tcp.flags.contains(Flags::SYN));
            let end = start + u64::from(tcp.payload_len);
            let stream = self.stream(record.direction);
            let fresh: u64 = if end > start {
                stream.arrived.gaps(&(start.0..end.0)).map(|gap| gap.end - gap.start).sum()
            } else {
                0
            };
            stream.spurious.on_arrival(record.number, span);
            stream.arrived.insert(span.start.0..span.end.0);
            self.flow.unnecessary_bytes += u64::from(tcp.payload_len) - fresh;
        }
        let [syn, ack] = [Flags::SYN, Flags::ACK].map(|flag| tcp.flags.contains(flag));
        let established = match record.direction {
            Direction::Down => (syn && ack).then_some(&mut self.client_established),
            Direction::Up => ack.then_some(&mut self.server_established),
        };
        if let Some(established) = established {
            *established = established.or(Some(at));
        }
        self.check_completion(at);
    }

    fn check_completion(&mut self, at: Instant) {
        let Workload { client, server } = self.workload;
        // A flow without data is complete when the server, too, is established.
        if self.server_established.is_some()
            && self.flow.fct.is_none()
            && self.up.has_arrived(Offset::DATA + client.total())
            && self.down.has_arrived(Offset::DATA + server.total())
        {
            let established = if client.total() > 0 { self.client_established } else { self.server_established };
            self.flow.fct = self.began.map(|began| at.since(began));
            self.flow.fct_established = established.map(|then| at.since(then));
        }
    }

    fn finish(mut self, last: Option<Instant>) -> FlowRecord {
        for stream in [&mut self.up, &mut self.down] {
            let spurious = stream.spurious.spurious();
            self.flow.spurious += spurious.all;
            self.flow.spurious_data += spurious.data;
        }
        let duration = self.began.zip(last).map(|(began, last)| last.since(began));
        self.flow.duration = duration.unwrap_or_default();
        self.flow
    }
}

#[cfg(test)]
mod tests;
