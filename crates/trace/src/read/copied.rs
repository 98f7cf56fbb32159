//! The records of a capture with their bytes as they are, for programs that copy a capture and add to it.

use super::{
    CapturedPacket, Counts, ReadError, Reason, RewriteError,
    frames::{Frame, Frames},
    packet::Packet,
    records::{RecordSink, Records},
};
use recoup_units::Instant;
use std::{
    io::{self, Read},
    path::Path,
};

/// A record of a capture, or a block of one.
#[derive(Debug)]
pub enum CopiedRecord<'a> {
    /// A classic capture begins. Its frames have this link type.
    Classic(i32),
    /// A frame. In pcapng, [`Block`](Self::Block) follows with the whole block that holds it.
    Frame(CopiedFrame<'a>),
    /// A record of pcapng that counts as a frame, but holds none that can be read. Its block came before, or follows.
    NoFrame,
    /// The next bytes of a pcapng capture: a block, its section header included, or a part of a block that is not read.
    Block(&'a [u8]),
}

/// A frame of a capture.
#[derive(Debug)]
pub struct CopiedFrame<'a> {
    /// When it was captured: the nearest possible time if the record's is impossible.
    pub at: Instant,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Its length on the wire in bytes, by its record.
    pub on_wire: usize,
    /// The segment in it, or the ICMP message about one, if there is any.
    pub packet: Option<CapturedPacket>,
}

/// Reads a capture to copy it.
#[derive(Debug)]
pub struct CopyReader<'a>(Records<'a, Early>);

/// What the beginning of the first capture in the file says.
#[derive(Debug, Default)]
struct Early {
    classic: Option<i32>,
    block: Vec<u8>,
}

impl RecordSink for Early {
    fn begins(&mut self, link: Option<i32>) {
        self.classic = link;
    }

    fn block(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    // Opening a capture reads its header alone.
    fn frame(&mut self, _: Frame<'_>, _: &mut Packet) -> bool {
        false
    }

    fn skip(&mut self, _: Reason) {}

    fn dropped(&mut self, _: u32, _: u64) {}
}

/// Passes records on.
struct Passing<F> {
    frames: Frames,
    take: F,
    /// The first error of `take`. After it, nothing is passed on.
    error: Option<io::Error>,
}

impl<F: FnMut(CopiedRecord<'_>) -> io::Result<()>> Passing<F> {
    fn pass(&mut self, record: CopiedRecord<'_>) {
        if self.error.is_none() {
            self.error = (self.take)(record).err();
        }
    }
}

impl<F: FnMut(CopiedRecord<'_>) -> io::Result<()>> RecordSink for Passing<F> {
    fn begins(&mut self, link: Option<i32>) {
        if let Some(link) = link {
            self.pass(CopiedRecord::Classic(link));
        }
    }

    fn block(&mut self, bytes: &[u8]) {
        self.pass(CopiedRecord::Block(bytes));
    }

    fn frame(&mut self, frame: Frame<'_>, packet: &mut Packet) -> bool {
        let (data, on_wire) = (frame.data, frame.on_wire);
        let at = frame.at.unwrap_or_else(|nearest| nearest);
        let found = self.frames.read(frame, packet, &mut ()).is_ok();
        let packet = found.then(|| CapturedPacket::from(&*packet));
        self.pass(CopiedRecord::Frame(CopiedFrame { at, data, on_wire, packet }));
        found
    }

    fn skip(&mut self, reason: Reason) {
        self.frames.skip(reason);
        self.pass(CopiedRecord::NoFrame);
    }

    fn dropped(&mut self, interface: u32, count: u64) {
        self.frames.dropped(interface, count);
    }
}

impl CopyReader<'static> {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Records::open(path, Early::default()).map(Self)
    }
}

impl<'a> CopyReader<'a> {
    /// Reads `input`, which messages call `name`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn new(name: &str, input: impl Read + Send + 'a) -> Result<Self, ReadError> {
        Records::new(name, input, Early::default()).map(Self)
    }

    /// The size of the file in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        self.0.size
    }

    /// Gives all records to `take`, and to `watch` the number of bytes read so far, compressed if the capture is. Returns
    /// the counts of its frames.
    ///
    /// # Errors
    /// The first error of `take`, or a capture that has frames, but none of a known link type.
    pub fn each(
        self,
        take: impl FnMut(CopiedRecord<'_>) -> io::Result<()>,
        mut watch: impl FnMut(u64),
    ) -> Result<Counts, RewriteError> {
        let (mut records, early) = self.0.with_sink(Passing { frames: Frames::default(), take, error: None });
        match early.classic {
            Some(link) => records.sink.pass(CopiedRecord::Classic(link)),
            None => records.sink.pass(CopiedRecord::Block(&early.block)),
        }
        let mut packet = Packet::default();
        while records.ending.is_none() {
            if let Some(error) = records.sink.error.take() {
                return Err(error.into());
            }
            records.step_once(&mut packet);
            watch(records.taken());
        }
        if let Some(error) = records.sink.error {
            return Err(error.into());
        }
        let counts = records.sink.frames.into_counts(records.ending);
        Ok(counts.of_known_link(records.name)?)
    }
}

#[cfg(test)]
mod tests;
