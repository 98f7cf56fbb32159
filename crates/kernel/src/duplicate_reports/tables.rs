//! The tables of bpf/duplicate_reports.bpf.c, as bytes: its structure `ranges`.

use recoup_wire::SeqNumber;

/// The order of the program's `enum count`.
#[derive(Clone, Copy)]
pub enum Count {
    Hidden,
    Dropped,
    NotUnderstood,
}

/// Ranges of a connection.
pub const RANGES: usize = 4;

pub type RangesValue = [u8; 16 * RANGES];
/// `struct seen`, which only the program in the kernel reads and writes.
pub type SeenValue = [u8; 40];

/// Bytes that another program of this host sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub start: SeqNumber,
    pub end: SeqNumber,
    /// How often it was sent. 0: there is no range.
    pub copies: u32,
    /// Tells it from ranges that had its place before.
    pub number: u32,
}

impl Range {
    /// Whether they have a byte in common.
    fn overlaps(&self, start: SeqNumber, end: SeqNumber) -> bool {
        self.start.before(end) && start.before(self.end)
    }
}

/// The ranges of a connection whose reports are hidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ranges([Range; RANGES]);

impl Ranges {
    /// One more copy. A new range takes an empty place, or that of the oldest.
    pub fn add(&mut self, start: SeqNumber, end: SeqNumber, number: u32) {
        let is_same = |range: &&mut Range| range.copies > 0 && range.start == start && range.end == end;
        if let Some(same) = self.0.iter_mut().find(is_same) {
            same.copies = same.copies.saturating_add(1);
            return;
        }
        // The number wraps after 2^32 ranges.
        let age = |range: &&mut Range| if range.copies == 0 { u32::MAX } else { number.wrapping_sub(range.number) };
        if let Some(place) = self.0.iter_mut().max_by_key(age) {
            *place = Range { start, end, copies: 1, number };
        }
    }

    /// Whether a range went that had a byte of these.
    pub fn remove(&mut self, start: SeqNumber, end: SeqNumber) -> bool {
        let mut is_removed = false;
        for range in &mut self.0 {
            if range.copies > 0 && range.overlaps(start, end) {
                range.copies = 0;
                is_removed = true;
            }
        }
        is_removed
    }

    pub fn bytes(&self) -> RangesValue {
        let mut bytes = [0; 16 * RANGES];
        for (place, range) in bytes.chunks_mut(16).zip(self.0) {
            let numbers = [range.start.0, range.end.0, range.copies, range.number].map(u32::to_ne_bytes);
            place.copy_from_slice(numbers.as_flattened());
        }
        bytes
    }

    pub fn read(bytes: &RangesValue) -> Self {
        let mut ranges = Self::default();
        for (range, place) in ranges.0.iter_mut().zip(bytes.chunks(16)) {
            let number = |at| place.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |n| u32::from_ne_bytes(*n));
            *range =
                Range { start: SeqNumber(number(0)), end: SeqNumber(number(4)), copies: number(8), number: number(12) };
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u32, end: u32, copies: u32, number: u32) -> Range {
        Range { start: SeqNumber(start), end: SeqNumber(end), copies, number }
    }

    #[test]
    fn the_oldest_range_goes_first_and_a_repeated_one_is_counted() {
        let mut ranges = Ranges::default();
        for number in 1..=5 {
            ranges.add(SeqNumber(number * 100), SeqNumber(number * 100 + 50), number);
            ranges.add(SeqNumber(number * 100), SeqNumber(number * 100 + 50), number);
        }
        let expected = [range(500, 550, 2, 5), range(200, 250, 2, 2), range(300, 350, 2, 3), range(400, 450, 2, 4)];
        let mut sorted = ranges.0;
        sorted.sort_by_key(|range| range.number);
        let mut wanted = expected;
        wanted.sort_by_key(|range| range.number);
        assert_eq!(sorted, wanted);
        assert_eq!(Ranges::read(&ranges.bytes()), ranges);
    }

    #[test]
    fn ranges_that_overlap_are_removed_also_where_numbers_wrap() {
        let mut ranges = Ranges::default();
        ranges.add(SeqNumber(u32::MAX - 9), SeqNumber(10), 1);
        ranges.add(SeqNumber(10), SeqNumber(20), 2);
        assert!(!ranges.remove(SeqNumber(20), SeqNumber(30)));
        assert!(ranges.remove(SeqNumber(5), SeqNumber(10)));
        assert!(!ranges.remove(SeqNumber(0), SeqNumber(10)));
        assert!(ranges.remove(SeqNumber(19), SeqNumber(20)));
    }
}
