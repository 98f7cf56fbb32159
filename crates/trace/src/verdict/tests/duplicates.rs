//! Paths that duplicate packets, senders that ignore SACK, and closed receivers.

use super::*;

/// A DSACK reports bytes that were sent once.
const NETWORK_DUPLICATE: [Step; 3] =
    [Sent(900, 1, 1001), Acked(960, 1001, 900, &[]), Acked(960, 1001, 900, &[(1, 1001)])];

/// A hole that a retransmission fills.
const FILLED: [Step; 5] = [
    Sent(1000, 1001, 2001),
    Sent(1001, 2001, 3001),
    Acked(1061, 1001, 900, &[(2001, 3001)]),
    Retransmitted(1062, 1001, 2001),
    Acked(1122, 3001, 1062, &[]),
];

#[test]
fn on_a_path_that_duplicates_a_dsack_proves_no_second_copy() {
    let reported = Acked(1122, 3001, 1062, &[(1001, 2001)]);
    let reported_twice: Vec<Step> = FILLED.into_iter().chain([reported]).collect();
    let after_duplicate = |steps: &[Step]| [&NETWORK_DUPLICATE, steps].concat();
    // The network duplicated the retransmission, or the original came after it.
    assert_eq!(play(BOTH, &reported_twice), ["unknowable ambiguous"]);
    assert_eq!(play(SACK, &reported_twice), ["spurious dsack"]);
    assert_eq!(play(BOTH, &after_duplicate(&reported_twice)), ["needed timestamp_echo"]);
    // Without timestamps, the original may have come late.
    assert_eq!(play(SACK, &after_duplicate(&reported_twice)), ["unknowable ambiguous"]);
}

#[test]
fn on_a_path_that_duplicates_a_repeated_ack_proves_no_refusal() {
    let repeated_ack: &[Step] = &[
        Sent(1000, 1001, 2001),
        Sent(1000, 2001, 3001),
        Sent(1000, 3001, 4001),
        Acked(1060, 1001, 900, &[(3001, 4001)]),
        Retransmitted(1061, 1001, 2001),
        Acked(1121, 2001, 1061, &[(3001, 4001)]),
        Acked(1121, 2001, 1061, &[(3001, 4001)]),
        Retransmitted(1126, 2001, 3001),
        Acked(1186, 4001, 1126, &[]),
    ];
    let verdict_of_last = |steps: &[Step]| play(BOTH, steps)[1].clone();
    let before = [Sent(900, 1, 1001), Acked(960, 1001, 900, &[])];
    assert_eq!(verdict_of_last(&[&before, repeated_ack].concat()), "spurious timestamp_echo");
    assert_eq!(verdict_of_last(&[&NETWORK_DUPLICATE, repeated_ack].concat()), "unknowable ambiguous");
}

#[test]
fn retransmitting_selectively_acknowledged_bytes_is_spurious() {
    check(&[
        (
            "the sender retransmits from the hole on, past selectively acknowledged bytes",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Sent(1002, 2001, 3001),
                Acked(1061, 1, 900, &[(1001, 2001)]),
                Retransmitted(1262, 1, 1001),
                Retransmitted(1263, 1001, 3001),
                Acked(1322, 2001, 1262, &[]),
                Acked(1323, 3001, 1263, &[(1001, 2001)]),
            ],
            &["needed timestamp_echo", "needed timestamp_echo"],
        ),
        (
            "the segment was selectively acknowledged, and the DSACK is lost",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Sent(1001, 1001, 2001),
                Acked(1061, 1, 900, &[(1001, 2001)]),
                Retransmitted(1262, 1, 1001),
                Retransmitted(1263, 1001, 2001),
                Acked(1322, 2001, 1262, &[]),
            ],
            &["needed timestamp_echo", "spurious ack_too_early"],
        ),
    ]);
}

#[test]
fn the_last_segment_after_the_receiver_closed() {
    check(&[(
        "the echo may be that of another segment with the same timestamp",
        BOTH,
        &[
            Sent(1000, 1, 1001),
            Sent(1000, 1001, 2001),
            Sent(1000, 2001, 3002),
            Closed(1000),
            Acked(1060, 1001, 1000, &[]),
            Retransmitted(1300, 2001, 3002),
            Retransmitted(2300, 1001, 2001),
            Acked(2360, 3002, 1300, &[(1001, 2001)]),
        ],
        &["unknowable ambiguous", "spurious dsack"],
    )]);
}

#[test]
fn without_a_round_trip_time_no_answer_is_slow() {
    let mut verdicts = AckVerdicts::new(SACK);
    let plain = |ms| Transmission { ts_value: None, ..copy(ms) };
    verdicts.on_retransmission(0, span(0, 1), plain(4000), Some(plain(1000)));
    let mut syn_ack = Ack::new(Offset(1), 65_535);
    syn_ack.carries_data = true;
    verdicts.on_ack(at(4080), Offset::SYN, &syn_ack, None, &|_| None);
    let found = finish(&mut verdicts, at(60_000), None);
    assert_eq!(found[0].1, Verdict::Unknowable);
}

#[test]
fn copies_sent_together() {
    check(&[(
        "either may have been answered, and the DSACK of the other lost",
        SACK,
        &[Sent(1000, 1, 1001), Retransmitted(1000, 1, 1001), Acked(1060, 1001, 0, &[])],
        &["unknowable ambiguous"],
    )]);
}

/// The capture ends before a DSACK is due.
#[test]
fn at_the_end_a_hole_filled_just_in_time_was_filled_by_the_retransmission() {
    for (acked, expected) in [(1122, "needed no_duplicate"), (1150, "unknowable ambiguous")] {
        let steps = [
            Sent(1000, 1, 1001),
            Sent(1001, 1001, 2001),
            Acked(1061, 1, 900, &[(1001, 2001)]),
            Retransmitted(1062, 1, 1001),
            Acked(acked, 2001, 900, &[]),
            Ended(acked + 1),
        ];
        assert_eq!(play(SACK, &steps), [expected], "{acked}");
    }
}
