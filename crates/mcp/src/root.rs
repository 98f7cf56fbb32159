//! The folder whose files are read. The system resolves paths below it (cap-std): neither `..` nor a symbolic link leads out, also if
//! files are renamed meanwhile.

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use recoup_captures::capture::OpenedFile;
use recoup_support::suggest::did_you_mean;
use recoup_units::visible;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most entries of folders that a list looks at.
const MOST_VISITED: usize = 20_000;

/// How deep a list looks.
const DEEPEST: usize = 16;

/// The folder whose files are read.
#[derive(Debug)]
pub struct Root {
    folder: Dir,
    /// Its path without symbolic links.
    path: PathBuf,
}

/// A file that may be a capture, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its path below the root.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last written, if the system knows.
    pub modified: Option<SystemTime>,
}

/// Files below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// In the order of their paths.
    pub files: Vec<Listed>,
    /// Whether there were more entries than a list looks at.
    pub is_cut: bool,
    visited: usize,
}

impl Root {
    /// Opens the folder.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let folder = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { folder, path })
    }

    /// Opens a capture by its path below the root.
    ///
    /// # Errors
    /// In one line: a path that leads out, a file that is not there or is no regular file.
    pub fn capture(&self, path: &str) -> Result<OpenedFile, String> {
        let below = self.below(path)?;
        // Opening a pipe must not wait for its writer.
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let opened = self.folder.open_with(below, &options).map_err(|e| self.refusal(path, below, &e))?;
        let name = below.to_string_lossy();
        OpenedFile::new(&name, opened.into_std()).map_err(|e| e.to_string())
    }

    /// The path below the root. An absolute path may name a file below it.
    fn below<'a>(&self, path: &'a str) -> Result<&'a Path, String> {
        let path = Path::new(path);
        if path.is_relative() {
            return Ok(path);
        }
        path.strip_prefix(&self.path).map_err(|_| outside(path))
    }

    fn refusal(&self, given: &str, below: &Path, error: &io::Error) -> String {
        let name = visible(given);
        match error.kind() {
            // The system has no number for it: cap-std refuses it.
            ErrorKind::PermissionDenied if error.raw_os_error().is_none() => outside(Path::new(given)),
            ErrorKind::NotFound => {
                let listing = self.captures(Path::new("")).unwrap_or_default();
                let near = did_you_mean(&below.to_string_lossy(), listing.files.iter().map(|file| &*file.path));
                format!("capture `{name}`: no such file below the root{near} (list_captures lists the files)")
            }
            _ => format!("capture `{name}`: cannot open it: {error}"),
        }
    }

    /// Lists the files in a folder and below it that may be captures.
    ///
    /// # Errors
    /// In one line: a folder that leads out, or that cannot be read.
    pub fn captures(&self, folder: &Path) -> Result<Listing, String> {
        let name = folder.to_string_lossy();
        let below = self.below(&name)?;
        let mut listing = Listing::default();
        let opened = match below.as_os_str().is_empty() {
            true => self.folder.try_clone(),
            false => self.folder.open_dir(below),
        };
        let read = opened.and_then(|opened| listing.add(&opened, below, 0));
        read.map_err(|e| match e.kind() {
            ErrorKind::PermissionDenied if e.raw_os_error().is_none() => outside(folder),
            _ => format!("folder `{}`: cannot read it: {e}", visible(&name)),
        })?;
        listing.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }
}

impl Listing {
    /// Adds the files of a folder. Symbolic links to folders are not followed: they could lead round in circles.
    fn add(&mut self, folder: &Dir, path: &Path, depth: usize) -> io::Result<()> {
        for entry in folder.entries()? {
            self.visited += 1;
            if self.visited > MOST_VISITED {
                self.is_cut = true;
                return Ok(());
            }
            // What vanishes or cannot be read meanwhile is not listed.
            let Ok(entry) = entry else { continue };
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let below = path.join(&name);
            if kind.is_dir() {
                if depth >= DEEPEST {
                    self.is_cut = true;
                } else if let Ok(inner) = entry.open_dir() {
                    _ = self.add(&inner, &below, depth + 1);
                }
            } else if is_capture_name(&name.to_string_lossy())
                && let Ok(about) = folder.metadata(&name)
                && about.is_file()
            {
                let modified = about.modified().ok().map(|time| time.into_std());
                self.files.push(Listed { path: below.to_string_lossy().into_owned(), bytes: about.len(), modified });
            }
        }
        Ok(())
    }
}

fn outside(path: &Path) -> String {
    format!(
        "`{}` is not below the root of this server: expected a path relative to it",
        visible(&path.to_string_lossy())
    )
}

/// Whether a file of this name may be a capture: `a.pcap`, `a.pcapng.gz`, `a.cap`, `a.pcap12` as tcpdump -C writes them.
fn is_capture_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let Some((_, ending)) = name.rsplit_once('.') else {
        return false;
    };
    ["pcap", "pcapng", "cap"].contains(&ending.trim_end_matches(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_known_by_their_names() {
        for (name, is_one) in [
            ("a.pcap", true),
            ("A.PCAPNG", true),
            ("a.pcap.zst", true),
            ("a.cap.gz", true),
            ("a.pcap12", true),
            ("a.txt", false),
            ("pcap", false),
            ("a.gz", false),
            ("a.pcap.xz", false),
        ] {
            assert_eq!(is_capture_name(name), is_one, "{name}");
        }
    }
}
