//! The packets that were taken out as lost lately. The sender remembers them, to notice those that arrive late.

use crate::ack::AckSummary;
use crate::scoreboard::{Memory, SentSegment};
use alloc::vec::Vec;
use recoup_units::{Instant, Offset, Segments, Span, partition_point_near};

/// The largest number of packets remembered.
const MOST: usize = 1024;
/// The slots that memory on the heap begins with.
const FEWEST_SLOTS: usize = 16;

/// Memory for one packet that was taken out as lost: 32 bytes (see
/// [`Sender::remember_in`](super::Sender::remember_in)).
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GivenUpPacket {
    at: Offset,
    number: u32,
    sent_at: Instant,
    /// The time until which an acknowledgment of it counts.
    until: Instant,
}

impl GivenUpPacket {
    /// An acknowledgment of `segment` counts until `until`.
    pub(super) fn of(segment: &SentSegment, until: Instant) -> Self {
        Self { at: segment.span.start, number: segment.number, sent_at: segment.sent_at, until }
    }
}

/// A ring of packets in the order of their numbers.
#[derive(Debug)]
pub(super) struct GivenUp {
    slots: Memory<GivenUpPacket>,
    first: u16,
    len: u16,
    /// The packet that was sent first among those that the last ACK showed to be late: its number, and when it was
    /// sent. They are two fields because they take less room than an `Option<LatePacket>`.
    late_number: u32,
    late_sent_at: Option<Instant>,
}

/// A packet that was taken out as lost, and arrived after all.
#[derive(Clone, Copy, Debug)]
pub(super) struct LatePacket {
    /// The number of its transmission ([`SentSegment::number`]).
    pub number: u32,
    pub sent_at: Instant,
}

impl GivenUp {
    /// A ring in lent memory. It remembers no more packets than `slots` has room for.
    pub fn stored_in(slots: &'static mut [GivenUpPacket]) -> Self {
        let most = slots.len().min(MOST);
        Self { slots: Memory::Lent(&mut slots[..most]), ..Self::default() }
    }

    /// Forgets all packets and keeps the memory.
    pub fn clear(&mut self) {
        (self.first, self.len) = (0, 0);
        self.late_sent_at = None;
    }

    /// The packet that was sent first among those that the last ACK reported late.
    pub fn earliest_late(&self) -> Option<LatePacket> {
        self.late_sent_at.map(|sent_at| LatePacket { number: self.late_number, sent_at })
    }

    /// Its heap memory, in bytes.
    pub fn memory(&self) -> usize {
        self.slots.memory()
    }

    fn len(&self) -> usize {
        self.len.into()
    }

    /// The slot of the packet at `index`. There must be at least one slot.
    fn slot(&self, index: usize) -> usize {
        (usize::from(self.first) + index) % self.slots.len()
    }

    fn iter(&self) -> impl Iterator<Item = &GivenUpPacket> {
        (0..self.len()).map(|i| &self.slots[self.slot(i)])
    }

    /// The number of packets below `offset`.
    fn below(&self, offset: Offset) -> usize {
        partition_point_near(self.len(), self.len(), |i| self.slots[self.slot(i)].at < offset)
    }

    /// Grows memory on the heap, up to `MOST` packets.
    fn grow(&mut self) {
        let owned = matches!(self.slots, Memory::Owned(_));
        if owned && self.slots.len() < MOST {
            let packets: Vec<GivenUpPacket> = self.iter().copied().collect();
            *self = Self { late_number: self.late_number, late_sent_at: self.late_sent_at, ..Self::from(packets) };
            let slots = (2 * self.len()).clamp(FEWEST_SLOTS, MOST);
            self.slots.resize(slots);
        }
    }

    /// Remembers `packet`, and forgets the lowest if there is no room.
    pub fn remember(&mut self, packet: GivenUpPacket) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        if self.slots.is_empty() {
            return;
        }
        if self.len() == self.slots.len() {
            self.remove(0, 1);
        }
        // Most are given up in the order of their numbers.
        let mut place = self.len();
        while let Some(before) = place.checked_sub(1)
            && self.slots[self.slot(before)].at > packet.at
        {
            self.shift(before, place);
            place = before;
        }
        let slot = self.slot(place);
        self.slots[slot] = packet;
        self.len += 1;
    }

    fn shift(&mut self, from: usize, to: usize) {
        let (from, to) = (self.slot(from), self.slot(to));
        self.slots[to] = self.slots[from];
    }

    /// Removes the packets from index `from` up to `to`.
    fn remove(&mut self, from: usize, to: usize) {
        if from == 0 {
            self.first = self.slot(to) as u16;
        } else {
            for index in to..self.len() {
                self.shift(index, index - (to - from));
            }
        }
        self.len -= (to - from) as u16;
    }

    fn note_late(&mut self, packet: &GivenUpPacket) {
        if self.late_sent_at.is_none_or(|earliest| packet.sent_at < earliest) {
            self.late_number = packet.number;
            self.late_sent_at = Some(packet.sent_at);
        }
    }

    /// Counts in `summary` the packets that `ranges` acknowledge. Forgets these and the expired ones.
    pub fn take_late(&mut self, now: Instant, ranges: &[Span], summary: &mut AckSummary) {
        self.late_sent_at = None;
        if self.len == 0 {
            return;
        }
        let expired = self.iter().take_while(|packet| packet.until < now).count();
        self.remove(0, expired);
        for range in ranges {
            let (from, to) = (self.below(range.start), self.below(range.end));
            if from >= to {
                continue;
            }
            for index in from..to {
                let packet = self.slots[self.slot(index)];
                if packet.until >= now {
                    summary.late += Segments::ONE;
                    self.note_late(&packet);
                }
            }
            self.remove(from, to);
        }
    }
}

impl From<Vec<GivenUpPacket>> for GivenUp {
    fn from(packets: Vec<GivenUpPacket>) -> Self {
        Self {
            len: packets.len() as u16, // at most MOST
            first: 0,
            slots: Memory::Owned(packets),
            late_number: 0,
            late_sent_at: None,
        }
    }
}

impl Default for GivenUp {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

/// A clone owns its memory.
impl Clone for GivenUp {
    fn clone(&self) -> Self {
        Self::from(self.iter().copied().collect::<Vec<_>>())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for GivenUp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let packets: Vec<&GivenUpPacket> = self.iter().collect();
        packets.serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for GivenUp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let packets = Vec::<GivenUpPacket>::deserialize(deserializer)?;
        let ordered = packets.is_sorted_by_key(|packet| packet.at);
        match ordered && packets.len() <= MOST {
            true => Ok(Self::from(packets)),
            false => Err(serde::de::Error::custom("packets given up that cannot be")),
        }
    }
}

#[cfg(test)]
mod tests;
