//! The keyed map of addresses.
//!
//! As in Crypto-PAn (Xu, Fan, Ammar and Moon, "Prefix-Preserving IP Address Anonymization", 2002), each bit of an address is
//! flipped or not by a pseudorandom function of the bits before it: two addresses that share exactly k leading bits share
//! exactly k afterwards, and no two become one. The function is SipHash-2-4 (Aumasson and Bernstein, 2012) in place of AES.
//!
//! **Special ranges keep their class.** A range of addresses stays where it is if no bit of its prefix is flipped, in any
//! address that begins like the prefix up to that bit. So an address beside a special range keeps the bits that it shares
//! with it, and one more: for most addresses the first two to four (IPv4) or three (IPv6).

use super::Key;
use siphasher::sip::SipHasher24;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The most addresses that are remembered. Others are mapped anew each time.
const MOST_KNOWN: usize = 1 << 18;

/// A kind of address, with its bits on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Address {
    V4(u128),
    V6(u128),
    Hardware(u128),
}

/// A range of addresses that is mapped to itself.
#[derive(Clone, Copy)]
struct Special {
    /// The bits of its prefix, on the left.
    bits: u128,
    len: u32,
    /// Within the range, the bits up to this one are kept as well.
    kept: u32,
}

const fn v4(a: u8, b: u8, len: u32, kept: u32) -> Special {
    let bits = Ipv4Addr::new(a, b, 0, 0).to_bits() as u128;
    Special { bits: bits << 96, len, kept }
}

const fn v6(first: u16, len: u32, kept: u32) -> Special {
    Special { bits: (first as u128) << 112, len, kept }
}

/// Every address of the range is kept: it says nothing about a host.
const WHOLE: u32 = 128;

/// IANA's special-purpose IPv4 ranges whose class matters to who reads a capture. Private addresses are not among them: to
/// keep their class, all addresses beside them would have to keep up to 16 bits.
const SPECIAL_V4: [Special; 5] = [
    // Unspecified, "this network".
    v4(0, 0, 8, WHOLE),
    // Loopback.
    v4(127, 0, 8, WHOLE),
    // Link-local.
    v4(169, 254, 16, 16),
    // Multicast.
    v4(224, 0, 4, 4),
    // Broadcast.
    Special { bits: (u32::MAX as u128) << 96, len: 32, kept: 32 },
];

/// The same of IPv6.
const SPECIAL_V6: [Special; 5] = [
    // Unspecified and loopback.
    v6(0, 127, WHOLE),
    // Global unicast.
    v6(0x2000, 3, 3),
    // Unique local.
    v6(0xfc00, 7, 7),
    // Link-local, with the 54 zeros that follow (RFC 4291 §2.5.6).
    v6(0xfe80, 64, 64),
    // Multicast, with its flags and scope (RFC 4291 §2.7).
    v6(0xff00, 8, 16),
];

/// The bits of a hardware address that say whether it is a group's and whether it is local (IEEE 802), counted from the
/// left.
const CLASS_BITS: [u32; 2] = [6, 7];

impl Address {
    const fn parts(self) -> (u8, u128, u32, &'static [Special]) {
        match self {
            Self::V4(bits) => (4, bits, 32, &SPECIAL_V4),
            Self::V6(bits) => (6, bits, 128, &SPECIAL_V6),
            Self::Hardware(bits) => (48, bits, 48, &[]),
        }
    }
}

/// How many addresses were mapped, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// IPv4 addresses.
    pub v4: usize,
    /// IPv6 addresses.
    pub v6: usize,
    /// Hardware addresses.
    pub hardware: usize,
    /// There were more, which are not counted.
    pub are_more: bool,
}

/// Maps addresses by a key.
#[derive(Debug)]
pub struct AddressMap {
    hasher: SipHasher24,
    known: HashMap<Address, u128>,
    mapped: Mapped,
}

impl AddressMap {
    /// The map of a key.
    pub fn new(key: &Key) -> Self {
        let hasher = SipHasher24::new_with_key(key.bytes());
        Self { hasher, known: HashMap::new(), mapped: Mapped::default() }
    }

    /// How many addresses were mapped so far.
    pub fn mapped(&self) -> Mapped {
        self.mapped
    }

    /// The address that stands for this one.
    pub fn ip(&mut self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) => {
                let bits = self.remembered(Address::V4(u128::from(ip.to_bits()) << 96));
                Ipv4Addr::from_bits((bits >> 96) as u32).into()
            }
            IpAddr::V6(ip) => Ipv6Addr::from_bits(self.remembered(Address::V6(ip.to_bits()))).into(),
        }
    }

    /// The hardware address that stands for this one. That of all hosts and the empty one stay.
    pub fn hardware(&mut self, address: [u8; 6]) -> [u8; 6] {
        let [a, b, c, d, e, f] = address;
        let bits = u64::from_be_bytes([a, b, c, d, e, f, 0, 0]);
        let bits = self.remembered(Address::Hardware(u128::from(bits) << 64));
        let [a, b, c, d, e, f, ..] = bits.to_be_bytes();
        [a, b, c, d, e, f]
    }

    fn remembered(&mut self, address: Address) -> u128 {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let bits = match address {
            Address::Hardware(bits) => self.mapped_hardware(bits),
            other => self.flipped(other),
        };
        if self.known.len() < MOST_KNOWN {
            self.known.insert(address, bits);
            match address {
                Address::V4(_) => self.mapped.v4 += 1,
                Address::V6(_) => self.mapped.v6 += 1,
                Address::Hardware(_) => self.mapped.hardware += 1,
            }
        } else {
            self.mapped.are_more = true;
        }
        bits
    }

    /// The address of all hosts and the empty one stay. What would become one of them is mapped once more: the map remains
    /// one to one ("cycle walking"; Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
    fn mapped_hardware(&self, bits: u128) -> u128 {
        const ALL_HOSTS: u128 = ((1 << 48) - 1) << 80;
        let stays = |bits: u128| matches!(bits, 0 | ALL_HOSTS);
        if stays(bits) {
            return bits;
        }
        let mut mapped = self.flipped(Address::Hardware(bits));
        while stays(mapped) {
            mapped = self.flipped(Address::Hardware(mapped));
        }
        mapped
    }

    /// Flips bits by the bits before them.
    fn flipped(&self, address: Address) -> u128 {
        let (kind, bits, len, special) = address.parts();
        let mut mapped = bits;
        for place in 0..len {
            let prefix = leading(bits, place);
            let is_kept =
                special.iter().any(|special| special.keeps(place, bits)) || (kind == 48 && CLASS_BITS.contains(&place));
            let mut message = [0; 18];
            (message[0], message[1]) = (kind, place as u8);
            message[2..].copy_from_slice(&prefix.to_be_bytes());
            if !is_kept && self.hasher.hash(&message) & 1 == 1 {
                mapped ^= 1 << (127 - place);
            }
        }
        mapped
    }
}

impl Special {
    /// Whether the bit at this place is kept in an address with these bits. Bits behind it do not matter.
    const fn keeps(&self, place: u32, bits: u128) -> bool {
        if place < self.len {
            leading(bits, place) == leading(self.bits, place)
        } else {
            place < self.kept && leading(bits, self.len) == leading(self.bits, self.len)
        }
    }
}

/// The first `count` bits, with zeros behind them.
const fn leading(bits: u128, count: u32) -> u128 {
    match count {
        0 => 0,
        count => bits >> (128 - count) << (128 - count),
    }
}

#[cfg(test)]
mod tests;
