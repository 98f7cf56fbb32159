//! How often each byte of a stream was retransmitted. Only ranges that were take memory.

/// Byte ranges that do not overlap, in order, each with the number of its retransmissions.
#[derive(Debug, Default)]
pub(super) struct Retransmitted {
    ranges: Vec<Range>,
    /// Scratch space for new ranges, kept for its allocation.
    replacing: Vec<Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: u64,
    end: u64,
    times: u32,
}

impl Retransmitted {
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Counts a retransmission of `start..end`. Returns how often `start` had been retransmitted before.
    pub fn count(&mut self, start: u64, end: u64) -> u32 {
        // Adjacent ranges are included, so that neighbours with equal counts are merged.
        let from = self.ranges.partition_point(|range| range.end < start);
        let to = self.ranges.partition_point(|range| range.start <= end);
        let mut before = 0;
        let mut at = start;
        self.replacing.clear();
        for old in &self.ranges[from..to] {
            push(&mut self.replacing, old.start, old.end.min(start), old.times);
            if old.start <= start && start < old.end {
                before = old.times;
            }
            push(&mut self.replacing, at, old.start.min(end), 1);
            at = at.max(old.start);
            let inside = old.end.min(end);
            push(&mut self.replacing, at, inside, old.times.saturating_add(1));
            at = at.max(inside);
            push(&mut self.replacing, old.start.max(end), old.end, old.times);
        }
        push(&mut self.replacing, at, end, 1);
        self.ranges.splice(from..to, self.replacing.drain(..));
        before
    }
}

/// Appends a range unless it is empty. It extends the last one if both are adjacent with equal counts.
fn push(ranges: &mut Vec<Range>, start: u64, end: u64, times: u32) {
    if start >= end {
        return;
    }
    match ranges.last_mut() {
        Some(last) if last.end == start && last.times == times => last.end = end,
        _ => ranges.push(Range { start, end, times }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_neighbours_become_one() {
        let mut seen = Retransmitted::default();
        for (start, end, before) in [(10, 20, 0), (30, 40, 0), (20, 30, 0), (10, 20, 1), (20, 40, 1), (5, 12, 0)] {
            assert_eq!(seen.count(start, end), before, "{start}..{end}");
        }
        let ranges: Vec<_> = seen.ranges.iter().map(|r| (r.start, r.end, r.times)).collect();
        assert_eq!(ranges, [(5, 10, 1), (10, 12, 3), (12, 40, 2)]);
    }

    proptest! {
        #[test]
        fn counts_as_an_array_of_bytes_does(
            sent in prop::collection::vec((0u64..60, 1u64..20), 0..40)
        ) {
            let mut seen = Retransmitted::default();
            let mut bytes = [0u32; 80];
            for (start, len) in sent {
                prop_assert_eq!(seen.count(start, start + len), bytes[start as usize]);
                bytes[start as usize..(start + len) as usize].iter_mut().for_each(|n| *n += 1);
                for pair in seen.ranges.windows(2) {
                    prop_assert!(pair[0].end <= pair[1].start);
                    prop_assert!(pair[0].end < pair[1].start || pair[0].times != pair[1].times);
                }
                for range in &seen.ranges {
                    let same = bytes[range.start as usize..range.end as usize].iter().all(|&n| n == range.times);
                    prop_assert!(same && range.start < range.end, "{range:?}");
                }
                let counted: u64 = seen.ranges.iter().map(|r| r.end - r.start).sum();
                prop_assert_eq!(counted, bytes.iter().filter(|&&n| n > 0).count() as u64);
            }
        }
    }
}
