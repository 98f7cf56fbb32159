//! Columns of typed cells: one list of them serves CSV, JSON and Parquet.

use csv::ByteRecord;
use recoup_units::Instant;
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, Write};

/// What a column shows of a row; `None` where nothing is known.
type Of<R, T> = Box<dyn Fn(&R) -> Option<T> + Send + Sync>;

/// How a column reads its cell off a row.
pub(crate) enum Cell<R> {
    Text(Of<R, Cow<'static, str>>),
    Integer(Of<R, u64>),
    Real(Of<R, f64>),
    Flag(Of<R, bool>),
    /// Epoch seconds with nine decimals; in Parquet a timestamp.
    Time(Of<R, Instant>),
}

/// A column: its name, and its cells.
pub(crate) struct Column<R> {
    pub name: Cow<'static, str>,
    pub cell: Cell<R>,
}

/// The columns of a kind of rows, in order.
pub struct Columns<R>(pub(crate) Vec<Column<R>>);

/// The rows of a capture.
pub struct Rows<'a, R> {
    /// The capture's name.
    pub capture: &'a str,
    /// Its rows, in order.
    pub rows: &'a [R],
}

/// The name of the column with the capture's name.
pub const CAPTURE: &str = "capture";

impl<R: 'static> Columns<R> {
    /// No columns yet.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    fn with(mut self, name: impl Into<Cow<'static, str>>, cell: Cell<R>) -> Self {
        let name = name.into();
        self.0.push(Column { name, cell });
        self
    }

    /// Adds a column of text; `None` is an empty cell.
    pub fn text(
        self,
        name: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> Option<Cow<'static, str>> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Cell::Text(Box::new(of)))
    }

    /// Adds a column of whole numbers; `None` is an empty cell.
    pub fn integer(
        self,
        name: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Cell::Integer(Box::new(of)))
    }

    /// Adds a column of numbers; `None` is an empty cell.
    pub fn real(
        self,
        name: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Cell::Real(Box::new(of)))
    }

    /// Adds a column of truth values.
    pub fn flag(
        self,
        name: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Cell::Flag(Box::new(move |row| Some(of(row)))))
    }

    /// Adds a column of moments; `None` is an empty cell.
    pub fn time(
        self,
        name: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> Option<Instant> + Send + Sync + 'static,
    ) -> Self {
        self.with(name, Cell::Time(Box::new(of)))
    }

    /// The columns of a part of the row, `prefix` before their names.
    pub fn part<P: 'static>(
        self,
        prefix: &str,
        mut columns: Columns<P>,
        part: fn(&R) -> &P,
    ) -> Self {
        for column in &mut columns.0 {
            column.name = format!("{prefix}_{}", column.name).into();
        }
        self.all_of(columns, part)
    }

    /// The columns of a part of the row, by their own names.
    pub fn all_of<P: 'static>(mut self, columns: Columns<P>, part: fn(&R) -> &P) -> Self {
        let columns = columns.0.into_iter().map(|Column { name, cell }| Column {
            name,
            cell: cell.of_part(part),
        });
        self.0.extend(columns);
        self
    }

    /// The names of the columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|column| &*column.name)
    }

    /// Writes a header and a line a row; of several captures the last column names the capture.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn write_csv(&self, captures: &[Rows<'_, R>], out: impl Write) -> io::Result<()> {
        let mut out = csv::Writer::from_writer(out);
        let name = (captures.len() > 1).then_some(CAPTURE);
        let header = self.names().chain(name);
        out.write_record(header).map_err(io_error)?;
        let (mut record, mut cell) = (ByteRecord::new(), Vec::new());
        for Rows { capture, rows } in captures {
            for row in *rows {
                record.clear();
                for column in &self.0 {
                    cell.clear();
                    column.cell.write(row, &mut cell)?;
                    record.push_field(&cell);
                }
                if name.is_some() {
                    record.push_field(capture.as_bytes());
                }
                out.write_byte_record(&record).map_err(io_error)?;
            }
        }
        out.flush()
    }

    /// The rows as JSON: an array with an object a row, whose keys are the columns' names.
    pub fn to_json<'a>(&'a self, rows: &'a [R]) -> impl Serialize + 'a {
        JsonRows {
            columns: self,
            rows,
        }
    }

    /// A row as JSON: an object.
    pub fn row_to_json<'a>(&'a self, row: &'a R) -> impl Serialize + 'a {
        JsonRow { columns: self, row }
    }
}

/// What the system said, where it was the system: who prints knows a closed pipe by its kind.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

impl<P: 'static> Cell<P> {
    /// The same cell of what the row is a part of.
    fn of_part<R: 'static>(self, part: fn(&R) -> &P) -> Cell<R> {
        match self {
            Self::Text(of) => Cell::Text(Box::new(move |row| of(part(row)))),
            Self::Integer(of) => Cell::Integer(Box::new(move |row| of(part(row)))),
            Self::Real(of) => Cell::Real(Box::new(move |row| of(part(row)))),
            Self::Flag(of) => Cell::Flag(Box::new(move |row| of(part(row)))),
            Self::Time(of) => Cell::Time(Box::new(move |row| of(part(row)))),
        }
    }
}

impl<R> Cell<R> {
    /// As CSV has it: nothing where nothing is known.
    fn write(&self, row: &R, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Text(of) => of(row).map_or(Ok(()), |text| out.write_all(text.as_bytes())),
            Self::Integer(of) => of(row).map_or(Ok(()), |n| write!(out, "{n}")),
            Self::Real(of) => of(row).map_or(Ok(()), |x| write!(out, "{x}")),
            Self::Flag(of) => of(row).map_or(Ok(()), |is| write!(out, "{is}")),
            Self::Time(of) => of(row).map_or(Ok(()), |at| write!(out, "{}", EpochSeconds(at))),
        }
    }
}

/// Seconds since 1970 with nine decimals.
pub struct EpochSeconds(pub Instant);

impl std::fmt::Display for EpochSeconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}

impl Serialize for EpochSeconds {
    /// A number with all of its digits, which a double does not hold.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = RawValue::from_string(self.to_string()).map_err(S::Error::custom)?;
        number.serialize(serializer)
    }
}

struct JsonRows<'a, R> {
    columns: &'a Columns<R>,
    rows: &'a [R],
}

impl<R> Serialize for JsonRows<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in self.rows {
            let columns = self.columns;
            all.serialize_element(&JsonRow { columns, row })?;
        }
        all.end()
    }
}

struct JsonRow<'a, R> {
    columns: &'a Columns<R>,
    row: &'a R,
}

impl<R> Serialize for JsonRow<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.0.len()))?;
        for Column { name, cell } in &self.columns.0 {
            match cell {
                Cell::Text(of) => map.serialize_entry(name, &of(self.row))?,
                Cell::Integer(of) => map.serialize_entry(name, &of(self.row))?,
                Cell::Real(of) => map.serialize_entry(name, &of(self.row))?,
                Cell::Flag(of) => map.serialize_entry(name, &of(self.row))?,
                Cell::Time(of) => map.serialize_entry(name, &of(self.row).map(EpochSeconds))?,
            }
        }
        map.end()
    }
}
