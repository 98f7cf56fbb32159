//! Marking lost, against tables: one detector's way of saying which a test.

use super::*;

/// A board of ten with `sacked` SACKed.
fn sacked(blocks: &[Span]) -> Scoreboard {
    let mut board = board(10);
    for &block in blocks {
        board.on_ack(&ack(0, &[block]), LATER);
    }
    board
}

/// The numbers of the segments `mark` marks, in its order.
fn marks(board: &mut Scoreboard, mark: impl FnOnce(&mut Scoreboard, &mut Vec<Span>)) -> Vec<u64> {
    let mut spans = Vec::new();
    mark(board, &mut spans);
    board.check().unwrap();
    spans.into_iter().map(|s| s.end.0.div_ceil(LEN)).collect()
}

#[test]
fn counting_marks_segments_with_enough_sacked_above() {
    let apart = [3, 5, 7, 9].map(|n| segments(n, n)); // four stretches, 40 bytes
    let run = [segments(6, 9)]; // one stretch, 40 bytes
    let two = [segments(2, 3), segments(8, 8)]; // two stretches, 30 bytes
    let nothing: &[u64] = &[];
    // (SACKed, those above which three segments are SACKed, three stretches, more than 20 bytes)
    type Case<'a> = (&'a [Span], &'a [u64], &'a [u64], &'a [u64]);
    let cases: [Case; 4] = [
        (&apart, &[1, 2, 4], &[1, 2, 4], &[1, 2, 4]),
        (&run, &[1, 2, 3, 4, 5], nothing, &[1, 2, 3, 4, 5]),
        (&two, &[1], nothing, &[1]),
        (&[], nothing, nothing, nothing),
    ];
    for (blocks, by_segments, by_stretches, by_bytes) in cases {
        type Rule<'a> = (fn(Above) -> bool, &'a [u64]);
        let rules: [Rule; 3] = [
            (|above| above.segments >= 3, by_segments),
            (|above| above.runs >= 3, by_stretches),
            (|above| above.bytes > 20, by_bytes),
        ];
        for (i, (enough, expected)) in rules.into_iter().enumerate() {
            let mut board = sacked(blocks);
            let marked = marks(&mut board, |b, to| b.mark_below(enough, |s| to.push(s)));
            assert_eq!(marked, expected, "{blocks:?}, rule {i}");
            assert_eq!(numbers(&board, |s| s.lost), expected, "{blocks:?}, rule {i}");
            let again = marks(&mut board, |b, to| b.mark_below(enough, |s| to.push(s)));
            assert_eq!(again, nothing, "judged once");
        }
    }
}

#[test]
fn what_was_sent_again_as_a_hole_stays_in_the_pipe_when_counted_lost() {
    let mut board = sacked(&[segments(4, 4)]);
    board.resend(ms(20), segments(1, 1), true);
    assert_eq!(board.pipe(), Segments(10), "nine not SACKed, one of them twice");
    board.on_ack(&ack(0, &[segments(5, 6)]), LATER);
    let marked = marks(&mut board, |b, to| {
        b.mark_below(|above| above.segments >= 3, |s| to.push(s));
    });
    assert_eq!(marked, [1, 2, 3]);
    assert_eq!(number(board.next_lost()), Some(2), "1 is on its way");
    assert_eq!(board.lost_retransmissions(), 0);
    assert_eq!(board.pipe(), Segments(5), "7 to 10, and 1 again");
}

#[test]
fn time_marks_what_was_sent_before_the_newest_delivered_and_long_ago() {
    let nothing: &[u64] = &[];
    // Segment n was sent at n ms, 2 again at 20 ms; 6 and 7 are SACKed. (sent before the
    // transmission at …, of segment …; overdue if sent by; marked; the latest of the others before)
    type Case<'a> = (u64, u64, Option<u64>, &'a [u64], Option<u64>);
    let cases: [Case; 7] = [
        (7, 7, Some(7), &[1, 3, 4, 5], None),
        (7, 7, Some(3), &[1, 3], Some(5)),
        (7, 7, None, nothing, Some(5)),
        (4, 4, Some(10), &[1, 3], None),    // 4 was not sent before itself
        (4, 5, Some(10), &[1, 3, 4], None), // but before what was sent at once after it
        (20, 3, Some(30), &[1, 3, 4, 5, 8, 9, 10, 2], None),
        (20, 1, Some(9), &[1, 3, 4, 5, 8, 9], Some(10)), // 2 was sent after 1 at 20 ms
    ];
    for (at, n, overdue, expected, left) in cases {
        let mut board = sacked(&[segments(6, 7)]);
        board.resend(ms(20), segments(2, 2), true);
        let before = Sent { at: ms(at), end: segments(n, n).end };
        let mut waiting = None;
        let marked = marks(&mut board, |b, to| {
            waiting = b.mark_overdue(before, overdue.map(ms), |s| to.push(s.span));
        });
        assert_eq!(marked, expected, "{at} {n} {overdue:?}");
        assert_eq!(waiting, left.map(ms), "{at} {n} {overdue:?}");
        let lost_again = u64::from(expected.contains(&2));
        assert_eq!(board.lost_retransmissions(), lost_again);
    }
}

#[test]
fn a_retransmission_is_lost_when_new_data_sent_after_it_is_sacked() {
    let nothing: &[u64] = &[];
    // 1 sent again after 10 was sent, 2 again after 11: (SACKed, marked)
    let cases: [(&[Span], &[u64]); 4] = [
        (&[segments(10, 10)], nothing), // sent before either
        (&[segments(11, 11)], &[1]),
        (&[segments(12, 12)], &[1, 2]),
        (&[], nothing),
    ];
    for (blocks, expected) in cases {
        let mut board = sacked(&[segments(5, 6)]);
        board.mark_first(Segments(3), |_| ());
        board.resend(ms(20), segments(1, 1), true);
        board.push(ms(21), segments(11, 11));
        board.resend(ms(22), segments(2, 2), true);
        board.push(ms(23), segments(12, 12));
        for &block in blocks {
            board.on_ack(&ack(0, &[block]), LATER);
        }
        let pipe = board.pipe();
        let marked = marks(&mut board, |b, to| b.mark_lost_retransmissions(|s| to.push(s)));
        assert_eq!(marked, expected, "{blocks:?}");
        assert_eq!(board.lost_retransmissions() as usize, expected.len());
        assert_eq!(board.pipe().0, pipe.0 - expected.len() as u32, "{blocks:?}");
        let next = expected.first().copied().unwrap_or(3);
        assert_eq!(number(board.next_lost()), Some(next), "{blocks:?}");
    }
}

#[test]
fn the_head_is_marked_unless_it_is_lost_or_sacked() {
    let head = |board: &mut Scoreboard| marks(board, |b, to| b.mark_head(|s| to.push(s)));
    let mut board = board(3);
    assert_eq!(head(&mut board), [1]);
    assert_eq!(head(&mut board), [], "it is lost already");
    board.resend(ms(9), segments(1, 1), true);
    assert_eq!(head(&mut board), [], "and on its way again");
    board.on_ack(&ack(0, &[segments(2, 2)]), LATER);
    board.on_ack(&ack(10, &[]), LATER);
    assert_eq!(head(&mut board), [], "the receiver has it");
    board.on_ack(&ack(20, &[]), LATER);
    board.resend(ms(10), segments(3, 3), true);
    assert_eq!(head(&mut board), [3], "what repeats it may still arrive");
    assert_eq!((board.pipe(), board.lost_retransmissions()), (Segments(1), 0));
    board.on_ack(&ack(30, &[]), LATER);
    assert_eq!(head(&mut board), []);
}

#[test]
fn a_timeout_does_not_mark_recent_segments_except_the_head() {
    let nothing: &[u64] = &[];
    // (lost if sent by, lost); 4 and 5 are SACKed, 2 was lost before and sent again at 20 ms
    let cases: [(Option<u64>, &[u64]); 4] = [
        (None, &[1, 2, 3, 6, 7, 8, 9, 10]),
        (Some(20), &[1, 2, 3, 6, 7, 8, 9, 10]),
        (Some(7), &[1, 2, 3, 6, 7]),
        (Some(0), &[1, 2]), // 2 keeps its mark
    ];
    for (overdue, lost) in cases {
        let mut board = sacked(&[segments(4, 5)]);
        board.mark_overdue(Sent { at: ms(5), end: segments(5, 5).end }, Some(ms(2)), |_| ());
        assert_eq!(numbers(&board, |s| s.lost), [1, 2]);
        board.resend(ms(20), segments(2, 2), true);
        let reported = marks(&mut board, |b, to| {
            b.mark_for_timeout(overdue.map(ms), |s| to.push(s));
        });
        assert_eq!(numbers(&board, |s| s.lost), lost, "{overdue:?}");
        assert_eq!(reported, lost[2..], "{overdue:?}: 1 and 2 were lost before");
        let resent = numbers(&board, |s| s.retransmitted);
        let spared = overdue.is_some_and(|by| by < 20);
        assert_eq!(resent, if spared { &[2] } else { nothing }, "{overdue:?}");
        assert_eq!(number(board.next_lost()), Some(1));
    }
}

#[test]
fn undone_marks_can_be_made_again() {
    let mut board = sacked(&[segments(4, 6)]);
    board.mark_first(Segments(3), |_| ());
    board.resend(ms(20), segments(1, 1), true);
    assert_eq!(board.pipe(), Segments(5));
    board.unmark_lost(false);
    board.check().unwrap();
    assert_eq!((board.lost(), board.next_lost().is_none()), (Segments(0), true));
    assert_eq!(board.pipe(), Segments(8), "seven, and the repetition of 1");
    let marked = marks(&mut board, |b, to| {
        b.mark_below(|above| above.segments >= 3, |s| to.push(s));
    });
    assert_eq!(marked, [1, 2, 3]);
    assert_eq!(number(board.next_lost()), Some(2), "1 is on its way");
}

#[test]
fn duplicate_acks_stand_for_all_but_the_first_and_the_lost() {
    let mut board = board(4);
    for (n, room) in [(1, true), (2, true), (3, true), (3, false)] {
        assert_eq!(board.on_duplicate(), room);
        assert_eq!((board.sacked(), board.pipe()), (Segments(n), Segments(4 - n)));
    }
    board.mark_head(|_| ());
    assert_eq!(board.pipe(), Segments(0));
    board.resend(ms(9), segments(1, 1), true);
    board.push(ms(9), segments(5, 5));
    assert_eq!(board.pipe(), Segments(2));
    assert!(board.on_duplicate(), "5 arrived");
    assert_eq!(board.pipe(), Segments(1));
}

#[test]
fn a_cumulative_ack_explains_the_duplicates_before_it() {
    // (outstanding, duplicates, acknowledged, delivered by it, duplicates left)
    let cases = [
        (6, 0, 1, 1, 0),
        (6, 3, 4, 1, 0), // the hole and the three above it
        (6, 3, 6, 3, 0), // two that drew no duplicate ACK of their own
        (6, 3, 1, 1, 3), // a partial ACK: the three lie above
        (6, 3, 2, 1, 2),
        (4, 3, 1, 1, 2), // one of three outstanding is missing
        (4, 3, 3, 1, 0),
    ];
    for (count, duplicates, acked, delivered, left) in cases {
        let mut board = board(count);
        (0..duplicates).for_each(|_| assert!(board.on_duplicate()));
        let summary = board.on_ack(&ack(acked * LEN, &[]), LATER);
        let unexplained = board.explain_duplicates(summary.newly_acked);
        let got = (unexplained, board.sacked());
        let expected = (Segments(delivered), Segments(left));
        assert_eq!(got, expected, "{count} {duplicates} {acked}");
        board.forget_duplicates();
        assert_eq!(board.sacked(), Segments(0));
    }
}

#[test]
fn a_retransmission_too_recent_to_be_acknowledged_was_not_delivered() {
    // 1 sent again at 20 ms: (the ACK, answers can be to what was sent by, newest delivered)
    let cases: [(Ack, u64, Option<u64>); 5] = [
        (ack(10, &[]), 20, Some(20)),
        (ack(10, &[]), 19, None),
        (ack(20, &[]), 19, Some(2)),             // the original of 2 was delivered
        (ack(0, &[segments(4, 5)]), 3, Some(5)), // originals have no other copy
        (ack(10, &[segments(4, 4)]), 25, Some(20)),
    ];
    for (ack, plausible, newest) in cases {
        let mut board = board(6);
        board.mark_first(Segments(1), |_| ());
        board.resend(ms(20), segments(1, 1), true);
        let summary = board.on_ack(&ack, ms(plausible));
        assert_eq!(summary.newest_delivered.map(|s| s.at), newest.map(ms), "{ack:?}");
        assert!(summary.delivered > Segments(0), "it was delivered all the same");
    }
}

#[test]
fn impossible_blocks_are_counted() {
    // 15 bytes of 100 are acknowledged. (blocks, counted)
    let cases: [(&[Span], u64); 9] = [
        (&[segments(3, 4)], 0),
        (&[segments(12, 12), segments(11, 14)], 2), // a duplicate of what was never sent
        (&[segments(4, 4), segments(3, 14)], 1),
        (&[segments(9, 11)], 1), // beyond what was sent
        (&[span(10, 30)], 1),    // across snd_una
        (&[segments(3, 3), span(0, 200), span(5, 25)], 2),
        (&[segments(3, 3), segments(1, 1)], 0), // old, not a lie
        (&[segments(4, 5), segments(3, 6)], 0), // the first reports a duplicate
        (&[span(0, 15)], 0),                    // so does this one
    ];
    for (blocks, counted) in cases {
        let mut board = board(10);
        board.on_ack(&ack(15, &[]), LATER);
        board.on_ack(&ack(15, blocks), LATER);
        assert_eq!(board.impossible_blocks(), counted, "{blocks:?}");
        board.check().unwrap();
    }
}
