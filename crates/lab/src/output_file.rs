//! Output files that have their name only once they are whole.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use thiserror::Error;

/// A file could not be made, written or renamed.
#[derive(Debug, Error)]
#[error("cannot write `{}`: {source}", .path.display())]
pub struct OutputError {
    /// The file under its final name, or the directory that could not be made.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// A file being written beside its final place, under another name. [`publish`](Self::publish)
/// gives it its own; dropped before, it is removed, and what had the name is left alone.
///
/// What already exists and is no regular file (a terminal, a pipe, `/dev/null`) is written to
/// directly.
#[derive(Debug)]
pub struct OutputFile {
    target: PathBuf,
    file: Inner,
}

#[derive(Debug)]
enum Inner {
    Temporary(NamedTempFile),
    Direct(File),
}

impl OutputFile {
    /// Begins a file that is to be `target`.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn create(target: &Path) -> Result<Self, OutputError> {
        let error = |source| OutputError {
            path: target.into(),
            source,
        };
        let special = std::fs::metadata(target).is_ok_and(|m| !m.is_file());
        let file = if special {
            Inner::Direct(File::options().write(true).open(target).map_err(error)?)
        } else {
            let dir = target.parent().filter(|d| !d.as_os_str().is_empty());
            let mut builder = tempfile::Builder::new();
            builder.prefix(".recoup-").suffix(".tmp");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                // As any new file; the umask takes its share.
                builder.permissions(std::fs::Permissions::from_mode(0o666));
            }
            let dir = dir.unwrap_or(Path::new("."));
            std::fs::metadata(dir).map_err(error)?;
            // The error itself would name the temporary file.
            let file = builder.tempfile_in(dir);
            Inner::Temporary(file.map_err(|e| error(e.kind().into()))?)
        };
        Ok(Self {
            target: target.into(),
            file,
        })
    }

    /// Where the file will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the file its name, in place of any that had it.
    ///
    /// # Errors
    /// When it cannot be renamed; then it is removed.
    pub fn publish(self) -> Result<(), OutputError> {
        match self.file {
            Inner::Direct(_) => Ok(()),
            Inner::Temporary(file) => match file.persist(&self.target) {
                Ok(_) => Ok(()),
                Err(e) => Err(OutputError {
                    path: self.target,
                    source: e.error,
                }),
            },
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Inner::Temporary(file) => file.write(bytes),
            Inner::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Inner::Temporary(file) => file.flush(),
            Inner::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_file(target: &Path, text: &str) -> Result<(), OutputError> {
        let mut file = OutputFile::create(target)?;
        file.write_all(text.as_bytes())
            .map_err(|source| OutputError {
                path: target.into(),
                source,
            })?;
        file.publish()
    }

    #[test]
    fn a_file_is_there_whole_or_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        write_file(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        write_file(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let error = write_file(Path::new("/nonexistent/dir/file"), "")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot write `/nonexistent/dir/file`: "),
            "{error}"
        );
        write_file(Path::new("/dev/null"), "gone").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
