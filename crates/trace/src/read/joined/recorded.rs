//! Records which packets a capture file has and when they were captured, so that files can be joined without
//! reading their packets again.
//!
//! ```text
//! magic, 8 bytes │ zstd: RecordedFile │ zstd: packets
//! packet: frame and kind │ time │ digest, 8 bytes
//! ```
//!
//! Frames and times are variable-length differences from the packet before, so a packet takes about 11 bytes. The
//! digest tells whether two files that overlap have the same packet. zstd's checksums reveal damage.

use super::{
    super::{CapturedPacket, Counts, Message, Packet, PacketSource, ReadError, Reader, name_of, sniff::EMPTY},
    frame_map::{push_integer, take_integer},
    look::{self, Beginning},
    part::CapturePart,
};
use recoup_units::Instant;
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
};

/// How a record begins. The last digit is the version of the layout.
const MAGIC: [u8; 8] = *b"\x89RCPREC2";

/// zstd's fastest usual level.
const LEVEL: i32 = 1;

/// The most bytes of a decoded record: about 700 million packets.
const MOST_BYTES: u64 = 8 << 30;

/// Description of a recorded file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The name the user gave.
    pub name: String,
    /// Its beginning, or why it could not be looked at.
    beginning: Result<Beginning, String>,
    opening: Opening,
    /// Counts of the frames read.
    pub counts: Counts,
    /// Bytes that were read.
    bytes: u64,
}

/// Whether the file could be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Opening {
    Opened,
    /// It has no bytes.
    Empty,
    /// It ends within its first bytes.
    NotBegun,
    /// It could not, for this reason.
    Failed(String),
}

/// A record that can be written.
#[derive(Debug)]
pub struct Record {
    /// Description of the file.
    pub file: RecordedFile,
    /// Packed.
    packets: Vec<u8>,
}

/// Reads a capture file, and passes its packets on in order. A file that cannot be read has a record too, so that
/// the joined capture names it.
///
/// # Errors
/// Those of `pass_on`.
pub fn record_file(path: &Path, mut pass_on: impl FnMut(&Packet) -> io::Result<()>) -> io::Result<Record> {
    let mut file = RecordedFile {
        name: name_of(path),
        beginning: Beginning::of(path).map_err(|error| error.to_string()),
        opening: Opening::Opened,
        counts: Counts::default(),
        bytes: 0,
    };
    let mut packets = PacketWriter::new()?;
    if file.beginning.is_ok() {
        match Reader::open(path) {
            Ok(mut reader) => {
                let mut packet = Packet::default();
                while reader.next_into(&mut packet) {
                    packets.write(&CapturedPacket::from(&packet))?;
                    pass_on(&packet)?;
                }
                file.bytes = reader.taken();
                file.counts = CapturePart::into_counts(reader);
            }
            Err(ReadError::Unknown { found: EMPTY, .. }) => file.opening = Opening::Empty,
            Err(ReadError::Cut { .. }) => file.opening = Opening::NotBegun,
            Err(error) => file.opening = Opening::Failed(error.to_string()),
        }
    }
    let packets = packets.finish()?;
    Ok(Record { file, packets })
}

impl Record {
    /// Writes the record.
    ///
    /// # Errors
    /// If `out` does not take it.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let file = postcard::to_stdvec(&self.file).map_err(io::Error::other)?;
        let mut packed = encoder()?;
        packed.write_all(&file)?;
        out.write_all(&MAGIC)?;
        out.write_all(&packed.finish()?)?;
        out.write_all(&self.packets)
    }
}

impl RecordedFile {
    /// Reads a record, all of it.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let part = RecordedPart::open_any(path)?;
        Ok(part.file)
    }

    /// Why the file cannot be read at all; `None` if it can.
    pub fn failure(&self) -> Option<&str> {
        self.beginning.as_ref().err().map(String::as_str)
    }
}

fn encoder() -> io::Result<zstd::Encoder<'static, Vec<u8>>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// Writes the order of packets.
struct PacketWriter {
    out: zstd::Encoder<'static, Vec<u8>>,
    /// One packet, encoded.
    bytes: Vec<u8>,
    before: (u64, u64),
}

impl PacketWriter {
    fn new() -> io::Result<Self> {
        Ok(Self { out: encoder()?, bytes: Vec::new(), before: (0, 0) })
    }

    fn write(&mut self, packet: &CapturedPacket) -> io::Result<()> {
        let now = (packet.frame, packet.at.as_nanos());
        let frames = now.0.wrapping_sub(self.before.0);
        let nanos = now.1.wrapping_sub(self.before.1) as i64;
        self.before = now;
        self.bytes.clear();
        let kind = u64::from(packet.message.is_some());
        push_integer(&mut self.bytes, frames << 1 | kind);
        // Small numbers of either sign become small ones (zigzag).
        push_integer(&mut self.bytes, (nanos << 1 ^ nanos >> 63) as u64);
        self.bytes.extend_from_slice(&look::digest(packet).to_le_bytes());
        self.out.write_all(&self.bytes)
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        self.out.finish()
    }
}

/// Reads the order of a file's packets. Its packets have no headers: their frames, times and kinds are true, and
/// sequence and acknowledgement number hold the digest.
#[derive(Debug)]
pub struct RecordedPart {
    file: RecordedFile,
    packets: Vec<u8>,
    /// Bytes of `packets` that were read.
    at: usize,
    /// The frame of the latest packet in its file. The joined capture gives the packet another one.
    frame: u64,
    packet: CapturedPacket,
}

impl RecordedPart {
    fn open_any(path: &Path) -> Result<Self, ReadError> {
        let damaged = |what: String| ReadError::Record { file: name_of(path), what };
        let unreadable = |source| ReadError::Unreadable { file: name_of(path), source };
        let mut input = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut magic = [0; MAGIC.len()];
        let begun = input.read_exact(&mut magic);
        begun.map_err(|error| damaged(error.to_string()))?;
        if magic != MAGIC {
            return Err(damaged("not a record of this version".into()));
        }
        let part = |input: &mut BufReader<File>| {
            let decoder = zstd::Decoder::with_buffer(input)?.single_frame();
            let mut bytes = Vec::new();
            decoder.take(MOST_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let mut next = || part(&mut input).map_err(|error: io::Error| damaged(error.to_string()));
        let (file, packets) = (next()?, next()?);
        let file = postcard::from_bytes(&file).map_err(|error| damaged(error.to_string()))?;
        Ok(Self { file, packets, at: 0, frame: 0, packet: CapturedPacket::from(&Packet::default()) })
    }

    fn take_integer(&mut self) -> Option<u64> {
        let mut rest = self.packets.get(self.at..)?;
        let value = take_integer(&mut rest);
        self.at = self.packets.len() - rest.len();
        value
    }
}

impl CapturePart for RecordedPart {
    fn name_of(path: &Path) -> String {
        let file = RecordedFile::read(path);
        file.map_or_else(|_| name_of(path), |file| file.name)
    }

    fn look(path: &Path) -> Result<(String, Beginning), ReadError> {
        let RecordedFile { name, beginning, .. } = RecordedFile::read(path)?;
        let beginning = beginning.map_err(|why| ReadError::Recorded { why })?;
        Ok((name, beginning))
    }

    fn open(path: &Path) -> Result<Self, ReadError> {
        let part = Self::open_any(path)?;
        match part.file.opening {
            Opening::Opened => Ok(part),
            Opening::Empty => Err(ReadError::empty(&part.file.name)),
            Opening::NotBegun => Err(ReadError::Cut { file: part.file.name }),
            Opening::Failed(why) => Err(ReadError::Recorded { why }),
        }
    }

    fn next_packet(&mut self) -> Option<&CapturedPacket> {
        let frames = self.take_integer()?;
        let nanos = self.take_integer()?;
        let digest = self.packets.get(self.at..self.at + 8)?;
        let digest = u64::from_le_bytes(digest.try_into().ok()?);
        self.at += 8;
        let nanos = nanos >> 1 ^ (nanos & 1).wrapping_neg();
        let packet = &mut self.packet;
        self.frame = self.frame.wrapping_add(frames >> 1);
        packet.frame = self.frame;
        packet.at = Instant::from_nanos(packet.at.as_nanos().wrapping_add(nanos));
        packet.message = (frames & 1 == 1).then_some(Message::PathMtu(0));
        packet.segment.seq = SeqNumber((digest >> 32) as u32);
        packet.segment.ack = SeqNumber(digest as u32);
        Some(packet)
    }

    fn packet_mut(&mut self) -> &mut CapturedPacket {
        &mut self.packet
    }

    fn digest(packet: &CapturedPacket) -> u64 {
        u64::from(packet.segment.seq.0) << 32 | u64::from(packet.segment.ack.0)
    }

    fn count_after(&mut self, _: u64) {}

    fn forget_segments(&mut self, _: u64) {}

    fn frames(&self) -> u64 {
        self.file.counts.frames
    }

    fn bytes_taken(&self) -> u64 {
        self.file.bytes
    }

    fn into_counts(self) -> Counts {
        self.file.counts
    }
}
