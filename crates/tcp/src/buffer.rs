//! The bytes of a stream, for whoever drives an endpoint: endpoints handle offsets alone.
//!
//! One type serves both directions. What is to be sent is appended, read by span as often as it is
//! transmitted, and forgotten once acknowledged. What arrives is put where it belongs, in whatever
//! order, and taken out at the front; which of it has arrived is for the
//! [`Receiver`](crate::Receiver) to say.

use recoup_units::{Offset, Span};

/// Bytes of one stream from an offset on, in a ring.
#[derive(Clone, Debug)]
pub struct Buffer {
    start: Offset,
    /// A power of two long, or empty.
    ring: Vec<u8>,
    /// Where in the ring the first byte held stands.
    head: usize,
    len: usize,
}

impl Default for Buffer {
    /// Nothing of a stream whose first byte follows the SYN.
    fn default() -> Self {
        Self {
            start: Offset::DATA,
            ring: Vec::new(),
            head: 0,
            len: 0,
        }
    }
}

/// The shortest ring, in bytes.
const LEAST_RING: usize = 4096;

/// As many bytes are moved to the front of the ring at most: the part of a segment that waits for more.
const MOST_MOVED: usize = 2048;

impl Buffer {
    /// Bytes held, gaps between them included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Begins again with an empty stream, keeping `memory` bytes of room at most.
    pub fn reset(&mut self, memory: usize) {
        self.start = Offset::DATA;
        (self.head, self.len) = (0, 0);
        if self.ring.len() > memory {
            self.ring = Vec::new();
        }
    }

    /// Gives back the memory of a stream that is over, once nothing of it is held.
    pub fn give_back_memory(&mut self) {
        if self.is_empty() {
            (self.ring, self.head) = (Vec::new(), 0);
        }
    }

    /// Adds `bytes` at the end.
    pub fn append(&mut self, bytes: &[u8]) {
        self.make_room(self.len + bytes.len());
        let [front, back] = self.between_mut(self.len, self.len + bytes.len());
        let (to_front, to_back) = bytes.split_at(front.len());
        front.copy_from_slice(to_front);
        back.copy_from_slice(to_back);
        self.len += bytes.len();
    }

    /// Adds at the end what `fill` puts into the room it is given, at most `most` bytes of it: so many as
    /// it says. What the room holds before means nothing. It is in one piece and so may be shorter than
    /// `most`, even where the next call finds more.
    pub fn append_with(&mut self, most: usize, fill: impl FnOnce(&mut [u8]) -> usize) -> usize {
        self.make_room(self.len + most);
        let [room, _] = self.between_mut(self.len, self.len + most);
        let count = fill(room).min(room.len());
        self.len += count;
        count
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
        let to = from + source.len();
        self.make_room(to);
        if from > self.len {
            for gap in self.between_mut(self.len, from) {
                gap.fill(0);
            }
        }
        let [front, back] = self.between_mut(from, to);
        let (to_front, to_back) = source.split_at(front.len());
        front.copy_from_slice(to_front);
        back.copy_from_slice(to_back);
        self.len = self.len.max(to);
    }

    /// Makes the ring long enough for `len` bytes.
    fn make_room(&mut self, len: usize) {
        if len <= self.ring.len() {
            return;
        }
        let mut ring = vec![0; len.next_power_of_two().max(LEAST_RING)];
        let [front, back] = self.between(0, self.len);
        ring[..front.len()].copy_from_slice(front);
        ring[front.len()..self.len].copy_from_slice(back);
        (self.ring, self.head) = (ring, 0);
    }

    /// The places in the ring from the `from`th byte held to the `to`th, whether held already or not:
    /// where the first part begins, how long it is, and how long the second, which is at the ring's
    /// beginning.
    fn places(&self, from: usize, to: usize) -> (usize, usize, usize) {
        let mask = self.ring.len().wrapping_sub(1);
        let at = (self.head + from) & mask;
        let len = to - from;
        let front = len.min(self.ring.len() - at.min(self.ring.len()));
        (at, front, len - front)
    }

    fn between(&self, from: usize, to: usize) -> [&[u8]; 2] {
        if from == to {
            return [&[]; 2];
        }
        let (at, front, back) = self.places(from, to);
        [&self.ring[at..at + front], &self.ring[..back]]
    }

    fn between_mut(&mut self, from: usize, to: usize) -> [&mut [u8]; 2] {
        if from == to {
            return [&mut [], &mut []];
        }
        let (at, front, back) = self.places(from, to);
        let (begin, rest) = self.ring.split_at_mut(at);
        [&mut rest[..front], &mut begin[..back]]
    }

    /// The bytes of `span`, fewer if they are not all held, as the two parts they are kept in; the
    /// second is mostly empty.
    pub fn parts(&self, span: Span) -> [&[u8]; 2] {
        let to = (span.end.since(self.start) as usize).min(self.len);
        let from = (span.start.since(self.start) as usize).min(to);
        self.between(from, to)
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
        let count = (offset.since(self.start) as usize).min(self.len);
        self.start = self.start + count as u64;
        self.len -= count;
        if self.len > 0 {
            self.head = (self.head + count) & (self.ring.len() - 1);
        }
        // What is nearly empty begins again in front, where memory was used last: a ring that grew once
        // would else be walked through for good, and none of it stay in the processor's caches.
        let end = self.head + self.len;
        if self.len <= MOST_MOVED && end <= self.ring.len() {
            self.ring.copy_within(self.head..end, 0);
            self.head = 0;
        }
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

    #[test]
    fn memory_is_given_back_when_nothing_is_held() {
        let mut buffer = Buffer::default();
        buffer.append(b"abc");
        buffer.give_back_memory();
        assert_eq!(buffer.copy(span(1, 4)), b"abc");
        buffer.forget_before(Offset(4));
        buffer.give_back_memory();
        assert_eq!((buffer.len(), buffer.ring.capacity()), (0, 0));
        // The stream would go on where it was.
        buffer.forget_before(Offset(9));
        assert_eq!(buffer.take(1), b"");
        buffer.append(b"d");
        assert_eq!(buffer.copy(span(4, 5)), b"d");
    }

    #[test]
    fn what_is_missing_is_zero_and_what_is_filled_in_place_is_kept() {
        let mut buffer = Buffer::default();
        buffer.append(&[9; 100]);
        buffer.forget_before(Offset(101)); // leaves its bytes in the ring
        buffer.put(Offset(104), b"d", span(1, 200));
        assert_eq!(buffer.take(9), b"\0\0\0d");
        let filled = buffer.append_with(3, |room| {
            assert_eq!(room.len(), 3);
            room[..2].copy_from_slice(b"ef");
            2
        });
        assert_eq!((filled, buffer.take(9)), (2, b"ef".to_vec()));
        // Whatever is claimed, the room is all there is.
        assert_eq!(buffer.append_with(5, |_| usize::MAX), 5);
        assert_eq!(buffer.append_with(0, |room| room.len() + 1), 0);
        assert_eq!(buffer.len(), 5);
    }

    #[test]
    fn room_goes_round_the_ring() {
        let mut buffer = Buffer::default();
        let (mut written, mut read) = (0_u64, 0_u64);
        while written < 5 * LEAST_RING as u64 {
            let most = LEAST_RING - buffer.len();
            written += buffer.append_with(most.min(1000), |room| {
                for (place, i) in room.iter_mut().zip(written..) {
                    *place = (i % 251) as u8;
                }
                room.len()
            }) as u64;
            for byte in buffer.take(700) {
                assert_eq!(u64::from(byte), read % 251);
                read += 1;
            }
        }
        assert_eq!(buffer.ring.len(), LEAST_RING);
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
