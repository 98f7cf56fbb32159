//! The fields of packets that every packet is followed by, and packets that need no others.

use super::points::Mark;
use crate::read::CapturedPacket;
use recoup_units::Instant;
use recoup_wire::{Flags, Headers, SeqNumber, Timestamps};

/// The fields of a packet by which it is followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpFields {
    pub seq: SeqNumber,
    pub ack: SeqNumber,
    /// On the wire, in bytes.
    pub payload_len: u32,
    /// Not scaled.
    pub window: u16,
    pub flags: Flags,
    pub timestamps: Option<Timestamps>,
    /// The IPv4 identification.
    pub ip_id: Option<u16>,
}

impl TcpFields {
    /// Those of a packet.
    #[inline(always)]
    pub fn of(packet: &CapturedPacket) -> Self {
        let segment = &packet.segment;
        Self {
            seq: segment.seq,
            ack: segment.ack,
            payload_len: segment.payload_len,
            window: segment.window,
            flags: segment.flags,
            timestamps: segment.options.timestamps,
            ip_id: packet.ip_id,
        }
    }

    /// The sequence numbers that it takes: payload, SYN and FIN.
    #[inline]
    pub fn sequence_len(&self) -> u32 {
        self.payload_len.saturating_add(self.flags.sequence_len())
    }
}

/// A packet that begins and ends nothing, and says nothing but its [`TcpFields`]: its flags are ACK and perhaps PSH,
/// its options timestamps or none, and it shows nothing of ECN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainPacket {
    pub time: Instant,
    pub frame: u64,
    /// Its [`fingerprint`](super::direction::fingerprint).
    pub fingerprint: u32,
    pub fields: TcpFields,
    pub mark: Mark,
}

/// The flags of a plain packet, besides PSH.
const PLAIN: Flags = Flags::ACK;

/// Whether headers without options other than timestamps are those of a plain packet.
#[inline(always)]
pub(crate) fn are_plain(headers: &Headers) -> bool {
    (headers.flags == PLAIN || headers.flags == PLAIN.union(Flags::PSH)) && headers.is_plain()
}

/// The fields of these headers, which have no options other than timestamps.
#[inline(always)]
pub(crate) fn fields_of(headers: &Headers) -> TcpFields {
    TcpFields {
        seq: headers.seq,
        ack: headers.ack,
        payload_len: headers.payload_len,
        window: headers.window,
        flags: headers.flags,
        timestamps: headers.timestamps(),
        ip_id: headers.ip_id(),
    }
}
