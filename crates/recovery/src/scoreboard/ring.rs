//! A ring of the outstanding segments, with the set of those that wait for their retransmission.
//!
//! The number of slots is a power of two. The segment with number `id` lies in slot `id mod slots`, so neither
//! the growth of the ring nor the removal of a segment changes the numbers of the others.

use super::storage::{FEWEST_SLOTS, MOST, Memory};
use super::waiting::Waiting;
use super::{Id, SentSegment};
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Segments that fit whatever the limit of memory.
const LEAST_LIMIT: usize = 8;

/// The outstanding segments, in stream order. An index counts from the first of them.
pub(super) struct Ring {
    slots: Memory<SentSegment>,
    waiting: Waiting,
    /// The number of the first segment, or of the next one if there is none.
    first: Id,
    len: u32,
    /// How many segments may ever be outstanding.
    most: u32,
    /// How many segments may be outstanding at present.
    limit: u32,
}

impl Ring {
    /// A ring in a block of at least `most` slots, a power of two.
    pub fn stored_in(slots: Memory<SentSegment>, waiting: Waiting, most: u32) -> Self {
        Self { slots, waiting, first: 1, len: 0, most, limit: most }
    }

    /// A ring that owns `segments`, the first of which has the number `first`, and grows to `most`.
    fn owned(first: Id, most: u32, segments: impl ExactSizeIterator<Item = SentSegment>) -> Self {
        let mut ring = Self { first, most, limit: most, ..Self::default() };
        ring.set_slots(segments.len());
        for segment in segments {
            ring.push(segment);
        }
        ring.recount_waiting();
        ring
    }

    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn capacity(&self) -> u32 {
        self.most
    }

    /// How many more segments fit at present.
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.len) as usize
    }

    /// How many of the segments that fit at present are no new ones, but parts of those that are outstanding.
    #[inline]
    pub fn spare(&self) -> usize {
        if self.limit == self.most { 0 } else { (self.limit as usize / 8).max(2) }
    }

    /// Takes at most `more` bytes of memory in addition, until this is called again, if each segment takes `beside` bytes
    /// elsewhere. A few segments always fit.
    pub fn limit_growth(&mut self, more: usize, beside: usize) {
        let each = size_of::<SentSegment>() + size_of::<u8>() + beside; // in the set, a bit and its share of a word above
        let slots = self.slots.len().max(LEAST_LIMIT);
        let times = 1 + more / (slots * each);
        let slots = slots.saturating_mul(1 << times.ilog2());
        self.limit = u32::try_from(slots).unwrap_or(u32::MAX).min(self.most);
    }

    pub fn id(&self, index: usize) -> Id {
        self.first + index as Id
    }

    #[inline]
    fn slot(&self, id: Id) -> usize {
        id as usize & self.slots.len().wrapping_sub(1)
    }

    /// The segment with the number `id`, which must be outstanding.
    #[inline]
    pub fn named(&self, id: Id) -> &SentSegment {
        &self.slots[self.slot(id)]
    }

    /// The segment with the number `id`, which must be outstanding.
    #[inline]
    pub fn named_mut(&mut self, id: Id) -> &mut SentSegment {
        let slot = self.slot(id);
        &mut self.slots[slot]
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&SentSegment> {
        (index < self.len()).then(|| &self[index])
    }

    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut SentSegment> {
        (index < self.len()).then(|| &mut self[index])
    }

    #[inline]
    pub fn front(&self) -> Option<&SentSegment> {
        self.get(0)
    }

    #[inline]
    pub fn back(&self) -> Option<&SentSegment> {
        self.get(self.len().wrapping_sub(1))
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &SentSegment> + ExactSizeIterator {
        self.range(0, self.len())
    }

    /// The segments from index `from` to `to`, without the last.
    pub fn range(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = &SentSegment> + ExactSizeIterator {
        (from..to).map(|i| &self[i])
    }

    /// Calls `each` with every segment.
    pub fn for_each(&mut self, mut each: impl FnMut(&mut SentSegment)) {
        for i in 0..self.len() {
            each(&mut self[i]);
        }
    }

    /// The index of the first segment for which `before` is false. It must be true for all lower ones and false
    /// for all higher ones.
    pub fn partition_point(&self, before: impl Fn(&SentSegment) -> bool) -> usize {
        recoup_units::partition_point_near(self.len(), 0, |i| before(&self[i]))
    }

    /// Appends a segment. Returns `false` if no more fits.
    #[inline]
    pub fn push(&mut self, segment: SentSegment) -> bool {
        if self.len >= self.limit {
            return false;
        }
        if self.len() == self.slots.len() {
            self.set_slots(self.len() + 1);
        }
        let id = self.id(self.len());
        self.len += 1;
        *self.named_mut(id) = segment;
        true
    }

    /// Removes the first `count` segments.
    pub fn remove_first(&mut self, count: u32) {
        let count = count.min(self.len);
        self.first += Id::from(count);
        self.len -= count;
        while let Some(id) = self.waiting.lowest()
            && id < self.first
        {
            self.stop_waiting(id);
        }
    }

    /// The lowest segment that waits for its retransmission.
    #[inline]
    pub fn lowest_waiting(&self) -> Option<&SentSegment> {
        self.lowest_waiting_id().map(|id| self.named(id))
    }

    /// The number of the lowest segment that waits.
    pub fn lowest_waiting_id(&self) -> Option<Id> {
        self.waiting.lowest()
    }

    /// Notes that the segment `id` waits for its retransmission.
    pub fn start_waiting(&mut self, id: Id) {
        self.waiting.insert(id, self.slots.len());
    }

    /// Notes that the segment `id` does not wait for its retransmission any more, as it did.
    pub fn stop_waiting(&mut self, id: Id) {
        self.waiting.remove(id, self.slots.len());
    }

    /// Notes that no segment waits for its retransmission.
    pub fn clear_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Finds the segments that wait for their retransmission by their flags.
    pub fn recount_waiting(&mut self) {
        self.waiting.clear();
        for id in self.first..self.id(self.len()) {
            if self.named(id).wants_retransmission() {
                self.start_waiting(id);
            }
        }
    }

    pub fn clear(&mut self) {
        self.first = 1;
        self.len = 0;
        self.waiting.clear();
    }

    /// Takes over the segments of `other`, which must fit, with their numbers.
    pub fn copy_from(&mut self, other: &Self) {
        self.first = other.first;
        self.len = 0;
        for &segment in other.iter() {
            self.push(segment);
        }
        self.recount_waiting();
    }

    /// Grows the ring's own memory to hold `count` segments, and moves each segment to its new slot.
    #[cold]
    #[inline(never)]
    fn set_slots(&mut self, count: usize) {
        let (before, slots) = match count {
            0 => return,
            _ => (self.slots.len(), count.next_power_of_two().max(FEWEST_SLOTS)),
        };
        self.slots.resize(slots);
        for id in self.first..self.id(self.len()) {
            let from = id as usize & before.wrapping_sub(1);
            let to = self.slot(id);
            self.slots[to] = self.slots[from];
        }
        self.waiting.resize(slots);
        self.recount_waiting();
    }

    /// Frees unused memory if there are more than `count` slots.
    pub fn trim(&mut self, count: usize) {
        if self.slots.len() > count.max(self.len()) {
            *self = Self { limit: self.limit, ..self.clone() };
        }
    }

    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        self.slots.memory() + self.waiting.memory()
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Ring {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let segments: Vec<&SentSegment> = self.iter().collect();
        (self.first, self.most, segments).serialize(serializer)
    }
}

/// A loaded ring owns its memory, which grows to the same capacity.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Ring {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (first, most, segments) = <(Id, u32, Vec<SentSegment>)>::deserialize(deserializer)?;
        let fits = (1..=1 << 62).contains(&first) && segments.len() <= most.min(MOST) as usize;
        match fits {
            true => Ok(Self::owned(first, most, segments.into_iter())),
            false => Err(serde::de::Error::custom("the segments do not fit the scoreboard")),
        }
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            slots: Memory::Owned(Vec::new()),
            waiting: Waiting::default(),
            first: 1,
            len: 0,
            most: MOST,
            limit: MOST,
        }
    }
}

/// A clone owns its memory, which grows to the same capacity.
impl Clone for Ring {
    fn clone(&self) -> Self {
        Self::owned(self.first, self.most, self.iter().copied())
    }
}

impl core::fmt::Debug for Ring {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Index<usize> for Ring {
    type Output = SentSegment;

    #[inline]
    fn index(&self, index: usize) -> &SentSegment {
        debug_assert!(index < self.len());
        self.named(self.id(index))
    }
}

impl IndexMut<usize> for Ring {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut SentSegment {
        debug_assert!(index < self.len());
        self.named_mut(self.id(index))
    }
}
