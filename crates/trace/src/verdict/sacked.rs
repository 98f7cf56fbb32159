//! Ranges that the receiver has selectively acknowledged above its cumulative ACK. Retransmitting them, as
//! senders without SACK do, is spurious.

use crate::memory::HeapSize;
use recoup_units::{Offset, Span};
use serde::{Deserialize, Serialize};

/// The most ranges kept.
const MOST_RANGES: usize = 1 << 12;

/// Ranges that neither overlap nor touch, in order. Mostly there are few.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sacked(Vec<Span>);

impl Sacked {
    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        self.0.heap_size()
    }

    /// Removes all ranges, keeping memory for a few.
    pub fn clear(&mut self) {
        self.0.clear();
        self.0.shrink_to(USUAL_RANGES);
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Adds a SACK block.
    pub fn insert(&mut self, block: Span) {
        if block.is_empty() || self.0.len() >= MOST_RANGES {
            return;
        }
        let to = self.0.partition_point(|range| range.start <= block.end);
        let from = self.0[..to].partition_point(|range| range.end < block.start);
        let ([first, ..], Some(last)) = (&self.0[from..to], self.0[from..to].last()) else {
            return self.0.insert(from, block);
        };
        let start = first.start.min(block.start);
        self.0[from] = Span::new(start, last.end.max(block.end));
        self.0.drain(from + 1..to);
    }

    /// The range with the byte at `offset`, or the last one below it.
    fn last_up_to(&self, offset: Offset) -> Option<Span> {
        let beyond = self.first_from(offset + 1);
        beyond.checked_sub(1).map(|last| self.0[last])
    }

    /// The index of the first range that begins at `offset` or above.
    fn first_from(&self, offset: Offset) -> usize {
        self.0.partition_point(|range| range.start < offset)
    }

    /// Whether `block` lies inside a longer range.
    pub fn exceeds(&self, block: Span) -> bool {
        let last = self.last_up_to(block.start);
        last.is_some_and(|range| block.end <= range.end && range != block)
    }

    /// Whether all of `span` lies in one range.
    pub fn has(&self, span: Span) -> bool {
        let last = self.last_up_to(span.start);
        last.is_some_and(|range| span.end <= range.end)
    }

    /// Removes ranges that end below `cumulative`.
    pub fn forget(&mut self, cumulative: Offset) {
        let is_below = |range: &Span| range.end <= cumulative;
        if self.0.first().is_some_and(is_below) {
            let below = self.0.partition_point(is_below);
            self.0.drain(..below);
        }
    }

    /// Whether more than `most` ranges lie in `span`.
    pub fn has_more_than(&self, most: usize, span: Span) -> bool {
        let end = self.first_from(span.end);
        end.saturating_sub(self.first_from(span.start)) > most
    }

    /// `span` cut at the ends of ranges, and whether each part is selectively acknowledged.
    pub fn cut(&self, span: Span) -> Vec<(Span, bool)> {
        let from = self.first_from(span.start);
        let to = self.first_from(span.end).max(from);
        let mut parts = Vec::with_capacity(1);
        let mut at = span.start;
        for range in &self.0[from.saturating_sub(1)..to] {
            let (start, end) = (range.start.max(at), range.end.min(span.end));
            if start < end {
                parts.extend([(Span::new(at, start), false), (Span::new(start, end), true)]);
                at = end;
            }
        }
        parts.push((Span::new(at, span.end), false));
        parts.retain(|(part, _)| !part.is_empty());
        parts
    }
}

/// Ranges for which unused memory is kept.
const USUAL_RANGES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> Span {
        Span::new(Offset(from), Offset(to))
    }

    #[test]
    fn ranges_are_joined_cut_and_removed() {
        let mut sacked = Sacked::default();
        for (from, to) in [(10, 20), (40, 50), (20, 30), (12, 15), (60, 70), (45, 60)] {
            sacked.insert(span(from, to));
        }
        let parts = [(span(0, 10), false), (span(10, 30), true), (span(30, 40), false), (span(40, 65), true)];
        assert_eq!(sacked.cut(span(0, 65)), parts);
        assert_eq!(sacked.cut(span(15, 18)), [(span(15, 18), true)]);
        assert!(sacked.exceeds(span(40, 50)) && sacked.exceeds(span(50, 70)));
        assert!(!sacked.exceeds(span(40, 70)) && !sacked.exceeds(span(5, 15)));
        assert!(sacked.has(span(40, 70)) && sacked.has(span(12, 12)));
        assert!(!sacked.has(span(25, 35)) && !sacked.has(span(5, 8)));
        // (from, to, ranges that begin in between)
        for (from, to, count) in [(0, 100, 2), (10, 40, 1), (11, 40, 0), (40, 41, 1), (50, 20, 0)] {
            let more_than = |most| sacked.has_more_than(most, span(from, to));
            assert!(!more_than(count) && (count == 0 || more_than(count - 1)), "{from}");
        }
        sacked.forget(Offset(30));
        assert_eq!(sacked.cut(span(10, 30)), [(span(10, 30), false)]);
        assert_eq!(sacked.cut(span(5, 5)), []);
    }
}
