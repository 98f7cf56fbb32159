//! The scoreboard against tables, and against a model that recomputes everything from plain flags.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

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
    board
        .iter()
        .filter(|s| holds(s))
        .map(|s| s.span.end.0.div_ceil(LEN))
        .collect()
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
        (
            &[
                segments(8, 8),
                segments(4, 4),
                segments(6, 6),
                segments(2, 2),
            ],
            &[2, 4, 6, 8],
        ),
        (&[segments(9, 30)], &[9, 10]), // beyond what was sent
        (&[segments(12, 30)], nothing), // never sent at all
        (&[span(50, 30)], nothing),     // reversed
        (&[span(0, u64::MAX)], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ];
    for (blocks, sacked) in cases {
        let mut board = board(10);
        let summary = board.on_ack(&ack(0, blocks));
        assert_eq!(numbers(&board, |s| s.sacked), sacked, "{blocks:?}");
        assert_eq!(summary.newly_sacked.0 as usize, sacked.len(), "{blocks:?}");
        assert_eq!(summary.delivered, summary.newly_sacked, "{blocks:?}");
        board.check().unwrap();
    }
}

#[test]
fn a_block_seen_before_or_below_the_cumulative_ack_changes_nothing() {
    let mut board = board(10);
    board.on_ack(&ack(20, &[segments(5, 6)]));
    // (cumulative, blocks): repeated, a part of it, acknowledged meanwhile, an older ACK
    let cases: [(u64, &[Span]); 4] = [
        (20, &[segments(5, 6)]),
        (20, &[segments(6, 6)]),
        (20, &[segments(5, 6), segments(1, 2)]),
        (0, &[segments(5, 6)]),
    ];
    for (cumulative, blocks) in cases {
        let before = board.clone();
        let summary = board.on_ack(&ack(cumulative, blocks));
        assert_eq!(summary, AckSummary::default(), "{cumulative} {blocks:?}");
        assert_eq!(
            numbers(&board, |s| s.sacked),
            numbers(&before, |s| s.sacked)
        );
        assert_eq!(board.una(), before.una());
        board.check().unwrap();
    }
}

#[test]
fn a_cumulative_ack_inside_a_segment_leaves_its_rest_outstanding() {
    let mut board = board(4);
    let summary = board.on_ack(&ack(15, &[]));
    assert_eq!(
        (summary.newly_acked, summary.una_advanced),
        (Segments(1), 15)
    );
    assert_eq!(board.first().map(|s| s.span), Some(span(15, 20)));
    // The rest is one segment like any other: it can be resent, SACKed and acknowledged.
    board.mark_lost(Segments(1), |lost| assert_eq!(lost, span(15, 20)));
    board.resend(ms(9), span(15, 20), true);
    assert_eq!(
        (board.lost(), board.retransmitted(), board.pipe()),
        (Segments(1), Segments(1), Segments(3))
    );
    board.on_ack(&ack(15, &[span(15, 20)]));
    assert!(board.reneged());
    let summary = board.on_ack(&ack(20, &[]));
    assert_eq!(
        (summary.newly_acked, summary.delivered),
        (Segments(1), Segments(0))
    );
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
        let summary = board.on_ack(&ack(cumulative, blocks));
        assert_eq!(
            (
                summary.newly_acked.0,
                summary.newly_sacked.0,
                summary.delivered.0
            ),
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
    board.on_ack(&ack(0, &[segments(4, 6)]));
    assert_eq!(board.pipe(), Segments(7), "three arrived");
    board.mark_lost(Segments(3), |_| ());
    assert_eq!(board.pipe(), Segments(4), "three lost");
    board.resend(ms(20), segments(1, 1), true);
    assert_eq!(board.pipe(), Segments(5), "one of them sent again");
    board.resend(ms(20), segments(10, 10), false);
    assert_eq!(board.pipe(), Segments(5), "a probe does not count");
    board.on_ack(&ack(10, &[]));
    assert_eq!(board.pipe(), Segments(4), "the retransmission arrived");
    board.mark_all_lost(|_| ());
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
        board.on_ack(&ack(15, &[]));
        board.resend(ms(50), resent, true);
        assert_eq!(
            numbers(&board, |s| s.transmissions == 2),
            touched,
            "{resent}"
        );
        assert_eq!(
            numbers(&board, |s| s.sent_at == ms(50)),
            touched,
            "{resent}"
        );
        assert_eq!(board.retransmitted().0 as usize, touched.len(), "{resent}");
        board.check().unwrap();
    }
}

#[test]
fn lost_segments_are_offered_in_order_and_once() {
    let mut board = board(10);
    board.on_ack(&ack(0, &[segments(3, 3), segments(7, 8)]));
    let mut marked = Vec::new();
    board.mark_lost(Segments(5), |s| marked.push(s));
    assert_eq!(marked, [1, 2, 4, 5].map(|n| segments(n, n)));
    board.mark_lost(Segments(6), |s| {
        assert_eq!(s, segments(6, 6), "judged before")
    });
    for expected in [1, 2, 4, 5, 6] {
        assert_eq!(number(board.next_lost()), Some(expected));
        board.resend(ms(30), segments(expected, expected), true);
        board.check().unwrap();
    }
    assert_eq!(number(board.next_lost()), None);
}

#[test]
fn holes_are_what_lies_below_the_highest_sack_and_was_not_resent() {
    let mut board = board(10);
    assert_eq!(number(board.next_hole()), None);
    board.on_ack(&ack(0, &[segments(2, 2), segments(4, 5), segments(8, 8)]));
    for expected in [1, 3, 6, 7] {
        assert_eq!(number(board.next_hole()), Some(expected));
        board.resend(ms(30), segments(expected, expected), true);
    }
    assert_eq!(number(board.next_hole()), None, "9 and 10 are above");
    board.on_ack(&ack(0, &[segments(10, 10)]));
    assert_eq!(number(board.next_hole()), Some(9));
    board.mark_all_lost(|_| ());
    assert_eq!(
        number(board.next_hole()),
        Some(1),
        "no retransmission counts any more"
    );
    board.check().unwrap();
}

#[test]
fn a_receiver_that_reneges_loses_its_marks() {
    let mut board = board(5);
    board.on_ack(&ack(0, &[segments(2, 3)]));
    assert!(!board.reneged());
    board.on_ack(&ack(10, &[]));
    assert!(
        board.reneged(),
        "segment 2 was SACKed, the cumulative ACK stops at it"
    );
    board.forget_sacks();
    assert!(!board.reneged());
    assert_eq!(
        (board.sacked(), board.fack(), board.pipe()),
        (Segments(0), Segments(0), Segments(4))
    );
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
        (
            &[],
            segments(9, 9),
            ack(0, &[segments(5, 5), segments(2, 2), segments(9, 9)]),
            Some(8),
        ),
    ];
    for (resent, sacked, last, distance) in cases {
        let mut board = board(10);
        board.on_ack(&ack(0, &[sacked]));
        resent
            .iter()
            .for_each(|&n| board.resend(ms(20), segments(n, n), true));
        assert_eq!(
            board.on_ack(&last).reordering,
            distance.map(Segments),
            "{last:?}"
        );
    }
    // The blocks of one ACK tell no order.
    let mut board = board(10);
    let summary = board.on_ack(&ack(0, &[segments(9, 9), segments(4, 4)]));
    assert_eq!(summary.reordering, None);
}

#[test]
fn the_rtt_is_taken_from_the_lowest_segment_newly_sacked() {
    for blocks in [
        [segments(9, 9), segments(4, 5)],
        [segments(4, 5), segments(9, 9)],
    ] {
        let mut board = board(10);
        let summary = board.on_ack(&ack(0, &blocks));
        assert_eq!(summary.first_original_sacked, Some(ms(4)), "{blocks:?}");
    }
}

/// A segment of the model.
#[derive(Clone, Debug)]
struct Plain {
    span: Span,
    sent_at: Instant,
    transmissions: u16,
    sacked: bool,
    lost: bool,
    retransmitted: bool,
    judged: bool,
}

/// The scoreboard without counters, cursors and shortcuts.
#[derive(Clone, Debug)]
struct Model {
    all: Vec<Plain>,
    una: Offset,
    nxt: Offset,
}

impl Model {
    fn fack(&self) -> usize {
        self.all.iter().rposition(|s| s.sacked).map_or(0, |i| i + 1)
    }

    fn count(&self, holds: impl Fn(&Plain) -> bool) -> Segments {
        Segments(self.all.iter().filter(|s| holds(s)).count() as u32)
    }

    fn pipe(&self) -> Segments {
        self.count(|s| !s.sacked && !s.lost) + self.count(|s| s.retransmitted)
    }

    fn push(&mut self, now: Instant, span: Span) {
        self.nxt = span.end;
        self.all.push(Plain {
            span,
            sent_at: now,
            transmissions: 1,
            sacked: false,
            lost: false,
            retransmitted: false,
            judged: false,
        });
    }

    fn resend(&mut self, now: Instant, span: Span, in_pipe: bool) {
        for s in self.all.iter_mut().filter(|s| s.span.overlaps(span)) {
            s.sent_at = now;
            s.transmissions += 1;
            s.retransmitted |= in_pipe && !s.sacked;
        }
    }

    fn mark_lost(&mut self, count: usize) -> Vec<Span> {
        let mut marked = Vec::new();
        for s in self.all.iter_mut().take(count).filter(|s| !s.judged) {
            s.judged = true;
            if !s.sacked && !s.lost {
                s.lost = true;
                marked.push(s.span);
            }
        }
        marked
    }

    fn mark_all_lost(&mut self) -> Vec<Span> {
        let mut marked = Vec::new();
        for s in &mut self.all {
            s.judged = true;
            s.retransmitted = false;
            if !s.sacked && !s.lost {
                s.lost = true;
                marked.push(s.span);
            }
        }
        marked
    }

    fn on_ack(&mut self, ack: &Ack) -> AckSummary {
        let before = self.clone();
        let fack = self.fack();
        for &block in ack.sack_blocks() {
            for s in self.all.iter_mut().filter(|s| block.covers(s.span)) {
                (s.sacked, s.lost, s.retransmitted) = (true, false, false);
            }
        }
        let acked = self
            .all
            .iter()
            .filter(|s| s.span.end <= ack.cumulative)
            .count();
        let changed = |i: usize| self.all[i].sacked && !before.all[i].sacked;
        let original = |i: &usize| before.all[*i].transmissions == 1;
        let newly_sacked: Vec<usize> = (0..self.all.len()).filter(|&i| changed(i)).collect();
        let filled: Vec<usize> = (0..acked).filter(|&i| !self.all[i].sacked).collect();
        let late = newly_sacked.iter().chain(&filled).copied();
        let sent_at = |i: &usize| before.all[*i].sent_at;
        let una = self.una.max(ack.cumulative);
        let summary = AckSummary {
            newly_acked: Segments(acked as u32),
            newly_sacked: Segments(newly_sacked.len() as u32),
            delivered: Segments((newly_sacked.len() + filled.len()) as u32),
            una_advanced: una.since(self.una),
            window_changed: false,
            retransmission_acked: !(0..acked).all(|i| original(&i)),
            first_original_acked: filled.iter().find(|i| original(i)).map(sent_at),
            first_original_sacked: newly_sacked
                .iter()
                .filter(|i| original(i))
                .map(sent_at)
                .min(),
            reordering: late
                .filter(|i| original(i) && *i < fack)
                .map(|i| Segments((fack - i) as u32))
                .max(),
            dsack: ack.dsack(),
        };
        self.all.drain(..acked);
        self.una = una;
        if let Some(first) = self.all.first_mut() {
            first.span.start = una;
        }
        summary
    }

    /// That `board` says the same, whatever it is asked.
    fn agree(&self, board: &Scoreboard) -> Result<(), TestCaseError> {
        board.check().map_err(TestCaseError::fail)?;
        prop_assert_eq!(board.una(), self.una);
        prop_assert_eq!(board.nxt(), self.nxt);
        prop_assert_eq!(board.outstanding(), self.count(|_| true));
        prop_assert_eq!(board.sacked(), self.count(|s| s.sacked));
        prop_assert_eq!(board.lost(), self.count(|s| s.lost));
        prop_assert_eq!(board.retransmitted(), self.count(|s| s.retransmitted));
        prop_assert_eq!(board.fack().0 as usize, self.fack());
        prop_assert_eq!(board.pipe(), self.pipe());
        prop_assert_eq!(board.reneged(), self.all.first().is_some_and(|s| s.sacked));
        let span = |s: &Plain| s.span;
        let lost = self
            .all
            .iter()
            .find(|s| s.lost && !s.retransmitted && !s.sacked);
        prop_assert_eq!(board.next_lost().map(|s| s.span), lost.map(span));
        let hole = self.all[..self.fack()]
            .iter()
            .find(|s| !s.sacked && !s.retransmitted);
        prop_assert_eq!(board.next_hole().map(|s| s.span), hole.map(span));
        for (kept, plain) in board.iter().zip(&self.all) {
            prop_assert_eq!(
                (
                    kept.span,
                    kept.sent_at,
                    kept.transmissions,
                    kept.sacked,
                    kept.lost,
                    kept.retransmitted
                ),
                (
                    plain.span,
                    plain.sent_at,
                    plain.transmissions,
                    plain.sacked,
                    plain.lost,
                    plain.retransmitted
                )
            );
        }
        Ok(())
    }
}

/// What can happen to a scoreboard. Places are counted in bytes from 40 below `snd_una`, so that
/// they fall below, inside and above what is outstanding, on segment borders and between.
#[derive(Clone, Debug)]
enum Op {
    Push(Vec<u64>),
    Resend {
        at: u64,
        len: u64,
        in_pipe: bool,
    },
    ResendNext,
    Ack {
        advance: u64,
        blocks: Vec<(u64, u64)>,
    },
    /// A cumulative ACK that stops on a border and blocks that cover whole segments.
    FairAck {
        advance: usize,
        blocks: Vec<(usize, usize)>,
    },
    EveryOther,
    MarkLost(u32),
    MarkAllLost,
    RestartHoles,
    ForgetSacks,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => vec(1..30u64, 1..20).prop_map(Op::Push),
        1 => (0..400u64, 0..120u64, any::<bool>())
            .prop_map(|(at, len, in_pipe)| Op::Resend { at, len, in_pipe }),
        4 => Just(Op::ResendNext),
        2 => (0..120u64, vec((0..400u64, 0..150u64), 0..5))
            .prop_map(|(advance, blocks)| Op::Ack { advance, blocks }),
        6 => (0..4usize, vec((0..30usize, 0..5usize), 0..4))
            .prop_map(|(advance, blocks)| Op::FairAck { advance, blocks }),
        1 => Just(Op::EveryOther),
        3 => (0..30u32).prop_map(Op::MarkLost),
        1 => Just(Op::MarkAllLost),
        1 => Just(Op::RestartHoles),
        1 => Just(Op::ForgetSacks),
    ]
}

/// Both of them, and the clock.
struct Pair {
    board: Scoreboard,
    model: Model,
    now: Instant,
}

impl Pair {
    fn new() -> Self {
        let start = Offset(100);
        Self {
            board: Scoreboard::new(start),
            model: Model {
                all: Vec::new(),
                una: start,
                nxt: start,
            },
            now: Instant::ZERO,
        }
    }

    fn place(&self, raw: u64) -> Offset {
        Offset((self.model.una.0 + raw).saturating_sub(40))
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        self.now += std::time::Duration::from_millis(1);
        match op {
            Op::Push(lengths) => {
                for &len in lengths {
                    let span = Span::at(self.board.nxt(), len);
                    self.board.push(self.now, span);
                    self.model.push(self.now, span);
                }
            }
            Op::Resend { at, len, in_pipe } => {
                self.resend(Span::at(self.place(*at), *len), *in_pipe);
            }
            Op::ResendNext => {
                let next = self
                    .board
                    .next_lost()
                    .or(self.board.next_hole())
                    .map(|s| s.span);
                next.into_iter().for_each(|span| self.resend(span, true));
            }
            Op::Ack { advance, blocks } => {
                let cumulative = self.place(40 + advance).min(self.board.nxt());
                let blocks = blocks
                    .iter()
                    .map(|&(at, len)| Span::at(self.place(at), len));
                let ack = Ack::new(cumulative, 0).with_blocks(blocks);
                self.ack(&ack)?;
            }
            Op::FairAck { advance, blocks } => self.ack(&self.fair_ack(*advance, blocks))?,
            Op::EveryOther => {
                let every: Vec<Span> = self
                    .model
                    .all
                    .iter()
                    .skip(1)
                    .step_by(2)
                    .map(|s| s.span)
                    .collect();
                for span in every {
                    self.ack(&Ack::new(self.model.una, 0).with_blocks([span]))?;
                }
            }
            Op::MarkLost(count) => {
                let mut marked = Vec::new();
                self.board.mark_lost(Segments(*count), |s| marked.push(s));
                prop_assert_eq!(marked, self.model.mark_lost(*count as usize));
            }
            Op::MarkAllLost => {
                let mut marked = Vec::new();
                self.board.mark_all_lost(|s| marked.push(s));
                prop_assert_eq!(marked, self.model.mark_all_lost());
            }
            Op::RestartHoles => self.board.restart_holes(),
            Op::ForgetSacks => {
                self.board.forget_sacks();
                self.model.all.iter_mut().for_each(|s| s.sacked = false);
            }
        }
        self.model.agree(&self.board)
    }

    fn resend(&mut self, span: Span, in_pipe: bool) {
        self.board.resend(self.now, span, in_pipe);
        self.model.resend(self.now, span, in_pipe);
    }

    fn fair_ack(&self, advance: usize, blocks: &[(usize, usize)]) -> Ack {
        let all = &self.model.all;
        let cumulative = all[..advance.min(all.len())]
            .last()
            .map_or(self.model.una, |s| s.span.end);
        let blocks = blocks.iter().filter_map(|&(first, more)| {
            let last = all.get(first + more).or(all.last())?;
            Some(Span::new(all.get(first)?.span.start, last.span.end))
        });
        Ack::new(cumulative, 0).with_blocks(blocks)
    }

    fn ack(&mut self, ack: &Ack) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.board.on_ack(ack), self.model.on_ack(ack), "{:?}", ack);
        self.model.agree(&self.board)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_scoreboard_agrees_with_the_model(ops in vec(op(), 1..60)) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.apply(op)?;
        }
    }

    #[test]
    fn an_emptied_scoreboard_is_as_new(ops in vec(op(), 1..20)) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.apply(op)?;
        }
        pair.board.reset(Offset(7));
        prop_assert_eq!(format!("{:?}", pair.board), format!("{:?}", Scoreboard::new(Offset(7))));
    }
}
