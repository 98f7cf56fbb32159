//! Tables for reading, and CSV of text.

use comfy_table::{Table, presets};

/// A table in the house's style: no vertical lines, so that it pastes well.
pub fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table
}

/// A header and rows as CSV.
pub fn csv<H, R>(header: H, rows: impl IntoIterator<Item = R>) -> String
where
    H: IntoIterator<Item: AsRef<[u8]>>,
    R: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut writer = csv::Writer::from_writer(vec![]);
    // Writing to memory cannot fail.
    let _ = writer.write_record(header);
    for row in rows {
        let _ = writer.write_record(row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Milliseconds to the microsecond, or `-`.
pub fn millis(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| format!("{v:.3}"))
}
