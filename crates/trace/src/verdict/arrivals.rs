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
use recoup_units::{Instant, Span};
use std::cmp::Ordering;
use std::time::Duration;

/// So long an older copy may still come.
const SETTLED: Duration = Duration::from_secs(60);

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
    arrivals: Vec<Arrival>,
}

impl Arrivals {
    /// Begins again with none, keeping memory.
    pub fn clear(&mut self) {
        self.arrivals.clear();
    }

    /// A segment came, the caller's number `index`. Wanted of all that begin below the highest byte
    /// seen, but packets doubled by the network.
    pub fn on_arrival(&mut self, index: u32, span: Span, copy: Copy, seen: Seen) {
        let younger_than_higher = order(copy.ts_value, seen.higher) == Some(Ordering::Greater);
        let first = seen.first.or_else(|| self.first_of(span));
        let to_first = first.and_then(|first| order(copy.ts_value, first.ts_value));
        let found = match to_first {
            Some(Ordering::Less) => {
                self.older_copy(span, copy);
                if younger_than_higher {
                    Found::again(span)
                } else {
                    Found::First
                }
            }
            Some(Ordering::Greater) if seen.all => Found::Copy,
            Some(Ordering::Greater) => Found::again(span),
            _ if seen.all => self.undated_copy(span),
            _ if younger_than_higher => Found::again(span),
            _ if first.is_some() => Found::Ambiguous,
            _ => Found::Either,
        };
        self.arrivals.push(Arrival {
            index,
            span,
            copy,
            found,
        });
    }

    /// Hands out what was long ago and forgets it; else as [`finish`](Self::finish).
    pub fn settle(
        &mut self,
        now: Instant,
        mut found: impl FnMut(u32, Option<(Verdict, Evidence)>),
    ) {
        let old = |arrival: &Arrival| arrival.copy.at + SETTLED <= now;
        let count = self
            .arrivals
            .iter()
            .take_while(|arrival| old(arrival))
            .count();
        for arrival in self.arrivals.drain(..count) {
            found(arrival.index, arrival.found.verdict());
        }
    }

    /// Hands out what each was; `None`: a first transmission that was overtaken, no retransmission.
    pub fn finish(&mut self, mut found: impl FnMut(u32, Option<(Verdict, Evidence)>)) {
        for arrival in self.arrivals.drain(..) {
            found(arrival.index, arrival.found.verdict());
        }
    }

    /// What brought the first byte of `span`, if that came below the highest one too.
    fn first_of(&self, span: Span) -> Option<Copy> {
        let mut brought = (self.arrivals.iter()).filter(|a| a.span.contains(span.start));
        brought.next().map(|arrival| arrival.copy)
    }

    /// `copy` comes after younger ones: they were for nothing, as far as it reaches.
    fn older_copy(&mut self, span: Span, copy: Copy) {
        for arrival in &mut self.arrivals {
            let younger = order(arrival.copy.ts_value, copy.ts_value) == Some(Ordering::Greater);
            if !younger || !arrival.span.overlaps(span) {
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
    fn undated_copy(&mut self, span: Span) -> Found {
        let mut filled = false;
        for arrival in &mut self.arrivals {
            if arrival.span.overlaps(span) && !matches!(arrival.found, Found::Copy) {
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
