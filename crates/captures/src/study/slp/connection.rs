//! Follows one connection: its retransmissions with their intervals, and where their first
//! transmissions stand.

use super::transmissions::{First, Transmissions};
use super::wireshark;
use super::{Class, Kinds, Position, Sample, SynLoss};
use recoup_recovery::Trigger;
use recoup_recovery::slp::Kind;
use recoup_trace::read::CapturedPacket;
use recoup_units::{Direction, Instant};
use recoup_wire::{Flags, Segment};
use std::ops::Range;

/// The findings of the analysis about a connection and its retransmissions.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Its number.
    pub connection: u64,
    /// The capture has one of its directions only.
    pub is_one_way: bool,
    /// For what the opener sends and for what the other end sends: whether this capture point is the one
    /// whose retransmissions count. Only a merged file has several.
    pub counted: [bool; 2],
    /// The frames of its retransmissions, ascending, with the first trigger of each.
    pub triggers: Vec<(u64, Option<Trigger>)>,
}

impl Known {
    /// The trigger of the retransmission in a frame, if the analysis lists one there.
    fn trigger(&self, frame: u64) -> Option<Option<Trigger>> {
        let place = self.triggers.partition_point(|(other, _)| *other < frame);
        let (found, trigger) = self.triggers.get(place)?;
        (*found == frame).then_some(*trigger)
    }
}

/// The results of a connection.
#[derive(Debug, Default)]
pub struct Followed {
    /// Its retransmissions, ordered by frame.
    pub samples: Vec<Sample>,
    /// Packets below the highest number sent whose earlier transmission the capture does not hold.
    pub unseen: u64,
    /// The cost of losing its SYN, if it was retransmitted.
    pub syn_loss: Option<SynLoss>,
}

/// Follows one connection.
#[derive(Debug, Default)]
pub struct Follower {
    sides: [Side; 2],
    first_rtt: wireshark::FirstRtt,
    unseen: u64,
    was_reset: bool,
    /// The last packet with payload or FIN.
    last_data: Option<Instant>,
}

/// Everything that one end has sent.
#[derive(Debug, Default)]
struct Side {
    sent: Transmissions,
    wireshark: wireshark::Sender,
    /// First transmissions with payload, SYN or FIN.
    firsts: u32,
    /// These, pure ACKs and resets.
    packets: u32,
    has_syn: bool,
    has_fin: bool,
    /// The first and the last SYN without ACK, and their number.
    syns: Option<(Instant, Instant, u32)>,
    latest_data: Option<LatestData>,
    samples: Vec<Pending>,
}

/// The data that was sent last for the first time.
#[derive(Debug)]
struct LatestData {
    number: u64,
    /// The other end has sent data since.
    is_answered: bool,
    /// The retransmissions of it.
    samples: Vec<usize>,
}

/// A retransmission whose position is known when its connection ends.
#[derive(Debug)]
struct Pending {
    sample: Sample,
    before: u32,
    before_with_acks: u32,
}

impl Follower {
    /// Takes a packet, which the opener sent ([`Direction::Up`]) or the other end.
    pub fn packet(&mut self, known: &Known, direction: Direction, packet: &CapturedPacket) {
        let segment = &packet.segment;
        let first_rtt = self.first_rtt;
        self.first_rtt.packet(direction == Direction::Up, segment, packet.at);
        let [side, other] = self.both(direction);
        let is_out_of_order = side.wireshark.is_out_of_order(segment, packet.at, &first_rtt);
        let is_fast = side.wireshark.retransmits_fast(segment, packet.at, &other.wireshark);
        side.wireshark.sends(segment, packet.at);
        if segment.payload_len > 0 {
            other.is_answered();
        }
        self.was_reset |= segment.flags.contains(Flags::RST);
        if segment.payload_len > 0 || segment.flags.contains(Flags::FIN) {
            self.last_data = Some(packet.at);
        }
        let [side, _] = self.both(direction);
        side.note_handshake(segment, packet.at);
        let Some(span) = side.sent.place(segment.seq, segment.sequence_len()) else {
            return;
        };
        if span.is_empty() {
            // A keep-alive without payload repeats the last number.
            side.packets += u32::from(!side.sent.is_last(span.start));
            return;
        }
        let listed = known.trigger(packet.frame);
        if side.sent.is_below_highest(span.start) {
            let is_probe = segment.sequence_len() == 1 && segment.payload_len == 1;
            if is_probe && listed.is_none() {
                return;
            }
            let by_wireshark = (!known.is_one_way).then(|| Class::fast_if(is_fast));
            match side.sent.earlier(span.start) {
                Some(earlier) if known.counted[direction as usize] => {
                    let mut sample = Sample::new(known.connection, direction, packet, &earlier);
                    sample.is_listed = listed.is_some();
                    sample.trigger = listed.flatten();
                    sample.by_wireshark = by_wireshark;
                    sample.is_out_of_order = is_out_of_order;
                    side.resent(sample, earlier.0, &span);
                }
                Some(_) => {}
                None => self.unseen += 1,
            }
        }
        let [side, _] = self.both(direction);
        side.send(segment, &span, packet.at);
    }

    /// How many transmissions it remembers.
    pub fn held(&self) -> usize {
        self.sides.iter().map(|side| side.sent.len()).sum()
    }

    /// Forgets the older half of what both ends have sent, to bound memory. Retransmissions of it are
    /// then unseen.
    pub fn forget_half(&mut self) {
        self.sides.iter_mut().for_each(|side| side.sent.forget_half());
    }

    /// The connection has ended. `is_over`: the capture holds its end.
    pub fn finish(mut self, known: &Known, is_over: bool) -> Followed {
        let syn_loss = self.syn_loss(known, is_over);
        let was_reset = self.was_reset;
        let mut samples = Vec::new();
        for side in &mut self.sides {
            side.end_data(true);
            let is_whole = side.has_syn && (side.has_fin || was_reset);
            let (firsts, packets) = (side.firsts, side.packets);
            samples.extend(side.samples.drain(..).map(|pending| {
                let mut sample = pending.sample;
                sample.position = is_whole.then(|| Position::of(pending.before, firsts));
                sample.position_with_acks = is_whole.then(|| Position::of(pending.before_with_acks, packets));
                sample
            }));
        }
        samples.sort_unstable_by_key(|sample: &Sample| sample.frame);
        Followed { samples, unseen: self.unseen, syn_loss }
    }

    /// The sender's end and the other end.
    fn both(&mut self, direction: Direction) -> [&mut Side; 2] {
        let [up, down] = &mut self.sides;
        match direction {
            Direction::Up => [up, down],
            Direction::Down => [down, up],
        }
    }

    fn syn_loss(&self, known: &Known, is_over: bool) -> Option<SynLoss> {
        let (first, last, count) = self.sides[0].syns?;
        (count > 1 && known.counted[0]).then(|| SynLoss {
            connection: known.connection,
            wait: last.since(first),
            completion: self
                .last_data
                .filter(|_| is_over || self.sides.iter().any(|side| side.has_fin))
                .map(|end| end.since(first)),
        })
    }
}

impl Side {
    fn note_handshake(&mut self, segment: &Segment, at: Instant) {
        self.has_fin |= segment.flags.contains(Flags::FIN);
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.has_syn = true;
        if !segment.flags.contains(Flags::ACK) {
            let (first, _, count) = self.syns.unwrap_or((at, at, 0));
            self.syns = Some((first, at, count + 1));
        }
    }

    /// The other end has sent data.
    fn is_answered(&mut self) {
        if let Some(latest) = &mut self.latest_data {
            latest.is_answered = true;
        }
    }

    /// Takes a retransmission of what `first` sent.
    fn resent(&mut self, sample: Sample, first: First, span: &Range<u64>) {
        let number = self.samples.len();
        self.samples.push(Pending { before: first.before, before_with_acks: first.before_with_acks, sample });
        let same = |latest: &&mut LatestData| {
            let found = self.sent.earlier(latest.number);
            found.is_some_and(|(latest, _)| latest.before == first.before)
        };
        if let Some(latest) = self.latest_data.as_mut().filter(same) {
            latest.samples.push(number);
        }
        self.sent.resend(span, sample.at);
    }

    /// Takes what a packet sends for the first time, if anything.
    fn send(&mut self, segment: &Segment, span: &Range<u64>, at: Instant) {
        let has_data = segment.payload_len > 0;
        let is_first_data = has_data && self.latest_data.is_none();
        let first = First::new(at, segment.flags, Kinds::of(segment.flags, is_first_data), [self.firsts, self.packets]);
        if !self.sent.send_first(span, first) {
            return;
        }
        self.firsts += 1;
        self.packets += 1;
        if has_data {
            self.end_data(false);
            self.latest_data = Some(LatestData {
                number: span.end - 1 - u64::from(segment.flags.contains(Flags::FIN)),
                is_answered: false,
                samples: Vec::new(),
            });
        }
    }

    /// More data is sent, or none will be: the latest data is a tail if the other end has answered it, or
    /// if the connection is over.
    fn end_data(&mut self, is_over: bool) {
        let latest = self.latest_data.take();
        let Some(latest) = latest.filter(|latest| latest.is_answered || is_over) else {
            return;
        };
        let tail = Kinds::from(Kind::Tail);
        self.sent.mark(latest.number, tail);
        for number in latest.samples {
            self.samples[number].sample.kinds |= tail;
        }
    }
}
