//! The packets that cross the devices, as two captures.
//!
//! Each capture has the packets read from its device and those written to it, in the order of time. So a
//! packet the path dropped is in one capture and missing in the other. Timestamps are UTC. They advance
//! by CLOCK_MONOTONIC from the start of the capture, so that setting the system's clock does not turn
//! them back.
//!
//! The relay must not wait for a disk. It fills blocks of packets; a thread polls for them every few
//! milliseconds, writes them, and returns them empty.

use std::{
    io::{self, Write},
    mem,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use recoup_units::Instant;
use recoup_wire::pcap::Writer;

use crate::{NetError, VnetHeader, clock::monotonic};

/// The side of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Outside,
    Inside,
}

/// A packet that crossed a device. Its bytes follow those of the one before it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    side: Side,
    /// Since 1970.
    at: Instant,
    header: VnetHeader,
    len: usize,
}

/// Packets for the writer.
#[derive(Debug, Default)]
struct Block {
    seen: Vec<Seen>,
    bytes: Vec<u8>,
}

/// The most bytes in a block.
const BLOCK_LEN: usize = 1 << 16;

/// How often the writer polls for blocks.
const PAUSE: Duration = Duration::from_millis(5);

/// Empty blocks for reuse, so that their memory stays paged in.
type Spare = Arc<Mutex<Vec<Block>>>;

/// Two captures being written, of raw IP packets with timestamps in nanoseconds. Packets that come faster
/// than they can be written wait in memory.
#[derive(Debug)]
pub struct PacketCapture<W> {
    blocks: Sender<Block>,
    spare: Spare,
    /// The time since 1970 at CLOCK_MONOTONIC's zero, in nanoseconds.
    epoch: u64,
    writer: JoinHandle<io::Result<[W; 2]>>,
}

/// Takes the packets of one relay, see [`Relay::capture`](crate::Relay::capture).
#[derive(Debug)]
pub struct Tap {
    blocks: Sender<Block>,
    spare: Spare,
    epoch: u64,
    filling: Block,
}

impl<W: Write + Send + 'static> PacketCapture<W> {
    /// Begins the captures.
    ///
    /// # Errors
    /// When their headers cannot be written, or the system starts no thread to write the rest.
    pub fn start(outside: W, inside: W) -> Result<Self, NetError> {
        let begin = |to| Writer::new(to, Duration::ZERO).map_err(NetError::system("begin a capture"));
        let files = [begin(outside)?, begin(inside)?];
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // A clock set to before 1970 counts from there.
        let now = now.unwrap_or_default().as_nanos() as u64;
        let spare = Spare::default();
        let (blocks, received) = channel();
        let writer = {
            let spare = Arc::clone(&spare);
            thread::Builder::new()
                .name("capture".into())
                .spawn(move || write_all(files, &received, &spare))
                .map_err(NetError::system("start a thread"))?
        };
        Ok(Self { blocks, spare, epoch: now.saturating_sub(monotonic()), writer })
    }

    /// A tap for a relay. Several relays may be captured one after another.
    pub fn tap(&self) -> Tap {
        Tap {
            blocks: self.blocks.clone(),
            spare: Arc::clone(&self.spare),
            epoch: self.epoch,
            filling: Block::default(),
        }
    }

    /// Writes the remaining packets, once every tap is dropped. Returns the outside and the inside file.
    ///
    /// # Errors
    /// When anything could not be written, now or before.
    pub fn finish(self) -> io::Result<[W; 2]> {
        drop(self.blocks);
        let panicked = |_| Err(io::Error::other("the writer panicked"));
        self.writer.join().unwrap_or_else(panicked)
    }
}

impl Tap {
    /// Captures a packet; `at` is CLOCK_MONOTONIC in nanoseconds.
    pub(crate) fn see(&mut self, side: Side, at: u64, header: VnetHeader, packet: &[u8]) {
        let len = packet.len();
        if self.filling.bytes.len() + len > BLOCK_LEN {
            self.hand_over();
        }
        self.filling.bytes.extend_from_slice(packet);
        self.filling.seen.push(Seen { side, at: Instant::from_nanos(self.epoch.saturating_add(at)), header, len });
    }

    fn hand_over(&mut self) {
        // A new block is better than waiting for the lock.
        let spare = self.spare.try_lock().ok().and_then(|mut spare| spare.pop());
        let full = mem::replace(&mut self.filling, spare.unwrap_or_default());
        // A writer that stopped reports its error at the end.
        let _ = self.blocks.send(full);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.hand_over();
    }
}

fn write_all<W: Write>(mut files: [Writer<W>; 2], blocks: &Receiver<Block>, spare: &Spare) -> io::Result<[W; 2]> {
    loop {
        let mut block = match blocks.try_recv() {
            Ok(block) => block,
            Err(TryRecvError::Empty) => {
                thread::sleep(PAUSE);
                continue;
            }
            Err(TryRecvError::Disconnected) => break,
        };
        let mut rest = &mut block.bytes[..];
        for seen in block.seen.drain(..) {
            let (packet, others) = mem::take(&mut rest).split_at_mut(seen.len);
            rest = others;
            // With offloads the checksum is incomplete. A reader of the capture would take the packet for
            // damaged.
            seen.header.complete(packet);
            files[seen.side as usize].write(seen.at, packet)?;
        }
        block.bytes.clear();
        if let Ok(mut spare) = spare.lock() {
            spare.push(block);
        }
    }
    let [outside, inside] = files;
    Ok([outside.finish()?, inside.finish()?])
}

#[cfg(test)]
mod tests;
