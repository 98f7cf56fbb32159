//! Temporary files that a killed run left behind.
//!
//! A run holds a lock (flock(2)) on each of its temporary files, which ends with the process. A
//! temporary file that can be locked therefore belongs to no run.

use std::fs::File;
use std::path::Path;

/// How the names of temporary files begin.
pub const PREFIX: &str = ".recoup-";
/// How the names of temporary files end.
pub const SUFFIX: &str = ".tmp";

/// Removes the temporary files in a folder that belong to no run. Files that cannot be read, locked or
/// removed are left alone.
#[cfg(unix)]
pub fn remove(dir: &Path) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !(is_file && name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
            continue;
        }
        let path = entry.path();
        let is_stale = File::open(&path).is_ok_and(|file| lock(&file, &path) == Lock::Held);
        if is_stale {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// What became of an attempt to lock a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// It is locked, for as long as the file is open.
    Held,
    /// It is locked, but has lost its name.
    Unnamed,
    /// Another process has locked it.
    Taken,
    /// The system or the file system has no locks.
    Unsupported,
}

/// Locks a file, unless another process has.
#[cfg(unix)]
pub fn lock(file: &File, path: &Path) -> Lock {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    use std::os::unix::fs::MetadataExt;

    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let named = std::fs::symlink_metadata(path).map(|m| m.ino());
            let opened = file.metadata().map(|m| m.ino());
            match (named, opened) {
                (Ok(named), Ok(opened)) if named == opened => Lock::Held,
                _ => Lock::Unnamed,
            }
        }
        Err(Errno::WOULDBLOCK) => Lock::Taken,
        Err(_) => Lock::Unsupported,
    }
}

/// Other systems have no flock(2).
#[cfg(not(unix))]
pub fn remove(_: &Path) {}

/// Other systems have no flock(2).
#[cfg(not(unix))]
pub fn lock(_: &File, _: &Path) -> Lock {
    Lock::Unsupported
}
