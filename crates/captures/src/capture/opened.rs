//! A capture whose file is open, so that nothing that happens to its name meanwhile changes what is read.

use super::CaptureSource;
use recoup_trace::read::{OpenedInput, ReadError};
use recoup_units::visible;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// A regular file that is open for reading. It can be read several times.
#[derive(Debug)]
pub struct OpenedFile {
    name: String,
    file: Arc<Mutex<File>>,
    size: u64,
    modified: Option<SystemTime>,
}

impl OpenedFile {
    /// The file, which messages call `name`.
    ///
    /// # Errors
    /// If the system does not say what it is, or if it is not a regular file: a directory, a pipe or a device.
    pub fn new(name: &str, file: File) -> Result<Self, ReadError> {
        let name = visible(name).into_owned();
        let unreadable = |source| ReadError::Unreadable { file: name.clone(), source };
        let about = file.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(ReadError::Directory { file: name });
        }
        if !about.is_file() {
            return Err(unreadable(io::Error::other("it is a pipe or a device: expected a regular file")));
        }
        let (size, modified) = (about.len(), about.modified().ok());
        Ok(Self { name, file: Arc::new(Mutex::new(file)), size, modified })
    }

    /// Its size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When it was last written before it was opened, if the system knows.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }
}

impl CaptureSource for OpenedFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self) -> Result<OpenedInput<'_>, ReadError> {
        let reading = FileReading { file: Arc::clone(&self.file), at: 0 };
        OpenedInput::of_file(&self.name, reading, self.size)
    }
}

/// One of several readings of a file, each with a position of its own.
struct FileReading {
    file: Arc<Mutex<File>>,
    at: u64,
}

impl Read for FileReading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::AllRetransmissions;
    use crate::capture::{Capture, DEMO, Unwatched};
    use recoup_trace::analyze::Settings;
    use std::io::Write;

    /// Two readings at once do not disturb each other, also once the file has no name any more.
    #[test]
    fn a_file_that_is_open_is_read_several_times() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(DEMO).expect("written");
        let opened = OpenedFile::new("demo.pcap.zst", file).expect("a regular file");
        assert_eq!(opened.size(), DEMO.len() as u64);
        let analyze = |capture: Capture<'_>| {
            let analyzed = capture.analyze(&Settings::default(), AllRetransmissions::default, &Unwatched);
            analyzed.expect("a capture").findings.rows
        };
        let two = [Capture::source(&opened), Capture::source(&opened)];
        let expected = analyze(Capture::demo().expect("a capture"));
        assert!(!expected.is_empty());
        for capture in two {
            assert_eq!(analyze(capture.expect("a capture")), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused() {
        for (path, why) in [("/dev/null", "a pipe or a device"), ("/", "directory")] {
            let refused = OpenedFile::new("x", File::open(path).expect("it is there")).expect_err("refused");
            assert!(refused.to_string().contains(why), "{refused}");
        }
    }
}
