//! A capture file that has its name only once it is whole.

use super::CaptureError;
use recoup_units::Instant;
use recoup_wire::pcap::Writer;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A capture file being written, under another name in the same directory.
#[derive(Debug)]
pub(super) struct CaptureFile {
    // Before the name, for files are dropped in this order: closed, then removed.
    writer: Writer<File>,
    name: TemporaryName,
}

/// A capture file written whole, but not yet under its name.
#[derive(Debug)]
pub(super) struct CompleteFile(TemporaryName);

/// The name of a file that is removed when dropped.
#[derive(Debug)]
struct TemporaryName {
    temporary: PathBuf,
    target: PathBuf,
}

impl CaptureFile {
    /// Begins a file that is to be `target`, in a directory that is made if missing.
    pub fn create(target: &Path, epoch: Duration) -> Result<Self, CaptureError> {
        if let Some(dir) = target.parent() {
            fs::create_dir_all(dir).map_err(|source| CaptureError::Io {
                path: dir.to_path_buf(),
                source,
            })?;
        }
        let name = TemporaryName::beside(target);
        let writer = File::create(&name.temporary).and_then(|file| Writer::new(file, epoch));
        match writer {
            Ok(writer) => Ok(Self { writer, name }),
            Err(source) => Err(name.error(source)),
        }
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.name.target
    }

    /// Adds an IP packet.
    pub fn write(&mut self, at: Instant, packet: &[u8]) -> Result<(), CaptureError> {
        let written = self.writer.write(at, packet);
        written.map_err(|source| self.name.error(source))
    }

    /// Writes what is buffered.
    pub fn complete(self) -> Result<CompleteFile, CaptureError> {
        match self.writer.finish() {
            Ok(_) => Ok(CompleteFile(self.name)),
            Err(source) => Err(self.name.error(source)),
        }
    }
}

impl CompleteFile {
    /// Gives the file its name, in place of any that had it.
    pub fn publish(self) -> Result<(), CaptureError> {
        let renamed = fs::rename(&self.0.temporary, &self.0.target);
        renamed.map_err(|source| self.0.error(source))
    }
}

impl TemporaryName {
    fn beside(target: &Path) -> Self {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        // The process's id keeps two runs into one directory apart.
        let temporary = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        Self {
            temporary,
            target: target.to_path_buf(),
        }
    }

    fn error(&self, source: io::Error) -> CaptureError {
        CaptureError::Io {
            path: self.target.clone(),
            source,
        }
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        // Once renamed it is gone, and there is nobody to tell if it cannot be removed.
        fs::remove_file(&self.temporary).ok();
    }
}
