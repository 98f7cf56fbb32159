//! Decodes only the headers of captured packets, without checksums.
//!
//! Captures hold millions of packets. Nearly all are IPv4 (RFC 791 §3.1) or IPv6 (RFC 8200 §3) packets
//! with TCP right behind the IP header, and the fast path here reads them. Packets with other headers
//! before TCP, and malformed packets, take the slow path of [`decode`](crate::decode), which uses
//! etherparse. Both paths agree on every packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::{IpNumber, LaxIpSlice};

use crate::checksum::TCP;
use crate::decode::{Extent, TcpHeader};
use crate::{DecodeError, Endpoints, IpVersion, Segment};

/// The authentication header, which may stand before TCP over IPv4 too (RFC 4302).
const AUTHENTICATION: u8 = 51;
const UDP: u8 = 17;
const ICMP_V6: u8 = 58;

/// Facts of a packet's headers in addition to endpoints and segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The IPv4 identification, which distinguishes a retransmission from a duplicate made by the network.
    pub ip_id: Option<u16>,
    /// The time to live, or IPv6's hop limit. Each router on the way lowers it.
    pub hop_limit: u8,
    /// Whether all options were read, as in [`Decoded`](crate::Decoded::options_complete).
    pub options_complete: bool,
    /// Whether the IP header's length exceeds the packet's length on the wire. Either the header is
    /// wrong, or the capture lost the packet's length when it cut the packet.
    pub overlong: bool,
}

/// Decodes the headers of an IP packet of `on_wire` bytes that carries TCP; `packet` is its captured
/// part.
///
/// Endpoints and segment are written in place, which saves copies. They are unchanged on an error. The
/// segment's `payload_len` is the payload's length on the wire.
///
/// The result is that of [`decode_unverified`](crate::decode_unverified) with two differences. A length
/// field of 0, from segmentation offload or a packet beyond 64 KiB, means `on_wire`. A length field
/// shorter than its own header is an error.
///
/// # Errors
/// When there is no TCP header to read.
#[inline(always)]
pub fn decode_headers(
    packet: &[u8],
    on_wire: usize,
    endpoints: &mut Endpoints,
    segment: &mut Segment,
) -> Result<Headers, DecodeError> {
    let on_wire = on_wire.max(packet.len());
    let into = Into { endpoints, segment };
    match packet.first() {
        Some(0x45..=0x4f) => v4(packet, on_wire, into),
        Some(0x60..=0x6f) => v6(packet, on_wire, into),
        _ => by_etherparse(packet, on_wire, into),
    }
}

/// The values to fill.
struct Into<'a> {
    endpoints: &'a mut Endpoints,
    segment: &'a mut Segment,
}

#[inline(always)]
fn v4(packet: &[u8], on_wire: usize, into: Into<'_>) -> Result<Headers, DecodeError> {
    let Some(header) = packet.first_chunk::<20>() else {
        return by_etherparse(packet, on_wire, into);
    };
    let len = 4 * usize::from(header[0] & 0x0f);
    // The "more fragments" bit and the fragment offset.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    match header[9] {
        _ if packet.len() < len => return by_etherparse(packet, on_wire, into),
        TCP if fragment == 0 => {}
        TCP => return Err(DecodeError::Fragment),
        AUTHENTICATION => return by_etherparse(packet, on_wire, into),
        other => return Err(DecodeError::NotTcp(other)),
    }
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let end = end_on_wire(total, len, on_wire)?;
    let address = |at: usize| {
        IpAddr::V4(Ipv4Addr::new(
            header[at],
            header[at + 1],
            header[at + 2],
            header[at + 3],
        ))
    };
    let front = Front {
        src: address(12),
        dst: address(16),
        ip_id: Some(u16::from_be_bytes([header[4], header[5]])),
        hop_limit: header[8],
    };
    let tcp = &packet[len..end.min(packet.len())];
    front.with_tcp(tcp, end - len, end > on_wire, into)
}

#[inline(always)]
fn v6(packet: &[u8], on_wire: usize, into: Into<'_>) -> Result<Headers, DecodeError> {
    const LEN: usize = IpVersion::V6.header_len() as usize;
    let Some(header) = packet.first_chunk::<LEN>() else {
        return by_etherparse(packet, on_wire, into);
    };
    match header[6] {
        TCP => {}
        UDP | ICMP_V6 => return Err(DecodeError::NotTcp(header[6])),
        _ => return by_etherparse(packet, on_wire, into),
    }
    let end = match u16::from_be_bytes([header[4], header[5]]) {
        0 => on_wire,
        counted => LEN + usize::from(counted),
    };
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&header[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    let front = Front {
        src: address(8),
        dst: address(24),
        ip_id: None,
        hop_limit: header[7],
    };
    let tcp = &packet[LEN..end.min(packet.len())];
    front.with_tcp(tcp, end - LEN, end > on_wire, into)
}

/// The end on the wire of an IPv4 packet whose length field is `total`.
#[inline]
fn end_on_wire(total: usize, header: usize, on_wire: usize) -> Result<usize, DecodeError> {
    match total {
        0 => Ok(on_wire),
        _ if total < header => Err(DecodeError::TotalLength {
            says: total as u16,
            header: header as u8,
        }),
        _ => Ok(total),
    }
}

/// Decodes packets with extension headers, and packets without TCP.
#[cold]
#[inline(never)]
fn by_etherparse(packet: &[u8], on_wire: usize, into: Into<'_>) -> Result<Headers, DecodeError> {
    let (ip, _) = LaxIpSlice::from_slice(packet).map_err(DecodeError::Ip)?;
    if ip.payload_ip_number() != IpNumber::TCP {
        return Err(DecodeError::NotTcp(ip.payload_ip_number().0));
    }
    if ip.is_fragmenting_payload() {
        return Err(DecodeError::Fragment);
    }
    let (ip_id, hop_limit) = match &ip {
        LaxIpSlice::Ipv4(v4) => {
            let header = v4.header();
            let total = usize::from(header.total_len());
            end_on_wire(total, header.slice().len(), on_wire)?;
            (Some(header.identification()), header.ttl())
        }
        LaxIpSlice::Ipv6(v6) => (None, v6.header().hop_limit()),
    };
    let extent = Extent::of(packet, on_wire, &ip);
    let end = extent.on_wire + extent.captured.start;
    let front = Front {
        src: ip.source_addr(),
        dst: ip.destination_addr(),
        ip_id,
        hop_limit,
    };
    let tcp = packet.get(extent.captured).unwrap_or_default();
    front.with_tcp(tcp, extent.on_wire, end > on_wire, into)
}

/// The headers before TCP.
struct Front {
    src: IpAddr,
    dst: IpAddr,
    ip_id: Option<u16>,
    hop_limit: u8,
}

impl Front {
    /// Adds the TCP header at the start of `tcp`, the captured part of `tcp_on_wire` bytes.
    #[inline(always)]
    fn with_tcp(
        self,
        tcp: &[u8],
        tcp_on_wire: usize,
        overlong: bool,
        into: Into<'_>,
    ) -> Result<Headers, DecodeError> {
        let header = TcpHeader::read(tcp, tcp_on_wire, into.segment)?;
        into.endpoints.src = SocketAddr::new(self.src, header.src_port);
        into.endpoints.dst = SocketAddr::new(self.dst, header.dst_port);
        Ok(Headers {
            ip_id: self.ip_id,
            hop_limit: self.hop_limit,
            options_complete: header.options_complete,
            overlong,
        })
    }
}

#[cfg(test)]
mod tests;
