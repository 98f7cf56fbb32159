//! Views of the caller's memory as slices.

use crate::errno::{Errno, Outcome};
use libc::{c_void, iovec, size_t};

/// The `len` bytes at `bytes`.
///
/// # Safety
/// Either `bytes` is null, or `len` bytes can be read there until the call ends.
pub(super) unsafe fn bytes<'a>(bytes: *const c_void, len: size_t) -> Outcome<&'a [u8]> {
    match (bytes.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Errno::FAULT),
        // SAFETY: not null, and the caller says that `len` bytes can be read.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), len) }),
    }
}

/// The `len` bytes at `bytes`, for writing.
///
/// # Safety
/// Either `bytes` is null, or `len` bytes there are initialized or will not be read before they are
/// written, can be written until the call ends, and nobody else uses them.
pub(super) unsafe fn room<'a>(bytes: *mut c_void, len: size_t) -> Outcome<&'a mut [u8]> {
    match (bytes.is_null(), len) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(Errno::FAULT),
        // SAFETY: not null, the caller says that `len` bytes can be written and are ours alone; any
        // bit pattern is a byte.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(bytes.cast(), len) }),
    }
}

/// Writes `value` to `to`, unless that is null.
///
/// # Safety
/// `to` is null or a `T` can be written there.
pub(super) unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, and the caller says that a `T` can be written there. Unaligned, since C
        // callers hand out what they have.
        unsafe { to.write_unaligned(value) };
    }
}

/// The buffers of a vector.
///
/// # Safety
/// `vector` is null or `count` buffers can be read there.
pub(super) unsafe fn vector<'a>(vector: *const iovec, count: usize) -> Outcome<&'a [iovec]> {
    match (vector.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Errno::FAULT),
        // SAFETY: not null, and the caller says that `count` buffers can be read.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(vector, count) }),
    }
}

/// All bytes of a vector, one buffer after another.
///
/// # Safety
/// Each buffer is null or holds as many bytes as it says.
pub(super) unsafe fn gather(vector: &[iovec]) -> Outcome<Vec<u8>> {
    let mut all = Vec::new();
    for part in vector {
        // SAFETY: the caller says that the buffer holds as many bytes as it says.
        all.extend_from_slice(unsafe { bytes(part.iov_base, part.iov_len) }?);
    }
    Ok(all)
}

/// Bytes that fit in a vector.
pub(super) fn capacity(vector: &[iovec]) -> usize {
    let sizes = vector.iter().map(|part| part.iov_len);
    sizes.fold(0, usize::saturating_add)
}

/// Spreads `all` over the buffers of a vector.
///
/// # Safety
/// Each buffer is null or has room for as many bytes as it says, and is used by nobody else.
pub(super) unsafe fn scatter(vector: &[iovec], mut all: &[u8]) -> Outcome<()> {
    for part in vector {
        let count = part.iov_len.min(all.len());
        // SAFETY: the caller says that the buffer has the room, and `count` is not more.
        let room = unsafe { room(part.iov_base, count) }?;
        let (now, rest) = all.split_at(count);
        room.copy_from_slice(now);
        all = rest;
    }
    Ok(())
}
