//! Positions and lengths in a connection's sequence space.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A position in one direction's sequence space, unwrapped to 64 bits.
///
/// The SYN occupies offset 0, the first data byte is offset 1, and a FIN occupies the offset after
/// the last data byte (RFC 9293 §3.4). 32-bit sequence numbers exist only on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Offset(pub u64);

impl Offset {
    /// The SYN's offset.
    pub const SYN: Self = Self(0);
    /// The first data byte's offset.
    pub const DATA: Self = Self(1);

    /// The sequence space from `earlier` to this offset; 0 if `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Offset {
    type Output = Self;
    fn add(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A half-open range of sequence space, `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// The first offset covered.
    pub start: Offset,
    /// The first offset past the end.
    pub end: Offset,
}

impl Span {
    /// The span from `start` to `end`; empty if `end` is not after `start`.
    pub const fn new(start: Offset, end: Offset) -> Self {
        Self { start, end }
    }

    /// The span of length `len` from `start`.
    pub fn at(start: Offset, len: u64) -> Self {
        Self::new(start, start + len)
    }

    /// The length of the span.
    pub const fn len(self) -> u64 {
        self.end.since(self.start)
    }

    /// Whether the span covers nothing.
    pub const fn is_empty(self) -> bool {
        self.end.0 <= self.start.0
    }

    /// Whether `other` is not empty and lies wholly inside this span.
    pub fn covers(self, other: Self) -> bool {
        !other.is_empty() && self.start <= other.start && other.end <= self.end
    }

    /// Whether `offset` lies inside this span.
    pub fn contains(self, offset: Offset) -> bool {
        self.start <= offset && offset < self.end
    }

    /// Whether the two spans have sequence space in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A number of segments, Linux's unit for windows, pipe and thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Segments(pub u32);

impl Segments {
    /// No segments.
    pub const ZERO: Self = Self(0);
    /// One segment.
    pub const ONE: Self = Self(1);
    /// Larger than any window.
    pub const MAX: Self = Self(u32::MAX);

    /// Subtraction that stops at zero.
    pub const fn saturating_sub(self, n: Self) -> Self {
        Self(self.0.saturating_sub(n.0))
    }
}

impl Add for Segments {
    type Output = Self;
    fn add(self, n: Self) -> Self {
        Self(self.0.saturating_add(n.0))
    }
}

impl AddAssign for Segments {
    fn add_assign(&mut self, n: Self) {
        *self = *self + n;
    }
}

impl Sub for Segments {
    type Output = Self;
    /// Panics in debug builds if `n` is larger, because a count below zero is a bug.
    fn sub(self, n: Self) -> Self {
        debug_assert!(self.0 >= n.0, "{} - {} segments", self.0, n.0);
        self.saturating_sub(n)
    }
}

impl SubAssign for Segments {
    fn sub_assign(&mut self, n: Self) {
        *self = *self - n;
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(a: u64, b: u64) -> Span {
        Span::new(Offset(a), Offset(b))
    }

    #[test]
    fn spans_cover_and_overlap() {
        let cases = [
            // (a, b, a covers b, they overlap)
            (span(1, 10), span(1, 10), true, true),
            (span(1, 10), span(3, 5), true, true),
            (span(1, 10), span(5, 11), false, true),
            (span(1, 10), span(10, 12), false, false),
            (span(1, 10), span(4, 4), false, false),
            (span(7, 3), span(1, 10), false, false),
        ];
        for (a, b, covers, overlaps) in cases {
            assert_eq!(a.covers(b), covers, "{a} covers {b}");
            assert_eq!(a.overlaps(b), overlaps, "{a} overlaps {b}");
            assert_eq!(b.overlaps(a), overlaps, "{b} overlaps {a}");
        }
    }
}
