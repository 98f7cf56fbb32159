//! The network and the clock.

use super::{memory, nothing};
use crate::{errno::Errno, runtime::RUNTIME};
use libc::{c_int, c_longlong, c_uint, c_void, size_t, timeval, timezone};
use recoup_units::Instant;
use std::time::Duration;

/// The date at which virtual time begins, in µs: one late enough that nothing subtracted from it is
/// negative.
const EPOCH_MICROS: u64 = 1_000_000_000_000_000;

fn micros(at: Instant) -> u64 {
    EPOCH_MICROS + at.as_nanos() / 1000
}

/// Injects an IP packet.
pub(super) unsafe extern "C" fn netdev_send(_: *mut c_void, packet: *const c_void, len: size_t) -> c_int {
    // SAFETY: packetdrill hands over a packet of `len` bytes.
    nothing(unsafe { memory::bytes(packet, len) }.and_then(|bytes| RUNTIME.inject(bytes)))
}

/// The next packet that leaves, and when it left. Zero bytes: none ever will.
pub(super) unsafe extern "C" fn netdev_receive(
    _: *mut c_void,
    packet: *mut c_void,
    len: *mut size_t,
    time_micros: *mut c_longlong,
) -> c_int {
    if len.is_null() {
        return nothing(Err(Errno::FAULT));
    }
    // SAFETY: not null; packetdrill says there how many bytes it has room for.
    let room = unsafe { len.read_unaligned() };
    let next = RUNTIME.next_packet();
    let at = next.as_ref().map(|packet| packet.at);
    let bytes = next.map(|packet| packet.bytes).unwrap_or_default();
    let count = bytes.len().min(room);
    // SAFETY: packetdrill has `room` bytes at `packet`, and `count` is not more.
    let copied = unsafe { memory::room(packet, count) }.map(|out| {
        out.copy_from_slice(&bytes[..count]);
    });
    // SAFETY: packetdrill reads count and time from where it pointed to.
    unsafe {
        memory::put(len, count);
        memory::put(time_micros, at.map_or(0, micros) as c_longlong);
    }
    nothing(copied)
}

/// Lets time pass.
pub(super) unsafe extern "C" fn usleep(_: *mut c_void, micros: c_uint) -> c_int {
    RUNTIME.sleep(Duration::from_micros(u64::from(micros)));
    0
}

/// The time.
pub(super) unsafe extern "C" fn gettimeofday(_: *mut c_void, time: *mut timeval, _zone: *mut timezone) -> c_int {
    let now = micros(RUNTIME.time());
    let value = timeval { tv_sec: (now / 1_000_000) as libc::time_t, tv_usec: (now % 1_000_000) as libc::suseconds_t };
    // SAFETY: packetdrill hands over room for a time, or null.
    unsafe { memory::put(time, value) };
    0
}
