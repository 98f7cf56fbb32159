//! The memory of the scoreboard: its own, which may grow, or a block of fixed size.

use super::SentSegment;
use super::ring::Ring;
use super::waiting::{self, Waiting};
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// The largest number of outstanding segments: links between segments are 32-bit distances.
pub(super) const MOST: u32 = 1 << 31;
/// The slots of the smallest block that grows.
pub(super) const FEWEST_SLOTS: usize = 4;

/// Memory of a fixed size for the outstanding segments of one connection.
#[derive(Debug)]
pub struct Storage {
    segments: Memory<SentSegment>,
    waiting: Memory<u64>,
    capacity: u32,
}

impl Storage {
    /// Memory from the allocator for `capacity` segments, 1 to 2³¹; other numbers become the nearest of
    /// these. It takes about 64.13 bytes a segment, for a number of segments rounded up to a power of two.
    pub fn with_capacity(capacity: u32) -> Self {
        let capacity = capacity.clamp(1, MOST);
        let slots = capacity.next_power_of_two() as usize;
        Self {
            segments: Memory::Owned(alloc::vec![SentSegment::default(); slots]),
            waiting: Memory::Owned(alloc::vec![0; waiting::words(slots)]),
            capacity,
        }
    }

    /// Memory that the caller lends; its contents do not matter. The capacity is the largest power of two for
    /// which both slices are long enough: a segment each, and [`words_for`](Self::words_for) all of them. It is 0
    /// if a slice is empty.
    pub fn lent(segments: &'static mut [SentSegment], words: &'static mut [u64]) -> Self {
        let slots = segments.len().min(MOST as usize);
        let mut slots = slots.checked_ilog2().map_or(0, |power| 1 << power);
        while waiting::words(slots) > words.len() {
            slots /= 2;
        }
        Self {
            segments: Memory::Lent(&mut segments[..slots]),
            waiting: Memory::Lent(&mut words[..waiting::words(slots)]),
            capacity: slots as u32,
        }
    }

    /// How many words the memory for this many segments, a power of two, includes: at least one, and about one for
    /// each 63 segments.
    pub const fn words_for(segments: usize) -> usize {
        waiting::words(segments)
    }

    /// How many segments fit.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) fn into_ring(self) -> Ring {
        let waiting = Waiting::stored_in(self.waiting);
        Ring::stored_in(self.segments, waiting, self.capacity)
    }
}

/// A block of memory.
#[derive(Debug)]
pub(crate) enum Memory<T: 'static> {
    Owned(Vec<T>),
    Lent(&'static mut [T]),
}

impl<T: Copy + Default> Memory<T> {
    /// Changes the size of owned memory. Lent memory stays as it is.
    pub fn resize(&mut self, len: usize) {
        if let Self::Owned(owned) = self {
            owned.reserve_exact(len.saturating_sub(owned.len()));
            owned.resize(len, T::default());
        }
    }
}

impl<T> Memory<T> {
    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        match self {
            Self::Owned(owned) => owned.capacity() * size_of::<T>(),
            Self::Lent(_) => 0,
        }
    }
}

impl<T> Deref for Memory<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(owned) => owned,
            Self::Lent(lent) => lent,
        }
    }
}

impl<T> DerefMut for Memory<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Owned(owned) => owned,
            Self::Lent(lent) => lent,
        }
    }
}
