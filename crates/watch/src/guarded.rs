//! Packets beside copies that `recoup guard copies` sends on this host: those are no retransmissions.
//!
//! ```text
//! source ─► packets wait ─► log: read to its end ─► copies become messages ─► analysis
//! ```
//!
//! The guard names a copy in its log after it has sent it, so the packet is captured first. Packets wait for [`HOLD`] after
//! they were read, and the log is read after that. The guard looks every millisecond for what is due, sends nothing that is late by
//! more than 10 ms, and writes its log after each look. Without logs, packets do not wait.
//!
//! A log may be replaced or begin anew while it is read: then it is read from its beginning.

use crate::source::Source;
use recoup_captures::guard_log::{Act, Entry, LogError, LogLines};
use recoup_net::RingEvent;
use recoup_trace::read::{CapturedPacket, CopyFinder, Counts, Packet, PacketSource, ReadError, Taken};
use recoup_units::{Instant, visible};
use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{self, Duration};

/// How long packets wait before the log is read.
pub const HOLD: Duration = Duration::from_millis(20);

/// Packets that are read at a time.
const BATCH: usize = 1024;

/// Bytes of a log that are read at a time.
const PIECE: usize = 1 << 14;

/// A log that grows.
#[derive(Debug)]
pub struct GrowingLog {
    path: PathBuf,
    file: File,
    /// Bytes that were read.
    read: u64,
    lines: LogLines,
}

impl GrowingLog {
    /// # Errors
    /// When there is no such file.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let name = visible(&path.to_string_lossy()).into_owned();
        match File::open(path) {
            Ok(file) => Ok(Self { path: path.to_owned(), file, read: 0, lines: LogLines::new(&name) }),
            Err(why) => Err(LogError::Unreadable { file: name, why }),
        }
    }

    /// Reads what was written since the last call.
    ///
    /// # Errors
    /// When the log cannot be read, or a line is no entry.
    fn read(&mut self, mut take: impl FnMut(Entry)) -> Result<(), LogError> {
        self.read_on(&mut take)?;
        if self.was_replaced() {
            *self = Self::open(&self.path)?;
            self.read_on(&mut take)?;
        }
        Ok(())
    }

    fn read_on(&mut self, take: &mut impl FnMut(Entry)) -> Result<(), LogError> {
        let mut piece = [0; PIECE];
        loop {
            match self.file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.read += count as u64;
                    self.lines.read(&piece[..count], &mut *take)?;
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(LogError::Unreadable { file: self.lines.file().to_owned(), why }),
            }
        }
    }

    /// Whether the path names another file by now, or this one has become shorter. A file that is gone is written on.
    fn was_replaced(&self) -> bool {
        let place = |about: &Metadata| (about.dev(), about.ino());
        let (Ok(open), Ok(named)) = (self.file.metadata(), self.path.metadata()) else {
            return false;
        };
        place(&open) != place(&named) || open.len() < self.read
    }
}

/// A packet that waits, and since when.
#[derive(Debug)]
struct Waiting {
    packet: Packet,
    since: time::Instant,
}

/// A source whose copies by a guard are messages.
pub struct Guarded<S> {
    source: S,
    logs: Vec<GrowingLog>,
    finder: CopyFinder,
    waiting: VecDeque<Waiting>,
    /// When the logs were last read to their ends.
    read_at: Option<time::Instant>,
    failure: Option<LogError>,
    given_out: CapturedPacket,
}

impl<S: Source> Guarded<S> {
    /// Reads these logs as they grow. What they hold already is read at once.
    ///
    /// # Errors
    /// A line that is no entry.
    pub fn new(source: S, logs: Vec<GrowingLog>) -> Result<Self, LogError> {
        let mut guarded = Self {
            source,
            logs,
            finder: CopyFinder::live(),
            waiting: VecDeque::new(),
            read_at: None,
            failure: None,
            given_out: CapturedPacket::from(&Packet::default()),
        };
        guarded.read_logs();
        guarded.failure.take().map_or(Ok(guarded), Err)
    }

    fn read_logs(&mut self) {
        self.read_at = Some(time::Instant::now());
        let finder = &mut self.finder;
        let mut add = |entry: Entry| {
            if let Entry::Decided(decided) = entry
                && decided.copy.act == Act::Sent
            {
                finder.add(&decided.copy.sent());
            }
        };
        let read = self.logs.iter_mut().try_for_each(|log| log.read(&mut add));
        self.failure = self.failure.take().or(read.err());
    }

    /// Whether the logs were read late enough for the packet that waits longest. Reads them if it is time to.
    fn is_due(&mut self) -> bool {
        let Some(due) = self.waiting.front().map(|waiting| waiting.since + HOLD) else {
            return false;
        };
        if self.read_at.is_none_or(|read_at| read_at < due) && time::Instant::now() >= due {
            self.read_logs();
        }
        self.read_at.is_some_and(|read_at| read_at >= due)
    }

    /// Lets packets of the source wait. Returns whether there were any.
    fn fill(&mut self) -> bool {
        let before = self.waiting.len();
        let mut packet = Packet::default();
        while self.waiting.len() - before < BATCH && self.source.next_into(&mut packet) {
            self.waiting.push_back(Waiting { packet, since: time::Instant::now() });
        }
        self.waiting.len() > before
    }
}

impl<S: Source> Source for Guarded<S> {
    fn wait(&mut self, most: Duration) -> io::Result<Vec<RingEvent>> {
        if let Some(failure) = self.failure.take() {
            return Err(io::Error::other(failure));
        }
        let most = if self.waiting.is_empty() { most } else { most.min(HOLD) };
        self.source.wait(most)
    }

    fn settled(&self) -> Instant {
        let settled = self.source.settled();
        self.waiting.front().map_or(settled, |waiting| waiting.packet.at.min(settled))
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.source.is_over()
    }

    fn gone(&self) -> &'static str {
        self.source.gone()
    }

    fn take_dropped(&mut self) -> io::Result<u64> {
        self.source.take_dropped()
    }
}

impl<S: Source> PacketSource for Guarded<S> {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        let mut packet = Packet::default();
        if !self.next_into(&mut packet) {
            return None;
        }
        self.given_out = CapturedPacket::from(&packet);
        Some(&self.given_out)
    }

    fn next_into(&mut self, packet: &mut Packet) -> bool {
        if self.logs.is_empty() {
            return self.source.next_into(packet);
        }
        loop {
            if !self.is_due() {
                if !self.fill() {
                    return false;
                }
                continue;
            }
            let Some(next) = self.waiting.pop_front() else {
                return false;
            };
            let mut full = CapturedPacket::from(&next.packet);
            match self.finder.take(&mut full) {
                Taken::AsItIs => *packet = next.packet,
                Taken::Changed => *packet = Packet::from(&full),
                Taken::LeftOut => continue,
            }
            return true;
        }
    }

    fn counts(&self) -> &Counts {
        self.source.counts()
    }

    fn taken(&self) -> u64 {
        self.source.taken()
    }

    fn size(&self) -> Option<u64> {
        self.source.size()
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn stop(self) -> Result<Counts, ReadError> {
        let mut counts = self.source.stop()?;
        if !self.logs.is_empty() {
            counts.copies = Some(self.finder.copies().clone());
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests;
