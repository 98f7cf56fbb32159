//! A file that takes rows as they come, in bounded memory.

use crate::Failure;
use crate::output::{Output, cannot_write};
use recoup_support::output_file::Files;
use recoup_table::{Columns, RowFile, RowFormat, Schema};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A file of rows under way. It gets its name when it is finished.
pub(crate) struct RowSink<R: 'static> {
    file: RowFile<R, Output>,
    name: PathBuf,
    /// The first error, after which nothing is written.
    written: io::Result<()>,
}

impl<R: 'static> RowSink<R> {
    /// The file that an option names, in the format of its ending. `files` are the command's other files. `several`: a
    /// last column names the source of each row.
    ///
    /// # Errors
    /// Another ending than .jsonl, .csv or .parquet; a file that cannot be made, or that is among the other files.
    pub(crate) fn create(
        columns: Columns<R>,
        schema: Schema,
        several: bool,
        files: &mut Files,
        (option, path): (&str, &Path),
    ) -> Result<Self, Failure> {
        let format = RowFormat::of_file(path).ok_or_else(|| {
            let path = path.display();
            Failure::Wrong(format!("{option} {path}: expected a name that ends in .jsonl, .csv or .parquet"))
        })?;
        let begun = Output::create(files, option, path)?;
        Self::new(columns, schema, format, several, path, begun)
    }

    /// An output that is begun, which errors call `path`.
    ///
    /// # Errors
    /// An output that does not take the header.
    pub(crate) fn new(
        columns: Columns<R>,
        schema: Schema,
        format: RowFormat,
        several: bool,
        path: &Path,
        begun: Output,
    ) -> Result<Self, Failure> {
        let file = RowFile::new(columns, schema, format, several, begun)
            .map_err(|e| cannot_write(&path.display().to_string(), &e))?;
        Ok(Self { file, name: path.to_owned(), written: Ok(()) })
    }

    /// Writes rows of a source, such as a capture.
    pub(crate) fn write(&mut self, source: &str, rows: impl Iterator<Item = R>) {
        if self.written.is_ok() {
            self.written = self.file.write(source, rows.collect());
        }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The first error of writing. A reader that closes a pipe early is no error.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let named = |e: &io::Error| cannot_write(&self.name.display().to_string(), e);
        match self.written {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(named(&e)),
            Ok(()) => match self.file.finish() {
                Ok(begun) => begun.finish(Ok(())),
                Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
                Err(e) => Err(named(&e)),
            },
        }
    }
}
