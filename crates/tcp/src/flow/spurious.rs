//! Finds spurious retransmissions by what the receiver gets.
//!
//! A retransmission is spurious when earlier transmissions deliver every byte of it, even if they
//! arrive after it was sent. Each retransmission is kept with the sequence space that no earlier
//! transmission has delivered yet, until none is left or the flow ends.

use recoup_units::Span;

/// Counts the spurious retransmissions of one direction.
#[derive(Clone, Debug, Default)]
pub struct SpuriousRetransmissions {
    /// Ordinals of retransmissions, each with a part that no earlier transmission has delivered yet.
    open: Vec<(u64, Span)>,
    retransmissions: u64,
}

impl SpuriousRetransmissions {
    /// Starts again for another flow.
    pub fn clear(&mut self) {
        self.open.clear();
        self.retransmissions = 0;
    }

    /// Packet `ordinal` is a retransmission. `missing` calls its argument with each part of it that the
    /// receiver does not have yet.
    pub fn on_retransmission(&mut self, ordinal: u64, missing: impl FnOnce(&mut dyn FnMut(Span))) {
        self.retransmissions += 1;
        missing(&mut |part| self.open.push((ordinal, part)));
    }

    /// Whether an arrival can still change the result.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Packet `ordinal` arrived with `span`, which the receiver accepted or had already.
    pub fn on_arrival(&mut self, ordinal: u64, span: Span) {
        let mut i = 0;
        while i < self.open.len() {
            let (of, part) = self.open[i];
            if ordinal >= of || !part.overlaps(span) {
                i += 1;
                continue;
            }
            self.open.swap_remove(i);
            let rest = [
                Span::new(part.start, span.start),
                Span::new(span.end, part.end),
            ];
            self.open
                .extend(rest.into_iter().filter(|r| !r.is_empty()).map(|r| (of, r)));
        }
    }

    /// The number of spurious retransmissions. Call it when no packet is in flight any more.
    pub fn spurious(&mut self) -> u64 {
        self.open.sort_unstable_by_key(|(ordinal, _)| *ordinal);
        self.open.dedup_by_key(|(ordinal, _)| *ordinal);
        self.retransmissions - self.open.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_units::Offset;

    fn span(a: u64, b: u64) -> Span {
        Span::new(Offset(a), Offset(b))
    }

    #[test]
    fn earlier_transmissions_make_it_spurious_even_if_they_arrive_later() {
        // (arrivals after retransmission 7 of 10..20, spurious retransmissions)
        let cases: [(&[(u64, Span)], u64); 6] = [
            (&[], 0),
            (&[(7, span(10, 20))], 0), // the retransmission itself
            (&[(9, span(10, 20))], 0), // a later transmission
            (&[(3, span(10, 20))], 1),
            (&[(3, span(5, 14))], 0), // 14..20 is still missing
            (&[(3, span(5, 14)), (8, span(14, 20)), (4, span(13, 25))], 1),
        ];
        for (arrivals, spurious) in cases {
            let mut record = SpuriousRetransmissions::default();
            record.on_retransmission(7, |missing| missing(span(10, 20)));
            for &(ordinal, span) in arrivals {
                record.on_arrival(ordinal, span);
            }
            assert_eq!(record.spurious(), spurious, "{arrivals:?}");
        }
    }

    #[test]
    fn a_retransmission_is_needed_if_part_of_it_is_missing() {
        let mut record = SpuriousRetransmissions::default();
        record.on_retransmission(7, |missing| missing(span(10, 20)));
        record.on_arrival(3, span(12, 18));
        assert_eq!(record.spurious(), 0);
    }
}
