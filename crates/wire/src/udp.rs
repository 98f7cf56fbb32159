//! UDP datagrams (RFC 768), to and from IP packets.

use std::net::SocketAddr;
use std::ops::Range;

use etherparse::{IpNumber, err::ip::LaxHeaderSliceError};
use thiserror::Error;

use crate::checksum::{Checksum, pseudo_header};
use crate::ip::{HeaderError, IpHeader, encode_ip};
use crate::{Ecn, EncodeError, Endpoints, IpFields, IpVersion};

/// The length of a UDP header in bytes.
pub const UDP_HEADER_LEN: u32 = 8;

/// The position of the checksum in a UDP header, in bytes from its start (RFC 768).
pub const UDP_CHECKSUM_OFFSET: u16 = 6;

const HEADER: usize = UDP_HEADER_LEN as usize;
const CHECKSUM_FIELD: Range<usize> = 6..8;
const UDP: u8 = IpNumber::UDP.0;

/// The reason why bytes are not a packet of the protocol in question.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PacketError {
    /// There is no IPv4 or IPv6 header.
    #[error("IP header: {0}")]
    Ip(#[source] LaxHeaderSliceError),
    /// The packet carries something else.
    #[error("IP protocol {found}: {expected} expected")]
    Protocol {
        /// Its protocol number.
        found: u8,
        /// The protocol number expected.
        expected: u8,
    },
    /// The packet is a fragment.
    #[error("IP fragment: a whole packet expected")]
    Fragment,
    /// The bytes end within the header of the protocol.
    #[error("header: {0} bytes there, 8 expected")]
    Cut(usize),
    /// The length field of UDP is impossible.
    #[error("UDP length {says}: 8 to {available} bytes expected")]
    Length {
        /// The length of header and data in the field, in bytes.
        says: u16,
        /// Bytes the IP packet has for them.
        available: usize,
    },
}

/// A decoded UDP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedUdp {
    /// Addresses and ports. A source port of 0 means that no answer is expected.
    pub endpoints: Endpoints,
    /// The position of the data in the packet, as far as it is there.
    pub payload: Range<usize>,
    /// The length of the data by the UDP header, in bytes.
    pub payload_len: usize,
    /// The result of checking the checksum; `None` if the sender computed none, which is an error over IPv6.
    pub checksum: Option<Checksum>,
    /// Whether the IPv4 header's checksum is correct; always true over IPv6, which has none.
    pub ip_checksum_ok: bool,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

impl DecodedUdp {
    /// Whether a receiver may take it: nothing is missing, and no checksum is wrong. Over IPv6 there must be one
    /// (RFC 8200 §8.1).
    pub fn is_sound(&self) -> bool {
        let may_lack = self.endpoints.ip_version() == Some(IpVersion::V4);
        let checksum = self.checksum.map_or(may_lack, |checksum| checksum == Checksum::Correct);
        checksum && self.ip_checksum_ok && self.payload.len() == self.payload_len
    }
}

/// Decodes an IP packet that carries UDP.
///
/// Bytes of the IP packet behind the length of the UDP header are ignored. Wrong checksums are not errors; the result
/// reports them.
///
/// # Errors
/// When there is no UDP header to read.
pub fn decode_udp(packet: &[u8]) -> Result<DecodedUdp, PacketError> {
    let ip = IpHeader::read(packet, IpNumber::UDP)?;
    let bytes = packet.get(ip.payload.clone()).unwrap_or_default();
    let &[a, b, c, d, e, f, g, h] = bytes.first_chunk().ok_or(PacketError::Cut(bytes.len()))?;
    let says = u16::from_be_bytes([e, f]);
    let len = usize::from(says);
    if len < HEADER || len > ip.on_wire {
        return Err(PacketError::Length { says, available: ip.on_wire });
    }
    let field = u16::from_be_bytes([g, h]);
    let datagram = &bytes[..len.min(bytes.len())];
    let checksum = match field {
        0 => None,
        _ if datagram.len() < len => Some(Checksum::Unverifiable),
        _ => Some(Checksum::judge(pseudo_header(ip.src, ip.dst, len, UDP), datagram, field)),
    };
    let port = |high, low| u16::from_be_bytes([high, low]);
    Ok(DecodedUdp {
        endpoints: Endpoints { src: SocketAddr::new(ip.src, port(a, b)), dst: SocketAddr::new(ip.dst, port(c, d)) },
        payload: ip.payload.start + HEADER..ip.payload.start + datagram.len(),
        payload_len: len - HEADER,
        checksum,
        ip_checksum_ok: ip.checksum_ok,
        ecn: ip.ecn,
    })
}

/// Appends the IP packet that carries `payload` in a UDP datagram to `out`, with correct checksums.
///
/// # Errors
/// When no packet can carry it. `out` is then unchanged.
pub fn encode_udp(
    endpoints: &Endpoints,
    ip: impl Into<IpFields>,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let at = headers(endpoints, ip.into(), payload.len(), out)?;
    out.extend_from_slice(payload);
    let udp = &mut out[at..];
    let (src, dst) = (endpoints.src.ip(), endpoints.dst.ip());
    let checksum = match pseudo_header(src, dst, udp.len(), UDP).plus(udp).checksum() {
        // 0 would mean that there is none (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    udp[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Appends the headers of the IP packet that carries `payload_len` bytes in a UDP datagram to `out`.
///
/// The checksum is left to be completed, for example by hardware: its field holds the sum of the pseudo-header alone.
/// See [`complete_checksum`].
///
/// # Errors
/// When no packet can carry as much. `out` is then unchanged.
///
/// [`complete_checksum`]: crate::complete_checksum
pub fn encode_udp_headers(
    endpoints: &Endpoints,
    ip: impl Into<IpFields>,
    payload_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let at = headers(endpoints, ip.into(), payload_len, out)?;
    let (src, dst) = (endpoints.src.ip(), endpoints.dst.ip());
    let sum = !pseudo_header(src, dst, HEADER + payload_len, UDP).checksum();
    out[at..][CHECKSUM_FIELD].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// Appends both headers, with a checksum of 0, and says where the UDP header begins.
fn headers(endpoints: &Endpoints, ip: IpFields, payload_len: usize, out: &mut Vec<u8>) -> Result<usize, EncodeError> {
    let len = payload_len.saturating_add(HEADER);
    let ends = (endpoints.src.ip(), endpoints.dst.ip());
    encode_ip(ends, IpNumber::UDP, len, ip, out).map_err(|error| match error {
        HeaderError::MixedVersions => EncodeError::MixedFamilies(*endpoints),
        HeaderError::TooLong(version) => {
            let len = len.saturating_add(version.header_len() as usize);
            EncodeError::TooLong { len: u32::try_from(len).unwrap_or(u32::MAX), version }
        }
    })?;
    let at = out.len();
    out.extend(endpoints.src.port().to_be_bytes());
    out.extend(endpoints.dst.port().to_be_bytes());
    // It fits: the IP header, which counts at least as much, did.
    out.extend((len as u16).to_be_bytes());
    out.extend([0; 2]);
    Ok(at)
}

#[cfg(test)]
mod tests;
