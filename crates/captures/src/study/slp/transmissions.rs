//! The transmissions of one end: the first of every byte, and the latest one.

use super::Kinds;
use recoup_units::Instant;
use recoup_wire::{Flags, SeqNumber};
use std::collections::BTreeMap;
use std::ops::Range;

/// The number that the first packet begins with. Packets may come from before it.
const FIRST_NUMBER: u64 = 1 << 40;

/// Packets further away than the largest window (RFC 7323 §2.3) do not belong to the connection.
const FARTHEST: i32 = 1 << 30;

/// The first transmission of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct First {
    end: u64,
    pub at: Instant,
    pub flags: Flags,
    pub kinds: Kinds,
    /// How many packets with payload, SYN or FIN this end had sent for the first time before it.
    pub before: u32,
    /// `before`, with pure ACKs and resets counted too.
    pub before_with_acks: u32,
}

impl First {
    /// A packet that was sent when `before` others had been: without pure ACKs, and with them.
    pub fn new(at: Instant, flags: Flags, kinds: Kinds, before: [u32; 2]) -> Self {
        Self { end: 0, at, flags, kinds, before: before[0], before_with_acks: before[1] }
    }
}

/// Everything one end has sent, in unwrapped sequence numbers.
#[derive(Debug, Default)]
pub struct Transmissions {
    /// The highest number sent, on the wire and unwrapped.
    highest: Option<(SeqNumber, u64)>,
    /// First transmissions by their first number; they do not overlap.
    firsts: BTreeMap<u64, First>,
    /// The latest retransmission of bytes: end and time by first number. They do not overlap.
    resent: BTreeMap<u64, (u64, Instant)>,
}

impl Transmissions {
    /// The unwrapped numbers of a packet. `None`: it is too far away to belong to the connection.
    pub fn place(&mut self, seq: SeqNumber, len: u32) -> Option<Range<u64>> {
        let (seq_of_highest, highest) = *self.highest.get_or_insert((seq, FIRST_NUMBER));
        let distance = seq.distance_from(seq_of_highest);
        if distance.unsigned_abs() > FARTHEST.unsigned_abs() {
            return None;
        }
        let start = highest.checked_add_signed(distance.into())?;
        Some(start..start + u64::from(len))
    }

    /// Whether a number is below the highest sent.
    pub fn is_below_highest(&self, number: u64) -> bool {
        self.highest.is_some_and(|(_, highest)| number < highest)
    }

    /// Whether this number is the last one sent.
    pub fn is_last(&self, number: u64) -> bool {
        self.highest.is_some_and(|(_, highest)| number + 1 == highest)
    }

    /// The first transmission of a number, and the time of the latest.
    pub fn earlier(&self, number: u64) -> Option<(First, Instant)> {
        let (_, first) = self.firsts.range(..=number).next_back()?;
        if first.end <= number {
            return None;
        }
        let resent = self.resent.range(..=number).next_back();
        let resent = resent.filter(|(_, (end, _))| *end > number);
        Some((*first, resent.map_or(first.at, |(_, (_, at))| *at)))
    }

    /// Adds the numbers of `span` that were not sent before; `first` describes their packet. Returns
    /// whether there are any.
    pub fn send_first(&mut self, span: &Range<u64>, first: First) -> bool {
        let mut start = span.start;
        let mut has_new = false;
        while start < span.end {
            let before = self.firsts.range(..=start).next_back();
            if let Some((_, known)) = before.filter(|(_, known)| known.end > start) {
                start = known.end;
                continue;
            }
            let next = self.firsts.range(start..span.end).next();
            let end = next.map_or(span.end, |(next, _)| *next);
            self.firsts.insert(start, First { end, ..first });
            has_new = true;
            start = end;
        }
        if let Some((seq, highest)) = &mut self.highest
            && span.end > *highest
        {
            // Truncation to modulo 2^32 is intended.
            *seq = SeqNumber(seq.0.wrapping_add((span.end - *highest) as u32));
            *highest = span.end;
        }
        has_new
    }

    /// Notes that the numbers of `span` were retransmitted.
    pub fn resend(&mut self, span: &Range<u64>, at: Instant) {
        if let Some((_, (end, earlier))) = self.resent.range_mut(..span.start).next_back()
            && *end > span.start
        {
            let (rest, rest_at) = (*end, *earlier);
            *end = span.start;
            self.resent.insert(span.start, (rest, rest_at));
        }
        while let Some((&start, &(end, earlier))) = self.resent.range(span.clone()).next() {
            self.resent.remove(&start);
            if end > span.end {
                self.resent.insert(span.end, (end, earlier));
            }
        }
        self.resent.insert(span.start, (span.end, at));
    }

    /// Marks the first transmission of a number as of a kind.
    pub fn mark(&mut self, number: u64, kinds: Kinds) {
        if let Some((_, first)) = self.firsts.range_mut(..=number).next_back() {
            first.kinds |= kinds;
        }
    }

    /// How many entries it holds.
    pub fn len(&self) -> usize {
        self.firsts.len() + self.resent.len()
    }

    /// Forgets the lower half of everything.
    pub fn forget_half(&mut self) {
        let Some(&middle) = self.firsts.keys().nth(self.firsts.len() / 2) else {
            return;
        };
        self.firsts = self.firsts.split_off(&middle);
        self.resent = self.resent.split_off(&middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn first(before: u32, at: u64) -> First {
        First::new(Instant::from_nanos(at), Flags::ACK, Kinds::default(), [before; 2])
    }

    #[test]
    fn a_retransmission_of_a_part_dates_that_part_alone() {
        let mut sent = Transmissions::default();
        let span = sent.place(SeqNumber(u32::MAX - 10), 3000).unwrap();
        assert!(sent.send_first(&span, first(0, 1)));
        sent.resend(&(span.start..span.start + 1000), Instant::from_nanos(5));
        for (number, latest) in [(0, 5), (999, 5), (1000, 1), (2999, 1)] {
            let (_, at) = sent.earlier(span.start + number).unwrap();
            assert_eq!(at.as_nanos(), latest, "{number}");
        }
        assert!(sent.earlier(span.end).is_none());
        // The numbers wrap.
        let next = sent.place(SeqNumber(2989), 10).unwrap();
        assert_eq!(next.start, span.end);
    }

    #[test]
    fn packets_beyond_any_window_are_left_out() {
        let mut sent = Transmissions::default();
        let span = sent.place(SeqNumber(0), 1).unwrap();
        sent.send_first(&span, first(0, 0));
        assert_eq!(sent.place(SeqNumber(1 << 31), 1), None);
    }

    proptest! {
        /// Compares with a table of the transmissions of every byte.
        #[test]
        fn every_byte_has_its_first_and_its_latest_transmission(
            packets in vec((0_u32..40, 1_u32..20), 1..40)
        ) {
            let mut sent = Transmissions::default();
            let mut table: Vec<Option<(u32, u64)>> = vec![None; 60];
            // Unwrapping begins at number 0.
            sent.place(SeqNumber(0), 0);
            for (i, (seq, len)) in (1_u32..).zip(packets) {
                let span = sent.place(SeqNumber(seq), len).unwrap();
                let at = Instant::from_nanos(i.into());
                if sent.earlier(span.start).is_some() {
                    sent.resend(&span, at);
                }
                sent.send_first(&span, first(i, i.into()));
                let is_again = table[seq as usize].is_some();
                for byte in seq..seq + len {
                    let entry = &mut table[byte as usize];
                    match entry {
                        Some((_, latest)) if is_again => *latest = i.into(),
                        Some(_) => {}
                        None => *entry = Some((i, i.into())),
                    }
                }
                for (number, entry) in (FIRST_NUMBER..).zip(&table) {
                    let found = sent.earlier(number);
                    let found = found.map(|(first, at)| (first.before, at.as_nanos()));
                    prop_assert_eq!(found, *entry, "{}", number - FIRST_NUMBER);
                }
            }
        }
    }
}
