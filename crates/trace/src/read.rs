//! Captures to segments.
//!
//! ```text
//! file, stdin ─► Window: unpack (gzip, zstd), read ahead ─► classic │ sections ─► link ─► Packet
//! ```
//!
//! Formats: classic pcap (draft-ietf-opsawg-pcap) in both byte orders, µs and ns, and the modified
//! kind with longer records; pcapng (draft-ietf-opsawg-pcapng) with any number of sections and
//! interfaces; either of them plain or compressed, and several one after another in one file, as
//! `cat` makes them. pcap-parser reads headers and blocks.
//!
//! **Nothing in a capture is an error but its beginning.** What is no TCP, or cannot be read, is
//! counted by reason ([`Counts`]); where a file stops making sense, reading ends and [`Ending`] says
//! so. Guessing where packets might begin again would invent some.
//!
//! Packets come in the order of the file, which need not be that of time. Frames are numbered as
//! Wireshark does: every record from 1, whatever it holds, Wireshark's journal entries and custom
//! blocks among them.
//!
//! Deviations: a record of more than [`LARGEST_RECORD`] bytes is damage, as in Wireshark (which
//! stops there too) and libpcap. The time zone in a classic header is ignored, as everybody does.

mod classic;
mod clock;
mod counts;
mod error;
mod frames;
mod link;
mod sections;
mod sniff;
mod unpack;
mod window;

use recoup_units::Instant;
use recoup_wire::{Endpoints, Segment};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use classic::Classic;
use frames::Frames;
use sections::Sections;
use sniff::Kind;
use window::Window;

pub use counts::{Clock, Counts, Ending, Oddity, Reason, Steps, Tally};
pub use error::ReadError;

/// The longest record of a classic capture, and the longest packet block of pcapng beyond its
/// headers, in bytes: as long as tcpdump, Wireshark and libpcap have it.
pub const LARGEST_RECORD: usize = 1 << 18;

/// A TCP segment of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The number of its record in the capture, from 1.
    pub frame: u64,
    /// When it was captured: nanoseconds since 1970.
    pub at: Instant,
    /// Addresses and ports.
    pub endpoints: Endpoints,
    /// The segment. `payload_len` is its length on the wire, however much of it was captured.
    pub segment: Segment,
    /// The IPv4 identification.
    pub ip_id: Option<u16>,
    /// The time to live, IPv6's hop limit.
    pub hop_limit: u8,
    /// Whether all TCP options were read: false when the capture or a malformed one cuts them off.
    pub options_complete: bool,
    /// Whether the IP header claims more bytes than the frame had: it lies, or whoever cut the
    /// packet forgot its length.
    pub overlong: bool,
    /// Whether the capturing host sent it (`true`) or got it, where the capture says so: Linux
    /// cooked captures do, and pcapng's may.
    pub outgoing: Option<bool>,
    /// The interface of its pcapng section, from 0; 0 in a classic capture.
    pub interface: u32,
}

/// What a capture is made of.
#[derive(Debug)]
enum Container {
    Classic(Classic),
    Sections(Sections),
}

/// What one step in a container comes to.
#[derive(Debug)]
enum Step {
    /// A TCP segment was found.
    Found,
    /// Another capture begins here.
    Another(Kind),
    /// There is no more.
    End(Ending),
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
    ending: Option<Ending>,
    taken: Arc<AtomicU64>,
    size: Option<u64>,
}

impl Reader<'static> {
    /// Opens a file, `-` for standard input. Compressed ones are unpacked on a thread of its own,
    /// which ends with the reader.
    ///
    /// # Errors
    /// When it cannot be read, or does not begin as a capture does.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Self::with("standard input".into(), io::stdin(), None, unpack::ahead);
        }
        let file = path.display().to_string();
        let unreadable = |source| ReadError::Unreadable {
            file: file.clone(),
            source,
        };
        let input = File::open(path).map_err(unreadable)?;
        let about = input.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(ReadError::Directory { file });
        }
        let size = about.is_file().then_some(about.len());
        Self::with(file, input, size, unpack::ahead)
    }
}

impl<'a> Reader<'a> {
    /// Reads `input`, which messages call `name`.
    ///
    /// # Errors
    /// When it cannot be read, or does not begin as a capture does.
    pub fn new(name: &str, input: impl Read + Send + 'a) -> Result<Self, ReadError> {
        Self::with(name.into(), input, None, unpack::in_place)
    }

    /// `unpack` makes what is compressed plain.
    fn with<R: Read + Send + 'a>(
        name: String,
        input: R,
        size: Option<u64>,
        unpack: unpack::Unpack<'a>,
    ) -> Result<Self, ReadError> {
        let taken = Arc::new(AtomicU64::new(0));
        let mut input = Metered {
            input,
            taken: Arc::clone(&taken),
        };
        let unreadable = |source| ReadError::Unreadable {
            file: name.clone(),
            source,
        };
        let mut head = Vec::new();
        let beginning = input.by_ref().take(sniff::HEAD).read_to_end(&mut head);
        beginning.map_err(unreadable)?;
        let packing = sniff::packing(&head);
        let input = Cursor::new(head).chain(input);
        let mut window = match packing {
            Some(packing) => Window::new(unpack(Box::new(input), packing).map_err(unreadable)?),
            None => Window::new(Box::new(input)),
        };
        window.fill(sniff::HEAD as usize);
        let kind = match sniff::kind(window.bytes()) {
            Ok(kind) => kind,
            Err(found) => return Err(ReadError::beginning(name, found, &mut window)),
        };
        let container = Container::begin(kind, &mut window).map_err(|e| e.in_file(&name))?;
        Ok(Self {
            name,
            window,
            container,
            frames: Frames::new(),
            ending: None,
            taken,
            size,
        })
    }

    /// The next TCP segment, in the order of the file; `None` at its end, for whatever reason.
    // Not an iterator's: what it lends lives until the next call.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Option<&Packet> {
        while self.ending.is_none() {
            let step = match &mut self.container {
                Container::Classic(classic) => classic.step(&mut self.window, &mut self.frames),
                Container::Sections(ng) => ng.step(&mut self.window, &mut self.frames),
            };
            match step {
                Step::Found => return Some(self.frames.packet()),
                other => self.turn(other),
            }
        }
        None
    }

    /// Goes on with the next capture in the file, or ends.
    #[cold]
    fn turn(&mut self, step: Step) {
        if let Container::Sections(sections) = &mut self.container {
            sections.close(&mut self.frames);
        }
        match step {
            Step::Found => {}
            Step::Another(kind) => {
                let offset = self.window.offset();
                match Container::begin(kind, &mut self.window) {
                    Ok(container) => self.container = container,
                    Err(why) => self.ending = Some(why.ending(offset)),
                }
            }
            Step::End(ending) => self.ending = Some(ending),
        }
    }

    /// What was found so far.
    pub fn counts(&self) -> &Counts {
        self.frames.counts()
    }

    /// How the capture ended, once [`next`](Self::next) returned `None`.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Bytes of the file taken so far, compressed ones as they are: what a progress bar shows.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The size of the file in bytes, where it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Reads what is left, and tells what the whole was.
    ///
    /// # Errors
    /// When there are frames but none of a link type that is known.
    pub fn finish(mut self) -> Result<Counts, ReadError> {
        while self.next().is_some() {}
        self.stop()
    }

    /// Leaves the rest unread, and tells what was read.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn stop(self) -> Result<Counts, ReadError> {
        let mut counts = self.frames.into_counts();
        let unknown = counts.skipped(Reason::LinkType).count;
        if unknown > 0 && unknown == counts.frames {
            return Err(ReadError::LinkType {
                file: self.name,
                link: counts.unknown_link.unwrap_or_default(),
            });
        }
        counts.ending = self.ending.unwrap_or(Ending::Whole);
        Ok(counts)
    }
}

impl Container {
    /// Takes the header of a capture in.
    fn begin(kind: Kind, window: &mut Window<'_>) -> Result<Self, error::Header> {
        match kind {
            Kind::Classic => Classic::begin(window).map(Self::Classic),
            Kind::Sections => Ok(Self::Sections(Sections::begin(window)?)),
        }
    }
}

/// Counts what goes through.
#[derive(Debug)]
struct Metered<R> {
    input: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
