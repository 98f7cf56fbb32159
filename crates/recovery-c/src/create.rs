//! Making senders, and freeing them.

use crate::abi::{Error, MOST_OUTSTANDING, NONE, Numbering, Settings};
use crate::handle::{Handle, Mark, done, idle};
use crate::pointers::{check, read, text, write};
use core::time::Duration;
use recoup_recovery::{Mechanisms, Sender};
use recoup_units::Instant;

/// The largest segment, in bytes.
const MOST_BYTES: u32 = 1 << 30;

/// Makes a sender on the heap, and writes where it is to `sender`. If the heap is full, the process aborts.
/// recoup_sender_free() frees it.
///
/// Returns 0, or an error: NULL, MISALIGNED, PROFILE, SETTINGS, CONSTANT.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_sender_new(
    settings: *const Settings,
    sender: *mut *mut Handle,
) -> i32 {
    let make = || {
        check(sender)?;
        // SAFETY: the host says that `settings` points to settings.
        let settings = unsafe { read(settings) }?;
        let made = made(&settings)?;
        let handle = Box::new(Handle::new(Mark::HEAP, made));
        // SAFETY: checked above, and the host says that a pointer can be written there.
        unsafe { write(sender, Box::into_raw(handle)) }
    };
    done(make())
}

/// Ends a sender. One on the heap is freed; the memory of another is the host's again. Nothing happens if `sender`
/// is null.
///
/// Returns 0, or an error: MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_sender_free(sender: *mut Handle) -> i32 {
    if sender.is_null() {
        return 0;
    }
    // SAFETY: the host says that `sender` points to a sender that nobody uses.
    done(unsafe { idle(sender) }.map(|mark| {
        // SAFETY: `idle` says that a `Handle` lies there, and the host that nobody else uses it.
        unsafe { (&raw mut (*sender).mark).write(Mark::GONE) };
        match mark {
            // SAFETY: `recoup_sender_new` made it with a box. This is the first time that it is freed, because that
            // takes the mark away.
            Mark::HEAP => drop(unsafe { Box::from_raw(sender) }),
            // SAFETY: a `Handle` lies there, and it is dropped once, as before.
            _ => unsafe { sender.drop_in_place() },
        }
    }))
}

/// The sender that `settings` describe.
fn made(settings: &Settings) -> Result<Sender, Error> {
    // SAFETY: the host says that `profile` is a C string.
    let name = unsafe { text(settings.profile) }?;
    let mechanisms = Mechanisms::of_profile(name).ok_or(Error::Profile)?;
    let fits = (1..=MOST_BYTES).contains(&settings.segment_size)
        && settings.most_outstanding <= MOST_OUTSTANDING;
    if !fits {
        return Err(Error::Settings);
    }
    let now = Instant::from_nanos(settings.now_ns);
    let mut sender = if settings.numbering == Numbering::Bytes as i32 {
        Sender::established(now, &mechanisms, settings.segment_size, settings.window)
    } else if settings.numbering == Numbering::Packets as i32 {
        Sender::of_packets(now, &mechanisms, settings.segment_size)
    } else {
        return Err(Error::Constant);
    };
    sender.set_paced(settings.paced != 0);
    if settings.first_rtt_ns != NONE {
        sender.seed_rtt(Duration::from_nanos(settings.first_rtt_ns));
    }
    Ok(sender)
}
