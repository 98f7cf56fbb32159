//! Tables for reading: Markdown that pastes well, numbers to the right, each heading with its unit.

use crate::columns::{Cell, Column, Columns, Leaf};
use comfy_table::{Cell as TextCell, CellAlignment, ContentArrangement, Table, presets};
use recoup_units::Instant;
use std::fmt;
use std::time::Duration;

/// What stands where a value is unknown.
const UNKNOWN: &str = "-";

/// A table for reading under construction, for what is not a list of columns.
pub fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Milliseconds to the microsecond, or `-`.
pub fn millis(value: Option<f64>) -> String {
    value.map_or(UNKNOWN.into(), |v| format!("{v:.3}"))
}

/// Rows of a comparison that may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All are shown.
    All,
    /// Those that are zero or unknown in every column, or equal in all of several columns, are left
    /// out.
    Telling,
}

/// Rows of type `R` side by side: a column of the list is a line, a row of the list is a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The table.
    pub text: String,
    /// Lines left out because they tell nothing.
    pub left_out: usize,
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<R: 'static> Columns<R> {
    /// A line a row, with these columns, by their names as in CSV.
    pub fn to_text(&self, rows: &[R], names: &[&str]) -> String {
        let leaves = self.chosen(names);
        let mut table = plain_table();
        table.set_header(leaves.iter().map(|leaf| leaf.column.heading_with_unit()));
        for row in rows {
            table.add_row(leaves.iter().map(|leaf| leaf.column.text_cell(row)));
        }
        table.to_string()
    }

    /// The rows side by side under `title`: a line each of these columns, by their names as in CSV.
    pub fn compare(&self, rows: &[&R], title: &str, names: &[&str], keep: Keep) -> Comparison {
        let mut table = plain_table();
        let head = self.chosen(&[title]);
        let heads = head.iter().flat_map(|leaf| {
            rows.iter()
                .map(|row| leaf.column.shown(row).unwrap_or_default())
        });
        table.set_header(std::iter::once(String::new()).chain(heads));
        let mut left_out = 0;
        for leaf in self.chosen(names) {
            let column = leaf.column;
            if keep == Keep::Telling && !column.tells(rows) {
                left_out += 1;
                continue;
            }
            let name = TextCell::new(column.heading_with_unit());
            let cells = rows.iter().map(|row| {
                let text = column.shown(row).unwrap_or_else(|| UNKNOWN.into());
                TextCell::new(text).set_alignment(CellAlignment::Right)
            });
            table.add_row(std::iter::once(name).chain(cells));
        }
        Comparison {
            text: table.to_string(),
            left_out,
        }
    }

    /// The columns of these names, in their order.
    fn chosen(&self, names: &[&str]) -> Vec<Leaf<'_, R>> {
        let mut leaves: Vec<_> = self.leaves().into_iter().map(Some).collect();
        let find = |name: &&str| {
            let is =
                |leaf: &&mut Option<Leaf<'_, R>>| leaf.as_ref().is_some_and(|l| l.name == *name);
            let found = leaves.iter_mut().find(is).and_then(Option::take);
            debug_assert!(found.is_some(), "no column {name}");
            found
        };
        names.iter().filter_map(find).collect()
    }
}

impl<R> Column<R> {
    /// The heading, or the name in words, with the unit.
    fn heading_with_unit(&self) -> String {
        let heading = match &self.heading {
            Some(heading) => heading.to_string(),
            None => self.name.replace('_', " "),
        };
        match self.unit {
            "" => heading,
            unit => format!("{heading} ({unit})"),
        }
    }

    fn text_cell(&self, row: &R) -> TextCell {
        let cell = TextCell::new(self.shown(row).unwrap_or_else(|| UNKNOWN.into()));
        match self.cell {
            Cell::Text(_) | Cell::Flag(_) => cell,
            _ => cell.set_alignment(CellAlignment::Right),
        }
    }

    /// The cell for reading.
    fn shown(&self, row: &R) -> Option<String> {
        Some(match &self.cell {
            Cell::Text(of) => of(row)?.into(),
            Cell::Integer(of) => {
                let value = of(row)?;
                match self.whole.as_ref().and_then(|whole| whole(row)) {
                    Some(whole) if whole > 0 => {
                        format!("{value} ({:.1} %)", 100.0 * value as f64 / whole as f64)
                    }
                    _ => value.to_string(),
                }
            }
            Cell::Signed(of) => of(row)?.to_string(),
            Cell::Real(of) => format!("{:.*}", self.digits, of(row)?),
            Cell::Flag(of) => if of(row)? { "yes" } else { "no" }.into(),
            Cell::Time(of) => utc(of(row)?),
        })
    }

    fn is_zero(&self, row: &R) -> bool {
        match &self.cell {
            Cell::Text(of) => of(row).is_none(),
            Cell::Integer(of) => of(row).is_none_or(|n| n == 0),
            Cell::Signed(of) => of(row).is_none_or(|n| n == 0),
            Cell::Real(of) => of(row).is_none_or(|x| x == 0.0),
            Cell::Flag(of) => of(row).is_none_or(|is| !is),
            Cell::Time(of) => of(row).is_none(),
        }
    }

    /// Whether a comparison of these rows learns something from the column.
    fn tells(&self, rows: &[&R]) -> bool {
        let all_zero = rows.iter().all(|row| self.is_zero(row));
        let equal = rows
            .windows(2)
            .all(|two| self.shown(two[0]) == self.shown(two[1]));
        !all_zero && (rows.len() < 2 || !equal)
    }
}

/// A moment in UTC, to the microsecond.
pub fn utc(at: Instant) -> String {
    let since = Duration::from_nanos(at.as_nanos());
    humantime::format_rfc3339_micros(std::time::UNIX_EPOCH + since).to_string()
}
