//! A running count of the SACKed data above the segments judged so far. The count alone decides whether
//! the next segment is lost (RFC 6675 §4 IsLost).

use super::Scoreboard;

/// The amount of SACKed data from some segment on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Above {
    /// Segments.
    pub segments: u32,
    /// Bytes of sequence space.
    pub bytes: u64,
    /// Contiguous runs.
    pub runs: u32,
}

impl Above {
    /// Removes the lowest counted segment, `len` bytes long. `follows`: the next segment is SACKed too, so
    /// the run continues.
    pub(super) fn remove_first(&mut self, len: u64, follows: bool) {
        self.segments -= 1;
        self.bytes -= len;
        self.runs -= u32::from(!follows);
    }
}

impl Scoreboard {
    /// Counts the newly SACKed segment at index `i`, unless it was judged before.
    pub(super) fn count_above(&mut self, i: usize) {
        let judged = self.judged as usize;
        if i < judged {
            return;
        }
        let before = i > judged && self.segments[i - 1].sacked;
        let after = self.segments.get(i + 1).is_some_and(|s| s.sacked);
        let above = &mut self.above;
        above.segments += 1;
        above.bytes += self.segments[i].span.len();
        above.runs = above.runs + 1 - u32::from(before) - u32::from(after);
    }

    /// Moves the judged cursor past SACKed segments, to index `to` at most.
    pub(super) fn pass_sacked(&mut self, to: usize) {
        while (self.judged as usize) < to && self.segments[self.judged as usize].sacked {
            let from = self.judged as usize;
            let end = (from + self.segments[from].run()).min(to);
            let (first, last) = (self.segments[from].span, self.segments[end - 1].span);
            let goes_on = self.segments.get(end).is_some_and(|s| s.sacked);
            self.above.segments -= (end - from) as u32;
            self.above.bytes -= last.end.since(first.start);
            self.above.runs -= u32::from(!goes_on);
            self.judged = end as u32;
        }
    }

    /// Recounts from scratch, to check the running count.
    pub(super) fn recount_above(&self) -> Above {
        let mut above = Above::default();
        let mut in_run = false;
        for segment in self.segments.iter().skip(self.judged as usize) {
            if segment.sacked {
                above.segments += 1;
                above.bytes += segment.span.len();
                above.runs += u32::from(!in_run);
            }
            in_run = segment.sacked;
        }
        above
    }
}
