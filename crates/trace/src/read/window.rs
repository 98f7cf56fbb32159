//! The bytes of a capture, read ahead: what is looked at stands in one piece.

use super::Ending;
use std::io::{ErrorKind, Read};

/// How much is read at once. Small enough to stay in the second-level cache.
const CHUNK: usize = 1 << 18;

/// A piece of the input that moves on.
pub(super) struct Window<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// `start..end` are there and not yet consumed.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the buffer stands in the input.
    base: u64,
    /// Once nothing more comes: for what reason, if not that the input has ended.
    over: Option<Over>,
}

/// Why nothing more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// It is the end.
    Whole,
    /// What is compressed ends before its end.
    Cut,
    /// The system, or who unpacks, gives up.
    Failed(String),
}

impl std::fmt::Debug for Window<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("offset", &self.offset())
            .field("held", &self.bytes().len())
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}

impl<'a> Window<'a> {
    pub fn new(input: Box<dyn Read + Send + 'a>) -> Self {
        Self {
            input,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            base: 0,
            over: None,
        }
    }

    /// What is there.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Where it stands in the input, in bytes from 0.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    pub fn over(&self) -> Option<&Over> {
        self.over.as_ref()
    }

    /// Moves on by at most what is there.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Moves on by `count` bytes, there or not; false when the input ends before.
    pub fn skip(&mut self, mut count: u64) -> bool {
        loop {
            let there = self.bytes().len() as u64;
            self.consume(count.min(there) as usize);
            count -= count.min(there);
            if count == 0 {
                return true;
            }
            if !self.fill(1) {
                return false;
            }
        }
    }

    /// Reads on until `count` bytes are there; false when the input ends before.
    #[cold]
    pub fn fill(&mut self, count: usize) -> bool {
        if self.bytes().len() >= count {
            return true;
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < count {
            if self.over.is_some() {
                return false;
            }
            if self.end == self.buffer.len() {
                // Only as far as bytes do come, whatever lengths a file claims.
                self.buffer.resize(2 * self.end, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.over = Some(Over::Whole),
                Ok(read) => self.end += read.min(self.buffer.len() - self.end),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => self.over = Some(Over::Cut),
                Err(e) => self.over = Some(Over::Failed(e.to_string())),
            }
        }
        true
    }

    /// How a capture ends whose input is over, its last record having begun at `offset`.
    #[cold]
    pub fn ending(&self, offset: u64) -> Ending {
        match &self.over {
            Some(Over::Failed(why)) => Ending::Unreadable {
                offset,
                why: why.clone(),
            },
            Some(Over::Cut) => Ending::Cut { offset },
            None | Some(Over::Whole) if self.base + self.end as u64 == offset => Ending::Whole,
            None | Some(Over::Whole) => Ending::Cut { offset },
        }
    }
}
