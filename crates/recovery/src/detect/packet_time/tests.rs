use super::*;
use crate::scoreboard::Sent;
use recoup_units::Offset;

const MS: u64 = 1_000_000;

//= test: RFC 9002 §6.1.2
#[test]
fn the_time_threshold_is_nine_eighths_of_the_larger_rtt_and_at_least_a_millisecond() {
    // (SRTT, latest sample, loss delay), µs (§6.1.2)
    for (srtt, latest, delay) in
        [(80_000, 80_000, 90_000), (80_000, 40_000, 90_000), (80_000, 160_000, 180_000), (400, 400, 1_000)]
    {
        let mut detector = PacketTime::new(true);
        detector.on_sample(Instant::ZERO, latest * 1_000);
        assert_eq!(detector.loss_delay(Some(srtt * 1_000)), delay * 1_000);
    }
    assert_eq!(PacketTime::new(true).loss_delay(None), 333 * MS * 9 / 8);
}

#[test]
fn a_late_segment_raises_the_time_threshold_until_sixteen_recoveries_have_passed() {
    // (delay in ms at an RTT of 80 ms, loss delay in ms)
    let mut detector = PacketTime::new(true);
    let delay = |detector: &PacketTime| detector.loss_delay(Some(80 * MS)) / MS;
    for (late, expected) in [(81, 90), (100, 105), (90, 105), (155, 160), (400, 160)] {
        detector.on_late(late * MS, 80 * MS);
        assert_eq!(delay(&detector), expected, "{late} ms late");
    }
    for left in (0..PERSIST).rev() {
        assert_eq!(detector.on_recovered(), left == 0);
        assert_eq!(delay(&detector), if left > 0 { 160 } else { 90 });
    }
    assert!(!detector.on_recovered(), "there is nothing to fall back from");
}

#[test]
fn numbers_may_wrap() {
    let mut detector = PacketTime::new(true);
    let mut advances = |number| {
        let summary = AckSummary {
            newest_delivered: Some(Sent { at: Instant::ZERO, end: Offset(1) }),
            newest_number: number,
            ..AckSummary::default()
        };
        detector.on_ack(Instant::ZERO, &summary);
        detector.newest() == Some(number)
    };
    let steps = [1 << 30, 2 << 30, 3 << 30, u32::MAX, 5];
    for number in steps {
        assert!(advances(number), "{number}");
    }
    assert!(!advances(u32::MAX));
    assert_eq!(detector.previous(), 5);
    assert!(detector.is_after_reduction(6), "no reduction lately");
    detector.on_reduction(9);
    assert!(!detector.is_after_reduction(u32::MAX) && detector.is_after_reduction(9));
    detector.on_undone();
    assert!(detector.is_after_reduction(8));
}
