//! Whether a saved table contradicts itself.

use super::ConnectionTable;
use crate::follow::points::Pair;

/// No table has counted further: 8,000 years at a million a second.
const MOST_COUNTED: u64 = 1 << 58;

/// No connection takes up more, in bytes.
const MOST_MEMORY: u64 = 1 << 40;

impl ConnectionTable {
    /// Checks what lookups rely on. `profiles`: how many are replayed. `is_here`: whether a connection
    /// between two ends belongs in this table.
    ///
    /// # Errors
    /// Names what is wrong.
    pub fn check(&self, profiles: usize, is_here: impl Fn(&Pair) -> bool) -> Result<(), &'static str> {
        let mut is_free = vec![false; self.slots.len()];
        for &slot in &self.free {
            let slot = slot as usize;
            if self.slots.get(slot).is_none_or(Option::is_some) || is_free[slot] {
                return Err("a free slot is in use");
            }
            is_free[slot] = true;
        }
        let open = || self.slots.iter().flatten();
        let unnumbered = &self.unnumbered;
        let checks = [
            ("too many slots", self.slots.len() <= u32::MAX as usize),
            ("a slot is lost", open().count() + self.free.len() == self.slots.len()),
            ("the sweep is beyond the last slot", self.cursor <= self.slots.len()),
            (
                "too many connections were counted",
                self.next_serial <= MOST_COUNTED && open().all(|open| open.number.get() <= Some(MOST_COUNTED)),
            ),
            ("a connection to number has no slot", unnumbered.iter().all(|new| (new.slot as usize) < self.slots.len())),
            ("a connection takes up too much memory", open().all(|open| open.counted_memory() as u64 <= MOST_MEMORY)),
            ("a connection is in another shard", self.pairs().all(|pair| is_here(&pair))),
            ("packets held back are missing", self.points.is_consistent()),
            ("a recovery refers to what is not there", open().all(|open| open.is_consistent(profiles))),
        ];
        let wrong = checks.iter().find(|(_, is_right)| !is_right);
        wrong.map_or(Ok(()), |(what, _)| Err(what))
    }
}
