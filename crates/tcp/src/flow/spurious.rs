//! Finds spurious retransmissions by what the receiver gets.
//!
//! A retransmission is spurious when earlier transmissions deliver every byte of it, even if they
//! arrive after it was sent. Each retransmission is kept with the sequence space that no earlier
//! transmission has delivered yet, until none is left or the flow ends.
//!
//! These parts are ordered by where they start, so an arrival looks only at those near its own sequence space.
//! Almost all arrivals are new data above every part, and look at none. The cost of a flow is therefore
//! proportional to its length, although needed retransmissions stay until its end.

use recoup_units::{Offset, Span};

/// Counts the spurious retransmissions of one direction.
#[derive(Clone, Debug, Default)]
pub struct SpuriousRetransmissions {
    /// Parts of retransmissions that no earlier transmission has delivered yet, ordered by their start. A part
    /// that was delivered stays, empty: to remove it would move all parts above it.
    open: Vec<Open>,
    /// No part ends above.
    end: Offset,
    /// No part is longer.
    longest: u64,
    retransmissions: SpuriousCounts,
}

/// Spurious retransmissions of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpuriousCounts {
    /// All of them.
    pub all: u64,
    /// Those with payload.
    pub data: u64,
}

/// A part of a retransmission.
#[derive(Clone, Copy, Debug)]
struct Open {
    part: Span,
    /// The ordinal of the retransmission.
    ordinal: u64,
    /// Whether the retransmission has payload.
    is_data: bool,
}

impl SpuriousRetransmissions {
    /// Starts again for another flow.
    pub fn clear(&mut self) {
        self.open.clear();
        self.end = Offset::default();
        self.longest = 0;
        self.retransmissions = SpuriousCounts::default();
    }

    /// Packet `ordinal` is a retransmission; `is_data`: it has payload. `missing` calls its argument with each
    /// part of it that the receiver does not have yet.
    pub fn on_retransmission(&mut self, ordinal: u64, is_data: bool, missing: impl FnOnce(&mut dyn FnMut(Span))) {
        self.retransmissions.all += 1;
        self.retransmissions.data += u64::from(is_data);
        missing(&mut |part| {
            self.end = self.end.max(part.end);
            self.longest = self.longest.max(part.len());
            self.insert(Open { part, ordinal, is_data });
        });
    }

    /// Retransmissions mostly ascend.
    fn insert(&mut self, new: Open) {
        match self.open.last() {
            Some(last) if last.part.start > new.part.start => self.insert_below(new),
            _ => self.open.push(new),
        }
    }

    /// Few parts lie above a retransmission: those of the same window.
    #[inline(never)]
    fn insert_below(&mut self, new: Open) {
        let is_below = |open: &Open| open.part.start <= new.part.start;
        let at = self.open.partition_point(is_below);
        self.open.insert(at, new);
    }

    /// Whether the arrival of `span` may change the result.
    pub fn awaits(&self, span: Span) -> bool {
        span.start < self.end && !span.is_empty()
    }

    /// Whether any arrival may change the result.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Packet `ordinal` arrived with `span`, which the receiver accepted or had already.
    #[inline(never)]
    pub fn on_arrival(&mut self, ordinal: u64, span: Span) {
        if !self.awaits(span) {
            return;
        }
        let is_below = |open: &Open| open.part.start + self.longest <= span.start;
        let mut i = self.open.partition_point(is_below);
        while let Some(open) = self.open.get_mut(i)
            && open.part.start < span.end
        {
            i += 1;
            let before @ Open { part, .. } = *open;
            if ordinal >= before.ordinal || !part.overlaps(span) {
                continue;
            }
            open.part.end = span.start.max(part.start);
            if part.end > span.end {
                self.insert(Open { part: Span::new(span.end, part.end), ..before });
            }
        }
    }

    /// The numbers of spurious retransmissions. Call it when no packet is in flight any more: after that,
    /// only [`clear`](Self::clear) may follow.
    pub fn spurious(&mut self) -> SpuriousCounts {
        self.open.sort_unstable_by_key(|open| open.ordinal);
        let (mut spurious, mut last) = (self.retransmissions, None);
        for open in self.open.iter().filter(|open| !open.part.is_empty()) {
            if last != Some(open.ordinal) {
                spurious.all -= 1;
                spurious.data -= u64::from(open.is_data);
            }
            last = Some(open.ordinal);
        }
        spurious
    }
}

#[cfg(test)]
mod tests;
