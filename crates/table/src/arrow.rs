//! Rows as Arrow record batches, for data frames in the same process: the columns of Parquet
//! ([`parquet`](crate::Columns::write_parquet)), every one nullable.
//!
//! Types: text is Utf8, integers are Int64, real numbers Float64, flags Boolean, and times are timestamps in
//! nanoseconds since 1970, UTC. The metadata of a field has its `unit` and `description`.

use crate::columns::{Cell, Columns, Leaf, signed};
use crate::{GROUP, Part, SOURCE};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use std::{collections::HashMap, iter::repeat_n, sync::Arc};

/// The time zone of timestamps.
const UTC: &str = "UTC";

/// Rows as Arrow record batches with their schema.
#[derive(Clone, Debug)]
pub struct Batches {
    /// The schema of every batch.
    pub schema: SchemaRef,
    /// At most 65,536 rows each.
    pub batches: Vec<RecordBatch>,
}

impl Batches {
    /// Adds the rows of the same columns.
    pub fn append(&mut self, other: Self) {
        self.batches.extend(other.batches);
    }
}

impl<R: 'static> Columns<R> {
    /// The rows as record batches; with several parts the last column names the part.
    ///
    /// # Errors
    /// If two columns have one name.
    pub fn to_arrow(&self, parts: &[Part<'_, R>]) -> Result<Batches, ArrowError> {
        let several = parts.len() > 1;
        let leaves = self.leaves();
        let schema = schema(&leaves, several);
        let groups = parts.iter().flat_map(|part| part.rows.chunks(GROUP).map(move |rows| (part.name, rows)));
        let batches = groups.map(|(name, rows)| {
            let cells = leaves.iter().map(|leaf| leaf.column.cell.to_array(rows));
            let source = several.then(|| {
                let names = repeat_n(name, rows.len());
                Arc::new(StringArray::from_iter_values(names)) as ArrayRef
            });
            RecordBatch::try_new(Arc::clone(&schema), cells.chain(source).collect())
        });
        let batches = batches.collect::<Result<_, _>>()?;
        Ok(Batches { schema, batches })
    }
}

fn schema<R>(leaves: &[Leaf<'_, R>], several: bool) -> SchemaRef {
    let field = |name: &str, kind, unit: &str, about: &str| {
        let metadata = [("unit", unit), ("description", about)];
        let metadata = metadata.into_iter().filter(|(_, text)| !text.is_empty());
        let metadata = metadata.map(|(key, text)| (key.to_owned(), text.to_owned()));
        Field::new(name, kind, true).with_metadata(metadata.collect::<HashMap<_, _>>())
    };
    let columns = leaves.iter().map(|leaf| {
        let column = leaf.column;
        field(&leaf.name, column.cell.data_type(), column.header.unit, &column.header.about)
    });
    let source = several.then(|| field(SOURCE, DataType::Utf8, "", "the capture"));
    Arc::new(Schema::new(columns.chain(source).collect::<Vec<_>>()))
}

impl<R> Cell<R> {
    fn data_type(&self) -> DataType {
        match self {
            Self::Text(_) => DataType::Utf8,
            Self::Integer(_) | Self::Signed(_) => DataType::Int64,
            Self::Real(_) => DataType::Float64,
            Self::Flag(_) => DataType::Boolean,
            Self::Time(_) => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        }
    }

    fn to_array(&self, rows: &[R]) -> ArrayRef {
        let rows = rows.iter();
        match self {
            Self::Text(of) => Arc::new(rows.map(of).collect::<StringArray>()),
            Self::Integer(of) => Arc::new(rows.map(|r| of(r).map(signed)).collect::<Int64Array>()),
            Self::Signed(of) => Arc::new(rows.map(of).collect::<Int64Array>()),
            Self::Real(of) => Arc::new(rows.map(of).collect::<Float64Array>()),
            Self::Flag(of) => Arc::new(rows.map(of).collect::<BooleanArray>()),
            Self::Time(of) => {
                let nanos = rows.map(|r| of(r).map(|at| signed(at.as_nanos())));
                let times: TimestampNanosecondArray = nanos.collect();
                Arc::new(times.with_timezone(UTC))
            }
        }
    }
}
