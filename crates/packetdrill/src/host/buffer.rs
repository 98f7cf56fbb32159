//! The bytes of a connection's two streams: endpoints handle offsets alone.

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
    /// Bytes held.
    pub fn len(&self) -> usize {
        self.bytes.len()
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
        let from = first.since(self.start) as usize;
        let to = end.since(self.start) as usize;
        if self.bytes.len() < to {
            self.bytes.resize(to, 0);
        }
        let source = &bytes[first.since(at) as usize..];
        for (slot, byte) in self.bytes.range_mut(from..to).zip(source) {
            *slot = *byte;
        }
    }

    /// The bytes of `span`, fewer if they are not all held.
    pub fn copy(&self, span: Span) -> Vec<u8> {
        let from = (span.start.since(self.start) as usize).min(self.bytes.len());
        let to = (span.end.since(self.start) as usize).min(self.bytes.len());
        self.bytes.range(from..to.max(from)).copied().collect()
    }

    /// Takes out the first `count` bytes, fewer if there are not as many.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let count = count.min(self.bytes.len());
        self.start = self.start + count as u64;
        self.bytes.drain(..count).collect()
    }

    /// The first `count` bytes, which stay.
    pub fn peek(&self, count: usize) -> Vec<u8> {
        self.bytes.iter().take(count).copied().collect()
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
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut buffer = Buffer::default();
        buffer.append(b"abcdef");
        buffer.forget_before(Offset(3));
        assert_eq!(buffer.copy(span(3, 5)), b"cd");
        assert_eq!(buffer.copy(span(5, 50)), b"ef");
        assert_eq!(buffer.len(), 4);
    }
}
