//! The bytes being read, contiguous in memory and read ahead.

use super::Ending;
use std::io::{ErrorKind, Read};

/// Bytes read at once: small enough to stay in the second-level cache.
const CHUNK: usize = 1 << 18;

/// A contiguous part of the input that moves forward.
pub(crate) struct Window<'a> {
    input: Box<dyn Read + Send + 'a>,
    /// `start..end` was read and not yet consumed.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The buffer's offset in the input.
    base: u64,
    /// Why nothing more comes, once the input has ended.
    input_end: Option<InputEnd>,
}

/// Why nothing more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputEnd {
    /// The input is complete.
    Whole,
    /// The compressed input is cut.
    Cut,
    /// Reading or decompressing failed.
    Failed(String),
}

impl std::fmt::Debug for Window<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("offset", &self.offset())
            .field("held", &self.bytes().len())
            .field("over", &self.input_end)
            .finish_non_exhaustive()
    }
}

impl<'a> Window<'a> {
    pub fn new(input: Box<dyn Read + Send + 'a>) -> Self {
        Self { input, buffer: vec![0; CHUNK], start: 0, end: 0, base: 0, input_end: None }
    }

    /// The bytes not yet consumed.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Their offset in the input, in bytes from 0.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    pub(super) fn input_end(&self) -> Option<&InputEnd> {
        self.input_end.as_ref()
    }

    /// Moves forward by `count` bytes, at most by what was read.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Moves forward by `count` bytes, which `take` gets part by part; false if the input ends before.
    pub fn skip(&mut self, mut count: u64, mut take: impl FnMut(&[u8])) -> bool {
        loop {
            let there = count.min(self.bytes().len() as u64);
            take(&self.bytes()[..there as usize]);
            self.consume(there as usize);
            count -= there;
            if count == 0 {
                return true;
            }
            if !self.fill(1) {
                return false;
            }
        }
    }

    /// Reads until `count` bytes are available; false if the input ends before.
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
            if self.input_end.is_some() {
                return false;
            }
            if self.end == self.buffer.len() {
                // Grows only as bytes come, whatever length a file claims.
                self.buffer.resize(2 * self.end, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.input_end = Some(InputEnd::Whole),
                Ok(read) => self.end += read.min(self.buffer.len() - self.end),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => self.input_end = Some(InputEnd::Cut),
                Err(e) => self.input_end = Some(InputEnd::Failed(e.to_string())),
            }
        }
        true
    }

    /// How a capture ends whose input is over and whose last record begins at `offset`.
    #[cold]
    pub fn ending(&self, offset: u64) -> Ending {
        match &self.input_end {
            Some(InputEnd::Failed(why)) => Ending::Unreadable { offset, why: why.clone() },
            Some(InputEnd::Cut) => Ending::Cut { offset },
            None | Some(InputEnd::Whole) if self.base + self.end as u64 == offset => Ending::Whole,
            None | Some(InputEnd::Whole) => Ending::Cut { offset },
        }
    }
}
