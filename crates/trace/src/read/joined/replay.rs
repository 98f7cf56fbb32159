//! Joins the packets of several files again, in the order that was planned without their headers.

use super::super::Packet;
use serde::{Deserialize, Serialize};
use std::{
    collections::hash_map::{Entry, HashMap},
    path::{Path, PathBuf},
};

/// The order in which the frames of recorded files are read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JoinedOrder {
    /// The records of the files.
    files: Vec<PathBuf>,
    /// One after another.
    runs: Vec<FrameRun>,
    /// Frames whose packet another file has as well: the first one, and how many follow each other.
    repeated: Vec<(u64, u64)>,
}

/// Frames that stand one after another in one file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct FrameRun {
    file: u32,
    /// The first of them, as the file counts.
    first: u64,
    count: u64,
}

impl JoinedOrder {
    /// The records of the files, in the order in which they were opened.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    pub(super) fn add_file(&mut self, record: &Path) {
        self.files.push(record.to_owned());
    }

    /// The next frames are those of `file` from its frame `first` on.
    pub(super) fn add_frames(&mut self, file: u32, first: u64, count: u64) {
        match self.runs.last_mut() {
            _ if count == 0 => {}
            Some(run) if run.file == file && run.first + run.count == first => run.count += count,
            _ => self.runs.push(FrameRun { file, first, count }),
        }
    }

    /// Another file has the packet of this frame as well. Frames only go up.
    pub(super) fn repeat(&mut self, frame: u64) {
        match self.repeated.last_mut() {
            Some((first, count)) if *first + *count == frame => *count += 1,
            _ => self.repeated.push((frame, 1)),
        }
    }

    /// Joins packets in this order. `open` opens a file by its place among [`files`](Self::files). The result of it
    /// gives the packets of the file one by one, with the frames of the file, until it returns `false`. Packets may be
    /// missing.
    pub fn replay<P, E, O>(&self, open: O) -> OrderedPackets<'_, P, O>
    where
        P: FnMut(&mut Packet) -> Result<bool, E>,
        O: FnMut(usize) -> Result<P, E>,
    {
        OrderedPackets { runs: &self.runs, repeated: &self.repeated, before: 0, open, files: HashMap::new() }
    }
}

/// The packets of several files, one by one.
#[derive(Debug)]
pub struct OrderedPackets<'a, P, O> {
    /// The runs that are not over.
    runs: &'a [FrameRun],
    /// The repeated frames that were not reached.
    repeated: &'a [(u64, u64)],
    /// Frames of the runs that are over.
    before: u64,
    open: O,
    files: HashMap<u32, OpenFile<P>>,
}

/// A file that is being read.
#[derive(Debug)]
struct OpenFile<P> {
    /// `None` once nothing is left.
    packets: Option<P>,
    /// A packet of a later run.
    ahead: Option<Box<Packet>>,
}

impl<P> OpenFile<P> {
    /// Moves the next packet to `packet`; `false` if there is none.
    fn take<E>(&mut self, packet: &mut Packet) -> Result<bool, E>
    where
        P: FnMut(&mut Packet) -> Result<bool, E>,
    {
        if let Some(ahead) = self.ahead.take() {
            *packet = *ahead;
            return Ok(true);
        }
        let found = match &mut self.packets {
            Some(packets) => packets(packet)?,
            None => false,
        };
        if !found {
            self.packets = None;
        }
        Ok(found)
    }
}

impl<P, O> OrderedPackets<'_, P, O> {
    /// Moves the next packet to `packet`, with its frame in the joined capture; `false` if there is none.
    ///
    /// # Errors
    /// Those of the files.
    pub fn next_into<E>(&mut self, packet: &mut Packet) -> Result<bool, E>
    where
        P: FnMut(&mut Packet) -> Result<bool, E>,
        O: FnMut(usize) -> Result<P, E>,
    {
        while let [run, later @ ..] = self.runs {
            let file = match self.files.entry(run.file) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(OpenFile { packets: Some((self.open)(run.file as usize)?), ahead: None })
                }
            };
            let found = file.take(packet)?;
            if !found || packet.frame >= run.first + run.count {
                file.ahead = found.then(|| Box::new(*packet));
                self.before += run.count;
                self.runs = later;
                continue;
            }
            if packet.frame < run.first {
                continue;
            }
            packet.frame = self.before + (packet.frame - run.first) + 1;
            if !self.is_repeated(packet.frame) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether another file has the packet of this frame.
    fn is_repeated(&mut self, frame: u64) -> bool {
        while let [(first, count), later @ ..] = self.repeated {
            if frame < first + count {
                return frame >= *first;
            }
            self.repeated = later;
        }
        false
    }
}
