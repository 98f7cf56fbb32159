//! Reads the records of a capture, one after another: those of pcap and pcapng, also of captures that were joined.

use super::{
    Ending, ReadError, Reason,
    classic::Classic,
    error,
    frames::Frame,
    packet::Packet,
    sections::Sections,
    sniff::{self, Kind},
    unpack,
    window::Window,
};
use crate::qlog::QlogTrace;
use recoup_units::visible;
use std::{
    fs::File,
    io::{self, Cursor, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Takes the records of a capture.
pub(super) trait RecordSink {
    /// Takes a frame; true if it is a segment or an ICMP message about one, which is then in `packet`.
    fn frame(&mut self, frame: Frame<'_>, packet: &mut Packet) -> bool;

    /// Takes a record that counts as a frame, but holds none.
    fn skip(&mut self, reason: Reason);

    /// An interface dropped this many packets, up to the end of its section.
    fn dropped(&mut self, interface: u32, count: u64);

    /// A classic capture with frames of this link type begins, or for `None` a section of pcapng.
    fn begins(&mut self, _link: Option<i32>) {}

    /// The next interface of the section has this link type.
    fn interface(&mut self, _link: i32) {}

    /// Takes the bytes of a pcapng block as they are, after what the block holds. A block that is not read may come in
    /// parts.
    #[inline(always)]
    fn block(&mut self, _bytes: &[u8]) {}
}

/// The format of a capture.
#[derive(Debug)]
enum Container {
    Classic(Classic),
    Sections(Sections),
}

/// The result of reading one record or block.
#[derive(Debug)]
pub(super) enum Step {
    /// It was a TCP segment.
    Found,
    /// It was none, or more input had to be read first.
    Passed,
    /// The capture ends here. Boxed, because it is rare, and steps are returned once a packet.
    Over(Box<Over>),
}

/// Continuation after a capture.
#[derive(Debug)]
pub(super) enum Over {
    /// Another one begins.
    Another(Kind),
    /// The input is over.
    End(Ending),
}

impl Step {
    #[cold]
    pub fn another(kind: Kind) -> Self {
        Self::Over(Box::new(Over::Another(kind)))
    }

    #[cold]
    pub fn end(ending: Ending) -> Self {
        Self::Over(Box::new(Over::End(ending)))
    }
}

/// A file or stream that is open, decompressed, and looked at.
#[derive(Debug)]
pub struct OpenedInput<'a> {
    name: String,
    window: Window<'a>,
    taken: Arc<AtomicU64>,
    size: Option<u64>,
}

impl OpenedInput<'static> {
    /// Opens a file, or standard input for `-`. A compressed file is decompressed on a thread of
    /// its own, which ends with the reader.
    ///
    /// # Errors
    /// If it cannot be read.
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

    /// Reads a file of this size in bytes that is open, as [`open`](Self::open) does. Messages call it `name`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(name: &str, input: impl Read + Send + 'static, size: u64) -> Result<Self, ReadError> {
        Self::with(name.into(), input, Some(size), unpack::ahead)
    }
}

impl<'a> OpenedInput<'a> {
    /// Reads `input`, which messages call `name`.
    ///
    /// # Errors
    /// If it cannot be read.
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
        if sniff::is_json(window.bytes()) {
            window.fill(sniff::JSON_HEAD_LENGTH);
        }
        Ok(Self { name, window, taken, size })
    }

    /// The trace of QUIC that it holds, or else the file again.
    ///
    /// # Errors
    /// It holds no such trace.
    // The file is no error, but what the caller goes on with.
    #[allow(clippy::result_large_err)]
    pub fn into_qlog(self) -> Result<QlogTrace<'a>, Self> {
        match sniff::kind(self.window.bytes()) {
            Err(sniff::QLOG) => Ok(QlogTrace::new(self)),
            _ => Err(self),
        }
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its size in bytes, if known.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    pub(crate) fn window(&mut self) -> &mut Window<'a> {
        &mut self.window
    }

    /// Bytes read so far, compressed if the file is.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes read so far, compressed if the file is.
    pub(crate) fn taken_counter(&self) -> impl Fn() -> u64 + use<> {
        let taken = Arc::clone(&self.taken);
        move || taken.load(Ordering::Relaxed)
    }
}

/// The records of a capture.
#[derive(Debug)]
pub(super) struct Records<'a, S> {
    pub name: String,
    window: Window<'a>,
    container: Container,
    pub sink: S,
    /// How the capture ended, once it has.
    pub ending: Option<Ending>,
    taken: Arc<AtomicU64>,
    /// The size of the file in bytes, if known.
    pub size: Option<u64>,
}

impl<S: RecordSink> Records<'static, S> {
    /// Opens a file, or standard input for `-`. A compressed file is decompressed on a thread of
    /// its own, which ends with the reader.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn open(path: &Path, sink: S) -> Result<Self, ReadError> {
        Self::of(OpenedInput::open(path)?, sink)
    }

    /// Reads `input`, which messages call `name`. It is decompressed on a thread, as by [`open`](Self::open).
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn of_file(
        name: String,
        input: impl Read + Send + 'static,
        size: Option<u64>,
        sink: S,
    ) -> Result<Self, ReadError> {
        Self::of(OpenedInput::with(name, input, size, unpack::ahead)?, sink)
    }
}

/// The name of a file, in which no character acts on a terminal or ends a line.
pub(super) fn name_of(path: &Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}

impl<'a, S: RecordSink> Records<'a, S> {
    /// Reads `input`, which messages call `name`.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    pub fn new(name: &str, input: impl Read + Send + 'a, sink: S) -> Result<Self, ReadError> {
        Self::of(OpenedInput::new(name, input)?, sink)
    }

    /// Reads a file that is open.
    ///
    /// # Errors
    /// If it does not begin like a capture.
    pub fn of(opened: OpenedInput<'a>, mut sink: S) -> Result<Self, ReadError> {
        let OpenedInput { name, mut window, taken, size } = opened;
        let kind = match sniff::kind(window.bytes()) {
            Ok(kind) => kind,
            Err(sniff::QLOG) => return Err(ReadError::qlog(&name)),
            Err(found) => return Err(ReadError::beginning(name, found, &mut window)),
        };
        let container = Container::open(kind, &mut window, &mut sink).map_err(|e| e.in_file(&name))?;
        Ok(Self { name, window, container, sink, ending: None, taken, size })
    }

    /// Reads the next segment or ICMP message into `packet`; `false` when reading has ended.
    #[inline]
    pub fn step(&mut self, packet: &mut Packet) -> bool {
        while self.ending.is_none() {
            if self.step_once(packet) {
                return true;
            }
        }
        false
    }

    /// Reads one record at most; true if it was a segment or ICMP message, which is then in `packet`.
    #[inline]
    pub fn step_once(&mut self, packet: &mut Packet) -> bool {
        let step = match &mut self.container {
            Container::Classic(classic) => classic.step(&mut self.window, &mut self.sink, packet),
            Container::Sections(ng) => ng.step(&mut self.window, &mut self.sink, packet),
        };
        match step {
            Step::Found => return true,
            Step::Passed => {}
            Step::Over(over) => self.advance(*over),
        }
        false
    }

    /// Continues with the next capture in the file, or ends.
    #[cold]
    fn advance(&mut self, over: Over) {
        if let Container::Sections(sections) = &mut self.container {
            sections.close(&mut self.sink);
        }
        match over {
            Over::Another(kind) => {
                let offset = self.window.offset();
                match Container::open(kind, &mut self.window, &mut self.sink) {
                    Ok(container) => self.container = container,
                    Err(why) => self.ending = Some(why.ending(offset)),
                }
            }
            Over::End(ending) => self.ending = Some(ending),
        }
    }

    /// Another sink takes what comes from here on. Also returns the one before.
    pub fn with_sink<T: RecordSink>(self, sink: T) -> (Records<'a, T>, S) {
        let Self { name, window, container, sink: before, ending, taken, size } = self;
        (Records { name, window, container, sink, ending, taken, size }, before)
    }

    /// Bytes read so far, compressed if the capture is.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Container {
    /// Reads the header of a capture.
    fn open(kind: Kind, window: &mut Window<'_>, sink: &mut impl RecordSink) -> Result<Self, error::Header> {
        match kind {
            Kind::Classic => {
                let classic = Classic::open(window)?;
                sink.begins(Some(classic.link_number));
                Ok(Self::Classic(classic))
            }
            Kind::Sections => {
                let sections = Sections::open(window, sink)?;
                sink.begins(None);
                Ok(Self::Sections(sections))
            }
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
