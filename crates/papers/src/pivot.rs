//! Tables for reading with a column per series.

use recoup_table::plain_table;

/// A column: its heading, and its text of a cell.
pub type Column<'a, C> = (&'a str, &'a dyn Fn(&C) -> String);

/// A table with a row per `series.len()` cells: `keys` of the first of them, then each of `values` for each series. The
/// heading of a value is the series' name with the value's heading behind it.
pub fn pivot<C>(cells: &[C], keys: &[Column<'_, C>], series: &[&str], values: &[Column<'_, C>]) -> String {
    let mut table = plain_table();
    let keys_of = keys.iter().map(|(heading, _)| (*heading).to_owned());
    let values_of = values.iter().flat_map(|(heading, _)| series.iter().map(move |name| format!("{name}{heading}")));
    table.set_header(keys_of.chain(values_of));
    for row in cells.chunks(series.len()) {
        let keys = keys.iter().map(|(_, text)| text(&row[0]));
        table.add_row(keys.chain(values.iter().flat_map(|(_, text)| row.iter().map(text))));
    }
    table.to_string()
}

#[cfg(test)]
mod tests;
