//! Receivers that report no duplicates, captures that begin late, and what else proves that a copy
//! arrived.

use super::*;

/// Three retransmissions that arrive as duplicates and draw no DSACK.
fn proof_of_silence() -> Vec<Step> {
    let spurious = |i: u64| {
        let (from, to, ms) = (1 + i * 1000, 1001 + i * 1000, 1000 * (i + 1));
        [Sent(ms, from, to), Retransmitted(ms + 300, from, to), Acked(ms + 305, to, ms as u32, &[])]
    };
    let later = [Sent(5000, 3001, 4001), Acked(5060, 4001, 5000, &[])];
    (0..3).flat_map(spurious).chain(later).collect()
}

/// The verdict on the last retransmission if the receiver is known to report no duplicates, and
/// if it is not.
fn silent_and_not(options: ReceiverOptions, steps: &[Step]) -> [String; 2] {
    let silent: Vec<Step> = proof_of_silence().into_iter().chain(steps.iter().copied()).collect();
    [&silent[..], steps].map(|steps| play(options, steps).pop().unwrap())
}

#[test]
fn a_delayed_ack_echoes_the_retransmission_although_the_original_came_first() {
    let stalled = [
        Sent(9000, 4001, 5001),
        Sent(9001, 5001, 6001),
        Retransmitted(9130, 5001, 6001),
        Acked(9500, 5001, 9000, &[]),
        Acked(9501, 6001, 9130, &[]),
    ];
    assert_eq!(silent_and_not(BOTH, &stalled), ["unknowable no_reports", "needed timestamp_echo"]);
}

#[test]
fn a_hole_is_filled_just_when_the_retransmission_is_due() {
    let filled = |at| {
        [
            Sent(9000, 4001, 5001),
            Sent(9001, 5001, 6001),
            Acked(9061, 4001, 8000, &[(5001, 6001)]),
            Retransmitted(9062, 4001, 5001),
            Acked(at, 6001, 9062, &[]),
        ]
    };
    let no_duplicate = "needed no_duplicate".to_owned();
    assert_eq!(silent_and_not(SACK, &filled(9123)), [no_duplicate.clone(), no_duplicate.clone()]);
    assert_eq!(silent_and_not(SACK, &filled(9150)), ["unknowable no_reports".to_owned(), no_duplicate]);
    assert_eq!(silent_and_not(BOTH, &filled(9123))[0], "needed timestamp_echo");
}

#[test]
fn an_ack_that_repeats_the_last_one_may_answer_a_duplicate() {
    let answered = [
        Sent(9000, 4001, 5001),
        Sent(9001, 5001, 6001),
        Acked(9061, 4001, 8000, &[(5001, 6001)]),
        Retransmitted(9062, 4001, 5001),
        Acked(9122, 6001, 9062, &[]),
        Acked(9123, 6001, 9062, &[]),
    ];
    assert_eq!(silent_and_not(BOTH, &answered)[0], "unknowable no_reports", "the original may have filled the hole");
    assert_eq!(play(TIMESTAMPS, &answered), ["needed timestamp_echo"]);
}

#[test]
fn a_repeated_ack_may_answer_another_duplicate() {
    let answered = |repeated| {
        [
            Sent(9000, 4001, 5001),
            Sent(9001, 5001, 6001),
            Sent(9001, 6001, 7001),
            Sent(9002, 7001, 8001),
            Acked(9061, 4001, 8000, &[(5001, 6001)]),
            Acked(9062, 4001, 8000, &[(7001, 8001), (5001, 6001)]),
            Retransmitted(9063, 4001, 5001),
            // Its original is late.
            Retransmitted(9075, 6001, 7001),
            Acked(9078, 4001, 8000, &[(5001, 8001)]),
            Acked(9123, 8001, 9063, &[]),
            Acked(repeated, 8001, 9063, &[]),
        ]
    };
    let silent = |repeated| {
        let steps = proof_of_silence().into_iter().chain(answered(repeated));
        play(BOTH, &steps.collect::<Vec<_>>()).split_off(3)
    };
    assert_eq!(silent(9135), ["needed timestamp_echo", "spurious ack_too_early"]);
    assert_eq!(silent(9124)[0], "unknowable no_reports", "too early for the other one");
}

#[test]
fn an_ack_with_a_new_echo_is_no_refusal() {
    let steps = [
        Sent(1000, 1, 1001),
        Sent(1000, 1001, 2001),
        Sent(1000, 2001, 3001),
        Acked(1060, 1, 940, &[(2001, 3001)]),
        Retransmitted(1061, 1, 1001),
        Acked(1080, 1001, 1000, &[(2001, 3001)]),
        // The retransmission is a duplicate. The receiver answers it without a DSACK.
        Acked(1121, 1001, 1061, &[(2001, 3001)]),
        Retransmitted(1300, 1001, 2001),
        Acked(1360, 3001, 1300, &[]),
    ];
    let expected = ["spurious ack_too_early", "needed timestamp_echo"];
    assert_eq!(play(BOTH, &steps), expected);
}

#[test]
fn a_late_ack_shows_that_the_original_filled_the_hole() {
    let steps = [
        Sent(1000, 1, 1001),
        Sent(1000, 1001, 2001),
        Acked(1060, 1, 940, &[(1001, 2001)]),
        Sent(1061, 2001, 3001),
        Retransmitted(1061, 1, 1001),
        Acked(1121, 3001, 1061, &[]),
        Acked(1123, 2001, 1000, &[]),
    ];
    assert_eq!(play(BOTH, &steps), ["spurious timestamp_echo"]);
    assert_eq!(play(BOTH, &steps[..6]), ["needed timestamp_echo"]);
}

#[test]
fn new_data_may_have_brought_the_timestamp_that_is_echoed() {
    let steps = |above| {
        [
            Sent(1000, 1, 1001),
            Sent(1000, 1001, 2001),
            Acked(1060, 1, 940, &[(1001, 2001)]),
            Sent(1061, 2001, 3001),
            Sent(above, 3001, 4001),
            Retransmitted(1061, 1, 1001),
            Acked(1121, 3001, 1061, &[]),
            Acked(1122, 4001, 1061, &[]),
        ]
    };
    // The retransmission would have been acknowledged together with everything sent before it.
    assert_eq!(play(BOTH, &steps(1060)), ["needed no_duplicate"]);
    assert_eq!(play(BOTH, &steps(1062)), ["needed timestamp_echo"]);
}

#[test]
fn when_everything_is_late_a_late_original_is_likely() {
    let steps = |answered: [u64; 3]| {
        [
            Sent(1000, 1, 1001),
            Sent(1000, 1001, 2001),
            Sent(1000, 2001, 3001),
            Retransmitted(1130, 2001, 3001),
            Acked(answered[0], 1001, 0, &[]),
            Acked(answered[1], 2001, 0, &[]),
            Acked(answered[2], 3001, 0, &[]),
        ]
    };
    assert_eq!(
        play(SACK, &steps([1500, 1501, 1502])),
        ["unknowable ambiguous"],
        "the path stalled, and the DSACK may be lost"
    );
    assert_eq!(play(SACK, &steps([1060, 1061, 1192])), ["needed no_duplicate"]);
}

#[test]
fn two_reports_prove_three_arrivals() {
    let steps = [
        Sent(1000, 1, 1001),
        Retransmitted(1130, 1, 1001),
        Retransmitted(1400, 1, 1001),
        Acked(1490, 1001, 1130, &[(1, 1001)]),
        Acked(1491, 1001, 1400, &[(1, 1001)]),
    ];
    assert_eq!(play(BOTH, &steps), ["spurious dsack", "spurious dsack"]);
}

#[test]
fn a_block_that_stays_when_the_hole_below_is_filled_is_no_dsack() {
    let steps = [
        Sent(1000, 1, 1001),
        Sent(1001, 1001, 1002),
        Retransmitted(1130, 1001, 1002),
        Acked(1190, 1, 900, &[(1001, 1002)]),
        Retransmitted(1191, 1, 1001),
        Acked(1251, 1002, 1191, &[(1001, 1002)]),
    ];
    let expected = ["needed no_duplicate", "needed timestamp_echo"];
    assert_eq!(play(BOTH, &steps), expected);
}

#[test]
fn without_original_and_round_trip_only_echoes_count() {
    // (the steps, the verdict without a known round trip, and with one)
    let early = [Uncaptured(1, 1001), Retransmitted(1062, 1, 1001), Acked(1063, 3001, 900, &[])];
    let answered = [Uncaptured(1, 1001), Retransmitted(1062, 1, 1001), Acked(1122, 3001, 900, &[])];
    let reported = [
        Uncaptured(1, 1001),
        Retransmitted(1062, 1, 1001),
        Acked(1122, 3001, 900, &[]),
        Acked(1123, 3001, 900, &[(1, 1001)]),
    ];
    let cases = [
        (&early[..], "spurious ack_too_early"),
        (&answered[..], "needed no_duplicate"),
        (&reported[..], "spurious dsack"),
    ];
    for (steps, known) in cases {
        assert_eq!(play_within(None, SACK, steps), ["unknowable ambiguous"]);
        assert_eq!(play(SACK, steps), [known]);
    }
}

#[test]
fn a_keep_alive_answered_before_the_data_overtook_nothing() {
    // The ACKs of the original and the probe are lost. Either may have arrived first.
    let steps = [
        Acked(500, 1, 400, &[]),
        Acked(501, 1, 400, &[]),
        Sent(1000, 1, 1001),
        Retransmitted(1130, 1, 1001),
        Retransmitted(1400, 1, 1001),
        Acked(1460, 1001, 1400, &[(1, 1001)]),
    ];
    assert_eq!(play(BOTH, &steps)[0], "unknowable ambiguous");
}

#[test]
fn a_receiver_that_never_sends_a_dsack_is_not_expected_to() {
    let stall = |i: u64| {
        let (from, to, ms) = (1 + i * 1000, 1001 + i * 1000, 1000 * (i + 1));
        [Sent(ms, from, to), Retransmitted(ms + 300, from, to), Acked(ms + 500, to, ms as u32, &[])]
    };
    let tail = [Sent(9000, 3001, 4001), Retransmitted(9130, 3001, 4001), Answer(9190, 4001, 9131, &[])];
    let silent: Vec<Step> = (0..3).flat_map(stall).chain(tail).collect();
    assert_eq!(play(BOTH, &silent)[3], "unknowable no_reports");
    let fresh = tail.map(|step| match step {
        Answer(ms, _, echo, blocks) => Acked(ms, 4001, echo, blocks),
        other => other,
    });
    assert_eq!(play(BOTH, &fresh), ["needed no_duplicate"]);
}

#[test]
fn an_answer_to_a_later_copy_shows_that_an_original_is_missing() {
    // The first hole is filled by a timeout, just when that is answered. The two segments above were sent along with its
    // original.
    let steps = [
        Sent(1000, 1, 1001),
        Sent(1000, 1001, 2001),
        Sent(1000, 2001, 3001),
        Retransmitted(1300, 1, 1001),
        Acked(1360, 1001, 1300, &[]),
        Retransmitted(1361, 1001, 2001),
        Retransmitted(1361, 2001, 3001),
        Acked(1421, 3001, 1361, &[]),
        Ended(1450),
    ];
    for options in [BOTH, SACK] {
        let found = play(options, &steps);
        assert!(found[1..].iter().all(|found| found.starts_with("needed")), "{options:?} {found:?}");
    }
}

#[test]
fn an_echo_older_than_all_copies_identifies_none() {
    let steps = [
        Sent(1000, 1, 1001),
        Retransmitted(1300, 1, 1001),
        Retransmitted(1900, 1, 1001),
        Retransmitted(3100, 1, 1001),
        Acked(3160, 1001, 500, &[]),
    ];
    assert_eq!(play(BOTH, &steps)[0], "unknowable ambiguous");
}
