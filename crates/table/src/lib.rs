//! Tables: typed columns of any kind of row, written as text, JSON, CSV or Parquet.

mod columns;
mod parquet;
mod text;

pub use columns::{CAPTURE, Columns, EpochSeconds, Rows};
pub use text::{csv, millis, plain_table};
