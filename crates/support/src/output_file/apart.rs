//! No output of a command overwrites one of its inputs, or another output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An output is the same file as an input or another output. The message is one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OverwriteError {
    /// It is an input.
    #[error("cannot write `{output}`: it is {input}, which is read")]
    Input {
        /// The output's name.
        output: String,
        /// The input's name.
        input: String,
    },
    /// It is another output.
    #[error("{option} {output}: expected another file than {other}")]
    Output {
        /// The option that names it.
        option: String,
        /// The output's name.
        output: String,
        /// The option that names the other output.
        other: String,
    },
}

/// The files that a command reads and writes. They are compared by what they are: a symbolic link, a hard link or
/// another path to a file is that file.
#[derive(Clone, Debug, Default)]
pub struct Files {
    read: Vec<(Place, String)>,
    /// With the options that name them.
    written: Vec<(Place, String)>,
}

/// A place for the contents of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A file that exists: its device and its number there.
    File(u64, u64),
    /// A name without a file, in a folder that exists.
    Name(Box<Place>, OsString),
    /// A name in no folder, or on a system without numbers of files.
    Path(PathBuf),
}

impl Place {
    /// `None` for what is not replaced: folders, pipes, devices.
    fn of(path: &Path) -> Option<Self> {
        match path.metadata() {
            Ok(about) if about.is_file() => Some(Self::existing(path, &about)),
            Ok(_) => None,
            Err(_) => {
                let path = super::resolve(path).unwrap_or_else(|_| path.to_owned());
                let folder = super::folder_of(&path);
                match (folder.metadata(), path.file_name()) {
                    (Ok(about), Some(name)) => {
                        Some(Self::Name(Box::new(Self::existing(folder, &about)), name.to_owned()))
                    }
                    _ => Some(Self::Path(path)),
                }
            }
        }
    }

    #[cfg(unix)]
    fn existing(_: &Path, about: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self::File(about.dev(), about.ino())
    }

    #[cfg(not(unix))]
    fn existing(path: &Path, _: &std::fs::Metadata) -> Self {
        Self::Path(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    }
}

/// The name for standard input and output.
const STANDARD: &str = "-";

impl Files {
    /// The files that a command reads; `-` is standard input.
    pub fn reading<P: AsRef<Path>>(inputs: impl IntoIterator<Item = P>) -> Self {
        let mut files = Self::default();
        for input in inputs {
            let input = input.as_ref();
            let (path, name) = match input == Path::new(STANDARD) {
                true => (Path::new("/dev/stdin"), "standard input".to_owned()),
                false => (input, input.display().to_string()),
            };
            files.read.extend(Place::of(path).map(|place| (place, name)));
        }
        files
    }

    /// Adds an output, which `option` names; `-` is standard output.
    ///
    /// # Errors
    /// If it is an input, or another output.
    pub fn write(&mut self, option: &str, output: &Path) -> Result<(), OverwriteError> {
        if output == Path::new(STANDARD) {
            return Ok(());
        }
        let Some(place) = Place::of(output) else {
            return Ok(());
        };
        let found = |(known, _): &&(Place, String)| *known == place;
        let name = || output.display().to_string();
        if let Some((_, input)) = self.read.iter().find(found) {
            return Err(OverwriteError::Input { output: name(), input: input.clone() });
        }
        if let Some((_, other)) = self.written.iter().find(found) {
            return Err(OverwriteError::Output { option: option.into(), output: name(), other: other.clone() });
        }
        self.written.push((place, option.into()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_many_names() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), "").unwrap();
        std::fs::write(at("b"), "").unwrap();
        std::fs::hard_link(at("a"), at("hard")).unwrap();
        let check = |output: PathBuf| Files::reading([at("a")]).write("--output", &output);
        assert!(check(at("b")).is_ok() && check(at("none")).is_ok());
        // A folder and a device are not replaced.
        assert!(check(dir.path().into()).is_ok() && check("/dev/null".into()).is_ok() && check("-".into()).is_ok());
        let error = check(at("./hard")).unwrap_err().to_string();
        assert!(error.starts_with("cannot write `") && error.ends_with("/a, which is read"), "{error}");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", at("link")).unwrap();
            assert!(check(at("link")).is_err());
        }
    }

    #[test]
    fn outputs_are_apart_before_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::default();
        files.write("--output", &dir.path().join("new")).unwrap();
        files.write("--events", &dir.path().join("other")).unwrap();
        let error = files.write("--events", &dir.path().join(".").join("new")).unwrap_err().to_string();
        assert!(
            error.starts_with("--events ") && error.ends_with("new: expected another file than --output"),
            "{error}"
        );
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("new", dir.path().join("link")).unwrap();
            assert!(files.write("--pcap", &dir.path().join("link")).is_err());
        }
        for _ in 0..2 {
            assert!(files.write("--output", Path::new("/dev/null")).is_ok());
        }
    }
}
