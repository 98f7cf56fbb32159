//! Locks on files that one run at a time reads and replaces.

use super::stale::{self, Lock};
use super::{OutputError, folder_of, resolve, unfinished};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file is not this run's alone. Each message is one line.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another run holds the lock.
    #[error("{0}: another run is using it: expected to run again when that one has ended")]
    Taken(String),
    /// The lock cannot be made.
    #[error(transparent)]
    Unwritable(#[from] OutputError),
}

/// A lock on a file that need not exist yet, held until it is dropped: flock(2) on an empty file `.NAME.lock` beside it,
/// which replacing the file leaves alone. The empty file is removed with the lock; one that a killed run left is no lock.
/// On a file system without locks it keeps nobody out.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    _held: File,
}

impl FileLock {
    /// Locks a file.
    ///
    /// # Errors
    /// If another run holds the lock, or no file can be made beside it.
    pub fn acquire(target: &Path) -> Result<Self, LockError> {
        let unwritable = |source: io::Error| OutputError { path: target.into(), source };
        let file = resolve(target).map_err(unwritable)?;
        let mut name = OsString::from(".");
        name.push(file.file_name().unwrap_or_default());
        name.push(".lock");
        let path = folder_of(&file).join(name);
        let mut unfinished = unfinished();
        loop {
            let opened = File::options().write(true).create(true).truncate(false).open(&path);
            let held = opened.map_err(unwritable)?;
            match stale::lock(&held, &path) {
                Lock::Held | Lock::Unsupported => {
                    unfinished.insert(path.clone());
                    return Ok(Self { path, _held: held });
                }
                // The run that held it removed it in between.
                Lock::Unnamed => {}
                Lock::Taken => return Err(LockError::Taken(target.display().to_string())),
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        unfinished.remove(&self.path);
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time_holds_a_lock() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("day.state");
        let held = FileLock::acquire(&target).unwrap();
        let error = FileLock::acquire(&dir.path().join("./day.state")).unwrap_err().to_string();
        assert!(error.ends_with("day.state: another run is using it: expected to run again when that one has ended"));
        FileLock::acquire(&dir.path().join("night.state")).unwrap();
        drop(held);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        // A killed run left its file.
        std::fs::write(dir.path().join(".day.state.lock"), "").unwrap();
        FileLock::acquire(&target).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
