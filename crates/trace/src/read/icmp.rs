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

/// Reads an IP packet. `None` if it is another message, quotes no TCP segment, is cut, or has no MTU (routers
/// older than RFC 1191).
#[cold]
pub(super) fn too_big(ip: &[u8]) -> Option<TooBig> {
    let v4 = ip.first()? >> 4 == 4;
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
mod tests {
    use super::*;

    /// An ICMPv4 message with this type, code and MTU about a segment from port 80 to 5000.
    fn v4(kind: u8, code: u8, mtu: u16, protocol: u8) -> Vec<u8> {
        let mut ip = vec![0_u8; 20];
        (ip[0], ip[9]) = (0x45, ICMP_V4);
        ip.extend([kind, code, 0, 0, 0, 0]);
        ip.extend(mtu.to_be_bytes());
        let mut quoted = vec![0_u8; 20];
        (quoted[0], quoted[9]) = (0x45, protocol);
        quoted[12..16].copy_from_slice(&[192, 0, 2, 1]);
        quoted[16..20].copy_from_slice(&[198, 51, 100, 2]);
        ip.extend(quoted);
        ip.extend([0, 80, 0x13, 0x88, 1, 2, 3, 4]);
        ip
    }

    #[test]
    fn a_message_names_the_segment_and_the_mtu() {
        let found = too_big(&v4(3, 4, 1280, TCP)).unwrap();
        assert_eq!(found.endpoints.src.to_string(), "192.0.2.1:80");
        assert_eq!(found.endpoints.dst.to_string(), "198.51.100.2:5000");
        assert_eq!((found.seq, found.mtu), (SeqNumber(0x0102_0304), 1280));

        let mut ip = vec![0_u8; V6_HEADER];
        (ip[0], ip[6]) = (0x60, ICMP_V6);
        ip.extend([2, 0, 0, 0, 0, 0, 5, 0]);
        let mut quoted = vec![0_u8; V6_HEADER];
        (quoted[0], quoted[6], quoted[23], quoted[39]) = (0x60, TCP, 1, 2);
        ip.extend(quoted);
        ip.extend([0, 80, 0x13, 0x88, 1, 2, 3, 4]);
        let found = too_big(&ip).unwrap();
        assert_eq!(found.endpoints.src.to_string(), "[::1]:80");
        assert_eq!(found.endpoints.dst.to_string(), "[::2]:5000");
        assert_eq!(found.mtu, 1280);
    }

    #[test]
    fn other_messages_and_cut_ones_name_nothing() {
        for message in [v4(3, 3, 1280, TCP), v4(8, 0, 0, TCP), v4(3, 4, 0, TCP), v4(3, 4, 1280, 17)] {
            assert_eq!(too_big(&message), None);
        }
        let whole = v4(3, 4, 1280, TCP);
        for len in 0..whole.len() {
            assert_eq!(too_big(&whole[..len]), None, "{len}");
        }
    }
}
