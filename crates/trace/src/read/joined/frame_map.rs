//! Which file of a joined capture holds each frame.

use serde::{Deserialize, Serialize};

/// Runs of frames in one block.
const MOST_RUNS: u32 = 512;

/// The most blocks that are kept. Beyond, the oldest are forgotten.
const MOST_BLOCKS: usize = 1 << 16;

/// The file, and the frame in it, of each frame of a joined capture.
///
/// Files that follow each other need a block each. Where files are merged by time, a run of frames of
/// the same file needs two bytes, as long as it is short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FrameMap {
    blocks: Vec<Block>,
    /// Frames of all runs.
    frames: u64,
    /// The run that grows.
    last: Option<Run>,
}

/// Frames that stand one after another in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    file: u32,
    /// The first of them, as the file counts.
    first: u64,
    count: u64,
}

/// The frames of a file that are in a block: those from `first` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Share {
    file: u32,
    first: u64,
    end: u64,
}

/// Runs one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Block {
    /// The first frame of the joined capture in it.
    first: u64,
    /// The files of its runs.
    files: Vec<Share>,
    /// For each run its place in `files` and its length, as variable-length integers.
    runs: Vec<u8>,
    count: u32,
}

impl FrameMap {
    /// The next `count` frames are those of `file` from its frame `first` on.
    pub fn add(&mut self, file: u32, first: u64, count: u64) {
        if count == 0 {
            return;
        }
        match &mut self.last {
            Some(run) if run.file == file && run.first + run.count == first => run.count += count,
            _ => {
                self.close_run();
                self.last = Some(Run { file, first, count });
            }
        }
        self.frames += count;
    }

    /// Adds the runs of `other` after its own. `file` says which file one of `other` is here.
    pub fn append(&mut self, mut other: Self, file: impl Fn(u32) -> u32) {
        other.close_run();
        self.close_run();
        for mut block in other.blocks {
            block.first += self.frames;
            for share in &mut block.files {
                share.file = file(share.file);
            }
            self.push(block);
        }
        self.frames += other.frames;
    }

    /// The frames up to this one are in no file that is known.
    pub fn skip_to(&mut self, frames: u64) {
        self.close_run();
        self.frames = self.frames.max(frames);
    }

    fn push(&mut self, block: Block) {
        if self.blocks.len() >= MOST_BLOCKS {
            self.blocks.drain(..MOST_BLOCKS / 4);
        }
        self.blocks.push(block);
    }

    /// Writes the run that grows into a block.
    fn close_run(&mut self) {
        let Some(run) = self.last.take() else {
            return;
        };
        let first = self.frames - run.count + 1;
        let fits = self.blocks.last().is_some_and(|block| block.fits(&run));
        if !fits {
            self.push(Block { first, ..Block::default() });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.add(run);
        }
    }

    /// Frames of all runs.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The file of a frame, and its number there; `None` if it is unknown.
    pub fn locate(&self, frame: u64) -> Option<(u32, u64)> {
        if let Some(run) = self.last {
            let first = self.frames - run.count + 1;
            if (first..=self.frames).contains(&frame) {
                return Some((run.file, run.first + (frame - first)));
            }
        }
        let after = self.blocks.partition_point(|block| block.first <= frame);
        let block = &self.blocks[after.checked_sub(1)?];
        block.runs().find_map(|(begins, run)| {
            let into = frame.checked_sub(begins).filter(|into| *into < run.count)?;
            Some((run.file, run.first + into))
        })
    }

    /// The frame of the joined capture that is `frame` in `file`; the latest of them.
    pub fn find(&self, file: u32, frame: u64) -> Option<u64> {
        let place = |begins: u64, run: Run| {
            let into = frame.checked_sub(run.first)?;
            (run.file == file && into < run.count).then_some(begins + into)
        };
        let growing = self.last.map(|run| (self.frames - run.count + 1, run));
        growing.and_then(|(begins, run)| place(begins, run)).or_else(|| {
            let mut runs = self.blocks.iter().rev().flat_map(Block::runs);
            runs.find_map(|(begins, run)| place(begins, run))
        })
    }
}

impl Block {
    fn share_of(&self, file: u32) -> Option<usize> {
        self.files.iter().position(|share| share.file == file)
    }

    /// Whether a run can be added: its file goes on where it was, or is new here.
    fn fits(&self, run: &Run) -> bool {
        let known = self.share_of(run.file);
        let goes_on = known.is_none_or(|place| self.files[place].end == run.first);
        self.count < MOST_RUNS && goes_on
    }

    fn add(&mut self, run: Run) {
        let place = self.share_of(run.file).unwrap_or_else(|| {
            let (file, first) = (run.file, run.first);
            let end = first;
            self.files.push(Share { file, first, end });
            self.files.len() - 1
        });
        self.files[place].end += run.count;
        push_integer(&mut self.runs, place as u64);
        push_integer(&mut self.runs, run.count);
        self.count += 1;
    }

    /// The runs, each with its first frame in the joined capture.
    fn runs(&self) -> impl Iterator<Item = (u64, Run)> {
        let mut rest = &self.runs[..];
        let mut next = self.first;
        let mut files = self.files.clone();
        std::iter::from_fn(move || {
            let place = take_integer(&mut rest)?;
            let count = take_integer(&mut rest)?;
            let share = files.get_mut(usize::try_from(place).ok()?)?;
            let (file, first) = (share.file, share.first);
            let run = Run { file, first, count };
            let begins = next;
            share.first = first.saturating_add(count);
            next = next.saturating_add(count);
            Some((begins, run))
        })
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that another byte follows.
pub(super) fn push_integer(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

pub(super) fn take_integer(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests;
