//! Findings as JSON: `{"schema": …, "version": …, "captures": [{"capture": …, …}, …]}`, an object a
//! capture.

use super::findings::{AllConnections, AllRetransmissions, Analyzed, View};
use super::rows::{connections, ms, retransmissions};
use super::summary::{Slow, Summary};
use super::summary_columns::summaries;
use recoup_table::{Layout, Schema};
use recoup_trace::study::{Explained, Sender};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::io::{self, Write};

/// What of a view stands in JSON beside what every capture tells.
pub trait Document: View {
    /// The document's name and version.
    const SCHEMA: Schema;

    /// Whether it is rows, which take a line each, however long.
    const ROWS: bool;

    /// Writes its part of a capture's object.
    ///
    /// # Errors
    /// Those of `object`.
    fn serialize<M: SerializeMap>(
        analyzed: &Analyzed<Self>,
        object: &mut M,
    ) -> Result<(), M::Error>;
}

impl Document for AllRetransmissions {
    const SCHEMA: Schema = Schema {
        name: "recoup.analyze.retransmissions",
        version: 1,
    };
    const ROWS: bool = true;

    fn serialize<M: SerializeMap>(
        analyzed: &Analyzed<Self>,
        object: &mut M,
    ) -> Result<(), M::Error> {
        let rows = &analyzed.found.rows;
        object.serialize_entry("retransmissions", &retransmissions().to_json(rows))
    }
}

impl Document for AllConnections {
    const SCHEMA: Schema = Schema {
        name: "recoup.analyze.connections",
        version: 1,
    };
    const ROWS: bool = true;

    fn serialize<M: SerializeMap>(
        analyzed: &Analyzed<Self>,
        object: &mut M,
    ) -> Result<(), M::Error> {
        let rows = &analyzed.found.rows;
        object.serialize_entry("connections", &connections().to_json(rows))
    }
}

impl Document for Summary {
    const SCHEMA: Schema = Schema {
        name: "recoup.analyze.summary",
        version: 1,
    };
    const ROWS: bool = false;

    fn serialize<M: SerializeMap>(
        analyzed: &Analyzed<Self>,
        object: &mut M,
    ) -> Result<(), M::Error> {
        let summary = &analyzed.found;
        object.serialize_entry("summary", &summaries().row_to_json(analyzed))?;
        let senders: Vec<Value> = summary.study.senders().map(sender).collect();
        object.serialize_entry("senders", &senders)?;
        let slowest: Vec<Value> = summary.slowest.iter().map(slow).collect();
        object.serialize_entry("slowest", &slowest)?;
        object.serialize_entry("study", &summary.study.report())
    }
}

fn sender((sender, explained): (&Sender, &Explained)) -> Value {
    json!({
        "identification": sender.identification(),
        "profile": sender.profile(),
        "senders": explained.senders,
        "retransmissions": explained.retransmissions,
        "explained": explained.explained,
        "put_to_profile": explained.of,
    })
}

fn slow(slow: &Slow) -> Value {
    json!({
        "connection": slow.connection,
        "src": slow.endpoints.src,
        "dst": slow.endpoints.dst,
        "duration_ms": ms(slow.duration),
        "recovering_ms": ms(slow.recovering),
        "retransmissions": slow.retransmissions,
        "spurious": slow.spurious,
    })
}

/// Writes what was found: rows a line each, all else indented.
///
/// # Errors
/// When `out` does not take it.
pub fn write_json<V: Document>(captures: &[Analyzed<V>], out: impl Write) -> io::Result<()> {
    let captures: Vec<Capture<'_, V>> = captures.iter().map(Capture).collect();
    let layout = match V::ROWS {
        true => Layout::Lines,
        false => Layout::Indented,
    };
    V::SCHEMA.write(&Captures { captures }, layout, out)
}

#[derive(Serialize)]
#[serde(bound = "V: Document")]
struct Captures<'a, V> {
    captures: Vec<Capture<'a, V>>,
}

struct Capture<'a, V>(&'a Analyzed<V>);

impl<V: Document> Serialize for Capture<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(analyzed) = self;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("capture", &analyzed.capture)?;
        object.serialize_entry("notes", &analyzed.notes())?;
        V::serialize(analyzed, &mut object)?;
        object.end()
    }
}
