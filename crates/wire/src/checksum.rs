//! The TCP checksum (RFC 9293 §3.1; pseudo-header for IPv6: RFC 8200 §8.1).
//!
//! The ones' complement of the ones' complement sum of all 16-bit words of pseudo-header, TCP
//! header and payload. With an IPv6 routing header the pseudo-header should name the final
//! destination; we take the packet's own, which is the same once it has arrived.

use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;

/// TCP's protocol number.
pub(crate) const TCP: u8 = 6;

/// What a packet's TCP checksum says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// It is right.
    Correct,
    /// It is wrong: a receiver discards the segment.
    Wrong,
    /// It covers the pseudo-header alone: captured on the sending host, before the network card
    /// completed it. The segment as sent was right.
    Offloaded,
    /// The capture holds only part of the segment, so nobody can tell.
    Unverifiable,
}

impl Checksum {
    /// Judges the checksum in `field` of `tcp`, a whole segment with header and payload.
    pub(crate) fn judge(src: IpAddr, dst: IpAddr, tcp: &[u8], field: u16) -> Self {
        if of_segment(src, dst, tcp) == 0 {
            Self::Correct
        } else if field == !finish(&pseudo_header(src, dst, tcp.len())) {
            Self::Offloaded
        } else {
            Self::Wrong
        }
    }
}

/// The checksum of `tcp`, a whole segment: the value for its field when that field holds 0, and 0
/// when it holds the right value.
pub(crate) fn of_segment(src: IpAddr, dst: IpAddr, tcp: &[u8]) -> u16 {
    finish(&pseudo_header(src, dst, tcp.len()).add_slice(tcp))
}

/// The checksum of an IPv4 header, with the same meaning (RFC 791 §3.1).
pub(crate) fn of_ipv4_header(header: &[u8]) -> u16 {
    finish(&Sum16BitWords::new().add_slice(header))
}

/// A length is 16 bits wide over IPv4 and 32 over IPv6; the sum is the same.
fn pseudo_header(src: IpAddr, dst: IpAddr, tcp_len: usize) -> Sum16BitWords {
    let sum = Sum16BitWords::new();
    let sum = match src {
        IpAddr::V4(ip) => sum.add_slice(&ip.octets()),
        IpAddr::V6(ip) => sum.add_slice(&ip.octets()),
    };
    let sum = match dst {
        IpAddr::V4(ip) => sum.add_slice(&ip.octets()),
        IpAddr::V6(ip) => sum.add_slice(&ip.octets()),
    };
    let tcp_len = u32::try_from(tcp_len).unwrap_or(u32::MAX);
    sum.add_slice(&tcp_len.to_be_bytes()).add_slice(&[0, TCP])
}

/// The words are summed in the machine's byte order; the result is brought into the network's.
fn finish(sum: &Sum16BitWords) -> u16 {
    sum.ones_complement().to_be()
}
