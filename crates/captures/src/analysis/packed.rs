//! Connections in compact form. A view of all tables keeps every connection of a capture, and most of what a
//! [`Connection`] counts is 0. Serialized, a 0 takes one byte instead of eight.

use postcard::ser_flavors::Flavor;
use recoup_trace::finding::{Connection, ConnectionKey, Revision};
use std::ops::Range;

/// The size of a block of memory, in bytes. A connection that needs more has a larger block of its own.
const BLOCK: usize = 1 << 18;

/// The connections of a capture, serialized.
#[derive(Debug, Default)]
pub struct PackedConnections {
    blocks: Vec<Block>,
    /// Ordered by key after [`order`](Self::order).
    places: Vec<Place>,
    /// Applied where a connection is read; ordered by its key after [`order`](Self::order).
    revisions: Vec<Revision>,
}

/// Memory that fills up from its beginning.
#[derive(Debug)]
struct Block {
    bytes: Box<[u8]>,
    used: usize,
}

/// Where a connection is.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: ConnectionKey,
    block: u32,
    begin: u32,
}

impl Block {
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size].into(), used: 0 }
    }

    /// Appends a connection and returns where it begins; `None` if there is no room.
    fn append(&mut self, connection: &Connection) -> Option<usize> {
        let begin = self.used;
        let room = Room { bytes: &mut self.bytes, used: begin };
        self.used = postcard::serialize_with_flavor(connection, room).ok()?;
        Some(begin)
    }
}

/// The free end of a block. A connection has some two hundred numbers, and nearly all of them take one byte.
/// `postcard::to_slice` calls `memcpy` for each: with short connections, that takes 2 to 3 % of the instructions.
struct Room<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl Flavor for Room<'_> {
    /// Where the next connection begins.
    type Output = usize;

    #[inline(always)]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        match bytes {
            [byte] => self.try_push(*byte),
            _ => self.extend(bytes),
        }
    }

    #[inline(always)]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        let place = self.bytes.get_mut(self.used);
        *place.ok_or(postcard::Error::SerializeBufferFull)? = byte;
        self.used += 1;
        Ok(())
    }

    fn finalize(self) -> postcard::Result<usize> {
        Ok(self.used)
    }
}

impl Room<'_> {
    #[inline(never)]
    fn extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        bytes.iter().try_for_each(|byte| self.try_push(*byte))
    }
}

impl PackedConnections {
    /// Adds a connection.
    pub(super) fn push(&mut self, connection: &Connection) {
        let mut size = BLOCK;
        let begin = loop {
            let block = self.blocks.last_mut();
            if let Some(begin) = block.and_then(|block| block.append(connection)) {
                break begin;
            }
            if self.blocks.last().is_some_and(|block| block.used == 0) {
                // Even an empty block is too small.
                self.blocks.pop();
                size *= 2;
            }
            self.blocks.push(Block::new(size));
        };
        self.places.push(Place { key: connection.key(), block: self.blocks.len() as u32 - 1, begin: begin as u32 });
    }

    /// Changes a verdict.
    pub(super) fn revise(&mut self, revision: &Revision) {
        self.revisions.push(*revision);
    }

    /// Adds the connections of another thread.
    pub(super) fn merge(&mut self, other: Self) {
        let before = self.blocks.len() as u32;
        self.blocks.extend(other.blocks);
        let places = other.places.into_iter().map(|place| Place { block: place.block + before, ..place });
        self.places.extend(places);
        self.revisions.extend(other.revisions);
    }

    /// Sorts the connections.
    pub(super) fn order(&mut self) {
        self.places.sort_unstable_by_key(|place| place.key);
        // Of one retransmission, the latest verdict is the last.
        (self.revisions).sort_by_key(|revision| revision.retransmission.connection_key());
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Some of the connections, in the order of their numbers.
    ///
    /// # Errors
    /// None but a defect: what was serialized cannot be read.
    ///
    /// # Panics
    /// If the range ends beyond [`len`](Self::len).
    pub fn rows(&self, range: Range<usize>) -> Result<Vec<Connection>, postcard::Error> {
        let places = self.places[range].iter();
        places.map(|place| self.unpack(*place)).collect()
    }

    fn unpack(&self, place: Place) -> Result<Connection, postcard::Error> {
        let block = &self.blocks[place.block as usize];
        let mut connection = postcard::from_bytes(&block.bytes[place.begin as usize..])?;
        let key = |revision: &Revision| revision.retransmission.connection_key();
        let first = self.revisions.partition_point(|r| key(r) < place.key);
        let own = self.revisions[first..].iter();
        own.take_while(|revision| key(revision) == place.key).for_each(|revision| revision.recount(&mut connection));
        Ok(connection)
    }
}
