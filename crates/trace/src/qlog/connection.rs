//! Follows one connection: what its sender has in flight, what was acknowledged, lost and probed for.

use super::{
    credit::Credit,
    division::Division,
    event::{Event, Frame, Metrics, Packet, Space, Stated},
    recovery::{Moment, PacketName, Recovery},
    sent::{DataRange, InFlight, SentPacket},
};
use crate::{
    finding::{QuicTrigger, SenderState},
    follow::rtts::Rtts,
    timeline::Timeline,
};
use recoup_units::{Instant, Offset};
use std::{collections::HashMap, time::Duration};

/// A probe and the expiry of its timer are logged at most this far apart.
const PROBE_SLACK: Duration = Duration::from_millis(1);

/// The packet threshold (RFC 9002 §6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// Streams whose highest byte is remembered.
const MOST_STREAMS: usize = 1 << 12;

/// A packet that was sent this long before the last ACK of a later one, and round trips beyond, is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3);

/// Round trips after which a packet that no ACK names is forgotten.
const FORGOTTEN_ROUND_TRIPS: u32 = 10;

/// What one end sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    /// Packets that ask for an ACK.
    pub segments: u64,
    /// Bytes of data; of a trace without frames, of packets.
    pub bytes: u64,
    pub absent: bool,
}

/// A connection that is followed.
#[derive(Clone, Debug)]
pub(super) struct Follower {
    pub(super) id: u64,
    pub(super) events: (u64, u64),
    pub(super) begun: Instant,
    pub(super) last: Instant,
    pub(super) packets: u64,
    /// The traced end, and its peer.
    pub(super) sides: [Side; 2],
    pub(super) ends: [Option<(String, u64)>; 2],
    /// Whether the first packet was sent or received, and whether it was an Initial.
    pub(super) first: Option<(bool, bool)>,
    pub(super) spaces: [InFlight; 3],
    pub(super) recovery: Recovery,
    pub(super) division: Division,
    pub(super) rtts: Rtts,
    pub(super) has_acks: bool,
    pub(super) has_frames: bool,
    /// When the first packet was received, and the last.
    pub(super) received: Option<(Instant, Instant)>,
    /// Packets received.
    heard: u64,
    pub(super) connected: Option<Instant>,
    pub(super) closed: Option<bool>,
    pub(super) persistent_congestion: u32,
    /// Losses that the sender itself found to be spurious.
    pub(super) marked_spurious: u32,
    next_order: u64,
    last_sent: Option<Instant>,
    progress: Instant,
    smoothed_rtt: Option<Duration>,
    /// Round-trip times that fit a packet in flight, if they are milliseconds, and if they are seconds.
    units: [u32; 2],
    pto_count: u64,
    /// When a probe timeout expired whose probe is yet to come.
    probe_due: Option<Instant>,
    /// The latest packet that asked for an ACK.
    latest: Option<(PacketName, u64, Instant)>,
    /// Where the data of each stream ends that was sent.
    stream_ends: HashMap<u64, u64>,
    credit: Credit,
    blocked: Vec<Option<u64>>,
}

impl Follower {
    pub fn new(id: u64, event: u64, at: Instant) -> Self {
        let mut division = Division::default();
        division.set(at, SenderState::Connecting);
        Self {
            id,
            events: (event, event),
            begun: at,
            last: at,
            packets: 0,
            sides: [Side { absent: true, ..Side::default() }; 2],
            ends: [None, None],
            first: None,
            spaces: Default::default(),
            recovery: Recovery::default(),
            division,
            rtts: Rtts::default(),
            has_acks: false,
            has_frames: false,
            received: None,
            heard: 0,
            connected: None,
            closed: None,
            persistent_congestion: 0,
            marked_spurious: 0,
            next_order: 0,
            last_sent: None,
            progress: at,
            smoothed_rtt: None,
            units: [0; 2],
            pto_count: 0,
            probe_due: None,
            latest: None,
            stream_ends: HashMap::new(),
            credit: Credit::default(),
            blocked: Vec::new(),
        }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    /// When its last event took place.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// The round-trip time by its own samples, or else by what the trace says.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rtts.average().or(self.smoothed_rtt)
    }

    fn space(&mut self, space: Space) -> &mut InFlight {
        let [initial, handshake, data] = &mut self.spaces;
        match space {
            Space::Initial => initial,
            Space::Handshake => handshake,
            Space::Data => data,
        }
    }

    fn flight(&self) -> usize {
        self.spaces.iter().map(InFlight::len).sum()
    }

    fn moment(&self, event: u64, at: Instant) -> Moment {
        Moment {
            event,
            at,
            order: self.next_order,
            last_sent: self.last_sent,
            progress: self.progress,
            rtt: self.rtt(),
            flight: self.flight(),
            of_handshake: self.connected.is_none(),
        }
    }

    /// Whether it is a client's, and has received just its first packet at this time.
    pub fn is_answered_at(&self, at: Instant) -> bool {
        self.first == Some((true, true)) && self.received == Some((at, at)) && self.last == at && self.heard == 1
    }

    /// Takes an event of this number.
    pub fn take(&mut self, number: u64, at: Instant, event: Event, timeline: Option<&mut Timeline>) {
        self.events.1 = number;
        self.last = at;
        match event {
            Event::Sent(packet) => self.sent(number, at, packet, timeline),
            Event::Received(packet) => self.received(at, packet, timeline),
            Event::Lost { space, number: packet, stated } => self.lost(number, at, (space, packet), stated),
            Event::Acked { space, numbers } => {
                let ranges: Vec<(u64, u64)> = numbers.into_iter().map(|number| (number, number)).collect();
                self.acknowledged(at, space, &ranges, timeline);
            }
            Event::Spurious { space, number } => {
                self.marked_spurious += 1;
                self.acknowledged(at, space, &[(number, number)], timeline);
            }
            Event::Metrics(metrics) => self.metrics(at, &metrics, timeline),
            Event::ProbeTimeout => self.probe_timeout(at),
            Event::PersistentCongestion => self.persistent_congestion += 1,
            Event::Started(ends) => self.ends = ends,
            Event::Closed(idle) => {
                self.closed.get_or_insert(idle);
            }
            Event::HandshakeDone => self.connected(at),
            Event::PeerLimits(limits) => self.credit.set(limits),
            Event::Blocked(is_blocked) => match is_blocked {
                true => self.block(None),
                false => self.blocked.clear(),
            },
            Event::Discarded(space) => self.discard(at, space),
        }
        self.division.set(at, self.state());
    }

    /// The state of the sender, but for recovery.
    fn state(&self) -> SenderState {
        let has_sent = self.flight() > 0;
        match () {
            () if self.connected.is_none() => SenderState::Connecting,
            () if self.closed.is_some() => SenderState::Closing,
            () if !self.blocked.is_empty() && has_sent => SenderState::ReceiverWindow,
            () if !self.blocked.is_empty() => SenderState::ZeroWindow,
            () if has_sent => SenderState::Network,
            () => SenderState::Application,
        }
    }

    fn count(&mut self, side: usize, packet: &Packet) {
        self.packets += 1;
        let is_first = self.first.is_none();
        if is_first {
            self.first = Some((side == 0, packet.space == Some(Space::Initial)));
        }
        self.has_frames |= packet.frames.is_some();
        let Some(side) = self.sides.get_mut(side) else {
            return;
        };
        side.absent = false;
        if packet.is_eliciting() != Some(false) {
            side.segments += 1;
            side.bytes += match &packet.frames {
                Some(frames) => DataRange::of(Space::Data, Some(frames)).iter().map(DataRange::len).sum(),
                None => packet.size,
            };
        }
    }

    fn sent(&mut self, event: u64, at: Instant, packet: Packet, timeline: Option<&mut Timeline>) {
        self.count(0, &packet);
        for frame in packet.frames.iter().flatten() {
            match frame {
                Frame::Blocked(stream) => self.block(*stream),
                Frame::Close => self.closed = Some(self.closed.unwrap_or(false)),
                Frame::HandshakeDone => self.connected(at),
                _ => {}
            }
        }
        let (Some(space), Some(number)) = (packet.space, packet.number) else {
            return;
        };
        if packet.is_eliciting() == Some(false) {
            return;
        }
        if let Some(timeline) = timeline {
            timeline.on_segment(at);
        }
        let is_client = self.first.is_none_or(|(sent, _)| sent);
        for frame in packet.frames.iter().flatten() {
            if let Frame::Data { stream: Some(stream), to, is_last: false, .. } = *frame {
                let used_up = self.credit.used_up(stream, to, is_client);
                used_up.into_iter().flatten().for_each(|blocked| self.block(blocked));
            }
        }
        let data = DataRange::of(space, packet.frames.as_deref());
        let name = (space, number);
        let copy = self.recovery.sent(name, &data);
        let is_probe = packet.stated == Some(Stated::Probe)
            || self.probe_due.take().is_some()
            || (copy == 0 && self.repeats(space, &data));
        let is_new_probe = self.recovery.last_probe().is_none_or(|last| at > last + PROBE_SLACK);
        if is_probe && is_new_probe {
            let payload = data.iter().map(DataRange::len).sum();
            self.probe(event, at, name, payload);
        }
        let order = self.next_order;
        self.next_order += 1;
        self.space(space).insert(number, SentPacket { at, order, size: packet.size, data, copy });
        self.last_sent = Some(at);
        self.latest = Some((name, event, at));
    }

    /// Whether data of a packet is still in flight: nothing declared it lost, so it is a probe.
    fn repeats(&mut self, space: Space, data: &[DataRange]) -> bool {
        let mut is_old = false;
        for range in data {
            let is_known = self.stream_ends.len() < MOST_STREAMS || self.stream_ends.contains_key(&range.stream);
            if is_known {
                let end = self.stream_ends.entry(range.stream).or_default();
                is_old |= range.from < *end;
                *end = range.to.max(*end);
            }
        }
        let in_flight = self.space(space);
        is_old
            && in_flight
                .numbers()
                .rev()
                .any(|(_, sent)| sent.data.iter().any(|sent| data.iter().any(|range| range.overlaps(sent))))
    }

    fn probe(&mut self, event: u64, at: Instant, name: PacketName, payload: u64) {
        let moment = self.moment(event, at);
        let [initial, handshake, data] = &self.spaces;
        let of = |space: Space, in_flight: &InFlight| {
            in_flight.numbers().map(|(number, _)| (space, number)).filter(|sent| *sent != name).collect::<Vec<_>>()
        };
        let mut in_flight = of(Space::Initial, initial);
        in_flight.extend(of(Space::Handshake, handshake));
        in_flight.extend(of(Space::Data, data));
        self.recovery.probe(&moment, name, payload, in_flight.iter().copied());
    }

    /// A probe timeout expired: the packet just sent is the probe, or the next one.
    fn probe_timeout(&mut self, at: Instant) {
        if self.recovery.last_probe().is_some_and(|last| at <= last + PROBE_SLACK) {
            return;
        }
        self.probe_due = Some(at);
    }

    fn received(&mut self, at: Instant, packet: Packet, mut timeline: Option<&mut Timeline>) {
        self.count(1, &packet);
        self.heard += 1;
        self.received = Some((self.received.map_or(at, |(first, _)| first), at));
        let is_protected = packet.space == Some(Space::Data) && !packet.is_zero_rtt;
        if is_protected {
            self.connected(at);
        }
        let is_server = self.first.is_some_and(|(sent, _)| !sent);
        if is_server && (is_protected || packet.space == Some(Space::Handshake)) {
            self.discard(at, Space::Initial);
        }
        if is_server && is_protected {
            self.discard(at, Space::Handshake);
        }
        for frame in packet.frames.into_iter().flatten() {
            match frame {
                Frame::Ack(ranges) => {
                    if let Some(space) = packet.space {
                        self.acknowledged(at, space, &ranges, timeline.as_deref_mut());
                    }
                }
                Frame::Credit { stream, limit } => {
                    self.credit.raise(stream, limit);
                    self.blocked.retain(|blocked| *blocked != stream);
                }
                Frame::Close => self.closed = Some(self.closed.unwrap_or(false)),
                Frame::HandshakeDone => {
                    self.connected(at);
                    self.confirm();
                    self.settle(at);
                }
                _ => {}
            }
        }
    }

    fn connected(&mut self, at: Instant) {
        self.connected.get_or_insert(at);
    }

    fn block(&mut self, stream: Option<u64>) {
        if !self.blocked.contains(&stream) && self.blocked.len() < MOST_STREAMS {
            self.blocked.push(stream);
        }
    }

    fn discard(&mut self, at: Instant, space: Space) {
        self.space(space).discard();
        self.recovery.discard(space);
        self.settle(at);
    }

    /// Nothing of the handshake is in flight any longer.
    fn confirm(&mut self) {
        for space in [Space::Initial, Space::Handshake] {
            self.space(space).discard();
            self.recovery.discard(space);
        }
    }

    fn acknowledged(&mut self, at: Instant, space: Space, ranges: &[(u64, u64)], timeline: Option<&mut Timeline>) {
        self.has_acks = true;
        let largest = ranges.iter().map(|(_, to)| *to).max();
        let newly = self.space(space).acknowledge(ranges);
        let returned = self.space(space).not_lost(ranges);
        returned.into_iter().for_each(|repair| self.recovery.not_lost(at, repair));
        let sample = newly.iter().find(|(number, _)| Some(*number) == largest).map(|(_, sent)| at.nanos_since(sent.at));
        self.resolved(at, space, &newly, sample, timeline);
    }

    /// Packets were acknowledged for the first time. `sample`: the round-trip time of the newest, in ns.
    fn resolved(
        &mut self,
        at: Instant,
        space: Space,
        newly: &[(u64, SentPacket)],
        sample: Option<u64>,
        timeline: Option<&mut Timeline>,
    ) {
        if let Some(sample) = sample.filter(|sample| *sample > 0) {
            self.rtts.on_sample(sample, 0, sample, Offset::default(), Offset::default());
        }
        if let Some(timeline) = timeline {
            let bytes = newly.iter().map(|(_, sent)| sent.payload()).sum();
            let side = usize::from(self.first.is_some_and(|(sent, _)| !sent));
            timeline.on_ack(at, side, bytes, sample.filter(|_| space == Space::Data));
        }
        let rtt = self.rtt();
        for (number, sent) in newly {
            self.recovery.acked(at, (space, *number), sent.order, rtt);
        }
        if !newly.is_empty() && space == Space::Data && self.connected.is_some() {
            // The peer has the keys of the data, so that the handshake is confirmed (RFC 9001 §4.1.2).
            self.confirm();
        }
        if !newly.is_empty() {
            self.progress = at;
            let patience = rtt.unwrap_or_default().saturating_mul(FORGOTTEN_ROUND_TRIPS) + FORGOTTEN_AFTER;
            let before = Instant::from_nanos(at.as_nanos().saturating_sub(patience.as_nanos() as u64));
            self.space(space).forget_before(before);
        }
        self.settle(at);
    }

    fn settle(&mut self, at: Instant) {
        let oldest = self.spaces.iter().filter_map(InFlight::oldest).min();
        self.recovery.settle(at, oldest);
    }

    fn lost(&mut self, event: u64, at: Instant, name: PacketName, stated: Option<Stated>) {
        let (space, number) = name;
        // A path MTU that is not there is no loss (RFC 9000 §14.4).
        if stated == Some(Stated::MtuProbe) || self.space(space).lost.contains_key(&number) {
            self.space(space).take(number);
            return self.settle(at);
        }
        let trigger = match stated {
            Some(Stated::PacketThreshold) => QuicTrigger::PacketThreshold,
            Some(Stated::TimeThreshold) => QuicTrigger::TimeThreshold,
            Some(Stated::Probe | Stated::MtuProbe) => QuicTrigger::Probe,
            None => self.trigger(name),
        };
        let sent = self.space(space).take(number);
        let moment = self.moment(event, at);
        if let Some(repair) = self.recovery.lost(&moment, name, sent.as_ref(), trigger) {
            self.space(space).lost.insert(number, repair);
        }
    }

    /// The rule by which a packet can have been declared lost (RFC 9002 §6.1): both thresholds need an ACK of a later packet.
    fn trigger(&mut self, (space, number): PacketName) -> QuicTrigger {
        let largest = self.space(space).largest_acked;
        match largest {
            Some(largest) if largest >= number.saturating_add(PACKET_THRESHOLD) => QuicTrigger::PacketThreshold,
            Some(largest) if largest > number => QuicTrigger::TimeThreshold,
            // Nothing later was acknowledged: no rule but the probe timeout allows it.
            _ if self.has_acks || self.has_frames || self.received.is_none() => QuicTrigger::Probe,
            _ => QuicTrigger::Unknown,
        }
    }

    fn metrics(&mut self, at: Instant, metrics: &Metrics, timeline: Option<&mut Timeline>) {
        if let Some(latest) = metrics.latest_rtt {
            self.note_sample(at, latest.0, timeline);
        }
        if let Some(smoothed) = metrics.smoothed_rtt {
            self.smoothed_rtt = self.in_time(smoothed.0);
        }
        if let Some(count) = metrics.pto_count {
            if count.0 > self.pto_count {
                match self.latest {
                    // The count comes after the probe, or before it.
                    Some((name, number, sent)) if at <= sent + PROBE_SLACK && !self.has_acks => {
                        let is_new = self.recovery.last_probe().is_none_or(|last| at > last + PROBE_SLACK);
                        if is_new {
                            self.probe_sent(number, sent, name);
                        }
                    }
                    _ => self.probe_timeout(at),
                }
            }
            self.pto_count = count.0;
        }
        let is_empty = |number: Option<super::number::Number>| number.is_some_and(|number| number.0 == 0);
        if !self.has_acks && (is_empty(metrics.packets_in_flight) || is_empty(metrics.bytes_in_flight)) {
            for space in Space::ALL {
                let newly = self.space(space).presume(u64::MAX);
                self.resolved(at, space, &newly, None, None);
            }
        }
    }

    /// A packet in flight turns out to be a probe.
    fn probe_sent(&mut self, event: u64, at: Instant, name: PacketName) {
        let order = self.next_order;
        self.next_order = order.saturating_sub(1);
        self.probe(event, at, name, 0);
        self.next_order = order;
    }

    /// A time of the metrics: milliseconds, but seconds if the samples before were (quinn 0.11 writes those).
    fn in_time(&self, value: f64) -> Option<Duration> {
        let [millis, seconds] = self.units;
        let unit = if seconds > millis { 1.0 } else { 1e-3 };
        Duration::try_from_secs_f64(value * unit).ok().filter(|time| !time.is_zero())
    }

    /// A sample of the round-trip time. Where a trace has no ACKs, it shows which packet was acknowledged: the one that was sent
    /// that long ago.
    fn note_sample(&mut self, at: Instant, value: f64, timeline: Option<&mut Timeline>) {
        // Before the first answer it is an initial value (RFC 9002 §6.2.2).
        if self.has_acks || self.received.is_none() {
            return;
        }
        let candidates = [1e6, 1e9].map(|unit| (value * unit) as u64);
        let found = candidates.map(|nanos| {
            if nanos > at.nanos_since(self.begun) {
                return None;
            }
            let sent = at.minus_nanos(nanos);
            let tolerance = 20_000 + nanos / 1000;
            Space::ALL.into_iter().rev().find_map(|space| {
                let number = self.spaces.get(space as usize)?.sent_at(sent, tolerance)?;
                Some((space, number))
            })
        });
        for (votes, found) in self.units.iter_mut().zip(&found) {
            *votes = votes.saturating_add(u32::from(found.is_some()));
        }
        let [millis, seconds] = self.units;
        let (unit, nanos) = if seconds > millis { (1, candidates[1]) } else { (0, candidates[0]) };
        if let Some((space, number)) = found.get(unit).copied().flatten() {
            let newly = self.space(space).presume(number);
            self.resolved(at, space, &newly, Some(nanos), timeline);
        }
    }
}
