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

use crate::prelude::*;
use recoup_path::{DropCause, Exit};
use recoup_sim::{Entrance, TimerModel};
use recoup_tcp::Config;
use recoup_tcp::flow::Workload;

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

/// The network's treatment of a packet.
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
pub struct Transfer {
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

impl Transfer {
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
    pub fn run(&self, fate: impl FnMut(&Entering) -> Fate) -> Log {
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
        Bench::of(spec, Scripted::new(self.rtt / 2, self.spacing, fate), 1).run(0)
    }
}

impl Transfer {
    /// Runs it. This happens to the first transmissions of these segments; everything else passes.
    pub fn run_with(&self, segments: &[u64], fate: Fate) -> Log {
        self.run(|packet| if packet.copy == 1 && segments.contains(&packet.segment) { fate } else { Fate::Passes })
    }
}

impl Log {
    /// The flow completion time from establishment in ms; NaN if it did not complete.
    pub fn duration_ms(&self) -> f64 {
        self.fct_ms().unwrap_or(NAN)
    }

    /// The server's transmissions of data: when, the number of the segment, and why if it is a retransmission.
    pub fn transmissions(&self) -> impl Iterator<Item = (Instant, u64, Option<Trigger>)> {
        self.sent(Host::Server).filter_map(|(at, what)| {
            let (span, trigger) = match what {
                Transmission::New(span) | Transmission::NewProbe(span) => (span, None),
                Transmission::Again(span, trigger) => (span, Some(trigger)),
                _ => return None,
            };
            (span.start >= Offset::DATA).then(|| (at, self.number(span.start), trigger))
        })
    }

    /// The first retransmission: when, which segment, why.
    pub fn first_retransmission(&self) -> Option<(Instant, u64, Trigger)> {
        self.transmissions().find_map(|(at, segment, trigger)| Some((at, segment, trigger?)))
    }

    /// When a segment was first sent.
    pub fn first_sent(&self, segment: u64) -> Option<Instant> {
        self.transmissions().find(|(_, number, again)| *number == segment && again.is_none()).map(|(at, ..)| at)
    }

    /// When each pure ACK of data arrived at the server, and the number of the segment that it asks for.
    pub fn acks_arrived(&self) -> impl Iterator<Item = (Instant, u64)> {
        let mut sent = self.packets_at(Direction::Down, Point::Sent).filter(|seen| seen.segment.payload_len > 0);
        let first = sent.next();
        self.packets_at(Direction::Up, Point::Arrived).filter(|seen| seen.segment.payload_len == 0).filter_map(
            move |seen| {
                let first = first.filter(|first| first.at < seen.at)?;
                Some((seen.at, u64::from(seen.segment.ack.since(first.segment.seq)) / self.mss + 1))
            },
        )
    }

    /// When duplicate ACKs arrived that ask for this segment, the first ACK that does so left out.
    pub fn duplicates(&self, segment: u64) -> Vec<Instant> {
        self.acks_arrived().filter(|(_, wanted)| *wanted == segment).skip(1).map(|(at, _)| at).collect()
    }
}

/// A time in ms.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
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

/// A quantity that a small experiment measured, beside the study's value.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The quantity with its unit.
    pub quantity: String,
    /// The system or case.
    pub case: String,
    /// The study's number, if it gives one.
    pub study: Option<f64>,
    /// The engine's number.
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
        let transfer = Transfer::new(Mechanisms::RENO, 10);
        let run = transfer.run(|packet| match (packet.segment, packet.copy) {
            (5, 1) => Fate::Lost,
            _ => Fate::Passes,
        });
        let (_, segment, _) = run.first_retransmission().unwrap();
        assert_eq!(segment, 5);
        let retransmissions = run.transmissions().filter(|(.., again)| again.is_some());
        assert_eq!(retransmissions.count(), 1);
        assert!(run.first_sent(5).is_some());
        assert!(!run.duplicates(5).is_empty());
        assert!(run.record.completed());
    }

    #[test]
    fn a_run_without_loss_takes_whole_round_trips() {
        let run = Transfer::new(Mechanisms::RENO, 3).run(|_| Fate::Passes);
        // Three segments in an initial window: half a round trip.
        assert_eq!(run.duration_ms(), 50.0);
        assert!(run.first_retransmission().is_none());
    }
}
