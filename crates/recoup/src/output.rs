//! Where results go.

use crate::Failure;
use clap::ValueEnum;
use std::io::{self, Write};

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading
    Table,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
}

/// Prints to standard output. A reader that has had enough (a closed pipe) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Wrong(format!(
            "cannot write to standard output: {e}"
        ))),
        _ => Ok(()),
    }
}
