//! Reads the TCP segments of a capture file.
//!
//! - **In**: a capture file or stream.
//! - **Out**: one [`CapturedPacket`] per TCP segment, and [`Counts`] of all frames.
//!
//! ```text
//! file, stdin ─► window: decompress (gzip, zstd), read ahead ─► records: classic │ sections ─┬► frames ◄── link, tunnel
//!                                                                                         └► raw: the records themselves
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `sniff` | recognizes the container and its compression by the first bytes |
//! | `unpack`, `window` | decompress ahead on a thread; hold the bytes that are being read |
//! | `zstd_frames` | decompresses zstd without C, for WebAssembly |
//! | `classic`, `sections` | read the records of pcap and the blocks of pcapng |
//! | `clock` | converts ticks of a capture's clock to nanoseconds since 1970 |
//! | `records` | reads one record after another, for a sink |
//! | `raw`, `marks` | the records with their bytes and the parts of each frame, for programs that write captures again |
//! | `placeholder` | the shortest frame that is no segment for a given reason |
//! | `packet` | passes packets on in a compact form |
//! | `link`, `tunnel` | find the IP packet in a frame, and in an IP packet that carries another one |
//! | `frames` | decode the segment and count frames |
//! | `device` | the same for frames that a device gives, one by one |
//! | `message` | what packets say that are no segments |
//! | `copies` | finds copies of segments that another program sent beside the kernel |
//! | `joined` | reads several files as one capture |
//! | `counts`, `error` | what was read and skipped; why a capture cannot be read |
//!
//! Formats: classic pcap (draft-ietf-opsawg-pcap) in both byte orders, in µs and ns, and the
//! modified format with longer records; pcapng (draft-ietf-opsawg-pcapng) with any number of
//! sections and interfaces. Both may be compressed, and several may follow each other in one file,
//! as after `cat`. pcap-parser reads headers and blocks.
//!
//! **Only the beginning of a capture can be an error.** A frame that is not TCP, or cannot be read,
//! is counted by reason ([`Counts`]). Where a file is damaged, reading ends, and [`Ending`] says
//! so: a guess where packets begin again would invent some.
//!
//! Packets come in the order of the file, which may differ from that of time. Frames are numbered
//! as in Wireshark: every record counts from 1, including journal entries and custom blocks.
//!
//! Deviations: a record of more than [`LARGEST_RECORD`] bytes is damage, as for libpcap and for
//! Wireshark (which also stops there). The time zone in a classic header is ignored, as everywhere.

mod classic;
mod clock;
mod copied;
mod copies;
mod counts;
mod device;
mod error;
mod frames;
mod icmp;
mod joined;
mod link;
mod marks;
mod message;
mod packet;
mod placeholder;
mod raw;
mod records;
mod sections;
mod sniff;
mod tunnel;
mod unpack;
mod window;
#[cfg(any(test, target_family = "wasm"))]
mod zstd_frames;

use recoup_units::Instant;
use recoup_wire::{Ecn, Endpoints, Flags, Segment};
use serde::{Deserialize, Serialize};
use std::{io::Read, path::Path};

use frames::Frames;
use records::{Records, name_of};
pub(crate) use window::Window;

pub use crate::qlog::{QlogCounts, QlogTrace};
pub use copied::{CopiedFrame, CopiedRecord, CopyReader};
pub use copies::{CapturedCopies, CapturedCopy, CopyFinder, SentCopy, Taken, WithoutCopies};
pub use counts::{Anomaly, ClockAnomalies, Counts, Ending, FrameCount, LeftOut, Oddity, Reason};
pub use device::{DeviceFrame, FrameDecoder};
pub use error::ReadError;
pub use joined::{CapturePart, Joined, JoinedFile, JoinedFiles, JoinedOrder, OrderedPackets};
#[cfg(not(target_family = "wasm"))]
pub use joined::{Record, RecordedFile, RecordedPart, record_file};
pub use marks::Part;
pub use message::Message;
pub use packet::Packet;
pub use placeholder::placeholder;
pub use raw::{FrameReader, RawFrame, RawReader, RawRecord, RewriteError};
pub use records::OpenedInput;
pub use tunnel::{Tunnel, TunnelKind};

/// The longest record of a classic capture, and the longest packet block of pcapng without its
/// headers, in bytes: the limit of tcpdump, Wireshark and libpcap.
pub const LARGEST_RECORD: usize = 1 << 18;

/// A TCP segment of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedPacket {
    /// The number of its record in the capture, from 1.
    pub frame: u64,
    /// When it was captured: nanoseconds since 1970.
    pub at: Instant,
    /// Addresses and ports.
    pub endpoints: Endpoints,
    /// The segment. `payload_len` is its length on the wire, even if less was captured.
    pub segment: Segment,
    /// The IPv4 identification.
    pub ip_id: Option<u16>,
    /// The time to live, or the hop limit of IPv6.
    pub hop_limit: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Whether all TCP options were read: false if the capture cut them or one is malformed.
    pub options_complete: bool,
    /// Whether the IP header claims more bytes than the frame had: the header is wrong, or the
    /// packet was cut and kept its length.
    pub overlong: bool,
    /// Whether the capturing host sent it (`true`) or received it, if the capture says so. Linux
    /// cooked captures do, and pcapng captures may.
    pub outgoing: Option<bool>,
    /// The interface of its pcapng section, from 0; 0 in a classic capture.
    pub interface: u32,
    /// A hash of its two Ethernet addresses, the same in both directions; 0 for other link types. A tunnel adds a
    /// digest of its own.
    pub link: u32,
    /// The tunnel that it was captured in, if any: all else but the link is that of the inner packet.
    pub tunnel: Tunnel,
    /// `Some`: it is no segment of its sender, but says something of one, whose endpoints and sequence number it has.
    pub message: Option<Message>,
}

impl CapturedPacket {
    /// The capture cut its options before the first SACK block, or they are malformed. SACK blocks come last, so they are
    /// lost first. With the first block, the ACK's news is known.
    #[inline]
    pub(crate) fn may_lack_blocks(&self) -> bool {
        let segment = &self.segment;
        !self.options_complete && segment.options.sack.is_empty() && !segment.flags.contains(Flags::SYN)
    }
}

/// Gives the packets of a capture, one after another, and counts its frames.
pub trait PacketSource: Send {
    /// The next TCP segment, or the next ICMP message about one ([`CapturedPacket::message`]); `None`
    /// when reading has ended.
    fn next_or_message(&mut self) -> Option<&CapturedPacket>;

    /// Reads the next one into `packet`, which is cheaper; `false` when reading has ended.
    #[inline]
    fn next_into(&mut self, packet: &mut Packet) -> bool {
        let next = self.next_or_message().map(Packet::from);
        next.map(|next| *packet = next).is_some()
    }

    /// The next TCP segment; `None` when reading has ended.
    #[inline]
    fn next_segment(&mut self) -> Option<CapturedPacket> {
        loop {
            let packet = self.next_or_message()?;
            if packet.message.is_none() {
                return Some(*packet);
            }
        }
    }

    /// The counts so far.
    fn counts(&self) -> &Counts;

    /// Bytes read so far, compressed if the capture is: for progress bars.
    fn taken(&self) -> u64;

    /// The size of the capture in bytes, if known.
    fn size(&self) -> Option<u64>;

    /// The name of the capture, for messages.
    fn name(&self) -> &str;

    /// Stops reading and returns the counts.
    ///
    /// # Errors
    /// If the capture has frames, but none of a known link type.
    fn stop(self) -> Result<Counts, ReadError>
    where
        Self: Sized;
}

/// Reads the TCP segments of a capture, one after another.
///
/// ```no_run
/// use recoup_trace::read::Reader;
///
/// let mut reader = Reader::open("server.pcapng.gz".as_ref())?;
/// while let Some(packet) = reader.next() {
///     println!("{} {} {}", packet.frame, packet.endpoints, packet.segment);
/// }
/// let counts = reader.finish()?;
/// println!("{} of {} frames are TCP", counts.packets, counts.frames);
/// # Ok::<(), recoup_trace::read::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Reader<'a> {
    records: Records<'a, Frames>,
    /// The packet last given out in full.
    given_out: CapturedPacket,
}

impl Reader<'static> {
    /// Opens a file, or standard input for `-`. A compressed file is decompressed on a thread of
    /// its own, which ends with the reader.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Records::open(path, Frames::default()).map(Self::from)
    }

    /// Reads a file of this size in bytes that is open, as [`open`](Self::open) does. Messages call it `name`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn of_file(name: &str, input: impl Read + Send + 'static, size: u64) -> Result<Self, ReadError> {
        Records::of_file(name.into(), input, Some(size), Frames::default()).map(Self::from)
    }
}

impl<'a> From<Records<'a, Frames>> for Reader<'a> {
    fn from(records: Records<'a, Frames>) -> Self {
        Self { records, given_out: CapturedPacket::from(&Packet::default()) }
    }
}

impl<'a> Reader<'a> {
    /// Reads a file that was opened.
    ///
    /// # Errors
    /// If it does not begin like a capture.
    pub fn of(opened: OpenedInput<'a>) -> Result<Self, ReadError> {
        Records::of(opened, Frames::default()).map(Self::from)
    }

    /// Reads `input`, which messages call `name`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn new(name: &str, input: impl Read + Send + 'a) -> Result<Self, ReadError> {
        Records::new(name, input, Frames::default()).map(Self::from)
    }

    /// The next TCP segment, in the order of the file; `None` when reading has ended.
    // No iterator: the packet is borrowed until the next call.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Option<&CapturedPacket> {
        loop {
            // The packet stays where it is: the borrow of this call ends here.
            let is_segment = self.next_or_message()?.message.is_none();
            if is_segment {
                return Some(&self.given_out);
            }
        }
    }

    /// The time of the first frame that is no segment.
    fn first_skipped_at(&self) -> Option<Instant> {
        self.records.sink.first_skipped_at()
    }

    /// The latest packet.
    fn packet_mut(&mut self) -> &mut CapturedPacket {
        &mut self.given_out
    }

    /// Counts no frame up to this one by what it is: another run did.
    fn count_after(&mut self, frame: u64) {
        self.records.sink.count_after(frame);
    }

    /// Forgets the segments counted so far but for the latest `count`, and what was dropped.
    fn forget_segments(&mut self, count: u64) {
        self.records.sink.forget_segments(count);
    }

    /// The counts, and how reading ended.
    fn into_counts(self) -> Counts {
        self.records.sink.into_counts(self.records.ending)
    }

    /// How the capture ended, once [`next`](Self::next) has returned `None`.
    pub fn ending(&self) -> Option<&Ending> {
        self.records.ending.as_ref()
    }

    /// Reads the rest and returns the counts.
    ///
    /// # Errors
    /// Those of [`stop`](PacketSource::stop).
    pub fn finish(mut self) -> Result<Counts, ReadError> {
        while self.next().is_some() {}
        self.stop()
    }
}

impl PacketSource for Reader<'_> {
    #[inline]
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        let mut packet = Packet::default();
        if !self.records.step(&mut packet) {
            return None;
        }
        self.given_out = CapturedPacket::from(&packet);
        Some(&self.given_out)
    }

    #[inline]
    fn next_into(&mut self, packet: &mut Packet) -> bool {
        self.records.step(packet)
    }

    fn counts(&self) -> &Counts {
        self.records.sink.counts()
    }

    fn taken(&self) -> u64 {
        self.records.taken()
    }

    fn size(&self) -> Option<u64> {
        self.records.size
    }

    fn name(&self) -> &str {
        &self.records.name
    }

    fn stop(self) -> Result<Counts, ReadError> {
        let file = self.records.name.clone();
        self.into_counts().of_known_link(file)
    }
}

#[cfg(test)]
mod tests;
