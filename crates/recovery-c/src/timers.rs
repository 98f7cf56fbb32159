//! Timers and pacing: when the host must act without an ACK.

use crate::abi::Timer;
use crate::handle::{Handle, change, code, done, look};
use crate::pointers::{check, write};
use recoup_units::Instant;

/// Writes the earliest deadline and its timer, RECOUP_TIMER_…. The host may call recoup_on_timer() somewhat later.
///
/// Returns 1, or 0 if no timer runs, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_next_timer(sender: *const Handle, deadline_ns: *mut u64, timer: *mut i32) -> i32 {
    let ask = || {
        check(deadline_ns)?;
        check(timer)?;
        // SAFETY: the host says that `sender` points to a sender that nobody changes.
        let next = unsafe { look(sender, |sender| Ok(sender.next_timer())) }?;
        let Some((at, which)) = next else {
            return Ok(0);
        };
        // SAFETY: the host says that a timer can be written there.
        unsafe { write(timer, Timer::number(which)?) }?;
        // SAFETY: the host says that a time can be written there.
        unsafe { write(deadline_ns, at.as_nanos()) }?;
        Ok(1)
    };
    code::<i32>(ask())
}

/// A timer fired. Afterwards recoup_next_send() writes what to send. A timer that does not run, or whose deadline is
/// later, is ignored.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY, CONSTANT.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_on_timer(sender: *mut Handle, now_ns: u64, timer: i32) -> i32 {
    let tell = || {
        let timer = Timer::named(timer)?;
        // SAFETY: the host says that `sender` points to a sender that nobody uses.
        unsafe {
            change(sender, |sender| {
                sender.on_timer(Instant::from_nanos(now_ns), timer);
                Ok(())
            })
        }
    };
    done(tell())
}

/// Writes when the pacing rate lets the next segment leave: now, or later. It is now before the first RTT sample, for
/// the first ten segments after a pause, and if the settings do not ask for pacing. recoup_next_send() does not wait
/// for it, and no timer fires at it: the host waits.
///
/// Returns 0, or an error: NULL, MISALIGNED, NOT_A_SENDER, BUSY.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recoup_next_departure(sender: *const Handle, now_ns: u64, departure_ns: *mut u64) -> i32 {
    let now = Instant::from_nanos(now_ns);
    let ask = || {
        check(departure_ns)?;
        // SAFETY: the host says that `sender` points to a sender that nobody changes.
        let at = unsafe { look(sender, |sender| Ok(sender.next_departure(now))) }?;
        // SAFETY: the host says that a time can be written there.
        unsafe { write(departure_ns, at.as_nanos()) }
    };
    done(ask())
}
