//! The network that a capture shows, for reruns.
//!
//! The sender's packets meet the fate that the capture shows: a packet is matched with the transmission of
//! the same data of the same copy number. What the capture does not hold is drawn from the loss process.
//! The way back takes a constant time, half of the smallest round trip.
//!
//! The receiver of a rerun acknowledges every arrival at once. This network passes on the ACKs that the
//! receiver of the capture sent for the same arrivals, when it sent them, and holds the others until a later one
//! replaces them or the receiver's timer expires.
//!
//! A rerun that sends far more packets than the capture holds goes nowhere: the rest of them are lost, so that
//! its sender gives up.

mod acks;
mod copies;
mod queueing;

use crate::{
    loss::{Context, LossProcess, Previous},
    policing::Policing,
    recorded::Recorded,
    transmission::{Arrival, Fate},
    trial::{Fates, PeerAcks, Trial},
};
use acks::AckGate;
use copies::Copies;
pub(crate) use queueing::Queueing;
use queueing::{Counterpart, Transmitter};
use recoup_path::{Bucket, DropCause, Exit};
use recoup_sim::{Entrance, Network, Packet};
use recoup_units::{Direction, FlowId, Instant, Offset, Span, SplitMix};
use recoup_wire::{Flags, SeqNumber};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// A packet sent at about the same time as in the capture takes exactly as long: within this.
const SAME_TIME: Duration = Duration::from_millis(2);

/// How much later than its model a packet arrives at most where all fates are drawn, in ns: a millisecond.
const NOISE: u64 = 1_000_000;

/// Carries packets as the network of a capture did.
#[derive(Debug)]
pub(crate) struct RecordedNetwork {
    recorded: Arc<Recorded>,
    losses: LossProcess,
    seed: u64,
    /// Whether every packet's fate is drawn.
    draws_all: bool,
    peer: Peer,
    copies: Copies,
    gate: AckGate,
    transmitter: Transmitter,
    bucket: Option<Bucket>,
    /// The packets on the way to the server and to the client.
    on_the_way: [Way; 2],
    entered: u64,
    /// The sender's initial sequence number, once its SYN was seen.
    isn: Option<SeqNumber>,
    highest: Offset,
    /// The latest arrival in order, as the time of its echo.
    latest: Instant,
    /// Fate of the packet before.
    previous: Option<(bool, Instant)>,
    pub log: RunLog,
}

/// What the receiver of a rerun does otherwise than in the capture.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    pub acks: PeerAcks,
    pub wide_window: bool,
}

/// Segments that a rerun sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunLog {
    /// The beginning of each retransmission, and when it was sent.
    pub retransmissions: Vec<(Offset, Instant)>,
    /// Packets whose fate was drawn.
    pub drawn: u64,
    /// When the last of the sender's data arrived, by its echo.
    pub last_echo: Instant,
}

/// The packets on the way in one direction, in the order in which they leave.
#[derive(Debug, Default)]
struct Way(VecDeque<OnTheWay>);

/// A packet on the way.
#[derive(Debug)]
struct OnTheWay {
    /// When it leaves.
    at: Instant,
    is_dropped: bool,
    packet: Box<Packet>,
    arrival: Option<Matched>,
}

/// An arrival, with its counterpart in the capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matched {
    /// Offsets that the packet carries.
    pub span: Span,
    /// The arrival in the capture; `None` if its fate was drawn.
    pub recorded: Option<Arrival>,
}

/// A packet of a rerun that enters the network, at a time by the capture.
#[derive(Clone, Copy, Debug)]
struct Passing {
    at: Instant,
    /// Its length with headers.
    bytes: u32,
}

/// Fate of a packet of a rerun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RerunFate {
    /// It arrives: its echo, the same arrival in the capture, and whether the network duplicates it.
    Arrives(Instant, Option<Arrival>, bool),
    /// The network loses it.
    Lost,
    /// The queue of the bottleneck has no room for it, or the policer no tokens.
    Exceeds,
}

impl RecordedNetwork {
    pub fn new(recorded: Arc<Recorded>) -> Self {
        Self {
            losses: LossProcess::default(),
            seed: 0,
            draws_all: false,
            peer: Peer::default(),
            copies: Copies::default(),
            gate: AckGate::default(),
            transmitter: Transmitter::default(),
            bucket: None,
            on_the_way: Default::default(),
            entered: 0,
            isn: None,
            highest: Offset::SYN,
            latest: Instant::ZERO,
            previous: None,
            log: RunLog::default(),
            recorded,
        }
    }

    /// Becomes the network of another connection.
    pub fn show(&mut self, recorded: &Arc<Recorded>, trial: &Trial, fates: Fates<'_>) {
        self.seed = fates.seed;
        self.draws_all = fates.anew;
        self.peer = Peer { acks: trial.acks, wide_window: trial.wide_window };
        self.recorded = Arc::clone(recorded);
        self.losses.clone_from(fates.losses);
    }

    /// A packet of the sender leaves.
    fn send(&mut self, now: Instant, packet: Box<Packet>) {
        if self.entered > self.recorded.most_packets() {
            return self.put(now, true, packet, None);
        }
        let segment = &packet.segment;
        if segment.flags.contains(Flags::SYN) {
            self.isn = Some(segment.seq);
        }
        let start = self.isn.and_then(|isn| segment.seq.unwrap(isn, self.highest));
        let len = u64::from(segment.sequence_len());
        let Some(start) = start.filter(|_| len > 0) else {
            let at = now + self.recorded.forth();
            return self.put(at, false, packet, None);
        };
        let span = Span::at(start, len);
        let is_new = start >= self.highest;
        self.highest = self.highest.max(span.end);
        let at = self.recorded.by_capture(now);
        let matched = self.copies.send(&self.recorded, span, is_new);
        if matched.copy > 1 {
            self.log.retransmissions.push((start, at));
        }
        let recorded = Arc::clone(&self.recorded);
        let passing = Passing { at, bytes: packet.ip_len };
        let fate = match matched.index.filter(|_| !self.draws_all) {
            Some(index) => self.recorded_fate(passing, &recorded, index),
            None => self.drawn_fate(passing, &recorded, span, matched.copy),
        };
        self.previous = match fate {
            // A drop by a full queue or a policer says nothing about the channel.
            RerunFate::Exceeds => None,
            _ => Some((fate == RerunFate::Lost, at)),
        };
        let RerunFate::Arrives(echo, arrival, is_duplicated) = fate else {
            return self.put(now, true, packet, None);
        };
        if span.end > Offset::DATA && span.start < self.recorded.data_end {
            self.log.last_echo = self.log.last_echo.max(echo);
        }
        let arrives = recorded.by_simulation(echo).minus_nanos(nanos(recorded.back));
        let at = arrives.max(now);
        let duplicate = is_duplicated.then(|| packet.clone());
        self.put(at, false, packet, Some(Matched { span, recorded: arrival }));
        if let Some(packet) = duplicate {
            self.put(at, false, packet, Some(Matched { span, recorded: None }));
        }
    }

    /// Fate by the capture's transmission with this index.
    fn recorded_fate(&mut self, packet: Passing, recorded: &Recorded, index: usize) -> RerunFate {
        let queueing = recorded.queueing.as_ref();
        let transmission = &recorded.transmissions[index];
        let policing = recorded.policing.as_ref();
        let exceeded = queueing.is_some_and(|queueing| queueing.dropped(index))
            || policing.is_some_and(|policing| policing.dropped(index));
        if transmission.fate == Fate::Lost && !exceeded {
            return RerunFate::Lost;
        }
        let sent = transmission.sent;
        let apart = packet.at.since(sent).max(sent.since(packet.at));
        let is_same_time = apart <= SAME_TIME.max(recorded.delays.least() / 16);
        let counterpart = Counterpart { index, transmission, is_same_time };
        let Some(departure) = self.depart(packet, recorded, Some(counterpart)) else {
            return RerunFate::Exceeds;
        };
        let Fate::Arrived(arrival) = transmission.fate else {
            let echo = recorded.echo(packet.at, departure);
            return RerunFate::Arrives(self.keep_order(echo, false), None, false);
        };
        // A packet without an ACK of its own arrived when the model says, if there is one.
        let is_known = queueing.is_none() || arrival.ack.is_some();
        let echo = if is_same_time && is_known {
            let before = queueing.and_then(|queueing| queueing.departure(index));
            shifted(arrival.echo, before.unwrap_or(sent), departure)
        } else {
            recorded.echo(packet.at, departure) + arrival.held
        };
        let echo = self.keep_order(echo, !arrival.held.is_zero());
        RerunFate::Arrives(echo, Some(arrival), arrival.duplicates > 0)
    }

    fn drawn_fate(&mut self, packet: Passing, recorded: &Recorded, span: Span, copy: u16) -> RerunFate {
        self.log.drawn += 1;
        let previous = self.previous.map(|(lost, before)| Previous { lost, since: packet.at.since(before) });
        let bits = bits(self.seed, span.start, copy);
        let fate = self.losses.draw(bits, Context { copy, previous });
        if fate.lost {
            return RerunFate::Lost;
        }
        let Some(departure) = self.depart(packet, recorded, None) else {
            return RerunFate::Exceeds;
        };
        // Another run meets other phases of clocks and of cross traffic.
        let noise = if self.draws_all { Duration::from_nanos(SplitMix(!bits).bits() % NOISE) } else { Duration::ZERO };
        let echo = recorded.echo(packet.at, departure) + fate.held + noise;
        let echo = self.keep_order(echo, !fate.held.is_zero());
        RerunFate::Arrives(echo, None, fate.duplicated)
    }

    /// When a packet leaves the bottleneck, or at once if none is known. `None`: its queue is full, or the policer before it
    /// drops the packet.
    fn depart(
        &mut self,
        packet: Passing,
        recorded: &Recorded,
        counterpart: Option<Counterpart<'_>>,
    ) -> Option<Instant> {
        if let Some((policing, bucket)) = recorded.policing.as_ref().zip(self.bucket.as_mut()) {
            let same = counterpart.filter(|one| one.is_same_time && one.transmission.fate != Fate::Unknown);
            let same = same.map(|one| (one.index, one.transmission.fate != Fate::Lost));
            if !policing.passes(bucket, packet.at, packet.bytes, same) {
                return None;
            }
        }
        let Some(queueing) = &recorded.queueing else {
            return Some(packet.at);
        };
        self.transmitter.pass(packet.at, packet.bytes, queueing, counterpart)
    }

    /// Packets that the network does not hold arrive in order.
    fn keep_order(&mut self, echo: Instant, is_held: bool) -> Instant {
        if is_held {
            return echo;
        }
        self.latest = self.latest.max(echo);
        self.latest
    }

    /// A packet of the receiver leaves.
    fn answer(&mut self, now: Instant, packet: Box<Packet>) {
        let to_sender = self.recorded.sender.sends().reverse();
        self.gate.take(now, packet, (&self.recorded, self.peer), self.isn);
        self.release(now, to_sender);
    }

    /// Passes on the ACKs that are due.
    fn release(&mut self, now: Instant, direction: Direction) {
        while let Some((at, packet)) = self.gate.release(now, (&self.recorded, self.peer), self.isn) {
            self.entered += 1;
            let at = at + self.recorded.back;
            self.on_the_way[direction as usize].put(OnTheWay { at, is_dropped: false, packet, arrival: None });
        }
    }

    /// Puts a packet of the sender on its way.
    fn put(&mut self, at: Instant, is_dropped: bool, packet: Box<Packet>, arrival: Option<Matched>) {
        self.entered += 1;
        let direction = self.recorded.sender.sends();
        self.on_the_way[direction as usize].put(OnTheWay { at, is_dropped, packet, arrival });
    }
}

impl Way {
    /// Puts a packet behind those that leave earlier, or at the same time: nearly always behind all.
    fn put(&mut self, packet: OnTheWay) {
        match self.0.back().is_some_and(|last| last.at > packet.at) {
            true => self.0.insert(self.0.partition_point(|other| other.at <= packet.at), packet),
            false => self.0.push_back(packet),
        }
    }
}

impl Entrance for RecordedNetwork {
    fn enter(&mut self, now: Instant, direction: Direction, packet: Box<Packet>) {
        if direction == self.recorded.sender.sends() { self.send(now, packet) } else { self.answer(now, packet) }
    }
}

impl Network for RecordedNetwork {
    fn begin(&mut self, _: u64, _: FlowId) {
        self.copies.begin(&self.recorded);
        self.gate = AckGate::default();
        self.transmitter.begin(self.recorded.queueing.as_ref());
        self.bucket = self.recorded.policing.as_ref().map(Policing::bucket);
        self.on_the_way.iter_mut().for_each(|way| way.0.clear());
        self.entered = 0;
        self.isn = None;
        self.highest = Offset::SYN;
        self.latest = Instant::ZERO;
        self.previous = None;
        self.log.retransmissions.clear();
        self.log.drawn = 0;
        self.log.last_echo = Instant::ZERO;
    }

    fn next_event(&self) -> Option<Instant> {
        let on_the_way = self.on_the_way.iter().filter_map(|way| way.0.front());
        on_the_way.map(|packet| packet.at).chain(self.gate.due()).min()
    }

    fn next_exit(&mut self, now: Instant, direction: Direction) -> Option<Exit<Box<Packet>>> {
        let from_sender = direction == self.recorded.sender.sends();
        if !from_sender {
            self.release(now, direction);
        }
        let way = &mut self.on_the_way[direction as usize].0;
        if way.front()?.at > now {
            return None;
        }
        let OnTheWay { packet, is_dropped, arrival, .. } = way.pop_front()?;
        if is_dropped {
            let (hop, cause) = (0, DropCause::Loss);
            return Some(Exit::Dropped { packet, hop, cause });
        }
        if from_sender {
            self.gate.on_arrival(arrival);
        }
        Some(Exit::Delivered(packet))
    }
}

/// The random bits of a packet: a function of the seed and of what it carries (SplitMix64 by Steele et al.,
/// OOPSLA 2014).
fn bits(seed: u64, start: Offset, copy: u16) -> u64 {
    let mix = |x: u64| SplitMix(x).bits();
    mix(mix(mix(seed) ^ start.0) ^ u64::from(copy))
}

/// An instant that lies as far behind `now` as `at` behind `before`.
fn shifted(at: Instant, before: Instant, now: Instant) -> Instant {
    at.plus_nanos(now.nanos_since(before)).minus_nanos(before.nanos_since(now))
}

/// A duration in nanoseconds.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_wire::Segment;

    #[test]
    fn packets_leave_by_their_times_and_then_as_they_entered() {
        let mut way = Way::default();
        let entered = [(3, 0), (5, 1), (3, 2), (1, 3), (5, 4), (4, 5)];
        for (at, number) in entered {
            let packet = Box::new(Packet::new(FlowId(0), number, Segment::default()));
            way.put(OnTheWay { at: Instant::from_millis(at), is_dropped: false, packet, arrival: None });
        }
        let left: Vec<u64> = way.0.iter().map(|one| one.packet.ordinal).collect();
        assert_eq!(left, [3, 0, 2, 5, 1, 4]);
    }
}
