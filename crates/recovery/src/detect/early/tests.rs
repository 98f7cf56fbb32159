use super::*;
use crate::ack::Ack;
use recoup_units::{Instant, Offset, Span};

const NAIVE: EarlyRetransmit = EarlyRetransmit::Naive(EarlyThreshold::AllButOne);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn board(outstanding: u64, sacked: &[u64], resent: &[u64]) -> Scoreboard {
    let mut board = Scoreboard::new(Offset(1));
    for i in 1..=outstanding {
        board.push(Instant::ZERO, Span::at(Offset(i), 1));
    }
    for &i in resent {
        board.resend(Instant::ZERO, Span::at(Offset(i), 1), true);
    }
    let blocks = sacked.iter().map(|&i| Span::at(Offset(i), 1));
    board.on_ack(&Ack::new(Offset(1), 0).with_blocks(blocks), Instant::ZERO);
    board
}

#[test]
fn the_threshold_is_all_but_one_in_the_paper_and_one_in_linux() {
    // (outstanding, SACKed, the paper's form acts, Linux's form acts)
    let cases: [(u64, &[u64], bool, bool); 7] = [
        (2, &[], false, false),
        (2, &[2], true, true),
        (3, &[2], false, true),
        (3, &[3], false, true),
        (3, &[2, 3], true, true),
        (4, &[4], false, false),
        (4, &[2, 3, 4], false, false),
    ];
    for (n, sacked, paper, linux) in cases {
        let b = board(n, sacked, &[]);
        for (threshold, acts) in [(EarlyThreshold::AllButOne, paper), (EarlyThreshold::One, linux)] {
            for form in [EarlyRetransmit::Naive(threshold), EarlyRetransmit::ReorderAware(threshold)] {
                let got = EarlyRule::from(form).delay(&b, Some(ms(80)), false, || false);
                let expected = acts.then_some(Duration::ZERO);
                assert_eq!(got, expected, "{form:?}, {n} outstanding, SACKed {sacked:?}");
            }
        }
    }
}

#[test]
fn the_conditions_decide_the_delay() {
    let rule = EarlyRule::from(EarlyRetransmit::LINUX);
    // (outstanding, SACKed, resent, SRTT ms, reordering seen, can send new, delay ms)
    type Case<'a> = (u64, &'a [u64], &'a [u64], u64, bool, bool, Option<u64>);
    let cases: [Case; 9] = [
        (2, &[2], &[], 80, false, false, Some(20)),
        (3, &[3], &[], 80, false, false, Some(20)),
        (3, &[2, 3], &[], 4, false, false, Some(2)),
        (3, &[], &[], 80, false, false, None),
        (4, &[4], &[], 80, false, false, None),
        (1, &[1], &[], 80, false, false, None),
        (3, &[3], &[1], 80, false, false, None),
        (3, &[3], &[], 80, true, false, None),
        (3, &[3], &[], 80, false, true, None),
    ];
    for (n, sacked, resent, srtt, reordering, new, delay) in cases {
        let got = rule.delay(&board(n, sacked, resent), Some(ms(srtt)), reordering, || new);
        assert_eq!(got, delay.map(ms), "{n} outstanding, SACKed {sacked:?}, resent {resent:?}");
    }
    let b = board(3, &[2, 3], &[]);
    // The four forms on a path that reorders and on one that does not.
    for (form, calm, reordering) in [
        (EarlyRetransmit::Off, None, None),
        (NAIVE, Some(0), Some(0)),
        (EarlyRetransmit::ReorderAware(EarlyThreshold::AllButOne), Some(0), None),
        (EarlyRetransmit::PAPER, Some(25), None),
    ] {
        for (seen, delay) in [(false, calm), (true, reordering)] {
            let got = EarlyRule::from(form).delay(&b, Some(ms(80)), seen, || false);
            assert_eq!(got, delay.map(ms), "{form:?}, reordering {seen}");
        }
    }
    let slow = EarlyRule::from(EarlyRetransmit::PAPER).delay(&b, Some(ms(4000)), false, || false);
    assert_eq!(slow, Some(ms(500)));
    for (srtt_divisor, delay) in [(0, 160), (1, 160), (2, 80), (8, 25)] {
        let form =
            EarlyRetransmit::Delayed { threshold: EarlyThreshold::AllButOne, srtt_divisor, min: ms(25), max: ms(500) };
        let got = EarlyRule::from(form).delay(&b, Some(ms(160)), false, || false);
        assert_eq!(got, Some(ms(delay)), "SRTT/{srtt_divisor}");
    }
    assert_eq!(EarlyRule::from(EarlyRetransmit::Off).delay(&b, Some(ms(80)), false, || false), None);
    assert_eq!(rule.delay(&b, None, false, || false), Some(Duration::ZERO));
}
