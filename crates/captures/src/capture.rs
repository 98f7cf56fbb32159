//! Captures that can be opened again.
//!
//! ```text
//! paths ─► Input (checked once) ─► Capture, one after another ─┬► analyze: the first reading
//!                                                              └► Again: the second reading
//! ```
//!
//! Most views read a capture twice: an analysis finds connections, and a second reading takes the packets of some of
//! them. A file is opened twice. Of a stream, which can be read only once, a limited number of packets is kept.

mod input;
mod memory;
mod opened;
mod progress;
mod source;

pub use input::{Captures, Input, InputError};
pub use opened::OpenedFile;
pub use progress::{Progress, Unwatched};
pub use source::CaptureSource;

use crate::analysis::{self, AnalysisError, Analyzed, Collector, run_qlog};
use memory::{Memory, Recalled, Remembering};
use recoup_trace::analyze::Settings;
use recoup_trace::read::{
    CapturedPacket, Counts, Joined, JoinedFiles, OpenedInput, Packet, PacketSource, QlogTrace, ReadError, Reader,
    SentCopy, WithoutCopies,
};
use recoup_units::visible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A small capture of a lossy web workload, taken at the server, compressed by zstd. It was made by
///
/// ```sh
/// recoup run fetch --profile linux-6 --flows 60 --pcap demo \
///   --set rtt=60ms --set writes=34kB@0,12kB@400ms --set close=true \
///   --set drop=bernoulli:0.03,up:bernoulli:0.03 --set reorder=down:1%:40ms
/// ```
const DEMO: &[u8] = include_bytes!("capture/demo.pcap.zst");

/// The name of the [`DEMO`].
const DEMO_NAME: &str = "demo";

/// A capture that is open, and can be opened once more.
pub struct Capture<'a> {
    name: String,
    first: Reading<'a>,
    origin: Origin<'a>,
}

/// Where a second reading takes its packets from.
#[derive(Clone)]
enum Origin<'a> {
    Demo,
    File(PathBuf),
    Stream,
    Joined(&'a [PathBuf]),
    Packets(&'a [CapturedPacket]),
    Source(&'a dyn CaptureSource),
}

impl<'a> Capture<'a> {
    /// The built-in capture.
    ///
    /// # Errors
    /// None but a defect: the capture is damaged.
    pub fn demo() -> Result<Self, ReadError> {
        Ok(Self::new(DEMO_NAME, Reading::one(Reader::new(DEMO_NAME, DEMO)?), Origin::Demo))
    }

    /// Opens a file or a stream; `-` is standard input. It may be a trace of QUIC, which not every view can show
    /// ([`Collector::READS_QLOG`]).
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture or a trace.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let first = Reading::of(OpenedInput::open(path)?)?;
        let origin = match path.metadata() {
            Ok(about) if about.is_file() => Origin::File(path.to_owned()),
            _ => Origin::Stream,
        };
        Ok(Self::new(visible(&path.to_string_lossy()).into_owned(), first, origin))
    }

    /// Opens a capture that has no path.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin like a capture.
    fn source(source: &'a dyn CaptureSource) -> Result<Self, ReadError> {
        Ok(Self::new(source.name(), Reading::of(source.open()?)?, Origin::Source(source)))
    }

    /// A stream that is open.
    pub fn stream(name: &str, reader: Reader<'a>) -> Self {
        Self::new(name, Reading::one(reader), Origin::Stream)
    }

    /// Opens files that are one capture. Those that cannot be read are left out.
    ///
    /// # Errors
    /// If none can be read, why not the first.
    fn joined(paths: &'a [PathBuf]) -> Result<Self, ReadError> {
        let (joined, mut failures) = Self::join(paths);
        // Without a file that can be read there is a failure.
        joined.ok_or_else(|| failures.remove(0))
    }

    /// Opens files that are one capture. Also returns why files are left out; `None` if none is left.
    fn join(paths: &'a [PathBuf]) -> (Option<Self>, Vec<ReadError>) {
        let mut joined = Joined::open(paths, &JoinedFiles::default());
        let failures = joined.failures();
        let name = joined.name().to_owned();
        let is_any = joined.files_to_read() > 0;
        let capture = is_any.then(|| Self::new(name, Reading::Joined(Box::new(joined)), Origin::Joined(paths)));
        (capture, failures)
    }

    /// Packets in memory, in the order of their frames.
    pub fn packets(name: &str, packets: &'a [CapturedPacket]) -> Self {
        Self::new(name, Reading::Recalled(Recalled::of(packets)), Origin::Packets(packets))
    }

    fn new(name: impl Into<String>, first: Reading<'a>, origin: Origin<'a>) -> Self {
        Self { name: name.into(), first, origin }
    }

    /// The user's name for it: a path, `-`, or that of all joined files.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.first.size()
    }

    /// Whether it is a trace of QUIC.
    pub(crate) fn is_qlog(&self) -> bool {
        matches!(self.first, Reading::Qlog(_))
    }

    /// Reads it once, without a view.
    pub fn into_packets(self) -> impl PacketSource {
        self.first
    }

    /// Reads it once, without a view, as these settings say.
    pub(crate) fn into_packets_by(self, settings: &Settings) -> Reading<'a> {
        self.first.without(settings.copies.as_deref())
    }

    /// Analyzes it. `collector` makes a collector for each thread.
    ///
    /// # Errors
    /// If no frame is readable, or if it is a trace of QUIC that the view or the settings do not suit.
    pub fn analyze<V: Collector>(
        self,
        settings: &Settings,
        collector: impl Fn() -> V,
        progress: &dyn Progress,
    ) -> Result<Analyzed<V>, AnalysisError> {
        let source = match self.first {
            Reading::Qlog(trace) => return run_qlog(&self.name, *trace, settings, collector, progress),
            first => first.without(settings.copies.as_deref()),
        };
        analysis::run(&self.name, source, settings, collector, |source| progress.reads(source.taken()))
    }

    /// Analyzes it, and prepares its second reading.
    ///
    /// # Errors
    /// As of [`analyze`](Self::analyze).
    pub(crate) fn analyze_first<V: Collector>(
        self,
        settings: &Settings,
        collector: impl Fn() -> V,
        progress: &dyn Progress,
    ) -> Result<(Analyzed<V>, Again<'a>), AnalysisError> {
        let Self { name, first, origin } = self;
        let memory = Memory::default();
        let first = match (first, &origin) {
            (Reading::One(source), Origin::Stream) => {
                Reading::Remembering(Remembering { source, memory: memory.clone() })
            }
            (Reading::Qlog(trace), _) => {
                let analyzed = run_qlog(&name, *trace, settings, collector, progress)?;
                return Ok((analyzed, Again { origin, memory, copies: None }));
            }
            (first, _) => first,
        };
        let first = first.without(settings.copies.as_deref());
        let analyzed = analysis::run(&name, first, settings, collector, |source| progress.reads(source.taken()))?;
        Ok((analyzed, Again { origin, memory, copies: settings.copies.clone() }))
    }
}

/// A capture that was analyzed and can be read for a second time.
pub struct Again<'a> {
    origin: Origin<'a>,
    /// Packets kept of a stream.
    memory: Memory,
    /// As in the settings of the analysis.
    copies: Option<Arc<[SentCopy]>>,
}

impl<'a> Again<'a> {
    /// Has `read` read the capture that was analyzed, as long as its second argument says. `go_on` takes the number of
    /// bytes read, and returns `false` to end the reading. Also returns whether it did.
    ///
    /// # Errors
    /// If the capture cannot be opened again.
    pub(crate) fn read<V, R>(
        &self,
        analyzed: &Analyzed<V>,
        go_on: &(dyn Fn(u64) -> bool + Sync),
        read: impl FnOnce(Reading<'_>, &mut dyn FnMut(&Reading<'_>) -> bool) -> R,
    ) -> Result<(R, bool), ReadError> {
        // The second reading goes no further than the first.
        let frames = analyzed.counts.frames;
        let mut stopped = false;
        let mut goes_on = |source: &Reading<'_>| {
            stopped = !analyzed.interrupted && !go_on(source.taken());
            !stopped && (!analyzed.interrupted || source.counts().frames < frames)
        };
        let source = self.open(analyzed.counts.clone())?.without(self.copies.as_deref());
        let result = read(source, &mut goes_on);
        Ok((result, stopped))
    }

    /// `counts` are those of the first reading.
    fn open(&self, counts: Counts) -> Result<Reading<'a>, ReadError> {
        Ok(match &self.origin {
            Origin::Demo => Reading::one(Reader::new(DEMO_NAME, DEMO)?),
            Origin::File(path) => Reading::one(Reader::open(path)?),
            Origin::Stream => Reading::Recalled(self.memory.recall(counts)),
            Origin::Joined(paths) => {
                let mut joined = Joined::open(paths, &JoinedFiles::default());
                let failure = joined.failures().into_iter().next();
                match failure.filter(|_| joined.files_to_read() == 0) {
                    Some(failure) => return Err(failure),
                    None => Reading::Joined(Box::new(joined)),
                }
            }
            Origin::Packets(packets) => Reading::Recalled(Recalled::of(packets)),
            Origin::Source(source) => Reading::of(source.open()?)?,
        })
    }

    /// A note on a stream of which only the first packets were kept and read. `done` says what was done with them: "are
    /// drawn".
    pub(crate) fn kept_note(&self, done: &str) -> Option<String> {
        let kept = self.memory.recalled_of_more()?;
        Some(format!(
            "only the first {kept} packets {done}: a stream is read once, and no more packets are kept; a file has no limit"
        ))
    }
}

/// Reads the packets of a capture.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one value a reading")]
pub(crate) enum Reading<'a> {
    One(Box<Reader<'a>>),
    Joined(Box<Joined>),
    Remembering(Remembering<'a>),
    Recalled(Recalled),
    /// A trace of QUIC, which has no packets.
    Qlog(Box<QlogTrace<'a>>),
    /// One of these, in which copies by another program are messages.
    WithoutCopies(Box<WithoutCopies<Self>>),
}

impl<'a> Reading<'a> {
    fn one(reader: Reader<'a>) -> Self {
        Self::One(Box::new(reader))
    }

    /// A capture, or a trace of QUIC.
    fn of(opened: OpenedInput<'a>) -> Result<Self, ReadError> {
        match opened.into_qlog() {
            Ok(trace) => Ok(Self::Qlog(Box::new(trace))),
            Err(opened) => Reader::of(opened).map(Self::one),
        }
    }

    /// The same, in which these copies are messages. `None`: none are known.
    fn without(self, copies: Option<&[SentCopy]>) -> Self {
        match copies {
            None => self,
            Some(copies) => Self::WithoutCopies(Box::new(WithoutCopies::new(self, copies))),
        }
    }

    fn source(&self) -> &(dyn PacketSource + 'a) {
        match self {
            Self::One(source) => &**source,
            Self::Joined(source) => &**source,
            Self::Remembering(source) => source,
            Self::Recalled(source) => source,
            Self::Qlog(source) => &**source,
            Self::WithoutCopies(source) => &**source,
        }
    }

    fn source_mut(&mut self) -> &mut (dyn PacketSource + 'a) {
        match self {
            Self::One(source) => &mut **source,
            Self::Joined(source) => &mut **source,
            Self::Remembering(source) => source,
            Self::Recalled(source) => source,
            Self::Qlog(source) => &mut **source,
            Self::WithoutCopies(source) => &mut **source,
        }
    }
}

impl PacketSource for Reading<'_> {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        self.source_mut().next_or_message()
    }

    fn next_into(&mut self, packet: &mut Packet) -> bool {
        self.source_mut().next_into(packet)
    }

    fn counts(&self) -> &Counts {
        self.source().counts()
    }

    fn taken(&self) -> u64 {
        self.source().taken()
    }

    fn size(&self) -> Option<u64> {
        self.source().size()
    }

    fn name(&self) -> &str {
        self.source().name()
    }

    fn stop(self) -> Result<Counts, ReadError> {
        match self {
            Self::One(source) => source.stop(),
            Self::Joined(source) => source.stop(),
            Self::Remembering(source) => source.stop(),
            Self::Recalled(source) => source.stop(),
            Self::Qlog(source) => source.stop(),
            Self::WithoutCopies(source) => source.stop(),
        }
    }
}
