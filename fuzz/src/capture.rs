//! Captured packets of a few connections, built from the fuzzer's steps. Most resemble real traffic, so
//! that the analysis finds retransmissions to explain.

use crate::AnySegment;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use recoup_trace::read::{CapturedPacket, Tunnel};
use recoup_units::Instant;
use recoup_wire::{Endpoints, Flags, Options, SackBlocks, Segment, SeqNumber, Timestamps};
use std::net::SocketAddr;

/// The number of connections with different endpoints.
const CONNECTIONS: usize = 3;
/// The number of recent segments of one side that can be retransmitted or acknowledged.
const REMEMBERED: usize = 64;

/// The end that sends.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// The size of new data.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Amount {
    /// A full segment.
    Full,
    /// Several full segments in one packet, as with offloads.
    Super(u8),
    /// Any size that a packet can carry.
    Any(u16),
}

/// A step: what is captured next.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// The client's SYN, new or retransmitted.
    Syn(Option<u32>),
    /// The server's SYN-ACK.
    SynAck(Option<u32>),
    /// New data.
    Data(Side, Amount),
    /// Retransmissions, counted back from the newest segment.
    Again(Side, u8, u8),
    /// Retransmitted bytes with other segment boundaries: distance back, and length.
    Repacked(Side, u16, Amount),
    /// The packet is captured twice.
    Doubled,
    /// An ACK of all but the newest segments of the other side. It may have SACK blocks for some of those,
    /// counted back from the newest, and a DSACK.
    Ack(Side, u8, [Option<(u8, u8)>; 3], Option<u8>),
    /// A keep-alive or a window probe.
    Probe(Side),
    /// The side sends a FIN.
    Fin(Side),
    /// The side sends a reset.
    Reset(Side),
    /// A segment of any values. Its numbers count from the connection's position or from 0.
    Stray(Side, bool, AnySegment),
    /// The sequence numbers of a side jump, as if the capture lacked bytes.
    Missing(Side, u32),
    /// Milliseconds pass.
    Wait(u8),
    /// Seconds pass.
    Silence(u16),
    /// The clock goes back, in microseconds.
    Back(u16),
    /// Packets of another connection follow.
    Connection(u8),
    /// Whether later packets have timestamps, IP identifications and a known interface.
    Looks(bool, bool, Option<bool>),
}

/// One side of a connection.
#[derive(Clone, Debug, Default)]
struct End {
    isn: u32,
    /// The next byte to be sent.
    next: u32,
    /// Start and length of sent segments in sequence space, the oldest first.
    sent: Vec<(u32, u32)>,
    /// The highest ACK sent.
    acked: u32,
    /// The peer's latest timestamp.
    echo: u32,
}

/// Turns steps into packets.
#[derive(Debug)]
pub struct Capture {
    packets: Vec<CapturedPacket>,
    connections: [[End; 2]; CONNECTIONS],
    current: usize,
    now: Instant,
    timestamps: bool,
    identified: bool,
    outgoing: Option<bool>,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl Amount {
    const FULL: u32 = 1448;

    fn bytes(self) -> u32 {
        match self {
            Self::Full => Self::FULL,
            Self::Super(n) => Self::FULL * u32::from(n % 45 + 1),
            Self::Any(n) => n.into(),
        }
    }
}

impl Capture {
    /// An empty capture. The clock starts at this time in ms, and the connections' sequence numbers start
    /// at these values.
    pub fn new(begins: u32, isns: [u32; 2]) -> Self {
        let end = |isn: u32| End { isn, next: isn, acked: isn, ..End::default() };
        Self {
            packets: Vec::new(),
            connections: std::array::from_fn(|_| isns.map(end)),
            current: 0,
            now: Instant::from_millis(begins.into()),
            timestamps: true,
            identified: true,
            outgoing: None,
        }
    }

    /// All packets.
    pub fn into_packets(self) -> Vec<CapturedPacket> {
        self.packets
    }

    fn end(&mut self, side: Side) -> &mut End {
        &mut self.connections[self.current][side as usize]
    }

    /// Executes a step.
    pub fn take(&mut self, step: &Step) {
        match *step {
            Step::Syn(isn) => self.syn(Side::Client, isn),
            Step::SynAck(isn) => self.syn(Side::Server, isn),
            Step::Data(side, amount) => self.new_bytes(side, amount.bytes(), Flags::ACK),
            Step::Fin(side) => self.new_bytes(side, 0, Flags::ACK | Flags::FIN),
            Step::Again(side, back, count) => self.again(side, back, count),
            Step::Repacked(side, back, amount) => {
                let seq = self.end(side).next.wrapping_sub(back.into());
                self.send(side, seq, amount.bytes().min(back.into()), Flags::ACK);
            }
            Step::Doubled => self.doubled(),
            Step::Ack(side, but, blocks, dsack) => self.ack(side, but, &blocks, dsack),
            Step::Probe(side) => {
                let seq = self.end(side).next.wrapping_sub(1);
                self.send(side, seq, 0, Flags::ACK);
            }
            Step::Reset(side) => {
                let seq = self.end(side).next;
                self.send(side, seq, 0, Flags::RST | Flags::ACK);
            }
            Step::Stray(side, near, ref any) => self.stray(side, near, any),
            Step::Missing(side, bytes) => {
                let end = self.end(side);
                end.next = end.next.wrapping_add(bytes);
            }
            Step::Wait(millis) => self.now = self.now.plus_nanos(u64::from(millis) * 1_000_000),
            Step::Silence(seconds) => {
                self.now = self.now.plus_nanos(u64::from(seconds) * 1_000_000_000);
            }
            Step::Back(micros) => {
                let nanos = u64::from(micros) * 1000;
                self.now = Instant::from_nanos(self.now.as_nanos().saturating_sub(nanos));
            }
            Step::Connection(n) => self.current = usize::from(n) % CONNECTIONS,
            Step::Looks(timestamps, identified, outgoing) => {
                self.timestamps = timestamps;
                self.identified = identified;
                self.outgoing = outgoing;
            }
        }
    }

    fn syn(&mut self, side: Side, isn: Option<u32>) {
        let end = self.end(side);
        if let Some(isn) = isn {
            *end = End { isn, next: isn.wrapping_add(1), acked: end.acked, sent: vec![(isn, 1)], echo: end.echo };
        } else if end.next == end.isn {
            end.next = end.isn.wrapping_add(1);
            end.sent = vec![(end.isn, 1)];
        }
        let isn = end.isn;
        let flags = match side {
            Side::Client => Flags::SYN,
            Side::Server => Flags::SYN | Flags::ACK,
        };
        self.send(side, isn, 0, flags);
    }

    fn doubled(&mut self) {
        if let Some(&last) = self.packets.last() {
            self.packets.push(CapturedPacket { frame: last.frame + 1, at: self.now, ..last });
        }
    }

    fn new_bytes(&mut self, side: Side, bytes: u32, flags: Flags) {
        let end = self.end(side);
        let (seq, len) = (end.next, bytes + u32::from(flags.contains(Flags::FIN)));
        end.next = seq.wrapping_add(len);
        end.sent.push((seq, len));
        if end.sent.len() > REMEMBERED {
            end.sent.remove(0);
        }
        self.send(side, seq, bytes, flags);
    }

    fn again(&mut self, side: Side, back: u8, count: u8) {
        let end = self.end(side);
        let from = end.sent.len().saturating_sub(usize::from(back) + 1);
        let some: Vec<_> = end.sent.iter().skip(from).copied().collect();
        for (seq, len) in some.into_iter().take(usize::from(count % 8) + 1) {
            self.send(side, seq, len, Flags::ACK);
        }
    }

    /// Start and end of the segment sent this many before the newest.
    fn remembered(&self, side: Side, back: u8) -> Option<[SeqNumber; 2]> {
        let sent = &self.connections[self.current][side as usize].sent;
        let at = sent.len().checked_sub(usize::from(back) + 1)?;
        let (seq, len) = sent[at];
        Some([SeqNumber(seq), SeqNumber(seq) + len])
    }

    fn ack(&mut self, side: Side, but: u8, blocks: &[Option<(u8, u8)>; 3], dsack: Option<u8>) {
        let far = side.other();
        let upto = match but {
            0 => Some(SeqNumber(self.end(far).next)),
            _ => self.remembered(far, but).map(|[_, end]| end),
        };
        if let Some(upto) = upto {
            self.end(side).acked = upto.0;
        }
        let mut sack = SackBlocks::NONE;
        if let Some(again) = dsack.and_then(|back| self.remembered(far, back)) {
            sack.push(again);
        }
        for &(oldest, newest) in blocks.iter().flatten() {
            let edges = [self.remembered(far, oldest), self.remembered(far, newest)];
            if let [Some([left, _]), Some([_, right])] = edges {
                sack.push([left, right]);
            }
        }
        let seq = self.end(side).next;
        self.send(side, seq, 0, Flags::ACK);
        if let Some(last) = self.packets.last_mut() {
            last.segment.options.sack = sack;
        }
    }

    fn stray(&mut self, side: Side, near: bool, any: &AnySegment) {
        let mut segment = Segment::from(any);
        let scale = &mut segment.options.window_scale;
        *scale = scale.map(|shift| shift.min(Options::MAX_WINDOW_SCALE));
        let end = self.end(side);
        if near {
            segment.seq = SeqNumber(end.next) + (segment.seq.0 % 20_000);
            segment.ack = SeqNumber(end.acked) + (segment.ack.0 % 20_000);
        }
        self.push(side, segment);
    }

    fn send(&mut self, side: Side, seq: u32, bytes: u32, flags: Flags) {
        let clock = (self.now.as_nanos() / 1_000_000) as u32;
        let timestamps = self.timestamps;
        let end = self.end(side);
        let (ack, echo) = (end.acked, end.echo);
        let mut segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            payload_len: bytes,
            window: 500,
            flags,
            ..Segment::default()
        };
        if timestamps {
            segment.options.timestamps = Some(Timestamps { value: clock, echo });
            self.end(side.other()).echo = clock;
        }
        if flags.contains(Flags::SYN) {
            segment.options.mss = Some(1460);
            segment.options.sack_permitted = true;
            segment.options.window_scale = Some(7);
        }
        self.push(side, segment);
    }

    fn push(&mut self, side: Side, segment: Segment) {
        let client = SocketAddr::from(([192, 0, 2, 1], 40_000 + self.current as u16));
        let up = Endpoints { src: client, dst: SocketAddr::from(([192, 0, 2, 2], 80)) };
        let frame = self.packets.last().map_or(0, |last| last.frame) + 1;
        self.packets.push(CapturedPacket {
            frame,
            at: self.now,
            endpoints: match side {
                Side::Client => up,
                Side::Server => up.reverse(),
            },
            segment,
            ip_id: self.identified.then_some(frame as u16),
            hop_limit: 64,
            ecn: Default::default(),
            options_complete: true,
            overlong: false,
            outgoing: self.outgoing.map(|server| server == matches!(side, Side::Server)),
            interface: 0,
            message: None,
            tunnel: Tunnel::NONE,
            link: 0,
        });
    }
}
