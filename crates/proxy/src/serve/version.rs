//! What tells a file's contents from earlier ones: its entity tag and its last modification (RFC 9110 §8.8).

use hyper::header::HeaderValue;
use rustix::fs::{Statx, StatxTimestamp};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file that changed less than this ago may change again without new times: file systems stamp files by a clock that ticks
/// every few milliseconds, some every second (ext3, NFS 2) or two (FAT).
const SETTLED: Duration = Duration::from_secs(3);

/// An entity tag of the file, its last modification and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub length: u64,
    pub tag: Tag,
    /// In whole seconds, as in `Last-Modified`. `None` for times before 1970.
    pub modified: Option<SystemTime>,
    /// Whether the file is settled: as long as it has these validators it has the same bytes.
    is_settled: bool,
}

/// An entity tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Whether equal bytes are not certain.
    pub is_weak: bool,
    /// What is between the quotes, with them.
    pub opaque: String,
}

impl Version {
    /// The version of a file as it is `now`.
    ///
    /// The tag has the file's number, its length, and its times of modification and of change in nanoseconds. The last one
    /// cannot be set by programs such as `cp -p` and `rsync`, so that any write and any rename over the file changes the tag.
    /// It is strong only when the file has settled. Until then it is a weak tag that no settled file has, so that a client that
    /// got bytes between two changes does not keep them.
    pub fn of(about: &Statx, now: SystemTime) -> Self {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = |time: StatxTimestamp| i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        let (modified, changed) = (nanos(about.stx_mtime), nanos(about.stx_ctime));
        let latest = u128::try_from(modified.max(changed)).unwrap_or(0);
        let is_settled = latest + SETTLED.as_nanos() <= now.as_nanos();
        let state = if is_settled { "" } else { "-new" };
        let opaque = format!("\"{:x}-{:x}-{modified:x}-{changed:x}{state}\"", about.stx_ino, about.stx_size);
        // RFC 9110 §8.8.2.1: not later than the response.
        let seconds = u64::try_from(about.stx_mtime.tv_sec).ok().map(|seconds| seconds.min(now.as_secs()));
        Self {
            length: about.stx_size,
            tag: Tag { is_weak: !is_settled, opaque },
            modified: seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)),
            is_settled,
        }
    }

    /// The last modification, if it changes whenever the file does (RFC 9110 §8.8.2.2).
    pub fn strong_modified(&self) -> Option<SystemTime> {
        self.modified.filter(|_| self.is_settled)
    }
}

impl Tag {
    /// The value of `ETag`.
    pub fn header(&self) -> Option<HeaderValue> {
        let weak = if self.is_weak { "W/" } else { "" };
        HeaderValue::from_str(&format!("{weak}{}", self.opaque)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    use std::path::Path;

    fn about(path: &Path) -> Statx {
        statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS).expect("a file")
    }

    #[test]
    fn a_tag_is_strong_once_the_file_has_settled() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "abc").expect("a file");
        let now = SystemTime::now();
        let (new, settled) = (Version::of(&about(&path), now), Version::of(&about(&path), now + SETTLED));
        assert!(new.tag.is_weak && new.strong_modified().is_none());
        assert!(!settled.tag.is_weak && settled.strong_modified().is_some());
        assert_ne!(new.tag.opaque, settled.tag.opaque);
        assert_eq!(new.tag.header().expect("a value").to_str().expect("text")[..3], *"W/\"");
    }

    #[test]
    fn a_file_of_equal_length_and_times_has_another_tag() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let hour = SystemTime::now() - Duration::from_secs(3600);
        let write = |text: &str| {
            std::fs::write(&path, text).expect("a file");
            std::fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(hour)).expect("a time");
            Version::of(&about(&path), SystemTime::now() + SETTLED)
        };
        let first = write("abc");
        std::thread::sleep(Duration::from_millis(20));
        let second = write("xyz");
        assert_eq!((first.length, first.modified), (second.length, second.modified));
        assert_ne!(first.tag, second.tag);
    }

    #[test]
    fn times_out_of_range_are_no_header() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "abc").expect("a file");
        let now = SystemTime::now();
        let mut about = about(&path);
        about.stx_mtime.tv_sec = -1;
        assert_eq!(Version::of(&about, now).modified, None);
        about.stx_mtime.tv_sec = i64::MAX;
        assert!(Version::of(&about, now).modified.is_some_and(|modified| modified <= now));
    }
}
