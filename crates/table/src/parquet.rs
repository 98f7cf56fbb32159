//! Rows as Parquet: a row group of at most [`GROUP`] rows after another, every column optional, text
//! in dictionaries, pages packed by Snappy, which every reader of Parquet unpacks.
//!
//! Types: text is a UTF-8 string, integers are INT64, real numbers DOUBLE, flags BOOLEAN, and times
//! are INT64 timestamps in nanoseconds since 1970, UTC.

use crate::columns::{Cell, Columns, Leaf, signed};
use crate::{GROUP, Part, SOURCE};
use ::parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// A file that is written.
pub(crate) type FileWriter<W> = SerializedFileWriter<W>;

/// Completes a file.
pub(crate) fn finish<W: Write + Send>(file: FileWriter<W>) -> io::Result<W> {
    file.into_inner().map_err(io_error)
}

impl<R: 'static> Columns<R> {
    /// Writes a Parquet file; with several parts the last column names the part.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn write_parquet(&self, parts: &[Part<'_, R>], out: impl Write + Send) -> io::Result<()> {
        let several = parts.len() > 1;
        let mut file = self.begin_parquet(several, out)?;
        for part in parts {
            self.append_parquet(part, several, &mut file)?;
        }
        file.close().map_err(io_error)?;
        Ok(())
    }

    /// A file without rows.
    pub(crate) fn begin_parquet<W: Write + Send>(&self, several: bool, out: W) -> io::Result<FileWriter<W>> {
        begin(schema(&self.leaves(), several), out).map_err(io_error)
    }

    /// Writes the rows of a part as row groups.
    pub(crate) fn append_parquet<W: Write + Send>(
        &self,
        part: &Part<'_, R>,
        several: bool,
        file: &mut FileWriter<W>,
    ) -> io::Result<()> {
        let mut groups = part.rows.chunks(GROUP);
        let name = several.then(|| ByteArray::from(part.name));
        let written = groups.try_for_each(|rows| self.write_group(rows, name.as_ref(), file));
        written.map_err(io_error)
    }

    fn write_group<W: Write + Send>(
        &self,
        rows: &[R],
        part: Option<&ByteArray>,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for leaf in &self.leaves() {
            leaf.column.cell.write_column(rows, &mut group)?;
        }
        if let Some(name) = part {
            write::<ByteArrayType>(rows.iter().map(|_| Some(name.clone())), &mut group)?;
        }
        group.close()?;
        Ok(())
    }
}

/// Begins a file with these columns.
pub(crate) fn begin<W: Write + Send>(
    fields: impl Iterator<Item = Result<Arc<Type>, ParquetError>>,
    out: W,
) -> Result<FileWriter<W>, ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let schema = Type::group_type_builder("recoup").with_fields(fields.collect::<Result<_, _>>()?);
    SerializedFileWriter::new(out, Arc::new(schema.build()?), Arc::new(properties.build()))
}

fn schema<R>(leaves: &[Leaf<'_, R>], several: bool) -> impl Iterator<Item = Result<Arc<Type>, ParquetError>> {
    let columns = leaves.iter().map(|leaf| field(&leaf.name, leaf.column.cell.types()));
    columns.chain(several.then(|| field(SOURCE, TEXT)))
}

/// How a cell is stored, and what it means.
pub(crate) type Types = (Physical, Option<LogicalType>);

pub(crate) const TEXT: Types = (Physical::BYTE_ARRAY, Some(LogicalType::String));

/// A moment.
pub(crate) fn time() -> Types {
    (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS)))
}

pub(crate) fn field(name: &str, (physical, logical): Types) -> Result<Arc<Type>, ParquetError> {
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
}

impl<R> Cell<R> {
    fn types(&self) -> Types {
        match self {
            Self::Text(_) => TEXT,
            Self::Integer(_) | Self::Signed(_) => (Physical::INT64, None),
            Self::Real(_) => (Physical::DOUBLE, None),
            Self::Flag(_) => (Physical::BOOLEAN, None),
            Self::Time(_) => time(),
        }
    }

    fn write_column<W: Write + Send>(
        &self,
        rows: &[R],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        match self {
            Self::Text(of) => {
                let cells = rows.iter().map(|row| of(row).map(|text| ByteArray::from(&*text)));
                write::<ByteArrayType>(cells, group)
            }
            Self::Integer(of) => write::<Int64Type>(rows.iter().map(|r| of(r).map(signed)), group),
            Self::Signed(of) => write::<Int64Type>(rows.iter().map(of), group),
            Self::Real(of) => write::<DoubleType>(rows.iter().map(of), group),
            Self::Flag(of) => write::<BoolType>(rows.iter().map(of), group),
            Self::Time(of) => {
                let nanos = rows.iter().map(|r| of(r).map(|at| signed(at.as_nanos())));
                write::<Int64Type>(nanos, group)
            }
        }
    }
}

/// Writes the next column of a row group.
pub(crate) fn write<T: DataType>(
    cells: impl Iterator<Item = Option<T::T>>,
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
) -> Result<(), ParquetError> {
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("more columns than the schema has".into()))?;
    let mut values = Vec::new();
    // 1 where there is a value, 0 where there is none.
    let mut levels = Vec::new();
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let typed: &mut ColumnWriterImpl<'_, T> = column.typed();
    typed.write_batch(&values, Some(&levels), None)?;
    column.close()
}

/// The system's error, if the system caused it.
pub(crate) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
