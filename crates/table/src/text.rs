//! Tables for reading: Markdown that pastes well, numbers to the right, each heading with its unit.

use crate::columns::{Cell, Column, Columns, Leaf};
use comfy_table::{Cell as TextCell, CellAlignment, ContentArrangement, Table, presets};
use jiff::Timestamp;
use recoup_units::Instant;
use std::{borrow::Cow, fmt};

/// Text of an unknown value.
const UNKNOWN: &str = "-";

/// A table for reading under construction, for what is not a list of columns.
pub fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// A table for reading of texts: the first `left` columns to the left, the others to the right.
pub fn table_of_texts(header: &[&str], left: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = plain_table();
    table.set_header(header);
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(|(i, text)| match i < left {
            true => TextCell::new(text),
            false => TextCell::new(text).set_alignment(CellAlignment::Right),
        }));
    }
    table.to_string()
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

/// A line of a comparison: a column, by its name as in CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The column.
    pub name: Cow<'static, str>,
    /// Heading in place of the column's, without the unit.
    pub heading: Option<Cow<'static, str>>,
    /// Which numbers stand with their share, where the column has one.
    pub share: Share,
    /// Whether the line stands even if it is zero, or equal for all.
    pub always: bool,
}

/// Which numbers stand with their share of a whole, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// None.
    Never,
    /// Those above 0.
    OfSome,
    /// All.
    Always,
}

impl Share {
    const fn is_shown(self, value: u64) -> bool {
        match self {
            Self::Never => false,
            Self::OfSome => value > 0,
            Self::Always => true,
        }
    }
}

impl<N: Into<Cow<'static, str>>> From<N> for Line {
    fn from(name: N) -> Self {
        Self { name: name.into(), heading: None, share: Share::OfSome, always: false }
    }
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
    /// Adds a column of a table for reading alone: its heading with the unit, and the text of a row.
    pub fn shown<T: fmt::Display>(
        self,
        heading: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> T + Send + Sync + 'static,
    ) -> Self {
        self.column(heading, "", "", move |row| of(row).to_string())
    }

    /// A line a row, with all columns.
    pub fn to_table<'a>(&self, rows: impl IntoIterator<Item = &'a R>) -> String {
        text_table(&self.leaves(), rows)
    }

    /// A line a row, with these columns, by their names as in CSV.
    pub fn to_text(&self, rows: &[R], names: &[&str]) -> String {
        text_table(&self.chosen(names), rows)
    }

    /// The rows side by side under the column `title`, with one line per column.
    pub fn compare(&self, rows: &[&R], title: &str, lines: &[Line], keep: Keep) -> Comparison {
        let mut table = plain_table();
        let head = self.chosen(&[title]);
        let heads = head
            .iter()
            .flat_map(|leaf| rows.iter().map(|row| leaf.column.shown(row, Share::Never).unwrap_or_default()));
        table.set_header(std::iter::once(String::new()).chain(heads));
        let mut left_out = 0;
        let names: Vec<&str> = lines.iter().map(|line| &*line.name).collect();
        for (leaf, line) in self.chosen(&names).iter().zip(lines) {
            let column = leaf.column;
            if keep == Keep::Telling && !line.always && !column.tells(rows) {
                left_out += 1;
                continue;
            }
            let name = TextCell::new(column.heading_with_unit(line.heading.as_deref()));
            let cells = rows.iter().map(|row| {
                let text = column.shown(row, line.share);
                TextCell::new(text.unwrap_or_else(|| UNKNOWN.into())).set_alignment(CellAlignment::Right)
            });
            table.add_row(std::iter::once(name).chain(cells));
        }
        Comparison { text: table.to_string(), left_out }
    }

    /// The columns of these names, in their order.
    fn chosen(&self, names: &[&str]) -> Vec<Leaf<'_, R>> {
        let mut leaves: Vec<_> = self.leaves().into_iter().map(Some).collect();
        let find = |name: &&str| {
            let is = |leaf: &&mut Option<Leaf<'_, R>>| leaf.as_ref().is_some_and(|l| l.name == *name);
            let found = leaves.iter_mut().find(is).and_then(Option::take);
            debug_assert!(found.is_some(), "no column {name}");
            found
        };
        names.iter().filter_map(find).collect()
    }
}

fn text_table<'a, R: 'a>(leaves: &[Leaf<'_, R>], rows: impl IntoIterator<Item = &'a R>) -> String {
    let mut table = plain_table();
    table.set_header(leaves.iter().map(|leaf| leaf.column.heading_with_unit(None)));
    for row in rows {
        table.add_row(leaves.iter().map(|leaf| leaf.column.text_cell(row)));
    }
    table.to_string()
}

impl<R> Column<R> {
    /// `instead`, the heading, or the name in words, with the unit.
    fn heading_with_unit(&self, instead: Option<&str>) -> String {
        let heading = match instead.or(self.heading.as_deref()) {
            Some(heading) => heading.to_owned(),
            None => self.header.name.replace('_', " "),
        };
        let unit = match self.cell {
            Cell::Time(_) => "UTC",
            _ => self.header.unit,
        };
        match unit {
            "" => heading,
            unit => format!("{heading} ({unit})"),
        }
    }

    fn text_cell(&self, row: &R) -> TextCell {
        let cell = TextCell::new(self.shown(row, Share::OfSome).unwrap_or_else(|| UNKNOWN.into()));
        match self.cell {
            Cell::Text(_) | Cell::Flag(_) if !self.right => cell,
            _ => cell.set_alignment(CellAlignment::Right),
        }
    }

    /// The cell for reading, a number with its share where it has one.
    fn shown(&self, row: &R, share: Share) -> Option<String> {
        Some(match &self.cell {
            Cell::Text(of) => of(row)?.into(),
            Cell::Integer(of) => {
                let value = of(row)?;
                let whole = self.whole.as_ref().filter(|_| share.is_shown(value));
                match whole.and_then(|whole| whole(row)) {
                    Some(whole) if whole > 0 => {
                        format!("{value} ({} %)", percent(value, whole))
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

    /// Whether the column distinguishes these rows.
    fn tells(&self, rows: &[&R]) -> bool {
        let all_zero = rows.iter().all(|row| self.is_zero(row));
        let equal = rows.windows(2).all(|two| self.shown(two[0], Share::Never) == self.shown(two[1], Share::Never));
        !all_zero && (rows.len() < 2 || !equal)
    }
}

/// A moment in UTC, to the microsecond.
pub fn utc(at: Instant) -> String {
    match Timestamp::from_nanosecond(at.as_nanos().into()) {
        Ok(timestamp) => format!("{timestamp:.6}"),
        // 2⁶⁴ ns after 1970 is in 2554: no instant is out of range.
        Err(_) => format!("{} ns", at.as_nanos()),
    }
}
/// The share with one decimal. Not quite all is not 100.0, and a few are not 0.0.
fn percent(value: u64, whole: u64) -> String {
    match format!("{:.1}", 100.0 * value as f64 / whole as f64) {
        rounded if rounded == "100.0" && value < whole => "> 99.9".into(),
        rounded if rounded == "0.0" && value > 0 => "< 0.1".into(),
        rounded => rounded,
    }
}
