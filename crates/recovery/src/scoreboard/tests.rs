//! The scoreboard against tables (marking in [`marking`]); against a model in [`operations`].

mod marking;
mod model;
mod operations;

use super::*;
use crate::ack::{Ack, AckSummary};

/// Every retransmission had time to be answered.
const LATER: Instant = Instant::from_nanos(u64::MAX);

/// Bytes in a segment of the tables: segment `n`, counted from 1, covers `10(n−1)..10n`.
const LEN: u64 = 10;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn span(start: u64, end: u64) -> Span {
    Span::new(Offset(start), Offset(end))
}

/// The span of segments `first..=last`.
fn segments(first: u64, last: u64) -> Span {
    span(LEN * (first - 1), LEN * last)
}

fn ack(cumulative: u64, blocks: &[Span]) -> Ack {
    Ack::new(Offset(cumulative), 0).with_blocks(blocks.iter().copied())
}

/// `count` segments, the n-th sent at n ms.
fn board(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(Offset(0));
    for n in 1..=count {
        board.push(ms(n), segments(n, n));
    }
    board
}

/// The numbers of the segments for which `holds`.
fn numbers(board: &Scoreboard, holds: impl Fn(&SentSegment) -> bool) -> Vec<u64> {
    board.iter().filter(|s| holds(s)).map(|s| s.span.end.0.div_ceil(LEN)).collect()
}

fn number(segment: Option<&SentSegment>) -> Option<u64> {
    segment.map(|s| s.span.end.0.div_ceil(LEN))
}

#[test]
fn a_block_sacks_the_segments_it_covers_whole() {
    let nothing: &[u64] = &[];
    // (blocks, segments SACKed of ten)
    let cases: [(&[Span], &[u64]); 12] = [
        (&[segments(3, 5)], &[3, 4, 5]),
        (&[span(25, 50)], &[4, 5]), // begins inside segment 3
        (&[span(20, 49)], &[3, 4]), // ends inside segment 5
        (&[span(21, 29)], nothing), // inside segment 3
        (&[span(25, 35)], nothing), // two halves
        (&[segments(3, 5), segments(4, 7)], &[3, 4, 5, 6, 7]),
        (&[segments(4, 7), segments(3, 5)], &[3, 4, 5, 6, 7]),
        (&[segments(8, 8), segments(4, 4), segments(6, 6), segments(2, 2)], &[2, 4, 6, 8]),
        (&[segments(9, 30)], nothing),  // beyond what was sent
        (&[segments(12, 30)], nothing), // never sent at all
        (&[span(50, 30)], nothing),     // reversed
        (&[span(0, u64::MAX)], nothing),
    ];
    for (blocks, sacked) in cases {
        let mut board = board(10);
        let summary = board.on_ack(&ack(0, blocks), LATER);
        assert_eq!(numbers(&board, |s| s.sacked), sacked, "{blocks:?}");
        assert_eq!(summary.newly_sacked.0 as usize, sacked.len(), "{blocks:?}");
        assert_eq!(summary.delivered, summary.newly_sacked, "{blocks:?}");
        board.check().unwrap();
    }
}

#[test]
fn a_block_seen_before_or_below_the_cumulative_ack_changes_nothing() {
    let mut board = board(10);
    board.on_ack(&ack(20, &[segments(5, 6)]), LATER);
    // (cumulative, blocks): repeated, a part of it, acknowledged meanwhile, an older ACK
    let cases: [(u64, &[Span]); 4] = [
        (20, &[segments(5, 6)]),
        (20, &[segments(6, 6)]),
        (20, &[segments(5, 6), segments(1, 2)]),
        (0, &[segments(5, 6)]),
    ];
    for (cumulative, blocks) in cases {
        let before = board.clone();
        let summary = board.on_ack(&ack(cumulative, blocks), LATER);
        assert_eq!(summary, AckSummary::default(), "{cumulative} {blocks:?}");
        assert_eq!(numbers(&board, |s| s.sacked), numbers(&before, |s| s.sacked));
        assert_eq!(board.una(), before.una());
        board.check().unwrap();
    }
}

#[test]
fn a_cumulative_ack_inside_a_segment_leaves_the_remainder_outstanding() {
    let mut board = board(4);
    let summary = board.on_ack(&ack(15, &[]), LATER);
    assert_eq!((summary.newly_acked, summary.una_advanced), (Segments(1), 15));
    assert_eq!(board.first().map(|s| s.span), Some(span(15, 20)));
    // The rest is one segment like any other: it can be resent, SACKed and acknowledged.
    board.mark_first(Segments(1), |lost| assert_eq!(lost, span(15, 20)));
    board.resend(ms(9), span(15, 20), true);
    assert_eq!((board.lost(), board.retransmitted(), board.pipe()), (Segments(1), Segments(1), Segments(3)));
    board.on_ack(&ack(15, &[span(15, 20)]), LATER);
    assert!(!board.reneged(), "what an ACK stops at it cannot SACK");
    let summary = board.on_ack(&ack(20, &[]), LATER);
    assert_eq!((summary.newly_acked, summary.delivered), (Segments(1), Segments(1)));
    board.check().unwrap();
}

#[test]
fn what_was_sacked_is_not_delivered_again_by_the_cumulative_ack() {
    let mut board = board(6);
    // (cumulative, blocks, newly acked, newly SACKed, delivered)
    let cases: [(u64, &[Span], u32, u32, u32); 4] = [
        (0, &[segments(2, 3)], 0, 2, 2),
        (0, &[segments(2, 5)], 0, 2, 2),
        (30, &[segments(4, 5)], 3, 0, 1),
        (60, &[], 3, 0, 1),
    ];
    for (cumulative, blocks, acked, sacked, delivered) in cases {
        let summary = board.on_ack(&ack(cumulative, blocks), LATER);
        assert_eq!(
            (summary.newly_acked.0, summary.newly_sacked.0, summary.delivered.0),
            (acked, sacked, delivered),
            "{cumulative} {blocks:?}"
        );
        board.check().unwrap();
    }
}

#[test]
fn the_pipe_counts_what_is_thought_to_be_in_the_network() {
    let mut board = board(10);
    assert_eq!(board.pipe(), Segments(10));
    board.on_ack(&ack(0, &[segments(4, 6)]), LATER);
    assert_eq!(board.pipe(), Segments(7), "three arrived");
    board.mark_first(Segments(3), |_| ());
    assert_eq!(board.pipe(), Segments(4), "three lost");
    board.resend(ms(20), segments(1, 1), true);
    assert_eq!(board.pipe(), Segments(5), "one of them sent again");
    board.resend(ms(20), segments(10, 10), false);
    assert_eq!(board.pipe(), Segments(5), "a probe does not count");
    board.on_ack(&ack(10, &[]), LATER);
    assert_eq!(board.pipe(), Segments(4), "the retransmission arrived");
    board.mark_for_timeout(None, |_| ());
    assert_eq!(board.pipe(), Segments(0));
    board.check().unwrap();
}

#[test]
fn a_resent_span_touches_every_segment_it_overlaps_and_no_other() {
    // (span, segments of six sent again) with 15 bytes acknowledged
    let cases: [(Span, &[u64]); 7] = [
        (segments(3, 3), &[3]),
        (segments(3, 5), &[3, 4, 5]),
        (span(0, 30), &[2, 3]), // partly acknowledged
        (span(0, 15), &[]),     // wholly acknowledged
        (span(25, 35), &[3, 4]),
        (span(60, 90), &[]), // never sent
        (span(30, 30), &[]),
    ];
    for (resent, touched) in cases {
        let mut board = board(6);
        board.on_ack(&ack(15, &[]), LATER);
        board.resend(ms(50), resent, true);
        assert_eq!(numbers(&board, |s| s.transmissions == 2), touched, "{resent}");
        assert_eq!(numbers(&board, |s| s.sent_at == ms(50)), touched, "{resent}");
        assert_eq!(board.retransmitted().0 as usize, touched.len(), "{resent}");
        board.check().unwrap();
    }
}

#[test]
fn lost_segments_are_offered_in_order_and_once() {
    let mut board = board(10);
    board.on_ack(&ack(0, &[segments(3, 3), segments(7, 8)]), LATER);
    let mut marked = Vec::new();
    board.mark_first(Segments(5), |s| marked.push(s));
    assert_eq!(marked, [1, 2, 4, 5].map(|n| segments(n, n)));
    board.mark_first(Segments(6), |s| assert_eq!(s, segments(6, 6), "judged before"));
    for expected in [1, 2, 4, 5, 6] {
        assert_eq!(number(board.next_lost()), Some(expected));
        board.resend(ms(30), segments(expected, expected), true);
        board.check().unwrap();
    }
    assert_eq!(number(board.next_lost()), None);
}

#[test]
fn holes_are_unsacked_segments_below_the_highest_sack_not_retransmitted() {
    let mut board = board(10);
    assert_eq!(number(board.next_hole()), None);
    board.on_ack(&ack(0, &[segments(2, 2), segments(4, 5), segments(8, 8)]), LATER);
    for expected in [1, 3, 6, 7] {
        assert_eq!(number(board.next_hole()), Some(expected));
        board.resend(ms(30), segments(expected, expected), true);
    }
    assert_eq!(number(board.next_hole()), None, "9 and 10 are above");
    board.on_ack(&ack(0, &[segments(10, 10)]), LATER);
    assert_eq!(number(board.next_hole()), Some(9));
    board.mark_for_timeout(None, |_| ());
    assert_eq!(number(board.next_hole()), Some(1), "no retransmission counts any more");
    board.check().unwrap();
}

#[test]
fn reneging_clears_the_sack_marks() {
    let mut board = board(5);
    board.on_ack(&ack(0, &[segments(2, 3)]), LATER);
    assert!(!board.reneged());
    board.on_ack(&ack(10, &[]), LATER);
    assert!(board.reneged(), "segment 2 was SACKed, the cumulative ACK stops at it");
    board.forget_sacks();
    assert!(!board.reneged());
    assert_eq!((board.sacked(), board.fack(), board.pipe()), (Segments(0), Segments(0), Segments(4)));
    board.check().unwrap();
}

#[test]
fn an_original_below_the_highest_sack_arrives_reordered_by_the_distance() {
    // (resent before, SACKed before, the ACK, distance)
    type Case<'a> = (&'a [u64], Span, Ack, Option<u32>);
    let cases: [Case; 6] = [
        (&[], segments(4, 4), ack(0, &[segments(3, 4)]), Some(2)),
        (&[], segments(4, 4), ack(40, &[]), Some(4)),
        (&[], segments(2, 2), ack(20, &[]), Some(2)),
        (&[1], segments(2, 4), ack(40, &[]), None), // the retransmission filled the hole
        (&[], segments(4, 4), ack(0, &[segments(4, 6)]), None), // in order
        (&[], segments(9, 9), ack(0, &[segments(5, 5), segments(2, 2), segments(9, 9)]), Some(8)),
    ];
    for (resent, sacked, last, distance) in cases {
        let mut board = board(10);
        board.on_ack(&ack(0, &[sacked]), LATER);
        resent.iter().for_each(|&n| board.resend(ms(20), segments(n, n), true));
        assert_eq!(board.on_ack(&last, LATER).reordering, distance.map_or(Segments::ZERO, Segments), "{last:?}");
    }
    // The blocks of one ACK tell no order.
    let mut board = board(10);
    let summary = board.on_ack(&ack(0, &[segments(9, 9), segments(4, 4)]), LATER);
    assert_eq!(summary.reordering, Segments::ZERO);
}

#[test]
fn the_rtt_is_taken_from_the_lowest_segment_newly_sacked() {
    for blocks in [[segments(9, 9), segments(4, 5)], [segments(4, 5), segments(9, 9)]] {
        let mut board = board(10);
        let summary = board.on_ack(&ack(0, &blocks), LATER);
        assert_eq!(summary.first_original_sacked, Some(ms(4)), "{blocks:?}");
    }
}

#[test]
fn the_segments_that_wait_together_are_told_from_any_of_them_on() {
    let mut board = board(8);
    board.on_ack(&ack(0, &[segments(4, 4), segments(8, 8)]), LATER);
    board.mark_first(Segments(7), |_| ());
    board.resend(ms(9), segments(6, 6), true);
    // 1 to 3, 5 and 7 wait; 4 and 8 are SACKed, 6 is on its way again.
    let cases: [(u64, &[u64]); 6] = [(0, &[1, 2, 3]), (10, &[2, 3]), (30, &[]), (40, &[5]), (60, &[7]), (80, &[])];
    for (start, waiting) in cases {
        let found: Vec<u64> = board.lost_from(Offset(start)).map(|s| s.span.end.0 / LEN).collect();
        assert_eq!(found, waiting, "from {start}");
    }
}

#[test]
fn work_counts_the_segments_visited() {
    let mut board = Scoreboard::new(Offset::SYN);
    for i in 0..100 {
        board.push(Instant::from_millis(i), Span::at(board.nxt(), 10));
    }
    assert_eq!(board.work(), 100);
    board.mark_for_timeout(None, |_| {});
    assert_eq!(board.work(), 200);
    board.unmark_lost(false);
    assert!(board.work() >= 300);
    // Segments that a search from the end has passed are not visited again.
    let all = Span::new(board.una() + 10, board.nxt());
    let ack = Ack::new(board.una(), 1000).with_blocks([all]);
    board.on_ack(&ack, Instant::from_millis(100));
    assert_eq!(board.last_unsacked().map(|s| s.span.start), Some(board.una()));
    let work = board.work();
    board.on_ack(&ack, Instant::from_millis(100));
    assert_eq!(board.work(), work);
    board.reset(Offset::SYN);
    assert_eq!(board.work(), 0);
    board.trim();
    assert!(board.memory() < 100 * size_of::<SentSegment>() * 8);
}

#[test]
fn a_full_scoreboard_refuses_segments_and_leaves_large_ones_whole() {
    let mut board = Scoreboard::new(Offset(0));
    assert!(board.move_to(Storage::with_capacity(5)).is_ok());
    assert_eq!(board.capacity(), 5);
    for n in 1..=4 {
        assert!(board.push(ms(n), segments(n, n)));
    }
    // Parts of six bytes: two a segment, and room for the parts of one.
    let mut lost = Vec::new();
    board.lose_larger(6, |span| span.len() - 1, |span| lost.push(span));
    let parts = [span(0, 6), span(6, 10), span(10, 20), span(20, 30), span(30, 40)];
    assert_eq!(lost, parts);
    assert_eq!(board.iter().map(|s| s.span).collect::<Vec<_>>(), parts);
    assert_eq!(board.check(), Ok(()));
    assert!(board.is_full());
    assert!(!board.push(ms(5), segments(5, 5)));
    assert_eq!(board.nxt(), Offset(40));
    board.split_at(Offset(15));
    assert_eq!(board.outstanding(), Segments(5));
    assert!(board.move_to(Storage::with_capacity(4)).is_err());
    board.on_ack(&ack(6, &[]), LATER);
    assert!(board.push(ms(6), span(40, 41)));
    assert_eq!(board.check(), Ok(()));
}

#[test]
fn a_scoreboard_that_may_not_grow_keeps_places_for_the_parts_of_what_it_has() {
    let mut board = Scoreboard::new(Offset(0));
    board.limit_growth(0, 0);
    // Of eight places that are always there, two are kept.
    let fill = |board: &mut Scoreboard| while board.push(ms(1), Span::at(board.nxt(), 10)) {};
    fill(&mut board);
    assert_eq!(board.outstanding(), Segments(6));
    let spans = |board: &Scoreboard| board.iter().map(|s| (s.span.start.0, s.span.end.0)).collect::<Vec<_>>();
    let uncut = [(10, 20), (20, 30), (30, 40), (40, 50), (50, 60)];
    // Two parts of the first one take a place more. The last place is for parts of whatever is first then.
    board.lose_larger(6, |span| span.len(), |_| {});
    assert_eq!(spans(&board), [&[(0, 6), (6, 10)], &uncut[..]].concat());
    board.cut_larger(6, |span| span.len());
    assert_eq!(board.outstanding(), Segments(7));
    board.cut_larger(2, |span| span.len());
    assert_eq!(spans(&board), [&[(0, 2), (2, 6), (6, 10)], &uncut[..]].concat());
    board.cut_larger(1, |span| span.len());
    assert_eq!(board.outstanding(), Segments(8), "there is no place at all");
    board.on_ack(&ack(20, &[]), LATER);
    board.cut_larger(6, |span| span.len());
    assert_eq!(spans(&board), [(20, 26), (26, 30), (30, 36), (36, 40), (40, 46), (46, 50), (50, 60)]);
    assert_eq!(board.check(), Ok(()));
    // What it has may have twice the places.
    let memory = board.memory();
    board.limit_growth(memory + 8, 0);
    fill(&mut board);
    assert_eq!(board.outstanding(), Segments(14));
    assert!(board.memory() <= 2 * memory + 8, "{} and {memory} bytes", board.memory());
}

#[test]
fn the_next_to_retransmit_is_the_lowest_whatever_the_order_of_the_marks() {
    // Every segment is lost; the n-th retransmission is that of segment n · 7919 mod 1000, and all are lost
    // again in the order in which they were sent.
    let mut board = board(1000);
    board.mark_for_timeout(None, |_| {});
    for n in 0..1000 {
        let number = n * 7919 % 1000 + 1;
        board.resend(ms(2000 + n), segments(number, number), true);
    }
    assert_eq!(board.next_lost().map(|s| s.span), None);
    let newest = Sent { at: ms(9000), end: Offset(0) };
    for n in (0..1000).step_by(10) {
        board.mark_overdue(newest, Some(ms(2000 + n)), |_| {});
        assert_eq!(board.check(), Ok(()), "{n}");
    }
    for number in 1..=500 {
        let lost = numbers(&board, SentSegment::wants_retransmission);
        assert_eq!(self::number(board.next_lost()), lost.first().copied());
        board.resend(ms(9000), segments(number, number), true);
    }
}

#[test]
fn links_sort_segments_sent_in_any_order() {
    // Sent again in an order of many runs, then taken back from lost to in flight at once.
    let mut board = board(300);
    for n in 0..300 {
        let number = n * 7919 % 300 + 1;
        board.resend(ms(1000 + n / 2), segments(number, number), false);
    }
    board.mark_for_timeout(None, |_| {});
    board.unmark_lost(false);
    assert_eq!(board.check(), Ok(()));
    let mut marked = Vec::new();
    let newest = Sent { at: ms(9000), end: Offset(0) };
    board.mark_overdue(newest, Some(ms(5000)), |s| marked.push(s.span.end));
    // In the order of transmission.
    let expected: Vec<Offset> = (0..300).map(|n| Offset(LEN * (n * 7919 % 300 + 1))).collect();
    assert_eq!(marked, expected);
}

#[test]
fn the_memory_of_a_segment_is_bounded() {
    assert_eq!(size_of::<SentSegment>(), 64);
    // Nothing outstanding takes no memory. The number of slots is a power of two.
    assert_eq!(Scoreboard::new(Offset(0)).memory(), 0);
    for (count, slots) in [(1, 4), (5, 8), (64, 64), (65, 128), (10_000, 16_384)] {
        let memory = board(count).memory();
        let words = Storage::words_for(slots);
        assert_eq!(memory, slots * 64 + words * 8, "{count}");
        assert!(words <= 1 + slots / 62, "{count}");
    }
}

#[test]
fn a_retransmission_far_behind_new_data_counts_as_sent_last() {
    let mut board = Scoreboard::new(Offset(0));
    board.push(ms(1), span(0, 10));
    board.push(ms(1), span(10, 1 << 40));
    board.resend(ms(2), span(0, 10), true);
    let first = board.first().map(SentSegment::nxt_when_sent);
    assert_eq!(first, Some(Offset(u64::MAX)));
}
