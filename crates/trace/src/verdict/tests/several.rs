//! Several retransmissions, handshakes, closes, and refused copies.

use super::*;

#[test]
fn several_retransmissions() {
    check(&[
        (
            "the original and the first retransmission are lost",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Retransmitted(1130, 1, 1001),
                Retransmitted(1400, 1, 1001),
                Acked(1460, 1001, 1400, &[]),
            ],
            &["needed timestamp_echo", "needed timestamp_echo"],
        ),
        (
            "the first retransmission arrives, and the timer fires too early",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Retransmitted(1200, 1, 1001),
                Retransmitted(1400, 1, 1001),
                Acked(1430, 1001, 1200, &[]),
                Acked(1460, 1001, 1400, &[(1, 1001)]),
            ],
            &["needed timestamp_echo", "spurious dsack"],
        ),
        (
            "one of the first two copies arrived",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Retransmitted(1130, 1, 1001),
                Retransmitted(1400, 1, 1001),
                Acked(1460, 1001, 1400, &[(1, 1001)]),
            ],
            &["unknowable ambiguous", "spurious dsack"],
        ),
        (
            "all ACKs are lost until the receiver retransmits data of its own",
            BOTH,
            &[
                Sent(1000, 1, 1001),
                Retransmitted(1300, 1, 1001),
                Retransmitted(1900, 1, 1001),
                Answer(3000, 1001, 1900, &[]),
            ],
            &["unknowable ambiguous", "unknowable ambiguous"],
        ),
        (
            "small segments are retransmitted as one, and one of them had arrived",
            BOTH,
            &[
                Sent(1000, 1, 101),
                Sent(1001, 101, 201),
                Acked(1061, 1, 900, &[(101, 201)]),
                Retransmitted(1130, 1, 201),
                Acked(1190, 201, 1130, &[(101, 201)]),
            ],
            &["needed timestamp_echo"],
        ),
        (
            "a packet of several segments is retransmitted in single ones",
            BOTH,
            &[
                Sent(1000, 1, 3001),
                Sent(1001, 3001, 4001),
                Acked(1061, 1, 900, &[(3001, 4001)]),
                Retransmitted(1062, 1, 1001),
                Retransmitted(1062, 1001, 2001),
                Retransmitted(1063, 2001, 3001),
                Acked(1070, 1, 900, &[(1001, 2001), (3001, 4001)]),
                Acked(1122, 2001, 1062, &[(3001, 4001)]),
                Acked(1123, 2001, 1062, &[(1001, 2001), (3001, 4001)]),
                Acked(1124, 4001, 1063, &[]),
            ],
            &["needed timestamp_echo", "spurious dsack", "needed timestamp_echo"],
        ),
    ]);
}

#[test]
fn handshake_and_close() {
    check(&[
        (
            "the first SYN is answered",
            TIMESTAMPS,
            &[Sent(1000, 0, 1), Retransmitted(2000, 0, 1), Answer(2060, 1, 1000, &[])],
            &["spurious timestamp_echo"],
        ),
        (
            "the second SYN is answered",
            BOTH,
            &[Sent(1000, 0, 1), Retransmitted(2000, 0, 1), Answer(2060, 1, 2000, &[])],
            &["needed timestamp_echo"],
        ),
        (
            "a SYN without timestamps",
            SACK,
            &[Sent(1000, 0, 1), Retransmitted(2000, 0, 1), Answer(2060, 1, 0, &[])],
            &["unknowable ambiguous"],
        ),
        (
            "a FIN whose ACK is lost: TIME-WAIT sends no DSACK",
            SACK,
            &[Sent(1000, 1, 2), Closed(1000), Retransmitted(1130, 1, 2), Acked(1190, 2, 0, &[])],
            &["unknowable ambiguous"],
        ),
        (
            "TIME-WAIT does not update TS.Recent",
            BOTH,
            &[Sent(1000, 1, 2), Closed(1000), Retransmitted(1130, 1, 2), Acked(1190, 2, 1000, &[])],
            &["spurious timestamp_echo"],
        ),
        (
            "the FIN that fills the hole is echoed, although another follows",
            BOTH,
            &[
                Sent(1000, 1, 2),
                Closed(1000),
                Retransmitted(1280, 1, 2),
                Retransmitted(1560, 1, 2),
                Acked(1620, 2, 1280, &[]),
            ],
            &["needed timestamp_echo", "spurious timestamp_echo"],
        ),
    ]);
}

#[test]
fn copies_refused_for_their_age() {
    // A younger segment fills the first hole. The old segment behind it is refused and answered.
    let begin = [
        Sent(1000, 1, 1001),
        Sent(1000, 1001, 2001),
        Sent(1000, 2001, 3001),
        Sent(1000, 3001, 4001),
        Acked(1060, 1, 900, &[(3001, 4001)]),
        Retransmitted(1061, 1, 1001),
    ];
    let refused_once: &[Step] = &[
        Acked(1121, 2001, 1061, &[(3001, 4001)]),
        Acked(1125, 2001, 1061, &[(3001, 4001)]),
        Retransmitted(1126, 2001, 3001),
        Acked(1186, 4001, 1126, &[]),
    ];
    let either: &[Step] = &[
        Acked(1121, 1001, 1061, &[(3001, 4001)]),
        Acked(1125, 1001, 1061, &[(3001, 4001)]),
        Retransmitted(1126, 1001, 2001),
        Retransmitted(1127, 2001, 3001),
        Acked(1186, 2001, 1126, &[(3001, 4001)]),
        Acked(1187, 4001, 1127, &[]),
    ];
    let neither: &[Step] =
        &[Acked(1121, 2001, 1061, &[(3001, 4001)]), Retransmitted(1126, 2001, 3001), Acked(1186, 4001, 1126, &[])];
    let cases: [(&[Step], &[&str]); 3] = [
        (refused_once, &["needed timestamp_echo", "spurious timestamp_echo"]),
        (either, &["needed timestamp_echo", "unknowable ambiguous", "unknowable ambiguous"]),
        (neither, &["needed timestamp_echo", "needed timestamp_echo"]),
    ];
    for (steps, expected) in cases {
        assert_eq!(play(BOTH, &[&begin, steps].concat()), expected, "{steps:?}");
    }
}

#[test]
fn a_refusal_may_be_missed_among_reordered_acks() {
    // The segment that fills the first hole makes the second original, delayed on the path, too old.
    let scene = |meanwhile: Step| {
        let steps = [
            Sent(1000, 1, 1001),
            Sent(1001, 1001, 2001),
            Sent(1055, 2001, 3001),
            Sent(1058, 3001, 4001),
            Acked(1061, 1, 900, &[(1001, 2001)]),
            Retransmitted(1062, 1, 1001),
            Acked(1122, 2001, 1062, &[]),
            Acked(1123, 2001, 1062, &[(3001, 4001)]),
            meanwhile,
            Retransmitted(1150, 2001, 3001),
            Acked(1210, 4001, 1150, &[]),
        ];
        play(BOTH, &steps).swap_remove(1)
    };
    let overtaken = Acked(1139, 1, 900, &[(1001, 2001)]);
    assert_eq!(scene(overtaken), "unknowable ambiguous");
    assert_eq!(scene(Sent(1139, 4001, 5001)), "needed timestamp_echo");
}

#[test]
fn verdicts_with_too_many_hypotheses_are_ambiguous() {
    // Copies that SACK blocks cut into pieces, and DSACKs of them.
    let last_verdict = |copies: u32, reports: u64| {
        let mut verdicts = AckVerdicts::new(BOTH);
        for index in 0..copies {
            let again = copy(1010 + 10 * u64::from(index));
            verdicts.on_retransmission(index, span(1, 9001), again, Some(copy(1000)));
        }
        for i in 0..100 {
            let blocks = [0, 2, 4].map(|at| 11 + 6 * i + at).map(|at| span(at, at + 1));
            let ack = Ack::new(Offset(1), 65_535).with_blocks(blocks);
            verdicts.on_ack(at(1200 + i), Offset(1), &ack, Some(1000), &|_| None);
        }
        let all = Ack::new(Offset(9001), 65_535);
        verdicts.on_ack(at(3000), Offset(1), &all, Some(1000), &|_| None);
        for i in 0..reports {
            let report = all.with_blocks([span(1, 9001)]);
            verdicts.on_ack(at(3001 + i), Offset(9001), &report, Some(1160), &|_| None);
        }
        let found = finish(&mut verdicts, at(9000), RTT);
        assert_eq!(found.len(), copies as usize);
        found.last().map(|last| last.1)
    };
    assert_eq!(last_verdict(1, 1), Some(Verdict::Spurious));
    assert_eq!(last_verdict(16, 4), Some(Verdict::Unknowable));
}

#[test]
fn a_retransmission_of_very_many_pieces_stays_undecided() {
    let mut verdicts = AckVerdicts::new(BOTH);
    for i in 0..1300 {
        let blocks = [1, 3, 5].map(|offset| 6 * i + offset).map(|from| span(from, from + 1));
        let ack = Ack::new(Offset(1), 65_535).with_blocks(blocks);
        verdicts.on_ack(at(1000 + i), Offset(1), &ack, Some(900), &|_| None);
    }
    assert!(!verdicts.is_too_costly());
    // Each cuts thousands of pieces or visits them.
    for index in 0..2000 {
        let again = copy(3000 + 10 * u64::from(index));
        verdicts.on_retransmission(index, span(1, 7801), again, Some(copy(900)));
    }
    assert!(verdicts.is_too_costly());
    let all = Ack::new(Offset(7801), 65_535);
    verdicts.on_ack(at(30_000), Offset(1), &all, None, &|_| None);
    let found = finish(&mut verdicts, at(60_000), RTT);
    assert_eq!(found.len(), 2000);
    assert!(found.iter().all(|found| found.1 == Verdict::Unknowable));
    // Once all is decided, verdicts are given again.
    verdicts.on_retransmission(2000, span(8000, 9000), copy(61_000), Some(copy(60_500)));
    let ack = Ack::new(Offset(9000), 65_535);
    verdicts.on_ack(at(61_100), Offset(8000), &ack, Some(61_000), &|_| None);
    let found = finish(&mut verdicts, at(70_000), RTT);
    assert_eq!(found.len(), 1);
    assert_ne!(found[0].2, Evidence::Ambiguous);
}
