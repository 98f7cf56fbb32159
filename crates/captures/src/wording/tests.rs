use super::*;

#[test]
fn durations_have_two_or_three_significant_digits() {
    for (micros, text) in [
        (0, "0 ms"),
        (7, "7.0 µs"),
        (99, "99 µs"),
        (100, "0.10 ms"),
        (250, "0.25 ms"),
        (999, "1.0 ms"),
        (4_240, "4.2 ms"),
        (60_400, "60 ms"),
        (999_600, "1.00 s"),
        (1_204_000, "1.20 s"),
        (25_300_000, "25.3 s"),
        (208_000_000, "208 s"),
        (750_000_000, "12.5 min"),
        (9_000_000_000, "2.5 h"),
    ] {
        assert_eq!(duration(Duration::from_micros(micros)), text);
    }
    for (ms, text) in [(f64::NAN, "0 ms"), (-0.0, "0 ms"), (-1e-9, "0 ms"), (-60.0, "−60 ms"), (60.0, "60 ms")] {
        assert_eq!(millis(ms), text);
    }
}

#[test]
fn amounts_shares_and_counts_are_read_at_a_glance() {
    for (n, text) in [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (22_810_000, "22.8 MB"),
        (7_500, "7.50 kB"),
        (999_600, "1.00 MB"),
        (u64::MAX, "18446744 TB"),
    ] {
        assert_eq!(bytes(n), text);
    }
    for (part, text) in
        [(27.2, "27 %"), (2.81, "2.8 %"), (0.04, "0.04 %"), (0.0, "0 %"), (-0.0, "0 %"), (-2.81, "−2.8 %")]
    {
        assert_eq!(percent(part, 100.0), text);
    }
    assert_eq!(percent(1.0, 0.0), "0 %");
    assert_eq!(count(23_310, "packet"), "23,310 packets");
    assert_eq!([times(1), times(2), times(1000)], ["once", "twice", "1,000 times"]);
    assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
}
