//! Encodes segments to packets.
//!
//! [`IpFields`] say what the IP header holds. The urgent pointer is 0.

use std::ops::Range;

use etherparse::IpNumber;
use thiserror::Error;

use crate::checksum::{self, Sum};
use crate::ip::{HeaderError, encode_ip};
use crate::{Ecn, Endpoints, Flags, IpFields, IpVersion, Segment, SeqNumber, ip_len};

/// The position of the checksum in a TCP header, in bytes from its start (RFC 9293 §3.1).
pub const TCP_CHECKSUM_OFFSET: u16 = 16;

const CHECKSUM_FIELD: Range<usize> = TCP_CHECKSUM_OFFSET as usize..TCP_CHECKSUM_OFFSET as usize + 2;

/// Fields of a TCP header (RFC 9293 §3.1), an IPv4 (RFC 791 §3.1) and an IPv6 header (RFC 8200 §3).
const SEQ_FIELD: Range<usize> = 4..8;
const FLAGS_FIELD: usize = 13;
const V4_LEN_FIELD: Range<usize> = 2..4;
const V4_ID_FIELD: Range<usize> = 4..6;
const V4_CHECKSUM_FIELD: Range<usize> = 10..12;
const V6_LEN_FIELD: Range<usize> = 4..6;

/// The payload of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes, as many as [`Segment::payload_len`] says.
    Bytes(&'a [u8]),
    /// This byte, [`Segment::payload_len`] times, for traffic whose content does not matter.
    Fill(u8),
}

/// The reason why a segment cannot be encoded as a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// One address is IPv4, the other IPv6.
    #[error("endpoints {0}: both addresses must be IPv4, or both IPv6")]
    MixedFamilies(Endpoints),
    /// The payload's length differs from the segment's.
    #[error("payload of {given} bytes: the segment says {expected}")]
    PayloadLength {
        /// Bytes given.
        given: usize,
        /// [`Segment::payload_len`].
        expected: u32,
    },
    /// The packet would be too long for its IP length field.
    #[error("packet of {len} bytes: {} over {version:?} at most", max_len(*.version))]
    TooLong {
        /// The whole packet's length in bytes.
        len: u32,
        /// The packet's IP version.
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

/// Appends the IP packet that carries `segment` to `out`, with correct checksums.
///
/// `ip` says what else the IP header holds: a number is the IPv4 identification. SACK blocks that do not fit beside the
/// other options are omitted (see [`Options::sack_blocks_that_fit`]).
///
/// # Errors
/// When no packet can carry the segment. `out` is then unchanged.
///
/// [`Options::sack_blocks_that_fit`]: crate::Options::sack_blocks_that_fit
pub fn encode(
    segment: &Segment,
    endpoints: &Endpoints,
    ip: impl Into<IpFields>,
    payload: Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    check_payload(segment, payload)?;
    let (src, dst) = (endpoints.src.ip(), endpoints.dst.ip());
    ip_header(segment, endpoints, ip.into(), out)?;
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

/// Appends the headers of the IP packet that carries `segment` to `out`, without the payload.
///
/// The checksum is left to be completed, for example by hardware: its field holds the sum of the
/// pseudo-header alone (see [`complete_checksum`]). Otherwise this is [`encode`].
///
/// # Errors
/// When no packet can carry the segment. `out` is then unchanged.
///
/// [`complete_checksum`]: crate::complete_checksum
pub fn encode_headers(
    segment: &Segment,
    endpoints: &Endpoints,
    ip: impl Into<IpFields>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    ip_header(segment, endpoints, ip.into(), out)?;
    let tcp_at = out.len();
    tcp_header(segment, endpoints, out);
    let tcp_len = (segment.header_len() + segment.payload_len) as usize;
    let sum = checksum::of_pseudo_header(endpoints.src.ip(), endpoints.dst.ip(), tcp_len);
    out[tcp_at..][CHECKSUM_FIELD].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// The common headers of segments that differ only in sequence number, flags and payload. They are
/// encoded and summed once for all these segments.
#[derive(Clone, Debug, Default)]
pub struct CommonHeaders {
    bytes: Vec<u8>,
    tcp_at: usize,
    /// The sum of the IPv4 header without length, identification and checksum.
    ip: Sum,
    /// The sum of the pseudo-header and the TCP header without length, sequence number, flags and
    /// checksum.
    tcp: Sum,
}

impl CommonHeaders {
    /// Replaces the headers by those of `segment`, all in packets with this ECN field.
    ///
    /// # Errors
    /// When no packet can carry the segment.
    pub fn set(&mut self, segment: &Segment, endpoints: &Endpoints, ecn: Ecn) -> Result<(), EncodeError> {
        let common = Segment { seq: SeqNumber(0), flags: Flags::NONE, payload_len: 0, ..*segment };
        let header = &mut self.bytes;
        header.clear();
        ip_header(&common, endpoints, IpFields::from(0).with_ecn(ecn), header)?;
        self.tcp_at = header.len();
        self.ip = Sum::default();
        if self.is_v4() {
            self.bytes[V4_LEN_FIELD].fill(0);
            self.bytes[V4_CHECKSUM_FIELD].fill(0);
            self.ip = self.ip.plus(&self.bytes);
        }
        tcp_header(&common, endpoints, &mut self.bytes);
        let (src, dst) = (endpoints.src.ip(), endpoints.dst.ip());
        self.tcp = checksum::pseudo_header(src, dst, 0, checksum::TCP).plus(&self.bytes[self.tcp_at..]);
        Ok(())
    }

    fn is_v4(&self) -> bool {
        self.tcp_at == IpVersion::V4.header_len() as usize
    }

    /// Appends the packet that carries `payload`, given in two parts, to `out`, with correct checksums.
    /// The packet is the one that [`encode`] makes for a segment with this sequence number and flags.
    ///
    /// # Errors
    /// When no packet can carry the payload. `out` is then unchanged.
    pub fn encode(
        &self,
        seq: SeqNumber,
        flags: Flags,
        ip_id: u16,
        payload: [&[u8]; 2],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        self.encode_headers(seq, flags, ip_id, payload, out)?;
        payload.into_iter().for_each(|part| out.extend_from_slice(part));
        Ok(())
    }

    /// Appends the headers of the packet that [`encode`](Self::encode) makes, behind which the payload belongs.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_headers(
        &self,
        seq: SeqNumber,
        flags: Flags,
        ip_id: u16,
        payload: [&[u8]; 2],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let [front, back] = payload;
        let len = self.bytes.len() + front.len() + back.len();
        let version = match self.is_v4() {
            true => IpVersion::V4,
            false => IpVersion::V6,
        };
        if len > max_len(version) as usize {
            let len = u32::try_from(len).unwrap_or(u32::MAX);
            return Err(EncodeError::TooLong { len, version });
        }
        // The lengths fit in their fields, as checked above.
        let tcp_len = len - self.tcp_at;
        let at = out.len();
        out.extend_from_slice(&self.bytes);
        let (ip, tcp) = out[at..].split_at_mut(self.tcp_at);
        match version {
            IpVersion::V4 => {
                let sum = self.ip.add_word(len as u16).add_word(ip_id);
                ip[V4_LEN_FIELD].copy_from_slice(&(len as u16).to_be_bytes());
                ip[V4_ID_FIELD].copy_from_slice(&ip_id.to_be_bytes());
                ip[V4_CHECKSUM_FIELD].copy_from_slice(&sum.checksum().to_be_bytes());
            }
            IpVersion::V6 => ip[V6_LEN_FIELD].copy_from_slice(&(tcp_len as u16).to_be_bytes()),
        }
        tcp[SEQ_FIELD].copy_from_slice(&seq.0.to_be_bytes());
        tcp[FLAGS_FIELD] = flags.bits();
        let sum = self.tcp.add_word(tcp_len as u16);
        let sum = sum.add_word((seq.0 >> 16) as u16).add_word(seq.0 as u16);
        let sum = sum.add_word(flags.bits().into()).plus(front).plus(back);
        tcp[CHECKSUM_FIELD].copy_from_slice(&sum.checksum().to_be_bytes());
        Ok(())
    }
}

fn check_payload(segment: &Segment, payload: Payload<'_>) -> Result<(), EncodeError> {
    match payload {
        Payload::Bytes(bytes) if bytes.len() != segment.payload_len as usize => {
            Err(EncodeError::PayloadLength { given: bytes.len(), expected: segment.payload_len })
        }
        _ => Ok(()),
    }
}

/// Appends the IP header, or nothing on an error.
fn ip_header(segment: &Segment, endpoints: &Endpoints, fields: IpFields, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let ends = (endpoints.src.ip(), endpoints.dst.ip());
    let len = segment.header_len().saturating_add(segment.payload_len) as usize;
    encode_ip(ends, IpNumber::TCP, len, fields, out).map_err(|error| match error {
        HeaderError::MixedVersions => EncodeError::MixedFamilies(*endpoints),
        HeaderError::TooLong(version) => EncodeError::TooLong { len: ip_len(segment, version), version },
    })
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

#[cfg(test)]
mod tests;
