use super::*;

const MS: u64 = 1_000_000;

#[test]
fn an_ack_is_late_beyond_what_a_sender_expects() {
    // (RTT, SRTT, RTTVAR in ms, it covers less than two segments, late)
    let cases = [
        (80, 50, 1, false, false),
        (99, 50, 1, false, false),
        (101, 50, 1, false, true),
        (101, 50, 20, false, false),
        (131, 50, 20, false, true),
        // The receiver may have delayed it.
        (131, 50, 1, true, false),
        (299, 50, 1, true, false),
        (301, 50, 1, true, true),
        // In a data centre, hosts are slower than the path.
        (9, 0, 0, false, false),
        (11, 0, 0, false, true),
    ];
    for (rtt, srtt, rttvar, single, expected) in cases {
        let (rtt_nanos, usual) = (rtt * MS, (srtt * MS, rttvar * MS));
        let found = if single { is_late_if_delayed(rtt_nanos, usual) } else { is_late(rtt_nanos, usual) };
        assert_eq!(found, expected, "{rtt} {srtt} {rttvar} {single}");
    }
}

#[test]
fn acks_that_one_stall_held_up_count_once() {
    let mut late = LateAcks::default();
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    // The path stalls from 100 to 600 ms.
    for (due, came) in [(150, 600), (200, 601), (300, 602), (700, 900)] {
        let (due, at, idle_since) = (at(due), at(came), at(0));
        late.add(LateAck { at, frame: 1, due, idle_since, after_lost: false });
    }
    let mut lost = LostTime::default();
    late.add_to(&mut lost);
    assert_eq!(lost.times(Cause::DelaySpike), 2);
    assert_eq!(lost.of(Cause::DelaySpike), Duration::from_millis(452 + 200));
}
