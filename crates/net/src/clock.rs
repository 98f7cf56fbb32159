//! The system's monotonic clock as [`Instant`]s, and waking on time by it.

use std::{num::NonZeroU64, time::Duration};

use recoup_units::Instant;
use rustix::{
    event::Timespec,
    thread::set_current_timer_slack,
    time::{ClockId, clock_gettime},
};

/// The time since the clock was started, by CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// CLOCK_MONOTONIC in nanoseconds at [`Instant::ZERO`].
    zero: u64,
}

impl Clock {
    /// A clock whose time is [`Instant::ZERO`] now.
    pub fn start() -> Self {
        Self { zero: monotonic() }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic().saturating_sub(self.zero))
    }

    /// CLOCK_MONOTONIC in nanoseconds at `at`.
    pub(crate) const fn monotonic(&self, at: Instant) -> u64 {
        self.zero.saturating_add(at.as_nanos())
    }
}

/// Asks the system to wake the calling thread on time and before other threads: no timer slack, and
/// real-time scheduling (sched(7)), which needs root. Returns whether it was given real-time scheduling.
/// Without, the thread works, but later: the delivery error shows by how much.
pub fn be_punctual() -> bool {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    // The kernel's `sched_param`: the priority, here the lowest one.
    let lowest: libc::c_int = 1;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads one `sched_param`, which lives until the call returns; process 0 is the
    // calling thread. Processes it starts are scheduled as ever. musl's function of this name always fails, so
    // this calls the kernel.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const lowest) == 0 }
}

/// The longest time that a thread stays awake before an event is due.
const LEAD: Duration = Duration::from_micros(60);

/// The most time awake that can be saved up.
const MOST_CREDIT: Duration = Duration::from_millis(4);

/// Decides between sleeping and staying awake until something is due.
///
/// A sleeping thread is woken late: by a few microseconds on an idle processor, by 30 to 60 µs on a
/// virtual one, which its host must schedule first. So the thread stays awake for the last microseconds,
/// but for no more than a quarter of the time. A real-time thread that never sleeps keeps others from
/// the processor, until the system stops it for 50 ms (sched(7), sched_rt_runtime_us). The less of the
/// quarter is left, the shorter the time awake: every packet is then a little late, and none is very
/// late.
#[derive(Debug)]
pub(crate) struct Vigil {
    /// When [`Vigil::sleep`] was last called, and whether it said to stay awake.
    last: (Instant, bool),
    credit: Duration,
}

impl Vigil {
    /// Starts at `now`; `None` unless `allowed`. An ordinary thread must not stay awake: the scheduler
    /// would make it wait for that later.
    pub fn new(now: Instant, allowed: bool) -> Option<Self> {
        let vigil = Self { last: (now, false), credit: Duration::ZERO };
        allowed.then_some(vigil)
    }

    /// The longest time to sleep at `now` if an event is due after `wait`: zero if it is near.
    pub fn sleep(&mut self, now: Instant, wait: Duration) -> Duration {
        let (before, awake) = self.last;
        let passed = now.since(before);
        self.credit =
            if awake { self.credit.saturating_sub(passed) } else { (self.credit + passed / 3).min(MOST_CREDIT) };
        let lead = LEAD.mul_f64(self.credit.div_duration_f64(MOST_CREDIT));
        let sleep = wait.saturating_sub(lead);
        self.last = (now, sleep.is_zero() && !wait.is_zero());
        sleep
    }
}

/// A time to wait, as ppoll(2) takes it.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: wait.subsec_nanos().into() }
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // It counts from the system's start, so neither part is negative.
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests;
