use super::*;
use recoup_units::Offset;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// SRTT 80 ms, RTO 280 ms.
fn rtt() -> RttEstimator {
    let mut e = RttEstimator::new(crate::Mechanisms::LINUX_6.rto);
    e.on_sample(ms(80), Offset(1), Offset(1));
    e
}

#[test]
fn restart_counts_from_the_earliest_transmission() {
    // (now, earliest sent at, deadline)
    let cases = [
        (200, 120, 400), // the ninth ACK of a flow whose tenth segment left 80 ms ago
        (200, 200, 480), // sent just now: the full RTO
        (399, 120, 400), // 1 ms left
        (400, 120, 680), // nothing left: the full RTO (RFC 7765 §4 (3b))
        (500, 120, 780),
    ];
    for (now, earliest, deadline) in cases {
        let mut timer = RetransmissionTimer::default();
        timer.start_from_earliest(at(now), at(earliest), &rtt());
        assert_eq!(timer.deadline(), Some(at(deadline)), "now {now}, sent {earliest}");
    }
}

//= test: RFC 6298 §2.5
//= test: RFC 6298 §5.5
//= test: RFC 6298 §5.6
//= test: RFC 6298 §5
#[test]
fn back_off_doubles_up_to_the_maximum_and_a_sample_ends_it() {
    let rtt = rtt();
    let mut timer = RetransmissionTimer::default();
    for expected in [560, 1120, 2240, 4480, 8960, 17_920, 35_840, 71_680, 120_000, 120_000] {
        timer.on_expiry(at(0), &rtt);
        assert_eq!(timer.deadline(), Some(at(expected)));
    }
    timer.reset_backoff();
    assert_eq!(timer.rto(&rtt), ms(280));
    timer.stop();
    assert_eq!(timer.deadline(), None);
}
