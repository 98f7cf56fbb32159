//! Where findings go.

use crate::Failure;
use recoup_lab::output_file::OutputFile;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Where findings go.
pub enum Output {
    StandardOutput,
    File(OutputFile),
}

impl Output {
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Ok(match path == Path::new("-") {
            true => Self::StandardOutput,
            false => Self::File(OutputFile::create(path)?),
        })
    }

    pub fn write(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match self {
            Self::StandardOutput => {
                let mut out = BufWriter::new(io::stdout());
                match write(&mut out).and_then(|()| out.flush()) {
                    // A reader that has had enough is no error.
                    Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::Wrong(format!(
                        "cannot write to standard output: {e}"
                    ))),
                    _ => Ok(()),
                }
            }
            Self::File(file) => {
                let name = file.target().display().to_string();
                let mut out = BufWriter::new(file);
                let written = write(&mut out).and_then(|()| Ok(out.into_inner()?));
                let file = written.map_err(|e| cannot_write(&name, &e))?;
                Ok(file.publish()?)
            }
        }
    }
}
pub fn cannot_write(file: &str, error: &io::Error) -> Failure {
    Failure::Wrong(format!("cannot write `{file}`: {error}"))
}
