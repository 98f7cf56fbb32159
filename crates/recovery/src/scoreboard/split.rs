//! Cuts outstanding segments into smaller ones, after the path MTU fell. Touches every segment. A segment whose
//! parts exceed the [capacity](Scoreboard::capacity) stays whole.

use super::{Above, Scoreboard, SentSegment};
use recoup_units::{Offset, Span};

impl Scoreboard {
    /// Cuts the segment that contains `offset` there, unless it is SACKed. Both parts keep its state.
    pub(crate) fn split_at(&mut self, offset: Offset) {
        let i = self.index_of(offset);
        let highest_sacked = self.highest_sacked();
        if let Some(&whole) = self.segments.get(i)
            && whole.span.start < offset
            && offset < whole.span.end
            && !whole.sacked
            && self.segments.push(whole)
        {
            for k in (i + 2..self.segments.len()).rev() {
                self.segments[k] = self.segments[k - 1];
            }
            self.segments[i] = whole.part(Span::new(whole.span.start, offset));
            self.segments[i + 1] = whole.part(Span::new(offset, whole.span.end));
            self.count_anew(highest_sacked);
        }
    }

    /// Cuts every segment of more than `mss` bytes, unless it is SACKed, as far as there is room for the parts.
    /// `data_len`: the bytes of a span without its FIN.
    pub(crate) fn cut_larger(&mut self, mss: u64, data_len: impl Fn(Span) -> u64) {
        let mut i = 0;
        while let Some(segment) = self.segments.get(i) {
            let span = segment.span;
            if data_len(span) > mss {
                self.split_at(span.start + mss);
            }
            i += 1;
        }
    }

    /// Cuts every segment of more than `mss` bytes, unless it is SACKed, and marks the parts lost, even if they
    /// were retransmitted since. Calls `each` with every marked span (Linux 6.12 `tcp_simple_retransmit`).
    /// `data_len`: the bytes of a span without its FIN.
    pub(crate) fn lose_larger(&mut self, mss: u64, data_len: impl Fn(Span) -> u64, mut each: impl FnMut(Span)) {
        let mss = mss.max(1);
        let is_larger = |segment: &SentSegment| !segment.sacked && data_len(segment.span) > mss;
        let part_count = |segment: &SentSegment| data_len(segment.span).div_ceil(mss);
        let highest_sacked = self.highest_sacked();
        let room = self.segments.left() as u64;
        let before = self.segments.len();
        let mut added = 0;
        // Segments from this index on stay whole.
        let mut whole_from = before;
        let mut any = false;
        for i in 0..before {
            let whole = self.segments[i];
            if !is_larger(&whole) {
                continue;
            }
            any = true;
            let count = part_count(&whole);
            if i < whole_from && added + count - 1 > room {
                whole_from = i;
            }
            if i < whole_from {
                added += count - 1;
                (0..count).for_each(|k| each(part_span(whole.span, k, count, mss)));
                self.note_lost(i, count);
            } else {
                each(whole.span);
                self.note_lost(i, 1);
            }
        }
        if any {
            let cut = |i: usize, segment: &SentSegment| match i < whole_from && is_larger(segment) {
                true => part_count(segment),
                false => 1,
            };
            self.spread(mss, before, added, cut);
            self.count_anew(highest_sacked);
        }
    }

    /// Notes that the segment at index `i` is lost, which will be cut into `parts` segments.
    fn note_lost(&mut self, i: usize, parts: u64) {
        let segment = &mut self.segments[i];
        self.marks += parts;
        self.lost_retransmissions += parts * u64::from(segment.retransmitted);
        segment.lost = true;
        segment.retransmitted = false;
        segment.forgotten = false;
    }

    /// Replaces each segment by as many parts as `cut` tells of it and its index. There were `before` segments, and there
    /// are `added` more of them then.
    fn spread(&mut self, mss: u64, before: usize, added: u64, cut: impl Fn(usize, &SentSegment) -> u64) {
        for _ in 0..added {
            self.segments.push(SentSegment::default());
        }
        let mut to = self.segments.len();
        for i in (0..before).rev() {
            let whole = self.segments[i];
            let count = cut(i, &whole);
            if count == 1 {
                to -= 1;
                self.segments[to] = whole;
                continue;
            }
            for k in (0..count).rev() {
                to -= 1;
                self.segments[to] = whole.part(part_span(whole.span, k, count, mss));
            }
        }
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
        self.segments.recount_waiting();
        let most = (self.segments.len() as u32).saturating_sub(self.lost.max(1));
        self.duplicates = self.duplicates.min(most);
        self.judged = 0;
        self.above = Above::default();
        self.above = self.recount_above();
        self.next_hole = 0;
        self.recount_bytes();
        self.relink();
        self.settle();
    }
}

/// The `k`-th of `count` parts.
fn part_span(whole: Span, k: u64, count: u64, mss: u64) -> Span {
    let start = whole.start + k * mss;
    match k + 1 == count {
        true => Span::new(start, whole.end),
        false => Span::at(start, mss),
    }
}
