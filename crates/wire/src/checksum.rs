//! The TCP checksum (RFC 9293 §3.1; pseudo-header for IPv6: RFC 8200 §8.1), and others of the same kind.
//!
//! The ones' complement of the ones' complement sum of all 16-bit words of pseudo-header, TCP
//! header and payload. With an IPv6 routing header the pseudo-header should name the final
//! destination; we take the packet's own, which is the same once it has arrived.

use std::net::IpAddr;

/// TCP's protocol number.
pub(crate) const TCP: u8 = 6;

/// The result of checking a packet's TCP checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// The checksum is correct.
    Correct,
    /// The checksum is wrong: a receiver discards the segment.
    Wrong,
    /// It covers the pseudo-header alone: captured on the sending host, before the network card
    /// completed it. The segment as sent was right.
    Offloaded,
    /// The capture holds only part of the segment, or the checksum was not checked.
    Unverifiable,
}

impl Checksum {
    /// Checks the checksum in `field` of `bytes`, which hold all that it covers but for the pseudo-header.
    pub fn judge(pseudo: Sum, bytes: &[u8], field: u16) -> Self {
        if pseudo.plus(bytes).checksum() == 0 {
            Self::Correct
        } else if field == !pseudo.checksum() {
            Self::Offloaded
        } else {
            Self::Wrong
        }
    }

    /// What the field has to hold after other bytes have changed, so that a new check has the same result. `bytes` hold
    /// what the checksum covers, with 0 in its field. Trailing zeros may be missing.
    ///
    /// A wrong checksum remains wrong by the same amount, whatever it was, and so tells nothing about the old bytes.
    pub fn renewed(self, pseudo: Sum, bytes: &[u8]) -> u16 {
        let correct = pseudo.plus(bytes).checksum();
        match self {
            Self::Correct | Self::Unverifiable => correct,
            Self::Offloaded => !pseudo.checksum(),
            Self::Wrong => correct ^ 1,
        }
    }
}

/// The checksum of `tcp`, a whole segment. If its checksum field is 0, the result is the field's correct
/// value. If the field has its correct value, the result is 0.
pub(crate) fn of_segment(src: IpAddr, dst: IpAddr, tcp: &[u8]) -> u16 {
    pseudo_header(src, dst, tcp.len(), TCP).plus(tcp).checksum()
}

/// The sum of the pseudo-header alone, for a segment of `tcp_len` bytes. It fills the checksum field until
/// the checksum is completed.
pub(crate) fn of_pseudo_header(src: IpAddr, dst: IpAddr, tcp_len: usize) -> u16 {
    !pseudo_header(src, dst, tcp_len, TCP).checksum()
}

/// Completes a partial checksum (VIRTIO 1.3 §5.1.6.2).
///
/// The checksum covers the packet from `start` on. Its field is `offset` bytes further and holds the sum
/// of the pseudo-header. A checksum of 0 becomes 0xffff, which is the same number: in UDP, 0 means that there is none
/// (RFC 768; Linux `skb_checksum_help`). Returns whether the field lies in the packet; if not, nothing changes.
pub fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(summed) = packet.get_mut(start..) else {
        return false;
    };
    let sum = match Sum::default().plus(summed).checksum() {
        0 => 0xffff,
        sum => sum,
    };
    match summed.get_mut(offset..).and_then(<[u8]>::first_chunk_mut) {
        Some(field) => *field = sum.to_be_bytes(),
        None => return false,
    }
    true
}

/// The checksum of an IPv4 header (RFC 791 §3.1), with the same meaning as [`of_segment`]'s.
pub(crate) fn of_ipv4_header(header: &[u8]) -> u16 {
    Sum::default().plus(header).checksum()
}

/// The sum of the pseudo-header of `len` bytes of this protocol. Its length field has 16 bits over IPv4 and 32 over
/// IPv6, with the same sum.
pub fn pseudo_header(src: IpAddr, dst: IpAddr, len: usize, protocol: u8) -> Sum {
    let address = |sum: Sum, ip| match ip {
        IpAddr::V4(ip) => sum.plus(&ip.octets()),
        IpAddr::V6(ip) => sum.plus(&ip.octets()),
    };
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    let sum = address(address(Sum::default(), src), dst);
    sum.plus(&len.to_be_bytes()).plus(&[0, protocol])
}

/// A ones' complement sum of 16-bit words, folded to 64 bits. Words are in the machine's byte order; only
/// the result is converted (RFC 1071 §2 (B)).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    words: u64,
    /// The number of bytes so far is odd: the next byte completes a word.
    odd: bool,
}

impl Sum {
    /// Adds `bytes` behind the bytes summed so far.
    #[must_use]
    pub fn plus(self, bytes: &[u8]) -> Self {
        let words = sum(bytes);
        // Shifting all words by one byte swaps the bytes of the sum (RFC 1071 §2 (B)).
        let words = match self.odd {
            true => u64::from(fold(words).swap_bytes()),
            false => words,
        };
        Self { words: self.words + words, odd: self.odd ^ (bytes.len() % 2 == 1) }
    }

    /// Adds a word behind an even number of bytes.
    #[must_use]
    pub fn add_word(self, word: u16) -> Self {
        Self { words: self.words + u64::from(word.to_be()), ..self }
    }

    /// The checksum: the complement of the sum.
    pub fn checksum(self) -> u16 {
        !fold(self.words).to_be()
    }
}

/// The sum of the words in `bytes`, with a zero after an odd last byte. The result is below 2³³, so many
/// results can be added up.
fn sum(bytes: &[u8]) -> u64 {
    const WIDE: usize = size_of::<u64>();
    // The upper halves collect carries. The CPU can compute four independent sums at once.
    let mut lanes = [0_u128; 4];
    let (blocks, rest) = bytes.as_chunks::<{ 4 * WIDE }>();
    for block in blocks {
        let (wide, _) = block.as_chunks::<WIDE>();
        for (lane, wide) in lanes.iter_mut().zip(wide) {
            *lane += u128::from(u64::from_ne_bytes(*wide));
        }
    }
    let (wide, rest) = rest.as_chunks::<WIDE>();
    for wide in wide {
        lanes[0] += u128::from(u64::from_ne_bytes(*wide));
    }
    if !rest.is_empty() {
        let mut last = [0; WIDE];
        last[..rest.len()].copy_from_slice(rest);
        lanes[1] += u128::from(u64::from_ne_bytes(last));
    }
    // A carry out of 64 bits counts as 1, like a carry out of 16 bits: 2⁶⁴ − 1 is a multiple of 2¹⁶ − 1.
    let sum: u128 = lanes.iter().sum();
    let sum = u128::from(sum as u64) + (sum >> 64);
    let sum = (sum as u64).wrapping_add((sum >> 64) as u64);
    (sum & 0xffff_ffff) + (sum >> 32)
}

fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests;
