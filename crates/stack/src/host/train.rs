//! Consecutive segments that leave together.

use crate::LONGEST_SUPER_PACKET;
use recoup_recovery::{Transmission, Trigger};
use recoup_tcp::Transmit;
use recoup_units::Span;
use recoup_wire::{Ecn, Flags, IpVersion, Segment, ip_len};

/// Which segments may go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    New,
    Again(Trigger),
    /// Alone.
    Other,
}

impl Kind {
    pub const fn of(what: Transmit) -> Self {
        match what {
            Transmit::Stream(Transmission::New(_)) => Self::New,
            Transmit::Stream(Transmission::Again(_, trigger)) => Self::Again(trigger),
            Transmit::Stream(Transmission::NewProbe(_) | Transmission::Copy(_) | Transmission::WindowProbe)
            | Transmit::Control => Self::Other,
        }
    }
}

/// Consecutive segments of one connection that go together.
#[derive(Debug)]
pub(super) struct Train {
    pub kind: Kind,
    /// All of them, as if they were one.
    pub segment: Segment,
    /// Where their payload stands in the stream.
    pub payload: Span,
    /// Payload bytes of each but the last.
    pub size: u32,
    /// Payload bytes for which there is room.
    pub room: u32,
    /// Nothing more can join it.
    pub full: bool,
    /// The ECN field of its packets.
    pub ecn: Ecn,
}

impl Train {
    /// Flags that end a train (PSH, FIN), or cannot be in one: the payload of a SYN does not begin where its
    /// sequence number says, CWR goes out once (RFC 3168 §6.1.2), a reset carries nothing.
    const ENDS: Flags = Flags::PSH.union(Flags::FIN).union(Flags::SYN).union(Flags::CWR).union(Flags::RST);

    pub fn new(kind: Kind, segment: &Segment, payload: Span, version: IpVersion) -> Self {
        let size = segment.payload_len;
        let room = (LONGEST_SUPER_PACKET as u32).saturating_sub(ip_len(segment, version));
        let alone = kind == Kind::Other || size == 0 || segment.flags.intersects(Self::ENDS);
        Self { kind, segment: *segment, payload, size, room, full: alone || room < size, ecn: Ecn::NONE }
    }

    /// Takes in a segment if it belongs to those here; whether it does.
    pub fn join(&mut self, kind: Kind, next: &Segment, payload: Span) -> bool {
        const LAST: Flags = Flags::PSH.union(Flags::FIN);
        let segment = &mut self.segment;
        let joins = !self.full
            && kind == self.kind
            && next.seq == segment.seq + segment.payload_len
            && (1..=self.size).contains(&next.payload_len)
            && next.ack == segment.ack
            && next.window == segment.window
            && next.flags.without(LAST) == segment.flags
            && next.options == segment.options;
        if joins {
            segment.payload_len += next.payload_len;
            segment.flags = next.flags;
            self.payload.end = payload.end;
            self.room -= next.payload_len;
            let last = next.payload_len < self.size || next.flags.intersects(LAST);
            self.full = last || self.room < self.size;
        }
        joins
    }

    /// Takes in `count` segments like the last one, for which there must be room.
    pub fn lengthen(&mut self, count: u32) {
        let len = count * self.size;
        self.segment.payload_len += len;
        self.payload.end = self.payload.end + u64::from(len);
        self.room -= len;
        self.full |= self.room < self.size;
    }
}
