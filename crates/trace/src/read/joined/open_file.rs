//! A file of a joined capture that is being read.

use super::{
    super::{CapturedPacket, Counts, Ending, ReadError},
    JoinedFile, MOST_LATE,
    part::CapturePart,
    plan::PlannedFile,
};
use recoup_units::Instant;
use std::{collections::VecDeque, time::Duration};

/// The most packets that are read ahead to see whether a file ends.
const MOST_WAITING: usize = 1 << 16;

/// The next event of the only file that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A packet that comes before the next file's, in time or because the file ends soon.
    Follows,
    /// The file is over.
    Over,
    /// Packets that are too late to come before the next file's.
    Overlaps,
}

/// A file that is being read.
#[derive(Debug)]
pub(super) struct OpenFile<R> {
    reader: R,
    /// Its place in the list of files.
    pub index: u32,
    /// Packets read ahead. Frames are those of the file.
    waiting: VecDeque<CapturedPacket>,
    /// So many of them come before the next file's.
    free: usize,
    /// Its reader has nothing more.
    is_over: bool,
    /// Frames that have a number in the joined capture, or were read by an earlier run.
    pub numbered: u64,
    /// The frame of the latest packet that was given.
    pub last_given: u64,
    /// The times of the first packet, of the latest and of the one before it.
    times: Option<[Instant; 3]>,
    /// The longest silence between two packets, in ns.
    pub longest_pause: u64,
    /// Why the rest is not read.
    refused: Option<&'static str>,
}

impl<R: CapturePart> OpenFile<R> {
    /// Opens a file and reads its first packet.
    ///
    /// # Errors
    /// If it cannot be read, or holds another capture than it did.
    pub fn open(planned: PlannedFile, index: u32, read_until: Option<Instant>) -> Result<Self, ReadError> {
        let reader = R::open(&planned.path)?;
        let skipped = planned.read_before;
        let mut file = Self {
            reader,
            index,
            waiting: VecDeque::new(),
            free: 0,
            is_over: false,
            numbered: skipped,
            last_given: skipped,
            times: None,
            longest_pause: 0,
            refused: None,
        };
        if !file.fetch() {
            return Ok(file);
        }
        if !planned.beginning.packets.may_begin_with(R::digest(&file.waiting[0])) {
            return Err(ReadError::Overwritten { file: planned.name });
        }
        if skipped > 0 {
            file.skip(skipped);
            let first = file.waiting.front().map(|packet| packet.at);
            if let (Some(first), Some(until)) = (first, read_until)
                && until.nanos_since(first) > MOST_LATE
            {
                file.waiting.clear();
                file.is_over = true;
                file.refused = Some("what was added to it is from before the end of what was read");
            }
        }
        Ok(file)
    }

    /// Passes over the frames that an earlier run read.
    fn skip(&mut self, frames: u64) {
        self.reader.count_after(frames);
        while self.waiting.front().is_some_and(|packet| packet.frame <= frames) {
            self.waiting.clear();
            self.fetch();
        }
        self.reader.forget_segments(self.waiting.len() as u64);
    }

    /// Reads a packet that waits; `false` if there is none.
    fn fetch(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        match self.reader.next_packet() {
            Some(packet) => self.waiting.push_back(*packet),
            None => self.is_over = true,
        }
        !self.is_over
    }

    /// Reads the next packet and returns its frame if no packet waits and it is before `next_begins`.
    #[inline]
    pub fn step_in_order(&mut self, next_begins: Instant) -> Option<u64> {
        if self.is_over || !self.waiting.is_empty() {
            return None;
        }
        let Some(packet) = self.reader.next_packet() else {
            self.is_over = true;
            return None;
        };
        let (at, frame) = (packet.at, packet.frame);
        if at >= next_begins {
            self.waiting.push_back(*packet);
            return None;
        }
        self.on_given(at, frame);
        Some(frame)
    }

    /// The packet that was read last.
    #[inline]
    pub fn packet_mut(&mut self) -> &mut CapturedPacket {
        self.reader.packet_mut()
    }

    /// Decides about the next packet, where the next file begins at `next_begins`.
    pub fn look_ahead(&mut self, next_begins: Instant) -> Ahead {
        if self.free > 0 {
            return Ahead::Follows;
        }
        let mut late = 0;
        for i in 0..MOST_WAITING {
            if i == self.waiting.len() && !self.fetch() {
                self.free = i;
                return if i == 0 { Ahead::Over } else { Ahead::Follows };
            }
            let at = self.waiting[i].at;
            if at < next_begins {
                self.free = i + 1;
                return Ahead::Follows;
            }
            // A single one may have a wrong timestamp.
            late = if at.nanos_since(next_begins) > MOST_LATE { late + 1 } else { 0 };
            if late == 2 {
                return Ahead::Overlaps;
            }
        }
        Ahead::Overlaps
    }

    /// When the next packet is to be given; `None` if there is none. A single timestamp far ahead of its
    /// neighbours does not hold the packets after it back.
    pub fn due(&mut self) -> Option<Instant> {
        if self.waiting.is_empty() && !self.fetch() {
            return None;
        }
        let at = self.waiting[0].at;
        let Some([_, latest, _]) = self.times else {
            return Some(at);
        };
        if at.nanos_since(latest) > MOST_LATE {
            if self.waiting.len() == 1 {
                self.fetch();
            }
            let next = self.waiting.get(1);
            let is_alone = next.is_some_and(|next| {
                let back = next.at.plus_nanos(MOST_LATE) >= latest;
                back && at.nanos_since(next.at) > MOST_LATE
            });
            if is_alone {
                return Some(latest);
            }
        }
        Some(at)
    }

    /// Takes the next packet that waits.
    pub fn pop(&mut self) -> Option<CapturedPacket> {
        let packet = self.waiting.pop_front()?;
        self.free = self.free.saturating_sub(1);
        self.on_given(packet.at, packet.frame);
        Some(packet)
    }

    #[inline]
    fn on_given(&mut self, at: Instant, frame: u64) {
        self.last_given = frame;
        self.times = match self.times {
            None => Some([at; 3]),
            Some([first, latest, _]) => {
                self.longest_pause = self.longest_pause.max(at.nanos_since(latest));
                Some([first, at, latest])
            }
        };
    }

    /// When its first packet was captured.
    pub fn begins(&self) -> Option<Instant> {
        let waiting = self.waiting.front().map(|packet| packet.at);
        self.times.map(|[first, ..]| first).or(waiting)
    }

    /// When its latest packet was captured. A single timestamp far ahead does not count.
    pub fn latest(&self) -> Option<Instant> {
        let [_, latest, before] = self.times?;
        Some(if latest.nanos_since(before) > MOST_LATE { before } else { latest })
    }

    /// How long its packets and those of a file that is still open alternate.
    pub fn overlap(&self, other: &Self) -> Duration {
        match (self.latest(), self.begins().max(other.begins())) {
            (Some(latest), Some(begins)) => latest.since(begins),
            _ => Duration::ZERO,
        }
    }

    /// Its last frame that was read: all of them if it was read to its end.
    pub fn last_frame(&self) -> u64 {
        if self.is_over && self.waiting.is_empty() && self.refused.is_none() {
            self.reader.frames()
        } else {
            self.last_given
        }
    }

    pub fn taken(&self) -> u64 {
        self.reader.bytes_taken()
    }

    /// Says in `file` what was read, and returns the counts.
    pub fn finish(self, file: &mut JoinedFile) -> Counts {
        let is_whole = self.is_over && self.waiting.is_empty() && self.refused.is_none();
        file.frames = self.last_frame().max(file.frames);
        file.size = is_whole.then(|| self.reader.bytes_taken());
        file.times = self.times.map(|[first, ..]| first).zip(self.latest());
        let mut counts = self.reader.into_counts();
        counts.packets = counts.packets.saturating_sub(self.waiting.len() as u64);
        file.ending = match self.refused {
            Some(why) => Ending::Unreadable { offset: 0, why: why.into() },
            None => std::mem::take(&mut counts.ending),
        };
        counts
    }
}
