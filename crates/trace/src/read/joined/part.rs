//! A file of a joined capture, as it is or as it was recorded.

use super::{
    super::{CapturedPacket, Counts, PacketSource, ReadError, Reader, name_of},
    look::{self, Beginning},
};
use std::{fmt::Debug, path::Path};

/// Reads a file of a joined capture.
pub trait CapturePart: Debug + Send + Sized {
    /// The name that messages give to a file that cannot be looked at.
    fn name_of(path: &Path) -> String {
        name_of(path)
    }

    /// Looks at the beginning of a file: its name for messages, and when it begins.
    ///
    /// # Errors
    /// If it cannot be read, or is no capture.
    fn look(path: &Path) -> Result<(String, Beginning), ReadError>;

    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no capture.
    fn open(path: &Path) -> Result<Self, ReadError>;

    /// The next segment, or the next ICMP message about one.
    fn next_packet(&mut self) -> Option<&CapturedPacket>;

    /// The latest packet.
    fn packet_mut(&mut self) -> &mut CapturedPacket;

    /// A digest of a packet, the same for each file that has it.
    fn digest(packet: &CapturedPacket) -> u64;

    /// Counts no frame up to this one by what it is: another run did.
    fn count_after(&mut self, frame: u64);

    /// Forgets the segments counted so far but for the latest `count`, and what was dropped.
    fn forget_segments(&mut self, count: u64);

    /// The frames read so far; all of them if nothing is left.
    fn frames(&self) -> u64;

    /// Bytes read so far.
    fn bytes_taken(&self) -> u64;

    /// The counts, and how reading ended.
    fn into_counts(self) -> Counts;
}

impl CapturePart for Reader<'static> {
    fn look(path: &Path) -> Result<(String, Beginning), ReadError> {
        Ok((Self::name_of(path), Beginning::of(path)?))
    }

    fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open(path)
    }

    #[inline]
    fn next_packet(&mut self) -> Option<&CapturedPacket> {
        self.next_or_message()
    }

    #[inline]
    fn packet_mut(&mut self) -> &mut CapturedPacket {
        self.packet_mut()
    }

    fn digest(packet: &CapturedPacket) -> u64 {
        look::digest(packet)
    }

    fn count_after(&mut self, frame: u64) {
        self.count_after(frame);
    }

    fn forget_segments(&mut self, count: u64) {
        self.forget_segments(count);
    }

    fn frames(&self) -> u64 {
        self.counts().frames
    }

    fn bytes_taken(&self) -> u64 {
        self.taken()
    }

    fn into_counts(self) -> Counts {
        self.into_counts()
    }
}
