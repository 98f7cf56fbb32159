//! Reads the TCP segments of a capture file.
//!
//! - **In**: a capture file or stream.
//! - **Out**: one [`CapturedPacket`] per TCP segment, and [`Counts`] of all frames.
//!
//! ```text
//! file, stdin ─► window: decompress (gzip, zstd), read ahead ─► classic │ sections ─► frames ◄── link, tunnel
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `sniff` | recognizes the container and its compression by the first bytes |
//! | `unpack`, `window` | decompress ahead on a thread; hold the bytes that are being read |
//! | `classic`, `sections` | read the records of pcap and the blocks of pcapng |
//! | `clock` | converts ticks of a capture's clock to nanoseconds since 1970 |
//! | `packet` | passes packets on in a compact form |
//! | `link`, `tunnel` | find the IP packet in a frame, and in an IP packet that carries another one |
//! | `frames` | decode the segment and count frames |
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
mod counts;
mod error;
mod frames;
mod icmp;
mod joined;
mod link;
mod packet;
mod sections;
mod sniff;
mod tunnel;
mod unpack;
mod window;

use recoup_units::{Instant, visible};
use recoup_wire::{Ecn, Endpoints, Flags, Segment};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Cursor, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use classic::Classic;
use frames::Frames;
use sections::Sections;
use sniff::Kind;
use window::Window;

pub use counts::{Anomaly, ClockAnomalies, Counts, Ending, FrameCount, LeftOut, Oddity, Reason};
pub use error::ReadError;
pub use joined::{
    CapturePart, Joined, JoinedFile, JoinedFiles, JoinedOrder, OrderedPackets, Record, RecordedFile, RecordedPart,
    record_file,
};
pub use packet::Packet;
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
    /// `Some`: it is no segment, but an ICMP message about one, with its endpoints and sequence number. The
    /// path of that segment takes packets of this many bytes at most.
    pub path_mtu: Option<u16>,
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
    /// The next TCP segment, or the next ICMP message about one ([`CapturedPacket::path_mtu`]); `None`
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
            if packet.path_mtu.is_none() {
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

/// The format of a capture.
#[derive(Debug)]
enum Container {
    Classic(Classic),
    Sections(Sections),
}

/// The result of reading one record or block.
#[derive(Debug)]
enum Step {
    /// It was a TCP segment.
    Found,
    /// It was none, or more input had to be read first.
    Passed,
    /// The capture ends here. Boxed, because it is rare, and steps are returned once a packet.
    Over(Box<Over>),
}

/// Continuation after a capture.
#[derive(Debug)]
enum Over {
    /// Another one begins.
    Another(Kind),
    /// The input is over.
    End(Ending),
}

impl Step {
    #[cold]
    fn another(kind: Kind) -> Self {
        Self::Over(Box::new(Over::Another(kind)))
    }

    #[cold]
    fn end(ending: Ending) -> Self {
        Self::Over(Box::new(Over::End(ending)))
    }
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
    name: String,
    window: Window<'a>,
    container: Container,
    frames: Frames,
    /// The packet last given out in full.
    given_out: CapturedPacket,
    ending: Option<Ending>,
    taken: Arc<AtomicU64>,
    size: Option<u64>,
}

impl Reader<'static> {
    /// Opens a file, or standard input for `-`. A compressed file is decompressed on a thread of
    /// its own, which ends with the reader.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Self::with("standard input".into(), io::stdin(), None, unpack::ahead);
        }
        let file = name_of(path);
        let unreadable = |source| ReadError::Unreadable { file: file.clone(), source };
        let input = File::open(path).map_err(unreadable)?;
        let about = input.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(ReadError::Directory { file });
        }
        let size = about.is_file().then_some(about.len());
        Self::with(file, input, size, unpack::ahead)
    }
}

/// The name of a file, in which no character acts on a terminal or ends a line.
fn name_of(path: &Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}

impl<'a> Reader<'a> {
    /// Reads `input`, which messages call `name`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn new(name: &str, input: impl Read + Send + 'a) -> Result<Self, ReadError> {
        Self::with(name.into(), input, None, unpack::in_place)
    }

    /// `unpack` decompresses the input.
    fn with<R: Read + Send + 'a>(
        name: String,
        input: R,
        size: Option<u64>,
        unpack: unpack::Unpack<'a>,
    ) -> Result<Self, ReadError> {
        let taken = Arc::new(AtomicU64::new(0));
        let mut input = CountingReader { input, taken: Arc::clone(&taken) };
        let unreadable = |source| ReadError::Unreadable { file: name.clone(), source };
        let mut head = Vec::new();
        let beginning = input.by_ref().take(sniff::HEAD_LENGTH).read_to_end(&mut head);
        beginning.map_err(unreadable)?;
        let compression = sniff::compression(&head);
        let input = Cursor::new(head).chain(input);
        let mut window = match compression {
            Some(compression) => Window::new(unpack(Box::new(input), compression).map_err(unreadable)?),
            None => Window::new(Box::new(input)),
        };
        window.fill(sniff::HEAD_LENGTH as usize);
        let kind = match sniff::kind(window.bytes()) {
            Ok(kind) => kind,
            Err(found) => return Err(ReadError::beginning(name, found, &mut window)),
        };
        let container = Container::open(kind, &mut window).map_err(|e| e.in_file(&name))?;
        Ok(Self {
            name,
            window,
            container,
            frames: Frames::default(),
            given_out: CapturedPacket::from(&Packet::default()),
            ending: None,
            taken,
            size,
        })
    }

    /// The next TCP segment, in the order of the file; `None` when reading has ended.
    // No iterator: the packet is borrowed until the next call.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Option<&CapturedPacket> {
        loop {
            // The packet stays where it is: the borrow of this call ends here.
            let is_segment = self.next_or_message()?.path_mtu.is_none();
            if is_segment {
                return Some(&self.given_out);
            }
        }
    }

    /// Reads the next segment or ICMP message into `packet`; `false` when reading has ended.
    #[inline]
    fn step(&mut self, packet: &mut Packet) -> bool {
        while self.ending.is_none() {
            let step = match &mut self.container {
                Container::Classic(classic) => classic.step(&mut self.window, &mut self.frames, packet),
                Container::Sections(ng) => ng.step(&mut self.window, &mut self.frames, packet),
            };
            match step {
                Step::Found => return true,
                Step::Passed => {}
                Step::Over(over) => self.advance(*over),
            }
        }
        false
    }

    /// Continues with the next capture in the file, or ends.
    #[cold]
    fn advance(&mut self, over: Over) {
        if let Container::Sections(sections) = &mut self.container {
            sections.close(&mut self.frames);
        }
        match over {
            Over::Another(kind) => {
                let offset = self.window.offset();
                match Container::open(kind, &mut self.window) {
                    Ok(container) => self.container = container,
                    Err(why) => self.ending = Some(why.ending(offset)),
                }
            }
            Over::End(ending) => self.ending = Some(ending),
        }
    }

    /// The time of the first frame that is no segment.
    fn first_skipped_at(&self) -> Option<Instant> {
        self.frames.first_skipped_at()
    }

    /// The latest packet.
    fn packet_mut(&mut self) -> &mut CapturedPacket {
        &mut self.given_out
    }

    /// Counts no frame up to this one by what it is: another run did.
    fn count_after(&mut self, frame: u64) {
        self.frames.count_after(frame);
    }

    /// Forgets the segments counted so far but for the latest `count`, and what was dropped.
    fn forget_segments(&mut self, count: u64) {
        self.frames.forget_segments(count);
    }

    /// The counts, and how reading ended.
    fn into_counts(self) -> Counts {
        let mut counts = self.frames.into_counts();
        counts.ending = self.ending.unwrap_or(Ending::Whole);
        counts
    }

    /// How the capture ended, once [`next`](Self::next) has returned `None`.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
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
        if !self.step(&mut packet) {
            return None;
        }
        self.given_out = CapturedPacket::from(&packet);
        Some(&self.given_out)
    }

    #[inline]
    fn next_into(&mut self, packet: &mut Packet) -> bool {
        self.step(packet)
    }

    fn counts(&self) -> &Counts {
        self.frames.counts()
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    fn size(&self) -> Option<u64> {
        self.size
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn stop(self) -> Result<Counts, ReadError> {
        let file = self.name.clone();
        self.into_counts().of_known_link(file)
    }
}

impl Container {
    /// Reads the header of a capture.
    fn open(kind: Kind, window: &mut Window<'_>) -> Result<Self, error::Header> {
        match kind {
            Kind::Classic => Classic::open(window).map(Self::Classic),
            Kind::Sections => Ok(Self::Sections(Sections::open(window)?)),
        }
    }
}

/// Counts the bytes read.
#[derive(Debug)]
struct CountingReader<R> {
    input: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
