//! Arrow record batches as Parquet: the same columns and types as [`Columns::write_parquet`](crate::Columns::write_parquet).

use crate::parquet::{TEXT, Types, begin, field, io_error, time, write};
use crate::{Batches, GROUP};
use ::parquet::basic::Type as Physical;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::writer::SerializedRowGroupWriter;
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_schema::DataType;
use std::io::{self, Write};

impl Batches {
    /// Writes a Parquet file.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn write_parquet(&self, out: impl Write + Send) -> io::Result<()> {
        self.write_groups(out).map_err(io_error)
    }

    fn write_groups(&self, out: impl Write + Send) -> Result<(), ParquetError> {
        let columns = self.schema.fields().iter();
        let columns = columns.map(|column| field(column.name(), types(column.data_type())?));
        let mut file = begin(columns, out)?;
        for batches in groups(&self.batches) {
            let mut group = file.next_row_group()?;
            for column in 0..self.schema.fields().len() {
                write_column(batches, column, &mut group)?;
            }
            group.close()?;
        }
        file.close()?;
        Ok(())
    }
}

/// Neighbours that have room in one row group.
fn groups(batches: &[RecordBatch]) -> impl Iterator<Item = &[RecordBatch]> {
    let mut rows = 0;
    batches.chunk_by(move |before, next| {
        rows += before.num_rows();
        let fits = rows + next.num_rows() <= GROUP;
        if !fits {
            rows = 0;
        }
        fits
    })
}

fn types(of: &DataType) -> Result<Types, ParquetError> {
    match of {
        DataType::Utf8 => Ok(TEXT),
        DataType::Int64 => Ok((Physical::INT64, None)),
        DataType::Float64 => Ok((Physical::DOUBLE, None)),
        DataType::Boolean => Ok((Physical::BOOLEAN, None)),
        DataType::Timestamp(..) => Ok(time()),
        other => Err(unexpected(other)),
    }
}

fn write_column(
    batches: &[RecordBatch],
    column: usize,
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
) -> Result<(), ParquetError> {
    /// The cells of one column, whose arrays are of this type.
    fn cells<A: Array + 'static>(batches: &[RecordBatch], column: usize) -> impl Iterator<Item = &A> {
        batches.iter().filter_map(move |batch| batch.column(column).as_any().downcast_ref())
    }

    let Some(first) = batches.first() else { return Ok(()) };
    match first.column(column).data_type() {
        DataType::Utf8 => {
            let texts = cells::<StringArray>(batches, column).flatten();
            write::<ByteArrayType>(texts.map(|text| text.map(ByteArray::from)), group)
        }
        DataType::Int64 => write::<Int64Type>(cells::<Int64Array>(batches, column).flatten(), group),
        DataType::Float64 => write::<DoubleType>(cells::<Float64Array>(batches, column).flatten(), group),
        DataType::Boolean => write::<BoolType>(cells::<BooleanArray>(batches, column).flatten(), group),
        DataType::Timestamp(..) => {
            write::<Int64Type>(cells::<TimestampNanosecondArray>(batches, column).flatten(), group)
        }
        other => Err(unexpected(other)),
    }
}

/// [`Columns::to_arrow`](crate::Columns::to_arrow) makes no such column.
fn unexpected(of: &DataType) -> ParquetError {
    ParquetError::General(format!("a column of the type {of}"))
}
