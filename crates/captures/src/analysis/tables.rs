//! Retransmissions and connections as text tables. `summary_tables` has those of the summary.

use super::changes::Changes;
use super::columns::ms;
use super::findings::{AllConnections, AllRetransmissions, Analyzed, Overview};
use super::given_out::{Change, Record, Row};
use crate::study::Sender;
use comfy_table::{Cell, CellAlignment, Table};
use recoup_table::{plain_table, utc};
use recoup_trace::finding::{Connection, Direction, Retransmission, Verdict};
use recoup_trace::read::JoinedFiles;
use recoup_units::Instant;
use std::net::SocketAddr;
use std::time::Duration;

/// Explains the column that tables of merged files have.
const POINT: &str = "point: capture point; 0 is nearest to the end that opened the connection\n";

/// The retransmissions of a capture.
pub fn retransmission_table(analyzed: &Analyzed<AllRetransmissions>) -> String {
    let AllRetransmissions { rows, overview, .. } = &analyzed.findings;
    let lines = rows.iter().map(|row| (row.key(), Some(row), None));
    retransmission_lines(lines, overview, &analyzed.counts.files)
}

/// The retransmissions that changed since they were last given out.
pub fn changed_retransmission_table(analyzed: &Analyzed<Changes<Retransmission>>) -> String {
    let Changes { records, overview } = &analyzed.findings;
    if records.is_empty() {
        return "no new retransmissions\n".into();
    }
    let lines = records.iter().map(Record::line);
    retransmission_lines(lines, overview, &analyzed.counts.files)
}

/// A row's key, the row unless it is withdrawn, and what changed if that is shown.
type TableLine<'a, R> = (<R as Row>::Key, Option<&'a R>, Option<Change>);

impl<R: Row> Record<R> {
    fn line(&self) -> TableLine<'_, R> {
        (self.key, self.row.as_ref(), Some(self.change))
    }
}

fn retransmission_lines<'a>(
    lines: impl Iterator<Item = TableLine<'a, Retransmission>>,
    overview: &Overview,
    files: &JoinedFiles,
) -> String {
    let mut lines = lines.peekable();
    let Some((.., change)) = lines.peek() else {
        return "no retransmissions\n".into();
    };
    let merged = overview.vantages.capture_points > 1;
    let mut table = plain_table();
    let headers = ["frame", "time (s)", "conn.", "sender", "trigger", "verdict", "evidence", "detection (ms)"];
    let joined = !files.is_empty();
    let more = [merged.then_some("point"), change.map(|_| "record"), joined.then_some("frame in file")];
    table.set_header(headers.into_iter().chain(more.into_iter().flatten()));
    right(&mut table, &[0, 1, 2, 7]);
    if merged {
        right(&mut table, &[8]);
    }
    let begun = overview.begun.unwrap_or_default();
    let mut count = 0;
    for ((frame, _), row, change) in lines {
        count += 1;
        let withdrawn = || blank(frame.to_string());
        let cells = row.map_or_else(withdrawn, |r| retransmission(r, begun));
        let point = row.map(|r| r.capture_point.to_string()).unwrap_or_default();
        let place = joined.then(|| place(files, frame));
        let more = [merged.then_some(point), change.map(|c| c.name().into()), place];
        table.add_row(cells.into_iter().chain(more.into_iter().flatten()));
    }
    let begun = utc(begun);
    let point = if merged { POINT } else { "" };
    format!("{count} retransmissions\ntime: since {begun}; detection: since the first transmission\n{point}\n{table}\n")
}

/// The frame in its file, and the file.
fn place(files: &JoinedFiles, frame: u64) -> String {
    let place = files.locate(frame);
    place.map_or_else(String::new, |(file, frame)| format!("{frame} in {}", file.name))
}

/// Cells of which only the first is known.
fn blank<const N: usize>(first: String) -> [String; N] {
    let mut cells = [const { String::new() }; N];
    if let Some(cell) = cells.first_mut() {
        *cell = first;
    }
    cells
}

fn retransmission(r: &Retransmission, begin: Instant) -> [String; 8] {
    [
        r.frame.to_string(),
        seconds(r.at.since(begin)),
        r.connection.to_string(),
        r.endpoints.src.to_string(),
        r.triggers.to_string(),
        r.verdict.name().into(),
        r.evidence.name().into(),
        millis(r.detection),
    ]
}

/// The connections of a capture. Each has two rows: one for what each end sent.
pub fn connection_table(analyzed: &Analyzed<AllConnections>) -> String {
    let AllConnections { rows, overview, .. } = &analyzed.findings;
    let lines = rows.iter().map(|row| (row.key(), Some(row), None));
    connection_lines(lines, overview)
}

/// The connections that changed since they were last given out.
pub fn changed_connection_table(analyzed: &Analyzed<Changes<Connection>>) -> String {
    let Changes { records, overview } = &analyzed.findings;
    if records.is_empty() {
        return "no new connections\n".into();
    }
    let lines = records.iter().map(Record::line);
    connection_lines(lines, overview)
}

fn connection_lines<'a>(lines: impl Iterator<Item = TableLine<'a, Connection>>, overview: &Overview) -> String {
    let mut lines = lines.peekable();
    let Some((.., change)) = lines.peek() else {
        return "no connections\n".into();
    };
    let merged = overview.vantages.capture_points > 1;
    let mut table = plain_table();
    let headers = [
        "no.",
        "begin\n(s)",
        "duration\n(s)",
        "sender",
        "payload\n(bytes)",
        "retrans-\nmissions",
        "spuri-\nous",
        "RTT p50\n(ms)",
        "recovery\n(ms)",
        "profile",
    ];
    let more = [merged.then_some("point"), change.map(|_| "record")];
    table.set_header(headers.into_iter().chain(more.into_iter().flatten()));
    right(&mut table, &[0, 1, 2, 4, 5, 6, 7, 8]);
    if merged {
        right(&mut table, &[10]);
    }
    let first = overview.begun.unwrap_or_default();
    let mut count = 0;
    for ((id, point), row, change) in lines {
        count += 1;
        let point = merged.then(|| point.to_string());
        let more = [point, change.map(|c| c.name().into())].into_iter().flatten();
        let Some(c) = row else {
            table.add_row(blank::<10>(id.to_string()).into_iter().chain(more));
            continue;
        };
        let [there, back] = &c.directions;
        let [begun, duration] = [c.begun.since(first), c.duration()].map(seconds);
        let own = [id.to_string(), begun, duration];
        let sent = direction(c.endpoints.src, there);
        table.add_row(own.into_iter().chain(sent).chain(more));
        let own = [const { String::new() }; 3];
        table.add_row(own.into_iter().chain(direction(c.endpoints.dst, back)));
    }
    let point = if merged { POINT } else { "" };
    let first = utc(first);
    format!(
        "{count} connections, two rows each: one per sender; retransmissions in segments\n\
         begin: since {first}; recovery: time spent detecting losses and recovering from them\n{point}\n{table}\n"
    )
}

/// The cells for one sender.
fn direction(sender: SocketAddr, sent: &Direction) -> [String; 7] {
    let profile = match Sender::from(&sent.profile) {
        Sender::Profile(name) => name,
        // The column is narrow.
        Sender::Several(names) => either(&names).replace(" or linux-", " or "),
        Sender::None => "none".into(),
        Sender::Nothing => String::new(),
    };
    [
        sender.to_string(),
        sent.bytes.to_string(),
        sent.retransmissions.total().to_string(),
        sent.retransmissions.of_verdict(Verdict::Spurious).to_string(),
        millis(sent.rtt.map(|rtt| rtt.p50)),
        millis(Some(sent.recovering)),
        profile,
    ]
}

/// Names two profiles; of more, the first and how many others.
pub(super) fn either(names: &str) -> String {
    let names: Vec<&str> = names.split('|').collect();
    match names[..] {
        [first, second] => format!("{first} or {second}"),
        [first, ..] if names.len() > 2 => format!("{first} or {} others", names.len() - 1),
        _ => names.concat(),
    }
}

/// Aligns columns of numbers to the right.
pub(super) fn right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A number, aligned to the right.
pub(crate) fn number(value: impl ToString) -> Cell {
    Cell::new(value).set_alignment(CellAlignment::Right)
}

/// A time in seconds, to the microsecond.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.6}", time.as_secs_f64())
}

/// A time in milliseconds, to the microsecond; `-` if it is unknown.
pub(super) fn millis(time: Option<Duration>) -> String {
    recoup_table::millis(time.map(ms))
}
