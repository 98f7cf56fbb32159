//! What one direction did from the moment there was something to explain: the steps a replay takes.

use crate::rtts::Samples;
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use std::collections::VecDeque;
use std::time::Duration;

/// A thing that happened at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It sent `span`; `again`: part of it for another time, by the number of the retransmission.
    Sent {
        at: Instant,
        span: Span,
        again: Option<u32>,
    },
    /// It heard an ACK.
    Heard(Heard),
}

/// An ACK without its blocks, which lie elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    at: Instant,
    cumulative: Offset,
    window: u64,
    echo_age: Option<Duration>,
    echo_sent_before: Option<Instant>,
    blocks: (u32, u8),
    carries_data: bool,
}

/// How a sender stands as the tape begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beginning {
    pub una: Offset,
    pub window_edge: Offset,
    pub advanced_at: Instant,
    /// What is outstanding, and since when.
    pub outstanding: Vec<(Instant, Span)>,
    /// The round-trip times so far.
    pub rtts: Samples,
}

/// The most steps kept before they are replayed.
const FULL: usize = 2048;

/// Steps most tapes have at most.
const USUAL: usize = 128;

/// The ticks of the sender's timestamp clock that are remembered.
const TICKS: usize = 512;

/// Steps of one direction, in the order its sender saw them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    pub beginning: Beginning,
    steps: Vec<Step>,
    blocks: Vec<Span>,
    /// From the place of capture to the sender and back: so much later an ACK meets what it sends.
    lag: Duration,
    /// ACKs that have not reached the sender yet.
    coming: VecDeque<(Heard, [Span; 4])>,
    /// The sender's timestamps: the value, and when it was first and last sent.
    ticks: VecDeque<(u32, Instant, Instant)>,
}

impl Tape {
    /// Begins again with nothing on it, keeping memory; what the sender stands like is filled in by the
    /// caller.
    pub fn begin(&mut self, lag: Duration) {
        self.beginning.outstanding.clear();
        self.steps.clear();
        self.blocks.clear();
        self.coming.clear();
        self.ticks.clear();
        self.lag = lag;
    }

    /// Is used no more for now: most need little room.
    pub fn trim(&mut self) {
        self.steps.shrink_to(USUAL);
        self.blocks.shrink_to(USUAL);
        self.ticks.shrink_to(USUAL);
    }

    /// The sender's timestamp clock showed `value`.
    pub fn on_tick(&mut self, at: Instant, value: u32) {
        match self.ticks.back_mut() {
            Some((last, _, last_at)) if *last == value => *last_at = at,
            Some((last, ..)) if value.wrapping_sub(*last).cast_signed() < 0 => {}
            _ => {
                if self.ticks.len() == TICKS {
                    self.ticks.pop_front();
                }
                self.ticks.push_back((value, at, at));
            }
        }
    }

    /// It sent something.
    pub fn on_sent(&mut self, at: Instant, span: Span, again: Option<u32>) {
        self.deliver(at);
        self.steps.push(Step::Sent { at, span, again });
    }

    /// An ACK passed on its way to it, echoing `echo`.
    pub fn on_ack(&mut self, at: Instant, ack: &Ack, echo: Option<u32>) {
        self.deliver(at);
        let at = at + self.lag;
        let echoed = echo.and_then(|echo| self.tick_of(echo));
        let mut blocks = [Span::new(Offset(0), Offset(0)); 4];
        let mut count = 0;
        for (slot, block) in blocks.iter_mut().zip(ack.blocks()) {
            *slot = *block;
            count += 1;
        }
        let heard = Heard {
            at,
            cumulative: ack.cumulative,
            window: ack.window,
            echo_age: echoed.map(|(first, _)| at.since(first)),
            // Its last packet may be the very one echoed.
            echo_sent_before: echoed.map(|(_, last)| last.plus_nanos(1)),
            blocks: (0, count),
            carries_data: ack.carries_data,
        };
        if self.lag.is_zero() {
            self.push_heard(heard, blocks);
        } else {
            self.coming.push_back((heard, blocks));
        }
    }

    /// When the tick `echo` was first and last sent. An echo of a tick that was not seen is of the
    /// one before.
    fn tick_of(&self, echo: u32) -> Option<(Instant, Instant)> {
        let known =
            |&&(value, ..): &&(u32, Instant, Instant)| echo.wrapping_sub(value).cast_signed() >= 0;
        let tick = self.ticks.iter().rev().find(known)?;
        Some((tick.1, tick.2))
    }

    fn push_heard(&mut self, mut heard: Heard, blocks: [Span; 4]) {
        heard.blocks.0 = self.blocks.len() as u32;
        self.blocks
            .extend_from_slice(&blocks[..usize::from(heard.blocks.1)]);
        self.steps.push(Step::Heard(heard));
    }

    /// What has reached the sender by `now` is heard.
    fn deliver(&mut self, now: Instant) {
        while self
            .coming
            .front()
            .is_some_and(|(heard, _)| heard.at <= now)
            && let Some((heard, blocks)) = self.coming.pop_front()
        {
            self.push_heard(heard, blocks);
        }
    }

    /// The capture is over: what is on its way arrives.
    pub fn end(&mut self) {
        while let Some((heard, blocks)) = self.coming.pop_front() {
            self.push_heard(heard, blocks);
        }
    }

    /// Whether it should be replayed now.
    pub fn is_full(&self) -> bool {
        self.steps.len() >= FULL
    }

    /// The steps so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// An ACK as an engine takes it.
    pub fn ack(&self, heard: &Heard) -> Ack {
        let (from, count) = (heard.blocks.0 as usize, usize::from(heard.blocks.1));
        let blocks = self.blocks[from..from + count].iter().copied();
        let mut ack = Ack::new(heard.cumulative, heard.window).with_blocks(blocks);
        ack.timestamp_rtt = heard.echo_age;
        ack.echo_sent_before = heard.echo_sent_before;
        ack.carries_data = heard.carries_data;
        ack
    }

    /// Whether any of the steps is an ACK.
    pub fn has_acks(&self) -> bool {
        let is_ack = |step: &Step| matches!(step, Step::Heard(_));
        self.steps.iter().any(is_ack)
    }

    /// The steps were replayed.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.blocks.clear();
    }
}

impl Step {
    /// When it happened.
    pub fn at(&self) -> Instant {
        match self {
            Self::Sent { at, .. } => *at,
            Self::Heard(heard) => heard.at,
        }
    }
}

impl Heard {
    /// When it reached the sender.
    pub fn at(&self) -> Instant {
        self.at
    }
}
