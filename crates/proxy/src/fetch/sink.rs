//! Where the bytes of responses go.

use crate::fetch::client::FetchError;
use crate::fetch::url::Url;
use recoup::Failure;
use recoup_support::output_file::OutputFile;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the response of a URL goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Nowhere,
    Stdout,
    File(PathBuf),
}

/// Where each URL's response goes.
pub fn targets(output: Option<&Path>, urls: &[Url]) -> Result<Vec<Target>, Failure> {
    let all = |target: Target| Ok(vec![target; urls.len()]);
    match output {
        None => all(Target::Nowhere),
        Some(path) if path == Path::new("-") => all(Target::Stdout),
        Some(folder) if folder.is_dir() => {
            let mut names = BTreeSet::new();
            let target = |url: &Url| {
                let wrong = |why: &str| Failure::Wrong(format!("--output {}: {url}: {why}", folder.display()));
                let name = url.file_name().ok_or_else(|| {
                    wrong("expected --output FILE, because the URL does not end in a name for a file")
                })?;
                let path = folder.join(&name);
                if path.is_dir() {
                    return Err(wrong("expected another name than that of a folder there"));
                }
                if !names.insert(name) {
                    return Err(wrong("expected another name than that of an earlier URL"));
                }
                Ok(Target::File(path))
            };
            urls.iter().map(target).collect()
        }
        // A name that only a folder has.
        Some(path) if path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
            Err(Failure::Wrong(format!("--output {}: expected a folder that exists", path.display())))
        }
        Some(path) if urls.len() == 1 => all(Target::File(path.into())),
        Some(path) => Err(Failure::Wrong(format!("--output {}: expected a folder for several URLs", path.display()))),
    }
}

/// Takes the bytes of one response.
pub enum Sink {
    Nowhere,
    Stdout,
    File(Box<OutputFile>),
}

impl Sink {
    /// Begins the response of a target.
    pub fn open(target: &Target) -> Result<Self, FetchError> {
        Ok(match target {
            Target::Nowhere => Self::Nowhere,
            Target::Stdout => Self::Stdout,
            Target::File(path) => {
                let file = OutputFile::create(path).map_err(|e| FetchError::Output(e.to_string()))?;
                Self::File(Box::new(file))
            }
        })
    }

    /// Takes the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Stdout => {
                let mut out = io::stdout().lock();
                let written = out.write_all(bytes).and_then(|()| out.flush());
                written.map_err(|e| FetchError::Output(format!("cannot write to standard output: {e}")))
            }
            Self::File(file) => {
                let written = file.write_all(bytes);
                written.map_err(|e| FetchError::Output(format!("cannot write `{}`: {e}", file.target().display())))
            }
        }
    }

    /// The response is whole: a file gets its name.
    pub fn finish(self) -> Result<(), FetchError> {
        match self {
            Self::Nowhere | Self::Stdout => Ok(()),
            Self::File(file) => file.publish().map_err(|e| FetchError::Output(e.to_string())),
        }
    }
}
