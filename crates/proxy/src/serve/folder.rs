//! Files below the folder that is served, and nothing outside it.

use crate::serve::version::Version;
use hyper::StatusCode;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags, openat, openat2, statx};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::SystemTime;

/// Nothing outside the folder is opened, whatever symbolic links there are, also when they change meanwhile (openat2(2)).
/// Absolute links and links of /proc count as outside.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// What `Version` needs to know of a file.
const KNOWN: StatxFlags = StatxFlags::BASIC_STATS;

/// How often the kernel is asked again when it cannot tell, because of renames meanwhile, whether `..` in a link leads outside.
const TRIES: usize = 16;

/// A folder whose files are served.
#[derive(Debug)]
pub struct Folder {
    root: OwnedFd,
}

/// A regular file that is open for reading.
#[derive(Debug)]
pub struct Found {
    pub file: File,
    pub version: Version,
}

impl Folder {
    /// Opens the folder.
    ///
    /// # Errors
    /// When it cannot be opened, is no folder, or this kernel cannot keep requests inside it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = Self { root: openat(CWD, path, flags, Mode::empty())? };
        match folder.open_beneath(Path::new("."), flags) {
            Ok(_) => Ok(folder),
            Err(Errno::NOSYS) => Err(io::Error::other("expected a kernel with openat2 (Linux 5.6)")),
            Err(e) => Err(e.into()),
        }
    }

    /// The regular file of this name, which has no `..`.
    ///
    /// # Errors
    /// The status of a response that says so.
    pub fn find(&self, name: &Path) -> Result<Found, StatusCode> {
        // Opening a FIFO wakes its writers, and opening a device may do anything. This asks only what it is.
        let about = statx(&self.root, name, AtFlags::NO_AUTOMOUNT, StatxFlags::TYPE).map_err(status)?;
        if !is_file(&about) {
            return Err(StatusCode::NOT_FOUND);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = self.open_beneath(name, flags).map_err(status)?;
        let about = statx(&file, "", AtFlags::EMPTY_PATH, KNOWN).map_err(status)?;
        match is_file(&about) {
            true => Ok(Found { file: file.into(), version: Version::of(&about, SystemTime::now()) }),
            // It was replaced meanwhile.
            false => Err(StatusCode::NOT_FOUND),
        }
    }

    /// The folder below this one in which a file has its name.
    ///
    /// # Errors
    /// When there is none.
    pub fn parent(&self, name: &Path) -> Result<OwnedFd, Errno> {
        let parent = name.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.open_beneath(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)
    }

    fn open_beneath(&self, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let open = || openat2(&self.root, name, flags, Mode::empty(), BENEATH);
        let mut opened = open();
        for _ in 1..TRIES {
            match opened {
                Err(Errno::AGAIN) => opened = open(),
                opened => return opened,
            }
        }
        opened
    }
}

/// What there is of this name in a folder, without following a symbolic link.
///
/// # Errors
/// When there is nothing.
pub fn entry(folder: impl AsFd, name: &Path) -> Result<Statx, Errno> {
    statx(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, KNOWN)
}

/// Whether it is a regular file.
pub fn is_file(about: &Statx) -> bool {
    FileType::from_raw_mode(about.stx_mode.into()) == FileType::RegularFile
}

/// The status of the response when a file cannot be opened.
fn status(error: Errno) -> StatusCode {
    match error {
        // EXDEV: outside the folder. It looks like a file that does not exist, because a client should learn nothing of it.
        Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP | Errno::NAMETOOLONG | Errno::NXIO | Errno::NODEV => {
            StatusCode::NOT_FOUND
        }
        Errno::ACCESS | Errno::PERM => StatusCode::FORBIDDEN,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
