use super::*;

fn of(segments: u64, micros: u64) -> Bandwidth {
    Bandwidth::of(segments, Duration::from_micros(micros)).unwrap()
}

#[test]
fn a_bandwidth_gives_rates_and_windows() {
    // 1,000 segments of 1,000 bytes a second: 8 Mbit/s.
    let bandwidth = of(40, 40_000);
    assert_eq!(bandwidth.0, 16777);
    assert_eq!(bandwidth.bytes_per_second(1000, UNIT), 989_987);
    let bdp = |gain| bandwidth.segments_in(Duration::from_millis(40), gain);
    assert_eq!([bdp(UNIT), bdp(2 * UNIT)], [Segments(40), Segments(80)]);
    let within = bandwidth.segments_within(Duration::from_micros(2100));
    assert_eq!(within, Segments(2));
    assert_eq!(Bandwidth::of(1, Duration::from_nanos(999)), None);
}

#[test]
fn extreme_values_neither_panic_nor_wrap() {
    let most = Bandwidth::of(u64::MAX, Duration::from_micros(1)).unwrap();
    assert_eq!(most.times(HIGH), most);
    assert_eq!(most.segments_in(Duration::MAX, HIGH), Segments(u32::MAX));
    assert!(most.bytes_per_second(u32::MAX, HIGH) > 0);
}

const HIGH: Gain = 739;

#[test]
fn the_maximum_is_forgotten_after_its_window() {
    let mut filter = MaxFilter::default();
    let mut update = |round, segments| {
        filter.update(10, round, of(segments, 1000));
        filter.max()
    };
    assert_eq!(update(1, 100), of(100, 1000));
    for round in 2..=11 {
        assert_eq!(update(round, 50), of(100, 1000), "round {round}");
    }
    assert_eq!(update(12, 40), of(50, 1000), "the best of what is left");
    assert_eq!(update(13, 60), of(60, 1000));
    assert_eq!(update(40, 10), of(10, 1000), "nothing is left");
}
