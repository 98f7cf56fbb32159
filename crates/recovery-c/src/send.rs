//! Sending: what waits, what to send, what was sent, what is lost.

use crate::abi::{Error, Packet, Transmission, span};
use crate::handle::{Handle, change, code, done, look, numbers};
use crate::pointers::{check, read, write};
use recoup_units::Instant;

/// `count` more bytes or packets wait to be sent.
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

/// The host takes back the last `count` bytes or packets that wait to be sent, or all of them if there are fewer.
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

/// Writes to `what` the transmission that the sender would make now. The call changes nothing.
///
/// Returns 1, or 0 if nothing is to be sent, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_next_send(sender: *const Handle, now_ns: u64, what: *mut Transmission) -> i32 {
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

/// The host sent `what`, which recoup_next_send() wrote. `size`: its bytes, with or without headers. `token`: any
/// number by which the host recognizes its contents.
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

/// Takes out the lowest lost segment or packet, and writes it to `lost`. The sender neither retransmits it nor waits
/// for it any longer. Where packets are numbered, the host calls this after each ACK and each timer until it returns
/// 0. To send the contents of a lost packet again, it calls recoup_written() with one packet for each.
///
/// Returns 1, or 0 if nothing is lost, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_take_lost(sender: *mut Handle, now_ns: u64, lost: *mut Packet) -> i32 {
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

/// Retransmits none of the outstanding segments inside `start` to `end` from now on. The host tells its peer not to
/// wait for them. A segment in flight counts as in flight until it is acknowledged or lost.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, POSITION, NUMBERING.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_abandon(sender: *mut Handle, now_ns: u64, start: u64, end: u64) -> i32 {
    let tell = || -> Result<(), Error> {
        let span = span(start, end)?;
        // SAFETY: the host says that `sender` points to a sender that nobody uses.
        unsafe {
            numbers(sender, false)?;
            change(sender, |sender| {
                sender.abandon(Instant::from_nanos(now_ns), span);
                Ok(())
            })
        }
    };
    done(tell())
}
