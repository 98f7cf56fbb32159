//! Claims of papers as a table. The program `recoup-papers` decides them.

use crate::errors::defect;
use crate::table::Table;
use pyo3::prelude::*;
use recoup_table::{Columns, Part};

/// A cell: a text, or whether something is so.
#[derive(FromPyObject)]
pub enum Cell {
    Flag(bool),
    Text(String),
}

/// A table of rows of texts and flags. `columns`: the name and description of each; the cells of the first row decide which
/// of them hold flags.
#[pyfunction]
pub fn table_of(columns: Vec<(String, String)>, rows: Vec<Vec<Option<Cell>>>) -> PyResult<Table> {
    if let Some(row) = rows.iter().find(|row| row.len() != columns.len()) {
        return Err(defect(format_args!("a row of {} cells for {} columns", row.len(), columns.len())));
    }
    let mut all = Columns::<Vec<Option<Cell>>>::new();
    for (i, (name, description)) in columns.into_iter().enumerate() {
        let header = (name, "", description);
        all = match rows.first().map(|row| &row[i]) {
            Some(Some(Cell::Flag(_))) => all.flag(header, move |row| matches!(row[i], Some(Cell::Flag(true)))),
            _ => all.text(header, move |row| match &row[i] {
                Some(Cell::Text(text)) => Some(text.clone().into()),
                _ => None,
            }),
        };
    }
    Table::new(&all, &[Part { name: "", rows: &rows }])
}
