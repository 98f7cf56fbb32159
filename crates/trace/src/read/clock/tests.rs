use super::*;

#[test]
fn clocks_have_powers_of_ten_or_two() {
    for (resolution, offset, ticks, nanos) in [
        (6, 0, 1_500_000, Some(Ok(1_500_000_000))),
        (9, 1, 5, Some(Ok(1_000_000_005))),
        (0, 0, 7, Some(Ok(7_000_000_000))),
        (12, 0, 1_234_567, Some(Ok(1_234))),
        (0x80 | 10, 0, 1536, Some(Ok(1_500_000_000))),
        (0x80 | 32, 2, 1 << 31, Some(Ok(2_500_000_000))),
        (6, -1, 1_500_000, Some(Ok(500_000_000))),
        (6, -9, 1_500_000, Some(Err(0))),
        (0, i64::MIN, 1, Some(Err(0))),
        (3, 0, u64::MAX, Some(Err(u64::MAX - 1))),
        (0, i64::MAX, 1, Some(Err(u64::MAX - 1))),
        (20, 0, 1, None),
        (0x80 | 64, 0, 1, None),
    ] {
        let clock = Clock::of_interface(resolution, offset);
        let instant = clock.map(|clock| {
            let instant = clock.instant(ticks);
            instant.map(Instant::as_nanos).map_err(Instant::as_nanos)
        });
        assert_eq!(instant, nanos, "{resolution} {offset} {ticks}");
    }
}

#[test]
fn a_fraction_of_a_second_or_more_is_an_error() {
    for (seconds, fraction, nanos, expected) in [
        (1, 999_999, 1000, Ok(1_999_999_000)),
        (1, 1_000_000, 1000, Err(1_999_999_999)),
        (1, 999_999_999, 1, Ok(1_999_999_999)),
        (u32::MAX, u32::MAX, 1000, Err(4_294_967_295_999_999_999)),
    ] {
        let read = of_record(seconds, fraction, nanos);
        let read = read.map(Instant::as_nanos).map_err(Instant::as_nanos);
        assert_eq!(read, expected);
    }
}
