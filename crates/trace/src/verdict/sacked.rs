//! What the receiver has selectively acknowledged above its cumulative ACK. Retransmitting it, as
//! senders without SACK do, is spurious.

use crate::memory::tree;
use recoup_units::{Offset, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most ranges kept.
const MOST_RANGES: usize = 1 << 12;

/// Ranges that neither overlap nor touch: where each begins, and where it ends.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Sacked(BTreeMap<Offset, Offset>);

impl Sacked {
    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        tree(self.0.len(), size_of::<Span>())
    }

    /// Adds a SACK block.
    pub fn insert(&mut self, mut block: Span) {
        if block.is_empty() || self.0.len() >= MOST_RANGES {
            return;
        }
        while let Some((&start, &end)) = self.0.range(..=block.end).next_back()
            && end >= block.start
        {
            if start <= block.start && end >= block.end {
                return;
            }
            block = Span::new(start.min(block.start), end.max(block.end));
            self.0.remove(&start);
        }
        self.0.insert(block.start, block.end);
    }

    /// Whether `block` lies inside a longer range.
    pub fn exceeds(&self, block: Span) -> bool {
        let last = self.0.range(..=block.start).next_back();
        last.is_some_and(|(&start, &end)| {
            block.end <= end && (start, end) != (block.start, block.end)
        })
    }

    /// Whether all of `span` lies in one range.
    pub fn has(&self, span: Span) -> bool {
        let last = self.0.range(..=span.start).next_back();
        last.is_some_and(|(_, &end)| span.end <= end)
    }

    /// Removes ranges that end below `cumulative`.
    pub fn forget(&mut self, cumulative: Offset) {
        while let Some(first) = self.0.first_entry()
            && *first.get() <= cumulative
        {
            first.remove();
        }
    }

    /// Whether more than `most` ranges lie in `span`.
    pub fn has_more_than(&self, most: usize, span: Span) -> bool {
        let inside = self.0.range(span.start..span.end.max(span.start));
        inside.take(most + 1).count() > most
    }

    /// `span` cut at the ends of ranges, and whether each part is selectively acknowledged.
    pub fn cut(&self, span: Span) -> Vec<(Span, bool)> {
        let across = self.0.range(..span.start).next_back();
        let from = self.0.range(span.start..span.end.max(span.start));
        let mut parts = Vec::new();
        let mut at = span.start;
        for (&start, &end) in across.into_iter().chain(from) {
            let (start, end) = (start.max(at), end.min(span.end));
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
        let parts = [
            (span(0, 10), false),
            (span(10, 30), true),
            (span(30, 40), false),
            (span(40, 65), true),
        ];
        assert_eq!(sacked.cut(span(0, 65)), parts);
        assert_eq!(sacked.cut(span(15, 18)), [(span(15, 18), true)]);
        assert!(sacked.exceeds(span(40, 50)) && sacked.exceeds(span(50, 70)));
        assert!(!sacked.exceeds(span(40, 70)) && !sacked.exceeds(span(5, 15)));
        sacked.forget(Offset(30));
        assert_eq!(sacked.cut(span(10, 30)), [(span(10, 30), false)]);
        assert_eq!(sacked.cut(span(5, 5)), []);
    }
}
