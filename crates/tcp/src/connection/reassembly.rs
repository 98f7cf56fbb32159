//! The bytes of a stream that arrived behind a gap, in memory proportional to their number.

use std::collections::BTreeMap;

use recoup_units::{Offset, Span};

/// What a piece counts beside its bytes: at least its share of the map, of the allocator and of the receiver's blocks
/// (Linux counts the size of an `sk_buff` likewise). It bounds the pieces, and so the time to find a place for one.
const PIECE_COST: usize = 512;

/// Out-of-order bytes by their offset. No two pieces overlap.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    pieces: BTreeMap<Offset, Vec<u8>>,
    bytes: usize,
}

impl Reassembly {
    /// The memory that the pieces count, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes + self.pieces.len() * PIECE_COST
    }

    #[cfg(test)]
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Keeps bytes at `at`, none of which is held. They join the piece that ends there.
    pub fn put(&mut self, at: Offset, bytes: &[u8]) {
        self.bytes += bytes.len();
        let before = self.pieces.range_mut(..at).next_back();
        match before.filter(|(start, piece)| Span::at(**start, piece.len() as u64).end == at) {
            Some((_, piece)) => piece.extend_from_slice(bytes),
            None => drop(self.pieces.insert(at, bytes.to_vec())),
        }
    }

    /// Takes out the piece that starts at `at`.
    pub fn take(&mut self, at: Offset) -> Option<Vec<u8>> {
        let first = self.pieces.first_entry().filter(|first| *first.key() == at)?;
        let piece = first.remove();
        self.bytes -= piece.len();
        Some(piece)
    }

    /// Discards the last piece. Returns its offset.
    pub fn discard_last(&mut self) -> Option<Offset> {
        let (start, piece) = self.pieces.pop_last()?;
        self.bytes -= piece.len();
        Some(start)
    }

    /// Discards everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
