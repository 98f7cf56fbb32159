//! Rows as JSON objects, and documents that carry their schema's name and version.

use crate::Part;
use crate::columns::{Cell, Column, Columns, EpochSeconds, Group, Header, Interval, Node};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::ser::{Formatter, Serializer as Json};
use serde_json::value::RawValue;
use std::io::{self, Write};

/// The name and version of a kind of JSON document, or of a stream of JSON lines.
///
/// Fields may be added to a version. Where one vanishes, or changes its meaning or unit, the version
/// goes up by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Name of the schema, such as `recoup.run`.
    pub name: &'static str,
    /// From 1.
    pub version: u32,
}

/// How a document is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Indented.
    Indented,
    /// An element of an array a line, however long.
    Lines,
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    body: &'a T,
}

impl Schema {
    /// Writes a document: `schema`, `version`, then the fields of `body`, and a final newline.
    ///
    /// # Errors
    /// When `out` does not take it, or `body` is neither a struct nor a map.
    pub fn write(self, body: &impl Serialize, layout: Layout, mut out: impl Write) -> io::Result<()> {
        let document = Document { schema: self.name, version: self.version, body };
        match layout {
            Layout::Indented => document.serialize(&mut Json::pretty(&mut out))?,
            Layout::Lines => document.serialize(&mut Json::with_formatter(&mut out, Lines))?,
        }
        out.write_all(b"\n")
    }

    /// The first line of a stream of JSON lines: an object with the schema's name and version.
    pub fn header(self) -> String {
        let (name, version) = (self.name, self.version);
        format!("{{\"schema\":\"{name}\",\"version\":{version}}}\n")
    }

    /// The document in memory, indented.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn to_text(self, body: &impl Serialize) -> io::Result<String> {
        let mut out = Vec::new();
        self.write(body, Layout::Indented, &mut out)?;
        String::from_utf8(out).map_err(io::Error::other)
    }
}

/// JSON with a line break before each element of an array.
struct Lines;

impl Formatter for Lines {
    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"\n" } else { b",\n" })
    }
}

impl<R: 'static> Columns<R> {
    /// The rows as a JSON array with an object a row.
    pub fn to_json<'a>(&'a self, rows: &'a [R]) -> impl Serialize + 'a {
        JsonRows { nodes: &self.0, rows }
    }

    /// Writes the rows of a part, an object to a line.
    pub(crate) fn append_json_lines(&self, part: &Part<'_, R>, several: bool, mut out: impl Write) -> io::Result<()> {
        for row in part.rows {
            let row = JsonRow { nodes: &self.0, row };
            let capture = several.then_some(part.name);
            serde_json::to_writer(&mut out, &JsonLine { row, capture })?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// A row as a JSON object.
    pub fn row_to_json<'a>(&'a self, row: &'a R) -> impl Serialize + 'a {
        JsonRow { nodes: &self.0, row }
    }
}

#[derive(Serialize)]
#[serde(bound = "")]
struct JsonLine<'a, R> {
    #[serde(flatten)]
    row: JsonRow<'a, R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<&'a str>,
}

struct JsonRows<'a, R> {
    nodes: &'a [Node<R>],
    rows: &'a [R],
}

impl<R> Serialize for JsonRows<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nodes = self.nodes;
        serializer.collect_seq(self.rows.iter().map(|row| JsonRow { nodes, row }))
    }
}

struct JsonRow<'a, R> {
    nodes: &'a [Node<R>],
    row: &'a R,
}

impl<R> Serialize for JsonRow<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row;
        let mut map = serializer.serialize_map(Some(self.nodes.len()))?;
        for node in self.nodes {
            match node {
                Node::Column(Column { header: Header { name, .. }, cell, .. }) => match cell {
                    Cell::Text(of) => map.serialize_entry(name, &of(row))?,
                    Cell::Integer(of) => map.serialize_entry(name, &of(row))?,
                    Cell::Signed(of) => map.serialize_entry(name, &of(row))?,
                    Cell::Real(of) => map.serialize_entry(name, &of(row))?,
                    Cell::Flag(of) => map.serialize_entry(name, &of(row))?,
                    Cell::Time(of) => map.serialize_entry(name, &of(row).map(EpochSeconds))?,
                },
                Node::Interval(Interval { name, ends }) => {
                    let [low, high] = ends.each_ref().map(|end| match &end.cell {
                        Cell::Real(of) => of(row),
                        _ => None,
                    });
                    map.serialize_entry(name, &low.zip(high))?;
                }
                Node::Group(Group { name, is_present, columns }) => {
                    let nodes = columns;
                    let part = is_present(row).then_some(JsonRow { nodes, row });
                    map.serialize_entry(name, &part)?;
                }
            }
        }
        map.end()
    }
}

impl Serialize for EpochSeconds {
    /// A number with all of its digits, which a double does not hold.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = RawValue::from_string(self.to_string()).map_err(S::Error::custom)?;
        number.serialize(serializer)
    }
}
