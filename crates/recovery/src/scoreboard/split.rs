//! Cuts outstanding segments into smaller ones, after the path MTU fell. Touches every segment.

use super::{Above, Id, Scoreboard, SentSegment};
use core::cmp::Reverse;
use recoup_units::{Offset, Span};

impl Scoreboard {
    /// Cuts the segment that contains `offset` there, unless it is SACKed. Both parts keep its state.
    pub fn split_at(&mut self, offset: Offset) {
        let i = self.index_of(offset);
        let highest_sacked = self.highest_sacked();
        if let Some(&whole) = self.segments.get(i)
            && whole.span.start < offset
            && offset < whole.span.end
            && !whole.sacked
        {
            let part = |span| SentSegment {
                span,
                cut: true,
                ..whole
            };
            self.segments[i] = part(Span::new(whole.span.start, offset));
            let rest = part(Span::new(offset, whole.span.end));
            self.segments.insert(i + 1, rest);
            self.count_anew(highest_sacked);
        }
    }

    /// Cuts every segment of more than `mss` bytes, unless it is SACKed, and marks the parts lost, even if they
    /// were retransmitted since. Calls `each` with every marked span (Linux 6.12 `tcp_simple_retransmit`).
    pub fn lose_larger(&mut self, mss: u64, mut each: impl FnMut(Span)) {
        let (mut marks, mut again) = (0, 0);
        let lose = |part: &mut SentSegment| {
            each(part.span);
            marks += 1;
            again += u64::from(part.retransmitted);
            part.lost = true;
            part.retransmitted = false;
            part.forgotten = false;
        };
        if self.segments.iter().any(|segment| is_larger(segment, mss)) {
            self.rebuild(mss, lose);
        }
        self.marks += marks;
        self.lost_retransmissions += again;
    }

    /// Replaces each larger segment by its parts, which `change` may change, and counts everything anew.
    fn rebuild(&mut self, mss: u64, mut change: impl FnMut(&mut SentSegment)) {
        let highest_sacked = self.highest_sacked();
        let mut parts = alloc::collections::VecDeque::with_capacity(self.segments.len() * 2);
        for segment in self.segments.drain(..) {
            if !is_larger(&segment, mss) {
                parts.push_back(segment);
                continue;
            }
            let mut start = segment.span.start;
            while start < segment.span.end {
                let end = part_end(start, segment.span.end, mss);
                let mut part = SentSegment {
                    span: Span::new(start, end),
                    cut: true,
                    ..segment
                };
                change(&mut part);
                parts.push_back(part);
                start = end;
            }
        }
        self.segments = parts;
        self.count_anew(highest_sacked);
    }

    fn count_anew(&mut self, highest_sacked: Offset) {
        // A block may cover a part of what was one segment.
        self.reported = Default::default();
        let segments = &self.segments;
        let count = |is: fn(&SentSegment) -> bool| segments.iter().filter(|s| is(s)).count() as u32;
        self.lost = count(|s| s.lost);
        self.retransmitted = count(|s| s.retransmitted);
        self.fack = match self.sacked {
            0 => 0,
            _ => segments.partition_point(|s| s.span.end <= highest_sacked) as u32,
        };
        let tail = segments.iter().rev().take_while(|s| s.sacked).count();
        self.sacked_tail = (segments.len() - tail) as u32;
        // These passes take little time for each segment.
        self.work += 1 + segments.len() as u64 / 16;
        let first = self.gone + 1;
        let waiting = segments.iter().enumerate();
        let waiting = waiting.filter(|(_, segment)| segment.wants_retransmission());
        self.waiting = waiting.map(|(i, _)| Reverse(first + i as Id)).collect();
        let most = (segments.len() as u32).saturating_sub(self.lost.max(1));
        self.duplicates = self.duplicates.min(most);
        self.judged = 0;
        self.above = Above::default();
        self.above = self.recount_above();
        self.next_hole = 0;
        self.relink();
        self.settle();
    }
}

/// Whether a segment that is not SACKed has more than `mss` bytes. One more may be its FIN.
fn is_larger(segment: &SentSegment, mss: u64) -> bool {
    !segment.sacked && segment.span.len() > mss + 1
}

/// Where the part that begins at `start` ends. A FIN goes with the last part.
fn part_end(start: Offset, end: Offset, mss: u64) -> Offset {
    if end.since(start) <= mss + 1 {
        end
    } else {
        start + mss
    }
}
