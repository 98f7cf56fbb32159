//! Reads several files as one capture: rotated captures, and captures that overlap.
//!
//! Files are read in the order of their first packets. Packets at a cut between two files may be
//! slightly out of order, as within a file. So a file that begins up to [`MOST_LATE`] before the end of
//! the file before it still follows that one, and the packets are those of the whole capture. From a
//! longer overlap on, both files are merged by time:
//!
//! ```text
//! a │▇▇▇▇▇▇▇▇▇▇▇▇▇▇│              a │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇│
//! b              │▇▇▇▇▇▇▇▇▇▇│     b         │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇│
//!    a, then b                       a   │ a and b by time  │ b
//! ```
//!
//! To find out, [`Joined`] reads ahead in a file from the first packet that is later than the next
//! file's first one. A packet that two merged files hold counts once.
//!
//! Frames are numbered through all files in the order in which they are read. [`JoinedFiles`] knows the
//! file of each.
//!
//! | module | what it does |
//! | --- | --- |
//! | `plan` | decides which files are read, and in which order |
//! | `part` | how a file is read: as it is, or as it was recorded |
//! | `recorded` | records the order of a file's packets, and reads it |
//! | `replay` | joins the packets of recorded files as they were planned |
//! | `look` | looks at the beginning of a file: when it begins, and which capture it is |
//! | `open_file` | a file that is being read, and its packets that wait |
//! | `files` | what was read of each file, and notes on it |
//! | `frame_map` | the file of each frame |

mod files;
mod frame_map;
mod look;
mod open_file;
mod part;
mod plan;
#[cfg(not(target_family = "wasm"))]
mod recorded;
mod replay;

use super::{CapturedPacket, Counts, Ending, PacketSource, ReadError, Reader, sniff};
use files::JoinedFile as File;
use open_file::{Ahead, OpenFile};
pub use part::CapturePart;
use plan::{Plan, PlannedFile};
#[cfg(not(target_family = "wasm"))]
pub use recorded::{Record, RecordedFile, RecordedPart, record_file};
use recoup_units::Instant;
pub use replay::{JoinedOrder, OrderedPackets};
use std::{collections::VecDeque, path::PathBuf, time::Duration};

pub use files::{JoinedFile, JoinedFiles};

/// Packets of a capture may be out of order by this much, in ns.
const MOST_LATE: u64 = 1_000_000_000;

/// The most files that are open at once.
const MOST_OPEN: usize = 64;

/// Latest packets of merged files that are compared with those of the other files.
const MOST_RECENT: usize = 1 << 12;

/// Later than any packet.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// Reads the packets of several files as if they were one capture.
///
/// ```no_run
/// use recoup_trace::read::{Joined, JoinedFiles, PacketSource};
///
/// let parts = ["day.pcap0".into(), "day.pcap1".into()];
/// let mut joined = Joined::open(&parts, &JoinedFiles::default());
/// while let Some(packet) = joined.next_segment() {
///     println!("{} {}", packet.frame, packet.endpoints);
/// }
/// # Ok::<(), recoup_trace::read::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Joined<R = Reader<'static>> {
    /// The files that are yet to be read, the next one first.
    planned: VecDeque<PlannedFile>,
    /// When the next one begins; [`NEVER`] if there is none.
    next_begins: Instant,
    /// The files that are being read.
    open: Vec<OpenFile<R>>,
    /// The latest packet, if it had to wait.
    packet: Option<CapturedPacket>,
    counts: Counts,
    failures: Vec<ReadError>,
    recent: RecentPackets,
    name: String,
    size: u64,
    /// Bytes read of files that are closed again.
    taken: u64,
    /// When the latest packet of the earlier runs was captured.
    read_until: Option<Instant>,
    /// When the latest packet of the closed files was captured, or of those that earlier runs read.
    latest: Option<Instant>,
    /// The order of the files and their frames, if it is asked for.
    order: Option<JoinedOrder>,
}

impl Joined {
    /// Looks at files and plans to read them in the order of their times, whatever the order given.
    /// Files that cannot be read are left out ([`failures`](Self::failures)). Standard input (`-`) can
    /// only be read alone.
    ///
    /// `before` are the files that earlier runs read. A file of those that has grown is read from where
    /// reading ended, and the others not at all. Names do not matter: a file may have been renamed or
    /// compressed since.
    pub fn open(paths: &[PathBuf], before: &JoinedFiles) -> Self {
        Self::open_parts(paths, before)
    }
}

#[cfg(not(target_family = "wasm"))]
impl Joined<RecordedPart> {
    /// Opens recorded files, whose packets have no headers. [`order`](Self::order) says afterwards in which
    /// order their packets are to be read.
    pub fn open_recorded(paths: &[PathBuf]) -> Self {
        Self { order: Some(JoinedOrder::default()), ..Self::open_parts(paths, &JoinedFiles::default()) }
    }
}

impl<R: CapturePart> Joined<R> {
    fn open_parts(paths: &[PathBuf], before: &JoinedFiles) -> Self {
        let Plan { files: planned, failures, missing } = Plan::of::<R>(paths, before);
        let mut joined = Self {
            next_begins: NEVER,
            open: Vec::new(),
            packet: None,
            counts: Counts::default(),
            failures,
            recent: RecentPackets::default(),
            name: display_name(&planned),
            size: planned.iter().map(|file| file.beginning.size).sum(),
            taken: 0,
            read_until: before.latest(),
            latest: before.latest(),
            planned,
            order: None,
        };
        joined.counts.files.missing = missing;
        joined.next_begins = joined.when_next_begins();
        joined
    }

    /// Why files were left out: they cannot be read, or hold the same capture as another file, or begin
    /// before the end of what earlier runs read.
    pub fn failures(&mut self) -> Vec<ReadError> {
        std::mem::take(&mut self.failures)
    }

    /// How many files are to be read.
    pub fn files_to_read(&self) -> usize {
        self.planned.len() + self.open.len()
    }

    /// The order in which the files and their frames were read, if they are recorded and all was read.
    pub fn order(&mut self) -> Option<JoinedOrder> {
        self.order.take()
    }

    fn when_next_begins(&self) -> Instant {
        let next = self.planned.front();
        next.and_then(|file| file.begins).unwrap_or(NEVER)
    }

    /// Opens the next file; `false` if there is none.
    fn open_next(&mut self) -> bool {
        let Some(planned) = self.planned.pop_front() else {
            return false;
        };
        self.next_begins = self.when_next_begins();
        let index = self.counts.files.files.len() as u32;
        if let Some(order) = &mut self.order {
            order.add_file(&planned.path);
        }
        let mut file = File {
            name: planned.name.clone(),
            frames: planned.read_before,
            first_packets: planned.beginning.packets.clone(),
            ..File::default()
        };
        match OpenFile::open(planned, index, self.read_until) {
            Ok(open) => {
                if let (Some(begins), Some(latest)) = (open.begins(), self.latest)
                    && self.open.is_empty()
                {
                    file.gap = begins.since(latest);
                }
                self.open.push(open);
            }
            // Nothing of it is written yet.
            Err(ReadError::Cut { .. }) => file.ending = Ending::Cut { offset: 0 },
            Err(ReadError::Unknown { found: sniff::EMPTY, .. }) => file.ending = Ending::Empty,
            Err(error) => {
                let why = error.to_string();
                file.ending = Ending::Unreadable { offset: 0, why };
            }
        }
        self.counts.files.files.push(file);
        if self.open.len() > 1 {
            let files = &self.counts.files.files;
            let names = self.open.iter().map(|open| &*files[open.index as usize].name);
            self.name = names.take(4).collect::<Vec<_>>().join(", ");
        }
        true
    }

    /// The next file would be one too many: leaves it out.
    fn leave_out_next(&mut self) {
        if let Some(planned) = self.planned.pop_front() {
            if let Some(order) = &mut self.order {
                order.add_file(&planned.path);
            }
            let why = format!("it overlaps {MOST_OPEN} other files");
            self.counts.files.files.push(File {
                name: planned.name,
                ending: Ending::Unreadable { offset: 0, why },
                ..File::default()
            });
        }
        self.next_begins = self.when_next_begins();
    }

    /// Numbers the frames of an open file up to `frame`, as the file counts.
    fn number(&mut self, place: usize, frame: u64) {
        let file = &mut self.open[place];
        let count = frame.saturating_sub(file.numbered);
        if let Some(order) = &mut self.order {
            order.add_frames(file.index, file.numbered + 1, count);
        }
        let map = &mut self.counts.files.map;
        map.add(file.index, file.numbered + 1, count);
        file.numbered += count;
        self.counts.frames = map.frames();
    }

    /// Closes an open file, and counts its frames.
    fn close(&mut self, place: usize) {
        let last = self.open[place].last_frame();
        self.number(place, last);
        let closed = self.open.remove(place);
        self.taken += closed.taken();
        self.latest = self.latest.max(closed.latest());
        for other in &self.open {
            let shared = closed.overlap(other);
            let later = if closed.begins() > other.begins() { &closed } else { other };
            let file = &mut self.counts.files.files[later.index as usize];
            file.overlap = file.overlap.max(shared);
        }
        let files = &mut self.counts.files;
        files.longest_pause = files.longest_pause.max(Duration::from_nanos(closed.longest_pause));
        let index = closed.index;
        let counts = closed.finish(&mut files.files[index as usize]);
        let files = std::mem::take(&mut self.counts.files);
        let place = |frame| files.map.find(index, frame).unwrap_or(frame);
        self.counts.merge(&counts, place);
        self.counts.files = files;
    }

    /// Reads the next packet of the only open file, as long as no packet waits and the next file has
    /// not begun.
    #[inline]
    fn step_in_order(&mut self) -> bool {
        let [file] = &mut self.open[..] else {
            return false;
        };
        if self.recent.until.is_some() {
            return false;
        }
        let Some(frame) = file.step_in_order(self.next_begins) else {
            return false;
        };
        // The frames of this file that are numbered are the latest of all.
        self.counts.frames = self.counts.files.map.frames() + (frame - file.numbered);
        file.packet_mut().frame = self.counts.frames;
        true
    }

    /// Reads the next packet in all other cases.
    #[cold]
    fn step(&mut self) -> bool {
        loop {
            let next = match self.open.len() {
                0 if self.open_next() => None,
                0 => return false,
                1 => self.step_one(),
                _ => self.step_merged(),
            };
            if let Some((place, mut packet)) = next {
                self.number(place, packet.frame);
                packet.frame = self.counts.frames;
                self.packet = Some(packet);
                return true;
            }
        }
    }

    /// The next packet of the only open file. `None` after the file was closed, or another one was
    /// opened.
    fn step_one(&mut self) -> Option<(usize, CapturedPacket)> {
        match self.open[0].look_ahead(self.next_begins) {
            Ahead::Follows => {
                let packet = self.open[0].pop()?;
                self.once(0, packet)
            }
            Ahead::Over => {
                self.close(0);
                None
            }
            Ahead::Overlaps => {
                let given = self.open[0].last_given;
                self.number(0, given);
                self.open_next();
                None
            }
        }
    }

    /// The earliest packet of all open files. `None` after a file was closed or opened, or if another
    /// file had this packet as well.
    fn step_merged(&mut self) -> Option<(usize, CapturedPacket)> {
        let mut earliest = (NEVER, 0);
        for place in 0..self.open.len() {
            match self.open[place].due() {
                None => {
                    self.close(place);
                    return None;
                }
                Some(due) if due < earliest.0 => earliest = (due, place),
                Some(_) => {}
            }
        }
        let (due, place) = earliest;
        if self.next_begins <= due && self.next_begins < NEVER {
            if self.open.len() < MOST_OPEN {
                self.open_next();
            } else {
                self.leave_out_next();
            }
            return None;
        }
        let packet = self.open[place].pop()?;
        self.recent.until = self.recent.until.max(Some(due));
        self.once(place, packet)
    }

    /// Passes a packet of an open file on, unless another file had it as well.
    fn once(&mut self, place: usize, packet: CapturedPacket) -> Option<(usize, CapturedPacket)> {
        let index = self.open[place].index;
        let digest = || R::digest(&packet);
        if self.recent.is_repeated(packet.at, digest, index) {
            self.number(place, packet.frame);
            if let Some(order) = &mut self.order {
                order.repeat(self.counts.frames);
            }
            self.counts.files.files[index as usize].repeated += 1;
            return None;
        }
        Some((place, packet))
    }
}

impl<R: CapturePart> PacketSource for Joined<R> {
    #[inline]
    fn next_or_message(&mut self) -> Option<&CapturedPacket> {
        if self.step_in_order() {
            return self.open.first_mut().map(|file| &*file.packet_mut());
        }
        if self.step() { self.packet.as_ref() } else { None }
    }

    /// The counts of the files that are closed again, with the frames of all packets so far.
    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn taken(&self) -> u64 {
        self.taken + self.open.iter().map(OpenFile::taken).sum::<u64>()
    }

    fn size(&self) -> Option<u64> {
        (self.size > 0).then_some(self.size)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn stop(mut self) -> Result<Counts, ReadError> {
        while !self.open.is_empty() {
            self.close(0);
        }
        if self.counts.frames == 0 {
            let endings = || self.counts.files.iter().map(|file| &file.ending);
            let early = endings().find(|ending| !matches!(ending, Ending::Whole | Ending::Empty));
            // A capture is empty if all of its files are.
            let empty = endings().all(|ending| *ending == Ending::Empty).then_some(Ending::Empty);
            self.counts.ending = early.cloned().or(empty).unwrap_or_default();
        }
        self.counts.of_known_link(self.name)
    }
}

/// Name of a capture of these files.
fn display_name(files: &VecDeque<PlannedFile>) -> String {
    match (files.front(), files.back(), files.len()) {
        (Some(first), Some(last), count @ 2..) => {
            format!("{} to {} ({count} files)", first.name, last.name)
        }
        (Some(only), ..) => only.name.clone(),
        _ => "no new files".into(),
    }
}

/// The latest packets of merged files.
#[derive(Debug, Default)]
struct RecentPackets {
    /// A digest and its file, by some bits of the digest.
    slots: Vec<Option<(u64, u32)>>,
    /// Until when files were merged; `None` if that was long ago.
    until: Option<Instant>,
}

impl RecentPackets {
    /// Whether another file than `file` had this packet a moment ago.
    fn is_repeated(&mut self, at: Instant, digest: impl FnOnce() -> u64, file: u32) -> bool {
        match self.until {
            None => return false,
            Some(until) if at.nanos_since(until) > MOST_LATE => {
                *self = Self::default();
                return false;
            }
            Some(_) => self.slots.resize(MOST_RECENT, None),
        }
        let digest = digest();
        let slot = &mut self.slots[digest as usize % MOST_RECENT];
        match *slot {
            Some((known, of)) if known == digest && of != file => true,
            _ => {
                *slot = Some((digest, file));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
