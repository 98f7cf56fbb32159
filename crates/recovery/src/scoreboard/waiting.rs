//! A heap of the segments that wait for their retransmission.

use super::Id;
use super::storage::{FEWEST_SLOTS, Memory};
use alloc::vec::Vec;

/// A binary heap of the segments that wait for their retransmission, lowest first. An entry is the number
/// of a segment modulo 2³². All segments lie within 2³¹ of each other, so the difference of two entries
/// orders them.
pub(super) struct Waiting {
    entries: Memory<u32>,
    len: u32,
}

fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Puts `entry` into the free `place`, or further up.
fn rise(entries: &mut [u32], mut place: usize, entry: u32) {
    while place > 0 {
        let above = (place - 1) / 2;
        if !is_before(entry, entries[above]) {
            break;
        }
        entries[place] = entries[above];
        place = above;
    }
    entries[place] = entry;
}

impl Waiting {
    pub fn stored_in(entries: Memory<u32>) -> Self {
        Self { entries, len: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The lowest entry as the number of a segment; `first` is that of the first outstanding segment.
    #[inline]
    pub fn lowest(&self, first: Id) -> Option<Id> {
        let entry = *self.entries.get(..self.len as usize)?.first()?;
        let distance = entry.wrapping_sub(first as u32) as i32;
        Some(first.wrapping_add_signed(distance.into()))
    }

    /// Adds a segment that has no entry yet.
    pub fn push(&mut self, id: Id) {
        let place = self.len as usize;
        if place == self.entries.len() {
            self.entries.resize((2 * place).max(FEWEST_SLOTS));
        }
        let entries = &mut *self.entries;
        if place == entries.len() {
            return; // cannot be: no more segments are outstanding than there are entries
        }
        self.len += 1;
        rise(entries, place, id as u32);
    }

    /// Removes the lowest entry.
    pub fn pop(&mut self) {
        let Some(len) = (self.len as usize).checked_sub(1) else {
            return;
        };
        self.len -= 1;
        let (entries, rest) = self.entries.split_at_mut(len);
        let mut place = 0;
        // Down to the bottom, where the last entry most likely belongs, and back up as far as needed.
        while let Some(&left) = entries.get(2 * place + 1) {
            let (below, entry) = match entries.get(2 * place + 2) {
                Some(&right) if is_before(right, left) => (2 * place + 2, right),
                _ => (2 * place + 1, left),
            };
            entries[place] = entry;
            place = below;
        }
        if place < len {
            rise(entries, place, rest[0]);
        }
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Takes the entries of `other`, in place of its own.
    pub fn copy_from(&mut self, other: &Self) {
        let entries = &other.entries[..other.len as usize];
        self.entries[..entries.len()].copy_from_slice(entries);
        self.len = other.len;
    }

    /// Frees unused memory if there is room for more than `count` entries.
    pub fn trim(&mut self, count: usize) {
        if self.entries.len() > count {
            *self = self.clone();
        }
    }

    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        self.entries.memory()
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self::stored_in(Memory::Owned(Vec::new()))
    }
}

/// A clone owns its memory.
impl Clone for Waiting {
    fn clone(&self) -> Self {
        Self {
            entries: Memory::Owned(self.entries[..self.len as usize].to_vec()),
            len: self.len,
        }
    }
}

impl core::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list()
            .entries(&self.entries[..self.len as usize])
            .finish()
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Waiting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries[..self.len as usize].serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Waiting {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::deserialize(deserializer)?;
        let len = u32::try_from(entries.len()).map_err(serde::de::Error::custom)?;
        let entries = Memory::Owned(entries);
        Ok(Self { entries, len })
    }
}
