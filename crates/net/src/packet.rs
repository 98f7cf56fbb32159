//! IP packets as a path carries them.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
};

use recoup_path::{self as path, TcpFacts};
use recoup_units::{FlowId, Instant};
use recoup_wire::{Ecn, Flags, SackBlocks, decode_unverified};

use crate::VnetHeader;

/// A packet in a buffer of the pool, which may be longer than the packet.
#[derive(Clone, Debug)]
pub(crate) struct RelayedPacket {
    pub buffer: Vec<u8>,
    pub len: usize,
    /// The work left to the receiver, on devices with offloads.
    pub header: VnetHeader,
    /// Its number in its direction, from 1; copies have their original's.
    pub number: u64,
    pub arrival: Instant,
    pub flow: FlowId,
    pub tcp: Option<Tcp>,
    /// Whether the path damaged it.
    pub damaged: bool,
}

/// The TCP header fields that records and loss rules use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgment number.
    pub ack: u32,
    /// Payload bytes.
    pub payload_len: u32,
    /// The flags.
    pub flags: Flags,
    /// The SACK blocks.
    pub sack: SackBlocks,
}

impl RelayedPacket {
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl path::Packet for RelayedPacket {
    fn flow(&self) -> FlowId {
        self.flow
    }

    fn ip_len(&self) -> u32 {
        self.len as u32
    }

    fn tcp(&self) -> Option<TcpFacts> {
        let tcp = self.tcp?;
        let has = |flag| tcp.flags.contains(flag);
        Some(TcpFacts {
            seq: tcp.seq,
            payload_len: tcp.payload_len,
            syn: has(Flags::SYN),
            fin: has(Flags::FIN),
            rst: has(Flags::RST),
            ack: has(Flags::ACK).then_some(tcp.ack),
            sack: !tcp.sack.is_empty(),
        })
    }

    /// Flips a bit behind the IP header, so that a checksum detects it.
    fn corrupt(&mut self, draw: u64) {
        let header = ip_header_len(self.bytes()).min(self.len);
        let bits = 8 * (self.len - header) as u64;
        if bits > 0 {
            let bit = draw % bits;
            self.buffer[header + (bit / 8) as usize] ^= 1 << (bit % 8);
            self.damaged = true;
        }
    }

    fn is_ecn_capable(&self) -> bool {
        ecn(self.bytes()).is_capable()
    }

    fn mark(&mut self) {
        let len = self.len;
        mark(&mut self.buffer[..len]);
    }
}

/// The ECN field of an IP packet (RFC 3168 §5): in IPv6, the traffic class stands across the first two bytes.
fn ecn(packet: &[u8]) -> Ecn {
    match *packet {
        [version, second, ..] if version >> 4 == 6 => Ecn::from_ip(second >> 4),
        [_, service, ..] => Ecn::from_ip(service),
        _ => Ecn::NONE,
    }
}

/// Sets the field to "congestion experienced". In IPv4 the header's checksum changes with it (RFC 1624 §3, eqn. 3).
fn mark(packet: &mut [u8]) {
    match packet {
        [version, second, ..] if *version >> 4 == 6 => *second |= 0b11 << 4,
        [_, service, _, _, _, _, _, _, _, _, high, low, ..] => {
            let added = u32::from(!*service & 0b11);
            *service |= 0b11;
            // The complement of the sum goes down by what the header's word went up.
            let sum = u32::from(!u16::from_be_bytes([*high, *low])) + added;
            let folded = (sum & 0xffff) + (sum >> 16);
            [*high, *low] = (!(folded as u16)).to_be_bytes();
        }
        _ => {}
    }
}

/// The length of the IP header without extension headers, in bytes.
fn ip_header_len(packet: &[u8]) -> usize {
    match packet.first() {
        Some(first) if first >> 4 == 6 => 40,
        Some(first) => 4 * usize::from(first & 15),
        None => 0,
    }
}

/// Whether the packet is for its own link only (RFC 4291 §2.7, RFC 5771 §4). No router forwards these
/// packets, so the path does not carry them.
pub(crate) fn is_link_local(packet: &[u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(6) => {
            let destination = packet.get(24..26);
            // Multicast of link-local scope, and link-local addresses.
            destination.is_some_and(|d| (d[0] == 0xff && d[1] & 15 == 2) || (d[0] == 0xfe && d[1] & 0xc0 == 0x80))
        }
        _ => packet.get(16..19).is_some_and(|d| d == [224, 0, 0]),
    }
}

/// The packet's destination, if it is long enough to have one.
pub(crate) fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        6 => Some(packet.get(24..)?.first_chunk::<16>().copied()?.into()),
        _ => Some(packet.get(16..)?.first_chunk::<4>().copied()?.into()),
    }
}

/// The most TCP connections that are distinguished. Each of the two chains keeps about 150 bytes per
/// connection; this bounds both to 100 MB.
const MOST_CONNECTIONS: u64 = 1 << 18;

/// The flow of all packets that belong to no TCP connection, or to one beyond [`MOST_CONNECTIONS`].
const OTHERS: FlowId = FlowId(u64::MAX);

/// The connections seen so far, numbered from 0 in the order of their first packets.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    by_ends: HashMap<[SocketAddr; 2], Connection>,
    first: u64,
    next: u64,
    /// Connections without a SYN are not numbered.
    from_syn: bool,
}

#[derive(Debug)]
struct Connection {
    flow: FlowId,
    /// The client's initial sequence number, once its SYN was seen.
    isn: Option<u32>,
}

impl Connections {
    /// Numbers connections from `first` instead of 0, and only those that begin with a SYN, so that late
    /// packets of earlier connections take no number.
    pub const fn count_from(&mut self, first: FlowId) {
        (self.first, self.next) = (first.0, first.0);
        self.from_syn = true;
    }

    /// The flow of a packet, and its TCP header if it has one.
    pub fn classify(&mut self, packet: &[u8]) -> (FlowId, Option<Tcp>) {
        let Ok(decoded) = decode_unverified(packet) else {
            return (OTHERS, None);
        };
        let segment = decoded.segment;
        let tcp = Tcp {
            seq: segment.seq.0,
            ack: segment.ack.0,
            payload_len: segment.payload_len,
            flags: segment.flags,
            sack: segment.options.sack,
        };
        let mut ends = [decoded.endpoints.src, decoded.endpoints.dst];
        ends.sort_unstable();
        let connects = tcp.flags.contains(Flags::SYN) && !tcp.flags.contains(Flags::ACK);
        let isn = connects.then_some(tcp.seq);
        match self.by_ends.get_mut(&ends) {
            // A new connection with known addresses and ports.
            Some(known) if isn.is_some() && known.isn.is_some() && known.isn != isn => {}
            Some(known) => {
                known.isn = known.isn.or(isn);
                return (known.flow, Some(tcp));
            }
            None => {}
        }
        if self.exhausted() || (self.from_syn && isn.is_none()) {
            return (OTHERS, None);
        }
        let flow = FlowId(self.next);
        self.next += 1;
        self.by_ends.insert(ends, Connection { flow, isn });
        (flow, Some(tcp))
    }

    /// Whether there were more connections than are distinguished.
    pub const fn exhausted(&self) -> bool {
        self.next - self.first == MOST_CONNECTIONS
    }
}

#[cfg(test)]
mod tests;
