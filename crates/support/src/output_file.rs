//! Output files that get their name when they are complete, and the rule that no output overwrites an input.
//!
//! Incomplete files are removed when they are dropped. When a signal ends the program, so that nothing
//! is dropped, [`exit`] removes them. If the program was killed, the next output file in the same folder
//! removes them.

mod apart;
mod lock;
mod stale;

pub use apart::{Files, OverwriteError};
pub use lock::{FileLock, LockError};

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
/// directly. Where the target is a symbolic link, the file that it leads to is replaced and the link stays. The new file
/// has the mode of the one that it replaces, and its owner if this process may give it away. Other hard links keep the
/// old contents. A file that this process may not write is not replaced.
#[derive(Debug)]
pub struct OutputFile {
    /// The name in messages.
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
    /// The file that it replaces: no symbolic link.
    target: PathBuf,
}

impl Temporary {
    /// Begins the successor of `target`, whose symbolic links are resolved.
    fn create(target: PathBuf) -> io::Result<Self> {
        std::fs::metadata(folder_of(&target))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(stale::PREFIX).suffix(stale::SUFFIX);
        let replaced = match std::fs::metadata(&target) {
            // Opening it asks the system whether this process may write it.
            Ok(about) => {
                File::options().append(true).open(&target)?;
                Some(about)
            }
            Err(_) => None,
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The mode of any new file, before the umask. Nobody else reads the successor of a file before it has that
            // file's mode.
            let mode = if replaced.is_some() { 0o600 } else { 0o666 };
            builder.permissions(std::fs::Permissions::from_mode(mode));
        }
        // The full error would name the temporary file.
        let temporary = Self::begin(&builder, target).map_err(|e| io::Error::from(e.kind()))?;
        if let Some(replaced) = replaced {
            temporary.take_after(&replaced)?;
        }
        Ok(temporary)
    }

    /// Gives the file the owner, if that is allowed, and the mode of another.
    fn take_after(&self, replaced: &std::fs::Metadata) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // A new owner clears special bits of the mode, so that the mode comes last.
            let _ = fchown(&self.file, Some(replaced.uid()), Some(replaced.gid()));
        }
        self.file.set_permissions(replaced.permissions())
    }

    fn begin(builder: &tempfile::Builder<'_, '_>, target: PathBuf) -> io::Result<Self> {
        let dir = folder_of(&target);
        let mut unfinished = unfinished();
        stale::remove(dir);
        let (file, path) = loop {
            let (file, path) = builder.tempfile_in(dir).map(NamedTempFile::into_parts)?;
            // Another run may have taken the file for a stale one before it was locked.
            if matches!(stale::lock(&file, &path), stale::Lock::Held | stale::Lock::Unsupported) {
                break (file, path);
            }
        };
        unfinished.insert(path.to_path_buf());
        Ok(Self { file, path: Some(path), target })
    }

    fn publish(mut self) -> io::Result<()> {
        let mut unfinished = unfinished();
        let Some(path) = self.path.take() else {
            return Ok(());
        };
        unfinished.remove(&*path);
        path.persist(&self.target).map_err(|e| e.error)
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

/// The folder that a file is in.
fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The most symbolic links that are followed, as on Linux (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// The file that a name leads to, which need not exist.
fn resolve(name: &Path) -> io::Result<PathBuf> {
    let mut at = name.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&at) {
            // A relative link counts from its folder; an absolute one replaces it.
            Ok(to) => at = folder_of(&at).join(to),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::other("expected at most 40 symbolic links"))
}

impl OutputFile {
    /// Starts a file that will be named `target`.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn create(target: &Path) -> Result<Self, OutputError> {
        let error = |source| OutputError { path: target.into(), source };
        let special = std::fs::metadata(target).is_ok_and(|m| !m.is_file());
        let file = match special {
            true => Inner::Direct(File::options().write(true).open(target).map_err(error)?),
            false => Inner::Temporary(resolve(target).and_then(Temporary::create).map_err(error)?),
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
            Inner::Temporary(file) => file.publish().map_err(|source| OutputError { path: self.target, source }),
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
