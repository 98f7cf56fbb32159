//! The event stream of `recoup run --events`, as JSON lines. `docs/events.md` describes every event.

mod line;

use crate::pcap::Order;
use line::Line;
use recoup_recovery::{Event, Transmission};
use recoup_sim::{Observer, Packet, Point};
use recoup_support::event_stream::SCHEMA;
use recoup_tcp::Endpoint;
use recoup_tcp::flow::Host;
use recoup_units::{Direction, FlowId, Instant, Offset, Segments};
use recoup_wire::{Flags, Segment, SeqNumber};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

/// Writes the events of the flows it observes as JSON lines, after a line with the schema.
#[derive(Debug)]
pub struct EventWriter<W: Write> {
    out: BufWriter<W>,
    /// The profile's name as a JSON string.
    profile: String,
    order: Order,
    /// The data of each flow, from the client and from the server.
    flows: HashMap<FlowId, [Stream; 2]>,
    line: String,
    /// Lines of packets sent. They follow the sender's events of the same instant.
    held: String,
    error: Option<io::Error>,
}

/// Converts the sequence numbers of one direction to offsets.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// The initial sequence number.
    isn: Option<SeqNumber>,
    /// The highest offset sent.
    highest: Offset,
}

impl Stream {
    fn on_sent(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.isn = Some(segment.seq);
        }
        if let Some(start) = self.offset(segment.seq) {
            let end = start + u64::from(segment.sequence_len());
            self.highest = self.highest.max(end);
        }
    }

    fn offset(&self, seq: SeqNumber) -> Option<Offset> {
        seq.unwrap(self.isn?, self.highest)
    }
}

impl<W: Write> EventWriter<W> {
    /// A writer of flows of `profile`.
    pub fn new(out: W, profile: &str) -> Self {
        let mut writer = Self {
            out: BufWriter::new(out),
            profile: json_string(profile),
            order: Order::OneByOne,
            flows: HashMap::new(),
            line: SCHEMA.header(),
            held: String::new(),
            error: None,
        };
        writer.write_line();
        writer
    }

    /// The flows follow one another in this order, and not one by one.
    #[must_use]
    pub fn ordered(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// The following flows are of `profile`.
    pub fn set_profile(&mut self, profile: &str) {
        self.release();
        self.flows.clear();
        self.profile = json_string(profile);
    }

    /// Writes all buffered lines and returns `out`.
    ///
    /// # Errors
    /// The first error of `out`, after which nothing was written.
    pub fn finish(mut self) -> io::Result<W> {
        self.release();
        match self.error {
            Some(error) => Err(error),
            None => self
                .out
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(|mut out| out.flush().map(|()| out)),
        }
    }

    /// Writes the packets held back. Packets just sent wait for the events of their host at the same
    /// instant, which stand before them; whoever writes both in order calls this after each packet.
    pub fn release(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(self.held.as_bytes()).err();
        }
        self.held.clear();
    }

    fn write_line(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(self.line.as_bytes()).err();
        }
    }
}

impl<W: Write> Observer for EventWriter<W> {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let (name, host) = match (point, direction) {
            (Point::Sent, Direction::Up) => ("packet_sent", Some(Host::Client)),
            (Point::Sent, Direction::Down) => ("packet_sent", Some(Host::Server)),
            (Point::Arrived, Direction::Up) => ("packet_arrived", Some(Host::Server)),
            (Point::Arrived, Direction::Down) => ("packet_arrived", Some(Host::Client)),
            (Point::Dropped(_), _) => ("packet_dropped", None),
        };
        if point == Point::Sent {
            // A client's first packet opens a flow.
            if direction == Direction::Up && packet.ordinal == 0 {
                match self.order {
                    Order::OneByOne => self.flows.clear(),
                    Order::Together => drop(self.flows.remove(&packet.flow)),
                }
            }
            let streams = self.flows.entry(packet.flow).or_default();
            streams[direction as usize].on_sent(&packet.segment);
        }
        let streams = self.flows.entry(packet.flow).or_default();
        self.line.clear();
        let mut line = Line::begin(&mut self.line, now, &self.profile, packet.flow, host, name);
        packet_fields(&mut line, direction, packet, streams);
        if let Point::Dropped(cause) = point {
            line.name("cause", Some(cause.name()));
        }
        line.end();
        if point == Point::Sent {
            self.held.push_str(&self.line);
        } else {
            self.release();
            self.write_line();
        }
    }

    fn on_event(&mut self, now: Instant, flow: FlowId, host: Host, event: &Event) {
        self.line.clear();
        let name = event.name();
        let mut line = Line::begin(&mut self.line, now, &self.profile, flow, Some(host), name);
        event_fields(&mut line, event);
        line.end();
        self.write_line();
    }

    fn on_settled(&mut self, _: Instant, _: Host, _: &Endpoint) {
        self.release();
    }
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn packet_fields(line: &mut Line<'_>, direction: Direction, packet: &Packet, streams: &[Stream; 2]) {
    let segment = &packet.segment;
    let (own, other) = match direction {
        Direction::Up => (&streams[0], &streams[1]),
        Direction::Down => (&streams[1], &streams[0]),
    };
    let acked = segment.flags.contains(Flags::ACK).then_some(segment.ack);
    let sack =
        segment.options.sack.iter().filter_map(|[left, right]| Some((other.offset(left)?, other.offset(right)?)));
    line.name("direction", Some(direction.name()));
    line.number("packet", Some(packet.ordinal));
    line.number("seq", own.offset(segment.seq).map(|o| o.0));
    line.number("ack", acked.and_then(|ack| other.offset(ack)).map(|o| o.0));
    line.number("len", Some(segment.payload_len.into()));
    line.flags("flags", segment.flags);
    line.ranges("sack", sack);
    line.truth("damaged", packet.damage.is_some());
}

fn event_fields(line: &mut Line<'_>, event: &Event) {
    match *event {
        Event::Sent { what, pipe, cwnd } => {
            sent_fields(line, what);
            line.segments("pipe", pipe);
            line.segments("cwnd", cwnd);
        }
        Event::Acked { una, newly_acked, newly_sacked, dsack, copy_reported } => {
            line.number("una", Some(una.0));
            line.segments("newly_acked", newly_acked);
            line.segments("newly_sacked", newly_sacked);
            line.range("dsack", dsack.map(|span| (span.start, span.end)));
            line.truth("copy_reported", copy_reported);
        }
        Event::RttSample { rtt, srtt, rto } => {
            line.millis("rtt_ms", Some(rtt));
            line.millis("srtt_ms", Some(srtt));
            line.millis("rto_ms", Some(rto));
        }
        Event::MarkedLost { span, by } => {
            line.span(Some(span));
            line.name("by", Some(by.name()));
        }
        Event::TimerSet { timer, at } => {
            line.name("timer", Some(timer.name()));
            line.millis("at_ms", at.map(|at| at.since(Instant::ZERO)));
        }
        Event::TimerFired { timer } => line.name("timer", Some(timer.name())),
        Event::StateChanged { from, to, cwnd, ssthresh, pipe } => {
            line.name("from", Some(from.name()));
            line.name("to", Some(to.name()));
            line.segments("cwnd", cwnd);
            line.number("ssthresh", reduced(ssthresh));
            line.segments("pipe", pipe);
        }
        Event::Undone { by, cwnd, ssthresh } => {
            line.name("by", Some(by.name()));
            line.segments("cwnd", cwnd);
            line.number("ssthresh", reduced(ssthresh));
        }
        Event::Reordering { distance, dupthresh } => {
            line.segments("distance", distance);
            line.segments("dupthresh", dupthresh);
        }
        Event::CopyWithheld { span, another_out } => {
            line.span(Some(span));
            line.name("by", Some(if another_out { "another_out" } else { "window" }));
        }
        _ => {}
    }
}

/// The slow-start threshold; `None` before the first reduction.
fn reduced(ssthresh: Segments) -> Option<u64> {
    (ssthresh != Segments::MAX).then_some(ssthresh.0.into())
}

fn sent_fields(line: &mut Line<'_>, what: Transmission) {
    let (name, trigger) = match what {
        Transmission::New(_) => ("new", None),
        Transmission::NewProbe(_) => ("new_probe", None),
        Transmission::Again(_, trigger) => ("again", Some(trigger.name())),
        Transmission::Copy(_) => ("copy", None),
        Transmission::WindowProbe => ("window_probe", None),
    };
    line.name("what", Some(name));
    line.span(what.span());
    line.name("trigger", trigger);
}

#[cfg(test)]
mod tests;
