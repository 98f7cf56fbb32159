//! Packets that were received together.

use crate::VnetHeader;
use std::{io, ops::Range};

/// Packets at most in a batch.
const PACKETS: usize = 32;

/// Bytes of packets from which on a batch is full.
const BYTES: usize = 256 << 10;

/// Packets that a device received, each with what is left to be done about it.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Bytes in use.
    used: usize,
    packets: Vec<(VnetHeader, Range<usize>)>,
}

impl Batch {
    /// Without packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no packet more should be taken in.
    pub fn is_full(&self) -> bool {
        self.packets.len() >= PACKETS || self.used >= BYTES
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Forgets all packets and keeps the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.used = 0;
    }

    /// Takes in a copy of a packet.
    pub fn push(&mut self, header: VnetHeader, packet: &[u8]) {
        let end = self.used + packet.len();
        self.room(packet.len())[..packet.len()].copy_from_slice(packet);
        self.packets.push((header, self.used..end));
        self.used = end;
    }

    /// Takes in a packet of up to `longest` bytes that `read` writes into a slice of this length; it returns the packet's
    /// header and length. Returns whether there was one.
    ///
    /// # Errors
    /// That of `read`.
    pub fn read(
        &mut self,
        longest: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<Option<(VnetHeader, usize)>>,
    ) -> io::Result<bool> {
        let Some((header, len)) = read(self.room(longest))? else {
            return Ok(false);
        };
        let end = self.used + len.min(longest);
        self.packets.push((header, self.used..end));
        self.used = end;
        Ok(true)
    }

    /// Room for `len` bytes behind those in use.
    fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.used..end]
    }

    /// The packets, in the order in which they arrived.
    pub fn iter(&self) -> impl Iterator<Item = (&VnetHeader, &[u8])> {
        self.packets.iter().map(|(header, place)| (header, &self.bytes[place.clone()]))
    }
}
