//! When a sender sent what passed a capture point away from it.
//!
//! The timestamp value of a segment is the sender's clock when it sent the segment (RFC 7323 §3.2).
//! So two values show how far apart two segments were sent, whatever happened to them on the way.
//! The segment that took least time on its way ties that clock to the capture's. A segment that
//! passed later than its timestamp allows was held up by the difference.

use crate::explain::tape::Departure;
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

/// The same for the tick of most hosts, 1 ms: packets held up meanwhile cannot be mistaken for another
/// clock.
const LEAST_TIME_USUAL: u64 = 30_000_000;

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
        self.before = match age > 2 * PERIOD {
            true => delay,
            false => self.least,
        };
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
        let tick = known.map_or(self.tick, |(tick, _)| *tick);
        if tick != self.tick {
            self.tick = tick;
            self.began = elapsed.cast_unsigned();
            let delay = self.delay(ticks, self.began);
            // The first segment took its time, too.
            self.least = delay.min(0);
            self.before = self.least;
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A clock with so many ticks a second, after a packet every 50 ms that took 10 ms.
    fn clock(rate: u64) -> SendClock {
        let mut clock = SendClock::default();
        for i in 0..20 {
            let sent = i * 50 * MS;
            clock.on_segment(value(rate, sent), Instant::from_nanos(sent + 10 * MS));
        }
        clock
    }

    fn value(rate: u64, sent: u64) -> u32 {
        u32::MAX.wrapping_add((sent as u128 * rate as u128 / 1_000_000_000) as u32)
    }

    #[test]
    fn a_segment_held_up_was_sent_when_its_timestamp_says() {
        for (rate, tick) in [(1000, MS), (250, 4 * MS), (100, 10 * MS), (1_000_000, 1000)] {
            let clock = clock(rate);
            let sent = 1000 * MS;
            let at = Instant::from_nanos(sent + 310 * MS);
            let departure = clock.unhindered(Some(value(rate, sent)), at);
            let expected = Instant::from_nanos(sent + 10 * MS);
            assert!(departure.is_exact, "{rate}");
            assert!(departure.at >= expected, "{rate}: {departure:?}");
            assert!(departure.at.since(expected).as_nanos() <= u128::from(tick), "{rate}");
        }
    }

    #[test]
    fn a_segment_is_told_at_once_when_it_was_sent() {
        let mut clock = SendClock::default();
        for i in 0..100 {
            let sent = i * 50 * MS;
            let held_up = if i % 7 == 0 { 90 * MS } else { 10 * MS };
            let at = Instant::from_nanos(sent + held_up);
            let departure = clock.on_segment(value(1000, sent), at);
            let again = clock.unhindered(Some(value(1000, sent)), at);
            assert_eq!((departure.at, departure.is_exact), (again.at, again.is_exact), "{i}");
        }
    }

    #[test]
    fn without_a_clock_a_segment_was_sent_no_later_than_it_came() {
        let at = Instant::from_nanos(7 * MS);
        let mut clock = SendClock::default();
        for value in [None, Some(1)] {
            let departure = clock.unhindered(value, at);
            assert_eq!((departure.at, departure.is_exact), (at, false));
        }
        // Random values.
        for i in 0..20_u64 {
            let value = (i as u32).wrapping_mul(0x9e37_79b9);
            clock.on_segment(value, Instant::from_nanos(i * 50 * MS));
        }
        assert!(!clock.unhindered(Some(3), at).is_exact);
    }

    #[test]
    fn clocks_may_drift() {
        let mut clock = SendClock::default();
        // 100 µs a second, for half an hour.
        let mut last = Instant::ZERO;
        for i in 0..18_000_u64 {
            let sent = i * 100 * MS;
            last = Instant::from_nanos(sent + sent / 10_000 + 10 * MS);
            clock.on_segment(value(1000, sent), last);
        }
        let departure = clock.unhindered(Some(value(1000, 17_999 * 100 * MS)), last);
        assert!(last.since(departure.at).as_nanos() <= u128::from(2 * MS));
    }
}
