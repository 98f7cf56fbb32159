//! Reads the lines of a log, piece by piece.

use super::{Entry, SCHEMA};
use serde::Deserialize;
use std::io;
use thiserror::Error;

/// A longer line is no entry. It must not take unlimited memory.
const LONGEST: usize = 1 << 16;

/// Why a log cannot be read. Each message is one line.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("{file}: cannot read the log: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's reason.
        why: io::Error,
    },
    /// It does not begin as a log does.
    #[error(
        "{file}: line 1: not the log of `recoup guard copies`: expected {{\"schema\":\"{}\",\"version\":{}}}",
        SCHEMA.name,
        SCHEMA.version
    )]
    NoLog {
        /// The file.
        file: String,
    },
    /// A line is no entry.
    #[error(
        "{file}: line {line}: {why}: expected an entry such as {{\"event\":\"decided\",\"at\":…,\"kind\":\"tail\",\"act\":\"sent\",\"src\":…,\"dst\":…,\"seq\":…,\"len\":…,\"bytes\":…}}"
    )]
    Line {
        /// The file.
        file: String,
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
}

/// The first line.
#[derive(Deserialize)]
struct Head {
    schema: String,
    version: u32,
}

/// Reads the lines of a log in pieces of any length.
#[derive(Debug)]
pub struct LogLines {
    file: String,
    /// Lines that were read.
    lines: u64,
    /// The beginning of a line that has not ended.
    begun: Vec<u8>,
}

impl LogLines {
    /// From the beginning of a log, which messages call `file`.
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), lines: 0, begun: Vec::new() }
    }

    /// The name of the log in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Reads the next bytes of the log, and passes on the entries that end in them.
    ///
    /// # Errors
    /// A line that is no entry.
    pub fn read(&mut self, mut bytes: &[u8], mut take: impl FnMut(Entry)) -> Result<(), LogError> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let entry = match self.begun.is_empty() {
                true => self.line(&bytes[..end]),
                false => {
                    self.begun.extend_from_slice(&bytes[..end]);
                    let line = std::mem::take(&mut self.begun);
                    self.line(&line)
                }
            };
            if let Some(entry) = entry? {
                take(entry);
            }
            bytes = &bytes[end + 1..];
        }
        if self.begun.len() + bytes.len() > LONGEST {
            return Err(self.wrong(self.lines + 1, format!("more than {LONGEST} bytes without an end")));
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    /// Checks that the log has begun.
    ///
    /// # Errors
    /// If it has no first line.
    pub fn check_begun(&self) -> Result<(), LogError> {
        match self.lines {
            0 => Err(LogError::NoLog { file: self.file.clone() }),
            _ => Ok(()),
        }
    }

    fn wrong(&self, line: u64, why: String) -> LogError {
        LogError::Line { file: self.file.clone(), line, why }
    }

    /// A whole line. `None`: the first one.
    fn line(&mut self, line: &[u8]) -> Result<Option<Entry>, LogError> {
        self.lines += 1;
        if self.lines == 1 {
            let head: Option<Head> = serde_json::from_slice(line).ok();
            return match head.is_some_and(|head| head.schema == SCHEMA.name && head.version == SCHEMA.version) {
                true => Ok(None),
                false => Err(LogError::NoLog { file: self.file.clone() }),
            };
        }
        let entry = serde_json::from_slice(line);
        entry.map(Some).map_err(|why| {
            // The line is the only one that the parser sees.
            let why = why.to_string();
            let why = why.split(" at line ").next().unwrap_or(&why);
            self.wrong(self.lines, why.to_owned())
        })
    }
}
