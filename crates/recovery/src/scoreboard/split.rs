//! Cuts outstanding segments into smaller ones, after the path MTU fell. Touches every segment. A segment whose
//! parts exceed the [capacity](Scoreboard::capacity) stays whole, or with limited memory until there is room.

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
            && (i == 0 || self.segments.left() > self.place_for_first())
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

    /// Cuts every segment of more than `mss` bytes, unless it is SACKed, as far as there is room for the parts. The lowest
    /// are cut first, and where memory is limited a part of the first one always fits.
    /// `data_len`: the bytes of a span without its FIN.
    pub(crate) fn cut_larger(&mut self, mss: u64, data_len: impl Fn(Span) -> u64) {
        let cutting = Cutting { mss: mss.max(1), data_len };
        let highest_sacked = self.highest_sacked();
        let (whole_from, added) = self.room_for_parts(&cutting);
        if added > 0 {
            self.spread(&cutting, whole_from, added);
            self.count_anew(highest_sacked);
        } else if let Some(first) = self.segments.front().filter(|first| cutting.cuts(first)) {
            self.split_at(first.span.start + cutting.mss);
        }
    }

    /// Cuts every segment of more than `mss` bytes, unless it is SACKed, and marks the parts lost, even if they
    /// were retransmitted since. Calls `each` with every marked span (Linux 6.12 `tcp_simple_retransmit`).
    /// `data_len`: the bytes of a span without its FIN.
    pub(crate) fn lose_larger(&mut self, mss: u64, data_len: impl Fn(Span) -> u64, mut each: impl FnMut(Span)) {
        let cutting = Cutting { mss: mss.max(1), data_len };
        let highest_sacked = self.highest_sacked();
        let (whole_from, added) = self.room_for_parts(&cutting);
        let mut any = false;
        for i in 0..self.segments.len() {
            let whole = self.segments[i];
            if !cutting.cuts(&whole) {
                continue;
            }
            any = true;
            if i < whole_from {
                let count = cutting.part_count(&whole);
                (0..count).for_each(|k| each(cutting.part(whole.span, k, count)));
                self.note_lost(i, count);
            } else {
                each(whole.span);
                self.note_lost(i, 1);
            }
        }
        if any {
            self.spread(&cutting, whole_from, added);
            self.count_anew(highest_sacked);
        }
    }

    /// The places that are kept for the parts of the first segment: the others may have to wait until it is acknowledged.
    fn place_for_first(&self) -> usize {
        self.segments.spare().min(1)
    }

    /// The index from which segments stay whole, as there is no room for their parts, and how many segments there will be
    /// more.
    fn room_for_parts(&self, cutting: &Cutting<impl Fn(Span) -> u64>) -> (usize, u64) {
        let room = self.segments.left().saturating_sub(self.place_for_first()) as u64;
        let mut added = 0;
        for (i, segment) in self.segments.iter().enumerate().filter(|(_, segment)| cutting.cuts(segment)) {
            let more = cutting.part_count(segment) - 1;
            if added + more > room {
                return (i, added);
            }
            added += more;
        }
        (self.segments.len(), added)
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

    /// Cuts the segments below index `whole_from`, which makes `added` more of them.
    fn spread(&mut self, cutting: &Cutting<impl Fn(Span) -> u64>, whole_from: usize, added: u64) {
        let before = self.segments.len();
        for _ in 0..added {
            self.segments.push(SentSegment::default());
        }
        let mut to = self.segments.len();
        for i in (0..before).rev() {
            let whole = self.segments[i];
            if i >= whole_from || !cutting.cuts(&whole) {
                to -= 1;
                self.segments[to] = whole;
                continue;
            }
            let count = cutting.part_count(&whole);
            for k in (0..count).rev() {
                to -= 1;
                self.segments[to] = whole.part(cutting.part(whole.span, k, count));
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

/// How segments are cut.
struct Cutting<F> {
    /// Bytes of a part at most.
    mss: u64,
    /// The bytes of a span without its FIN.
    data_len: F,
}

impl<F: Fn(Span) -> u64> Cutting<F> {
    fn cuts(&self, segment: &SentSegment) -> bool {
        !segment.sacked && (self.data_len)(segment.span) > self.mss
    }

    fn part_count(&self, segment: &SentSegment) -> u64 {
        (self.data_len)(segment.span).div_ceil(self.mss)
    }

    /// The `k`-th of `count` parts.
    fn part(&self, whole: Span, k: u64, count: u64) -> Span {
        let start = whole.start + k * self.mss;
        match k + 1 == count {
            true => Span::new(start, whole.end),
            false => Span::at(start, self.mss),
        }
    }
}
