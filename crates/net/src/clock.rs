//! The system's monotonic clock as [`Instant`]s, and being on time by it.

use std::num::NonZeroU64;
use std::time::Duration;

use recoup_units::Instant;
use rustix::event::Timespec;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

/// Tells the time since it was made, by CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What CLOCK_MONOTONIC said at [`Instant::ZERO`], in nanoseconds.
    zero: u64,
}

impl Clock {
    /// A clock that says [`Instant::ZERO`] now.
    pub fn start() -> Self {
        Self { zero: monotonic() }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic().saturating_sub(self.zero))
    }
}

/// Asks the system to wake the calling thread on time and before others: no timer slack, and real
/// time scheduling (sched(7)), which needs root. Where it refuses, the delivery error tells.
pub(crate) fn be_punctual() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let lowest = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads one `sched_param`, which lives until the call returns; process 0 is the
    // calling thread. Processes it starts are scheduled as ever.
    unsafe { libc::sched_setscheduler(0, policy, &raw const lowest) };
}

/// How long to wait, as ppoll(2) is told.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec {
        tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // It counts from the system's start: neither part is negative.
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
