//! A TCP packet of a frame: what the guard needs of it, and its last segment as a packet of its own.

use recoup_units::Instant;
use recoup_wire::{DecodeError, Endpoints, Flags, Segment, Sum, decode_unverified, pseudo_header};
use std::net::IpAddr;
use std::ops::Range;

/// TCP's protocol number.
const TCP: u8 = 6;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;

/// A packet of a connection, as it passed an interface.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    /// When the kernel saw it.
    pub at: Instant,
    /// Whether this host sent it.
    pub outgoing: bool,
    /// The number of the interface.
    pub interface: u32,
    pub endpoints: Endpoints,
    pub segment: Segment,
    /// A reason to leave its connection alone.
    pub odd: Option<Odd>,
    /// The frame as far as it was captured, and whether that is all.
    pub frame: &'a [u8],
    pub whole: bool,
    /// Where the IP packet, the TCP header and the payload are in the frame.
    ip: usize,
    tcp: usize,
    payload: Range<usize>,
}

recoup_units::named! {
    /// Why a connection is left alone.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Odd {
        /// Its handshake was not seen from the first packet on.
        Begun = "begun_before",
        /// A SYN carries data, or asks for TCP Fast Open (RFC 7413): the copy of such a SYN is data.
        FastOpen = "fast_open",
        /// Accurate ECN counts every packet (RFC 9768), and so copies.
        AccurateEcn = "accurate_ecn",
        /// Signed segments (RFC 2385, RFC 5925).
        Signed = "signed",
        /// Multipath TCP (RFC 8684): which path repairs a loss is not this connection's choice.
        Multipath = "multipath",
        /// Options that are damaged.
        Damaged = "damaged_options",
        /// An IP packet with fragments, options or extension headers, or one that the network may fragment.
        Fragments = "fragments",
        /// Urgent data.
        Urgent = "urgent",
        /// A VLAN tag that the kernel took out of the frame.
        Tagged = "vlan_tag",
        /// The peer does not report by SACK: a copy that was not needed would draw a duplicate ACK.
        NoSack = "no_sack",
        /// Its addresses and ports belonged to another connection just before.
        Reused = "reused",
        /// Sequence numbers that do not fit what was seen, or packets that were missed.
        Unclear = "unclear",
    }
}

/// Kinds of options (IANA, TCP parameters).
mod option {
    pub const END: u8 = 0;
    pub const NOP: u8 = 1;
    pub const MD5: u8 = 19;
    pub const AO: u8 = 29;
    pub const MPTCP: u8 = 30;
    pub const FAST_OPEN: u8 = 34;
    pub const ACCURATE_ECN: [u8; 2] = [172, 174];
    /// Experiments (RFC 6994): Fast Open had one before it had a kind.
    pub const EXPERIMENT: u8 = 254;
}

impl<'a> Packet<'a> {
    /// Reads a frame whose IP packet begins at `ip`. `None` if it carries no TCP, or too little of it was captured.
    pub fn read(at: Instant, outgoing: bool, frame: &'a [u8], on_wire: usize, ip: usize) -> Option<Self> {
        let packet = frame.get(ip..)?;
        let decoded = match decode_unverified(packet) {
            Ok(decoded) => decoded,
            Err(DecodeError::Fragment) | Err(_) => return None,
        };
        let (header_len, may_be_cut) = match packet.first()? >> 4 {
            // Without options, and with Don't Fragment: no fragment has to be told from another (RFC 6864 §4.1).
            4 => (20, packet.first()? & 15 != 5 || packet.get(6)? & 0x40 == 0),
            _ => (40, packet.get(6)? != &TCP),
        };
        let segment = decoded.segment;
        let payload = ip + decoded.payload.start..ip + decoded.payload.end;
        let tcp = match may_be_cut {
            true => payload.start.checked_sub(segment.header_len() as usize)?,
            false => ip + header_len,
        };
        let options = frame.get(tcp + 20..payload.start).unwrap_or_default();
        let odd = match () {
            () if may_be_cut => Some(Odd::Fragments),
            () if !decoded.options_complete => Some(Odd::Damaged),
            () if segment.flags.contains(Flags::URG) => Some(Odd::Urgent),
            () if segment.flags.contains(Flags::SYN) && segment.payload_len > 0 => Some(Odd::FastOpen),
            () => odd_option(options).or_else(|| asks_for_accurate_ecn(frame.get(tcp + 12)?, segment.flags)),
        };
        Some(Self {
            at,
            outgoing,
            interface: 0,
            endpoints: decoded.endpoints,
            segment,
            odd,
            frame,
            whole: frame.len() == on_wire,
            ip,
            tcp,
            payload,
        })
    }

    /// The length of the IP packet that carries the last `mss` bytes of the payload at most.
    pub fn last_ip_len(&self, mss: u32) -> u32 {
        let headers = (self.payload.start - self.ip) as u32;
        headers + self.last_len(mss) as u32
    }

    /// Bytes of the last segment, if the payload is cut into segments of `mss` bytes.
    fn last_len(&self, mss: u32) -> usize {
        let (len, mss) = (self.segment.payload_len as usize, (mss as usize).max(1));
        if len == 0 { 0 } else { len - (len - 1) / mss * mss }
    }

    /// Writes the last segment of the packet as a frame into `into`: as the network card cuts the payload into segments of `mss`
    /// bytes, with its checksums, and not ECN-capable. `false` if the frame was not captured whole.
    pub fn write_last(&self, mss: u32, into: &mut Vec<u8>) -> bool {
        into.clear();
        let last = self.last_len(mss);
        let Some(end) = self.payload.start.checked_add(self.segment.payload_len as usize) else { return false };
        if !self.whole || self.odd.is_some() || end > self.frame.len() {
            return false;
        }
        let before = end - last - self.payload.start;
        into.extend_from_slice(&self.frame[..self.payload.start]);
        into.extend_from_slice(&self.frame[end - last..end]);
        let pieces = before / (mss as usize).max(1);
        let is_done = self.finish(into, before as u32, pieces as u16);
        if !is_done {
            into.clear();
        }
        is_done
    }

    /// Makes the headers right for a segment that begins `before` bytes and `pieces` segments further.
    fn finish(&self, frame: &mut [u8], before: u32, pieces: u16) -> bool {
        let (Some(ip), tcp_at) = (frame.get_mut(self.ip..), self.tcp - self.ip) else { return false };
        let len = ip.len();
        let (Ok(ip_len), Ok(tcp_len)) = (u16::try_from(len), u16::try_from(len - tcp_at)) else { return false };
        let (src, dst): (IpAddr, IpAddr) = (self.endpoints.src.ip(), self.endpoints.dst.ip());
        let put = |bytes: &mut [u8], at: usize, value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        // RFC 3168 §6.1.5: "When an ECN-capable TCP sender retransmits", the packet is not ECN-capable.
        if src.is_ipv4() {
            ip[1] &= !3;
            put(ip, 2, &ip_len.to_be_bytes());
            let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(pieces);
            put(ip, 4, &id.to_be_bytes());
            put(ip, 10, &[0, 0]);
            let sum = Sum::default().plus(&ip[..tcp_at]).checksum();
            put(ip, 10, &sum.to_be_bytes());
        } else {
            ip[1] &= !0x30;
            put(ip, 4, &tcp_len.to_be_bytes());
        }
        let tcp = &mut ip[tcp_at..];
        put(tcp, 4, &(self.segment.seq + before).0.to_be_bytes());
        tcp[13] &= !Flags::CWR.bits();
        put(tcp, 16, &[0, 0]);
        let sum = pseudo_header(src, dst, tcp.len(), TCP).plus(tcp).checksum();
        put(tcp, 16, &sum.to_be_bytes());
        true
    }

    /// The IPv4 identification; 0 over IPv6.
    #[cfg(test)]
    fn ip_id(&self) -> u16 {
        match self.endpoints.src.ip() {
            IpAddr::V4(_) => u16::from_be_bytes([self.frame[self.ip + 4], self.frame[self.ip + 5]]),
            IpAddr::V6(_) => 0,
        }
    }
}

/// The first option that is a reason to leave the connection alone.
fn odd_option(mut options: &[u8]) -> Option<Odd> {
    while let [kind, rest @ ..] = options {
        match *kind {
            option::END => return None,
            option::NOP => {
                options = rest;
                continue;
            }
            option::MD5 | option::AO => return Some(Odd::Signed),
            option::MPTCP => return Some(Odd::Multipath),
            option::FAST_OPEN | option::EXPERIMENT => return Some(Odd::FastOpen),
            kind if option::ACCURATE_ECN.contains(&kind) => return Some(Odd::AccurateEcn),
            _ => {}
        }
        let len = usize::from(*rest.first()?);
        options = options.get(len.max(2)..)?;
    }
    None
}

/// A SYN with AE, CWR and ECE asks for Accurate ECN (RFC 9768 §3.1.1). `offset` is the header's byte with AE.
fn asks_for_accurate_ecn(offset: &u8, flags: Flags) -> Option<Odd> {
    let is_syn = flags.contains(Flags::SYN) && !flags.contains(Flags::ACK);
    let asks = is_syn && offset & 1 != 0 && flags.contains(Flags::CWR) && flags.contains(Flags::ECE);
    let answers = flags.contains(Flags::SYN) && flags.contains(Flags::ACK) && offset & 1 != 0;
    (asks || answers).then_some(Odd::AccurateEcn)
}

#[cfg(test)]
mod tests;
