//! Ends of connections, and the bytes of their streams.
//!
//! A stream begins with its end's key. Each byte behind it is a function of the key and its place, so a reader needs no copy
//! to know whether it got every byte once and in order, and from whom.

use super::settings::Plan;
use recoup_stack::host::ConnectionId;
use recoup_tcp::Closed;
use recoup_wire::Endpoints;

/// Bytes of a key.
const KEY: u64 = 8;

/// One end of a connection, as its application knows it.
#[derive(Debug)]
pub struct End {
    /// The host.
    pub host: usize,
    /// Its id there.
    pub id: ConnectionId,
    /// `src` is this end.
    pub path: Endpoints,
    /// What its stream begins with.
    pub key: u64,
    /// What its application does.
    pub plan: Plan,
    /// This end connected.
    pub connected: bool,
    /// The handshake is done.
    pub opened: bool,
    /// Bytes written.
    pub written: u64,
    /// Bytes read.
    pub read: u64,
    /// The application has closed its stream.
    pub shut: bool,
    /// The application has read to the end.
    pub finished: bool,
    /// How it ended, as far as the application knows.
    pub how: Option<Closed>,
    /// The application has let go of it.
    pub released: bool,
    /// The end that reads its stream.
    pub peer: Option<usize>,
    head: [u8; KEY as usize],
}

impl End {
    /// A new one.
    pub fn new(host: usize, id: ConnectionId, path: Endpoints, key: u64, plan: Plan, connected: bool) -> Self {
        Self {
            host,
            id,
            path,
            key,
            plan,
            connected,
            opened: !connected,
            written: 0,
            read: 0,
            shut: false,
            finished: false,
            how: None,
            released: false,
            peer: None,
            head: [0; KEY as usize],
        }
    }

    /// Keeps the first bytes read. Returns the key of the peer once it is there.
    pub fn key_of_peer(&mut self, bytes: &[u8]) -> Option<u64> {
        if self.read < KEY {
            for (place, byte) in (self.read..KEY).zip(bytes) {
                self.head[place as usize] = *byte;
            }
        }
        (self.read + bytes.len() as u64 >= KEY).then(|| u64::from_le_bytes(self.head))
    }

    /// Whether it was broken off.
    pub fn is_broken(&self) -> bool {
        self.how.is_some_and(|how| how != Closed::Gracefully)
    }
}

/// Eight bytes of a stream.
const fn word(key: u64, number: u64) -> u64 {
    if number == 0 {
        return key;
    }
    let mixed = (key ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 29)
}

/// Fills `out` with the bytes of a stream from `offset` on.
pub fn fill(key: u64, offset: u64, out: &mut [u8]) {
    let skip = (offset % 8) as usize;
    let (first, rest) = out.split_at_mut(out.len().min((8 - skip) % 8));
    let front = word(key, offset / 8).to_le_bytes();
    first.copy_from_slice(&front[skip % 8..][..first.len()]);
    for (piece, number) in rest.chunks_mut(8).zip(offset.div_ceil(8)..) {
        piece.copy_from_slice(&word(key, number).to_le_bytes()[..piece.len()]);
    }
}
