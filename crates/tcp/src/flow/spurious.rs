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
    retransmissions: u64,
}

/// A part of a retransmission.
#[derive(Clone, Copy, Debug)]
struct Open {
    part: Span,
    /// The ordinal of the retransmission.
    ordinal: u64,
}

impl SpuriousRetransmissions {
    /// Starts again for another flow.
    pub fn clear(&mut self) {
        self.open.clear();
        self.end = Offset::default();
        self.longest = 0;
        self.retransmissions = 0;
    }

    /// Packet `ordinal` is a retransmission. `missing` calls its argument with each part of it that the
    /// receiver does not have yet.
    pub fn on_retransmission(&mut self, ordinal: u64, missing: impl FnOnce(&mut dyn FnMut(Span))) {
        self.retransmissions += 1;
        missing(&mut |part| {
            self.end = self.end.max(part.end);
            self.longest = self.longest.max(part.len());
            self.insert(Open { part, ordinal });
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
            let Open { part, ordinal: of } = *open;
            if ordinal >= of || !part.overlaps(span) {
                continue;
            }
            open.part.end = span.start.max(part.start);
            if part.end > span.end {
                let above = Span::new(span.end, part.end);
                self.insert(Open {
                    part: above,
                    ordinal: of,
                });
            }
        }
    }

    /// The number of spurious retransmissions. Call it when no packet is in flight any more: after that,
    /// only [`clear`](Self::clear) may follow.
    pub fn spurious(&mut self) -> u64 {
        self.open.sort_unstable_by_key(|open| open.ordinal);
        let (mut needed, mut last) = (0, None);
        for open in self.open.iter().filter(|open| !open.part.is_empty()) {
            needed += u64::from(last != Some(open.ordinal));
            last = Some(open.ordinal);
        }
        self.retransmissions - needed
    }
}

#[cfg(test)]
mod tests;
