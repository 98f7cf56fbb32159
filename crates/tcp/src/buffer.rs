//! The bytes of a stream, for the driver of an endpoint. Endpoints handle only offsets.
//!
//! One type serves both directions. Data to send is appended, read by span for each transmission, and
//! dropped once acknowledged. Data that arrived in order is appended, and read at the front.

use recoup_units::{Offset, Span};
use std::cell::RefCell;

/// The bytes of one stream from an offset on, in a ring buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    start: Offset,
    /// The ring; its length is a power of two or 0.
    ring: Box<[u8]>,
    /// The ring index of the first byte held.
    head: usize,
    len: usize,
    /// All bytes of a ring of [`LEAST_RING`] bytes from here on are zero. Of others it says nothing.
    written: u16,
}

impl Default for Buffer {
    /// An empty buffer for a stream whose first byte follows the SYN.
    fn default() -> Self {
        Self { start: Offset::DATA, ring: Box::default(), head: 0, len: 0, written: 0 }
    }
}

/// The smallest ring, in bytes.
const LEAST_RING: usize = 4096;

/// The most rings of [`LEAST_RING`] bytes that a thread keeps for buffers to come.
const MOST_SPARE: usize = 32;

thread_local! {
    /// Rings, all zero, that buffers gave back. Otherwise each request and each short answer would allocate and clear one.
    static SPARE: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A ring of `len` zeros.
fn take_ring(len: usize) -> Box<[u8]> {
    // A thread that ends has no spare rings any more.
    let spare = (len == LEAST_RING).then(|| SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten());
    spare.flatten().unwrap_or_else(|| vec![0; len].into_boxed_slice())
}

/// The largest remainder, in bytes, that is moved to the front of the ring: about a partial segment.
const MOST_MOVED: usize = 2048;

impl Buffer {
    /// The offset behind the last byte held.
    pub fn end(&self) -> Offset {
        self.start + self.len as u64
    }

    /// The number of bytes held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no byte is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Resets to an empty stream, and keeps at most `memory` bytes of memory.
    pub fn reset(&mut self, memory: usize) {
        self.start = Offset::DATA;
        (self.head, self.len) = (0, 0);
        if self.ring.len() > memory {
            self.drop_ring();
        }
    }

    /// Frees the memory if no byte is held. For a stream that has ended.
    pub fn give_back_memory(&mut self) {
        if self.is_empty() {
            self.drop_ring();
        }
    }

    /// Gives up the ring, whose bytes no other buffer will see.
    fn drop_ring(&mut self) {
        let mut ring = std::mem::take(&mut self.ring);
        let written = usize::from(std::mem::take(&mut self.written));
        self.head = 0;
        if ring.len() == LEAST_RING {
            // A thread that ends frees it.
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                if spare.len() < MOST_SPARE {
                    ring[..written].fill(0);
                    spare.push(ring);
                }
            });
        }
    }

    /// The memory of the ring, in bytes.
    pub fn memory(&self) -> usize {
        self.ring.len()
    }

    /// Memory that the ring needs in addition for `more` bytes, in bytes.
    pub fn growth(&self, more: usize) -> usize {
        match self.len.saturating_add(more) {
            len if len <= self.ring.len() => 0,
            len => len.checked_next_power_of_two().unwrap_or(len).max(LEAST_RING) - self.ring.len(),
        }
    }

    /// Bytes that can be appended when the ring may take `memory` bytes more.
    pub fn room_within(&self, memory: usize) -> usize {
        let most = self.ring.len().saturating_add(memory);
        let ring = match most {
            0..LEAST_RING => 0,
            _ => 1 << most.ilog2(),
        };
        ring.max(self.ring.len()) - self.len
    }

    /// Frees memory that is not in use: all of it if no byte is held, or else what a ring beyond the next larger size
    /// takes. For a stream that rests: while data flows, the ring would have to grow again.
    pub fn shrink(&mut self) {
        self.give_back_memory();
        let fits = self.len.next_power_of_two().max(LEAST_RING);
        if self.ring.len() > 2 * fits {
            self.move_to(fits);
        }
    }

    /// Appends `bytes`.
    pub fn append(&mut self, bytes: &[u8]) {
        self.make_room(self.len + bytes.len());
        let [front, back] = self.between_mut(self.len, self.len + bytes.len());
        let (to_front, to_back) = bytes.split_at(front.len());
        front.copy_from_slice(to_front);
        back.copy_from_slice(to_back);
        self.len += bytes.len();
    }

    /// Appends the bytes that `fill` writes into a slice of at most `most` bytes. `fill` returns their
    /// number. The slice's previous contents are meaningless. It is contiguous memory of the ring, so it may
    /// be shorter than `most` although the next call finds more.
    pub fn append_with(&mut self, most: usize, fill: impl FnOnce(&mut [u8]) -> usize) -> usize {
        // A short write must not cost the memory of all that there is room for. With each call the ring may double.
        let most = most.min(self.ring.len().max(LEAST_RING));
        self.make_room(self.len + most);
        let [room, _] = self.between_mut(self.len, self.len + most);
        let count = fill(room).min(room.len());
        self.len += count;
        count
    }

    /// Makes the ring long enough for `len` bytes.
    fn make_room(&mut self, len: usize) {
        if len <= self.ring.len() {
            return;
        }
        self.move_to(len.next_power_of_two().max(LEAST_RING));
    }

    /// Moves the bytes to a ring of `len` bytes.
    fn move_to(&mut self, len: usize) {
        let mut ring = take_ring(len);
        let [front, back] = self.between(0, self.len);
        ring[..front.len()].copy_from_slice(front);
        ring[front.len()..self.len].copy_from_slice(back);
        self.drop_ring();
        self.ring = ring;
        self.written = self.len.min(LEAST_RING) as u16;
    }

    /// The ring positions of bytes `from` to `to`, counted from the first byte held: the start and the length
    /// of the first part, and the length of the second part, which starts at index 0.
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
        self.written = self.written.max((at + front).min(LEAST_RING) as u16);
        let (begin, rest) = self.ring.split_at_mut(at);
        [&mut rest[..front], &mut begin[..back]]
    }

    /// The bytes of `span`, or fewer if not all are held. The ring stores them in two parts; the second is
    /// usually empty.
    pub fn parts(&self, span: Span) -> [&[u8]; 2] {
        let to = (span.end.since(self.start) as usize).min(self.len);
        let from = (span.start.since(self.start) as usize).min(to);
        self.between(from, to)
    }

    /// A copy of the bytes of `span`, or fewer if not all are held.
    pub fn copy(&self, span: Span) -> Vec<u8> {
        self.parts(span).concat()
    }

    /// Moves bytes from the front into `into`, as many as fit or are held. Returns their number.
    pub fn take_into(&mut self, into: &mut [u8]) -> usize {
        let [front, back] = self.parts(Span::at(self.start, into.len() as u64));
        let count = front.len() + back.len();
        into[..front.len()].copy_from_slice(front);
        into[front.len()..count].copy_from_slice(back);
        self.forget_before(self.start + count as u64);
        count
    }

    /// Removes and returns the first `count` bytes, or fewer if fewer are held.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.peek(count);
        self.forget_before(self.start + taken.len() as u64);
        taken
    }

    /// A copy of the first `count` bytes, which stay in the buffer.
    pub fn peek(&self, count: usize) -> Vec<u8> {
        self.copy(Span::at(self.start, count as u64))
    }

    /// Drops all bytes before `offset`.
    pub fn forget_before(&mut self, offset: Offset) {
        let count = (offset.since(self.start) as usize).min(self.len);
        self.start = self.start + count as u64;
        self.len -= count;
        if self.len > 0 {
            self.head = (self.head + count) & (self.ring.len() - 1);
        }
        // A nearly empty buffer restarts at the front of the ring, in recently used memory. Otherwise a
        // ring that once grew would be cycled through forever, and miss the processor's caches.
        let end = self.head + self.len;
        if self.len <= MOST_MOVED && end <= self.ring.len() {
            self.ring.copy_within(self.head..end, 0);
            self.written = self.written.max(self.len as u16);
            self.head = 0;
        }
    }
}

#[cfg(test)]
mod tests;
