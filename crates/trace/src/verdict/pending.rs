//! Verdicts on retransmissions, combined from those on their pieces.

use super::{AMBIGUOUS, ConditionalVerdict};
use crate::{
    finding::{Evidence, Verdict},
    memory::HeapSize,
};
use serde::{Deserialize, Serialize};

/// A retransmission with undecided pieces.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    index: u32,
    /// Undecided sequence space.
    left: u64,
    found: Option<ConditionalVerdict>,
}

/// Retransmissions in the order of their numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PendingVerdicts {
    waiting: Vec<Pending>,
    /// Decided ones that were not passed on yet.
    decided: Vec<(u32, ConditionalVerdict)>,
    /// How many of `waiting` are decided.
    done: usize,
}

impl PendingVerdicts {
    /// Removes everything, keeping memory.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.decided.clear();
        self.done = 0;
    }

    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        self.waiting.heap_size() + self.decided.heap_size()
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.waiting.shrink_to_fit();
        self.decided.shrink_to_fit();
    }

    /// Adds a retransmission of `len`, with a higher number than all before.
    pub fn begin(&mut self, index: u32, len: u64) {
        if len == 0 {
            return self.decided.push((index, AMBIGUOUS.into()));
        }
        self.waiting.push(Pending { index, left: len, found: None });
    }

    /// `len` of retransmission `index` is decided.
    pub fn decide(&mut self, index: u32, len: u64, found: ConditionalVerdict) {
        let Ok(at) = self.waiting.binary_search_by_key(&index, |pending| pending.index) else {
            return;
        };
        let pending = &mut self.waiting[at];
        if pending.left == 0 {
            return;
        }
        pending.left = pending.left.saturating_sub(len);
        let found = (pending.found).map_or(found, |before| combined(before, found));
        pending.found = Some(found);
        if pending.left == 0 {
            self.decided.push((index, found));
            self.done += 1;
        }
    }

    /// Passes on the decided ones.
    pub fn hand_out(&mut self, mut found: impl FnMut(u32, ConditionalVerdict)) {
        for (index, decided) in self.decided.drain(..) {
            found(index, decided);
        }
        // Each removal is paid for by a decision.
        if self.done > self.waiting.len() / 2 {
            self.waiting.retain(|pending| pending.left > 0);
            self.done = 0;
        }
    }

    /// Passes on the undecided ones as ambiguous.
    pub fn give_up(&mut self, mut found: impl FnMut(u32, ConditionalVerdict)) {
        for pending in self.waiting.drain(..).filter(|pending| pending.left > 0) {
            found(pending.index, AMBIGUOUS.into());
        }
    }
}

/// The verdict on two pieces together.
fn combined(a: ConditionalVerdict, b: ConditionalVerdict) -> ConditionalVerdict {
    ConditionalVerdict {
        if_reporting: of_both(a.if_reporting, b.if_reporting),
        if_silent: of_both(a.if_silent, b.if_silent),
    }
}

/// Needed if one was needed, spurious only if both were.
fn of_both(a: (Verdict, Evidence), b: (Verdict, Evidence)) -> (Verdict, Evidence) {
    let order = |verdict| match verdict {
        Verdict::Needed => 0,
        Verdict::Unknowable => 1,
        Verdict::Spurious => 2,
    };
    if order(b.0) < order(a.0) { b } else { a }
}
