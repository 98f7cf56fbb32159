//! Verdicts from arrivals: at the receiver, and on the path for losses before the capture point.
//!
//! A segment below the highest byte seen was overtaken, or retransmitted, or both. Timestamps show
//! which, or else IP identifications. Originals are sent in stream order, so a segment younger than something above it is a
//! retransmission. Of two copies, the older was sent first.
//!
//! ```text
//! its bytes arrived before    all in older segments              spurious
//!                             in a younger one                   that one is the retransmission, and spurious
//!                             in one that may be either          unknowable
//! some did not                it is certainly a retransmission   needed, unless an older copy still arrives
//!                             it may be an original              unknowable: looks first
//! ```
//!
//! A retransmission that looks like an original in every way never comes here. What passed the capture point may be lost
//! behind it: where the receiver's ACKs show that, they decide (`Row::confirmed`).

use super::Transmission;
use crate::{
    finding::{Evidence, Verdict},
    memory::{HeapSize, allocated, tree},
};
use recoup_units::{Instant, Offset, Span};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

/// How long an older copy may still arrive.
const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// Segments nearby in the stream that are compared. If there are more, the verdict stays open.
const MOST_NEARBY: u64 = 256;

/// Steps that comparing may take per segment; each looks at a segment or at a missing part of one and
/// takes a few ns.
const STEPS_PER_SEGMENT: u64 = 64;

/// Steps that it may take besides.
const FREE_STEPS: u64 = 1 << 15;

/// Bytes that had arrived before a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeenBytes {
    /// All of its bytes.
    pub all: bool,
    /// The segment that brought its first byte, or the first of those that had arrived; `None` if
    /// unknown, or if that segment came here too.
    pub first: Option<Transmission>,
    /// The timestamp of a segment above it that arrived before; best the oldest of them.
    pub higher: Option<u32>,
    /// It was sent after that segment, as its IP identification shows.
    pub sent_after_higher: bool,
    /// The order in which it and the `first` one were sent, as their IP identifications show.
    pub order_to_first: Option<Ordering>,
}

/// A segment that arrived below the highest byte seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Arrival {
    index: u32,
    span: Span,
    copy: Transmission,
    found: ArrivalKind,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum ArrivalKind {
    /// Certainly a retransmission; no older copy has brought the `missing` bytes.
    Retransmission {
        missing: Vec<Span>,
    },
    /// A copy of bytes that arrived before and were sent before.
    LaterCopy,
    LateOriginal,
    /// An original or a retransmission.
    Unclear,
    /// An original or a retransmission, of bytes that other copies brought as well.
    Ambiguous,
}

/// Decides what the segments are that arrive below the highest byte seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ArrivalVerdicts {
    arrivals: VecDeque<Arrival>,
    /// How many were passed on.
    handed_out: u64,
    /// Where each segment begins, with its number (those passed on count).
    by_start: BTreeSet<(Offset, u64)>,
    /// The length of the longest segment so far.
    longest: u64,
    /// Steps taken so far.
    steps: u64,
    too_costly: bool,
}

impl ArrivalVerdicts {
    /// Removes everything, keeping memory.
    pub fn clear(&mut self) {
        self.arrivals.clear();
        self.by_start.clear();
        self.handed_out = 0;
        self.longest = 0;
        self.steps = 0;
        self.too_costly = false;
    }

    /// Frees spare memory.
    pub fn shrink(&mut self) {
        self.arrivals.shrink_to_fit();
    }

    /// Its memory on the heap, in bytes.
    pub fn memory(&self) -> usize {
        // Most hold one missing part.
        let each = allocated(size_of::<Span>()) + tree(1, size_of::<(Offset, u64)>());
        self.arrivals.heap_size() + self.arrivals.len() * each
    }

    /// Whether some verdicts stayed open because they would have taken too long.
    pub fn is_too_costly(&self) -> bool {
        self.too_costly
    }

    /// A segment arrived; `index` is the caller's number. Needed for each segment that begins below
    /// the highest byte seen, except duplicates by the network.
    pub fn on_arrival(&mut self, index: u32, span: Span, copy: Transmission, seen: SeenBytes) {
        let found = match self.overlapping(span) {
            Some(others) => self.classify(span, copy, seen, &others),
            None => {
                self.too_costly = true;
                ArrivalKind::Ambiguous
            }
        };
        let number = self.handed_out + self.arrivals.len() as u64;
        self.by_start.insert((span.start, number));
        self.longest = self.longest.max(span.len());
        self.arrivals.push_back(Arrival { index, span, copy, found });
    }

    /// Kind of a segment next to the `others` that it overlaps. May change their kinds.
    fn classify(&mut self, span: Span, copy: Transmission, seen: SeenBytes, others: &[usize]) -> ArrivalKind {
        let younger_than_higher =
            seen.sent_after_higher || order(copy.ts_value, seen.higher) == Some(Ordering::Greater);
        let first = seen.first.or_else(|| self.first_arrival_of(span, others));
        let by_id = seen.order_to_first.filter(|_| seen.first.is_some());
        let to_first = first.and_then(|first| order(copy.ts_value, first.ts_value).or(by_id));
        match to_first {
            Some(Ordering::Less) => {
                self.on_older_copy(span, copy, others);
                if younger_than_higher { ArrivalKind::retransmission(span) } else { ArrivalKind::LateOriginal }
            }
            Some(Ordering::Greater) if seen.all => ArrivalKind::LaterCopy,
            Some(Ordering::Greater) => ArrivalKind::retransmission(span),
            _ if seen.all => self.undated_copy(others),
            _ if younger_than_higher => ArrivalKind::retransmission(span),
            _ if first.is_some() => ArrivalKind::Ambiguous,
            _ => ArrivalKind::Unclear,
        }
    }

    /// Passes verdicts on old segments to `found` and forgets them, as [`finish`](Self::finish)
    /// does for all.
    pub fn settle(&mut self, now: Instant, mut found: impl FnMut(u32, Option<(Verdict, Evidence)>)) {
        while let Some(oldest) = self.arrivals.front()
            && oldest.copy.at + SETTLED_AFTER <= now
        {
            self.hand_out_oldest(&mut found);
        }
    }

    /// Passes all verdicts to `found`; `None` for an original that was overtaken.
    pub fn finish(&mut self, mut found: impl FnMut(u32, Option<(Verdict, Evidence)>)) {
        while !self.arrivals.is_empty() {
            self.hand_out_oldest(&mut found);
        }
    }

    fn hand_out_oldest(&mut self, mut found: impl FnMut(u32, Option<(Verdict, Evidence)>)) {
        if let Some(oldest) = self.arrivals.pop_front() {
            self.by_start.remove(&(oldest.span.start, self.handed_out));
            self.handed_out += 1;
            found(oldest.index, oldest.found.verdict());
        }
    }

    /// The segments that overlap `span`, in order of arrival; `None` if too many are nearby.
    fn overlapping(&mut self, span: Span) -> Option<Vec<usize>> {
        let from = Offset(span.start.0.saturating_sub(self.longest));
        let near = (from, 0)..(span.end.max(span.start), 0);
        let mut found = Vec::new();
        let segments = self.handed_out + self.arrivals.len() as u64 + 1;
        let steps_left = FREE_STEPS + STEPS_PER_SEGMENT * segments;
        let steps_left = steps_left.saturating_sub(self.steps);
        let most = steps_left.min(MOST_NEARBY);
        let mut looked_at = 0;
        for &(_, number) in self.by_start.range(near) {
            if looked_at == most {
                self.steps += looked_at;
                return None;
            }
            looked_at += 1;
            let at = (number - self.handed_out) as usize;
            if self.arrivals.get(at).is_some_and(|a| a.span.overlaps(span)) {
                found.push(at);
            }
        }
        self.steps += looked_at;
        found.sort_unstable();
        Some(found)
    }

    /// The segment that brought the first byte of `span`, if that one was below the highest byte
    /// too.
    fn first_arrival_of(&self, span: Span, others: &[usize]) -> Option<Transmission> {
        let mut others = others.iter().filter_map(|&at| self.arrivals.get(at));
        let first = others.find(|other| other.span.contains(span.start))?;
        Some(first.copy)
    }

    /// `copy` arrives after younger copies: where they overlap, those were spurious.
    fn on_older_copy(&mut self, span: Span, copy: Transmission, others: &[usize]) {
        for &at in others {
            let arrival = &mut self.arrivals[at];
            let younger = order(arrival.copy.ts_value, copy.ts_value) == Some(Ordering::Greater);
            if !younger {
                continue;
            }
            match &mut arrival.found {
                ArrivalKind::Retransmission { missing } => {
                    self.steps += missing.len() as u64;
                    subtract(missing, span);
                }
                // It looked like an original, and is a retransmission.
                ArrivalKind::Unclear => {
                    let mut missing = vec![arrival.span];
                    subtract(&mut missing, span);
                    arrival.found = ArrivalKind::Retransmission { missing };
                }
                ArrivalKind::LaterCopy | ArrivalKind::LateOriginal | ArrivalKind::Ambiguous => {}
            }
        }
    }

    /// All bytes had arrived, and no timestamps show which copy is older. If the others came in
    /// order, this is the later copy; if they filled holes, it may be either.
    fn undated_copy(&mut self, others: &[usize]) -> ArrivalKind {
        let mut filled = false;
        for &at in others {
            let arrival = &mut self.arrivals[at];
            if !matches!(arrival.found, ArrivalKind::LaterCopy) {
                filled = true;
                arrival.found = ArrivalKind::Ambiguous;
            }
        }
        if filled { ArrivalKind::Ambiguous } else { ArrivalKind::LaterCopy }
    }
}

impl ArrivalKind {
    fn retransmission(span: Span) -> Self {
        Self::Retransmission { missing: vec![span] }
    }

    fn verdict(&self) -> Option<(Verdict, Evidence)> {
        match self {
            Self::Retransmission { missing } if missing.is_empty() => Some((Verdict::Spurious, Evidence::CopySeen)),
            Self::Retransmission { .. } => Some((Verdict::Needed, Evidence::NoCopySeen)),
            Self::LaterCopy => Some((Verdict::Spurious, Evidence::CopySeen)),
            Self::LateOriginal => None,
            Self::Unclear => Some((Verdict::Unknowable, Evidence::LooksFirst)),
            Self::Ambiguous => Some((Verdict::Unknowable, Evidence::Ambiguous)),
        }
    }
}

/// The order of two timestamps (RFC 7323 §5.2); `None` if unknown or equal.
fn order(a: Option<u32>, b: Option<u32>) -> Option<Ordering> {
    let by = a?.wrapping_sub(b?) as i32;
    Some(by.cmp(&0)).filter(|order| order.is_ne())
}

/// Removes `span` from `from`.
fn subtract(from: &mut Vec<Span>, span: Span) {
    *from = (from.iter())
        .flat_map(|piece| {
            let before = Span::new(piece.start, piece.end.min(span.start));
            let after = Span::new(piece.start.max(span.end), piece.end);
            [before, after]
        })
        .filter(|piece| !piece.is_empty())
        .collect();
}
