//! The addresses of an emulator.
//!
//! Each emulator takes a block of IPv4 addresses in 100.64.0.0/10 (RFC 6598: shared address space, which
//! no internet host has) and the corresponding block of IPv6 addresses in a unique local prefix (RFC
//! 4193). Both blocks are routed to the inside as a whole. So an emulator within another takes a part of
//! its parent's block, and no addresses are translated:
//!
//! | depth            | 1   | 2   | 3   | 4   | 5   | 6   |
//! |------------------|-----|-----|-----|-----|-----|-----|
//! | IPv4 block       | /16 | /19 | /22 | /25 | /28 | /30 |
//! | IPv6 block       | /64 | /67 | /70 | /73 | /76 | /78 |
//! | side by side     | 64  | 7   | 7   | 7   | 7   | 3   |
//!
//! The first eighth of a block has the addresses of the emulator's own two ends. The outer end has the
//! first, always. The inner end's address moves on from one emulator to the next: packets that
//! connections of an earlier emulator still send go to another address, and are kept off the path.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::{
    NetError,
    netlink::{Assigned, Netlink},
};

/// The network of all top-level blocks.
const SHARED: Block = Block { base: Ipv4Addr::new(100, 64, 0, 0), len: 10, inner: INNER };

/// The first place in a block that the inner end's address may have.
const INNER: u32 = 2;

/// The prefix length of a top-level block.
const TOP_LEN: u8 = 16;

/// The prefix length of the smallest block, which has addresses 1 and 2 for the two ends.
const LEAST_LEN: u8 = 30;

/// How many bits longer the prefix of a block within another is.
const STEP: u8 = 3;

/// How many blocks there are within another. The first part is for the other's own ends.
pub(crate) const SIBLINGS: u32 = (1 << STEP) - 1;

/// The first 48 bits of the IPv6 blocks; the IPv4 block follows. The 40 bits after fd are the letters
/// `Recou`.
const UNIQUE_LOCAL: u128 = 0xfd52_6563_6f75 << 80;

/// A block of IPv4 addresses and the corresponding one of IPv6 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    base: Ipv4Addr,
    len: u8,
    /// Where the inner end's address is in the block.
    inner: u32,
}

/// The addresses of an emulator's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses<T> {
    /// The address of the end in the caller's namespace.
    pub outside: T,
    /// The address of the end in the new namespace.
    pub inside: T,
}

impl Block {
    /// Its first IPv4 address and prefix length.
    pub const fn v4(self) -> (Ipv4Addr, u8) {
        (self.base, self.len)
    }

    /// Its first IPv6 address and prefix length.
    pub fn v6(self) -> (Ipv6Addr, u8) {
        let embedded = u128::from(self.base.to_bits()) << 48;
        (Ipv6Addr::from_bits(UNIQUE_LOCAL | embedded), self.len + 48)
    }

    /// The IPv4 addresses of both ends.
    pub fn ends_v4(self) -> Addresses<Ipv4Addr> {
        let base = self.base.to_bits();
        Addresses { outside: Ipv4Addr::from_bits(base + 1), inside: Ipv4Addr::from_bits(base + self.inner) }
    }

    /// The IPv6 addresses of both ends.
    pub fn ends_v6(self) -> Addresses<Ipv6Addr> {
        let base = self.v6().0.to_bits();
        Addresses { outside: Ipv6Addr::from_bits(base + 1), inside: Ipv6Addr::from_bits(base + u128::from(self.inner)) }
    }

    /// This block, where the address of the inner end is the one for the emulator of this number.
    pub(crate) const fn numbered(self, number: u32) -> Self {
        // Neither the first two addresses of the part for the ends, nor its last.
        let addresses = (1 << (32 - self.part_len())) - INNER - 1;
        Self { inner: INNER + number % addresses, ..self }
    }

    /// The prefix length of the blocks within.
    const fn part_len(self) -> u8 {
        let len = self.len + STEP;
        if len < LEAST_LEN { len } else { LEAST_LEN }
    }

    /// Whether an address is one that the inner end of an earlier emulator may have had.
    pub(crate) fn was_inner_end(self, address: IpAddr) -> bool {
        let shift = 32 - u32::from(self.part_len());
        match address {
            IpAddr::V4(address) => {
                let ends = self.ends_v4();
                address.to_bits() >> shift == self.base.to_bits() >> shift
                    && ![ends.inside, ends.outside].contains(&address)
            }
            IpAddr::V6(address) => {
                let (ends, shift) = (self.ends_v6(), shift + 48);
                address.to_bits() >> shift == self.v6().0.to_bits() >> shift
                    && ![ends.inside, ends.outside].contains(&address)
            }
        }
    }

    /// The block of prefix length `len` that contains an address.
    fn around(address: Ipv4Addr, len: u8) -> Self {
        let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
        Self { base: Ipv4Addr::from_bits(address.to_bits() & mask), len, inner: INNER }
    }

    fn contains(self, other: Self) -> bool {
        self.len <= other.len && Self::around(other.base, self.len).base == self.base
    }

    /// The blocks of prefix length `len` within, in order.
    fn parts(self, len: u8) -> impl Iterator<Item = Self> {
        let count = 1u32 << (len - self.len);
        let base = self.base.to_bits();
        (0..count).map(move |i| Self { base: Ipv4Addr::from_bits(base + (i << (32 - len))), len, inner: INNER })
    }
}

/// The prefix of emulators' interface names.
pub(crate) const INTERFACE: &str = "recoup";

/// The blocks an emulator in this namespace may take, in order of preference. Another emulator may take
/// one at the same moment; adding the route fails then.
fn candidates(netlink: &mut Netlink) -> Result<Vec<Block>, NetError> {
    let own = own_block(&netlink.addresses()?);
    let routed = netlink.routes()?;
    let routed = routed.into_iter().filter_map(|(network, len)| match network {
        IpAddr::V4(network) => Some(Block::around(network, len)),
        IpAddr::V6(_) => None,
    });
    free(own, &routed.collect::<Vec<_>>())
}

/// Routes the first free block to an interface and gives the interface its first addresses. With `len`, the
/// block is only the first part of that prefix length. Second: whether the system has IPv6.
pub(crate) fn take(netlink: &mut Netlink, index: u32, len: Option<u8>) -> Result<(Block, bool), NetError> {
    for block in candidates(netlink)? {
        let block = Block { len: len.unwrap_or(block.len).max(block.len), ..block };
        let (network, len) = block.v4();
        match netlink.add_route(network.into(), len, index) {
            Ok(()) => {}
            // Another emulator took it first.
            Err(NetError::System { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                continue;
            }
            Err(e) => return Err(e),
        }
        netlink.add_address(index, block.ends_v4().outside.into(), 32)?;
        let (network, len) = block.v6();
        let ipv6 = netlink
            .add_address(index, block.ends_v6().outside.into(), 128)
            .and_then(|()| netlink.add_route(network.into(), len, index));
        return Ok((block, ipv6.is_ok()));
    }
    Err(NetError::NoBlock)
}

/// The block of the emulator that made this namespace: the network of its inner interface's address.
fn own_block(addresses: &[Assigned]) -> Option<Block> {
    addresses.iter().find_map(|assigned| {
        let IpAddr::V4(address) = assigned.address else {
            return None;
        };
        let block = Block::around(address, assigned.prefix_len);
        let ours = assigned.interface.starts_with(INTERFACE) && assigned.interface.ends_with('i');
        (ours && SHARED.contains(block)).then_some(block)
    })
}

fn free(own: Option<Block>, routed: &[Block]) -> Result<Vec<Block>, NetError> {
    let (parent, len) = match own {
        None => (SHARED, TOP_LEN),
        Some(own) if own.len >= LEAST_LEN => return Err(NetError::NestedTooDeep),
        Some(own) => (own, own.part_len()),
    };
    let taken = |block: Block| {
        // A route to the parent's whole block is no obstacle: the new route is more specific.
        let others = routed.iter().filter(|other| !other.contains(parent));
        let mut others = others.filter(|other| own.is_none_or(|own| own.contains(**other)));
        others.any(|other| other.contains(block) || block.contains(*other))
    };
    // The first part of a parent's block has the addresses of its own ends.
    let first = usize::from(own.is_some());
    let free: Vec<Block> = parent.parts(len).skip(first).filter(|b| !taken(*b)).collect();
    match (free.is_empty(), own) {
        (false, _) => Ok(free),
        (true, None) => Err(NetError::NoBlock),
        (true, Some(_)) => Err(NetError::NestedTooDeep),
    }
}

#[cfg(test)]
mod tests;
