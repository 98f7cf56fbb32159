//! Sorts packets into connections, and turns one connection into a panel.

use super::super::source::{Choice, Source, SourceError, direction};
use super::super::watch::{flags, window_edge};
use super::list;
use recoup_draw::sequence::{AckArrival, Mark, MarkKind, MarkRecorder, Necessity, Panel};
use recoup_trace::finding::{Retransmission, Verdict};
use recoup_trace::read::CapturedPacket;
use recoup_units::{Direction, Instant, Offset, Span};
use recoup_wire::{Flags, Segment, SeqNumber};
use std::collections::HashMap;
use std::net::SocketAddr;

/// The two endpoints of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    pub client: SocketAddr,
    pub server: SocketAddr,
}

impl Ends {
    /// A key that is the same for both directions.
    fn key(self) -> [SocketAddr; 2] {
        let mut ends = [self.client, self.server];
        ends.sort();
        ends
    }
}

/// One connection, with its packets if it may be drawn.
#[derive(Clone, Debug)]
pub(super) struct CaptureConnection {
    pub ends: Ends,
    /// The initial sequence number of the client's SYN.
    syn: Option<SeqNumber>,
    /// Data segments, up and down.
    pub segments: [u64; 2],
    /// Payload bytes, up and down.
    pub bytes: [u64; 2],
    packets: Vec<KeptPacket>,
}

/// What is kept of a packet of a connection.
#[derive(Clone, Copy, Debug)]
struct KeptPacket {
    frame: u64,
    at: Instant,
    direction: Direction,
    segment: Segment,
}

/// The retransmissions an analysis found, by frame number.
pub(super) type RetransmissionsByFrame<'a> = HashMap<u64, &'a Retransmission>;

/// All connections of a capture, in the order of their first packets.
#[derive(Clone, Debug)]
pub(super) struct CaptureConnections {
    /// The number of the connection to draw; `None`: decided after the last packet.
    wanted: Option<usize>,
    all: Vec<CaptureConnection>,
    /// The latest connection between two endpoints.
    latest: HashMap<[SocketAddr; 2], usize>,
}

impl CaptureConnections {
    pub fn new(wanted: Option<usize>) -> Self {
        Self {
            wanted,
            all: Vec::new(),
            latest: HashMap::new(),
        }
    }

    pub fn take(&mut self, packet: &CapturedPacket) {
        let number = self.connection_of(packet);
        let wanted = self.wanted.is_none_or(|wanted| wanted == number);
        let connection = &mut self.all[number];
        connection.take(packet, wanted);
    }

    /// The number of the packet's connection. The packet opens a new connection if it is the first
    /// between its endpoints, or a SYN with another sequence number than the last SYN.
    fn connection_of(&mut self, packet: &CapturedPacket) -> usize {
        let (src, dst, segment) = (packet.endpoints.src, packet.endpoints.dst, &packet.segment);
        let syn = segment.flags.contains(Flags::SYN);
        let opening = syn && !segment.flags.contains(Flags::ACK);
        let ends = match syn && !opening {
            true => Ends {
                client: dst,
                server: src,
            },
            false => Ends {
                client: src,
                server: dst,
            },
        };
        let known = self.latest.get(&ends.key()).copied();
        let same = |number: &usize| !opening || self.all[*number].syn == Some(segment.seq);
        if let Some(number) = known.filter(same) {
            return number;
        }
        self.all.push(CaptureConnection {
            syn: opening.then_some(segment.seq),
            ..CaptureConnection::between(ends)
        });
        let number = self.all.len() - 1;
        self.latest.insert(ends.key(), number);
        number
    }

    pub fn finish(mut self, file: &str, choice: &Choice) -> Result<Source, SourceError> {
        let refuse = |why, list| SourceError::Choice {
            file: file.into(),
            why,
            list,
        };
        let all = self.all.iter().enumerate();
        let carry_data = all.filter(|(_, c)| c.bytes.iter().any(|bytes| *bytes > 0));
        let carry_data: Vec<usize> = carry_data.map(|(number, _)| number).collect();
        let number = match (self.wanted, carry_data.as_slice()) {
            (Some(number), _) if number < self.all.len() => number,
            (Some(number), _) if !self.all.is_empty() => {
                let last = self.all.len() - 1;
                let why = format!("no connection {number}: expected one from 0 to {last}");
                return Err(refuse(why, vec![]));
            }
            (None, [only]) => *only,
            (None, []) if self.all.len() == 1 => 0,
            (None, several) if !several.is_empty() || !self.all.is_empty() => {
                let why = format!(
                    "there are {} connections: choose one with --connection",
                    self.all.len()
                );
                return Err(refuse(why, list::lines(&mut self.all)));
            }
            _ => return Err(refuse("there is no TCP connection".into(), vec![])),
        };
        let mut connection = self.all.swap_remove(number);
        connection.sort();
        let direction = direction(choice, connection.bytes);
        Ok(Source {
            title: connection.title(direction),
            panels: vec![connection.panel(direction, None)],
            notes: connection.note(direction).into_iter().collect(),
        })
    }
}

impl CaptureConnection {
    /// A connection without packets.
    pub fn between(ends: Ends) -> Self {
        Self {
            ends,
            syn: None,
            segments: [0; 2],
            bytes: [0; 2],
            packets: Vec::new(),
        }
    }

    /// Counts a packet of this connection, and keeps it if `wanted`.
    pub fn take(&mut self, packet: &CapturedPacket, wanted: bool) {
        let segment = &packet.segment;
        let direction = match packet.endpoints.src == self.ends.client {
            true => Direction::Up,
            false => Direction::Down,
        };
        if segment.payload_len > 0 {
            self.segments[direction as usize] += 1;
            self.bytes[direction as usize] += u64::from(segment.payload_len);
        }
        if wanted {
            self.packets.push(KeptPacket {
                frame: packet.frame,
                at: packet.at,
                direction,
                segment: *segment,
            });
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

    /// Retransmitted segments, up and down.
    pub fn retransmissions(&self) -> [usize; 2] {
        [Direction::Up, Direction::Down].map(|direction| {
            let marks = self.panel(direction, None).marks;
            let again = |mark: &&Mark| matches!(mark.kind, MarkKind::Retransmitted(..));
            marks.iter().filter(again).count()
        })
    }

    /// The SYN of the sender of `direction`.
    fn syn_of(&self, direction: Direction) -> Option<&Segment> {
        let mut own = self.packets.iter().filter(|p| p.direction == direction);
        let syn = own.find(|packet| packet.segment.flags.contains(Flags::SYN));
        syn.map(|packet| &packet.segment)
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
    /// Retransmissions are those in `explained`; without it, segments whose data was seen before.
    pub fn panel(
        &self,
        direction: Direction,
        explained: Option<&RetransmissionsByFrame<'_>>,
    ) -> Panel {
        let Some(isn) = self.isn(direction) else {
            return Panel::default();
        };
        let start = self.packets.first().map_or(Instant::ZERO, |first| first.at);
        let mut track = DirectionTrack {
            isn,
            recorder: MarkRecorder::default(),
            seen: SeenSpace::default(),
            scales: [None; 2],
            field: None,
            explained,
        };
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
        Panel {
            title: String::new(),
            marks: track.recorder.into_marks(),
        }
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
    seen: SeenSpace,
    scales: [Option<Option<u8>>; 2],
    /// The window field of the latest ACK, not scaled.
    field: Option<u16>,
    /// The retransmissions an analysis found; `None`: no analysis was made.
    explained: Option<&'a RetransmissionsByFrame<'a>>,
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
        for (flag, offset) in flags(segment, start) {
            self.recorder.control_sent(at, flag, offset);
        }
        if len == 0 {
            return;
        }
        let span = Span::at(start, len);
        let seen = self.seen.add(span);
        let found = self.explained.map(|all| all.get(&frame));
        match (found, seen) {
            (Some(Some(one)), _) => {
                let trigger = one.triggers.to_string();
                let necessity = necessity(one.verdict);
                let reason = one.evidence.reason();
                self.recorder
                    .retransmission_explained(at, span, trigger, necessity, reason);
            }
            (None, true) => self.recorder.retransmitted(at, span, None),
            (Some(None), _) | (None, false) => self.recorder.data_sent(at, span),
        }
    }

    fn segment_arrived(&mut self, at: Instant, segment: &Segment) {
        let una = self.offset(segment.ack);
        let Some(una) = una.filter(|_| acknowledges(segment)) else {
            return;
        };
        let blocks = segment.options.sack.iter();
        let blocks: Vec<Span> = blocks
            .filter_map(|[a, b]| Some(Span::new(self.offset(a)?, self.offset(b)?)))
            .collect();
        let window = window_edge(una, segment.window, segment.flags, self.scales);
        // Even with an unknown scale, equal window fields mean that the window did not change.
        let last = self.field.replace(segment.window);
        let same = window.is_some() || last.is_none_or(|last| last == segment.window);
        let arrival = AckArrival {
            una,
            may_be_duplicate: segment.is_pure_ack() && (same || !blocks.is_empty()),
            window,
        };
        self.recorder.ack_arrived(at, arrival, blocks);
    }
}

/// The sequence space seen so far, as sorted spans that do not touch.
#[derive(Clone, Debug, Default)]
struct SeenSpace(Vec<Span>);

impl SeenSpace {
    /// Adds a span that is not empty, and returns whether any part of it was seen before.
    fn add(&mut self, span: Span) -> bool {
        let first = self.0.partition_point(|s| s.end < span.start);
        let after = first + self.0[first..].partition_point(|s| s.start <= span.end);
        let touched = &self.0[first..after];
        let again = touched.iter().any(|s| s.overlaps(span));
        let start = touched
            .first()
            .map_or(span.start, |s| s.start.min(span.start));
        let end = touched.last().map_or(span.end, |s| s.end.max(span.end));
        self.0.splice(first..after, [Span::new(start, end)]);
        again
    }
}

const fn necessity(verdict: Verdict) -> Necessity {
    match verdict {
        Verdict::Needed => Necessity::Needed,
        Verdict::Spurious => Necessity::Spurious,
        Verdict::Unknowable => Necessity::Unknowable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_overlaps_seen_space_is_recognized() {
        let mut seen = SeenSpace::default();
        for (start, end, again) in [
            (10, 20, false),
            (20, 30, false),
            (40, 50, false),
            (29, 30, true),
            (30, 40, false), // closes the gap
            (1, 10, false),
            (49, 60, true),
            (70, 80, false),
            (60, 70, false),
            (0, 1, false),
            (0, 100, true),
        ] {
            let span = Span::new(Offset(start), Offset(end));
            assert_eq!(seen.add(span), again, "{span}");
        }
        assert_eq!(seen.0, [Span::new(Offset(0), Offset(100))]);
    }
}
