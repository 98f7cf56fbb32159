//! Packets, as far as a path needs to know them.

use recoup_units::FlowId;

/// Something that travels a [`Chain`](crate::Chain).
///
/// Its answers must not change while the packet is inside the chain, except through
/// [`corrupt`](Self::corrupt).
pub trait Packet: Sized + Clone {
    /// The connection the packet belongs to; both directions share one.
    fn flow(&self) -> FlowId;

    /// Length on the link in bytes, IP header included.
    fn ip_len(&self) -> u32;

    /// The fields of the TCP header that hops use; `None` if the packet is not TCP. Positional loss rules
    /// never match a packet without it; random loss and queues treat all packets alike.
    fn tcp(&self) -> Option<TcpFacts>;

    /// Its number among the packets of its flow that enter the chain, from 0. `None`: the chain counts.
    fn ordinal(&self) -> Option<u64> {
        None
    }

    /// Whether its ends understand a mark in the IP header (ECN-Capable Transport, RFC 3168 §5).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Marks the packet: it experienced congestion (RFC 3168 §5).
    fn mark(&mut self) {}

    /// Notes that the packet waited this long, in nanoseconds, in a queue before its transmission began. Called once
    /// for each queue with a rate or a recorded link behind it.
    fn waited(&mut self, _nanos: u64) {}

    /// Damages the packet. `draw`, uniform over 64 bits, chooses where.
    fn corrupt(&mut self, draw: u64);
}

/// The parts of a TCP segment that loss rules and ACK thinning use.
///
/// A pure ACK is a segment with neither payload nor SYN, FIN or RST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFacts {
    /// The sequence number as on the wire (RFC 9293 §3.1): of the SYN if `syn`, else of the first
    /// payload byte.
    pub seq: u32,
    /// Payload bytes.
    pub payload_len: u32,
    /// SYN is set.
    pub syn: bool,
    /// FIN is set.
    pub fin: bool,
    /// RST is set.
    pub rst: bool,
    /// The acknowledgment number as on the wire, if ACK is set.
    pub ack: Option<u32>,
    /// There are SACK blocks.
    pub sack: bool,
}

impl TcpFacts {
    /// Whether the segment is a pure ACK.
    pub const fn is_pure_ack(self) -> bool {
        self.payload_len == 0 && !self.syn && !self.fin && !self.rst
    }
}
