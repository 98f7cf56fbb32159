//! The study as a JSON document.

use super::run::SlpStudy;
use crate::analysis::Analyzed;
use recoup_table::{Layout, Schema};
use serde_json::json;
use std::io::{self, Write};

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.analyze.slp", version: 1 };

/// Writes the studies of captures.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_studies(captures: &[Analyzed<SlpStudy>], out: impl Write) -> io::Result<()> {
    let captures = captures.iter().map(|analyzed| {
        let mut notes = analyzed.notes();
        notes.extend(analyzed.findings.notes.iter().cloned());
        json!({
            "capture": analyzed.capture,
            "notes": notes,
            "study": analyzed.findings.report,
        })
    });
    let captures: Vec<_> = captures.collect();
    SCHEMA.write(&json!({ "captures": captures }), Layout::Indented, out)
}
