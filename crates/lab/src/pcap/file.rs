//! A capture file that gets its name when it is complete.

use super::CaptureError;
use recoup_support::output_file::{OutputError, OutputFile, create_folder};
use recoup_units::Instant;
use recoup_wire::pcap::Writer;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A capture file being written.
#[derive(Debug)]
pub(super) struct CaptureFile {
    writer: Writer<OutputFile>,
    target: PathBuf,
}

impl CaptureFile {
    /// Starts a file that will be named `target`. Its directory is created if it is missing.
    pub fn create(target: &Path, epoch: Duration) -> Result<Self, CaptureError> {
        if let Some(dir) = target.parent() {
            create_folder(dir)?;
        }
        let writer = Writer::new(OutputFile::create(target)?, epoch);
        let writer = writer.map_err(|source| OutputError { path: target.into(), source })?;
        Ok(Self { writer, target: target.into() })
    }

    /// The file's final name.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Adds an IP packet.
    pub fn write(&mut self, at: Instant, packet: &[u8]) -> Result<(), CaptureError> {
        let written = self.writer.write(at, packet);
        written.map_err(|source| self.error(source).into())
    }

    /// Writes all buffered packets. The file returned is complete, but not yet renamed.
    pub fn complete(self) -> Result<OutputFile, CaptureError> {
        let path = self.target;
        let written = self.writer.finish();
        written.map_err(|source| OutputError { path, source }.into())
    }

    fn error(&self, source: std::io::Error) -> OutputError {
        let path = self.target.clone();
        OutputError { path, source }
    }
}
