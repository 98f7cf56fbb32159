//! The transmissions of one end: the first of every byte, and the latest one.

use super::Kinds;
use recoup_units::Instant;
use recoup_wire::{Flags, SeqNumber};
use std::collections::BTreeMap;
use std::ops::Range;

/// The number that the first packet begins with. Packets may come from before it.
const FIRST_NUMBER: u64 = 1 << 40;

/// Packets further away than the largest window (RFC 7323 §2.3) do not belong to the connection.
const FARTHEST: i32 = 1 << 30;

/// The first transmission of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct First {
    end: u64,
    pub at: Instant,
    pub flags: Flags,
    pub kinds: Kinds,
    /// How many packets with payload, SYN or FIN this end had sent for the first time before it.
    pub before: u32,
    /// `before`, with pure ACKs and resets counted too.
    pub before_with_acks: u32,
}

impl First {
    /// A packet that was sent when `before` others had been: without pure ACKs, and with them.
    pub fn new(at: Instant, flags: Flags, kinds: Kinds, before: [u32; 2]) -> Self {
        Self { end: 0, at, flags, kinds, before: before[0], before_with_acks: before[1] }
    }
}

/// Everything one end has sent, in unwrapped sequence numbers.
#[derive(Debug, Default)]
pub struct Transmissions {
    /// The highest number sent, on the wire and unwrapped.
    highest: Option<(SeqNumber, u64)>,
    /// First transmissions by their first number; they do not overlap.
    firsts: BTreeMap<u64, First>,
    /// The latest retransmission of bytes: end and time by first number. They do not overlap.
    resent: BTreeMap<u64, (u64, Instant)>,
}

impl Transmissions {
    /// The unwrapped numbers of a packet. `None`: it is too far away to belong to the connection.
    pub fn place(&mut self, seq: SeqNumber, len: u32) -> Option<Range<u64>> {
        let (seq_of_highest, highest) = *self.highest.get_or_insert((seq, FIRST_NUMBER));
        let distance = seq.distance_from(seq_of_highest);
        if distance.unsigned_abs() > FARTHEST.unsigned_abs() {
            return None;
        }
        let start = highest.checked_add_signed(distance.into())?;
        Some(start..start + u64::from(len))
    }

    /// Whether a number is below the highest sent.
    pub fn is_below_highest(&self, number: u64) -> bool {
        self.highest.is_some_and(|(_, highest)| number < highest)
    }

    /// Whether this number is the last one sent.
    pub fn is_last(&self, number: u64) -> bool {
        self.highest.is_some_and(|(_, highest)| number + 1 == highest)
    }

    /// The first transmission of a number, and the time of the latest.
    pub fn earlier(&self, number: u64) -> Option<(First, Instant)> {
        let (_, first) = self.firsts.range(..=number).next_back()?;
        if first.end <= number {
            return None;
        }
        let resent = self.resent.range(..=number).next_back();
        let resent = resent.filter(|(_, (end, _))| *end > number);
        Some((*first, resent.map_or(first.at, |(_, (_, at))| *at)))
    }

    /// Adds the numbers of `span` that were not sent before; `first` describes their packet. Returns
    /// whether there are any.
    pub fn send_first(&mut self, span: &Range<u64>, first: First) -> bool {
        let mut start = span.start;
        let mut has_new = false;
        while start < span.end {
            let before = self.firsts.range(..=start).next_back();
            if let Some((_, known)) = before.filter(|(_, known)| known.end > start) {
                start = known.end;
                continue;
            }
            let next = self.firsts.range(start..span.end).next();
            let end = next.map_or(span.end, |(next, _)| *next);
            self.firsts.insert(start, First { end, ..first });
            has_new = true;
            start = end;
        }
        if let Some((seq, highest)) = &mut self.highest
            && span.end > *highest
        {
            // Truncation to modulo 2^32 is intended.
            *seq = SeqNumber(seq.0.wrapping_add((span.end - *highest) as u32));
            *highest = span.end;
        }
        has_new
    }

    /// Notes that the numbers of `span` were retransmitted.
    pub fn resend(&mut self, span: &Range<u64>, at: Instant) {
        if let Some((_, (end, earlier))) = self.resent.range_mut(..span.start).next_back()
            && *end > span.start
        {
            let (rest, rest_at) = (*end, *earlier);
            *end = span.start;
            self.resent.insert(span.start, (rest, rest_at));
        }
        while let Some((&start, &(end, earlier))) = self.resent.range(span.clone()).next() {
            self.resent.remove(&start);
            if end > span.end {
                self.resent.insert(span.end, (end, earlier));
            }
        }
        self.resent.insert(span.start, (span.end, at));
    }

    /// Marks the first transmission of a number as of a kind.
    pub fn mark(&mut self, number: u64, kinds: Kinds) {
        if let Some((_, first)) = self.firsts.range_mut(..=number).next_back() {
            first.kinds |= kinds;
        }
    }

    /// How many entries it holds.
    pub fn len(&self) -> usize {
        self.firsts.len() + self.resent.len()
    }

    /// Forgets the lower half of everything.
    pub fn forget_half(&mut self) {
        let Some(&middle) = self.firsts.keys().nth(self.firsts.len() / 2) else {
            return;
        };
        self.firsts = self.firsts.split_off(&middle);
        self.resent = self.resent.split_off(&middle);
    }
}

#[cfg(test)]
mod tests;
