//! A recording of what one sender sent and heard.

use super::{
    rtt_samples::RttSamples,
    way_back::{PassedAck, WayBack},
};
use crate::memory::{HeapSize, allocated};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Segment, SeqNumber};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, time::Duration};

/// Something that happened at the sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    /// It sent `span`. If that repeats bytes, `retransmission` is the number of its row.
    Sent {
        at: Instant,
        span: Span,
        retransmission: Option<u32>,
        /// How many of its packets since the last captured data are not captured, if known. Saturating.
        unseen: Option<u16>,
        /// The bytes that SACK blocks of its own took in a retransmission: so much shorter is it.
        sack_bytes: u8,
    },
    /// It heard an ACK.
    Heard(HeardAck),
    /// An ICMP message said that the path takes segments of at most `mss` bytes of payload.
    PathMtu { at: Instant, mss: u32 },
}

/// Departure of a segment on its way to the capture point.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Departure {
    /// When it would have passed the capture point if nothing had held it up.
    pub at: Instant,
    /// That is no mere upper bound.
    pub is_exact: bool,
    /// How many packets of its sender were lost since the last one with data, if known.
    pub unseen: Option<u32>,
}

impl Departure {
    /// The segment passed at `at`; nothing shows whether it was held up.
    pub const fn unknown(at: Instant) -> Self {
        Self { at, is_exact: false, unseen: None }
    }

    /// The segment passed at `at` and was not held up.
    pub const fn exact(at: Instant) -> Self {
        Self { at, is_exact: true, unseen: None }
    }
}

/// A retransmission to record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmitted {
    /// The number of its row.
    pub row: u32,
    /// The bytes that its SACK blocks took.
    pub sack_bytes: u8,
}

/// An ACK without its SACK blocks, which the tape keeps apart. Small, because tapes hold many.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct HeardAck {
    at: Instant,
    cumulative: Offset,
    /// How long before the ACK passed its echo was first sent, in ns.
    echo_age: u64,
    /// The echo was sent before this; [`Instant::ZERO`] if the ACK echoes nothing known.
    echo_sent_before: Instant,
    /// Windows have at most 30 bits (RFC 7323 §2.3).
    window: u32,
    first_block: u32,
    blocks: u8,
    carries_data: bool,
}

/// The sender's state when the tape begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Beginning {
    pub una: Offset,
    pub window_edge: Offset,
    pub advanced_at: Instant,
    /// Outstanding data, and when it was sent.
    pub outstanding: Vec<(Instant, Span)>,
    /// The round-trip times so far.
    pub rtts: RttSamples,
}

/// Steps after which a tape is replayed and cleared.
const MOST_STEPS: usize = 2048;

/// Steps, and round-trip times, for which an unused tape keeps memory. A thousand tapes are in use at a time,
/// and most are short.
const USUAL_STEPS: usize = 32;

/// ACKs on their way for which it keeps memory.
const USUAL_ON_THE_WAY: usize = 8;

/// Steps that one packet is searched for among, where others overtook it.
const MOST_OVERTAKEN: usize = 64;

/// Steps among which ACKs turn out not to have arrived.
const MOST_RETRACTED: usize = 256;

/// Timestamps of the sender that are remembered.
const MOST_TIMESTAMPS: usize = 512;

/// The steps of one direction, in the order in which its sender saw them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tape {
    pub beginning: Beginning,
    steps: Vec<Step>,
    blocks: Vec<Span>,
    way_back: WayBack,
    /// Packets lost before the current one and after the last one with data, if known.
    unseen: Option<u32>,
    /// The sender's timestamps: the value, and when it was first and last sent.
    timestamps: VecDeque<(u32, Instant, Instant)>,
}

impl Tape {
    /// Clears the tape, keeping its memory. The caller fills in the beginning.
    pub fn begin(&mut self, lag: Duration) {
        self.beginning.outstanding.clear();
        self.steps.clear();
        self.blocks.clear();
        self.timestamps.clear();
        self.way_back.begin(lag);
        self.unseen = None;
    }

    /// The sender has answered in `nanos`, the shortest time so far, seen from the capture point.
    pub fn on_lag(&mut self, nanos: u64) {
        self.way_back.shorten_lag(Duration::from_nanos(nanos));
    }

    /// Reads what the next step will change, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let step = self.steps.last().map_or(0, |step| step.at().as_nanos());
        let timestamp = self.timestamps.back().map_or(0, |&(value, ..)| value);
        step ^ u64::from(timestamp)
    }

    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        allocated(size_of::<Self>())
            + self.beginning.outstanding.heap_size()
            + self.beginning.rtts.latest.heap_size()
            + self.steps.heap_size()
            + self.blocks.heap_size()
            + self.way_back.memory()
            + self.timestamps.heap_size()
    }

    /// Frees memory beyond what most tapes need.
    pub fn trim(&mut self) {
        self.clear();
        let Beginning { outstanding, rtts, .. } = &mut self.beginning;
        outstanding.clear();
        outstanding.shrink_to(USUAL_STEPS);
        rtts.latest.clear();
        rtts.latest.shrink_to(USUAL_STEPS);
        self.steps.shrink_to(USUAL_STEPS);
        self.blocks.shrink_to(USUAL_STEPS);
        self.timestamps.clear();
        self.timestamps.shrink_to(USUAL_STEPS);
        self.way_back.trim(USUAL_ON_THE_WAY);
    }

    /// The sender sent `segment`, with or without data. `again`: the end of a retransmission.
    pub fn on_segment(&mut self, sent: Departure, segment: &Segment, again: Option<Offset>) {
        let at = sent.at;
        self.unseen = sent.unseen;
        if let Some(end) = again.filter(|_| !self.way_back.lag().is_zero()) {
            self.retract_acks(at, end);
        }
        let Self { way_back, steps, blocks, .. } = self;
        way_back.on_segment(sent, segment, again, |ack| push_ack(steps, blocks, ack));
        if let Some(ts) = segment.options.timestamps {
            self.on_timestamp(at, ts.value);
        }
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

    /// A segment was sent; [`on_segment`](Self::on_segment) came first. It takes its place among the
    /// latest steps by its time. New data was sent in order.
    pub fn on_sent(&mut self, at: Instant, span: Span, retransmission: Option<Retransmitted>) {
        let is_new = |step: &Step| matches!(step, Step::Sent { retransmission: None, .. });
        let latest = self.steps.iter().rev().take(MOST_OVERTAKEN);
        let overtaken = latest.take_while(|step| step.at() > at && (retransmission.is_some() || !is_new(step)));
        let i = self.steps.len() - overtaken.count();
        let before = i.checked_sub(1).map(|before| self.steps[before].at());
        let sack_bytes = retransmission.map_or(0, |retransmitted| retransmitted.sack_bytes);
        let retransmission = retransmission.map(|retransmitted| retransmitted.row);
        let at = at.max(before.unwrap_or(at));
        let unseen = self.unseen.map(|unseen| u16::try_from(unseen).unwrap_or(u16::MAX));
        let step = Step::Sent { at, span, retransmission, unseen, sack_bytes };
        self.steps.insert(i, step);
    }

    /// The path takes segments of at most `mss` bytes of payload.
    pub fn on_path_mtu(&mut self, at: Instant, mss: u32) {
        let Self { way_back, steps, blocks, .. } = self;
        way_back.arrive_below(at, Offset(u64::MAX), |ack| push_ack(steps, blocks, ack));
        steps.push(Step::PathMtu { at, mss });
    }

    /// New data was sent before the recording started. Only the time says which ACKs came before,
    /// none of them of `end`.
    pub fn on_sent_before(&mut self, at: Instant, span: Span, end: Offset) {
        let Self { way_back, steps, blocks, .. } = self;
        way_back.arrive_below(at, end, |ack| push_ack(steps, blocks, ack));
        self.on_sent(at, span, None);
    }

    /// The sender did not know at `at` that `end` had arrived: it heard no ACK of that.
    fn retract_acks(&mut self, at: Instant, end: Offset) {
        let wrong = |step: &Step| matches!(step, Step::Heard(heard) if heard.cumulative >= end && heard.at <= at);
        let from = self.steps.len().saturating_sub(MOST_RETRACTED);
        if self.steps[from..].iter().any(wrong) {
            let latest = self.steps.split_off(from);
            self.steps.extend(latest.into_iter().filter(|step| !wrong(step)));
        }
    }

    /// An ACK that echoes `echo` passed on its way to the sender. `ts`: its own timestamp value and
    /// sequence number.
    pub fn on_ack(&mut self, at: Instant, ack: &Ack, echo: Option<u32>, ts: Option<(u32, SeqNumber)>) {
        let lag = self.way_back.lag();
        let at = at + lag;
        let echoed = echo.and_then(|echo| self.sending_of(echo));
        let heard = HeardAck {
            at,
            cumulative: ack.cumulative,
            echo_age: echoed.map_or(0, |(first, _)| at.nanos_since(first)),
            // The ACK may echo the last packet with that timestamp.
            echo_sent_before: echoed.map_or(Instant::ZERO, |(_, last)| last.plus_nanos(1)),
            window: u32::try_from(ack.window).unwrap_or(u32::MAX),
            first_block: 0,
            blocks: 0,
            carries_data: ack.carries_data,
        };
        let Self { way_back, steps, blocks, .. } = self;
        if lag.is_zero() {
            return push_heard(steps, blocks, heard, ack.blocks());
        }
        let mut passed = PassedAck { heard, blocks: [Span::new(Offset(0), Offset(0)); 4], ts };
        for (slot, block) in passed.blocks.iter_mut().zip(ack.blocks()) {
            *slot = *block;
            passed.heard.blocks += 1;
        }
        way_back.push(passed, |ack| push_ack(steps, blocks, ack));
    }

    /// When the timestamp `echo` was first and last sent. If it was not captured, the one before it
    /// counts.
    fn sending_of(&self, echo: u32) -> Option<(Instant, Instant)> {
        // They are in order.
        let known = |&(value, ..): &(u32, Instant, Instant)| echo.wrapping_sub(value).cast_signed() >= 0;
        let last = self.timestamps.partition_point(known).checked_sub(1)?;
        let &(_, first_at, last_at) = self.timestamps.get(last)?;
        Some((first_at, last_at))
    }

    /// Records all ACKs on their way.
    pub fn deliver_rest(&mut self) {
        let Self { way_back, steps, blocks, .. } = self;
        way_back.arrive_all(|ack| push_ack(steps, blocks, ack));
    }

    /// Whether it should be replayed now.
    pub fn is_full(&self) -> bool {
        self.steps.len() >= MOST_STEPS
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether its steps refer to SACK blocks, and to rows below `rows`, that are there.
    pub fn is_consistent(&self, rows: usize) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Sent { retransmission, .. } => retransmission.is_none_or(|row| (row as usize) < rows),
            Step::Heard(heard) => {
                let from = heard.first_block as usize;
                from + usize::from(heard.blocks) <= self.blocks.len()
            }
            Step::PathMtu { .. } => true,
        })
    }

    /// The ACK as the engine takes it.
    pub fn ack(&self, heard: &HeardAck) -> Ack {
        let (from, count) = (heard.first_block as usize, usize::from(heard.blocks));
        let blocks = self.blocks[from..from + count].iter().copied();
        let window = u64::from(heard.window);
        let mut ack = Ack::new(heard.cumulative, window).with_blocks(blocks);
        if heard.echo_sent_before > Instant::ZERO {
            ack.timestamp_rtt = Some(Duration::from_nanos(heard.echo_age));
            ack.echo_sent_before = Some(heard.echo_sent_before);
        }
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

/// Records that the sender heard `ack`, no earlier than the step before.
fn push_ack(steps: &mut Vec<Step>, recorded: &mut Vec<Span>, ack: PassedAck) {
    let blocks = &ack.blocks[..usize::from(ack.heard.blocks)];
    push_heard(steps, recorded, ack.heard, blocks);
}

/// Records an ACK with these SACK blocks, four at most.
fn push_heard(steps: &mut Vec<Step>, recorded: &mut Vec<Span>, mut heard: HeardAck, blocks: &[Span]) {
    if let Some(last) = steps.last() {
        heard.at = heard.at.max(last.at());
    }
    heard.first_block = recorded.len() as u32;
    heard.blocks = blocks.len() as u8;
    recorded.extend_from_slice(blocks);
    steps.push(Step::Heard(heard));
}

const _: () = assert!(size_of::<Step>() <= 48);

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

    /// Everything below has arrived.
    pub fn cumulative(&self) -> Offset {
        self.cumulative
    }

    /// How long before it passed its echo was first sent, in ns; `None` if it echoes nothing known.
    pub fn echo_age(&self) -> Option<u64> {
        (self.echo_sent_before > Instant::ZERO).then_some(self.echo_age)
    }

    /// Whether it carries SACK blocks.
    pub fn has_blocks(&self) -> bool {
        self.blocks > 0
    }

    /// It reached the sender after `at`.
    pub fn arrive_after(&mut self, at: Instant) {
        self.at = self.at.max(at.plus_nanos(1));
    }

    /// It reached the sender by `at`.
    pub fn arrive_by(&mut self, at: Instant) {
        self.at = self.at.min(at);
    }
}
