//! Converts socket addresses to and from their C form.

use super::memory;
use crate::errno::{Errno, Outcome};
use libc::{AF_INET, AF_INET6, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// The bytes of the address family.
const FAMILY: std::ops::Range<usize> = 0..2;
/// The bytes of the port, for IPv4 and IPv6.
const PORT: std::ops::Range<usize> = 2..4;
const V4_ADDRESS: std::ops::Range<usize> = 4..8;
const V6_ADDRESS: std::ops::Range<usize> = 8..24;

/// The address at `address`.
///
/// # Safety
/// `address` is null or `len` bytes can be read there.
pub(super) unsafe fn read(address: *const sockaddr, len: socklen_t) -> Outcome<SocketAddr> {
    // SAFETY: the caller guarantees it.
    let bytes = unsafe { memory::bytes(address.cast(), len as usize) }?;
    let two = |at: std::ops::Range<usize>| bytes.get(at)?.first_chunk::<2>().copied();
    let family = two(FAMILY).ok_or(Errno::INVALID)?;
    let port = u16::from_be_bytes(two(PORT).ok_or(Errno::INVALID)?);
    match i32::from(u16::from_ne_bytes(family)) {
        AF_INET => {
            let ip = bytes.get(V4_ADDRESS).and_then(|b| b.first_chunk::<4>());
            let ip = Ipv4Addr::from(*ip.ok_or(Errno::INVALID)?);
            Ok(SocketAddr::new(ip.into(), port))
        }
        AF_INET6 => {
            let ip = bytes.get(V6_ADDRESS).and_then(|b| b.first_chunk::<16>());
            let ip = Ipv6Addr::from(*ip.ok_or(Errno::INVALID)?);
            Ok(SocketAddr::new(ip.into(), port))
        }
        _ => Err(Errno::ADDRESS_FAMILY),
    }
}

/// Writes `from` to `address`, truncated to the space there, and its length to `len`.
///
/// # Safety
/// Both are null, or `*len` bytes can be written at `address` and `len` can be read and written.
pub(super) unsafe fn write(from: SocketAddr, address: *mut sockaddr, len: *mut socklen_t) -> Outcome<()> {
    if address.is_null() || len.is_null() {
        return Ok(());
    }
    let mut bytes = [0u8; size_of::<sockaddr_in6>()];
    let (family, size) = match from {
        SocketAddr::V4(v4) => {
            bytes[V4_ADDRESS].copy_from_slice(&v4.ip().octets());
            (AF_INET, size_of::<sockaddr_in>())
        }
        SocketAddr::V6(v6) => {
            bytes[V6_ADDRESS].copy_from_slice(&v6.ip().octets());
            (AF_INET6, size_of::<sockaddr_in6>())
        }
    };
    bytes[FAMILY].copy_from_slice(&(family as u16).to_ne_bytes());
    bytes[PORT].copy_from_slice(&from.port().to_be_bytes());
    // SAFETY: not null, and the caller says that a length can be read there.
    let room = unsafe { len.read_unaligned() } as usize;
    // SAFETY: the caller says that `room` bytes can be written at `address`.
    let out = unsafe { memory::room(address.cast(), room.min(size)) }?;
    out.copy_from_slice(&bytes[..out.len()]);
    // SAFETY: the caller says that the length can be written.
    unsafe { memory::put(len, size as socklen_t) };
    Ok(())
}
