//! Rows as CSV: a header and a line a row; an empty cell where the value is unknown.

use crate::{
    Part, SOURCE,
    columns::{Cell, Columns, EpochSeconds},
};
use csv::ByteRecord;
use std::io::{self, Write};

/// No UTF-8 text contains this byte.
const CELL_END: u8 = 0xff;

impl<R: 'static> Columns<R> {
    /// Writes a header and a line a row; with several parts the last column names the part.
    ///
    /// # Errors
    /// When `out` does not take it; a closed pipe keeps its kind.
    pub fn write_csv(&self, parts: &[Part<'_, R>], out: impl Write) -> io::Result<()> {
        let several = parts.len() > 1;
        let mut out = csv::Writer::from_writer(out);
        self.begin_csv(several, &mut out)?;
        for part in parts {
            self.append_csv(part, several, &mut out)?;
        }
        out.flush()
    }

    /// Writes the header.
    pub(crate) fn begin_csv<W: Write>(&self, several: bool, out: &mut csv::Writer<W>) -> io::Result<()> {
        let leaves = self.leaves();
        let source = several.then_some(SOURCE);
        let header = leaves.iter().map(|leaf| &*leaf.name).chain(source);
        out.write_record(header).map_err(io_error)
    }

    /// Writes the rows of a part.
    pub(crate) fn append_csv<W: Write>(
        &self,
        part: &Part<'_, R>,
        several: bool,
        out: &mut csv::Writer<W>,
    ) -> io::Result<()> {
        let leaves = self.leaves();
        let (mut record, mut cell) = (ByteRecord::new(), Vec::new());
        for row in part.rows {
            record.clear();
            for leaf in &leaves {
                cell.clear();
                leaf.column.cell.write(row, &mut cell)?;
                record.push_field(&cell);
            }
            if several {
                record.push_field(part.name.as_bytes());
            }
            out.write_byte_record(&record).map_err(io_error)?;
        }
        Ok(())
    }

    /// Appends the cells of a row as in CSV, separated by a byte that no text contains. The bytes of two
    /// rows are equal if and only if all their cells are.
    pub fn cells(&self) -> impl Fn(&R, &mut Vec<u8>) {
        let leaves = self.leaves();
        move |row, out| {
            for leaf in &leaves {
                // Memory takes everything.
                let _ = leaf.column.cell.write(row, out);
                out.push(CELL_END);
            }
        }
    }

    /// The rows as CSV in memory.
    pub fn to_csv(&self, rows: &[R]) -> String {
        let mut out = Vec::new();
        // Memory takes everything.
        let _ = self.write_csv(&[Part { name: "", rows }], &mut out);
        String::from_utf8(out).unwrap_or_default()
    }
}

/// Keeps an error of the system as it was, so that a closed pipe is known by its kind.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

impl<R> Cell<R> {
    fn write(&self, row: &R, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Text(of) => of(row).map_or(Ok(()), |text| out.write_all(text.as_bytes())),
            Self::Integer(of) => of(row).map_or(Ok(()), |n| write!(out, "{n}")),
            Self::Signed(of) => of(row).map_or(Ok(()), |n| write!(out, "{n}")),
            Self::Real(of) => of(row).map_or(Ok(()), |x| write!(out, "{x}")),
            Self::Flag(of) => of(row).map_or(Ok(()), |is| write!(out, "{is}")),
            Self::Time(of) => of(row).map_or(Ok(()), |at| write!(out, "{}", EpochSeconds(at))),
        }
    }
}
