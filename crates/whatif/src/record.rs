//! The packets of one connection, in stream offsets.
//!
//! Offsets count from the SYN, as in the engine: the SYN is 0, data begins at 1, a FIN follows the data.
//! Times count from the connection's first packet.

use crate::{application::AT_ONCE, unsuitable::Unsuitable};
use recoup_tcp::flow::Host;
use recoup_trace::read::CapturedPacket;
use recoup_units::{Direction, Instant, Offset, Span};
use recoup_wire::{Flags, IpVersion, Options, Segment, SeqNumber, ip_len};
use std::time::Duration;

/// Packets of a connection up to which it is rerun. They take up to 100 bytes each.
pub const MOST_PACKETS: usize = 1 << 20;

/// The packets of one connection, as they were captured.
#[derive(Clone, Debug, Default)]
pub struct ConnectionPackets {
    packets: Vec<Packet>,
    /// Packets beyond [`MOST_PACKETS`].
    left_out: u64,
    is_v6: bool,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Instant,
    frame: u64,
    direction: Direction,
    segment: Segment,
}

impl ConnectionPackets {
    /// No packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a packet. [`Direction::Up`]: the client sent it.
    pub fn push(&mut self, packet: &CapturedPacket, direction: Direction) {
        if self.packets.len() >= MOST_PACKETS {
            self.left_out += 1;
            return;
        }
        self.is_v6 = packet.endpoints.src.is_ipv6();
        self.packets.push(Packet { at: packet.at, frame: packet.frame, direction, segment: packet.segment });
    }

    /// How many packets it has.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// The packets of a connection as its sender saw them.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The end whose loss recovery is replaced.
    pub sender: Host,
    /// In the order of time.
    pub packets: Vec<Seen>,
    /// Options that both SYNs agreed on.
    pub agreed: Agreed,
}

/// Data that a sender sent before it heard of its first data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstFlight {
    /// Segments, the last one perhaps not full.
    pub segments: u32,
    /// It had more to send, and room in the receiver's window: this is its initial congestion window.
    pub fills_window: bool,
}

/// Options that a handshake agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// The payload of a full segment of the sender, in bytes, without the options on every segment.
    pub segment_size: u16,
    pub sack: bool,
    /// Whether the peer takes SACK if the sender offers it. A peer that accepts a connection does not show it
    /// unless the sender offered it; nearly all do.
    pub peer_takes_sack: bool,
    pub timestamps: bool,
    /// The shifts of the windows that sender and peer announce; `None` if windows are not scaled.
    pub scales: Option<[u8; 2]>,
    pub ip_version: IpVersion,
}

impl Agreed {
    /// The shift of the windows that the peer announces. `wide`: the largest (RFC 7323 §2.3).
    pub fn peer_scale(&self, wide: bool) -> Option<u8> {
        self.scales.map(|[_, peer]| if wide { 14 } else { peer })
    }
}

/// A packet that the sender sent or received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub at: Instant,
    pub frame: u64,
    /// The sender sent it; otherwise its peer did.
    pub is_sent: bool,
    /// Its sequence space: the sender's stream if [`is_sent`](Self::is_sent), else the peer's.
    pub span: Span,
    pub payload_len: u32,
    pub ip_len: u32,
    pub flags: Flags,
    /// Cumulative acknowledgment of the other stream.
    pub ack: Option<Offset>,
    /// The right edge of the window it announces.
    pub edge: Option<Offset>,
    pub sack: SackSpans,
    /// The value and the echo of its timestamps option.
    pub timestamps: Option<[u32; 2]>,
}

/// SACK blocks as offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SackSpans {
    spans: [Span; 4],
    len: u8,
}

impl SackSpans {
    fn push(&mut self, span: Span) {
        if let Some(slot) = self.spans.get_mut(usize::from(self.len)) {
            *slot = span;
            self.len += 1;
        }
    }

    pub fn as_slice(&self) -> &[Span] {
        &self.spans[..usize::from(self.len)]
    }
}

/// A stream whose sequence numbers are turned into offsets.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    isn: SeqNumber,
    /// The highest offset so far.
    highest: Offset,
}

impl Numbers {
    fn offset(&self, seq: SeqNumber) -> Option<Offset> {
        seq.unwrap(self.isn, self.highest)
    }
}

impl Record {
    /// Reads the packets of a connection.
    ///
    /// # Errors
    /// When they do not show what a rerun needs.
    pub fn new(packets: &ConnectionPackets, sender: Host) -> Result<Self, Unsuitable> {
        if packets.left_out > 0 {
            return Err(Unsuitable::TooLong);
        }
        let mut all = packets.packets.clone();
        all.sort_by_key(|packet| packet.at);
        let first = all.first().map_or(Instant::ZERO, |packet| packet.at);
        let own = sender.sends();
        let syn = |of: Direction| {
            let mut own = all.iter().filter(|packet| packet.direction == of);
            own.find(|packet| packet.segment.flags.contains(Flags::SYN))
        };
        let (Some(ours), Some(theirs)) = (syn(own), syn(own.reverse())) else {
            return Err(Unsuitable::NoHandshake);
        };
        let version = if packets.is_v6 { IpVersion::V6 } else { IpVersion::V4 };
        let agreed = Agreed::new(sender, &ours.segment.options, &theirs.segment.options, version);
        let mut reader = Reader {
            first,
            own,
            agreed,
            sent: Numbers::new(ours.segment.seq),
            received: Numbers::new(theirs.segment.seq),
        };
        let packets = all.iter().filter_map(|packet| reader.read(packet)).collect();
        let mut record = Self { sender, packets, agreed };
        record.measure_segments();
        Ok(record)
    }

    /// The path may carry smaller segments than the peer takes: those that the sender really sends count.
    fn measure_segments(&mut self) {
        let agreed = u32::from(self.agreed.segment_size);
        let sent = || self.packets.iter().filter(|packet| packet.is_sent);
        let lens = || sent().map(|packet| packet.payload_len);
        let largest = lens().max().unwrap_or(0);
        let is_repeated = lens().filter(|len| *len == largest).count() > 2;
        if largest > 0 && largest < agreed && is_repeated {
            self.agreed.segment_size = largest as u16;
        }
    }

    /// The highest offset that the peer acknowledged.
    pub fn acknowledged(&self) -> Offset {
        let end = self.data_end() + 1;
        let received = self.packets.iter().filter(|packet| !packet.is_sent);
        let acks = received.filter_map(|packet| packet.ack);
        acks.filter(|ack| *ack <= end).max().unwrap_or(Offset::SYN)
    }

    /// When the sender's SYN was acknowledged: the connection was open.
    pub fn opened(&self) -> Instant {
        let answers = |ack: Option<Offset>| ack.is_some_and(|ack| ack >= Offset::DATA);
        let answer = self.packets.iter().find(|packet| !packet.is_sent && answers(packet.ack));
        answer.map_or(Instant::ZERO, |answer| answer.at)
    }

    /// From the sender's last SYN to its ACK.
    pub fn handshake(&self) -> Duration {
        let mut syns = self.packets.iter().filter(|packet| packet.flags.contains(Flags::SYN));
        let syn = syns.rfind(|packet| packet.is_sent);
        syn.map_or(Duration::ZERO, |syn| self.opened().since(syn.at))
    }

    /// Data that the sender sent before an ACK of its first data came.
    pub fn first_flight(&self) -> FirstFlight {
        let has_heard = |packet: &Seen| !packet.is_sent && packet.ack.is_some_and(|ack| ack > Offset::DATA);
        let heard = self.packets.iter().position(has_heard);
        let (before, after) = self.packets.split_at(heard.unwrap_or(self.packets.len()));
        let data = |packets: &'_ [Seen]| {
            let sent = packets.iter().filter(|packet| packet.is_sent);
            sent.map(|packet| packet.payload().end).max()
        };
        let end = data(before).unwrap_or(Offset::DATA);
        let segments = end.since(Offset::DATA).div_ceil(u64::from(self.agreed.segment_size));
        let edges = before.iter().filter(|packet| !packet.is_sent).filter_map(|packet| packet.edge);
        FirstFlight {
            segments: u32::try_from(segments).unwrap_or(u32::MAX).max(1),
            fills_window: self.waits_for_ack(before, after, end, edges.max()),
        }
    }

    /// Whether the sender waited for room in its congestion window: it sent full segments, and goes on as soon
    /// as the ACK is there, though its peer asked for nothing more and its window, to `edge`, has room.
    fn waits_for_ack(&self, before: &[Seen], after: &[Seen], end: Offset, edge: Option<Offset>) -> bool {
        let last = before.iter().rfind(|packet| packet.is_sent && packet.payload_len > 0);
        let is_full = last.is_some_and(|last| last.payload_len % u32::from(self.agreed.segment_size) == 0);
        let Some(next) = after.iter().position(|packet| packet.is_sent && packet.payload().end > end) else {
            return false;
        };
        let (between, next) = (&after[..next], &after[next]);
        let at = between.first().map_or(Instant::ZERO, |ack| ack.at);
        let is_asked = between.iter().any(|packet| !packet.is_sent && packet.payload_len > 0);
        let fits = edge.is_some_and(|edge| next.payload().end <= edge);
        is_full && !is_asked && fits && next.at.since(at) <= AT_ONCE
    }

    /// The end of the sender's data.
    pub fn data_end(&self) -> Offset {
        let sent = self.packets.iter().filter(|packet| packet.is_sent);
        let ends = sent.map(|packet| packet.payload().end);
        ends.max().unwrap_or(Offset::DATA).max(Offset::DATA)
    }
}

impl Numbers {
    fn new(isn: SeqNumber) -> Self {
        Self { isn, highest: Offset::SYN }
    }
}

impl Seen {
    /// The payload, without a SYN or a FIN.
    pub fn payload(&self) -> Span {
        let start = self.span.start + u64::from(self.flags.contains(Flags::SYN));
        Span::at(start, u64::from(self.payload_len))
    }

    pub fn has_fin(&self) -> bool {
        self.flags.contains(Flags::FIN)
    }
}

impl Agreed {
    fn new(sender: Host, ours: &Options, theirs: &Options, ip_version: IpVersion) -> Self {
        const LEAST_MSS: u16 = 536; // RFC 9293 §3.7.1
        // Linux sends no smaller ones (TCP_MIN_SND_MSS, less options).
        const LEAST_SEGMENT: u16 = 8;
        let timestamps = ours.timestamps.is_some() && theirs.timestamps.is_some();
        let mss = theirs.mss.unwrap_or(LEAST_MSS);
        let mss = mss.min(ours.mss.unwrap_or(mss).max(LEAST_MSS));
        let options = if timestamps { recoup_tcp::Config::TIMESTAMPS_LEN } else { 0 };
        Self {
            segment_size: mss.saturating_sub(options).max(LEAST_SEGMENT),
            sack: ours.sack_permitted && theirs.sack_permitted,
            peer_takes_sack: theirs.sack_permitted || (sender == Host::Client && !ours.sack_permitted),
            timestamps,
            scales: ours.window_scale.zip(theirs.window_scale).map(Into::into),
            ip_version,
        }
    }
}

struct Reader {
    first: Instant,
    own: Direction,
    agreed: Agreed,
    sent: Numbers,
    received: Numbers,
}

impl Reader {
    fn read(&mut self, packet: &Packet) -> Option<Seen> {
        let segment = &packet.segment;
        let is_sent = packet.direction == self.own;
        let (mine, other) = if is_sent { (&mut self.sent, &self.received) } else { (&mut self.received, &self.sent) };
        let start = mine.offset(segment.seq)?;
        let span = Span::at(start, u64::from(segment.sequence_len()));
        mine.highest = mine.highest.max(span.end);
        let has_ack = segment.flags.contains(Flags::ACK);
        let ack = other.offset(segment.ack).filter(|_| has_ack);
        let shift = if segment.flags.contains(Flags::SYN) {
            0
        } else {
            self.agreed.scales.map_or(0, |scales| scales[usize::from(!is_sent)])
        };
        let mut sack = SackSpans::default();
        for [left, right] in segment.options.sack.iter() {
            if let (Some(left), Some(right)) = (other.offset(left), other.offset(right)) {
                sack.push(Span::new(left, right));
            }
        }
        Some(Seen {
            at: Instant::from_nanos(packet.at.nanos_since(self.first)),
            frame: packet.frame,
            is_sent,
            span,
            payload_len: segment.payload_len,
            ip_len: ip_len(segment, self.agreed.ip_version),
            flags: segment.flags,
            ack,
            edge: ack.map(|ack| ack + (u64::from(segment.window) << shift.min(14))),
            sack,
            timestamps: (segment.options.timestamps).map(|times| [times.value, times.echo]),
        })
    }
}
