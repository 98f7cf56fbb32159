//! Which retransmissions were spurious.
//!
//! A retransmission is spurious when earlier copies deliver every byte of it, even later than it
//! was sent. So each is kept with the sequence space no earlier copy has delivered yet, until none
//! is left or the flow ends.

use recoup_units::Span;

/// The retransmissions of one direction that are not known to be spurious.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Ordinal of the retransmission, and a part of it still undelivered by earlier copies.
    open: Vec<(u64, Span)>,
    retransmissions: u64,
}

impl Ledger {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.open.clear();
        self.retransmissions = 0;
    }

    /// Packet `ordinal` sends something again, of which `missing` tells the parts that have not
    /// arrived yet.
    pub fn on_retransmission(&mut self, ordinal: u64, missing: impl FnOnce(&mut dyn FnMut(Span))) {
        self.retransmissions += 1;
        missing(&mut |part| self.open.push((ordinal, part)));
    }

    /// Whether an arrival could still tell anything.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Packet `ordinal` arrived with `span`, and its receiver took it or had it before.
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

    /// How many were spurious, once nothing is on its way any more.
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
    fn an_earlier_copy_decides_even_if_it_comes_later() {
        // (arrivals after the retransmission 7 of 10..20, spurious)
        let cases: [(&[(u64, Span)], u64); 6] = [
            (&[], 0),
            (&[(7, span(10, 20))], 0), // itself
            (&[(9, span(10, 20))], 0), // a later copy
            (&[(3, span(10, 20))], 1),
            (&[(3, span(5, 14))], 0), // the rest is still missing
            (&[(3, span(5, 14)), (8, span(14, 20)), (4, span(13, 25))], 1),
        ];
        for (arrivals, spurious) in cases {
            let mut ledger = Ledger::default();
            ledger.on_retransmission(7, |missing| missing(span(10, 20)));
            for &(ordinal, span) in arrivals {
                ledger.on_arrival(ordinal, span);
            }
            assert_eq!(ledger.spurious(), spurious, "{arrivals:?}");
        }
    }

    #[test]
    fn a_part_still_missing_makes_it_needed() {
        let mut ledger = Ledger::default();
        ledger.on_retransmission(7, |missing| missing(span(10, 20)));
        ledger.on_arrival(3, span(12, 18));
        assert_eq!(ledger.spurious(), 0);
    }
}
