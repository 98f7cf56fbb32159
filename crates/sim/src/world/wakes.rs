//! When each slot wants to be woken.

use recoup_units::Instant;

/// The time at which each slot wants to be woken, and the earliest of them.
///
/// A tournament: each node has the earlier time of the two below it, and the slots are at the bottom. A slot has one
/// time, which is changed in place, so nothing that is out of date is left behind.
#[derive(Debug)]
pub(super) struct Wakes {
    /// In nanoseconds. Node n has nodes 2n and 2n + 1 below it, node 1 is the root, and the second half are the slots.
    nodes: Vec<u64>,
}

/// The time of a slot that does not want to be woken: later than any [`Instant`].
const NEVER: u64 = u64::MAX;

impl Wakes {
    pub fn new() -> Self {
        Self { nodes: vec![NEVER; 2] }
    }

    /// When `slot` wants to be woken.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<Instant> {
        let nanos = self.nodes.get(self.leaf(slot)).copied();
        nanos.filter(|n| *n != NEVER).map(Instant::from_nanos)
    }

    /// Sets when `slot` wants to be woken.
    #[inline]
    pub fn set(&mut self, slot: u32, at: Option<Instant>) {
        while self.leaf(slot) >= self.nodes.len() {
            self.grow();
        }
        let mut node = self.leaf(slot);
        self.nodes[node] = at.map_or(NEVER, Instant::as_nanos);
        while node > 1 {
            node /= 2;
            let earlier = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if self.nodes[node] == earlier {
                break;
            }
            self.nodes[node] = earlier;
        }
    }

    /// The earliest time.
    #[inline]
    pub fn first(&self) -> Option<Instant> {
        let nanos = self.nodes[1];
        (nanos != NEVER).then(|| Instant::from_nanos(nanos))
    }

    /// The slot with the earliest time, and of several the lowest; the last one if there is no time.
    pub fn first_slot(&self) -> u32 {
        let (first, slots) = (self.nodes[1], self.slots());
        let mut node = 1;
        while node < slots {
            node = 2 * node + usize::from(self.nodes[2 * node] != first);
        }
        (node - slots) as u32
    }

    fn slots(&self) -> usize {
        self.nodes.len() / 2
    }

    #[inline]
    fn leaf(&self, slot: u32) -> usize {
        self.slots() + slot as usize
    }

    #[cold]
    fn grow(&mut self) {
        let before = self.slots();
        let mut nodes = vec![NEVER; 4 * before];
        nodes[2 * before..3 * before].copy_from_slice(&self.nodes[before..]);
        for node in (1..2 * before).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        self.nodes = nodes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_and_of_several_the_lowest(
            changes in prop::collection::vec((0u32..40, prop::option::of(0u64..20)), 0..200),
        ) {
            let (mut wakes, mut model) = (Wakes::new(), BTreeMap::new());
            for (slot, at) in changes {
                let at = at.map(Instant::from_millis);
                wakes.set(slot, at);
                match at {
                    Some(at) => model.insert(slot, at),
                    None => model.remove(&slot),
                };
                prop_assert_eq!(wakes.get(slot), at);
                let first = model.iter().min_by_key(|(slot, at)| (**at, **slot));
                prop_assert_eq!(wakes.first(), first.map(|(_, at)| *at));
                if let Some((slot, _)) = first {
                    prop_assert_eq!(wakes.first_slot(), *slot);
                }
            }
        }
    }
}
