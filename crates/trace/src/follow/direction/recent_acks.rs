//! The latest ACKs of a direction captured away from its sender.
//!
//! They may not have reached the sender yet, or may be lost on the way to it. A recording that
//! starts later therefore begins before them.
//!
//! While the receiver sends new data, each of its segments repeats the same ACK. Only the first and
//! the last of these segments are kept.

use crate::{follow::fields::TcpFields, memory::HeapSize};
use recoup_recovery::Ack;
use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Flags, SeqNumber};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// ACKs that are always kept: the last ones of a flight may all be lost.
const LEAST_KEPT: usize = 8;

/// The most ACKs kept.
const MOST_KEPT: usize = 256;

/// An ACK that passed the capture point, or the last of several that repeat the one before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecentAck {
    pub at: Instant,
    pub cumulative: Offset,
    window: u32,
    pub echo: Option<u32>,
    /// Its own timestamp value and its sequence number.
    pub ts: Option<(u32, SeqNumber)>,
    carries_data: bool,
    /// It comes with payload, and without a FIN.
    in_stream: bool,
    /// How many ACKs repeat the one before, of which this is the last; 0 if it says something else.
    repeats: u32,
    /// Its SACK blocks; most ACKs have none.
    blocks: Option<Box<[Span]>>,
}

/// An ACK that passes the capture point.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassingAck<'a> {
    pub at: Instant,
    pub cumulative: Offset,
    /// Scaled.
    pub window: u32,
    /// Its SACK blocks.
    pub blocks: &'a [Span],
    pub fields: &'a TcpFields,
    pub echo: Option<u32>,
}

impl PassingAck<'_> {
    /// Its timestamp value and its sequence number.
    fn ts(&self) -> Option<(u32, SeqNumber)> {
        Some((self.fields.timestamps?.value, self.fields.seq))
    }

    /// Whether it comes with payload, and without a FIN.
    fn is_in_stream(&self) -> bool {
        self.fields.payload_len > 0 && !self.fields.flags.contains(Flags::FIN)
    }

    /// Whether this ACK comes with new data and says the same as `before`.
    #[inline]
    fn repeats(&self, before: &RecentAck) -> bool {
        // The timestamp of a retransmission may be echoed on its own.
        let is_new = || (self.ts().zip(before.ts)).is_none_or(|((_, now), (_, before))| now.after(before));
        self.cumulative == before.cumulative
            && self.window == before.window
            && before.in_stream
            && self.is_in_stream()
            && is_new()
            && self.blocks.is_empty()
            && before.blocks.is_none()
    }
}

impl RecentAck {
    /// The ACK `ack`, to be kept.
    fn new(ack: PassingAck<'_>, repeats: bool) -> Self {
        Self {
            at: ack.at,
            cumulative: ack.cumulative,
            window: ack.window,
            echo: ack.echo,
            ts: ack.ts(),
            carries_data: ack.fields.sequence_len() > 0,
            in_stream: ack.is_in_stream(),
            repeats: repeats.into(),
            blocks: (!ack.blocks.is_empty()).then(|| ack.blocks.into()),
        }
    }

    /// How many ACKs this stands for.
    #[inline]
    fn count(&self) -> usize {
        self.repeats.max(1) as usize
    }

    pub fn heard(&self) -> HeardSoFar {
        HeardSoFar {
            una: self.cumulative,
            at: self.at,
            window_edge: self.cumulative + u64::from(self.window),
            ts: self.ts.map(|(value, _)| value),
        }
    }

    /// The ACK as the engine takes it.
    pub fn ack(&self) -> Ack {
        let blocks = self.blocks.iter().flatten().copied();
        let mut ack = Ack::new(self.cumulative, self.window.into()).with_blocks(blocks);
        ack.carries_data = self.carries_data;
        ack
    }
}

/// ACKs that the sender had heard at a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct HeardSoFar {
    pub una: Offset,
    /// When the ACK of that passed the capture point.
    pub at: Instant,
    pub window_edge: Offset,
    /// The timestamp value of that ACK.
    pub ts: Option<u32>,
}

/// The latest ACKs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RecentAcks {
    /// Apart from the others: most ACKs repeat it.
    last: Option<RecentAck>,
    /// Those before, oldest first.
    acks: VecDeque<RecentAck>,
    /// The ACKs that these stand for.
    count: usize,
    /// Data that older ACKs acknowledged.
    before: Option<HeardSoFar>,
    /// How many of those kept have reached the sender.
    heard: u32,
}

impl RecentAcks {
    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        self.acks.heap_size()
    }

    /// Reads what the next ACK will change, to have it in the cache by then. The value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.at.as_nanos())
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.acks.shrink_to_fit();
    }

    /// Adds an ACK. Those that passed more than `way` ns ago are forgotten, except the last few.
    #[inline(always)]
    pub fn push(&mut self, ack: PassingAck<'_>, way: u64) {
        while let Some(oldest) = self.acks.front()
            && (self.acks.len() + 1 >= MOST_KEPT
                || self.count > LEAST_KEPT - 2 + oldest.count() && ack.at.nanos_since(oldest.at) > way)
        {
            self.forget_oldest();
        }
        self.count += 1;
        let repeated = self.last.as_mut().filter(|last| ack.repeats(last));
        let repeats = repeated.is_some();
        match repeated.filter(|last| last.repeats > 0) {
            Some(last) => {
                // All else is the same.
                (last.at, last.echo, last.ts) = (ack.at, ack.echo, ack.ts());
                last.repeats = last.repeats.saturating_add(1);
            }
            None => self.add(ack, repeats),
        }
    }

    #[inline(never)]
    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.acks.pop_front() {
            self.count -= oldest.count();
            self.heard = self.heard.saturating_sub(1);
            let heard = oldest.heard();
            if self.before.is_none_or(|before| heard.una > before.una) {
                self.before = Some(heard);
            }
        }
    }

    #[inline(never)]
    fn add(&mut self, ack: PassingAck<'_>, repeats: bool) {
        if let Some(before) = self.last.replace(RecentAck::new(ack, repeats)) {
            if self.acks.capacity() == 0 {
                self.acks.reserve(LEAST_KEPT);
            }
            self.acks.push_back(before);
        }
    }

    /// Data acknowledged before the ACKs kept, or by the first of them.
    pub fn before(&self) -> Option<HeardSoFar> {
        let first = self.iter().next().map(RecentAck::heard);
        self.before.or(first)
    }

    /// When the last ACK passed that advanced the cumulative ACK, of those until `until`; [`Instant::ZERO`] if none is known.
    pub fn advanced_at(&self, until: Instant) -> Instant {
        let passed = self.iter().take_while(|ack| ack.at <= until).map(RecentAck::heard);
        let mut last: Option<HeardSoFar> = None;
        for heard in self.before.into_iter().chain(passed) {
            if last.is_none_or(|last| heard.una > last.una) {
                last = Some(heard);
            }
        }
        last.map_or(Instant::ZERO, |last| last.at)
    }

    /// The timestamp value of the first ACK of everything below `end`.
    pub fn ts_of(&self, end: Offset) -> Option<u32> {
        let before = self.before.filter(|before| before.una >= end);
        let mut acks = before.into_iter().chain(self.iter().map(RecentAck::heard));
        acks.find(|heard| heard.una >= end)?.ts
    }

    /// Whether an ACK that passed at `until` or before has not reached the sender.
    #[inline]
    pub fn has_unheard(&self, until: Instant) -> bool {
        let i = self.heard as usize;
        let next = match self.acks.get(i) {
            Some(ack) => Some(ack),
            None => self.last.as_ref().filter(|_| i == self.acks.len()),
        };
        next.is_some_and(|ack| ack.at <= until)
    }

    /// The next ACK that reaches the sender, if it passed at `until` or before.
    #[inline]
    pub fn next_heard(&mut self, until: Instant) -> Option<&RecentAck> {
        let i = self.heard as usize;
        let next = match self.acks.get(i) {
            Some(ack) => ack,
            None if i == self.acks.len() => self.last.as_ref()?,
            None => return None,
        };
        if next.at > until {
            return None;
        }
        self.heard += 1;
        Some(next)
    }

    /// The ACKs kept, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RecentAck> {
        self.acks.iter().chain(&self.last)
    }
}

#[cfg(test)]
mod tests;
