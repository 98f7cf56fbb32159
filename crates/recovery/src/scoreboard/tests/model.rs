//! The scoreboard under any sequence of operations, against a model that recomputes everything from
//! plain flags.

use super::super::*;
use proptest::collection::vec;
use proptest::prelude::*;

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
