//! What the headers of a captured packet say, and nothing else: no checksum is computed.
//!
//! Captures are read by the million, and nearly all their packets are IPv4 (RFC 791 §3.1) or IPv6
//! (RFC 8200 §3) with TCP right behind. Those are read here by hand; whatever has more in front of
//! TCP, or something wrong, goes the way of [`decode`](crate::decode), by etherparse. Both ways
//! agree on every packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::{IpNumber, LaxIpSlice};

use crate::checksum::TCP;
use crate::decode::{Extent, TcpHeader};
use crate::{DecodeError, Endpoints, IpVersion, Segment};

/// What may stand in front of TCP over IPv4 as well (RFC 4302), and what seldom is TCP over IPv6.
const AUTHENTICATION: u8 = 51;
const UDP: u8 = 17;
const ICMP_V6: u8 = 58;

/// What the headers of a packet say beside endpoints and segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The IPv4 identification, which tells a retransmission from a copy made by the network.
    pub ip_id: Option<u16>,
    /// The time to live, IPv6's hop limit: routers passed since the sender lower it.
    pub hop_limit: u8,
    /// Whether all options were read, as in [`Decoded`](crate::Decoded::options_complete).
    pub options_complete: bool,
    /// Whether the IP header claims more bytes than the packet had on the wire. Either it lies, or
    /// whoever cut the packet forgot how long it was.
    pub overlong: bool,
}

/// Reads the headers of an IP packet that carries TCP, of which `packet` was captured and that had
/// `on_wire` bytes. Addresses, ports and the segment go where they are wanted, lest they are copied
/// there; both are as before when there is an error. The segment's `payload_len` is its length on
/// the wire.
///
/// As [`decode_unverified`](crate::decode_unverified), but a length field of 0, as segmentation
/// offload and packets beyond 64 KiB have it, stands for `on_wire`, and one that does not hold its
/// own header is an error.
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

/// Where what is read goes.
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
    // "More fragments" and the offset.
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

/// Where an IPv4 packet ended on the wire that says it has `total` bytes.
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

/// Extension headers, and everything that is no TCP.
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

/// What stands in front of TCP.
struct Front {
    src: IpAddr,
    dst: IpAddr,
    ip_id: Option<u16>,
    hop_limit: u8,
}

impl Front {
    /// With the TCP header at the start of `tcp`, the captured part of `tcp_on_wire` bytes.
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
