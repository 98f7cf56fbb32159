//! The two messages of ICMP that a TCP host has use for.
//!
//! Echo requests (RFC 792; RFC 4443 §4.1) are answered by the same packet the other way round.
//! "Fragmentation needed" (RFC 1191 §4) and "packet too big" (RFC 4443 §3.2) quote the packet that was
//! too big: ports and sequence number stand in its first eight bytes (RFC 792). An IPv4 router that does
//! not say how much it takes (RFC 1191 §5) is taken to take [`LEAST_V4`].
//!
//! Extension headers and IPv4 fragments are not looked into.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use recoup_wire::{Endpoints, SeqNumber};

/// Smallest path MTU assumed for IPv4, in bytes: links that take less (RFC 1191 §7) are gone, and forged
/// messages cannot make segments smaller.
const LEAST_V4: u16 = 296;

/// Smallest path MTU of IPv6, in bytes (RFC 8200 §5).
const LEAST_V6: u16 = 1280;

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
const TCP: u8 = 6;
const V6_HEADER: usize = 40;
/// The part of a message in front of what it quotes.
const HEADER: usize = 8;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Somebody wants an echo.
    Echo { from: IpAddr, to: IpAddr },
    /// A packet of ours along `path` that began at `seq` was too big.
    TooBig { path: Endpoints, seq: SeqNumber, mtu: u16 },
}

/// An ICMP packet taken apart.
struct Parts<'a> {
    from: IpAddr,
    to: IpAddr,
    /// Where the message begins.
    at: usize,
    message: &'a [u8],
}

/// Reads a packet; `None` when it is another message, or damaged.
pub(crate) fn read(packet: &[u8]) -> Option<Message> {
    let Parts { from, to, message, .. } = parts(packet)?;
    let [kind, code] = *message.first_chunk()?;
    let quoted = message.get(HEADER..)?;
    match (from, kind, code) {
        (IpAddr::V4(_), 8, 0) | (IpAddr::V6(_), 128, 0) => Some(Message::Echo { from, to }),
        (IpAddr::V4(_), 3, 4) => {
            let mtu = u16_at(message, 6)?.max(LEAST_V4);
            let header = 4 * usize::from(quoted.first()? & 15);
            let is_tcp = quoted.first()? >> 4 == 4 && *quoted.get(9)? == TCP;
            let ends = [v4_at(quoted, 12)?, v4_at(quoted, 16)?];
            too_big(is_tcp, ends, quoted.get(header..)?, mtu)
        }
        (IpAddr::V6(_), 2, 0) => {
            let mtu = u32::from(u16_at(message, 4)?) << 16 | u32::from(u16_at(message, 6)?);
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX).max(LEAST_V6);
            let is_tcp = quoted.first()? >> 4 == 6 && *quoted.get(6)? == TCP;
            let ends = [v6_at(quoted, 8)?, v6_at(quoted, 24)?];
            too_big(is_tcp, ends, quoted.get(V6_HEADER..)?, mtu)
        }
        _ => None,
    }
}

fn too_big(is_tcp: bool, [src, dst]: [IpAddr; 2], tcp: &[u8], mtu: u16) -> Option<Message> {
    let seq = u32::from(u16_at(tcp, 4)?) << 16 | u32::from(u16_at(tcp, 6)?);
    is_tcp.then_some(Message::TooBig {
        path: Endpoints { src: SocketAddr::new(src, u16_at(tcp, 0)?), dst: SocketAddr::new(dst, u16_at(tcp, 2)?) },
        seq: SeqNumber(seq),
        mtu,
    })
}

/// Appends the answer to the echo request `packet` to `out`.
pub(crate) fn reply(packet: &[u8], out: &mut Vec<u8>) {
    let Some(Parts { from, at, .. }) = parts(packet) else {
        return;
    };
    let start = out.len();
    out.extend_from_slice(packet);
    let reply = &mut out[start..];
    // Ends exchanged add up to what they did before.
    let (ends, len, answer) = match from {
        IpAddr::V4(_) => (12, 4, 0),
        IpAddr::V6(_) => (8, 16, 129),
    };
    let (src, dst) = reply[ends..ends + 2 * len].split_at_mut(len);
    src.swap_with_slice(dst);
    reply[at] = answer;
    reply[at + 2..at + 4].fill(0);
    let sum = !message_sum(from, &reply[ends..ends + 2 * len], &reply[at..]);
    reply[at + 2..at + 4].copy_from_slice(&sum.to_be_bytes());
}

/// Takes an ICMP packet with right checksums apart.
fn parts(packet: &[u8]) -> Option<Parts<'_>> {
    let (from, to, at, ends) = match packet.first()? >> 4 {
        4 => {
            let header = 4 * usize::from(packet.first()? & 15);
            let total = usize::from(u16_at(packet, 2)?);
            // Neither "more fragments" nor an offset.
            let whole = u16_at(packet, 6)? & 0x3fff == 0;
            let sane = header >= 20 && header <= packet.len() && total == packet.len();
            if *packet.get(9)? != ICMP || !whole || !sane || sum(packet.get(..header)?, 0) != !0 {
                return None;
            }
            (v4_at(packet, 12)?, v4_at(packet, 16)?, header, 12..20)
        }
        6 => {
            let counted = usize::from(u16_at(packet, 4)?);
            if *packet.get(6)? != ICMP_V6 || V6_HEADER + counted != packet.len() {
                return None;
            }
            (v6_at(packet, 8)?, v6_at(packet, 24)?, V6_HEADER, 8..40)
        }
        _ => return None,
    };
    let message = packet.get(at..)?;
    (message_sum(from, packet.get(ends)?, message) == !0).then_some(Parts { from, to, at, message })
}

/// The sum over a message: over IPv6 with a pseudo-header (RFC 8200 §8.1).
fn message_sum(from: IpAddr, ends: &[u8], message: &[u8]) -> u16 {
    match from {
        IpAddr::V4(_) => sum(message, 0),
        IpAddr::V6(_) => {
            let pseudo = sum(ends, message.len() as u32 + u32::from(ICMP_V6));
            sum(message, pseudo.into())
        }
    }
}

/// The ones' complement sum of 16-bit words, on top of `start` (RFC 1071).
fn sum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks(2).map(|word| {
        let low = word.get(1).copied().unwrap_or(0);
        u64::from(u16::from_be_bytes([word[0], low]))
    });
    let mut sum = u64::from(start) + words.sum::<u64>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn v4_at(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: [u8; 4] = *bytes.get(at..)?.first_chunk()?;
    Some(Ipv4Addr::from(octets).into())
}

fn v6_at(bytes: &[u8], at: usize) -> Option<IpAddr> {
    let octets: [u8; 16] = *bytes.get(at..)?.first_chunk()?;
    Some(Ipv6Addr::from(octets).into())
}

#[cfg(test)]
mod tests;
