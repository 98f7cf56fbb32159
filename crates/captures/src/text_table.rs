//! Tables of texts, whose rows are written with [`texts!`].

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use recoup_table::{plain_table, table_of_texts};

/// A row: the text of each value.
macro_rules! texts {
    ($($cell:expr),+ $(,)?) => { vec![$($cell.to_string()),+] };
}
pub(crate) use texts;

/// A table whose first `left` columns hold words and the others numbers; `None` without rows.
pub(crate) fn table(header: &[&str], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> Option<String> {
    let mut rows = rows.into_iter().peekable();
    rows.peek()?;
    Some(table_of_texts(header, left, rows))
}

/// A table whose columns `right` are aligned to the right together with their headings; `None` without rows.
pub(crate) fn aligned(header: &[&str], right: &[usize], rows: impl IntoIterator<Item = Vec<String>>) -> Option<String> {
    let mut table = plain_table();
    table.set_header(header).add_rows(rows);
    align_right(&mut table, right);
    (!table.is_empty()).then(|| table.to_string())
}

/// A table of at most `width` characters, whose cells are broken into lines, with numbers in the last column.
pub(crate) fn wrapped(header: &[&str], width: u16, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width).set_header(header);
    for row in rows {
        let last = row.len() - 1;
        table.add_row(row.into_iter().enumerate().map(|(i, text)| match i == last {
            true => Cell::new(text).set_alignment(CellAlignment::Right),
            false => Cell::new(text),
        }));
    }
    table.to_string()
}

/// Aligns columns with their headings to the right.
pub(crate) fn align_right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Two decimals, or `-`.
pub(crate) fn decimal(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}
