//! Retransmissions, put together from the verdicts on their pieces.

use crate::finding::{Evidence, Verdict};

/// A retransmission some of whose pieces are undecided.
#[derive(Debug)]
struct Row {
    index: u32,
    /// Sequence space not decided yet.
    left: u64,
    found: Option<(Verdict, Evidence)>,
}

/// Retransmissions in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Rows {
    waiting: Vec<Row>,
    /// Some may be handed out.
    done: bool,
}

impl Rows {
    /// Begins again with none, keeping memory.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.done = false;
    }

    /// One of `len` begins; its number is higher than those before.
    pub fn begin(&mut self, index: u32, len: u64) {
        let found = (len == 0).then_some((Verdict::Unknowable, Evidence::Ambiguous));
        self.done |= found.is_some();
        self.waiting.push(Row {
            index,
            left: len,
            found,
        });
    }

    /// `len` of it is decided.
    pub fn decide(&mut self, index: u32, len: u64, found: (Verdict, Evidence)) {
        let Ok(at) = self.waiting.binary_search_by_key(&index, |row| row.index) else {
            return;
        };
        let row = &mut self.waiting[at];
        row.left = row.left.saturating_sub(len);
        row.found = Some(row.found.map_or(found, |before| both(before, found)));
        self.done |= row.left == 0;
    }

    /// Hands out those that are decided.
    pub fn hand_out(&mut self, mut found: impl FnMut(u32, Verdict, Evidence)) {
        if !std::mem::take(&mut self.done) {
            return;
        }
        self.waiting.retain(|row| {
            let decided = row.found.filter(|_| row.left == 0);
            if let Some((verdict, evidence)) = decided {
                found(row.index, verdict, evidence);
            }
            decided.is_none()
        });
    }

    /// Hands out the others: what was told of them was not enough.
    pub fn give_up(&mut self, mut found: impl FnMut(u32, Verdict, Evidence)) {
        for row in self.waiting.drain(..) {
            found(row.index, Verdict::Unknowable, Evidence::Ambiguous);
        }
    }
}

/// Of two pieces: one that was needed makes the whole needed, and only if all were spurious it is.
fn both(a: (Verdict, Evidence), b: (Verdict, Evidence)) -> (Verdict, Evidence) {
    let order = |verdict| match verdict {
        Verdict::Needed => 0,
        Verdict::Unknowable => 1,
        Verdict::Spurious => 2,
    };
    if order(b.0) < order(a.0) { b } else { a }
}
