#![allow(clippy::single_range_in_vec_init, reason = "a lone SACK block is a lone range")]

mod oracle;

use super::*;
use std::ops::Range;

const MSS: u16 = 500;

fn span(range: Range<u64>) -> Span {
    Span::new(Offset(range.start), Offset(range.end))
}

/// A receiver with a large buffer to which everything below `next` has come, and the application
/// has read it.
fn expecting(next: u64) -> Receiver {
    let mut receiver = Receiver::new(1 << 20, MSS);
    receiver.on_arrival(span(0..next), false);
    receiver.read(next);
    receiver
}

/// The acknowledgment number and SACK blocks sent in answer to a segment.
fn answer(receiver: &mut Receiver, segment: Range<u64>) -> (u64, Vec<Range<u64>>) {
    receiver.on_arrival(span(segment), false);
    let blocks = blocks(receiver, 4);
    (receiver.next().0, blocks)
}

fn blocks(receiver: &mut Receiver, room: usize) -> Vec<Range<u64>> {
    let mut blocks = vec![];
    receiver.take_sack_blocks(room, |b| blocks.push(b.start.0..b.end.0));
    blocks
}

/// (segment received, acknowledgment number, SACK blocks)
type Exchange<'a> = (Range<u64>, u64, &'a [Range<u64>]);

fn check_exchanges(name: &str, next: u64, exchanges: &[Exchange]) {
    let mut receiver = expecting(next);
    for (segment, ack, blocks) in exchanges {
        let got = answer(&mut receiver, segment.clone());
        assert_eq!(got, (*ack, blocks.to_vec()), "{name}: {segment:?}");
    }
}

#[test]
fn rfc_2018_examples() {
    // §7. The sender's segments are 500 bytes from 5000 on.
    check_exchanges(
        "case 1: the last four are lost",
        5000,
        &[(5000..5500, 5500, &[]), (5500..6000, 6000, &[]), (6000..6500, 6500, &[]), (6500..7000, 7000, &[])],
    );
    check_exchanges(
        "case 2: the first is lost",
        5000,
        &[
            (5500..6000, 5000, &[5500..6000]),
            (6000..6500, 5000, &[5500..6500]),
            (6500..7000, 5000, &[5500..7000]),
            (7000..7500, 5000, &[5500..7500]),
            (7500..8000, 5000, &[5500..8000]),
            (8000..8500, 5000, &[5500..8500]),
            (8500..9000, 5000, &[5500..9000]),
        ],
    );
    check_exchanges(
        "case 3: every second is lost, then the fourth and the second come",
        5000,
        &[
            (5000..5500, 5500, &[]),
            (6000..6500, 5500, &[6000..6500]),
            (7000..7500, 5500, &[7000..7500, 6000..6500]),
            (8000..8500, 5500, &[8000..8500, 7000..7500, 6000..6500]),
            (6500..7000, 5500, &[6000..7500, 8000..8500]),
            (5500..6000, 7500, &[8000..8500]),
        ],
    );
}

#[test]
fn rfc_2883_examples() {
    // §4.1: whole segments
    check_exchanges(
        "example 1: a duplicate segment",
        3000,
        &[(3000..3500, 3500, &[]), (3500..4000, 4000, &[]), (3000..3500, 4000, &[3000..3500])],
    );
    check_exchanges(
        "example 2: an out-of-order segment and a duplicate",
        3000,
        &[
            (3000..3500, 3500, &[]),
            (3500..4000, 4000, &[]),
            (4500..5000, 4000, &[4500..5000]),
            (3000..3500, 4000, &[3000..3500, 4500..5000]),
        ],
    );
    check_exchanges(
        "example 3: a duplicate of an out-of-order segment",
        3500,
        &[
            (3500..4000, 4000, &[]),
            (4500..5000, 4000, &[4500..5000]),
            (5000..5500, 4000, &[4500..5500]),
            (5000..5500, 4000, &[5000..5500, 4500..5500]),
        ],
    );
    // §4.2: parts of segments
    check_exchanges(
        "example 4: one duplicate part",
        500,
        &[
            (500..1000, 1000, &[]),
            (2000..2500, 1000, &[2000..2500]),
            (1000..1500, 1500, &[2000..2500]),
            (1000..2000, 2500, &[1000..1500]),
        ],
    );
    check_exchanges(
        "example 5: two duplicate parts below the cumulative ACK, of which the first is told",
        500,
        &[
            (500..1000, 1000, &[]),
            (3000..3500, 1000, &[3000..3500]),
            (1000..1500, 1500, &[3000..3500]),
            (2000..2500, 1500, &[2000..2500, 3000..3500]),
            (1000..2500, 2500, &[1000..1500, 3000..3500]),
        ],
    );
    check_exchanges(
        "example 6: two duplicate parts above the cumulative ACK, and the block around them",
        500,
        &[
            (500..1000, 1000, &[]),
            (3500..4000, 1000, &[3500..4000]),
            (1500..2000, 1000, &[1500..2000, 3500..4000]),
            (2500..3000, 1000, &[2500..3000, 1500..2000, 3500..4000]),
            (1500..3000, 1000, &[1500..2000, 1500..3000, 3500..4000]),
        ],
    );
}

#[test]
fn rfc_2883_causes() {
    // §5.1 to §5.4: replication, reordering, lost ACKs and an early timeout all look alike here.
    check_exchanges(
        "§5.2: a segment delayed past its retransmission",
        500,
        &[
            (500..1000, 1000, &[]),
            (1500..2000, 1000, &[1500..2000]),
            (2000..2500, 1000, &[1500..2500]),
            (2500..3000, 1000, &[1500..3000]),
            (1000..1500, 3000, &[]),
            (1000..1500, 3000, &[1000..1500]),
        ],
    );
    check_exchanges(
        "§5.4: a window sent again by a timeout",
        500,
        &[
            (500..1000, 1000, &[]),
            (1000..1500, 1500, &[]),
            (500..1000, 1500, &[500..1000]),
            (1000..1500, 1500, &[1000..1500]),
        ],
    );
}

#[test]
fn a_duplicate_is_reported_once_and_the_latest_wins() {
    let mut r = expecting(1000);
    r.on_arrival(span(500..700), false);
    r.on_arrival(span(700..900), false);
    assert_eq!(blocks(&mut r, 3), [700..900]);
    assert_eq!(blocks(&mut r, 3), []);
}

#[test]
fn arrivals_merge_with_adjacent_blocks() {
    // (arrivals, blocks reported after the last one)
    type Case<'a> = (&'a [Range<u64>], &'a [Range<u64>]);
    let cases: [Case; 7] = [
        (&[200..300, 300..400], &[200..400]), // after
        (&[300..400, 200..300], &[200..400]), // before
        (&[200..300, 400..500, 300..400], &[200..500]),
        (&[200..300, 302..400], &[302..400, 200..300]), // two bytes short of joining
        (&[200..300, 400..500, 600..700, 300..400], &[200..500, 600..700]),
        // Overlaps are duplicates, and reported first.
        (&[200..300, 400..500, 600..700, 250..650], &[250..300, 200..700]),
        (&[200..300, 400..500, 150..550], &[200..300, 150..550]),
    ];
    for (arrivals, reported) in cases {
        let mut r = expecting(100);
        let answers: Vec<_> = arrivals.iter().map(|a| answer(&mut r, a.clone())).collect();
        assert_eq!(answers.last(), Some(&(100, reported.to_vec())), "{arrivals:?}");
    }
}

#[test]
fn what_an_arrival_is() {
    use Arrival::*;
    // (before, arrival, what it is, next expected afterwards)
    type Case<'a> = (&'a [Range<u64>], Range<u64>, Arrival, u64);
    let cases: [Case; 10] = [
        (&[], 100..200, InOrder, 200),
        (&[], 50..200, InOrder, 200), // its head is old
        (&[], 50..100, Duplicate, 100),
        (&[], 150..200, OutOfOrder, 100),
        (&[150..200], 100..150, FillsHole, 200),
        (&[150..200], 100..120, FillsHole, 120), // part of the hole
        (&[150..200], 100..300, FillsHole, 300), // over and past it
        (&[150..200], 160..190, Duplicate, 100),
        (&[150..200], 150..210, OutOfOrder, 100),
        (&[150..200, 250..300], 100..250, FillsHole, 300),
    ];
    for (before, arrival, what, next) in cases {
        let mut r = expecting(100);
        for early in before {
            r.on_arrival(span(early.clone()), false);
        }
        assert_eq!(r.on_arrival(span(arrival.clone()), false), what, "{arrival:?}");
        assert_eq!(r.next(), Offset(next), "{arrival:?}");
    }
}

#[test]
fn missing_parts() {
    let mut r = expecting(100);
    r.on_arrival(span(200..300), false);
    r.on_arrival(span(400..500), false);
    // (asked for, missing of it)
    let cases: [(Range<u64>, &[Range<u64>]); 9] = [
        (0..100, &[]),
        (0..600, &[100..200, 300..400, 500..600]),
        (150..350, &[150..200, 300..350]),
        (200..300, &[]),
        (210..290, &[]),
        (300..400, &[300..400]),
        (250..260, &[]),
        (450..501, &[500..501]),
        (600..600, &[]),
    ];
    for (asked, expected) in cases {
        let mut missing = vec![];
        r.missing(span(asked.clone()), |part| {
            missing.push(part.start.0..part.end.0);
        });
        assert_eq!(missing, expected, "{asked:?}");
    }
}

#[test]
fn the_window_does_not_shrink_and_opens_by_segments_or_half_the_buffer() {
    // (buffer, steps): a step is what arrives in order, what is read, and the window then offered.
    type Steps<'a> = &'a [(u64, u64, u64)];
    let cases: [(u64, Steps); 3] = [
        // A segment is 500: reading less does not move the edge (RFC 9293 §3.8.6.2.2) …
        (
            2000,
            &[(500, 0, 1500), (500, 499, 1000), (0, 1, 1500), (1500, 0, 0), (0, 499, 0), (0, 1, 500), (0, 2000, 2000)],
        ),
        // … but half the buffer does, where the buffer is small.
        (600, &[(600, 0, 0), (0, 299, 0), (0, 1, 300), (0, 300, 600)]),
        (1, &[(1, 0, 0), (0, 1, 1)]),
    ];
    for (buffer, steps) in cases {
        let mut r = Receiver::new(buffer, MSS);
        r.on_arrival(Span::new(Offset::SYN, Offset::DATA), false);
        assert_eq!(r.offer_window(), buffer);
        for &(arrives, read, window) in steps {
            let edge = r.edge();
            if arrives > 0 {
                r.on_arrival(Span::at(r.next(), arrives), false);
            }
            r.read(read);
            assert_eq!(r.offer_window(), window, "buffer {buffer}, read {read}");
            assert!(r.edge() >= edge);
        }
    }
}

#[test]
fn a_window_update_is_due_once_a_closed_window_can_open() {
    // (buffer, arrived, read, due)
    let cases = [
        (4000, 4000, 499, false),
        (4000, 4000, 500, true),  // a segment
        (4000, 3000, 500, false), // two segments are still open
        (4000, 3001, 500, true),
        (600, 600, 299, false),
        (600, 600, 300, true), // half the buffer
        (600, 600, 0, false),
        (1, 1, 1, true),
    ];
    for (buffer, arrived, read, due) in cases {
        let mut r = Receiver::new(buffer, MSS);
        r.on_arrival(span(0..1 + arrived), false);
        r.offer_window();
        r.read(read);
        assert_eq!(r.window_update_due(), due, "{buffer} {arrived} {read}");
        if due {
            r.offer_window();
            assert!(!r.window_update_due(), "told once: {buffer} {arrived}");
        }
    }
}

#[test]
fn nothing_beyond_the_window_is_taken() {
    let mut r = Receiver::new(1000, MSS);
    r.on_arrival(span(0..1), false);
    assert_eq!(r.on_arrival(span(1001..1500), false), Arrival::Unacceptable);
    assert_eq!(r.on_arrival(span(900..1500), false), Arrival::OutOfOrder);
    assert_eq!(blocks(&mut r, 4), [900..1001]);
    assert_eq!(r.on_arrival(span(1..5000), true), Arrival::FillsHole);
    assert_eq!((r.next(), r.readable()), (Offset(1001), 1000));
    // The window is shut, and the FIN was outside it.
    assert_eq!(r.on_arrival(span(1001..1002), true), Arrival::Unacceptable);
    assert!(!r.finished());
    r.read(1000);
    r.offer_window();
    assert_eq!(r.on_arrival(span(1001..1002), true), Arrival::InOrder);
    assert!(r.finished());
}

#[test]
fn duplicate_bytes_are_payload() {
    // (arrivals, whether each ends with a FIN, duplicate bytes after all)
    type Case<'a> = (&'a [(Range<u64>, bool)], u64);
    let cases: [Case; 8] = [
        (&[(100..200, false), (100..200, false)], 100),
        (&[(100..200, false), (150..250, false)], 50),
        (&[(150..200, false), (100..300, false)], 50),
        (&[(150..200, false), (150..200, false)], 50),
        // 200 is the FIN, which is no payload however often it comes.
        (&[(100..201, true), (100..201, true)], 100),
        (&[(100..200, false), (200..201, true), (200..201, true)], 0),
        (&[(150..201, true), (150..201, true)], 50),
        (&[(150..201, true), (100..201, true), (200..201, true)], 50),
    ];
    for (arrivals, duplicate) in cases {
        let mut r = expecting(100);
        for (arrival, fin) in arrivals {
            r.on_arrival(span(arrival.clone()), *fin);
        }
        assert_eq!(r.duplicate_bytes(), duplicate, "{arrivals:?}");
    }
}

#[test]
fn the_stream_ends_at_its_fin() {
    let mut r = expecting(100);
    assert_eq!(r.on_arrival(span(150..201), true), Arrival::OutOfOrder);
    assert!(!r.finished());
    // Nothing lies behind a FIN, whatever is sent there, nor does a second one move it.
    assert_eq!(r.on_arrival(span(201..300), false), Arrival::Unacceptable);
    assert_eq!(r.on_arrival(span(190..300), true), Arrival::Duplicate);
    assert_eq!(r.on_arrival(span(100..150), false), Arrival::FillsHole);
    assert_eq!((r.next(), r.readable()), (Offset(201), 100));
    assert!(r.finished());
    assert_eq!(r.on_arrival(span(200..201), true), Arrival::Duplicate);
    assert_eq!(r.next(), Offset(201));
}

#[test]
fn a_second_fin_takes_no_place_of_data() {
    let mut r = expecting(100);
    r.on_arrival(span(121..131), true); // nine bytes, and the end
    r.on_arrival(span(111..116), true); // four bytes, and another end in the middle
    assert!(r.holds(span(111..115)) && !r.holds(span(115..116)));
    assert_eq!(r.on_arrival(span(100..101), true), Arrival::Duplicate); // an end alone
    assert_eq!(r.next(), Offset(100));
    r.on_arrival(span(100..125), false);
    assert_eq!((r.next(), r.readable(), r.finished()), (Offset(131), 30, true));
}

#[test]
fn a_fin_before_data_that_has_arrived_is_ignored() {
    let mut r = expecting(100);
    r.on_arrival(span(200..300), false);
    r.on_arrival(span(100..151), true);
    assert_eq!((r.next(), r.finished()), (Offset(150), false));
    assert_eq!(r.on_arrival(span(50..91), true), Arrival::Duplicate);
    assert_eq!(r.on_arrival(span(150..200), false), Arrival::FillsHole);
    assert_eq!((r.next(), r.readable()), (Offset(300), 200));
}

#[test]
fn many_holes() {
    // A thousand blocks, arriving from the top down and every third one: all are kept, the latest
    // are reported, and filling the holes delivers all.
    let block = |i: u64| (100 + 20 * i)..(110 + 20 * i);
    let mut r = expecting(100);
    for i in (1..=1000).rev() {
        r.on_arrival(span(block(i)), false);
    }
    assert_eq!(blocks(&mut r, 4), [1, 2, 3, 4].map(block));
    assert_eq!(blocks(&mut r, 3), [1, 2, 3].map(block));
    r.on_arrival(span(block(700)), false);
    assert_eq!(blocks(&mut r, 3), [block(700), block(700), block(1)]);
    for i in (0..=1000).step_by(3) {
        r.on_arrival(span(110 + 20 * i..120 + 20 * i), false);
    }
    assert_eq!(blocks(&mut r, 1), [20_080..20_110]);
    let before = r.duplicate_bytes();
    r.on_arrival(span(100..110), false);
    assert_eq!(r.next(), Offset(130));
    r.on_arrival(span(130..30_000), false);
    assert_eq!((r.next(), blocks(&mut r, 4).len()), (Offset(30_000), 1));
    assert!(r.duplicate_bytes() > before);
}
