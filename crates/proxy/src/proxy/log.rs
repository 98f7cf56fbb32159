//! The access log: a JSON object a line.

use super::record::Record;
use recoup::console;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A log, which a file or standard output gets.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: Mutex<Option<File>>,
    failed: Mutex<bool>,
}

impl Log {
    /// Appends to this file; `-` for standard output.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), failed: Mutex::new(false) })
    }

    /// Opens the file again, which may have been moved away.
    pub fn reopen(&self) {
        match open(&self.path) {
            Ok(file) => *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file,
            Err(why) => console::warning(format_args!("cannot open {} again: {why}", self.path.display())),
        }
    }

    /// Appends a line. What fails is said once, until it works again.
    pub fn write(&self, record: &Record) {
        let line = serde_json::to_string(record).map(|line| line + "\n");
        let written = line.map_err(io::Error::other).and_then(|line| {
            match &mut *self.file.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(file) => file.write_all(line.as_bytes()),
                None => io::stdout().lock().write_all(line.as_bytes()),
            }
        });
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => *failed = false,
            Err(why) if !std::mem::replace(&mut *failed, true) => {
                console::warning(format_args!("cannot write {}: {why}", self.path.display()));
            }
            Err(_) => {}
        }
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    OpenOptions::new().create(true).append(true).open(path).map(Some)
}
