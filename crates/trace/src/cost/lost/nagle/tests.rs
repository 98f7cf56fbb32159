use super::*;

const MS: u64 = 1_000_000;

/// The time lost after rounds of (ms from the delayed ACK to new data, whether that is less than a full segment).
fn lost(rounds: &[(u64, bool)]) -> Duration {
    let mut nagle = Nagle::default();
    for (round, &(after, small)) in rounds.iter().enumerate() {
        let at = Instant::from_millis(1000 * round as u64);
        nagle.on_delayed(at, 40 * MS);
        nagle.on_new(at.plus_nanos(after * MS), MS, small);
        // A delayed ACK releases one segment.
        nagle.on_new(at.plus_nanos(after * MS), MS, small);
    }
    let mut lost = LostTime::default();
    nagle.add_to(&mut lost);
    lost.of(Cause::NagleDelayedAck)
}

#[test]
fn data_that_follows_delayed_acks_at_once_had_waited() {
    assert_eq!(lost(&[(0, true), (1, true), (0, true)]), Duration::from_millis(120));
    // Chance.
    assert_eq!(lost(&[(0, true), (0, true)]), Duration::ZERO);
    assert_eq!(lost(&[(0, true), (0, true), (0, true), (5, true), (9, true), (7, true), (8, true)]), Duration::ZERO);
    // The congestion window held it back.
    assert_eq!(lost(&[(0, false), (0, false), (0, false)]), Duration::ZERO);
}

#[test]
fn a_delayed_ack_comes_later_than_round_trips_differ() {
    // (delay, shortest RTT and variation in ms)
    let cases = [
        (40, 50, 15, true),
        (20, 50, 5, false),
        (40, 50, 45, false),
        (65, 580, 20, false),
        (200, 580, 60, true),
        (250, 50, 20, false),
    ];
    for (delay, shortest, variation, expected) in cases {
        assert_eq!(is_delayed(delay * MS, shortest * MS, variation * MS), expected, "{delay} {shortest} {variation}");
    }
}
