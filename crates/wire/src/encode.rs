//! Segments to packets.
//!
//! IPv4 (RFC 791) without options and with "don't fragment" set, as Linux sends TCP; IPv6
//! (RFC 8200) without extension headers and with flow label 0. Both with TTL or hop limit 64 and
//! traffic class 0. The urgent pointer is 0.

use std::net::IpAddr;

use etherparse::{IpNumber, Ipv4Header, Ipv6Header};
use thiserror::Error;

use crate::checksum;
use crate::{Endpoints, IpVersion, Segment, ip_len};

/// TTL or hop limit of the packets written.
const HOP_LIMIT: u8 = 64;

/// Where the checksum stands in a TCP header (RFC 9293 §3.1).
const CHECKSUM_FIELD: std::ops::Range<usize> = 16..18;

/// The bytes a segment carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes, as many as [`Segment::payload_len`] says.
    Bytes(&'a [u8]),
    /// This byte, [`Segment::payload_len`] times: for traffic whose content nobody asks about.
    Fill(u8),
}

/// Why a segment cannot be written as a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// One address is IPv4, the other IPv6.
    #[error("endpoints {0}: both addresses must be IPv4, or both IPv6")]
    MixedFamilies(Endpoints),
    /// The payload has another length than the segment says.
    #[error("payload of {given} bytes: the segment says {expected}")]
    PayloadLength {
        /// Bytes given.
        given: usize,
        /// [`Segment::payload_len`].
        expected: u32,
    },
    /// The packet would be longer than its IP length field can say.
    #[error("packet of {len} bytes: {} over {version:?} at most", max_len(*.version))]
    TooLong {
        /// The whole packet's length in bytes.
        len: u32,
        /// The IP version it was to be sent over.
        version: IpVersion,
    },
}

/// The longest packet: IPv4's length field counts its header, IPv6's does not.
const fn max_len(version: IpVersion) -> u32 {
    match version {
        IpVersion::V4 => 0xffff,
        IpVersion::V6 => IpVersion::V6.header_len() + 0xffff,
    }
}

/// Appends the IP packet that carries `segment` to `out`, with right checksums.
///
/// `ip_id` is the IPv4 identification; IPv6 has none. SACK blocks that do not fit beside the
/// other options are left out (see [`Options::sack_blocks_that_fit`]).
///
/// # Errors
/// When such a packet cannot exist; `out` is then as before.
///
/// [`Options::sack_blocks_that_fit`]: crate::Options::sack_blocks_that_fit
pub fn encode(
    segment: &Segment,
    endpoints: &Endpoints,
    ip_id: u16,
    payload: Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    check_payload(segment, payload)?;
    let (src, dst) = (endpoints.src.ip(), endpoints.dst.ip());
    ip_header(segment, endpoints, ip_id, out)?;
    let tcp_at = out.len();
    tcp_header(segment, endpoints, out);
    match payload {
        Payload::Bytes(bytes) => out.extend_from_slice(bytes),
        Payload::Fill(byte) => out.resize(out.len() + segment.payload_len as usize, byte),
    }
    let tcp = &mut out[tcp_at..];
    let checksum = checksum::of_segment(src, dst, tcp);
    tcp[CHECKSUM_FIELD].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

fn check_payload(segment: &Segment, payload: Payload<'_>) -> Result<(), EncodeError> {
    match payload {
        Payload::Bytes(bytes) if bytes.len() != segment.payload_len as usize => {
            Err(EncodeError::PayloadLength {
                given: bytes.len(),
                expected: segment.payload_len,
            })
        }
        _ => Ok(()),
    }
}

/// Appends the IP header, or nothing when there can be none.
fn ip_header(
    segment: &Segment,
    endpoints: &Endpoints,
    ip_id: u16,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let field = |counted: u32, version| {
        u16::try_from(counted).map_err(|_| EncodeError::TooLong {
            len: ip_len(segment, version),
            version,
        })
    };
    match (endpoints.src.ip(), endpoints.dst.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut header = Ipv4Header {
                total_len: field(ip_len(segment, IpVersion::V4), IpVersion::V4)?,
                identification: ip_id,
                dont_fragment: true,
                time_to_live: HOP_LIMIT,
                protocol: IpNumber::TCP,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let counted = segment.header_len().saturating_add(segment.payload_len);
            let header = Ipv6Header {
                payload_length: field(counted, IpVersion::V6)?,
                next_header: IpNumber::TCP,
                hop_limit: HOP_LIMIT,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv6Header::default()
            };
            out.extend_from_slice(&header.to_bytes());
        }
        _ => return Err(EncodeError::MixedFamilies(*endpoints)),
    }
    Ok(())
}

/// Appends the TCP header with options, its checksum still 0.
fn tcp_header(segment: &Segment, endpoints: &Endpoints, out: &mut Vec<u8>) {
    // At most 60 bytes, 15 words.
    let words = (segment.header_len() / 4) as u8;
    out.extend(endpoints.src.port().to_be_bytes());
    out.extend(endpoints.dst.port().to_be_bytes());
    out.extend(segment.seq.0.to_be_bytes());
    out.extend(segment.ack.0.to_be_bytes());
    out.extend([words << 4, segment.flags.bits()]);
    out.extend(segment.window.to_be_bytes());
    // Checksum and urgent pointer.
    out.extend([0; 4]);
    segment.options.encode(out);
}
