//! Tables: typed columns of any kind of row, as text, JSON, CSV, Parquet or Arrow (feature `arrow`).
//!
//! ```text
//! rows ──► Columns<Row> (name, unit, description, cell) ─┬─► to_text, compare: for reading
//!                                                        ├─► to_json, in a document with its Schema
//!                                                        ├─► write_csv
//!                                                        ├─► write_parquet
//!                                                        ├─► to_arrow: for other programs in this process
//!                                                        └─► RowFile: rows that are written as they come
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | `columns` | typed columns with name, unit and description |
//! | `row_file` | files of rows that are written as they come |
//! | `text`, `json`, `csv`, `parquet`, `arrow` | the forms of these columns; JSON documents with `schema` and `version` |
//! | `batches_parquet` | Parquet from record batches |

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(all(feature = "arrow", feature = "parquet"))]
mod batches_parquet;
mod columns;
mod csv;
mod format;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
mod parquet;
mod row_file;
mod text;
mod value;

#[cfg(feature = "arrow")]
pub use arrow::Batches;
pub use columns::{Columns, Field, Header};
pub use format::Format;
pub use json::{Layout, Schema};
pub use row_file::{RowFile, RowFormat};
pub use text::{Comparison, Keep, Line, Share, millis, plain_table, table_of_texts, utc};
pub use value::Value;

/// Rows in a group of Parquet or a batch of Arrow: a column's cells of one are in memory at once.
pub(crate) const GROUP: usize = 1 << 16;

/// Rows that come from one source, such as one capture.
pub struct Part<'a, R> {
    /// The source's name: the last column where there are several.
    pub name: &'a str,
    /// Its rows, in order.
    pub rows: &'a [R],
}

/// The name of the column that names the source of a row.
pub(crate) const SOURCE: &str = "capture";

#[cfg(test)]
mod tests;
