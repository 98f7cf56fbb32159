//! Findings as JSON, one object per capture:
//! `{"schema": …, "version": …, "captures": [{"capture": …, …}, …]}`.

use super::changes::Changes;
use super::findings::{AllConnections, AllRetransmissions, Analyzed, View};
use super::given_out::Row;
use super::rows::{changed_retransmissions_in, connections, ms, retransmissions_in};
use super::summary::{SlowConnection, Summary};
use super::summary_columns::summaries;
use crate::study::{Explained, Sender};
use recoup_table::{Layout, Schema};
use recoup_trace::finding::{Connection, Retransmission};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Findings that JSON documents contain, in addition to the capture's name and notes.
pub trait Document: View + Sized {
    /// The document's name and version.
    const SCHEMA: Schema;

    /// Whether it consists of rows. Each row is written on one line.
    const ROWS: bool;

    /// Adds its entries to a capture's object.
    ///
    /// # Errors
    /// If `object` reports one.
    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error>;
}

impl Document for AllRetransmissions {
    const SCHEMA: Schema = Schema { name: "recoup.analyze.retransmissions", version: 1 };
    const ROWS: bool = true;

    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error> {
        let rows = &analyzed.findings.rows;
        let columns = retransmissions_in(&analyzed.counts.files);
        object.serialize_entry("retransmissions", &columns.to_json(rows))
    }
}

impl Document for AllConnections {
    const SCHEMA: Schema = Schema { name: "recoup.analyze.connections", version: 1 };
    const ROWS: bool = true;

    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error> {
        let rows = &analyzed.findings.rows;
        object.serialize_entry("connections", &connections().to_json(rows))
    }
}

/// Rows that changed since they were last given out. Of withdrawn rows only the key is not `null`.
impl Document for Changes<Retransmission> {
    const SCHEMA: Schema = Schema { name: "recoup.analyze.retransmissions.records", version: 1 };
    const ROWS: bool = true;

    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error> {
        let columns = changed_retransmissions_in(&analyzed.counts.files);
        let records = columns.to_json(&analyzed.findings.records);
        object.serialize_entry("retransmissions", &records)
    }
}

/// As for retransmissions.
impl Document for Changes<Connection> {
    const SCHEMA: Schema = Schema { name: "recoup.analyze.connections.records", version: 1 };
    const ROWS: bool = true;

    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error> {
        let columns = Connection::record_columns();
        let records = columns.to_json(&analyzed.findings.records);
        object.serialize_entry("connections", &records)
    }
}

impl Document for Summary {
    const SCHEMA: Schema = Schema { name: "recoup.analyze.summary", version: 1 };
    const ROWS: bool = false;

    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error> {
        let summary = &analyzed.findings;
        object.serialize_entry("summary", &summaries().row_to_json(analyzed))?;
        let senders: Vec<Value> = summary.study.senders().map(sender_json).collect();
        object.serialize_entry("senders", &senders)?;
        let slowest: Vec<Value> = summary.slowest.iter().map(slow_connection_json).collect();
        object.serialize_entry("slowest", &slowest)?;
        object.serialize_entry("study", &summary.study.report())
    }
}

fn sender_json((sender, explained): (&Sender, &Explained)) -> Value {
    json!({
        "identification": sender.identification(),
        "profile": sender.profile(),
        "senders": explained.senders,
        "retransmissions": explained.retransmissions,
        "explained": explained.explained,
        "put_to_profile": explained.of,
    })
}

fn slow_connection_json(slow: &SlowConnection) -> Value {
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

/// Writes the findings: rows on one line each, everything else indented.
///
/// # Errors
/// If writing to `out` fails.
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
