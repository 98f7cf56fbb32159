use super::*;

#[test]
fn the_error_is_excessive_when_one_in_a_thousand_is_too_late() {
    let of = |late: u64, in_time: u64| {
        let mut error = DeliveryError::default();
        (0..in_time).for_each(|_| error.add(Duration::from_micros(10)));
        (0..late).for_each(|_| error.add(Duration::from_millis(3)));
        error
    };
    for (late, in_time, excessive) in [(0, 0, false), (1, 999, false), (2, 998, true), (1, 0, true)] {
        assert_eq!(of(late, in_time).is_excessive(), excessive, "{late} of {in_time}");
    }
    assert_eq!(of(0, 0).quantile(0.5), None);
    assert_eq!(of(1, 9).to_string(), "p50 0.010 ms, p99 3.000 ms, p99.9 3.000 ms, max 3.000 ms");
    let mut endless = DeliveryError::default();
    endless.add(Duration::MAX);
    assert!(endless.is_excessive());
}

#[test]
fn a_hundredth_blurs_a_result() {
    let ms = Duration::from_millis;
    let of = |late: u64, in_time: u64, missed: u64, refused: u64| {
        let mut report = Report::default();
        (0..in_time).for_each(|_| report.error.add(Duration::from_micros(100)));
        (0..late).for_each(|_| report.error.add(ms(2)));
        report.up.missed = missed;
        report.down.refused = refused;
        report
    };
    // ((packets 2 ms late, 0.1 ms late, missed, refused), result in ms, blurred)
    for ((late, in_time, missed, refused), result, blurred) in [
        ((0, 100, 0, 0), 11, false),
        ((0, 100, 0, 0), 9, true),
        ((0, 100, 0, 0), 0, true),
        // Of a few packets the latest counts, of many one in a thousand may be later.
        ((1, 100, 0, 0), 199, true),
        ((1, 100, 0, 0), 202, false),
        ((1, 9999, 0, 0), 11, false),
        ((20, 9980, 0, 0), 11, true),
        ((0, 100, 1, 0), 1000, true),
        ((0, 100, 0, 1), 1000, true),
        ((0, 0, 0, 0), 0, false),
    ] {
        let report = of(late, in_time, missed, refused);
        let case = format!("{late} of {in_time}, {missed} missed, {refused} refused: {result} ms");
        assert_eq!(report.blurs(ms(result)), blurred, "{case}");
    }
}

#[test]
fn counts_in_words() {
    let mut counts = Counts { entered: 12, delivered: 12, ..Counts::default() };
    assert_eq!(counts.to_string(), "12 packets, 12 delivered");
    (counts.delivered, counts.lost, counts.missed) = (9, 3, 1);
    assert_eq!(counts.to_string(), "12 packets, 9 delivered, 3 lost, 1 missed before the path");
}
