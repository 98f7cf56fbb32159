//! Verdicts on retransmissions, combined from those on their pieces.

use super::ConditionalVerdict;
use crate::finding::{Evidence, Verdict};

const AMBIGUOUS: (Verdict, Evidence) = (Verdict::Unknowable, Evidence::Ambiguous);

/// A retransmission with undecided pieces.
#[derive(Debug)]
struct Pending {
    index: u32,
    /// Undecided sequence space.
    left: u64,
    found: Option<ConditionalVerdict>,
}

/// Retransmissions in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct PendingVerdicts {
    waiting: Vec<Pending>,
    /// Some are decided and not passed on yet.
    some_decided: bool,
}

impl PendingVerdicts {
    /// Removes everything, keeping memory.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.some_decided = false;
    }

    /// Adds a retransmission of `len`, with a higher number than all before.
    pub fn begin(&mut self, index: u32, len: u64) {
        let found = (len == 0).then_some(AMBIGUOUS.into());
        self.some_decided |= found.is_some();
        self.waiting.push(Pending {
            index,
            left: len,
            found,
        });
    }

    /// `len` of retransmission `index` is decided.
    pub fn decide(&mut self, index: u32, len: u64, found: ConditionalVerdict) {
        let Ok(at) = self
            .waiting
            .binary_search_by_key(&index, |pending| pending.index)
        else {
            return;
        };
        let pending = &mut self.waiting[at];
        pending.left = pending.left.saturating_sub(len);
        pending.found = Some(
            pending
                .found
                .map_or(found, |before| combined(before, found)),
        );
        self.some_decided |= pending.left == 0;
    }

    /// Passes on the decided ones.
    pub fn hand_out(&mut self, mut found: impl FnMut(u32, ConditionalVerdict)) {
        if !std::mem::take(&mut self.some_decided) {
            return;
        }
        self.waiting.retain(|pending| {
            let decided = pending.found.filter(|_| pending.left == 0);
            if let Some(decided) = decided {
                found(pending.index, decided);
            }
            decided.is_none()
        });
    }

    /// Passes on the undecided ones as ambiguous.
    pub fn give_up(&mut self, mut found: impl FnMut(u32, ConditionalVerdict)) {
        for pending in self.waiting.drain(..) {
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
