//! The kernel's time since it started, as the time since 1970.

use recoup_units::Instant;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// How often the clocks are compared. The narrowest comparison counts, because the program may be interrupted in between.
const COMPARISONS: usize = 5;

/// What `CLOCK_REALTIME` is ahead of `CLOCK_BOOTTIME`, in nanoseconds (clock_gettime(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootOffset(i64);

impl BootOffset {
    /// As it is now. It changes when the clock is set.
    pub fn now() -> Self {
        let compare = || {
            let before = nanos(clock_gettime(ClockId::Boottime));
            let real = nanos(clock_gettime(ClockId::Realtime));
            let after = nanos(clock_gettime(ClockId::Boottime));
            (after - before, real - (before + (after - before) / 2))
        };
        let narrowest = (0..COMPARISONS).map(|_| compare()).min_by_key(|(width, _)| *width);
        Self(narrowest.map_or(0, |(_, offset)| offset))
    }

    /// The time since 1970 at this many nanoseconds since the kernel started.
    pub fn instant(self, boot_nanos: u64) -> Instant {
        Instant::from_nanos(boot_nanos.saturating_add_signed(self.0))
    }
}

fn nanos(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_kernels_time_becomes_the_time_since_1970() {
        let boot = nanos(clock_gettime(ClockId::Boottime)) as u64;
        let system = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let converted = BootOffset::now().instant(boot);
        let difference = Duration::from_nanos(converted.as_nanos()).abs_diff(system);
        assert!(difference < Duration::from_millis(20), "{difference:?}");
    }
}
