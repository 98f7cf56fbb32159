//! A recording of what one sender sent and heard.

use super::rtt_samples::RttSamples;
use crate::memory::{HeapSize, allocated};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use std::collections::VecDeque;
use std::time::Duration;

/// Something that happened at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It sent `span`. If that repeats bytes, `retransmission` is the number of its row.
    Sent {
        at: Instant,
        span: Span,
        retransmission: Option<u32>,
    },
    /// It heard an ACK.
    Heard(HeardAck),
    /// An ICMP message said that the path takes segments of at most `mss` bytes of payload.
    PathMtu { at: Instant, mss: u32 },
}

/// An ACK without its SACK blocks, which the tape keeps apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeardAck {
    at: Instant,
    cumulative: Offset,
    window: u64,
    echo_age: Option<Duration>,
    echo_sent_before: Option<Instant>,
    blocks: (u32, u8),
    carries_data: bool,
}

/// The sender's state when the tape begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beginning {
    pub una: Offset,
    pub window_edge: Offset,
    pub advanced_at: Instant,
    /// What is outstanding, and when it was sent.
    pub outstanding: Vec<(Instant, Span)>,
    /// The round-trip times so far.
    pub rtts: RttSamples,
}

/// Steps after which a tape is replayed and cleared.
const MOST_STEPS: usize = 2048;

/// Steps for which an unused tape keeps memory.
const USUAL_STEPS: usize = 128;

/// Timestamps of the sender that are remembered.
const MOST_TIMESTAMPS: usize = 512;

/// The steps of one direction, in the order in which its sender saw them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    pub beginning: Beginning,
    steps: Vec<Step>,
    blocks: Vec<Span>,
    /// The round-trip time between the capture point and the sender: the sender's answer to an ACK
    /// passes the capture point this much later.
    lag: Duration,
    /// ACKs that have passed the capture point but not reached the sender.
    in_transit: VecDeque<(HeardAck, [Span; 4])>,
    /// The sender's timestamps: the value, and when it was first and last sent.
    timestamps: VecDeque<(u32, Instant, Instant)>,
}

impl Tape {
    /// Clears the tape, keeping its memory. The caller fills in the beginning.
    pub fn begin(&mut self, lag: Duration) {
        self.beginning.outstanding.clear();
        self.steps.clear();
        self.blocks.clear();
        self.in_transit.clear();
        self.timestamps.clear();
        self.lag = lag;
    }

    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        allocated(size_of::<Self>())
            + self.beginning.outstanding.heap_size()
            + self.beginning.rtts.latest.heap_size()
            + self.steps.heap_size()
            + self.blocks.heap_size()
            + self.in_transit.heap_size()
            + self.timestamps.heap_size()
    }

    /// Frees memory beyond what most tapes need.
    pub fn trim(&mut self) {
        self.beginning.outstanding.clear();
        self.beginning.outstanding.shrink_to(USUAL_STEPS);
        self.in_transit.clear();
        self.in_transit.shrink_to(USUAL_STEPS);
        self.steps.shrink_to(USUAL_STEPS);
        self.blocks.shrink_to(USUAL_STEPS);
        self.timestamps.shrink_to(USUAL_STEPS);
    }

    /// A segment with timestamp `value` was sent.
    pub fn on_timestamp(&mut self, at: Instant, value: u32) {
        match self.timestamps.back_mut() {
            Some((last, _, last_at)) if *last == value => *last_at = at,
            Some((last, ..)) if value.wrapping_sub(*last).cast_signed() < 0 => {}
            _ => {
                if self.timestamps.len() == MOST_TIMESTAMPS {
                    self.timestamps.pop_front();
                }
                self.timestamps.push_back((value, at, at));
            }
        }
    }

    /// A segment was sent.
    pub fn on_sent(&mut self, at: Instant, span: Span, retransmission: Option<u32>) {
        self.deliver_until(at);
        self.steps.push(Step::Sent {
            at,
            span,
            retransmission,
        });
    }

    /// The path takes segments of at most `mss` bytes of payload.
    pub fn on_path_mtu(&mut self, at: Instant, mss: u32) {
        self.deliver_until(at);
        self.steps.push(Step::PathMtu { at, mss });
    }

    /// An ACK that echoes `echo` passed on its way to the sender.
    pub fn on_ack(&mut self, at: Instant, ack: &Ack, echo: Option<u32>) {
        self.deliver_until(at);
        let at = at + self.lag;
        let echoed = echo.and_then(|echo| self.sending_of(echo));
        let mut blocks = [Span::new(Offset(0), Offset(0)); 4];
        let mut count = 0;
        for (slot, block) in blocks.iter_mut().zip(ack.blocks()) {
            *slot = *block;
            count += 1;
        }
        let heard = HeardAck {
            at,
            cumulative: ack.cumulative,
            window: ack.window,
            echo_age: echoed.map(|(first, _)| at.since(first)),
            // The ACK may echo the last packet with that timestamp.
            echo_sent_before: echoed.map(|(_, last)| last.plus_nanos(1)),
            blocks: (0, count),
            carries_data: ack.carries_data,
        };
        if self.lag.is_zero() {
            self.push_ack(heard, blocks);
        } else {
            self.in_transit.push_back((heard, blocks));
        }
    }

    /// When the timestamp `echo` was first and last sent. If it was not captured, the one before it
    /// counts.
    fn sending_of(&self, echo: u32) -> Option<(Instant, Instant)> {
        let known =
            |&&(value, ..): &&(u32, Instant, Instant)| echo.wrapping_sub(value).cast_signed() >= 0;
        let tick = self.timestamps.iter().rev().find(known)?;
        Some((tick.1, tick.2))
    }

    fn push_ack(&mut self, mut heard: HeardAck, blocks: [Span; 4]) {
        heard.blocks.0 = self.blocks.len() as u32;
        self.blocks
            .extend_from_slice(&blocks[..usize::from(heard.blocks.1)]);
        self.steps.push(Step::Heard(heard));
    }

    /// Records the ACKs that have reached the sender by `now`.
    fn deliver_until(&mut self, now: Instant) {
        while self
            .in_transit
            .front()
            .is_some_and(|(heard, _)| heard.at <= now)
            && let Some((heard, blocks)) = self.in_transit.pop_front()
        {
            self.push_ack(heard, blocks);
        }
    }

    /// Records all ACKs still in transit.
    pub fn deliver_rest(&mut self) {
        while let Some((heard, blocks)) = self.in_transit.pop_front() {
            self.push_ack(heard, blocks);
        }
    }

    /// Whether it should be replayed now.
    pub fn is_full(&self) -> bool {
        self.steps.len() >= MOST_STEPS
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The ACK as the engine takes it.
    pub fn ack(&self, heard: &HeardAck) -> Ack {
        let (from, count) = (heard.blocks.0 as usize, usize::from(heard.blocks.1));
        let blocks = self.blocks[from..from + count].iter().copied();
        let mut ack = Ack::new(heard.cumulative, heard.window).with_blocks(blocks);
        ack.timestamp_rtt = heard.echo_age;
        ack.echo_sent_before = heard.echo_sent_before;
        ack.carries_data = heard.carries_data;
        ack
    }

    pub fn has_acks(&self) -> bool {
        let is_ack = |step: &Step| matches!(step, Step::Heard(_));
        self.steps.iter().any(is_ack)
    }

    /// Removes the steps once they are replayed.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.blocks.clear();
    }
}

impl Step {
    /// When it happened.
    pub fn at(&self) -> Instant {
        match self {
            Self::Sent { at, .. } | Self::PathMtu { at, .. } => *at,
            Self::Heard(heard) => heard.at,
        }
    }
}

impl HeardAck {
    /// When it reached the sender.
    pub fn at(&self) -> Instant {
        self.at
    }
}
