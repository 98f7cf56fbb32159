//! Output files that get their name when they are complete.
//!
//! Incomplete files are removed when they are dropped. When a signal ends the program, so that nothing
//! is dropped, [`exit`] removes them. If the program was killed, the next output file in the same folder
//! removes them.

mod stale;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{NamedTempFile, TempPath};
use thiserror::Error;

/// A file could not be made, written or renamed.
#[derive(Debug, Error)]
#[error("cannot write `{}`: {source}", .path.display())]
pub struct OutputError {
    /// The file's final name, or the directory that could not be created.
    pub path: PathBuf,
    /// The operating system's error.
    pub source: io::Error,
}

/// A file that is written under a temporary name in its final directory. [`publish`](Self::publish)
/// renames it. If it is dropped before, it is removed, and an existing file is left alone.
///
/// A target that exists and is not a regular file (a terminal, a pipe, `/dev/null`) is written to
/// directly.
#[derive(Debug)]
pub struct OutputFile {
    target: PathBuf,
    file: Inner,
}

#[derive(Debug)]
enum Inner {
    Temporary(Temporary),
    Direct(File),
}

/// The temporary files of this process. Create, rename and remove them only while holding the lock.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every file that does not have its name yet, and ends the program with `end`. No file is
/// begun or named from here on.
pub fn exit(end: impl FnOnce()) -> ! {
    let unfinished = unfinished();
    for path in unfinished.iter() {
        // The program ends; an error has nowhere to go.
        let _ = std::fs::remove_file(path);
    }
    end();
    std::process::exit(2)
}

/// A temporary file, registered in [`UNFINISHED`].
#[derive(Debug)]
struct Temporary {
    file: File,
    /// `None` once it has its name.
    path: Option<TempPath>,
}

impl Temporary {
    fn create(builder: &tempfile::Builder<'_, '_>, dir: &Path) -> io::Result<Self> {
        let mut unfinished = unfinished();
        stale::remove(dir);
        let (file, path) = loop {
            let (file, path) = builder.tempfile_in(dir).map(NamedTempFile::into_parts)?;
            // Another run may have taken the file for a stale one before it was locked.
            if stale::lock(&file, &path) != Some(false) {
                break (file, path);
            }
        };
        unfinished.insert(path.to_path_buf());
        Ok(Self { file, path: Some(path) })
    }

    fn publish(mut self, target: &Path) -> io::Result<()> {
        let mut unfinished = unfinished();
        let Some(path) = self.path.take() else {
            return Ok(());
        };
        unfinished.remove(&*path);
        path.persist(target).map_err(|e| e.error)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut unfinished = unfinished();
            unfinished.remove(&*path);
            drop(path);
        }
    }
}

/// Creates a directory with its parents, unless they exist.
///
/// # Errors
/// When it cannot be created, or something else has its name.
pub fn create_folder(dir: &Path) -> Result<(), OutputError> {
    std::fs::create_dir_all(dir).map_err(|e| OutputError {
        path: dir.into(),
        source: match e.kind() {
            io::ErrorKind::AlreadyExists => io::Error::new(e.kind(), "not a folder"),
            _ => e,
        },
    })
}

/// Whether both names are of the same existing regular file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| {
        let path = std::fs::canonicalize(path).ok()?;
        path.is_file().then_some(path)
    };
    real(a).is_some_and(|a| real(b) == Some(a))
}

impl OutputFile {
    /// Starts a file that will be named `target`.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn create(target: &Path) -> Result<Self, OutputError> {
        let error = |source| OutputError { path: target.into(), source };
        let special = std::fs::metadata(target).is_ok_and(|m| !m.is_file());
        let file = if special {
            Inner::Direct(File::options().write(true).open(target).map_err(error)?)
        } else {
            let dir = target.parent().filter(|d| !d.as_os_str().is_empty());
            let mut builder = tempfile::Builder::new();
            builder.prefix(stale::PREFIX).suffix(stale::SUFFIX);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                // The mode of any new file, before the umask.
                builder.permissions(std::fs::Permissions::from_mode(0o666));
            }
            let dir = dir.unwrap_or(Path::new("."));
            std::fs::metadata(dir).map_err(error)?;
            // The full error would name the temporary file.
            let file = Temporary::create(&builder, dir);
            Inner::Temporary(file.map_err(|e| error(e.kind().into()))?)
        };
        Ok(Self { target: target.into(), file })
    }

    /// The file's final name.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Renames the file to its final name, and replaces an existing file.
    ///
    /// # Errors
    /// When it cannot be renamed. Then it is removed.
    pub fn publish(self) -> Result<(), OutputError> {
        match self.file {
            Inner::Direct(_) => Ok(()),
            Inner::Temporary(file) => {
                file.publish(&self.target).map_err(|source| OutputError { path: self.target, source })
            }
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Inner::Temporary(file) => file.file.write(bytes),
            Inner::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Inner::Temporary(file) => file.file.flush(),
            Inner::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests;
