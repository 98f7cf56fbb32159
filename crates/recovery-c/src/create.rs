//! Making senders, and freeing them.

use crate::abi::{Error, MOST_OUTSTANDING, Numbering, Settings, optional};
use crate::handle::{Handle, Mark, done, idle};
use crate::lent::{ALIGNMENT, Layout};
use crate::pointers::{check, read, text, write};
use core::ffi::c_void;
use core::time::Duration;
use recoup_recovery::{Mechanisms, Sender, Storage};
use recoup_units::Instant;

/// The largest segment, in bytes.
const MOST_BYTES: u32 = 1 << 30;

/// The bytes of memory that recoup_sender_init() needs for a sender with at most `most_outstanding` segments or packets
/// outstanding: 1 to RECOUP_MOST_OUTSTANDING. Returns 0 for other numbers.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn recoup_sender_size(most_outstanding: u32) -> usize {
    Layout::of(most_outstanding).map_or(0, |layout| layout.size)
}

/// The alignment of the memory for recoup_sender_init(), in bytes: its address must be a multiple of it.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub extern "C" fn recoup_sender_alignment() -> usize {
    ALIGNMENT
}

/// Makes a sender in memory of the host, and writes a pointer to it to `sender`. `length`: the bytes of memory.
/// Neither this call nor any later one with this sender uses the heap. The memory belongs to the sender until
/// recoup_sender_free(). A host that no longer uses the sender may also reuse the memory without that call.
///
/// Returns 0, or an error: NULL, MISALIGNED, TOO_SMALL, PROFILE, SETTINGS, CONSTANT, NEEDS_HEAP.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_sender_init(
    memory: *mut c_void,
    length: usize,
    settings: *const Settings,
    sender: *mut *mut Handle,
) -> i32 {
    let make = || {
        check(sender)?;
        // SAFETY: the host says that `settings` points to settings.
        let settings = unsafe { read(settings) }?;
        let (mut made, mechanisms) = made(&settings)?;
        let layout = Layout::of(settings.most_outstanding).ok_or(Error::Settings)?;
        // Copies, and what tells late segments of a stream from lost ones, keep lists on the heap.
        if mechanisms.slp.is_some() || (mechanisms.adaptive && !settings.packets()) {
            return Err(Error::NeedsHeap);
        }
        check(memory)?;
        if !memory.addr().is_multiple_of(ALIGNMENT) {
            return Err(Error::Misaligned);
        }
        if length < layout.size {
            return Err(Error::TooSmall);
        }
        // SAFETY: it is aligned and large enough, and the host lends it until the sender is freed.
        let (storage, given_up) = unsafe { layout.split(memory.cast()) };
        // Nothing is outstanding, so there is room for it.
        made.keep_in(storage).map_err(|_| Error::TooSmall)?;
        made.remember_in(given_up);
        let handle = memory.cast::<Handle>();
        // SAFETY: the first part of the memory is for a `Handle`, which no other part overlaps.
        unsafe { handle.write(Handle::new(Mark::LENT, settings.packets(), made)) };
        // SAFETY: checked above, and the host says that a pointer can be written there.
        unsafe { write(sender, handle) }
    };
    done(make())
}

/// Makes a sender on the heap, and writes a pointer to it to `sender`. If the heap is full, the process aborts.
/// recoup_sender_free() frees it.
///
/// Returns 0, or an error: NULL, MISALIGNED, PROFILE, SETTINGS, CONSTANT.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_sender_new(settings: *const Settings, sender: *mut *mut Handle) -> i32 {
    let make = || {
        check(sender)?;
        // SAFETY: the host says that `settings` points to settings.
        let settings = unsafe { read(settings) }?;
        let (mut made, _) = made(&settings)?;
        if settings.most_outstanding > 0 {
            // Nothing is outstanding, so there is room for it.
            let storage = Storage::with_capacity(settings.most_outstanding);
            made.keep_in(storage).map_err(|_| Error::Settings)?;
        }
        let handle = Box::new(Handle::new(Mark::HEAP, settings.packets(), made));
        // SAFETY: checked above, and the host says that a pointer can be written there.
        unsafe { write(sender, Box::into_raw(handle)) }
    };
    done(make())
}

/// Ends a sender. Memory on the heap is freed; memory of the host belongs to the host again. Does nothing if `sender`
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

/// The sender that `settings` describe, with memory that it owns, and its mechanisms. It has used no heap.
fn made(settings: &Settings) -> Result<(Sender, Mechanisms), Error> {
    // SAFETY: the host says that `profile` is a C string.
    let name = unsafe { text(settings.profile) }?;
    let mechanisms = Mechanisms::of_profile(name).ok_or(Error::Profile)?;
    let fits = (1..=MOST_BYTES).contains(&settings.segment_size) && settings.most_outstanding <= MOST_OUTSTANDING;
    if !fits {
        return Err(Error::Settings);
    }
    let now = Instant::from_nanos(settings.now_ns);
    let mut sender = if settings.numbering == Numbering::Bytes as i32 {
        Sender::established(now, &mechanisms, settings.segment_size, settings.window)
    } else if settings.packets() {
        Sender::of_packets(now, &mechanisms, settings.segment_size)
    } else {
        return Err(Error::Constant);
    };
    sender.count_bytes(settings.count_bytes != 0);
    sender.set_paced(settings.paced != 0);
    if let Some(rtt) = optional(settings.first_rtt_ns) {
        sender.seed_rtt(Duration::from_nanos(rtt));
    }
    Ok((sender, mechanisms))
}
