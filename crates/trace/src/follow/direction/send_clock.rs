//! When a sender sent what passed a capture point away from it.
//!
//! The timestamp value of a segment is the sender's clock when it sent the segment (RFC 7323 §3.2).
//! So two values show how far apart two segments were sent, whatever happened to them on the way.
//! The segment that took least time on its way ties that clock to the capture's. A segment that
//! passed later than its timestamp allows was held up by the difference.

use crate::attribute::tape::Departure;
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The ticks of timestamp clocks, in ns, and the fewest ticks a second that count as each (RFC 7323
/// §5.4: between 1 ms and 1 s. Linux 6.7 may use 1 µs).
const TICKS: [(u64, i64); 5] =
    [(1_000, 300_000), (1_000_000, 500), (4_000_000, 160), (10_000_000, 40), (100_000_000, 5)];

/// Ticks a second that no clock has.
const TOO_FAST: i64 = 3_000_000;

/// The shortest time in which the length of a tick can be measured, in ns.
const LEAST_TIME: u64 = 300_000_000;

/// The least time for the tick of most hosts, 1 ms: packets held up meanwhile cannot be mistaken for another
/// clock.
const LEAST_TIME_USUAL: u64 = 30_000_000;

/// The time over which the length of a tick is measured instead of known, in ns...
const MEASURED: u64 = 5_000_000_000;

/// ...and the fewest ticks...
const LEAST_TICKS: u64 = 512;

/// ...if it differs from the known one by more than this fraction (1/n): some clocks have ticks of 1.024 ms.
const ODD: u64 = 64;

/// That tick in ns.
const USUAL_TICK: u64 = 1_000_000;

/// The time over which the shortest way is taken, in ns. Clocks drift apart by less than a tick in
/// it.
const PERIOD: u64 = 10_000_000_000;

/// The timestamp clock of a sender, by the clock of the capture.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct SendClock {
    /// The first value, and when it passed.
    first: Option<(u32, Instant)>,
    /// The length of a tick in ns; 0 while unknown.
    tick: u64,
    /// When the tick is measured again, in ns since the first value.
    measured_at: u64,
    /// When this period began, in ns since the first value.
    began: u64,
    /// The least delay in this period and in the one before, in ns relative to the first value's.
    least: i64,
    before: i64,
}

impl SendClock {
    /// A segment with timestamp `value` passed at `at`. Returns when it would have passed if it had not been
    /// held up.
    #[inline]
    pub fn on_segment(&mut self, value: u32, at: Instant) -> Departure {
        let &mut (first_value, first_at) = self.first.get_or_insert((value, at));
        let elapsed = at.nanos_since(first_at);
        let ticks = i64::from(value.wrapping_sub(first_value).cast_signed());
        if elapsed >= self.measured_at {
            self.measure(ticks, elapsed);
        }
        if self.tick == 0 {
            return Departure::unknown(at);
        }
        let delay = self.delay(ticks, elapsed);
        let age = elapsed.saturating_sub(self.began);
        if age > PERIOD {
            self.begin_period(age, delay, elapsed);
        }
        self.least = self.least.min(delay);
        self.departure(at, delay)
    }

    /// A period begins with a segment that took `delay`; the last one began `age` ns before.
    #[cold]
    fn begin_period(&mut self, age: u64, delay: i64, elapsed: u64) {
        self.before = if age > 2 * PERIOD { delay } else { self.least };
        self.least = delay;
        self.began = elapsed;
    }

    /// Measures the tick, and starts the delays again if it is another one.
    #[cold]
    fn measure(&mut self, ticks: i64, elapsed: u64) {
        self.measured_at = LEAST_TIME_USUAL.max(elapsed.saturating_mul(2));
        let measured = elapsed;
        let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
        let rate = ticks.saturating_mul(1_000_000) / (elapsed / 1000).max(1);
        let known = TICKS.iter().find(|(_, least)| rate >= *least);
        let known = known.filter(|(tick, _)| {
            let seen_enough = *tick == USUAL_TICK || measured >= LEAST_TIME;
            seen_enough && rate <= TOO_FAST
        });
        let tick = known.map_or(self.tick, |(tick, _)| measured_tick(*tick, ticks, measured));
        if tick != self.tick {
            self.tick = tick;
            self.began = elapsed.cast_unsigned();
            let delay = self.delay(ticks, self.began);
            // The first segment took its time, too.
            self.least = delay.min(0);
            self.before = self.least;
        }
    }

    /// How much later a segment with timestamp `value` passed at `at` than the one that took least time, in ns, but not longer
    /// than since the first one; 0 unless the tick is a usual one: a stall at the beginning makes clocks seem slow.
    pub fn held_up(&self, value: Option<u32>, at: Instant) -> u64 {
        match (self.tick, self.first) {
            (1..=USUAL_TICK, Some((_, first_at))) => {
                at.nanos_since(self.unhindered(value, at).at).min(at.nanos_since(first_at))
            }
            _ => 0,
        }
    }

    fn delay(&self, ticks: i64, elapsed: u64) -> i64 {
        let sent = ticks.saturating_mul(self.tick.cast_signed());
        elapsed.cast_signed().saturating_sub(sent)
    }

    /// The time between the timestamp values `from` and `to`, if the clock is known.
    pub fn between(&self, from: u32, to: u32) -> Option<Duration> {
        let ticks = u64::try_from(to.wrapping_sub(from).cast_signed()).ok()?;
        (self.tick > 0).then(|| Duration::from_nanos(ticks.saturating_mul(self.tick)))
    }

    /// When a segment that passed at `at` with timestamp `value` would have passed if it had not
    /// been held up.
    pub fn unhindered(&self, value: Option<u32>, at: Instant) -> Departure {
        let (Some(value), Some((first_value, first_at)), 1..) = (value, self.first, self.tick) else {
            return Departure::unknown(at);
        };
        let ticks = i64::from(value.wrapping_sub(first_value).cast_signed());
        self.departure(at, self.delay(ticks, at.nanos_since(first_at)))
    }

    /// When a segment that passed at `at` after `delay` would have passed if it had not been held up.
    #[inline]
    fn departure(&self, at: Instant, delay: i64) -> Departure {
        let least = self.least.min(self.before);
        // The value stands for any time within the tick.
        let held_up = delay.saturating_sub(least).saturating_sub(self.tick.cast_signed());
        let held_up = u64::try_from(held_up).unwrap_or(0);
        Departure::exact(Instant::from_nanos(at.as_nanos().saturating_sub(held_up)))
    }
}

/// The length of a tick that should take `known` ns, after so many `ticks` in `elapsed` ns.
fn measured_tick(known: u64, ticks: i64, elapsed: u64) -> u64 {
    let measured = elapsed / ticks.max(1).unsigned_abs();
    let is_odd = elapsed >= MEASURED.max(LEAST_TICKS * known) && measured.abs_diff(known) > known / ODD;
    if is_odd { measured } else { known }
}

#[cfg(test)]
mod tests;
