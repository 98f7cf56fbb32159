//! Messages of ICMP (RFC 792) and ICMPv6 (RFC 4443), to and from IP packets.
//!
//! The IP version of the addresses decides which protocol is meant. Messages about an error quote the packet they are
//! about. A length field of RFC 4884 ends the quoted packet; what stands behind it is not read.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use etherparse::IpNumber;

use crate::ip::{HeaderError, IpHeader, encode_ip};
use crate::{
    Checksum, Ecn, EncodeError, Endpoints, Fragment, IpFields, IpVersion, PacketError, SeqNumber, Sum, ip_payload,
    pseudo_header,
};

/// The part of a message in front of its data or of the packet it quotes, in bytes.
pub const ICMP_HEADER_LEN: u32 = 8;

const HEADER: usize = ICMP_HEADER_LEN as usize;
const CHECKSUM_FIELD: Range<usize> = 2..4;
/// The longest message about an error over IPv4, IP header included, in bytes (RFC 1812 §4.3.2.3).
const LONGEST_ERROR_V4: usize = 576;
/// The longest message about an error over IPv6, IP header included, in bytes (RFC 4443 §2.4 c).
const LONGEST_ERROR_V6: usize = 1280;

/// A message without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IcmpMessage {
    /// Asks for an echo of its data.
    EchoRequest {
        /// Identifies the sender.
        identifier: u16,
        /// Identifies the request.
        sequence: u16,
    },
    /// The echo, with the request's fields and data.
    EchoReply {
        /// As in the request.
        identifier: u16,
        /// As in the request.
        sequence: u16,
    },
    /// The packet did not reach its destination, for another reason than its length.
    Unreachable {
        /// The reason, whose numbers differ by IP version; see [`Unreachable`].
        code: u8,
    },
    /// The packet is too long for a link: "packet too big" (RFC 4443 §3.2), and "fragmentation needed" (RFC 1191 §4).
    TooBig {
        /// Bytes the link takes in a packet. 0 if an IPv4 router does not say (RFC 1191 §5).
        mtu: u32,
    },
    /// The packet's time to live or hop limit was used up (code 0), or a fragment of it did not come (code 1).
    TimeExceeded {
        /// Which of the two.
        code: u8,
    },
    /// There is something wrong with a header of the packet.
    ParameterProblem {
        /// What is wrong; numbers differ by IP version.
        code: u8,
        /// The position in the quoted packet. Over IPv4 its low 8 bits are sent.
        pointer: u32,
    },
    /// Another message.
    Other {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
        /// The four bytes behind the checksum.
        rest: [u8; 4],
    },
}

/// Why a peer cannot be reached, by the "destination unreachable" messages of ICMP (RFC 792, RFC 1122 §3.2.2.1, RFC 1812
/// §5.2.7.1) and ICMPv6 (RFC 4443 §3.1): the codes that mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unreachable {
    /// No route to the network: IPv4 codes 0, 6, 8 and 11; IPv6 code 0.
    Net,
    /// The host does not answer, or is not known: IPv4 codes 1, 5, 7 and 12; IPv6 codes 2 and 3.
    Host,
    /// The host does not have the protocol: IPv4 code 2; IPv6 "parameter problem" code 1.
    Protocol,
    /// Nobody listens at the port: IPv4 code 3; IPv6 code 4.
    Port,
    /// A firewall or a policy forbids it: IPv4 codes 9, 10 and 13 to 15; IPv6 codes 1, 5 and 6.
    Prohibited,
}

impl Unreachable {
    /// The meaning of the code of a message; `None` if it has none of these.
    pub const fn of_code(version: IpVersion, code: u8) -> Option<Self> {
        Some(match (version, code) {
            (IpVersion::V4, 0 | 6 | 8 | 11) | (IpVersion::V6, 0) => Self::Net,
            (IpVersion::V4, 1 | 5 | 7 | 12) | (IpVersion::V6, 2 | 3) => Self::Host,
            (IpVersion::V4, 2) => Self::Protocol,
            (IpVersion::V4, 3) | (IpVersion::V6, 4) => Self::Port,
            (IpVersion::V4, 9 | 10 | 13..=15) | (IpVersion::V6, 1 | 5 | 6) => Self::Prohibited,
            _ => return None,
        })
    }

    /// The message that says this. ICMPv6 says that a protocol is unknown by a parameter problem, which needs the
    /// position of its number (RFC 4443 §3.4): here that of a packet without extension headers.
    pub const fn message(self, version: IpVersion) -> IcmpMessage {
        let code = match (version, self) {
            (IpVersion::V6, Self::Protocol) => return IcmpMessage::ParameterProblem { code: 1, pointer: 6 },
            (_, Self::Net) => 0,
            (IpVersion::V4, Self::Host) => 1,
            (IpVersion::V4, Self::Protocol) => 2,
            (IpVersion::V4, Self::Port) => 3,
            (IpVersion::V4, Self::Prohibited) => 13,
            (IpVersion::V6, Self::Prohibited) => 1,
            (IpVersion::V6, Self::Host) => 3,
            (IpVersion::V6, Self::Port) => 4,
        };
        IcmpMessage::Unreachable { code }
    }

    /// Whether the path may be at fault, and not the peer or a policy: such a path may come back at any moment.
    pub const fn is_of_path(self) -> bool {
        matches!(self, Self::Net | Self::Host)
    }
}

impl IcmpMessage {
    /// Reads the first eight bytes of a message.
    fn read(version: IpVersion, &[kind, code, _, _, a, b, c, d]: &[u8; HEADER]) -> Self {
        let (identifier, sequence) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        match (version, kind, code) {
            (IpVersion::V4, 8, 0) | (IpVersion::V6, 128, 0) => Self::EchoRequest { identifier, sequence },
            (IpVersion::V4, 0, 0) | (IpVersion::V6, 129, 0) => Self::EchoReply { identifier, sequence },
            (IpVersion::V4, 3, 4) => Self::TooBig { mtu: sequence.into() },
            (IpVersion::V6, 2, _) => Self::TooBig { mtu: u32::from_be_bytes([a, b, c, d]) },
            (IpVersion::V4, 3, _) | (IpVersion::V6, 1, _) => Self::Unreachable { code },
            (IpVersion::V4, 11, _) | (IpVersion::V6, 3, _) => Self::TimeExceeded { code },
            (IpVersion::V4, 12, _) => Self::ParameterProblem { code, pointer: a.into() },
            (IpVersion::V6, 4, _) => Self::ParameterProblem { code, pointer: u32::from_be_bytes([a, b, c, d]) },
            _ => Self::Other { kind, code, rest: [a, b, c, d] },
        }
    }

    /// The first eight bytes, with a checksum of 0.
    fn header(self, version: IpVersion) -> [u8; HEADER] {
        let v6 = version == IpVersion::V6;
        let of = |v4_kind, v6_kind| if v6 { v6_kind } else { v4_kind };
        let pair = |[a, b]: [u8; 2], [c, d]: [u8; 2]| [a, b, c, d];
        let (kind, code, rest) = match self {
            Self::EchoRequest { identifier, sequence } => {
                (of(8, 128), 0, pair(identifier.to_be_bytes(), sequence.to_be_bytes()))
            }
            Self::EchoReply { identifier, sequence } => {
                (of(0, 129), 0, pair(identifier.to_be_bytes(), sequence.to_be_bytes()))
            }
            Self::Unreachable { code } => (of(3, 1), code, [0; 4]),
            Self::TooBig { mtu } if v6 => (2, 0, mtu.to_be_bytes()),
            Self::TooBig { mtu } => (3, 4, u32::from(u16::try_from(mtu).unwrap_or(u16::MAX)).to_be_bytes()),
            Self::TimeExceeded { code } => (of(11, 3), code, [0; 4]),
            Self::ParameterProblem { code, pointer } if v6 => (4, code, pointer.to_be_bytes()),
            Self::ParameterProblem { code, pointer } => (12, code, [pointer as u8, 0, 0, 0]),
            Self::Other { kind, code, rest } => (kind, code, rest),
        };
        let [a, b, c, d] = rest;
        [kind, code, 0, 0, a, b, c, d]
    }

    /// Whether it is about a packet that it quotes. Nothing that concerns it may be answered by another one (RFC 1122
    /// §3.2.2, RFC 4443 §2.4 e). Of other messages, ICMPv6 says by the type (RFC 4443 §2.1), ICMP by a list: source
    /// quench and redirect (RFC 792).
    pub const fn is_error(self, version: IpVersion) -> bool {
        match (version, self) {
            (_, Self::EchoRequest { .. } | Self::EchoReply { .. }) => false,
            (IpVersion::V4, Self::Other { kind, .. }) => matches!(kind, 4 | 5),
            // A redirect is no error by its type, but one for this rule (RFC 4443 §2.4 e.2).
            (IpVersion::V6, Self::Other { kind, .. }) => kind < 128 || kind == 137,
            _ => true,
        }
    }
}

/// A decoded packet of ICMP or ICMPv6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedIcmp {
    /// The sender.
    pub src: IpAddr,
    /// The receiver.
    pub dst: IpAddr,
    /// The message.
    pub message: IcmpMessage,
    /// The position in the packet of the message's data, or of the packet it quotes, as far as it is there.
    pub data: Range<usize>,
    /// The result of checking the message's checksum.
    pub checksum: Checksum,
    /// Whether the IPv4 header's checksum is correct; always true over IPv6, which has none.
    pub ip_checksum_ok: bool,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

impl DecodedIcmp {
    /// The IP version.
    pub const fn version(&self) -> IpVersion {
        version_of(self.src)
    }

    /// The packet that the message is about, if it is about one. `packet` is what was decoded.
    pub fn quoted(&self, packet: &[u8]) -> Option<Quoted> {
        if !self.message.is_error(self.version()) {
            return None;
        }
        quoted(packet.get(self.data.clone())?)
    }
}

const fn version_of(ip: IpAddr) -> IpVersion {
    match ip {
        IpAddr::V4(_) => IpVersion::V4,
        IpAddr::V6(_) => IpVersion::V6,
    }
}

/// What a message says about the packet it quotes. An attacker can make it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quoted {
    /// The sender of the packet.
    pub src: IpAddr,
    /// Its receiver.
    pub dst: IpAddr,
    /// What it carried.
    pub carried: QuotedHeader,
}

/// The beginning of what a quoted packet carried: its first eight bytes at least (RFC 792).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuotedHeader {
    /// A TCP segment.
    Tcp {
        /// Its ends: `src` sent it.
        endpoints: Endpoints,
        /// Its sequence number.
        seq: SeqNumber,
    },
    /// A UDP datagram with these ends: `src` sent it.
    Udp(Endpoints),
    /// An echo request.
    EchoRequest {
        /// Identifies the sender.
        identifier: u16,
        /// Identifies the request.
        sequence: u16,
    },
    /// Something else, a later fragment, or too little of it.
    Other {
        /// The protocol number.
        protocol: u8,
    },
}

/// Reads the beginning of a packet that was cut anywhere.
fn quoted(packet: &[u8]) -> Option<Quoted> {
    let ip = ip_payload(packet, packet.len()).ok()?;
    let at = |at, len| packet.get(at..at + len);
    let (src, dst): (IpAddr, IpAddr) = match packet.first()? >> 4 {
        4 => (v4(at(12, 4)?)?, v4(at(16, 4)?)?),
        _ => (v6(at(8, 16)?)?, v6(at(24, 16)?)?),
    };
    let bytes = packet.get(ip.captured).unwrap_or_default();
    let other = QuotedHeader::Other { protocol: ip.protocol };
    let begins = ip.fragment != Some(Fragment::Later);
    let carried = match bytes.first_chunk::<HEADER>() {
        Some(first @ &[a, b, c, d, e, f, g, h]) if begins => {
            let port = |high, low| u16::from_be_bytes([high, low]);
            let endpoints = Endpoints { src: SocketAddr::new(src, port(a, b)), dst: SocketAddr::new(dst, port(c, d)) };
            match (IpNumber(ip.protocol), src) {
                (IpNumber::TCP, _) => QuotedHeader::Tcp { endpoints, seq: SeqNumber(u32::from_be_bytes([e, f, g, h])) },
                (IpNumber::UDP, _) => QuotedHeader::Udp(endpoints),
                (IpNumber::ICMP, IpAddr::V4(_)) | (IpNumber::IPV6_ICMP, IpAddr::V6(_)) => {
                    match IcmpMessage::read(version_of(src), first) {
                        IcmpMessage::EchoRequest { identifier, sequence } => {
                            QuotedHeader::EchoRequest { identifier, sequence }
                        }
                        _ => other,
                    }
                }
                _ => other,
            }
        }
        _ => other,
    };
    Some(Quoted { src, dst, carried })
}

fn v4(octets: &[u8]) -> Option<IpAddr> {
    Some(<[u8; 4]>::try_from(octets).ok()?.into())
}

fn v6(octets: &[u8]) -> Option<IpAddr> {
    Some(<[u8; 16]>::try_from(octets).ok()?.into())
}

/// The protocol of messages of this IP version.
const fn protocol(version: IpVersion) -> IpNumber {
    match version {
        IpVersion::V4 => IpNumber::ICMP,
        IpVersion::V6 => IpNumber::IPV6_ICMP,
    }
}

/// The sum of what a checksum covers in front of the message: over IPv6 the pseudo-header (RFC 4443 §2.3).
fn pseudo_of(src: IpAddr, dst: IpAddr, len: usize) -> Sum {
    match version_of(src) {
        IpVersion::V4 => Sum::default(),
        IpVersion::V6 => pseudo_header(src, dst, len, IpNumber::IPV6_ICMP.0),
    }
}

/// Decodes an IP packet that carries ICMP or ICMPv6. Wrong checksums are not errors; the result reports them.
///
/// # Errors
/// When there is no message to read.
pub fn decode_icmp(packet: &[u8]) -> Result<DecodedIcmp, PacketError> {
    let version = match packet.first() {
        Some(first) if first >> 4 == 6 => IpVersion::V6,
        _ => IpVersion::V4,
    };
    let ip = IpHeader::read(packet, protocol(version))?;
    let bytes = packet.get(ip.payload.clone()).unwrap_or_default();
    let header: &[u8; HEADER] = bytes.first_chunk().ok_or(PacketError::Cut(bytes.len()))?;
    let message = IcmpMessage::read(version, header);
    let checksum = if bytes.len() < ip.on_wire {
        Checksum::Unverifiable
    } else if pseudo_of(ip.src, ip.dst, bytes.len()).plus(bytes).checksum() == 0 {
        Checksum::Correct
    } else {
        Checksum::Wrong
    };
    let mut data = ip.payload.start + HEADER..ip.payload.end;
    // RFC 4884 §4: the length of the quoted packet, in words of 4 bytes over IPv4 and of 8 over IPv6. Senders that do
    // not know of it leave 0, and one that is beyond the message means nothing.
    let quoted_len = match (version, message) {
        (IpVersion::V4, IcmpMessage::Unreachable { .. } | IcmpMessage::TimeExceeded { .. })
        | (IpVersion::V4, IcmpMessage::ParameterProblem { .. } | IcmpMessage::TooBig { .. }) => {
            4 * usize::from(header[5])
        }
        (IpVersion::V6, IcmpMessage::Unreachable { .. } | IcmpMessage::TimeExceeded { .. }) => {
            8 * usize::from(header[4])
        }
        _ => 0,
    };
    if quoted_len > 0 && quoted_len < data.len() {
        data.end = data.start + quoted_len;
    }
    Ok(DecodedIcmp { src: ip.src, dst: ip.dst, message, data, checksum, ip_checksum_ok: ip.checksum_ok, ecn: ip.ecn })
}

/// Appends the IP packet that carries a message and `data` behind it to `out`, with correct checksums.
///
/// Of a packet quoted by a message about an error, [`quotable`] gives the part to quote.
///
/// # Errors
/// When no packet can carry it. `out` is then unchanged.
pub fn encode_icmp(
    src: IpAddr,
    dst: IpAddr,
    ip: impl Into<IpFields>,
    message: IcmpMessage,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let version = version_of(src);
    let len = HEADER.saturating_add(data.len());
    encode_ip((src, dst), protocol(version), len, ip.into(), out).map_err(|error| match error {
        HeaderError::MixedVersions => {
            EncodeError::MixedFamilies(Endpoints { src: SocketAddr::new(src, 0), dst: SocketAddr::new(dst, 0) })
        }
        HeaderError::TooLong(version) => {
            let len = len.saturating_add(version.header_len() as usize);
            EncodeError::TooLong { len: u32::try_from(len).unwrap_or(u32::MAX), version }
        }
    })?;
    let at = out.len();
    out.extend(message.header(version));
    out.extend_from_slice(data);
    let bytes = &mut out[at..];
    let checksum = pseudo_of(src, dst, bytes.len()).plus(bytes).checksum();
    bytes[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// As much of an IP packet as a message about it quotes: the message's packet is then at most 576 bytes long over IPv4
/// (RFC 1812 §4.3.2.3), and 1280 over IPv6 (RFC 4443 §2.4 c).
pub fn quotable(packet: &[u8]) -> &[u8] {
    let most = match packet.first() {
        Some(first) if first >> 4 == 6 => LONGEST_ERROR_V6 - IpVersion::V6.header_len() as usize - HEADER,
        _ => LONGEST_ERROR_V4 - IpVersion::V4.header_len() as usize - HEADER,
    };
    &packet[..most.min(packet.len())]
}

#[cfg(test)]
mod tests;
