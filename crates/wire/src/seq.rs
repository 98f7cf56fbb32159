//! Sequence numbers: 32 bits on the wire, arithmetic modulo 2^32 (RFC 9293 §3.4).
//!
//! `a` is before `b` when `b - a` modulo 2^32 lies in `1..2^31`. This is not a total order, because three
//! numbers can each be before the next in a circle. [`SeqNumber`] therefore has no `Ord`. Code that must
//! order positions converts them to [`Offset`]s first.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use recoup_units::Offset;

/// A 32-bit TCP sequence number, or the initial one (ISN) that offsets are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// The distance from `other` to this number, in `-2^31..2^31`; negative when this number is before.
    ///
    /// Of two numbers exactly 2^31 apart, each is before the other: both distances are `-2^31`.
    #[inline]
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }

    /// The sequence space from `earlier` to this number, modulo 2^32.
    #[inline]
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Whether this number lies before `other`.
    #[inline]
    pub const fn before(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }

    /// Whether this number lies after `other`.
    #[inline]
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// The sequence number of `offset`, with `self` as the ISN.
    #[inline]
    pub const fn at(self, offset: Offset) -> Self {
        // Truncation to modulo 2^32 is intended.
        Self(self.0.wrapping_add(offset.0 as u32))
    }

    /// The offset nearest to `near` that has this sequence number, for a connection with this ISN.
    ///
    /// `near` is a known offset, such as the next one expected. The result is `None` when the nearest
    /// offset would be below 0 (the SYN) or above `u64::MAX`. A number exactly 2^31 away counts as below,
    /// as in [`distance_from`](Self::distance_from).
    #[inline]
    pub const fn unwrap(self, isn: Self, near: Offset) -> Option<Offset> {
        let distance = self.distance_from(isn.at(near)) as i64;
        match near.0.checked_add_signed(distance) {
            Some(offset) => Some(Offset(offset)),
            None => None,
        }
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;
    #[inline]
    fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl AddAssign<u32> for SeqNumber {
    #[inline]
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;
    #[inline]
    fn sub(self, n: u32) -> Self {
        Self(self.0.wrapping_sub(n))
    }
}

impl fmt::Display for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
