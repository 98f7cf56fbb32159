//! Packets of files that another program writes into a folder, one after another, as `tcpdump -G` or `-C` does: for those who may
//! not read interfaces.
//!
//! ```text
//! folder ─► oldest file ─► next file ─► … ─► the file that is being written: read as it grows
//! ```
//!
//! A thread reads the files in the order in which they were written last. The newest is read as it grows, until there is a newer
//! one. A file that is written again, as the first one of a ring, is new.

use crate::source::Source;
use recoup_net::RingEvent;
use recoup_trace::read::{CapturedPacket, Counts, Packet, PacketSource, ReadError, Reader};
use recoup_units::{Instant, visible};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// How often a folder or a file is looked at that may have more.
const PAUSE: Duration = Duration::from_millis(50);

/// Packets that wait to be analyzed.
const WAITING: usize = 1 << 14;

/// What the reading thread passes on.
enum Passed {
    Packet(Packet),
    /// A file was read to its end: what it held.
    Counts(Box<Counts>),
    /// Something that is worth saying.
    Note(String),
}

/// Reads the files of a folder.
pub struct FolderSource {
    passed: Receiver<Passed>,
    /// One that was taken out to see whether there is any.
    ahead: Option<Passed>,
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    name: String,
    /// Those of the files that were read to their end.
    done: Counts,
    /// Those, and the packets so far of the file that is being read.
    counts: Counts,
    given_out: CapturedPacket,
    last: Instant,
    is_over: bool,
}

impl FolderSource {
    /// # Errors
    /// When there is no such folder, or the system starts no thread.
    pub fn open(folder: &Path) -> io::Result<Self> {
        if !folder.metadata()?.is_dir() {
            return Err(io::Error::other("expected a folder, into which another program writes captures"));
        }
        let (to, passed) = sync_channel(WAITING);
        let stop = Arc::new(AtomicBool::new(false));
        let bytes = Arc::new(AtomicU64::new(0));
        let reading = Reading { folder: folder.to_owned(), to, stop: Arc::clone(&stop), bytes: Arc::clone(&bytes) };
        thread::Builder::new().name("files".into()).spawn(move || reading.run())?;
        Ok(Self {
            passed,
            ahead: None,
            stop,
            bytes,
            name: visible(&folder.to_string_lossy()).into_owned(),
            done: Counts::default(),
            counts: Counts::default(),
            given_out: CapturedPacket::from(&Packet::default()),
            last: Instant::ZERO,
            is_over: false,
        })
    }
}

impl Drop for FolderSource {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Source for FolderSource {
    fn wait(&mut self, most: Duration) -> io::Result<Vec<RingEvent>> {
        if self.ahead.is_none() {
            match self.passed.recv_timeout(most) {
                Ok(passed) => self.ahead = Some(passed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.is_over = true,
            }
        }
        Ok(Vec::new())
    }

    /// The program that writes the files may hold back later packets for as long as it likes.
    fn settled(&self) -> Instant {
        self.last
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn gone(&self) -> &'static str {
        "the folder is gone"
    }

    fn take_dropped(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}

impl PacketSource for FolderSource {
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        let mut packet = Packet::default();
        if !self.next_into(&mut packet) {
            return None;
        }
        self.given_out = CapturedPacket::from(&packet);
        Some(&self.given_out)
    }

    fn next_into(&mut self, packet: &mut Packet) -> bool {
        loop {
            let passed = match self.ahead.take() {
                Some(passed) => Ok(passed),
                None => self.passed.try_recv(),
            };
            match passed {
                Ok(Passed::Packet(next)) => {
                    *packet = next;
                    packet.frame += self.done.frames;
                    self.counts.frames = packet.frame;
                    self.counts.packets += 1;
                    self.last = self.last.max(packet.at);
                    return true;
                }
                Ok(Passed::Counts(counts)) => {
                    self.done.append(*counts);
                    self.counts = self.done.clone();
                }
                Ok(Passed::Note(note)) => recoup::console::note(note),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {
                    self.is_over = true;
                    return false;
                }
            }
        }
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn taken(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn size(&self) -> Option<u64> {
        None
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn stop(self) -> Result<Counts, ReadError> {
        Ok(self.counts.clone())
    }
}

/// The thread that reads.
#[derive(Clone)]
struct Reading {
    folder: PathBuf,
    to: SyncSender<Passed>,
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
}

/// A file, and when it was written last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    written: SystemTime,
    path: PathBuf,
}

impl Reading {
    fn run(&self) {
        let mut done = None;
        while !self.stop.load(Ordering::Relaxed) {
            let Some(next) = self.after(done) else {
                if !self.folder.is_dir() {
                    return;
                }
                thread::sleep(PAUSE);
                continue;
            };
            // A file of which nothing was read counts as it was found.
            let written = Arc::new(Mutex::new(next.written));
            if self.read(next.path, Arc::clone(&written)).is_err() {
                return;
            }
            done = Some(*written.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn pass(&self, passed: Passed) -> Result<(), NobodyTakes> {
        self.to.send(passed).map_err(|_| NobodyTakes)
    }

    /// The oldest file that was written to after this time.
    fn after(&self, done: Option<SystemTime>) -> Option<Found> {
        let files = self.folder.read_dir().ok()?.filter_map(|entry| found(&entry.ok()?.path()));
        files.filter(|file| done.is_none_or(|done| file.written > done)).min()
    }

    /// Reads a file as it grows, until there is a newer one. `written` becomes the time when it was written last.
    ///
    /// # Errors
    /// If nobody takes packets any more.
    fn read(&self, path: PathBuf, written: Arc<Mutex<SystemTime>>) -> Result<(), NobodyTakes> {
        let name = visible(&path.to_string_lossy()).into_owned();
        let Ok(input) = File::open(&path) else {
            // It was removed meanwhile.
            return Ok(());
        };
        let growing = Growing { input, written, reading: self.clone() };
        let left_out = |why: ReadError| Passed::Note(format!("left out: {why}"));
        let mut reader = match Reader::new(&name, growing) {
            Ok(reader) => reader,
            Err(why) => return self.pass(left_out(why)),
        };
        let mut packet = Packet::default();
        while reader.next_into(&mut packet) {
            self.pass(Passed::Packet(packet))?;
        }
        self.pass(reader.stop().map_or_else(left_out, |counts| Passed::Counts(Box::new(counts))))
    }
}

/// The source is gone.
struct NobodyTakes;

fn found(path: &Path) -> Option<Found> {
    let about = path.metadata().ok().filter(Metadata::is_file)?;
    Some(Found { written: about.modified().ok()?, path: path.to_owned() })
}

/// A file that may grow.
struct Growing {
    input: File,
    /// When it was written last, as far as it was read.
    written: Arc<Mutex<SystemTime>>,
    reading: Reading,
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Looked for first: what was written before a newer file was begun is read.
            let is_over = self.reading.stop.load(Ordering::Relaxed) || !self.reading.folder.is_dir();
            let is_last = is_over || self.has_successor()?;
            let read = self.input.read(buffer)?;
            self.reading.bytes.fetch_add(read as u64, Ordering::Relaxed);
            if read > 0 || is_last {
                return Ok(read);
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Growing {
    /// Whether another file was written to after this one.
    fn has_successor(&self) -> io::Result<bool> {
        let now = self.input.metadata()?.modified()?;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(self.reading.after(Some(now)).is_some())
    }
}

#[cfg(test)]
mod tests;
