use super::*;

const MS: u64 = 1_000_000;

/// A clock with `rate` ticks per second, after a packet every 50 ms that took 10 ms.
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

#[test]
fn a_clock_of_odd_ticks_holds_nothing_up() {
    // Ticks of 1.024 ms.
    let mut clock = SendClock::default();
    let mut most = 0;
    for i in 0..1000_u64 {
        let sent = i * 50 * MS;
        let at = Instant::from_nanos(sent + 10 * MS);
        let departure = clock.on_segment(u32::try_from(sent / 1_024_000).unwrap(), at);
        if sent > MEASURED * 2 {
            most = most.max(at.nanos_since(departure.at));
        }
    }
    assert!(most < 30 * MS, "{most}");
}
