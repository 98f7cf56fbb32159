//! Decodes packets to segments.
//!
//! IP headers, extension headers among them, are read by etherparse in its lax mode, which makes
//! the best of captures: a length field of 0 (segmentation offload) means the packet ends where
//! the capture does, bytes behind the length field (Ethernet padding) do not count. The TCP header
//! (RFC 9293 §3.1) is read here, since it may be cut within its options.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use etherparse::err::ip::LaxHeaderSliceError;
use etherparse::{IpNumber, LaxIpSlice};
use thiserror::Error;

use crate::checksum::{self, Checksum, TCP, pseudo_header};
use crate::ip::ecn_of;
use crate::{Ecn, Endpoints, Flags, IpVersion, Options, Segment, SeqNumber, TCP_HEADER_LEN};

/// A decoded packet: the segment, and the packet's other facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Addresses and ports.
    pub endpoints: Endpoints,
    /// The segment. `payload_len` is the payload's length on the wire; `payload` may be a part of it.
    pub segment: Segment,
    /// The position of the captured payload in the packet.
    pub payload: Range<usize>,
    /// The result of checking the TCP checksum.
    pub tcp_checksum: Checksum,
    /// Whether the IPv4 header's checksum is correct; always true over IPv6, which has none.
    pub ip_checksum_ok: bool,
    /// The IPv4 identification, which distinguishes a retransmission from a duplicate made by the network.
    pub ip_id: Option<u16>,
    /// The ECN field of the IP header, and the flag AE of the TCP header.
    pub ecn: Ecn,
    /// Whether all options were read. It is false when one has an impossible length, or when the capture
    /// ends within the options. Options before that place are read, options behind it are unknown.
    pub options_complete: bool,
}

/// The reason why bytes are not a packet with a TCP header.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// There is no IPv4 or IPv6 header.
    #[error("IP header: {0}")]
    Ip(#[source] LaxHeaderSliceError),
    /// The packet carries something else, or its extension headers end before they name TCP.
    #[error("IP protocol {0}: 6 (TCP) expected")]
    NotTcp(u8),
    /// The packet is a fragment; fragments are not reassembled.
    #[error("IP fragment: a whole packet expected")]
    Fragment,
    /// The IPv4 header's length field is shorter than the header.
    #[error("IP total length {says}: 0 or at least {header} expected")]
    TotalLength {
        /// The packet's length in the field, in bytes.
        says: u16,
        /// The header's length, in bytes.
        header: u8,
    },
    /// The bytes end within the fixed part of the TCP header.
    #[error("TCP header: {0} bytes there, 20 expected")]
    TcpCut(usize),
    /// The TCP header's length is impossible.
    #[error("TCP data offset {words}: 5 to {} words expected", .available / 4)]
    DataOffset {
        /// The header's length in the field, in 4-byte words.
        words: u8,
        /// The IP packet's bytes for TCP header and payload.
        available: usize,
    },
}

/// Decodes an IP packet that carries TCP.
///
/// The packet may be cut at its end by the capture (snap length) as long as the fixed 20 bytes of
/// the TCP header are there. Malformed options and wrong checksums are not errors; the result reports
/// them. SACK blocks are kept unchanged, even if reversed. A window scale above 14 is read as 14 (RFC
/// 7323 §2.3).
///
/// # Errors
/// When there is no TCP header to read.
pub fn decode(packet: &[u8]) -> Result<Decoded, DecodeError> {
    read(packet, |src, dst, tcp, field| Checksum::judge(pseudo_header(src, dst, tcp.len(), TCP), tcp, field))
}

/// Like [`decode`], but does not check the TCP checksum and returns [`Checksum::Unverifiable`]. Checking
/// is most of the work for a long packet.
///
/// # Errors
/// Those of [`decode`].
pub fn decode_unverified(packet: &[u8]) -> Result<Decoded, DecodeError> {
    read(packet, |_, _, _, _| Checksum::Unverifiable)
}

fn read(packet: &[u8], judge: impl Fn(IpAddr, IpAddr, &[u8], u16) -> Checksum) -> Result<Decoded, DecodeError> {
    let (ip, _) = LaxIpSlice::from_slice(packet).map_err(DecodeError::Ip)?;
    if ip.payload_ip_number() != IpNumber::TCP {
        return Err(DecodeError::NotTcp(ip.payload_ip_number().0));
    }
    if ip.is_fragmenting_payload() {
        return Err(DecodeError::Fragment);
    }
    let (ip_id, ip_checksum_ok) = match &ip {
        LaxIpSlice::Ipv4(v4) => {
            (Some(v4.header().identification()), checksum::of_ipv4_header(v4.header().slice()) == 0)
        }
        LaxIpSlice::Ipv6(_) => (None, true),
    };
    let (src, dst) = (ip.source_addr(), ip.destination_addr());
    let extent = Extent::of(packet, packet.len(), &ip);
    let tcp = packet.get(extent.captured.clone()).unwrap_or_default();
    let header = TcpHeader::read(tcp, extent.on_wire)?;
    let mut segment = Segment {
        seq: header.seq,
        ack: header.ack,
        payload_len: header.payload_len,
        window: header.window,
        flags: header.flags,
        options: Options::NONE,
    };
    let sound = segment.options.read_all(header.options, header.options_cut).sound;
    let tcp_checksum =
        if tcp.len() < extent.on_wire { Checksum::Unverifiable } else { judge(src, dst, tcp, header.checksum) };
    let payload_start = (extent.captured.start + header.len).min(extent.captured.end);
    Ok(Decoded {
        endpoints: Endpoints { src: SocketAddr::new(src, header.src_port), dst: SocketAddr::new(dst, header.dst_port) },
        segment,
        payload: payload_start..extent.captured.end,
        tcp_checksum,
        ip_checksum_ok,
        ip_id,
        ecn: ecn_of(&ip).with_tcp(header.reserved),
        options_complete: sound && !header.options_cut,
    })
}

/// The position of the TCP header and payload in a packet.
pub(crate) struct Extent {
    /// The captured part.
    pub(crate) captured: Range<usize>,
    /// Their length on the wire by the IP header, in bytes: at least the captured length.
    pub(crate) on_wire: usize,
}

impl Extent {
    /// The position in a packet of `packet_on_wire` bytes, of which `packet` was captured.
    pub(crate) fn of(packet: &[u8], packet_on_wire: usize, ip: &LaxIpSlice<'_>) -> Self {
        // As in etherparse, which reports the end of the payload in the capture, but
        // not on the wire.
        let end_on_wire = match ip {
            LaxIpSlice::Ipv4(v4) => {
                Some(usize::from(v4.header().total_len())).filter(|&total| total >= v4.header().slice().len())
            }
            LaxIpSlice::Ipv6(v6) => Some(usize::from(v6.header().payload_length()))
                .filter(|&counted| counted > 0)
                .map(|counted| IpVersion::V6.header_len() as usize + counted),
        }
        .unwrap_or(packet_on_wire);
        let end = end_on_wire.min(packet.len());
        let start = end.saturating_sub(ip.payload().payload.len());
        Self { captured: start..end, on_wire: end_on_wire - start }
    }
}

/// The length of the fixed part of a TCP header.
const FIXED_LEN: usize = TCP_HEADER_LEN as usize;

/// A TCP header.
pub(crate) struct TcpHeader<'a> {
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) seq: SeqNumber,
    pub(crate) ack: SeqNumber,
    /// The payload's length on the wire, in bytes.
    pub(crate) payload_len: u32,
    pub(crate) window: u16,
    pub(crate) flags: Flags,
    /// The byte with the data offset and the reserved bits.
    pub(crate) reserved: u8,
    checksum: u16,
    /// The header's length on the wire, in bytes. Other layouts of options than ours may make it differ
    /// from [`Segment::header_len`].
    len: usize,
    /// The captured bytes of the options.
    pub(crate) options: &'a [u8],
    /// The capture ends within the options.
    pub(crate) options_cut: bool,
}

impl<'a> TcpHeader<'a> {
    /// Reads the header at the start of `tcp`, the captured part of `on_wire` bytes.
    #[inline(always)]
    pub(crate) fn read(tcp: &'a [u8], on_wire: usize) -> Result<Self, DecodeError> {
        let Some((fixed, rest)) = tcp.split_first_chunk::<FIXED_LEN>() else {
            return Err(DecodeError::TcpCut(tcp.len()));
        };
        let u16_at = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let u32_at = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let words = fixed[12] >> 4;
        let len = 4 * usize::from(words);
        if len < FIXED_LEN || len > on_wire {
            return Err(DecodeError::DataOffset { words, available: on_wire });
        }
        let options_on_wire = len - FIXED_LEN;
        let options = &rest[..options_on_wire.min(rest.len())];
        Ok(Self {
            src_port: u16_at(0),
            dst_port: u16_at(2),
            seq: SeqNumber(u32_at(4)),
            ack: SeqNumber(u32_at(8)),
            payload_len: u32::try_from(on_wire - len).unwrap_or(u32::MAX),
            window: u16_at(14),
            flags: Flags::from_bits(fixed[13]),
            reserved: fixed[12],
            checksum: u16_at(16),
            len,
            options,
            options_cut: options.len() < options_on_wire,
        })
    }
}

#[cfg(test)]
mod tests;
