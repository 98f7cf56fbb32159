//! Files of rows that are written as they come, in bounded memory: JSON lines, CSV or Parquet.

use crate::parquet::{self, FileWriter};
use crate::{Columns, GROUP, Part, Schema};
use std::io::{self, Write};
use std::path::Path;

/// The forms of a file of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// A line with the schema, and then an object to a line.
    JsonLines,
    /// A header, and then a row to a line.
    Csv,
    /// A Parquet file.
    Parquet,
}

impl RowFormat {
    /// All forms.
    pub const ALL: [Self; 3] = [Self::JsonLines, Self::Csv, Self::Parquet];

    /// How the names of files of this form end, without the dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// The form that a file's ending names, in upper or lower case.
    pub fn of_file(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        let named = |format: &Self| ending.eq_ignore_ascii_case(format.ending());
        Self::ALL.into_iter().find(named)
    }
}

/// Writes rows as they come.
pub struct RowFile<R, W: Write + Send> {
    columns: Columns<R>,
    /// Whether a last column names the source of each row.
    several: bool,
    form: Form<R, W>,
}

enum Form<R, W: Write + Send> {
    JsonLines(W),
    Csv(csv::Writer<W>),
    Parquet {
        file: FileWriter<W>,
        /// Rows of the next row group, all of one source.
        held: Vec<R>,
        source: String,
    },
}

impl<R: 'static, W: Write + Send> RowFile<R, W> {
    /// A file without rows. `several`: the rows come from several sources, and a last column names the source of
    /// each.
    ///
    /// # Errors
    /// When `out` does not take the header.
    pub fn new(columns: Columns<R>, schema: Schema, format: RowFormat, several: bool, mut out: W) -> io::Result<Self> {
        let form = match format {
            RowFormat::JsonLines => {
                out.write_all(schema.header().as_bytes())?;
                Form::JsonLines(out)
            }
            RowFormat::Csv => {
                let mut out = csv::Writer::from_writer(out);
                columns.begin_csv(several, &mut out)?;
                Form::Csv(out)
            }
            RowFormat::Parquet => {
                Form::Parquet { file: columns.begin_parquet(several, out)?, held: Vec::new(), source: String::new() }
            }
        };
        Ok(Self { columns, several, form })
    }

    /// Writes rows of the source `name`.
    ///
    /// # Errors
    /// When the file does not take them.
    pub fn write(&mut self, name: &str, rows: Vec<R>) -> io::Result<()> {
        let part = Part { name, rows: &rows };
        match &mut self.form {
            Form::JsonLines(out) => self.columns.append_json_lines(&part, self.several, out),
            Form::Csv(out) => self.columns.append_csv(&part, self.several, out),
            Form::Parquet { source, held, .. } if source == name => {
                held.extend(rows);
                if held.len() >= GROUP { self.write_held() } else { Ok(()) }
            }
            Form::Parquet { .. } => {
                self.write_held()?;
                if let Form::Parquet { source, held, .. } = &mut self.form {
                    *source = name.into();
                    *held = rows;
                }
                Ok(())
            }
        }
    }

    fn write_held(&mut self) -> io::Result<()> {
        let Form::Parquet { file, held, source } = &mut self.form else {
            return Ok(());
        };
        let part = Part { name: source, rows: held };
        self.columns.append_parquet(&part, self.several, file)?;
        held.clear();
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// When the file does not take the rest.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_held()?;
        match self.form {
            Form::JsonLines(out) => Ok(out),
            Form::Csv(out) => out.into_inner().map_err(csv::IntoInnerError::into_error),
            Form::Parquet { file, .. } => parquet::finish(file),
        }
    }
}
