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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WRAP: u64 = 1 << 32;

    #[test]
    fn order_is_modulo_2_to_the_32() {
        let cases = [
            // (a, b, a before b, a after b, distance of a from b)
            (5, 5, false, false, 0),
            (5, 6, true, false, -1),
            (u32::MAX, 0, true, false, -1),
            (2, u32::MAX, false, true, 3),
            (0, 0x7fff_ffff, true, false, -0x7fff_ffff),
            (0, 0x8000_0000, true, true, i32::MIN),
            (0x8000_0001, 0, true, false, -0x7fff_ffff),
        ];
        for (a, b, before, after, distance) in cases {
            let (a, b) = (SeqNumber(a), SeqNumber(b));
            assert_eq!(a.before(b), before, "{a} before {b}");
            assert_eq!(a.after(b), after, "{a} after {b}");
            assert_eq!(a.distance_from(b), distance, "{a} from {b}");
        }
        assert_eq!(SeqNumber(u32::MAX) + 3, SeqNumber(2));
        assert_eq!(SeqNumber(2) - 3, SeqNumber(u32::MAX));
        assert_eq!(SeqNumber(2).since(SeqNumber(u32::MAX)), 3);
    }

    #[test]
    fn unwrap_takes_the_nearest_offset() {
        let cases = [
            // (isn, number, near, offset)
            (0, 0, 0, Some(0)),
            (1000, 1001, 0, Some(1)),
            (1000, 999, 0, None),
            (1000, 999, 1, None),
            // The ISN is just below the wrap.
            (u32::MAX, 0, 0, Some(1)),
            (u32::MAX, u32::MAX, 5, Some(0)),
            // Forwards across the wrap, with offsets on both sides of 2^32.
            (0, 3, WRAP - 2, Some(WRAP + 3)),
            (0, 3, 3 * WRAP - 2, Some(3 * WRAP + 3)),
            // Backwards across the wrap.
            (0, u32::MAX, WRAP + 2, Some(WRAP - 1)),
            (0, u32::MAX, WRAP, Some(WRAP - 1)),
            (7, 6, 2 * WRAP, Some(2 * WRAP - 1)),
            // The farthest number that is still ahead, and the tie, which counts as behind.
            (0, 0x7fff_ffff, 0, Some(0x7fff_ffff)),
            (0, 0x8000_0000, 0, None),
            (0, 0x8000_0000, WRAP, Some(WRAP - 0x8000_0000)),
            (0, 2, u64::MAX - 1, None),
        ];
        for (isn, number, near, offset) in cases {
            assert_eq!(
                SeqNumber(number).unwrap(SeqNumber(isn), Offset(near)),
                offset.map(Offset),
                "isn {isn}, number {number}, near {near}"
            );
        }
    }

    proptest! {
        #[test]
        fn unwrap_inverts_at(isn: u32, near in 0..=u64::MAX >> 1, distance: i32) {
            let isn = SeqNumber(isn);
            let offset = near.checked_add_signed(i64::from(distance)).map(Offset);
            // Below offset 0 there is no offset, only a number.
            let number = isn.at(Offset(near)) + distance.cast_unsigned();
            prop_assert_eq!(number.unwrap(isn, Offset(near)), offset);
            if let Some(offset) = offset {
                prop_assert_eq!(isn.at(offset), number);
            }
        }
    }
}
