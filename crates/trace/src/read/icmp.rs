//! ICMP messages that a packet is too large for the path: ICMPv4 type 3 code 4 (RFC 1191 §4) and ICMPv6 type 2
//! (RFC 4443 §3.2). They quote the IP header and at least the first 8 bytes of the segment.

use recoup_wire::{Endpoints, SeqNumber};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// IP protocol numbers.
pub(super) const ICMP_V4: u8 = 1;
pub(super) const ICMP_V6: u8 = 58;
const TCP: u8 = 6;

const V6_HEADER: usize = 40;
/// Bytes before the quoted packet.
const MESSAGE_HEADER: usize = 8;

/// The path of a segment takes smaller packets only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooBig {
    /// The endpoints of the segment.
    pub endpoints: Endpoints,
    /// Its sequence number.
    pub seq: SeqNumber,
    /// The largest packet that the path takes, in bytes.
    pub mtu: u16,
}

/// Reads an IP packet. `None` if it is another message or a later fragment of one, quotes no TCP segment, is cut, or has no MTU
/// (routers older than RFC 1191).
#[cold]
pub(super) fn too_big(ip: &[u8]) -> Option<TooBig> {
    let v4 = ip.first()? >> 4 == 4;
    // The offset of a fragment (RFC 791 §3.1).
    if v4 && word(ip, 6)? & 0x1fff != 0 {
        return None;
    }
    let message = ip.get(if v4 { v4_header(ip)? } else { V6_HEADER }..)?;
    let quoted = message.get(MESSAGE_HEADER..)?;
    let (mtu, quotes_tcp, [src, dst], tcp) = match (v4, message.get(..2)?) {
        (true, [3, 4]) => (
            word(message, 6)?,
            quoted.first()? >> 4 == 4 && *quoted.get(9)? == TCP,
            [v4_at(quoted, 12)?, v4_at(quoted, 16)?],
            quoted.get(v4_header(quoted)?..)?,
        ),
        (false, [2, _]) => (
            // 32 bits: a packet of TCP is no longer than 16 bits say.
            word(message, 6)?,
            word(message, 4)? == 0 && quoted.first()? >> 4 == 6 && *quoted.get(6)? == TCP,
            [v6_at(quoted, 8)?, v6_at(quoted, 24)?],
            quoted.get(V6_HEADER..)?,
        ),
        _ => return None,
    };
    let seq = u32::from(word(tcp, 4)?) << 16 | u32::from(word(tcp, 6)?);
    (quotes_tcp && mtu > 0).then_some(TooBig {
        endpoints: Endpoints { src: SocketAddr::new(src, word(tcp, 0)?), dst: SocketAddr::new(dst, word(tcp, 2)?) },
        seq: SeqNumber(seq),
        mtu,
    })
}

/// The length of an IPv4 header.
fn v4_header(ip: &[u8]) -> Option<usize> {
    Some(4 * usize::from(ip.first()? & 15))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*word))
}

fn v4_at(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    Some(Ipv4Addr::from(*octets).into())
}

fn v6_at(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: &[u8; 16] = bytes.get(at..)?.first_chunk()?;
    Some(Ipv6Addr::from(*octets).into())
}

#[cfg(test)]
mod tests;
