use super::*;
use crate::ack::Ack;
use recoup_units::{Instant, Offset, Span};

const LINUX: Rules = Rules { rule: LossRule::Fack, dupthresh: DUPTHRESH, max_dupthresh: MAX_DUPTHRESH };

/// Ten segments of `len` bytes, numbered from 1; those listed are SACKed.
fn board(len: u64, sacked: &[u64]) -> Scoreboard {
    let mut board = Scoreboard::new(Offset(0));
    for i in 0..10 {
        board.push(Instant::ZERO, Span::at(Offset(i * len), len));
    }
    for &i in sacked {
        let block = Span::at(Offset((i - 1) * len), len);
        board.on_ack(&Ack::new(Offset(0), 0).with_blocks([block]), Instant::ZERO);
    }
    board
}

/// The segments a fresh detector of `rule` marks, and whether it recovers.
fn judge(rule: LossRule, len: u64, sacked: &[u64]) -> (bool, Vec<u64>) {
    let mut board = board(len, sacked);
    let verdict = Threshold::new(Rules { rule, ..LINUX }).verdict(&board, 0, 10);
    let mut lost = Vec::new();
    verdict.lost.mark(&mut board, |span| lost.push(span.end.0 / len));
    board.check().unwrap();
    (verdict.recover, lost)
}

//= test: RFC 6675 §4 IsLost
#[test]
fn each_rule_marks_its_segments() {
    // (SACKed, lost by FACK, by segments SACKed, by IsLost)
    type Case<'a> = (&'a [u64], &'a [u64], &'a [u64], &'a [u64]);
    let cases: [Case; 7] = [
        (&[], &[], &[], &[]),
        (&[3], &[], &[], &[]),
        (&[4], &[1], &[], &[]), // one SACK four up: FACK takes the first hole
        (&[10], &[1, 2, 3, 4, 5, 6, 7], &[], &[]),
        (&[2, 3, 4], &[1], &[1], &[1]), // three SACKs above segment 1
        (&[2, 5, 9], &[1, 3, 4, 6], &[1], &[1]),
        (&[3, 4, 5, 6], &[1, 2], &[1, 2], &[1, 2]),
    ];
    for (sacked, fack, counted, is_lost) in cases {
        for (rule, lost) in [(LossRule::Fack, fack), (LossRule::Sacked, counted), (LossRule::IsLost, is_lost)] {
            let expected = (!lost.is_empty(), lost.to_vec());
            assert_eq!(judge(rule, 10, sacked), expected, "{rule:?} {sacked:?}");
        }
    }
}

//= test: RFC 6675 §4 IsLost
#[test]
fn is_lost_counts_runs_or_bytes() {
    // Segments of 4 bytes and an MSS of 10: three in a row are 12 bytes (not more than two MSS) and
    // one run. Three runs suffice, whatever their length (RFC 6675 §4).
    let is_lost = |sacked| judge(LossRule::IsLost, 4, sacked).1;
    assert_eq!(is_lost(&[2, 3, 4]), [0; 0]);
    assert_eq!(is_lost(&[2, 4, 6]), [1]);
    assert_eq!(is_lost(&[2, 3, 4, 5, 6]), [0; 0], "20 bytes are not more");
    assert_eq!(is_lost(&[2, 3, 4, 5, 6, 7]), [1]);
}

#[test]
fn reordering_beyond_the_threshold_raises_it_and_ends_fack() {
    let mut t = Threshold::new(LINUX);
    t.on_reordering(Segments(2));
    assert_eq!((t.dupthresh(), t.uses_fack(), t.reordering_seen()), (Segments(3), true, true));
    t.on_reordering(Segments(7));
    assert_eq!((t.dupthresh(), t.uses_fack()), (Segments(7), false));
    t.on_reordering(Segments(3));
    assert_eq!(t.dupthresh(), Segments(7));
    t.on_reordering(Segments(4000));
    assert_eq!(t.dupthresh(), MAX_DUPTHRESH);
    t.on_timeout(Segments(2));
    assert_eq!(t.dupthresh(), MAX_DUPTHRESH, "too little was SACKed to tell");
    t.on_timeout(Segments(3));
    assert_eq!(t.dupthresh(), DUPTHRESH);
}

#[test]
fn reordering_does_not_raise_a_fixed_threshold() {
    let mut t = Threshold::new(Rules { max_dupthresh: DUPTHRESH, ..LINUX });
    t.on_reordering(Segments(9));
    assert_eq!((t.dupthresh(), t.reorderings()), (DUPTHRESH, 1));
}
