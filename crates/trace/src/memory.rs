//! Estimates of the memory that collections hold on the heap, in bytes, and a type that saves some.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;

/// Bytes that the allocator adds to an allocation.
const PER_ALLOCATION: usize = 16;

/// Bytes that a B-tree adds to each entry: nodes are two thirds full.
const PER_TREE_ENTRY: usize = 8;

/// A collection that knows its memory.
pub(crate) trait HeapSize {
    /// The bytes that it holds, without what its elements hold.
    fn heap_size(&self) -> usize;
}

impl<T> HeapSize for Vec<T> {
    #[inline]
    fn heap_size(&self) -> usize {
        allocated(self.capacity() * size_of::<T>())
    }
}

impl<T> HeapSize for VecDeque<T> {
    #[inline]
    fn heap_size(&self) -> usize {
        allocated(self.capacity() * size_of::<T>())
    }
}

/// An optional number in 8 bytes, half as many as an `Option<u64>`. The largest number stands for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionalU64(u64);

/// As one more, so that none is the shortest where numbers have varying lengths.
impl Serialize for OptionalU64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.wrapping_add(1).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OptionalU64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(|more| Self(more.wrapping_sub(1)))
    }
}

impl OptionalU64 {
    pub const NONE: Self = Self(u64::MAX);

    /// The number, if there is one.
    #[inline]
    pub fn get(self) -> Option<u64> {
        (self.0 != u64::MAX).then_some(self.0)
    }
}

impl Default for OptionalU64 {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<u64> for OptionalU64 {
    #[inline]
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// A collection quadruples up to this many elements, and doubles beyond.
const QUADRUPLED: usize = 64;

/// For how many more elements a full collection of `len` should have room, `first` at first. Most collections of a
/// connection are short-lived and small: growing them step by step costs more than the room.
#[inline]
pub(crate) fn room_for_more(len: usize, first: usize) -> usize {
    match len {
        0 => first,
        1..QUADRUPLED => 3 * len,
        _ => len,
    }
}

/// An allocation of this size, none if it is 0.
#[inline]
pub(crate) fn allocated(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        bytes => bytes + PER_ALLOCATION,
    }
}

/// A B-tree with this many entries of a size.
#[inline]
pub(crate) fn tree(entries: usize, size: usize) -> usize {
    entries * (size + size / 2 + PER_TREE_ENTRY)
}
