//! The packets of one connection, and the panels of its directions.

use recoup_draw::sequence::{AckArrival, MarkRecorder, Necessity, Panel};
use recoup_draw::sequence::{control_flags, window_edge};
use recoup_trace::finding::{Retransmission, Verdict};
use recoup_trace::read::CapturedPacket;
use recoup_units::{Direction, Instant, Offset, Span};
use recoup_wire::{Flags, Segment, SeqNumber};
use std::collections::HashMap;
use std::net::SocketAddr;

/// The two endpoints of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub client: SocketAddr,
    pub server: SocketAddr,
}

/// One connection.
#[derive(Clone, Debug)]
pub(super) struct CaptureConnection {
    ends: Ends,
    packets: Vec<KeptPacket>,
}

/// A packet of a connection, as far as it is drawn.
#[derive(Clone, Copy, Debug)]
struct KeptPacket {
    frame: u64,
    at: Instant,
    direction: Direction,
    segment: Segment,
}

/// The retransmissions an analysis found, by frame number.
pub(super) type RetransmissionsByFrame<'a> = HashMap<u64, &'a Retransmission>;

impl CaptureConnection {
    /// A connection without packets.
    pub fn between(ends: Ends) -> Self {
        let packets = Vec::new();
        Self { ends, packets }
    }

    /// The number of packets kept.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Keeps a packet of this connection.
    pub fn take(&mut self, packet: &CapturedPacket) {
        let direction = match packet.endpoints.src == self.ends.client {
            true => Direction::Up,
            false => Direction::Down,
        };
        self.packets.push(KeptPacket { frame: packet.frame, at: packet.at, direction, segment: packet.segment });
    }

    /// The end that sends the data of `direction`.
    pub fn sender(&self, direction: Direction) -> SocketAddr {
        match direction {
            Direction::Up => self.ends.client,
            Direction::Down => self.ends.server,
        }
    }

    /// The title of a panel: sender and receiver of `direction`.
    pub fn title(&self, direction: Direction) -> String {
        let Ends { client, server } = self.ends;
        match direction {
            Direction::Up => format!("{client} to {server}"),
            Direction::Down => format!("{server} to {client}"),
        }
    }

    /// Sorts the packets by time: captures of several interfaces may be out of order.
    pub fn sort(&mut self) {
        self.packets.sort_by_key(|packet| packet.at);
    }

    /// The SYN of the sender of `direction`.
    fn syn_of(&self, direction: Direction) -> Option<&Segment> {
        let mut own = self.packets.iter().filter(|p| p.direction == direction);
        let syn = own.find(|packet| packet.segment.flags.contains(Flags::SYN));
        syn.map(|packet| &packet.segment)
    }

    /// The title of a drawing of both directions.
    pub fn title_of_both(&self) -> String {
        let Ends { client, server } = self.ends;
        format!("{client} and {server}")
    }

    /// A note about what is unknown without the SYNs; `None` when both were captured.
    pub fn note(&self, direction: Direction) -> Option<String> {
        let [own, peer] = [direction, direction.reverse()].map(|d| self.syn_of(d).is_some());
        let numbers = match (own, peer) {
            (true, true) => return None,
            (true, false) => "",
            (false, _) => ", and sequence numbers count from the lowest seen",
        };
        Some(format!(
            "the connection's beginning is not in the capture: no receive window is drawn, because its scale is unknown{numbers}"
        ))
    }

    /// The sequence number of offset 0: the SYN's, or without a SYN the one before the lowest in data
    /// and ACKs.
    fn isn(&self, direction: Direction) -> Option<SeqNumber> {
        if let Some(syn) = self.syn_of(direction) {
            return Some(syn.seq);
        }
        let number = |packet: &KeptPacket| {
            let segment = &packet.segment;
            match packet.direction == direction {
                true => (segment.sequence_len() > 0).then_some(segment.seq),
                false => acknowledges(segment).then_some(segment.ack),
            }
        };
        let mut numbers = self.packets.iter().filter_map(number);
        // The first number is in the middle of the range, so others may lie on either side.
        const HALF: u32 = 1 << 31;
        let zero = numbers.next()? - HALF;
        let first = Offset(HALF.into());
        let (mut lowest, mut highest) = (first, first);
        for offset in numbers {
            let Some(offset) = offset.unwrap(zero, highest) else {
                continue;
            };
            (lowest, highest) = (lowest.min(offset), highest.max(offset));
        }
        Some(zero.at(lowest) - 1)
    }

    /// The panel of the data of `direction`, true if the capture was taken at the sender.
    /// Retransmissions are those in `explained`.
    pub fn panel(&self, direction: Direction, explained: &RetransmissionsByFrame<'_>) -> Panel {
        let Some(isn) = self.isn(direction) else {
            return Panel::default();
        };
        let start = self.packets.first().map_or(Instant::ZERO, |first| first.at);
        let mut track =
            DirectionTrack { isn, recorder: MarkRecorder::default(), scales: [None; 2], field: None, explained };
        for packet in &self.packets {
            let segment = &packet.segment;
            let at = Instant::ZERO + packet.at.since(start);
            let outgoing = packet.direction == direction;
            if segment.flags.contains(Flags::SYN) {
                track.scales[usize::from(!outgoing)] = Some(segment.options.window_scale);
            }
            track.recorder.set_frame(packet.frame);
            match outgoing {
                true => track.segment_sent(packet.frame, at, segment),
                false => track.segment_arrived(at, segment),
            }
        }
        Panel { title: String::new(), marks: track.recorder.into_marks() }
    }
}

/// Whether the segment's acknowledgment number is valid.
fn acknowledges(segment: &Segment) -> bool {
    segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::RST)
}

/// The state of one direction while its packets are processed.
struct DirectionTrack<'a> {
    isn: SeqNumber,
    recorder: MarkRecorder,
    scales: [Option<Option<u8>>; 2],
    /// The window field of the latest ACK, not scaled.
    field: Option<u16>,
    /// The retransmissions that the analysis found.
    explained: &'a RetransmissionsByFrame<'a>,
}

impl DirectionTrack<'_> {
    fn offset(&self, seq: SeqNumber) -> Option<Offset> {
        seq.unwrap(self.isn, self.recorder.highest())
    }

    fn segment_sent(&mut self, frame: u64, at: Instant, segment: &Segment) {
        let len = u64::from(segment.sequence_len());
        let Some(start) = self.offset(segment.seq) else {
            return;
        };
        for (flag, offset) in control_flags(segment, start) {
            self.recorder.control_sent(at, flag, offset);
        }
        if len == 0 {
            return;
        }
        let span = Span::at(start, len);
        let Some(one) = self.explained.get(&frame) else {
            return self.recorder.data_sent(at, span);
        };
        let trigger = one.triggers.to_string();
        let necessity = necessity(one.verdict);
        let reason = one.evidence.reason();
        self.recorder.retransmission_explained(at, span, trigger, necessity, reason);
    }

    fn segment_arrived(&mut self, at: Instant, segment: &Segment) {
        let una = self.offset(segment.ack);
        let Some(una) = una.filter(|_| acknowledges(segment)) else {
            return;
        };
        let blocks: Vec<Span> = segment
            .options
            .sack
            .iter()
            .filter_map(|[a, b]| Some(Span::new(self.offset(a)?, self.offset(b)?)))
            .collect();
        let window = window_edge(una, segment.window, segment.flags, self.scales);
        // Even with an unknown scale, equal window fields mean that the window did not change.
        let last = self.field.replace(segment.window);
        let same = window.is_some() || last.is_none_or(|last| last == segment.window);
        let arrival =
            AckArrival { una, may_be_duplicate: segment.is_pure_ack() && (same || !blocks.is_empty()), window };
        self.recorder.ack_arrived(at, arrival, blocks);
    }
}

const fn necessity(verdict: Verdict) -> Necessity {
    match verdict {
        Verdict::Needed => Necessity::Needed,
        Verdict::Spurious => Necessity::Spurious,
        Verdict::Unknowable => Necessity::Unknowable,
    }
}
