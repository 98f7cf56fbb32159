//! A report as one HTML page that needs nothing else: no network, no other file.
//!
//! A [`Page`] is a plain value, and [`Page::to_html`] writes it. Sentences and bars are HTML, so they
//! can be read without JavaScript. Charts, the table and the diagrams are drawn by the scripts in
//! `page/`, from data that the page holds as JSON.
//!
//! A page is about one capture, or about several: then [`Page::body`] is about all of them, [`Page::overview`] has a
//! row for each, and each of [`Page::captures`] has a body of its own.
//!
//! - The page stays below [`MAX_BYTES`]: it holds at most [`MAX_ROWS`] rows, at most [`MAX_MARKS`]
//!   marks of a connection, and as many captures and diagrams as fit. It says what it leaves out.
//! - Text of a capture can be anything. It reaches the page escaped, and the scripts insert it as text
//!   only. A content security policy permits the page's own script and style by their hashes, and
//!   nothing else.
//! - The line charts and the axes of the diagrams come from uPlot 1.6 (MIT licence). The page holds its
//!   licence.

mod changes;
mod data;
mod encoding;
mod html;
mod static_parts;
mod thinning;

use crate::sequence::Panel;
use serde::Serialize;
use std::time::Duration;

/// A page has fewer bytes than this, unless its sentences and charts alone have more.
pub const MAX_BYTES: usize = 5_000_000;

/// A page holds at most this many rows of its table.
pub const MAX_ROWS: usize = 2000;

/// A page holds at most this many marks of a connection.
pub const MAX_MARKS: usize = 20_000;

/// A filter of a page lists at most this many frames.
pub const MAX_FRAMES: usize = 1000;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The title: what the report is about.
    pub title: String,
    /// One sentence below the title: times, numbers of connections, bytes, capture point.
    pub summary: String,
    /// What the report is about: a capture, or all of several.
    pub body: Body,
    /// A row for each of several captures.
    pub overview: Option<Overview>,
    /// The connections.
    pub table: Table,
    /// Several captures, each by itself, as many as fit.
    pub captures: Vec<Capture>,
    /// Notes at the end.
    pub notes: Vec<String>,
    /// The name and the version of the program that wrote the report.
    pub generator: String,
}

/// What a report says about one capture, or about all of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// From when seconds count, and the time of day then, in a sentence; empty: nothing.
    pub clock: String,
    /// The sentences, from top to bottom.
    pub sections: Vec<Section>,
    /// Advice, after the first section. `None`: there is no advice.
    pub advice: Option<Section>,
    /// Quantities before and after a change.
    pub changes: Vec<ChangeTable>,
    /// Tables with a row for each group of connections.
    pub groups: Vec<Overview>,
    /// Where time went: by cause, by state.
    pub breakdowns: Vec<Breakdown>,
    /// Quantities over time. All share the range of their x axes.
    pub charts: Vec<Chart>,
    /// The connections shown in detail, the worst first.
    pub connections: Vec<Connection>,
    /// Which connections those are, in a sentence; empty: nothing.
    pub connections_about: String,
}

/// One of several captures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// Its name.
    pub name: String,
    /// One sentence below its name.
    pub summary: String,
    /// What the report says about it.
    pub body: Body,
}

/// A table with a row for each of several captures, or of groups of connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// The heading.
    pub heading: String,
    /// The columns. The first names the capture or the group.
    pub columns: Vec<Column>,
    /// For each a cell for each column; captures in the order of [`Page::captures`].
    pub rows: Vec<Vec<OverviewCell>>,
}

/// A cell of an [`Overview`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverviewCell {
    /// Its text, with the unit.
    pub text: String,
    /// The number that it is sorted by, in columns of numbers.
    pub value: Option<f64>,
}

/// Sentences under a heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Paragraphs below the heading.
    pub paragraphs: Vec<String>,
    /// A list in order of rank.
    pub ranked: Vec<Ranked>,
    /// A list without an order.
    pub points: Vec<Point>,
}

/// One entry of a ranked list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// Name of the ranked cause: `Lost SYN-ACKs`.
    pub name: String,
    /// The amount that ranks it, with its unit: `25.3 s`.
    pub amount: String,
    /// The evidence, as sentences.
    pub text: String,
}

/// One entry of a list without an order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The sentence.
    pub text: String,
    /// The [`Connection::id`] of the connection it is about.
    pub connection: Option<String>,
}

/// Quantities before and after a change, each with the interval of its change. All tables of a page share the scale of the
/// intervals. A table without rows is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeTable {
    /// The heading.
    pub heading: String,
    /// What the rows have in common, in a sentence.
    pub about: String,
    /// The quantities, in order.
    pub rows: Vec<ChangeRow>,
}

/// A quantity before and after a change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeRow {
    /// The quantity, its value before, its value after, the change, its interval, and what the halves of a capture differ by.
    pub cells: Vec<String>,
    /// The change in per cent of the value before; `None`: not drawn.
    pub change: Option<f64>,
    /// The interval of the change in per cent.
    pub interval: Option<(f64, f64)>,
    /// A change of this size occurs without any cause: in per cent, at least 0.
    pub own: Option<f64>,
}

/// A whole and its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakdown {
    /// The heading, which names the quantity and the unit.
    pub heading: String,
    /// Explains the parts and their sum; may be empty.
    pub about: String,
    /// In the order of the bar. Parts of 0 are left out.
    pub parts: Vec<Part>,
}

/// A part of a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its amount, at least 0.
    pub amount: f64,
    /// Its amount as text, with the unit.
    pub text: String,
    /// Explains the part in a few words; may be empty.
    pub about: String,
    /// Its colour, as a number from 0 and below [`Part::PAINTS`]. Each [`Part::COLOURS`] colours have another
    /// pattern: none, stripes, dots, and both.
    pub colour: usize,
}

impl Part {
    /// The number of colours without a pattern.
    pub const COLOURS: usize = 8;
    /// The number of colours with all patterns. Beyond, they repeat.
    pub const PAINTS: usize = 4 * Self::COLOURS;
    /// Grey, for what is unknown.
    pub const GREY: usize = usize::MAX;
}

/// Quantities over time: a value for each interval, drawn as a step.
///
/// The y axis begins at 0. A few values far above all others do not flatten them: the axis ends below, and those are
/// marked at its edge and named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The heading, which names the quantity and the unit.
    pub heading: String,
    /// Explains the values in a sentence; may be empty.
    pub about: String,
    /// The label of the y axis, with the unit.
    pub y_label: String,
    /// The label of the x axis: seconds since what.
    pub x_label: String,
    /// From when until when each interval lasts, in seconds; ascending, without overlaps.
    pub intervals: Vec<(f64, f64)>,
    /// The lines, at most [`Part::COLOURS`].
    pub series: Vec<Series>,
}

/// A line of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// A value for each interval; `None`: the line has a gap.
    pub values: Vec<Option<f64>>,
}

/// A table that readers sort and filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns. The first names the row, and its numbers have no separators.
    pub columns: Vec<Column>,
    /// The rows, in the order shown first. Rows beyond [`MAX_ROWS`] are left out.
    pub rows: Vec<Row>,
    /// The number of connections of which the rows are the first.
    pub total: u64,
    /// Which connections the rows are, if others are left out, after "those":
    /// `that lost most time`.
    pub order: String,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The heading: the quantity, and the unit if `kind` does not show one.
    pub heading: String,
    /// Explains the cells in a sentence.
    pub about: String,
    /// Type of the cells.
    pub kind: ColumnKind,
    /// When the column is shown.
    pub importance: Importance,
}

/// Type of the cells of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Text.
    #[default]
    Text,
    /// Text with few different values, which readers may select.
    Category,
    /// A whole number.
    Count,
    /// Bytes, shown with a decimal prefix.
    Bytes,
    /// Seconds, shown as s, ms or µs.
    Seconds,
    /// A moment, in seconds since a beginning that the heading names. All cells have three decimals.
    Moment,
    /// A share from 0 to 1, shown as per cent.
    Share,
}

impl ColumnKind {
    /// Whether its cells are numbers.
    pub(crate) const fn is_number(self) -> bool {
        !matches!(self, Self::Text | Self::Category)
    }
}

/// When a column is shown. A reader may show or hide every column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    /// On every screen.
    #[default]
    High,
    /// On screens wider than a phone's.
    Medium,
    /// When the reader asks for it.
    Low,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The [`Connection::id`] of the connection, whether or not it is shown in detail.
    pub connection: String,
    /// A Wireshark display filter for the connection's packets.
    pub filter: String,
    /// The frames of its retransmissions, ascending. Frames beyond [`MAX_FRAMES`] are left out.
    pub retransmissions: Vec<u64>,
    /// A cell for each column.
    pub cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// Unknown, or does not apply.
    #[default]
    Empty,
    /// A text.
    Text(String),
    /// A number, in the unit of the column's kind.
    Number(f64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Empty, Self::Number)
    }
}

/// A connection in detail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// Identifies the connection in the report.
    pub id: String,
    /// Its number as readers know it.
    pub number: u64,
    /// From the capture's first frame to the connection's first packet.
    pub begun: Duration,
    /// Its ends, and what it lost.
    pub title: String,
    /// Facts in the order shown, as names and values.
    pub facts: Vec<(String, String)>,
    /// The file that holds its packets, for `tshark -r`.
    pub file: String,
    /// A Wireshark display filter for its packets.
    pub filter: String,
    /// Its time–sequence diagrams: one for each direction that sent data. They share the time axis.
    pub directions: Vec<Direction>,
    /// Gaps of the diagrams, as sentences.
    pub notes: Vec<String>,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// The sender, in few words: its address and port.
    pub sender: String,
    /// The diagram. Time 0 is the connection's first packet.
    pub panel: Panel,
}

impl Page {
    /// The page as HTML.
    pub fn to_html(&self) -> String {
        html::write(self)
    }
}

#[cfg(test)]
mod tests;
