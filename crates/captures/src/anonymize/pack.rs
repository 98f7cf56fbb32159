//! Compression of what is written, by the ending of its name.

use flate2::write::GzEncoder;
use recoup_trace::read::RewriteError;
use std::io::Write;
use std::path::Path;

/// How an output is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// By gzip.
    Gzip,
    /// By zstd.
    Zstd,
}

impl Packing {
    /// For a file of this name: by gzip if it ends in `.gz`, by zstd if it ends in `.zst`.
    pub fn of(name: &Path) -> Self {
        let is = |ending: &str| name.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
        match () {
            () if is("gz") => Self::Gzip,
            () if is("zst") => Self::Zstd,
            () => Self::Plain,
        }
    }

    /// Compresses to `out` what `write` writes.
    ///
    /// # Errors
    /// Those of `write`, and when `out` fails.
    pub fn pack<T>(
        self,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> Result<T, RewriteError>,
    ) -> Result<T, RewriteError> {
        match self {
            Self::Plain => write(out),
            Self::Gzip => {
                let mut packed = GzEncoder::new(out, flate2::Compression::default());
                let result = write(&mut packed)?;
                packed.finish()?;
                Ok(result)
            }
            Self::Zstd => {
                let mut packed = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                let result = write(&mut packed)?;
                packed.finish()?;
                Ok(result)
            }
        }
    }
}
