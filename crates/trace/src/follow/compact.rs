//! Values in few bytes: for connections that have ended, of which there are many and few are needed again.
//!
//! A number takes one byte more for every seven bits. Times are written as the distance to one time, and
//! so take few bytes. What is read from damaged bytes is arbitrary, but [`Reader::finish`] says so.

use recoup_units::{Instant, Offset, Span};
use recoup_wire::{Endpoints, SeqNumber, Timestamps};
use std::array;
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// The most bytes of a connection. A connection that needs more is not written.
const MOST_BYTES: usize = 1 << 13;

/// Spare bytes at the end, so that a number can be read eight bytes at a time.
const SPARE: usize = 8;

/// A value that can be written as few bytes.
pub(crate) trait Compact: Sized {
    fn write(&self, to: &mut Writer);

    fn read(from: &mut Reader<'_>) -> Self;
}

/// Implements [`Compact`] for a struct: writes its fields one after the other. Those after `default` are
/// not written, and read as their default.
macro_rules! compact {
    ($type:ty { $($field:ident),* $(,)? } $(default { $($left_out:ident),* })?) => {
        impl $crate::follow::compact::Compact for $type {
            #[inline]
            fn write(&self, to: &mut $crate::follow::compact::Writer) {
                let Self { $($field,)* $($($left_out: _,)*)? } = self;
                $($field.write(to);)*
            }

            #[inline]
            fn read(from: &mut $crate::follow::compact::Reader<'_>) -> Self {
                Self {
                    $($field: $crate::follow::compact::Compact::read(from),)*
                    $($($left_out: Default::default(),)*)?
                }
            }
        }
    };
}
pub(crate) use compact;

/// Where values are written to.
#[derive(Debug)]
pub(crate) struct Writer {
    bytes: Box<[u8; MOST_BYTES]>,
    len: usize,
    overflowed: bool,
    time: Instant,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            bytes: Box::new([0; MOST_BYTES]),
            len: 0,
            overflowed: false,
            time: Instant::ZERO,
        }
    }
}

impl Writer {
    /// Begins anew; times are written as the distance to `time`.
    pub fn begin(&mut self, time: Instant) {
        self.len = 0;
        self.overflowed = false;
        self.time = time;
    }

    /// The time to which times are written as the distance.
    pub fn time(&self) -> Instant {
        self.time
    }

    /// Writes a random number, in four bytes.
    #[inline]
    pub fn random(&mut self, number: u32) {
        self.push(u64::from(number).to_le_bytes(), 4);
    }

    /// What was written; `None` if it is too much.
    pub fn finish(&mut self) -> Option<Box<[u8]>> {
        self.push([0; SPARE], 0);
        let bytes = self.bytes.get(..self.len + SPARE)?;
        (!self.overflowed).then(|| bytes.into())
    }

    /// Writes eight bytes, of which the first `count` matter.
    #[inline]
    fn push(&mut self, bytes: [u8; 8], count: usize) {
        match self.bytes[self.len..].first_chunk_mut() {
            Some(place) => {
                *place = bytes;
                self.len += count;
            }
            None => self.overflowed = true,
        }
    }

    /// A number of `n` bytes begins with a byte that ends in `n - 1` zeros, or is 0 if `n` is 9.
    #[inline]
    fn number(&mut self, number: u64) {
        let bits = u64::BITS - (number | 1).leading_zeros();
        let count = bits.div_ceil(7);
        if count <= 8 {
            let word = number << count | 1 << (count - 1);
            self.push(word.to_le_bytes(), count as usize);
        } else {
            self.push([0; 8], 1);
            self.push(number.to_le_bytes(), 8);
        }
    }
}

/// Where values are read from.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    failed: bool,
    time: Instant,
    endpoints: Endpoints,
}

impl<'a> Reader<'a> {
    /// Reads what was written with this `time`, of a connection between these ends.
    pub fn new(bytes: &'a [u8], time: Instant, endpoints: Endpoints) -> Self {
        Self {
            bytes,
            failed: false,
            time,
            endpoints,
        }
    }

    /// The time to which times were written as the distance.
    pub fn time(&self) -> Instant {
        self.time
    }

    /// Reads what [`Writer::random`] has written.
    #[inline]
    pub fn random(&mut self) -> u32 {
        let number = self.word() as u32;
        self.advance(4);
        number
    }

    /// Whether exactly what was written was read.
    pub fn finish(self) -> bool {
        !self.failed && self.bytes.len() == SPARE
    }

    /// The next eight bytes, which are not taken yet.
    #[inline]
    fn word(&mut self) -> u64 {
        match self.bytes.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                self.failed = true;
                1
            }
        }
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        self.bytes = self.bytes.get(count..).unwrap_or_default();
    }

    #[inline]
    fn number(&mut self) -> u64 {
        let word = self.word();
        let count = word.trailing_zeros() + 1;
        if count <= 8 {
            self.advance(count as usize);
            return (word & u64::MAX >> (u64::BITS - 8 * count)) >> count;
        }
        self.advance(1);
        let number = self.word();
        self.advance(8);
        number
    }

    /// How many values follow: no more than there are bytes.
    #[inline]
    fn count(&mut self) -> usize {
        let count = self.number();
        let most = self.bytes.len() as u64;
        self.failed |= count > most;
        count.min(most) as usize
    }
}

/// Implements [`Compact`] for numbers.
macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Compact for $type {
            #[inline]
            fn write(&self, to: &mut Writer) {
                to.number(*self as u64);
            }

            #[inline]
            fn read(from: &mut Reader<'_>) -> Self {
                from.number() as $type
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, usize);

impl Compact for i64 {
    #[inline]
    fn write(&self, to: &mut Writer) {
        // Zigzag: the sign becomes the lowest bit.
        to.number((*self << 1 ^ *self >> 63).cast_unsigned());
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        let number = from.number();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }
}

impl Compact for bool {
    #[inline]
    fn write(&self, to: &mut Writer) {
        to.number(u64::from(*self));
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        from.number() != 0
    }
}

impl Compact for NonZeroU32 {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.get().write(to);
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        Self::new(u32::read(from)).unwrap_or(Self::MIN)
    }
}

impl Compact for Instant {
    #[inline]
    fn write(&self, to: &mut Writer) {
        let before = to.time.as_nanos().wrapping_sub(self.as_nanos());
        before.cast_signed().write(to);
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        let before = i64::read(from).cast_unsigned();
        Self::from_nanos(from.time.as_nanos().wrapping_sub(before))
    }
}

impl Compact for Offset {
    /// The largest number, which stands for none, is one of the shortest.
    #[inline]
    fn write(&self, to: &mut Writer) {
        to.number(self.0.wrapping_add(1));
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        Self(from.number().wrapping_sub(1))
    }
}

impl Compact for SeqNumber {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        Self(u32::read(from))
    }
}

compact!(Span { start, end });
compact!(Timestamps { value, echo });

/// They are known.
impl Compact for Endpoints {
    #[inline]
    fn write(&self, _: &mut Writer) {}

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        from.endpoints
    }
}

impl<A: Compact, B: Compact> Compact for (A, B) {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
        self.1.write(to);
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        (A::read(from), B::read(from))
    }
}

impl<T: Compact> Compact for Option<T> {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        bool::read(from).then(|| T::read(from))
    }
}

impl<T: Compact> Compact for Box<T> {
    #[inline]
    fn write(&self, to: &mut Writer) {
        T::write(self, to);
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        Self::new(T::read(from))
    }
}

impl<T: Compact, const N: usize> Compact for [T; N] {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.iter().for_each(|value| value.write(to));
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        array::from_fn(|_| T::read(from))
    }
}

impl<T: Compact> Compact for Vec<T> {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        let count = from.count();
        (0..count).map(|_| T::read(from)).collect()
    }
}

impl<T: Compact> Compact for VecDeque<T> {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        Vec::read(from).into()
    }
}

impl<T: Compact> Compact for Box<[T]> {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        self.iter().for_each(|value| value.write(to));
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Self {
        Vec::read(from).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> Reader<'_> {
        let end = "192.0.2.1:80".parse().unwrap();
        let ends = Endpoints { src: end, dst: end };
        Reader::new(bytes, Instant::from_nanos(1000), ends)
    }

    fn written(value: &impl Compact) -> Box<[u8]> {
        let mut writer = Writer::default();
        writer.begin(Instant::from_nanos(1000));
        value.write(&mut writer);
        writer.finish().unwrap()
    }

    #[test]
    fn numbers_of_all_lengths_are_read_as_they_were_written() {
        let numbers = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, u64::MAX >> bit]);
        let numbers: Vec<u64> = numbers.collect();
        let signed: Vec<i64> = numbers.iter().map(|number| number.cast_signed()).collect();
        let instants: Vec<Instant> = numbers.iter().map(|&at| Instant::from_nanos(at)).collect();
        let offsets: VecDeque<Offset> = numbers.iter().map(|&at| Offset(at)).collect();
        let all = ((numbers, signed), (instants, offsets));
        let bytes = written(&all);
        let mut reader = reader(&bytes);
        assert_eq!(all, Compact::read(&mut reader));
        assert!(reader.finish());
    }

    #[test]
    fn small_numbers_and_nearby_times_are_short() {
        let len = |value: &dyn Fn() -> Box<[u8]>| value().len() - SPARE;
        assert_eq!(len(&|| written(&127_u64)), 1);
        assert_eq!(len(&|| written(&128_u64)), 2);
        assert_eq!(len(&|| written(&Instant::from_nanos(1063))), 1);
        assert_eq!(len(&|| written(&Offset(u64::MAX))), 1);
        assert_eq!(len(&|| written(&u64::MAX)), 9);
    }

    #[test]
    fn damaged_bytes_are_noticed() {
        let value: Vec<(u64, Option<u32>)> = vec![(7, Some(300)), (1 << 60, None)];
        let bytes = written(&value);
        for len in 0..bytes.len() {
            let mut reader = reader(&bytes[..len]);
            let _ = Vec::<(u64, Option<u32>)>::read(&mut reader);
            assert!(!reader.finish(), "{len}");
        }
        let long = [bytes.as_ref(), &[0]].concat();
        let mut reader = reader(&long);
        assert_eq!(Vec::<(u64, Option<u32>)>::read(&mut reader), value);
        assert!(!reader.finish());
    }

    #[test]
    fn too_much_is_not_written() {
        let mut writer = Writer::default();
        writer.begin(Instant::ZERO);
        vec![u64::MAX; MOST_BYTES / 8].write(&mut writer);
        assert!(writer.finish().is_none());
        writer.begin(Instant::ZERO);
        7_u8.write(&mut writer);
        assert_eq!(writer.finish().unwrap().len(), 1 + SPARE);
    }
}
