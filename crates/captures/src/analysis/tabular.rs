//! Findings in all formats. JSON has one object per capture:
//! `{"schema": …, "version": …, "captures": [{"capture": …, …}, …]}`.

use super::changes::Changes;
use super::columns::{changed_retransmissions_in, connections, ms, retransmissions_in};
use super::episodes::{Episode, episodes};
use super::findings::{AllConnections, AllEpisodes, AllRetransmissions, Analyzed, View};
use super::given_out::{Record, Row};
use super::notes::copies_json;
use super::study_tables::study_tables;
use super::summary::{SlowConnection, Summary};
use super::summary_columns::summaries;
use super::summary_tables::summary_tables;
use super::tables::{
    changed_connection_table, changed_episode_table, changed_retransmission_table, connection_table, episode_table,
    retransmission_table,
};
use crate::study::{self, Explained, Sender};
use recoup_table::{Columns, Layout, Schema};
use recoup_trace::finding::{Connection, Retransmission};
use recoup_trace::read::JoinedFiles;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::io::{self, Write};

/// A figure of a paper: its file name without an extension, and the picture as SVG (`None`: nothing to draw).
pub type Figure = (&'static str, Option<String>);

/// Findings as rows, in all formats.
pub trait Tabular: View + Sized + 'static {
    /// A row of CSV and Parquet.
    type Row: 'static;

    /// The name and version of the JSON document.
    const SCHEMA: Schema;

    /// The name of the rows in JSON.
    const NAME: &'static str;

    /// How the JSON document is laid out.
    const LAYOUT: Layout = Layout::Lines;

    /// The columns, if the capture consists of these files.
    fn columns(files: &JoinedFiles) -> Columns<Self::Row>;

    /// The rows, in order.
    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row];

    /// Tables for reading.
    fn text(analyzed: &Analyzed<Self>) -> String;

    /// Adds entries to a capture's JSON object, after its name and notes.
    ///
    /// # Errors
    /// If `object` reports one.
    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error> {
        let columns = Self::columns(&analyzed.counts.files);
        object.serialize_entry(Self::NAME, &columns.to_json(Self::rows(analyzed)))
    }

    /// The tables of the 2007 study.
    fn study_text(_: &Analyzed<Self>) -> String {
        String::new()
    }

    /// The figures of the 2007 study.
    fn figures(_: &[Analyzed<Self>]) -> Vec<Figure> {
        Vec::new()
    }
}

impl Tabular for AllRetransmissions {
    type Row = Retransmission;
    const SCHEMA: Schema = Schema { name: "recoup.analyze.retransmissions", version: 1 };
    const NAME: &'static str = "retransmissions";

    fn columns(files: &JoinedFiles) -> Columns<Self::Row> {
        retransmissions_in(files)
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.rows
    }

    fn text(analyzed: &Analyzed<Self>) -> String {
        retransmission_table(analyzed)
    }
}

impl Tabular for AllEpisodes {
    type Row = Episode;
    const SCHEMA: Schema = Schema { name: "recoup.analyze.episodes", version: 1 };
    const NAME: &'static str = "episodes";

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        episodes()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.rows
    }

    fn text(analyzed: &Analyzed<Self>) -> String {
        episode_table(analyzed)
    }
}

impl Tabular for AllConnections {
    type Row = Connection;
    const SCHEMA: Schema = Schema { name: "recoup.analyze.connections", version: 1 };
    const NAME: &'static str = "connections";

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        connections()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.rows
    }

    fn text(analyzed: &Analyzed<Self>) -> String {
        connection_table(analyzed)
    }
}

/// Rows that changed since they were last given out. Of withdrawn rows only the key is not `null`.
impl Tabular for Changes<Retransmission> {
    type Row = Record<Retransmission>;
    const SCHEMA: Schema = Schema { name: "recoup.analyze.retransmissions.records", version: 1 };
    const NAME: &'static str = "retransmissions";

    fn columns(files: &JoinedFiles) -> Columns<Self::Row> {
        changed_retransmissions_in(files)
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.records
    }

    fn text(analyzed: &Analyzed<Self>) -> String {
        changed_retransmission_table(analyzed)
    }
}

/// As for retransmissions.
impl Tabular for Changes<Connection> {
    type Row = Record<Connection>;
    const SCHEMA: Schema = Schema { name: "recoup.analyze.connections.records", version: 1 };
    const NAME: &'static str = "connections";

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        Connection::record_columns()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.records
    }

    fn text(analyzed: &Analyzed<Self>) -> String {
        changed_connection_table(analyzed)
    }
}

/// As for retransmissions.
impl Tabular for Changes<Episode> {
    type Row = Record<Episode>;
    const SCHEMA: Schema = Schema { name: "recoup.analyze.episodes.records", version: 1 };
    const NAME: &'static str = "episodes";

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        Episode::record_columns()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        &analyzed.findings.records
    }

    fn text(analyzed: &Analyzed<Self>) -> String {
        changed_episode_table(analyzed)
    }
}

impl Tabular for Summary {
    type Row = Analyzed<Self>;
    const SCHEMA: Schema = Schema { name: "recoup.analyze.summary", version: 2 };
    const NAME: &'static str = "summary";
    const LAYOUT: Layout = Layout::Indented;

    fn columns(_: &JoinedFiles) -> Columns<Self::Row> {
        summaries()
    }

    fn rows(analyzed: &Analyzed<Self>) -> &[Self::Row] {
        std::slice::from_ref(analyzed)
    }

    fn text(analyzed: &Analyzed<Self>) -> String {
        summary_tables(analyzed)
    }

    fn serialize<M: SerializeMap>(analyzed: &Analyzed<Self>, object: &mut M) -> Result<(), M::Error> {
        let summary = &analyzed.findings;
        object.serialize_entry(Self::NAME, &summaries().row_to_json(analyzed))?;
        let senders: Vec<Value> = summary.study.senders().map(sender_json).collect();
        object.serialize_entry("senders", &senders)?;
        let slowest: Vec<Value> = summary.slowest.iter().map(slow_connection_json).collect();
        object.serialize_entry("slowest", &slowest)?;
        object.serialize_entry("study", &summary.study.report())
    }

    fn study_text(analyzed: &Analyzed<Self>) -> String {
        study_tables(&analyzed.findings.study.report())
    }

    fn figures(captures: &[Analyzed<Self>]) -> Vec<Figure> {
        let studies = captures.iter().map(|analyzed| (&*analyzed.capture, &analyzed.findings.study));
        study::figures(&studies.collect::<Vec<_>>()).into()
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
        "tunnel": slow.tunnel.map(|tunnel| tunnel.to_string()),
        "duration_ms": ms(slow.duration),
        "lost_ms": ms(slow.lost),
        "retransmissions": slow.retransmissions,
        "spurious": slow.spurious,
    })
}

/// Writes the findings: rows on one line each, everything else indented.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_json<V: Tabular>(captures: &[Analyzed<V>], out: impl Write) -> io::Result<()> {
    let captures: Vec<Capture<'_, V>> = captures.iter().map(Capture).collect();
    V::SCHEMA.write(&Captures { captures }, V::LAYOUT, out)
}

#[derive(Serialize)]
#[serde(bound = "V: Tabular")]
struct Captures<'a, V> {
    captures: Vec<Capture<'a, V>>,
}

struct Capture<'a, V>(&'a Analyzed<V>);

impl<V: Tabular> Serialize for Capture<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(analyzed) = self;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("capture", &analyzed.capture)?;
        object.serialize_entry("notes", &analyzed.notes())?;
        object.serialize_entry("guard_copies", &copies_json(analyzed.counts.copies.as_ref()))?;
        V::serialize(analyzed, &mut object)?;
        object.end()
    }
}
