//! Receivers that discard what they have reported (RFC 2018 §8).

use super::*;

/// Five segments, of which the first is lost and the others are reported.
fn reported() -> Vec<Step> {
    let sent = (0..5).map(|i| Sent(1000 + i, 1 + i * 1000, 1001 + i * 1000));
    sent.chain([
        Acked(1061, 1, 900, &[(1001, 2001)]),
        Acked(1064, 1, 900, &[(1001, 5001)]),
        Retransmitted(1065, 1, 1001),
    ])
    .collect()
}

#[test]
fn an_ack_that_stops_at_a_reported_byte_shows_that_the_rest_was_discarded() {
    let discarded = [
        Acked(1125, 1001, 1065, &[]),
        Retransmitted(1300, 1001, 2001),
        Acked(1360, 2001, 1300, &[]),
        Retransmitted(1361, 2001, 3001),
        Retransmitted(1362, 3001, 4001),
        Retransmitted(1363, 4001, 5001),
        Acked(1423, 5001, 1361, &[]),
    ];
    let steps: Vec<Step> = reported().into_iter().chain(discarded).collect();
    let found = play(BOTH, &steps);
    assert!(found.iter().all(|found| found.starts_with("needed")), "{found:?}");
}

#[test]
fn what_was_retransmitted_before_the_receiver_discarded_it_is_judged_by_the_next_ack() {
    let discarded = [Retransmitted(1066, 1001, 2001), Acked(1125, 1001, 1065, &[]), Acked(1126, 2001, 1066, &[])];
    let steps: Vec<Step> = reported().into_iter().chain(discarded).collect();
    assert_eq!(play(BOTH, &steps), ["needed timestamp_echo", "needed timestamp_echo"]);
}

#[test]
fn what_is_still_reported_was_not_needed() {
    let kept = [
        Acked(1125, 1001, 1065, &[(3001, 5001)]),
        Retransmitted(1300, 1001, 2001),
        Retransmitted(1301, 3001, 4001),
        Acked(1360, 2001, 1300, &[(3001, 5001)]),
        Acked(1361, 2001, 1300, &[(3001, 4001), (3001, 5001)]),
    ];
    let steps: Vec<Step> = reported().into_iter().chain(kept).collect();
    assert_eq!(play(BOTH, &steps)[1..], ["needed timestamp_echo", "spurious dsack"]);
}
