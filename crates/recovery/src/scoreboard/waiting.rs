//! The set of segments that wait for their retransmission, and the lowest of them.
//!
//! The lowest level has one bit for each slot of the ring. A level of more than 64 bits has a level above it, with
//! one bit for each of its words: whether any bit of the word is set. To add or to find a segment takes one step
//! a level. A ring of 262,144 slots has three levels.

use super::Id;
use super::storage::Memory;
use alloc::vec::Vec;

/// The set. Each call gives the number of slots of the ring, a power of two.
pub(super) struct Waiting {
    /// The levels one after the other, that of the slots first.
    words: Memory<u64>,
    /// The lowest segment; 0 for none.
    lowest: Id,
}

/// How many bits the level above a level of `bits` has: one for each word.
#[inline]
fn above(bits: usize) -> usize {
    (bits / 64).max(1)
}

/// How many words the set takes for this many slots, a power of two or 0.
pub(super) const fn words(slots: usize) -> usize {
    let mut words = 0;
    let mut bits = slots;
    while bits > 64 {
        bits /= 64;
        words += bits;
    }
    words + if slots > 0 { 1 } else { 0 }
}

impl Waiting {
    pub fn stored_in(mut words: Memory<u64>) -> Self {
        words.fill(0);
        Self { words, lowest: 0 }
    }

    /// The lowest segment.
    #[inline]
    pub fn lowest(&self) -> Option<Id> {
        (self.lowest != 0).then_some(self.lowest)
    }

    /// Removes all, and changes the number of slots.
    pub fn resize(&mut self, slots: usize) {
        self.clear();
        self.words.resize(words(slots));
    }

    /// Removes all.
    #[inline]
    pub fn clear(&mut self) {
        // An empty set has no bit set.
        if self.lowest != 0 {
            self.words.fill(0);
            self.lowest = 0;
        }
    }

    /// Adds the segment `id`.
    pub fn insert(&mut self, id: Id, slots: usize) {
        if self.lowest == 0 || id < self.lowest {
            self.lowest = id;
        }
        let (mut level, mut bits) = (0, slots);
        let mut place = id as usize & slots.wrapping_sub(1);
        loop {
            let word = &mut self.words[level + place / 64];
            let was_empty = *word == 0;
            *word |= 1 << (place % 64);
            if !was_empty || bits <= 64 {
                return;
            }
            bits = above(bits);
            level += bits;
            place /= 64;
        }
    }

    /// Removes the segment `id`, which is in the set.
    pub fn remove(&mut self, id: Id, slots: usize) {
        let slot = id as usize & slots.wrapping_sub(1);
        let (mut level, mut bits, mut place) = (0, slots, slot);
        loop {
            let word = &mut self.words[level + place / 64];
            *word &= !(1 << (place % 64));
            if *word != 0 || bits <= 64 {
                break;
            }
            bits = above(bits);
            level += bits;
            place /= 64;
        }
        if id == self.lowest {
            // All others are higher: the next one lies in the next slot of the ring that has its bit set.
            let next = self.next(slot, slots).or_else(|| self.next(0, slots));
            self.lowest = next.map_or(0, |next| id + (next.wrapping_sub(slot) & slots.wrapping_sub(1)) as Id);
        }
    }

    /// The first slot from `from` on that has its bit set.
    fn next(&self, from: usize, slots: usize) -> Option<usize> {
        let (mut level, mut depth, mut bits, mut place) = (0, 0, slots, from);
        // Up, until a word has a bit set at the place or after it.
        let mut found = loop {
            let rest = self.words.get(level + place / 64)? & (u64::MAX << (place % 64));
            if rest != 0 {
                break place / 64 * 64 + rest.trailing_zeros() as usize;
            }
            place = place / 64 + 1;
            if bits <= 64 || place >= above(bits) {
                return None;
            }
            bits = above(bits);
            level += bits;
            depth += 1;
        };
        // Down, to the first bit of that word.
        while depth > 0 {
            level -= bits;
            depth -= 1;
            bits = (slots >> (6 * depth)).max(1);
            found = found * 64 + self.words[level + found].trailing_zeros() as usize;
        }
        Some(found)
    }

    /// The bytes it takes on the heap.
    pub fn memory(&self) -> usize {
        self.words.memory()
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self { words: Memory::Owned(Vec::new()), lowest: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Any changes among the segments of a ring, which moves on now and then.
        #[test]
        fn it_is_a_set(
            power in 0..15u32,
            first in 1..100_000u64,
            changes in proptest::collection::vec((any::<u32>(), any::<bool>()), 1..300),
        ) {
            let slots = 1 << power;
            let mut waiting = Waiting::default();
            waiting.resize(slots);
            prop_assert_eq!(waiting.memory() >= 8 * words(slots), true);
            let mut expected = BTreeSet::new();
            for (place, far) in changes {
                let id = first + u64::from(place) % slots as u64;
                if far {
                    if expected.insert(id) {
                        waiting.insert(id, slots);
                    }
                } else if let Some(&next) = expected.range(id..).next() {
                    expected.remove(&next);
                    waiting.remove(next, slots);
                }
                prop_assert_eq!(waiting.lowest(), expected.first().copied());
            }
            while let Some(id) = waiting.lowest() {
                prop_assert_eq!(expected.pop_first(), Some(id));
                waiting.remove(id, slots);
            }
            prop_assert!(expected.is_empty());
            prop_assert!(waiting.words.iter().all(|word| *word == 0));
        }
    }
}
