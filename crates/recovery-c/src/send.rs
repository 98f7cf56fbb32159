//! Sending: what waits, what to send, what was sent, what is lost.

use crate::abi::{Error, Packet, Transmission, span};
use crate::handle::{Handle, change, code, done, look};
use crate::pointers::{check, read, write};
use recoup_units::Instant;

/// `count` more bytes, or packets, wait to be sent.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_written(sender: *mut Handle, now_ns: u64, count: u64) -> i32 {
    // SAFETY: the host says that `sender` points to a sender that nobody uses.
    done(unsafe {
        change(sender, |sender| {
            sender.on_written(Instant::from_nanos(now_ns), count);
            Ok(())
        })
    })
}

/// The host takes back `count` bytes, or packets, that wait to be sent, or all of them if there are fewer.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_withdrawn(sender: *mut Handle, now_ns: u64, count: u64) -> i32 {
    // SAFETY: the host says that `sender` points to a sender that nobody uses.
    done(unsafe {
        change(sender, |sender| {
            sender.on_withdrawn(Instant::from_nanos(now_ns), count);
            Ok(())
        })
    })
}

/// Writes to `what` what the sender would send now. Asking changes nothing. The answer stays the same until an ACK,
/// a timer, a write or a transmission.
///
/// Returns 1, or 0 if nothing is to be sent, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_next_send(
    sender: *const Handle,
    now_ns: u64,
    what: *mut Transmission,
) -> i32 {
    let now = Instant::from_nanos(now_ns);
    let ask = || {
        check(what)?;
        // SAFETY: the host says that `sender` points to a sender that nobody changes.
        match unsafe { look(sender, |sender| Ok(sender.next_send(now))) }? {
            // SAFETY: the host says that a transmission can be written there.
            Some(next) => unsafe { write(what, next.into()) }.map(|()| 1),
            None => Ok(0),
        }
    };
    code::<i32>(ask())
}

/// Something was sent: what recoup_next_send() wrote. `size`: its bytes, headers included if the host likes.
/// `token`: anything by which the host knows it again.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, CONSTANT, NOT_NEXT, REPEATED, GIVEN_UP,
/// FULL, NOT_OUTSTANDING, REFUSED.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_on_sent(
    sender: *mut Handle,
    now_ns: u64,
    what: *const Transmission,
    size: u32,
    token: u64,
) -> i32 {
    let now = Instant::from_nanos(now_ns);
    let tell = || {
        // SAFETY: the host says that `what` points to a transmission.
        let what = unsafe { read(what) }?.try_into()?;
        // SAFETY: the host says that `sender` points to a sender that nobody uses.
        unsafe {
            change(sender, |sender| {
                sender.on_packet_sent(now, what, size, token)?;
                Ok(())
            })
        }
    };
    done(tell())
}

/// Takes out the first lost segment or packet, and writes it to `lost`. The sender does not send it again, and waits
/// for it no longer. Where packets are numbered, the host calls this after each ACK and timer until it returns 0.
///
/// Returns 1, or 0 if nothing is lost, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_take_lost(
    sender: *mut Handle,
    now_ns: u64,
    lost: *mut Packet,
) -> i32 {
    let now = Instant::from_nanos(now_ns);
    let take = || {
        check(lost)?;
        // SAFETY: the host says that `sender` points to a sender that nobody uses.
        match unsafe { change(sender, |sender| Ok(sender.take_lost(now))) }? {
            // SAFETY: the host says that a packet can be written there.
            Some(packet) => unsafe { write(lost, (&packet).into()) }.map(|()| 1),
            None => Ok(0),
        }
    };
    code::<i32>(take())
}

/// The outstanding segments inside `start` to `end` are never to be sent again, because the host has told its peer
/// to go on without them. One in flight still counts as in flight until it is acknowledged or lost.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_abandon(
    sender: *mut Handle,
    now_ns: u64,
    start: u64,
    end: u64,
) -> i32 {
    let tell = || -> Result<(), Error> {
        let span = span(start, end)?;
        // SAFETY: the host says that `sender` points to a sender that nobody uses.
        unsafe {
            change(sender, |sender| {
                sender.abandon(Instant::from_nanos(now_ns), span);
                Ok(())
            })
        }
    };
    done(tell())
}
