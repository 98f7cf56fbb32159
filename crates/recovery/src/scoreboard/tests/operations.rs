//! The scoreboard under any sequence of operations, compared with the [model](super::model) after
//! each.

use super::super::*;
use super::model::{Model, answers};
use crate::ack::Ack;
use core::time::Duration;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// An operation on a scoreboard, with SACK or without. Places are counted in bytes from 40 below
/// `snd_una`, so that they fall below, inside and above what is outstanding, on segment borders and
/// between; ages in milliseconds before now.
#[derive(Clone, Debug)]
enum Op {
    Wait(u64),
    Push(Vec<u64>),
    Resend {
        at: u64,
        len: u64,
        in_pipe: bool,
    },
    ResendNext,
    /// A copy of the n-th outstanding segment goes.
    Copy(usize),
    /// Any numbers; retransmissions younger than `age` cannot have been answered.
    Ack {
        advance: u64,
        blocks: Vec<(u64, u64)>,
        age: u64,
    },
    /// A cumulative ACK that stops on a border and blocks that cover whole segments.
    FairAck {
        advance: usize,
        blocks: Vec<(usize, usize)>,
        age: u64,
    },
    EveryOther,
    /// A duplicate ACK without SACK.
    Duplicate,
    ForgetDuplicates,
    MarkFirst(u32),
    MarkBelow(Enough),
    /// Segments sent before the newest delivered, and this long ago.
    MarkOverdue(Option<u64>),
    /// Segments at least n transmissions older than one of the latest, or this old.
    MarkOvertaken(u32, u32, Option<u64>),
    MarkLostRetransmissions,
    MarkHead,
    Timeout(Option<u64>),
    UnmarkLost,
    RestartHoles,
    ForgetSacks,
}

/// The kinds of counting: segments SACKed above, stretches or bytes.
#[derive(Clone, Copy, Debug)]
enum Enough {
    Segments(u32),
    Stretches(u32),
    Bytes(u64),
    Either(u32, u64),
}

impl Enough {
    fn holds(self, above: Above) -> bool {
        match self {
            Self::Segments(n) => above.segments >= n,
            Self::Stretches(n) => above.runs >= n,
            Self::Bytes(n) => above.bytes > n,
            Self::Either(runs, bytes) => above.runs >= runs || above.bytes > bytes,
        }
    }
}

fn enough() -> impl Strategy<Value = Enough> {
    prop_oneof![
        (1..6u32).prop_map(Enough::Segments),
        (1..5u32).prop_map(Enough::Stretches),
        (0..150u64).prop_map(Enough::Bytes),
        (1..5u32, 0..150u64).prop_map(|(runs, bytes)| Enough::Either(runs, bytes)),
    ]
}

/// Operations with SACK and without: at most `most` blocks per ACK.
fn common(most: usize) -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (0..20u64).prop_map(Op::Wait),
        4 => vec(1..30u64, 1..20).prop_map(Op::Push),
        1 => (0..400u64, 0..120u64, any::<bool>())
            .prop_map(|(at, len, in_pipe)| Op::Resend { at, len, in_pipe }),
        4 => Just(Op::ResendNext),
        1 => (0..30usize).prop_map(Op::Copy),
        2 => (0..120u64, vec((0..400u64, 0..150u64), 0..=most), 0..40u64)
            .prop_map(|(advance, blocks, age)| Op::Ack { advance, blocks, age }),
        6 => (0..4usize, vec((0..30usize, 0..5usize), 0..=most), 0..40u64)
            .prop_map(|(advance, blocks, age)| Op::FairAck { advance, blocks, age }),
        1 => Just(Op::MarkHead),
        1 => option::of(0..40u64).prop_map(Op::Timeout),
        1 => Just(Op::UnmarkLost),
        1 => Just(Op::RestartHoles),
    ]
}

fn with_sack() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => common(4),
        1 => Just(Op::EveryOther),
        2 => (0..30u32).prop_map(Op::MarkFirst),
        3 => enough().prop_map(Op::MarkBelow),
        3 => option::of(0..40u64).prop_map(Op::MarkOverdue),
        3 => (0..30u32, 1..9u32, option::of(0..40u64))
            .prop_map(|(newest, packets, age)| Op::MarkOvertaken(newest, packets, age)),
        2 => Just(Op::MarkLostRetransmissions),
        1 => Just(Op::ForgetSacks),
    ]
}

fn without_sack() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => common(0),
        6 => Just(Op::Duplicate),
        1 => Just(Op::ForgetDuplicates),
        2 => Just(Op::MarkHead),
    ]
}

/// The memory of the scoreboard.
#[derive(Clone, Copy, Debug)]
enum Memory {
    /// It grows from nothing.
    Growing,
    /// Its own, for this many segments.
    Fixed(u32),
    /// Lent, for this many segments.
    Lent(usize),
}

impl Memory {
    fn storage(self) -> Option<Storage> {
        match self {
            Self::Growing => None,
            Self::Fixed(capacity) => Some(Storage::with_capacity(capacity)),
            Self::Lent(segments) => Some(Storage::lent(
                vec![SentSegment::default(); segments].leak(),
                vec![7; Storage::words_for(segments)].leak(),
            )),
        }
    }

    /// Its bytes on the heap, where they are fixed.
    fn size(self) -> Option<usize> {
        let slots = |capacity: u32| capacity.next_power_of_two() as usize;
        match self {
            Self::Growing => None,
            Self::Fixed(capacity) => {
                let slots = slots(capacity);
                Some(slots * size_of::<SentSegment>() + 8 * Storage::words_for(slots))
            }
            Self::Lent(_) => Some(0),
        }
    }
}

fn memory() -> impl Strategy<Value = Memory> {
    prop_oneof![
        3 => Just(Memory::Growing),
        2 => (1..70u32).prop_map(Memory::Fixed),
        2 => (0..70usize).prop_map(Memory::Lent),
    ]
}

/// Both of them, and the clock.
struct Pair {
    board: Scoreboard,
    model: Model,
    now: Instant,
    /// The latest transmission known delivered.
    newest: Option<Sent>,
    sack: bool,
}

impl Pair {
    fn new(sack: bool, memory: Memory) -> Self {
        let start = Offset(100);
        let mut board = Scoreboard::new(start);
        if let Some(storage) = memory.storage() {
            assert!(board.move_to(storage).is_ok());
        }
        Self { board, model: Model::new(start), now: Instant::from_millis(100), newest: None, sack }
    }

    fn place(&self, raw: u64) -> Offset {
        Offset((self.model.una.0 + raw).saturating_sub(40))
    }

    fn ago(&self, ms: u64) -> Instant {
        self.now - Duration::from_millis(ms)
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        // Transmissions of one instant are in stream order.
        self.now += Duration::from_nanos(1);
        match op {
            Op::Wait(ms) => self.now += Duration::from_millis(*ms),
            Op::Push(lengths) => {
                for &len in lengths {
                    let span = Span::at(self.board.nxt(), len);
                    let fits = self.model.all.len() < self.board.capacity() as usize;
                    prop_assert_eq!(self.board.is_full(), !fits);
                    prop_assert_eq!(self.board.push(self.now, span), fits);
                    if fits {
                        self.model.push(self.now, span);
                    }
                }
            }
            Op::Resend { at, len, in_pipe } => {
                self.resend(Span::at(self.place(*at), *len), *in_pipe);
            }
            Op::ResendNext => {
                let next = self.board.next_lost().or(self.board.next_hole());
                let span = next.map(|s| s.span);
                span.into_iter().for_each(|span| self.resend(span, true));
            }
            Op::Copy(n) => {
                if let Some(span) = self.model.all.get(*n).map(|s| s.span) {
                    self.board.note_copied(span);
                    self.model.note_copied(span);
                }
            }
            Op::Ack { advance, blocks, age } => {
                let cumulative = self.place(40 + advance).min(self.board.nxt());
                let blocks = blocks.iter().map(|&(at, len)| Span::at(self.place(at), len));
                self.ack(&Ack::new(cumulative, 0).with_blocks(blocks), *age)?;
            }
            Op::FairAck { advance, blocks, age } => self.ack(&self.fair_ack(*advance, blocks), *age)?,
            Op::EveryOther => {
                let every = self.model.all.iter().skip(1).step_by(2);
                let every: Vec<Span> = every.map(|s| s.span).collect();
                for span in every {
                    self.ack(&Ack::new(self.model.una, 0).with_blocks([span]), 0)?;
                }
            }
            Op::Duplicate => {
                prop_assert_eq!(self.board.on_duplicate(), self.model.on_duplicate());
            }
            Op::ForgetDuplicates => {
                self.board.forget_duplicates();
                self.model.forget_duplicates();
            }
            Op::RestartHoles => {
                self.board.restart_holes();
                self.model.restart_holes();
            }
            Op::ForgetSacks => {
                self.board.forget_sacks();
                self.model.forget_sacks();
            }
            Op::UnmarkLost => {
                self.board.unmark_lost(false);
                self.model.unmark_lost();
            }
            _ => self.mark(op)?,
        }
        self.agree(op)
    }

    /// Both mark the same segments, in the same order.
    fn mark(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let mut marked = Vec::new();
        let board = &mut self.board;
        let expected = match *op {
            Op::MarkFirst(count) => {
                board.mark_first(Segments(count), |span| marked.push(span));
                self.model.mark_first(count as usize)
            }
            Op::MarkBelow(enough) => {
                board.mark_below(|above| enough.holds(above), |span| marked.push(span));
                self.model.mark_below(|above| enough.holds(above))
            }
            Op::MarkOverdue(age) => {
                let Some(before) = self.newest else {
                    return Ok(());
                };
                let overdue = age.map(|age| self.now - Duration::from_millis(age));
                let waiting = board.mark_overdue(before, overdue, |s| marked.push(s.span));
                let (expected, left) = self.model.mark_overdue(before, overdue);
                prop_assert_eq!(waiting, left, "waiting before {:?}", before);
                expected
            }
            Op::MarkOvertaken(before, packets, age) => {
                let newest = self.model.next_number.saturating_sub(before);
                let overdue = age.map(|age| self.now - Duration::from_millis(age));
                let waiting = board.mark_overtaken(newest, packets, overdue, |s, by_packets| {
                    assert_eq!(by_packets, s.number + packets <= newest);
                    marked.push(s.span);
                });
                let (expected, left) = self.model.mark_overtaken(newest, packets, overdue);
                prop_assert_eq!(waiting, left, "waiting before {}", newest);
                expected
            }
            Op::MarkLostRetransmissions => {
                board.mark_lost_retransmissions(|span| marked.push(span));
                self.model.mark_lost_retransmissions()
            }
            Op::MarkHead => {
                board.mark_head(|span| marked.push(span));
                self.model.mark_head()
            }
            Op::Timeout(age) => {
                let overdue = age.map(|age| self.now - Duration::from_millis(age));
                board.mark_for_timeout(overdue, |span| marked.push(span));
                self.model.mark_for_timeout(overdue)
            }
            _ => return Ok(()),
        };
        prop_assert_eq!(marked, expected, "{:?}", op);
        Ok(())
    }

    fn resend(&mut self, span: Span, in_pipe: bool) {
        self.board.resend(self.now, span, in_pipe);
        self.model.resend(self.now, span, in_pipe);
    }

    fn fair_ack(&self, advance: usize, blocks: &[(usize, usize)]) -> Ack {
        let all = &self.model.all;
        let acked = &all[..advance.min(all.len())];
        let cumulative = acked.last().map_or(self.model.una, |s| s.span.end);
        let blocks = blocks.iter().filter_map(|&(first, more)| {
            let last = all.get(first + more).or(all.last())?;
            Some(Span::new(all.get(first)?.span.start, last.span.end))
        });
        Ack::new(cumulative, 0).with_blocks(blocks)
    }

    fn ack(&mut self, ack: &Ack, age: u64) -> Result<(), TestCaseError> {
        let plausible = self.ago(age);
        let summary = self.board.on_ack(ack, plausible);
        prop_assert_eq!(summary, self.model.on_ack(ack, plausible), "{:?}", ack);
        self.newest = self.newest.max(summary.newest_delivered);
        if !self.sack && summary.una_advanced > 0 {
            let acked = summary.newly_acked;
            let unexplained = self.board.explain_duplicates(acked);
            prop_assert_eq!(unexplained, self.model.explain_duplicates(acked));
        }
        self.agree(&Op::Ack { advance: 0, blocks: Vec::new(), age })
    }

    fn agree(&self, after: &Op) -> Result<(), TestCaseError> {
        self.board.check().map_err(TestCaseError::fail)?;
        for (kept, expected) in answers(&self.board).into_iter().zip(self.model.answers()) {
            prop_assert_eq!(kept, expected, "after {:?}", after);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn the_scoreboard_agrees_with_the_model(ops in vec(with_sack(), 1..60), memory in memory()) {
        let mut pair = Pair::new(true, memory);
        for op in &ops {
            pair.apply(op)?;
            if let Some(size) = memory.size() {
                prop_assert_eq!(pair.board.memory(), size);
            }
        }
    }

    #[test]
    fn the_scoreboard_agrees_with_the_model_without_sack(
        ops in vec(without_sack(), 1..60),
        memory in memory(),
    ) {
        let mut pair = Pair::new(false, memory);
        for op in &ops {
            pair.apply(op)?;
        }
    }

    #[test]
    fn a_scoreboard_goes_on_in_other_memory(
        ops in vec(with_sack(), 2..60),
        memories in (memory(), memory()),
        at in any::<proptest::sample::Index>(),
    ) {
        let mut pair = Pair::new(true, memories.0);
        for (i, op) in ops.iter().enumerate() {
            if i == at.index(ops.len()) {
                let before = pair.board.clone();
                prop_assert_eq!(before.capacity(), pair.board.capacity());
                let moved = memories.1.storage().map(|storage| pair.board.move_to(storage));
                if let Some(Err(storage)) = moved {
                    prop_assert!(pair.model.all.len() > storage.capacity() as usize);
                    pair.board = before; // a clone
                }
                pair.board.trim();
            }
            pair.apply(op)?;
        }
    }

    #[test]
    fn a_reset_scoreboard_equals_a_new_one(ops in vec(with_sack(), 1..20)) {
        let mut pair = Pair::new(true, Memory::Growing);
        for op in &ops {
            pair.apply(op)?;
        }
        pair.board.reset(Offset(7));
        prop_assert_eq!(format!("{:?}", pair.board), format!("{:?}", Scoreboard::new(Offset(7))));
    }
}
