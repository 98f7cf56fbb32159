//! Small experiments: one flow over a network that does exactly what is asked.
//!
//! ```text
//! server ── data ──► fate(packet): passes, lost, late ──► client
//! server ◄── ACKs ── fate(packet)                     ◄── client
//! ```
//! The study describes what a sender does in words (§II, §IV-D). Here a sender meets the situation of these words, and
//! only that. Nothing is random: the delay is constant, and the fate of each packet is a function of its place.
//!
//! Deviations: unless an experiment asks for time between segments, the network has no rate limit, so that a flight is sent
//! and acknowledged at once. The client acknowledges every segment, as the study's model assumes.

use recoup_path::{DropCause, Exit};
use recoup_recovery::{Event, Mechanisms, Transmission, Trigger};
use recoup_sim::{Entrance, FlowSpec, Network, Observer, Packet, Point, Simulation, TimerModel};
use recoup_tcp::Config;
use recoup_tcp::flow::{FlowRecord, Host, Workload};
use recoup_units::{Direction, FlowId, Instant, Offset};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Payload bytes of a segment.
pub const SEGMENT: u16 = 1000;

/// A packet that enters the network.
#[derive(Clone, Copy, Debug)]
pub struct Entering {
    /// When.
    pub at: Instant,
    /// Where to.
    pub direction: Direction,
    /// The number of the data segment, from 1; 0 without data.
    pub segment: u64,
    /// The number of its transmission, from 1; of a SYN the number of the SYN in its direction; of a pure ACK its
    /// number, from 1.
    pub copy: u64,
    /// It carries a SYN.
    pub syn: bool,
}

/// What the network does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after half of the RTT.
    Passes,
    /// It is lost.
    Lost,
    /// It arrives so much later.
    Late(Duration),
}

/// A flow of `segments` full segments from server to client.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// The sender.
    pub sender: Mechanisms,
    /// The segments.
    pub segments: u64,
    /// The round-trip time.
    pub rtt: Duration,
    /// Whether both hosts use timestamps, and the client reports duplicates.
    pub evidence: bool,
    /// The client's receive buffer in segments.
    pub buffer: u64,
    /// The time that the network takes to send a data segment; the next one waits.
    pub spacing: Duration,
}

impl Bench {
    /// A transfer by this sender over a path with an RTT of 100 ms.
    pub const fn new(sender: Mechanisms, segments: u64) -> Self {
        Self {
            sender,
            segments,
            rtt: Duration::from_millis(100),
            evidence: false,
            buffer: 4000,
            spacing: Duration::ZERO,
        }
    }

    /// Runs it. `fate` decides on each packet.
    pub fn run(&self, fate: impl FnMut(&Entering) -> Fate) -> Run {
        let config = Config {
            mss: SEGMENT,
            sack: self.sender.sack,
            dsack: self.evidence,
            timestamps: self.evidence,
            receive_buffer: self.buffer * u64::from(SEGMENT),
            log: true,
            ..Config::new(self.sender)
        };
        let spec = FlowSpec {
            client: config,
            server: config,
            timers: TimerModel::Exact,
            workload: Workload::exchange(0, self.segments * u64::from(SEGMENT)),
        };
        let mut log = Log::default();
        let network = Scripted::new(self.rtt / 2, self.spacing, fate);
        let record = Simulation::over(network).run(&spec, 1, FlowId(0), &mut log);
        Run { record, events: log.events, acks: log.acks }
    }
}

/// What happened in a run.
pub struct Run {
    /// Its cost.
    pub record: FlowRecord,
    /// What the server's sender reported.
    pub events: Vec<(Instant, Event)>,
    /// When each pure ACK arrived at the server, and the number of the segment that it asks for.
    pub acks: Vec<(Instant, u64)>,
}

impl Run {
    /// The flow completion time from establishment in ms; NaN if it did not complete.
    pub fn duration_ms(&self) -> f64 {
        self.record.fct_established.map_or(f64::NAN, ms)
    }

    /// The transmissions in order: when, the number of the segment, and why if it is a retransmission. SYNs are left
    /// out.
    pub fn sent(&self) -> impl Iterator<Item = (Instant, u64, Option<Trigger>)> {
        self.events.iter().filter_map(|(at, event)| match event {
            Event::Sent { what, .. } => match what {
                Transmission::New(span) | Transmission::NewProbe(span) => Some((*at, number(span.start)?, None)),
                Transmission::Again(span, trigger) => Some((*at, number(span.start)?, Some(*trigger))),
                _ => None,
            },
            _ => None,
        })
    }

    /// The first retransmission: when, which segment, why.
    pub fn first_retransmission(&self) -> Option<(Instant, u64, Trigger)> {
        let again = |(at, segment, trigger): (_, _, Option<Trigger>)| Some((at, segment, trigger?));
        self.sent().find_map(again)
    }

    /// When a segment was first sent.
    pub fn first_sent(&self, segment: u64) -> Option<Instant> {
        let is_it = |(_, number, again): &(_, u64, Option<Trigger>)| *number == segment && again.is_none();
        self.sent().find(is_it).map(|(at, ..)| at)
    }

    /// When duplicate ACKs arrived that ask for this segment, the first ACK that does so left out.
    pub fn duplicates(&self, segment: u64) -> Vec<Instant> {
        let asks = self.acks.iter().filter(|(_, wanted)| *wanted == segment);
        asks.skip(1).map(|(at, _)| *at).collect()
    }

    /// The RTOs after each RTT sample of the sender: sample, SRTT, RTO in ms.
    pub fn rtos(&self) -> Vec<[f64; 3]> {
        let samples = self.events.iter().filter_map(|(_, event)| match event {
            Event::RttSample { rtt, srtt, rto } => Some([ms(*rtt), ms(*srtt), ms(*rto)]),
            _ => None,
        });
        samples.collect()
    }
}

/// A time in ms.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The number of the data segment that begins here, from 1; `None` for a SYN.
fn number(start: Offset) -> Option<u64> {
    (start >= Offset::DATA).then(|| start.since(Offset::DATA) / u64::from(SEGMENT) + 1)
}

/// Collects what the server reports.
#[derive(Default)]
struct Log {
    events: Vec<(Instant, Event)>,
    acks: Vec<(Instant, u64)>,
    first_byte: Option<u32>,
}

impl Observer for Log {
    const WANTS_EVENTS: bool = true;

    fn on_packet(&mut self, now: Instant, point: Point, direction: Direction, packet: &Packet) {
        let segment = &packet.segment;
        if direction == Direction::Down && packet.segment.payload_len > 0 && packet.is_first {
            self.first_byte.get_or_insert(segment.seq.0);
        }
        if let (Direction::Up, Point::Arrived, Some(first)) = (direction, point, self.first_byte)
            && segment.payload_len == 0
        {
            let acked = segment.ack.0.wrapping_sub(first);
            self.acks.push((now, u64::from(acked / u32::from(SEGMENT)) + 1));
        }
    }

    fn on_event(&mut self, now: Instant, _: FlowId, host: Host, event: &Event) {
        if host == Host::Server {
            self.events.push((now, *event));
        }
    }
}

/// The packets inside the network, by the time at which they leave and the number at which they entered.
type Inside = BTreeMap<(Instant, u64), Exit<Box<Packet>>>;

/// The network.
struct Scripted<F> {
    one_way: Duration,
    spacing: Duration,
    /// When the data segment before has been sent.
    free: Instant,
    fate: F,
    /// By direction, in the order of exit.
    inside: [Inside; 2],
    entered: u64,
    /// Transmissions by sequence number, and SYNs and ACKs by direction.
    copies: HashMap<(Direction, u32), u64>,
    plain: HashMap<(Direction, bool), u64>,
    first_byte: Option<u32>,
}

impl<F: FnMut(&Entering) -> Fate> Scripted<F> {
    fn new(one_way: Duration, spacing: Duration, fate: F) -> Self {
        Self {
            one_way,
            spacing,
            free: Instant::ZERO,
            fate,
            inside: Default::default(),
            entered: 0,
            copies: HashMap::new(),
            plain: HashMap::new(),
            first_byte: None,
        }
    }

    fn entering(&mut self, at: Instant, direction: Direction, packet: &Packet) -> Entering {
        let segment = &packet.segment;
        let syn = segment.flags.contains(recoup_wire::Flags::SYN);
        let (number, copies) = if segment.payload_len > 0 {
            let first = *self.first_byte.get_or_insert(segment.seq.0);
            let number = u64::from(segment.seq.0.wrapping_sub(first) / u32::from(SEGMENT)) + 1;
            (number, self.copies.entry((direction, segment.seq.0)))
        } else {
            let plain = self.plain.entry((direction, syn)).or_default();
            *plain += 1;
            return Entering { at, direction, segment: 0, copy: *plain, syn };
        };
        let copy = copies.or_default();
        *copy += 1;
        Entering { at, direction, segment: number, copy: *copy, syn }
    }
}

impl<F: FnMut(&Entering) -> Fate> Entrance for Scripted<F> {
    fn enter(&mut self, now: Instant, direction: Direction, packet: Box<Packet>) {
        let entering = self.entering(now, direction, &packet);
        self.entered += 1;
        let (extra, exit) = match (self.fate)(&entering) {
            Fate::Passes => (Duration::ZERO, Exit::Delivered(packet)),
            Fate::Late(extra) => (extra, Exit::Delivered(packet)),
            Fate::Lost => {
                let cause = DropCause::Loss;
                let hop = 0;
                (Duration::ZERO, Exit::Dropped { packet, hop, cause })
            }
        };
        let mut begins = now;
        if entering.segment > 0 {
            begins = now.max(self.free);
            self.free = begins + self.spacing;
        }
        let out = begins + self.one_way + extra;
        self.inside[direction as usize].insert((out, self.entered), exit);
    }
}

impl<F: FnMut(&Entering) -> Fate> Network for Scripted<F> {
    fn begin(&mut self, _: u64, _: FlowId) {
        self.inside = Default::default();
    }

    fn next_event(&self) -> Option<Instant> {
        let first = |inside: &BTreeMap<(Instant, u64), _>| inside.keys().next().map(|key| key.0);
        self.inside.iter().filter_map(first).min()
    }

    fn next_exit(&mut self, now: Instant, direction: Direction) -> Option<Exit<Box<Packet>>> {
        let inside = &mut self.inside[direction as usize];
        let first = inside.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}

/// What a small experiment measured, beside what the study gives.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The quantity with its unit.
    pub quantity: String,
    /// The system or case.
    pub case: String,
    /// What the study gives, if it gives a number.
    pub study: Option<f64>,
    /// What the engine does.
    pub engine: Option<f64>,
}

/// The columns of measured quantities.
pub fn columns(figure: &'static str) -> recoup_table::Columns<Measured> {
    crate::columns_of_figure::<Measured>(figure)
        .text(("quantity", "", "what was measured, with its unit"), |m| Some(m.quantity.clone().into()))
        .text(("case", "", "the system, or the situation"), |m| Some(m.case.clone().into()))
        .real(("study", "", "what the study gives"), |m| m.study)
        .real(("engine", "", "what the engine does"), |m| m.engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_fate_that_is_asked_for() {
        let bench = Bench::new(Mechanisms::RENO, 10);
        let run = bench.run(|packet| match (packet.segment, packet.copy) {
            (5, 1) => Fate::Lost,
            _ => Fate::Passes,
        });
        let (_, segment, _) = run.first_retransmission().unwrap();
        assert_eq!(segment, 5);
        let retransmissions = run.sent().filter(|(.., again)| again.is_some());
        assert_eq!(retransmissions.count(), 1);
        assert!(run.first_sent(5).is_some());
        assert!(!run.duplicates(5).is_empty());
        assert!(run.record.completed());
    }

    #[test]
    fn a_run_without_loss_takes_whole_round_trips() {
        let run = Bench::new(Mechanisms::RENO, 3).run(|_| Fate::Passes);
        // Three segments in an initial window: half a round trip.
        assert_eq!(run.duration_ms(), 50.0);
        assert!(run.first_retransmission().is_none());
    }
}
