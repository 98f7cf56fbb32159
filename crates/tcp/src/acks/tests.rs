use super::*;

/// The segments acknowledged at once, of `segments` full ones that arrive 1 ms apart.
fn acked(policy: AckPolicy, segments: u64) -> Vec<u64> {
    let mut schedule = AckSchedule::new(policy);
    let mut acked = vec![];
    for i in 1..=segments {
        schedule.on_segment(Instant::from_millis(i), Urgency::InOrder { full: 1 });
        if schedule.is_due() {
            schedule.on_ack_sent();
            acked.push(i);
        }
    }
    acked
}

//= test: RFC 5681 §4.2
#[test]
fn each_policy_acknowledges_its_segments() {
    let d = Duration::from_millis(200);
    assert_eq!(acked(AckPolicy::Quick, 4), [1, 2, 3, 4]);
    assert_eq!(acked(AckPolicy::Delayed(d), 5), [2, 4]);
    assert_eq!(acked(AckPolicy::Linux { quick: 3 }, 8), [1, 2, 3, 5, 7]);
}

#[test]
fn the_delay_of_an_odd_segment_starts_at_its_arrival() {
    let mut s = AckSchedule::new(AckPolicy::Delayed(Duration::from_millis(200)));
    s.on_segment(Instant::from_millis(7), Urgency::InOrder { full: 1 });
    assert_eq!((s.is_due(), s.deadline()), (false, Some(Instant::from_millis(207))));
    s.on_timer();
    assert!(s.is_due());
    s.on_ack_sent();
    assert_eq!((s.is_due(), s.deadline()), (false, None));
}

#[test]
fn merged_segments_are_acknowledged_together() {
    let mut s = AckSchedule::new(AckPolicy::Delayed(Duration::from_millis(200)));
    s.on_segment(Instant::ZERO, Urgency::InOrder { full: 45 });
    assert!(s.is_due());
    s.on_ack_sent();
    assert!(!s.is_due());
}

#[test]
fn small_segments_wait_for_the_timer() {
    let mut s = AckSchedule::new(AckPolicy::Delayed(Duration::from_millis(200)));
    for i in 0..3 {
        s.on_segment(Instant::from_millis(i), Urgency::InOrder { full: 0 });
    }
    assert_eq!((s.is_due(), s.deadline()), (false, Some(Instant::from_millis(200))));
}

#[test]
fn a_challenge_ack_can_be_withheld_unless_another_ack_is_due() {
    let mut s = AckSchedule::new(AckPolicy::Quick);
    s.on_segment(Instant::ZERO, Urgency::Challenge);
    assert!(s.is_due() && s.only_challenge_is_due());
    s.withhold_challenge();
    assert!(!s.is_due());
    s.on_segment(Instant::ZERO, Urgency::Challenge);
    s.on_segment(Instant::ZERO, Urgency::AtOnce);
    assert!(!s.only_challenge_is_due());
    s.withhold_challenge();
    assert!(s.is_due());
    s.on_segment(Instant::ZERO, Urgency::Challenge);
    s.on_ack_sent();
    assert!(!s.is_due());
}

//= test: RFC 5681 §4.2
#[test]
fn out_of_order_data_is_acknowledged_at_once_and_restores_linuxs_budget() {
    let mut s = AckSchedule::new(AckPolicy::Linux { quick: 1 });
    s.on_segment(Instant::ZERO, Urgency::InOrder { full: 1 });
    s.on_ack_sent();
    s.on_segment(Instant::ZERO, Urgency::InOrder { full: 1 });
    assert!(!s.is_due());
    s.on_segment(Instant::ZERO, Urgency::AtOnce);
    assert!(s.is_due());
}
