//! The segment: the value that endpoints exchange.

use std::fmt;

use crate::{Flags, Options, SeqNumber};

/// The fixed part of a TCP header, in bytes (RFC 9293 §3.1).
pub const TCP_HEADER_LEN: u32 = 20;

/// A TCP segment without its payload bytes.
///
/// The default is an empty segment: no flags, no payload, no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Segment {
    /// Sequence number: of the SYN if there is one, else of the first payload byte.
    pub seq: SeqNumber,
    /// The next sequence number expected from the peer; meaningful with [`Flags::ACK`].
    pub ack: SeqNumber,
    /// Payload bytes on the wire.
    pub payload_len: u32,
    /// The receive window in the header's field, not scaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Options.
    pub options: Options,
}

// Simulations copy segments through queues, so their size should not grow by accident.
const _: () = assert!(size_of::<Segment>() <= 80);

impl Segment {
    /// The TCP header's length with options and padding, in bytes: 20 to 60.
    #[inline]
    pub const fn header_len(&self) -> u32 {
        TCP_HEADER_LEN + self.options.encoded_len()
    }

    /// The sequence space occupied: payload bytes, one for a SYN, one for a FIN (RFC 9293 §3.4).
    #[inline]
    pub const fn sequence_len(&self) -> u32 {
        self.payload_len.saturating_add(self.flags.sequence_len())
    }

    /// Whether it is an ACK without payload, SYN, FIN or RST.
    #[inline]
    pub const fn is_pure_ack(&self) -> bool {
        const OTHERWISE: Flags = Flags::SYN.union(Flags::FIN).union(Flags::RST);
        self.flags.contains(Flags::ACK) && !self.flags.intersects(OTHERWISE) && self.payload_len == 0
    }
}

impl fmt::Display for Segment {
    /// Similar to tcpdump: `[P.], seq 1:1449, ack 1, win 229, length 1448`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, seq {}", self.flags, self.seq)?;
        if self.sequence_len() > 0 {
            write!(f, ":{}", self.seq + self.sequence_len())?;
        }
        if self.flags.contains(Flags::ACK) {
            write!(f, ", ack {}", self.ack)?;
        }
        write!(f, ", win {}", self.window)?;
        if self.options != Options::NONE {
            write!(f, ", options [{}]", self.options)?;
        }
        write!(f, ", length {}", self.payload_len)
    }
}

/// The version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpVersion {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

impl IpVersion {
    /// The IP header's length in bytes, without options or extension headers.
    #[inline]
    pub const fn header_len(self) -> u32 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

/// The whole packet's length in bytes: IP header, TCP header with options, payload.
#[inline]
pub const fn ip_len(segment: &Segment, version: IpVersion) -> u32 {
    (version.header_len() + segment.header_len()).saturating_add(segment.payload_len)
}

#[cfg(test)]
mod tests;
