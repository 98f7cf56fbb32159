//! Verdicts where arrivals are seen: at the receiver, and between for what was lost before.
//!
//! What arrives below the highest byte seen was overtaken, or is sent again, or both. Timestamps tell:
//! first transmissions go out in the order of the stream, so what is younger than something higher in
//! the stream is a retransmission; and of two copies the older was sent first.
//!
//! ```text
//! its bytes came before       all in older segments              spurious
//!                             in a younger one                   that one is the retransmission, and spurious
//!                             in one that may be either          unknowable
//! some of them did not        it is proven to be sent again      needed, unless an older copy comes yet
//!                             not proven                         unknowable: it looks first
//! ```
//!
//! A retransmission that looks like a first transmission in every way is never heard of here.

use super::Copy;
use crate::finding::{Evidence, Verdict};
use recoup_units::{Instant, Offset, Span};
use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// So long an older copy may still come.
const SETTLED: Duration = Duration::from_secs(60);

/// Segments near one in the stream that are looked at. Where there are more, it is not told what it is.
const MOST_NEAR: usize = 256;

/// What had been seen when a segment came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// All its bytes.
    pub all: bool,
    /// What brought its first byte, or the first of those that had been seen; `None`: not known, or one
    /// that was told of here.
    pub first: Option<Copy>,
    /// The timestamp of anything higher in the stream that came before; best the oldest of them.
    pub higher: Option<u32>,
}

/// A segment that came below the highest byte seen.
#[derive(Debug)]
struct Arrival {
    index: u32,
    span: Span,
    copy: Copy,
    found: Found,
}

#[derive(Debug)]
enum Found {
    /// Sent again for certain; this much of it no older copy brought.
    Again { lacking: Vec<Span> },
    /// A copy of something that came before, which was sent first.
    Copy,
    /// A first transmission, late.
    First,
    /// First or sent again.
    Either,
    /// First or sent again, and copies are there.
    Ambiguous,
}

/// Tells what those segments are that came below the highest byte seen.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    arrivals: VecDeque<Arrival>,
    /// How many were handed out.
    gone: u64,
    /// Where each begins, and which it is, counting those handed out.
    by_start: BTreeSet<(Offset, u64)>,
    /// The length of the longest so far.
    longest: u64,
}

impl Arrivals {
    /// Begins again with none, keeping memory.
    pub fn clear(&mut self) {
        self.arrivals.clear();
        self.by_start.clear();
        self.gone = 0;
        self.longest = 0;
    }

    /// A segment came, the caller's number `index`. Wanted of all that begin below the highest byte
    /// seen, but packets doubled by the network.
    pub fn on_arrival(&mut self, index: u32, span: Span, copy: Copy, seen: Seen) {
        let found = match self.overlapping(span) {
            Some(others) => self.find(span, copy, seen, &others),
            None => Found::Ambiguous,
        };
        let number = self.gone + self.arrivals.len() as u64;
        self.by_start.insert((span.start, number));
        self.longest = self.longest.max(span.len());
        self.arrivals.push_back(Arrival {
            index,
            span,
            copy,
            found,
        });
    }

    /// What it is, beside the `others` that it overlaps; what they are by that.
    fn find(&mut self, span: Span, copy: Copy, seen: Seen, others: &[usize]) -> Found {
        let younger_than_higher = order(copy.ts_value, seen.higher) == Some(Ordering::Greater);
        let first = seen.first.or_else(|| self.first_of(span, others));
        let to_first = first.and_then(|first| order(copy.ts_value, first.ts_value));
        match to_first {
            Some(Ordering::Less) => {
                self.older_copy(span, copy, others);
                if younger_than_higher {
                    Found::again(span)
                } else {
                    Found::First
                }
            }
            Some(Ordering::Greater) if seen.all => Found::Copy,
            Some(Ordering::Greater) => Found::again(span),
            _ if seen.all => self.undated_copy(others),
            _ if younger_than_higher => Found::again(span),
            _ if first.is_some() => Found::Ambiguous,
            _ => Found::Either,
        }
    }

    /// Hands out what was long ago and forgets it; else as [`finish`](Self::finish).
    pub fn settle(
        &mut self,
        now: Instant,
        mut found: impl FnMut(u32, Option<(Verdict, Evidence)>),
    ) {
        while let Some(oldest) = self.arrivals.front()
            && oldest.copy.at + SETTLED <= now
        {
            self.hand_out_oldest(&mut found);
        }
    }

    /// Hands out what each was; `None`: a first transmission that was overtaken, no retransmission.
    pub fn finish(&mut self, mut found: impl FnMut(u32, Option<(Verdict, Evidence)>)) {
        while !self.arrivals.is_empty() {
            self.hand_out_oldest(&mut found);
        }
    }

    fn hand_out_oldest(&mut self, mut found: impl FnMut(u32, Option<(Verdict, Evidence)>)) {
        if let Some(oldest) = self.arrivals.pop_front() {
            self.by_start.remove(&(oldest.span.start, self.gone));
            self.gone += 1;
            found(oldest.index, oldest.found.verdict());
        }
    }

    /// Those that have something in common with `span`, in the order they came; `None`: too many are near.
    fn overlapping(&self, span: Span) -> Option<Vec<usize>> {
        let from = Offset(span.start.0.saturating_sub(self.longest));
        let near = (from, 0)..(span.end.max(span.start), 0);
        let mut found = Vec::new();
        for (looked_at, &(_, number)) in self.by_start.range(near).enumerate() {
            if looked_at == MOST_NEAR {
                return None;
            }
            let at = (number - self.gone) as usize;
            if self.arrivals.get(at).is_some_and(|a| a.span.overlaps(span)) {
                found.push(at);
            }
        }
        found.sort_unstable();
        Some(found)
    }

    /// What brought the first byte of `span`, if that came below the highest one too.
    fn first_of(&self, span: Span, others: &[usize]) -> Option<Copy> {
        let mut others = others.iter().filter_map(|&at| self.arrivals.get(at));
        let first = others.find(|other| other.span.contains(span.start))?;
        Some(first.copy)
    }

    /// `copy` comes after younger ones: they were for nothing, as far as it reaches.
    fn older_copy(&mut self, span: Span, copy: Copy, others: &[usize]) {
        for &at in others {
            let arrival = &mut self.arrivals[at];
            let younger = order(arrival.copy.ts_value, copy.ts_value) == Some(Ordering::Greater);
            if !younger {
                continue;
            }
            match &mut arrival.found {
                Found::Again { lacking } => subtract(lacking, span),
                // It is the copy: not first, though it looked so.
                Found::Either => {
                    let mut lacking = vec![arrival.span];
                    subtract(&mut lacking, span);
                    arrival.found = Found::Again { lacking };
                }
                Found::Copy | Found::First | Found::Ambiguous => {}
            }
        }
    }

    /// All came before, and no timestamps tell which is the older. What came in order is; what filled a
    /// hole may be either.
    fn undated_copy(&mut self, others: &[usize]) -> Found {
        let mut filled = false;
        for &at in others {
            let arrival = &mut self.arrivals[at];
            if !matches!(arrival.found, Found::Copy) {
                filled = true;
                arrival.found = Found::Ambiguous;
            }
        }
        if filled {
            Found::Ambiguous
        } else {
            Found::Copy
        }
    }
}

impl Found {
    fn again(span: Span) -> Self {
        Self::Again {
            lacking: vec![span],
        }
    }

    fn verdict(&self) -> Option<(Verdict, Evidence)> {
        match self {
            Self::Again { lacking } if lacking.is_empty() => {
                Some((Verdict::Spurious, Evidence::CopySeen))
            }
            Self::Again { .. } => Some((Verdict::Needed, Evidence::NoCopySeen)),
            Self::Copy => Some((Verdict::Spurious, Evidence::CopySeen)),
            Self::First => None,
            Self::Either => Some((Verdict::Unknowable, Evidence::LooksFirst)),
            Self::Ambiguous => Some((Verdict::Unknowable, Evidence::Ambiguous)),
        }
    }
}

/// How two timestamps stand (RFC 7323 §5.2); `None`: unknown, or sent within one tick.
fn order(a: Option<u32>, b: Option<u32>) -> Option<Ordering> {
    let by = a?.wrapping_sub(b?) as i32;
    Some(by.cmp(&0)).filter(|order| order.is_ne())
}

/// Takes `span` out of `from`.
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
