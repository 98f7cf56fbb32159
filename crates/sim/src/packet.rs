//! The packets of the simulated path.

use recoup_path::{self as path, TcpFacts};
use recoup_units::{Direction, FlowId};
use recoup_wire::{Flags, IpVersion, Segment, ip_len};

/// A TCP segment on the simulated path.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// The segment as it was sent.
    pub segment: Segment,
    /// Its number among the packets of its flow and direction, from 0.
    pub ordinal: u64,
    /// Whether its data is sent for the first time.
    pub is_first: bool,
    /// Its length with IP and TCP headers, in bytes.
    pub ip_len: u32,
    /// The ECN field of the IP header.
    pub ecn: EcnField,
    /// Set when the path damaged the packet: 64 uniformly distributed bits that choose where. The
    /// receiver detects the damage by the checksum.
    pub damage: Option<u64>,
    pub(crate) way: Way,
}

/// A packet's way through a [`World`](crate::world::World). Packets hold it, because links pass on their boxes alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub slot: u32,
    /// The number of its [`RouteId`](crate::world::RouteId).
    pub route: u32,
    /// How many links of the route it has passed.
    pub passed: u32,
    pub direction: Direction,
    /// Whether a queue of its link marked it.
    pub marked: bool,
    /// How long it has waited in the queues of its link, in nanoseconds.
    pub waited: u64,
    /// Its place among all packets of its link, from 0, if the link takes them for those of one flow.
    pub place: Option<u64>,
}

impl Way {
    /// Before the first link.
    pub const fn begin(slot: u32, route: u32, direction: Direction) -> Self {
        Self { slot, route, passed: 0, direction, marked: false, waited: 0, place: None }
    }
}

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnField {
    /// Not ECN-capable: a queue drops the packet.
    #[default]
    NotEct,
    /// ECN-capable: a queue may mark the packet instead.
    Ect0,
    /// A queue marked the packet: congestion experienced.
    Ce,
}

impl Packet {
    /// Packet number `ordinal` of its direction, over IPv4. It is no first transmission.
    pub fn new(flow: FlowId, ordinal: u64, segment: Segment) -> Self {
        let (ecn, way) = (EcnField::NotEct, Way::begin(0, 0, Direction::Up));
        let mut packet = Self { flow, segment, ordinal, is_first: false, ip_len: 0, ecn, damage: None, way };
        packet.measure();
        packet
    }

    /// Computes `ip_len` from the segment.
    pub(crate) fn measure(&mut self) {
        self.ip_len = ip_len(&self.segment, IpVersion::V4);
    }
}

/// A pool of packets: their memory is reused.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are used again, not what is in them")]
pub(crate) struct PacketPool(Vec<Box<Packet>>);

impl PacketPool {
    /// The packet that [`take`](Self::take) returns next, with any contents.
    #[inline(always)]
    pub fn next(&mut self) -> &mut Packet {
        if self.0.is_empty() {
            self.0.push(Box::new(Packet::new(FlowId(0), 0, Segment::default())));
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// A packet with the contents that [`next`](Self::next) was given, if it was called.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Box<Packet>> {
        self.0.pop()
    }

    /// Takes back the memory of a packet.
    #[inline]
    pub fn put(&mut self, packet: Box<Packet>) {
        self.0.push(packet);
    }
}

impl path::Packet for Packet {
    fn flow(&self) -> FlowId {
        self.flow
    }

    fn ip_len(&self) -> u32 {
        self.ip_len
    }

    fn tcp(&self) -> Option<TcpFacts> {
        let segment = &self.segment;
        let has = |flag| segment.flags.contains(flag);
        Some(TcpFacts {
            seq: segment.seq.0,
            payload_len: segment.payload_len,
            syn: has(Flags::SYN),
            fin: has(Flags::FIN),
            rst: has(Flags::RST),
            ack: has(Flags::ACK).then_some(segment.ack.0),
            sack: !segment.options.sack.is_empty(),
        })
    }

    fn ordinal(&self) -> Option<u64> {
        Some(self.ordinal)
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn != EcnField::NotEct
    }

    fn mark(&mut self) {
        self.ecn = EcnField::Ce;
    }

    fn corrupt(&mut self, draw: u64) {
        self.damage = Some(draw);
    }
}

impl path::Packet for Box<Packet> {
    fn flow(&self) -> FlowId {
        (**self).flow()
    }

    fn ip_len(&self) -> u32 {
        (**self).ip_len()
    }

    fn tcp(&self) -> Option<TcpFacts> {
        (**self).tcp()
    }

    fn ordinal(&self) -> Option<u64> {
        (**self).ordinal()
    }

    fn is_ecn_capable(&self) -> bool {
        (**self).is_ecn_capable()
    }

    fn mark(&mut self) {
        (**self).mark();
    }

    fn corrupt(&mut self, draw: u64) {
        (**self).corrupt(draw);
    }
}
