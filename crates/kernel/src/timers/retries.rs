//! Ticks of the kernel's clock, and how many retransmissions fill a time.

use rustix::time::{ClockId, clock_getres};
use std::time::Duration;

/// The largest TCP_SYNCNT (include/net/tcp.h: `MAX_TCP_SYNCNT`).
const MOST_RETRIES: u8 = 127;

/// No timeout is longer (include/net/tcp.h: `TCP_RTO_MAX`).
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// A tick of the kernel's clock, in which it counts timers: 4 ms with HZ=250. It is the resolution of
/// `CLOCK_MONOTONIC_COARSE` (clock_getres(2)).
pub fn jiffy() -> Duration {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    let nanos = resolution.tv_nsec.clamp(1, 999_999_999);
    Duration::new(resolution.tv_sec.max(0).unsigned_abs(), u32::try_from(nanos).unwrap_or(1))
}

/// Ticks in a second: the kernel's `HZ`.
pub fn ticks_per_second() -> u128 {
    // 3,333,333 ns with HZ=300: the nearest number is meant.
    let tick = jiffy().as_nanos();
    ((1_000_000_000 + tick / 2) / tick).max(1)
}

/// Ticks that last at least as long.
pub fn ticks(time: Duration) -> u32 {
    let ticks = (time.as_nanos() * ticks_per_second()).div_ceil(1_000_000_000);
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// How long so many ticks are.
pub fn duration(ticks: u32) -> Duration {
    let nanos = u128::from(ticks) * 1_000_000_000 / ticks_per_second();
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// After which time connect() gives up: the first timeout, the number of timeouts before they double
/// (`net.ipv4.tcp_syn_linear_timeouts`), and TCP_SYNCNT or `net.ipv4.tcp_syn_retries`.
///
/// It gives up at the first timeout after so many retransmissions, those before the doubling not counted, or after the
/// time in which they would have been sent if all timeouts had doubled (Linux 6.18, net/ipv4/tcp_timer.c:
/// `tcp_retransmit_timer`, `tcp_write_timeout`, `retransmits_timed_out`, `tcp_model_timeout`).
pub fn connect_time(first: Duration, linear: u8, retries: u8) -> Duration {
    let doubled = |wait: Duration| wait.saturating_mul(2).min(LONGEST_WAIT);
    let waits = std::iter::successors(Some(first), |wait| Some(doubled(*wait)));
    let modelled: Duration = waits.take(usize::from(retries) + 1).sum();
    let most = u16::from(retries) + u16::from(linear);
    let (mut elapsed, mut wait) = (Duration::ZERO, first);
    for sent in 0..=most {
        elapsed += wait;
        if sent > 0 && elapsed >= modelled {
            break;
        }
        if sent >= u16::from(linear) {
            wait = doubled(wait);
        }
    }
    elapsed
}

/// How many retransmissions of a SYN last at least `total`, with this first timeout and so many timeouts before they
/// double (`net.ipv4.tcp_syn_linear_timeouts`): the TCP_SYNCNT with which connect() gives up no sooner. From 1 to 127,
/// the kernel's limit.
pub fn syn_retries(first: Duration, linear: u8, total: Duration) -> u8 {
    let lasts = |retries: &u8| connect_time(first, linear, *retries) >= total;
    (1..=MOST_RETRIES).find(lasts).unwrap_or(MOST_RETRIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_kernels_own_timer_gives_up_after_127_seconds_and_its_linear_timeouts() {
        // ip-sysctl: tcp_syn_retries of 6 with an initial timeout of 1 s, 67 s until the last retransmission of 10.
        assert_eq!(connect_time(SECOND, 0, 6), SECOND * 127);
        assert_eq!(connect_time(SECOND, 4, 6), SECOND * 131);
        // 1, 1, 1: the time of two retransmissions that doubled has passed before the sixth.
        assert_eq!(connect_time(SECOND, 4, 1), SECOND * 3);
    }

    #[test]
    fn no_timeout_is_longer_than_two_minutes() {
        assert_eq!(connect_time(SECOND, 0, 8), SECOND * (127 + 120 + 120));
        assert_eq!(syn_retries(SECOND, 0, Duration::MAX), 127);
    }

    #[test]
    fn a_short_timer_needs_more_retransmissions() {
        let short = Duration::from_millis(52);
        for (linear, usual) in [(0, 127), (4, 131)] {
            let retries = syn_retries(short, linear, SECOND * usual);
            assert_eq!(retries, 11);
            assert!(connect_time(short, linear, retries) >= SECOND * usual);
            assert!(connect_time(short, linear, retries - 1) < SECOND * usual);
        }
    }

    #[test]
    fn the_number_never_gives_up_sooner_and_is_the_least() {
        for millis in [2, 8, 52, 200, 999, 1000] {
            for linear in [0, 1, 4, 200] {
                for usual in 1..=40 {
                    let (first, total) = (Duration::from_millis(millis), connect_time(SECOND, linear, usual));
                    let retries = syn_retries(first, linear, total);
                    assert!(connect_time(first, linear, retries) >= total, "{millis} {linear} {usual}");
                    assert!(retries == 1 || connect_time(first, linear, retries - 1) < total);
                }
            }
        }
    }

    #[test]
    fn ticks_are_rounded_up_and_a_second_is_whole() {
        let tick = jiffy();
        assert!(tick >= Duration::from_micros(900) && tick <= Duration::from_millis(11), "{tick:?}");
        assert_eq!(u128::from(ticks(SECOND)), ticks_per_second());
        assert_eq!(ticks(tick * 2 + Duration::from_micros(500)), 3);
        assert_eq!(duration(ticks(SECOND)), SECOND);
    }
}
