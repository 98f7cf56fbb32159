//! In place of Parquet, where it is left out: every file is refused.

use crate::{Columns, Part};
use std::convert::Infallible;
use std::io::{self, ErrorKind, Write};
use std::marker::PhantomData;

/// No file is ever written.
pub(crate) struct FileWriter<W>(Infallible, PhantomData<W>);

/// There is no file to complete.
pub(crate) fn finish<W>(file: FileWriter<W>) -> io::Result<W> {
    match file.0 {}
}

impl<R: 'static> Columns<R> {
    /// Refuses to write Parquet, which this build leaves out.
    ///
    /// # Errors
    /// Always.
    pub fn write_parquet(&self, _: &[Part<'_, R>], _: impl Write + Send) -> io::Result<()> {
        Err(io::Error::new(ErrorKind::Unsupported, "this build writes no Parquet (it lacks the feature `parquet`)"))
    }

    pub(crate) fn begin_parquet<W: Write + Send>(&self, _: bool, out: W) -> io::Result<FileWriter<W>> {
        let refused = self.write_parquet(&[], out);
        refused.and(Err(ErrorKind::Unsupported.into()))
    }

    pub(crate) fn append_parquet<W: Write + Send>(
        &self,
        _: &Part<'_, R>,
        _: bool,
        file: &mut FileWriter<W>,
    ) -> io::Result<()> {
        match file.0 {}
    }
}
