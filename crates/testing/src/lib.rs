//! For tests: [programs](Folder) that run in folders of their own, a [browser], [documents](check_fields) compared with their listed
//! fields, and [skipped](skip) tests reported in one closing line.

pub mod browser;
mod document;
mod program;
mod skip;

pub use document::{Fields, check_fields, collect_fields, is_there};
pub use program::{Folder, Outcome, command, csv_rows};
pub use skip::skip;
