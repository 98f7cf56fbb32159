//! The packets that a sender has in flight, by number space.

use super::event::{Frame, Space};
use recoup_units::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Packets of a number space that are kept. Beyond, the oldest are forgotten.
const MOST_KEPT: usize = 1 << 16;

/// Presumed deliveries that are kept, so that a later loss report finds its packet.
const MOST_PRESUMED: usize = 1 << 12;

/// Bytes of a stream, or of a number space's handshake messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataRange {
    pub stream: u64,
    pub from: u64,
    pub to: u64,
}

impl DataRange {
    /// The data of a packet's frames.
    pub fn of(space: Space, frames: Option<&[Frame]>) -> Vec<Self> {
        let of = |frame: &Frame| match *frame {
            Frame::Data { stream, from, to, .. } if from < to => {
                // No stream has such an ID: these have 62 bits.
                Some(Self { stream: stream.unwrap_or(u64::MAX - space as u64), from, to })
            }
            _ => None,
        };
        frames.into_iter().flatten().filter_map(of).collect()
    }

    pub fn len(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.stream == other.stream && self.from < other.to && other.from < self.to
    }
}

/// A packet in flight.
#[derive(Clone, Debug)]
pub(super) struct SentPacket {
    pub at: Instant,
    /// Its place among all packets of the sender, of every number space.
    pub order: u64,
    pub size: u64,
    pub data: Vec<DataRange>,
    /// How often the most repeated of its data had been sent before.
    pub copy: u16,
}

impl SentPacket {
    /// Its bytes of data; of a trace without frames, those of the packet.
    pub fn payload(&self) -> u64 {
        match self.data.is_empty() {
            true => self.size,
            false => self.data.iter().map(DataRange::len).sum(),
        }
    }
}

/// The packets of a number space.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    packets: BTreeMap<u64, SentPacket>,
    /// Packets that a round-trip time sample shows to be acknowledged or lost, in traces without ACKs.
    presumed: BTreeMap<u64, SentPacket>,
    pub largest_acked: Option<u64>,
    /// Packets that were declared lost and not acknowledged since, with the place of each in the list of repairs.
    pub lost: BTreeMap<u64, usize>,
    /// Packets that were in flight when the keys were discarded.
    discarded: BTreeSet<u64>,
}

impl InFlight {
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether it was neither acknowledged nor declared lost, as far as anyone knows.
    pub fn is_unresolved(&self, number: u64) -> bool {
        self.packets.contains_key(&number) || self.discarded.contains(&number)
    }

    pub fn insert(&mut self, number: u64, packet: SentPacket) {
        self.packets.insert(number, packet);
        if self.packets.len() > MOST_KEPT {
            self.packets.pop_first();
        }
    }

    /// The least place of any of them among all packets of the sender.
    pub fn oldest(&self) -> Option<u64> {
        self.packets.first_key_value().map(|(_, packet)| packet.order)
    }

    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = (u64, &SentPacket)> {
        self.packets.iter().map(|(number, packet)| (*number, packet))
    }

    /// Takes out what these ranges acknowledge.
    pub fn acknowledge(&mut self, ranges: &[(u64, u64)]) -> Vec<(u64, SentPacket)> {
        let mut taken = Vec::new();
        for &(from, to) in ranges {
            let numbers: Vec<u64> = self.packets.range(from..=to.max(from)).map(|(number, _)| *number).collect();
            taken.extend(numbers.into_iter().filter_map(|number| Some((number, self.packets.remove(&number)?))));
        }
        self.largest_acked = ranges.iter().map(|(_, to)| *to).chain(self.largest_acked).max();
        taken
    }

    /// Takes out the lost packets that these ranges acknowledge.
    pub fn not_lost(&mut self, ranges: &[(u64, u64)]) -> Vec<usize> {
        let mut found = Vec::new();
        for &(from, to) in ranges {
            let numbers: Vec<u64> = self.lost.range(from..=to.max(from)).map(|(number, _)| *number).collect();
            found.extend(numbers.into_iter().filter_map(|number| self.lost.remove(&number)));
        }
        found
    }

    /// Takes out a packet that was declared lost.
    pub fn take(&mut self, number: u64) -> Option<SentPacket> {
        self.packets.remove(&number).or_else(|| self.presumed.remove(&number))
    }

    /// Packets up to this one are acknowledged, or are declared lost soon.
    pub fn presume(&mut self, number: u64) -> Vec<(u64, SentPacket)> {
        let Some(newest) = self.packets.last_key_value().map(|(newest, _)| *newest) else {
            return Vec::new();
        };
        let number = number.min(newest);
        let later = match number.checked_add(1) {
            Some(next) => self.packets.split_off(&next),
            None => BTreeMap::new(),
        };
        let resolved = std::mem::replace(&mut self.packets, later);
        self.largest_acked = self.largest_acked.max(Some(number));
        self.presumed.extend(resolved.iter().map(|(number, packet)| (*number, packet.clone())));
        while self.presumed.len() > MOST_PRESUMED {
            self.presumed.pop_first();
        }
        resolved.into_iter().collect()
    }

    /// The packet that was sent at this time, within a tolerance in ns; the newest of several.
    pub fn sent_at(&self, at: Instant, tolerance: u64) -> Option<u64> {
        let mut newest_first = self.packets.iter().rev();
        let near = |packet: &SentPacket| packet.at.nanos_since(at).max(at.nanos_since(packet.at)) <= tolerance;
        newest_first.find(|(_, packet)| near(packet)).map(|(number, _)| *number)
    }

    /// Forgets packets before this time that are older than the latest one acknowledged: their sender has, too.
    pub fn forget_before(&mut self, at: Instant) {
        while let Some(first) = self.packets.first_entry()
            && first.get().at < at
            && self.largest_acked.is_some_and(|largest| *first.key() < largest)
        {
            first.remove();
        }
    }

    /// Its keys were discarded: nothing is sent again (RFC 9001 §4.9).
    pub fn discard(&mut self) {
        self.discarded.extend(self.packets.keys());
        self.packets.clear();
        self.presumed.clear();
    }
}
