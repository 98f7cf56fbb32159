//! The bytes of a stream, for whoever drives an endpoint: endpoints handle offsets alone.
//!
//! One type serves both directions. What is to be sent is appended, read by span as often as it is
//! transmitted, and forgotten once acknowledged. What arrives is put where it belongs, in whatever
//! order, and taken out at the front; which of it has arrived is for the
//! [`Receiver`](crate::Receiver) to say.

use recoup_units::{Offset, Span};
use std::collections::VecDeque;

/// Bytes of one stream from an offset on.
#[derive(Clone, Debug)]
pub struct Buffer {
    start: Offset,
    bytes: VecDeque<u8>,
}

impl Default for Buffer {
    /// Nothing of a stream whose first byte follows the SYN.
    fn default() -> Self {
        Self {
            start: Offset::DATA,
            bytes: VecDeque::new(),
        }
    }
}

impl Buffer {
    /// Bytes held, gaps between them included.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Begins again with an empty stream, keeping `memory` bytes of room at most.
    pub fn reset(&mut self, memory: usize) {
        self.start = Offset::DATA;
        self.bytes.clear();
        self.bytes.shrink_to(memory);
    }

    /// Adds `bytes` at the end.
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Puts `bytes` where they belong, as far as they lie in `within`; what is not there yet between
    /// the end and them is zero until it comes.
    pub fn put(&mut self, at: Offset, bytes: &[u8], within: Span) {
        let first = at.max(within.start).max(self.start);
        let end = (at + bytes.len() as u64).min(within.end);
        if first >= end {
            return;
        }
        let source = &bytes[first.since(at) as usize..end.since(at) as usize];
        let from = first.since(self.start) as usize;
        if from == self.bytes.len() {
            self.bytes.extend(source);
            return;
        }
        let to = from + source.len();
        if self.bytes.len() < to {
            self.bytes.resize(to, 0);
        }
        let (front, back) = self.bytes.as_mut_slices();
        let in_front = front.len().clamp(from, to) - from;
        let (to_front, to_back) = source.split_at(in_front);
        if !to_front.is_empty() {
            front[from..from + in_front].copy_from_slice(to_front);
        }
        if !to_back.is_empty() {
            let at = from + in_front - front.len();
            back[at..at + to_back.len()].copy_from_slice(to_back);
        }
    }

    /// The bytes of `span`, fewer if they are not all held, as the two parts they are kept in; the
    /// second is mostly empty.
    pub fn parts(&self, span: Span) -> [&[u8]; 2] {
        let to = (span.end.since(self.start) as usize).min(self.bytes.len());
        let from = (span.start.since(self.start) as usize).min(to);
        let (front, back) = self.bytes.as_slices();
        let split = front.len();
        [
            &front[from.min(split)..to.min(split)],
            &back[from.saturating_sub(split)..to.saturating_sub(split)],
        ]
    }

    /// A copy of the bytes of `span`, fewer if they are not all held.
    pub fn copy(&self, span: Span) -> Vec<u8> {
        self.parts(span).concat()
    }

    /// Takes out as many bytes as fit in `into`, fewer if there are not as many, and says how many.
    pub fn take_into(&mut self, into: &mut [u8]) -> usize {
        let [front, back] = self.parts(Span::at(self.start, into.len() as u64));
        let count = front.len() + back.len();
        into[..front.len()].copy_from_slice(front);
        into[front.len()..count].copy_from_slice(back);
        self.forget_before(self.start + count as u64);
        count
    }

    /// Takes out the first `count` bytes, fewer if there are not as many.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.peek(count);
        self.forget_before(self.start + taken.len() as u64);
        taken
    }

    /// The first `count` bytes, which stay.
    pub fn peek(&self, count: usize) -> Vec<u8> {
        self.copy(Span::at(self.start, count as u64))
    }

    /// Forgets everything in front of `offset`.
    pub fn forget_before(&mut self, offset: Offset) {
        let count = (offset.since(self.start) as usize).min(self.bytes.len());
        self.bytes.drain(..count);
        self.start = self.start + count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(a: u64, b: u64) -> Span {
        Span::new(Offset(a), Offset(b))
    }

    #[test]
    fn bytes_out_of_order_find_their_places() {
        let mut buffer = Buffer::default();
        buffer.put(Offset(4), b"def", span(1, 100));
        buffer.put(Offset(1), b"abc", span(1, 100));
        assert_eq!(buffer.take(4), b"abcd");
        buffer.put(Offset(3), b"cdefgh", span(7, 9)); // of it, only what is new and within
        assert_eq!(buffer.take(9), b"efgh");
        assert!(buffer.is_empty());
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut buffer = Buffer::default();
        buffer.append(b"abcdef");
        buffer.forget_before(Offset(3));
        assert_eq!(buffer.copy(span(3, 5)), b"cd");
        assert_eq!(buffer.copy(span(5, 50)), b"ef");
        assert_eq!(buffer.copy(span(50, 60)), b"");
        assert_eq!(buffer.len(), 4);
        buffer.reset(0);
        buffer.append(b"new");
        assert_eq!(buffer.copy(span(1, 4)), b"new");
    }

    /// The memory is a ring: whatever its turn, the bytes are those of a plain vector.
    #[test]
    fn the_ring_turns_unseen() {
        let stream: Vec<u8> = (0..4000u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut buffer = Buffer::default();
        let (mut taken, mut into) = (Vec::new(), [0; 37]);
        for (i, pair) in stream.chunks(2 * 29).enumerate() {
            let at = Offset::DATA + (i * 2 * 29) as u64;
            let (first, second) = pair.split_at(pair.len().min(29));
            let everything = span(0, u64::MAX);
            buffer.put(at + first.len() as u64, second, everything);
            buffer.put(at, first, everything);
            let whole = Span::at(at, pair.len() as u64);
            assert_eq!(buffer.copy(whole), pair, "pair {i}");
            let count = buffer.take_into(&mut into);
            taken.extend_from_slice(&into[..count]);
        }
        taken.extend(buffer.take(usize::MAX));
        assert_eq!(taken, stream);
    }
}
