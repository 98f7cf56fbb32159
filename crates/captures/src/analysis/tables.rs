//! Retransmissions and connections as text tables. `summary_tables` has those of the summary.

use super::changes::Changes;
use super::columns::ms;
use super::episodes::Episode;
use super::findings::{AllConnections, AllEpisodes, AllRetransmissions, Analyzed, Overview};
use super::given_out::{Change, Record, Row};
use crate::study::Sender;
use crate::text_table::{aligned, texts};
use recoup_table::utc;
use recoup_trace::finding::{Connection, Direction, Retransmission, Verdict};
use recoup_trace::read::{Counts, JoinedFiles};
use recoup_units::Instant;
use std::net::SocketAddr;
use std::time::Duration;

/// Explains the column that tables of merged files have.
const POINT: &str = "point: capture point; 0 is nearest to the end that opened the connection\n";

/// The retransmissions of a capture.
pub fn retransmission_table(analyzed: &Analyzed<AllRetransmissions>) -> String {
    let AllRetransmissions { rows, overview, .. } = &analyzed.findings;
    let lines = rows.iter().map(unchanged).collect();
    retransmission_lines(lines, overview, &analyzed.counts).unwrap_or("no retransmissions\n".into())
}

/// The retransmissions that changed since they were last given out.
pub fn changed_retransmission_table(analyzed: &Analyzed<Changes<Retransmission>>) -> String {
    let Changes { records, overview } = &analyzed.findings;
    let lines = records.iter().map(changed).collect();
    retransmission_lines(lines, overview, &analyzed.counts).unwrap_or("no new retransmissions\n".into())
}

/// A row's key, the row unless it is withdrawn, and what changed if that is shown.
type TableLine<'a, R> = (<R as Row>::Key, Option<&'a R>, Option<Change>);

fn unchanged<R: Row>(row: &R) -> TableLine<'_, R> {
    (row.key(), Some(row), None)
}

fn changed<R: Row>(record: &Record<R>) -> TableLine<'_, R> {
    (record.key, record.row.as_ref(), Some(record.change))
}

/// `None` without lines.
fn retransmission_lines(
    lines: Vec<TableLine<'_, Retransmission>>,
    overview: &Overview,
    counts: &Counts,
) -> Option<String> {
    let shows_change = lines.first()?.2.is_some();
    let (merged, joined) = (overview.vantages.capture_points > 1, !counts.files.is_empty());
    let begun = first_frame(overview, counts);
    let header = ["frame", "time (s)", "conn.", "sender", "trigger", "verdict", "evidence", "detection (ms)"];
    let more = [merged.then_some("point"), shows_change.then_some("record"), joined.then_some("frame in file")];
    let header: Vec<&str> = header.into_iter().chain(more.into_iter().flatten()).collect();
    let rows = lines.iter().map(|((frame, _), row, change)| {
        let mut cells = row.map_or_else(
            || withdrawn(frame, 8),
            |r| {
                let at = seconds(r.at.since(begun));
                let (verdict, evidence) = (r.verdict.name(), r.evidence.name());
                texts![r.frame, at, r.connection, r.endpoints.src, r.triggers, verdict, evidence, millis(r.detection)]
            },
        );
        cells.extend(merged.then(|| row.map(|r| r.capture_point.to_string()).unwrap_or_default()));
        cells.extend(change.map(|change| change.name().into()));
        cells.extend(joined.then(|| place(&counts.files, *frame)));
        cells
    });
    let right: &[usize] = if merged { &[0, 1, 2, 7, 8] } else { &[0, 1, 2, 7] };
    let table = aligned(&header, right, rows)?;
    let (count, begun, point) = (lines.len(), utc(begun), if merged { POINT } else { "" });
    Some(format!(
        "{count} retransmissions\ntime: since {begun}; detection: since the first transmission\n{point}\n{table}\n"
    ))
}

/// When the capture's first frame was captured: from then Wireshark counts seconds.
fn first_frame(overview: &Overview, counts: &Counts) -> Instant {
    counts.from_first_frame(overview.begun.unwrap_or_default())
}

/// The frame in its file, and the file.
fn place(files: &JoinedFiles, frame: u64) -> String {
    let place = files.locate(frame);
    place.map_or_else(String::new, |(file, frame)| format!("{frame} in {}", file.name))
}

/// A withdrawn row of `cells` cells, of which only the first is known.
fn withdrawn(first: &u64, cells: usize) -> Vec<String> {
    let mut row = texts![first];
    row.resize(cells, String::new());
    row
}

/// The time that the connections of a capture lost.
pub fn episode_table(analyzed: &Analyzed<AllEpisodes>) -> String {
    let AllEpisodes { rows, overview, .. } = &analyzed.findings;
    episode_lines(rows.iter().map(unchanged).collect(), overview, &analyzed.counts).unwrap_or("no lost time\n".into())
}

/// The lost time that changed since it was last given out.
pub fn changed_episode_table(analyzed: &Analyzed<Changes<Episode>>) -> String {
    let Changes { records, overview } = &analyzed.findings;
    episode_lines(records.iter().map(changed).collect(), overview, &analyzed.counts)
        .unwrap_or("no new lost time\n".into())
}

/// `None` without lines.
fn episode_lines(lines: Vec<TableLine<'_, Episode>>, overview: &Overview, counts: &Counts) -> Option<String> {
    let shows_change = lines.first()?.2.is_some();
    let merged = overview.vantages.capture_points > 1;
    let first = first_frame(overview, counts);
    let header = ["conn.", "begun (s)", "sender", "cause", "trigger", "verdict", "times", "lost (ms)", "frame"];
    let more = [merged.then_some("point"), shows_change.then_some("record")];
    let header: Vec<&str> = header.into_iter().chain(more.into_iter().flatten()).collect();
    let rows = lines.iter().map(|(key, row, change)| {
        let mut cells = match row {
            None => withdrawn(&key.connection, 9),
            Some(e) => {
                let of = e.recovery();
                let begun = e.begun().map_or("-".into(), |at| seconds(at.since(first)));
                let [trigger, verdict] =
                    of.map_or(Default::default(), |of| [of.triggers.to_string(), of.verdict.name().into()]);
                let frame = e.frame().map_or("-".into(), |frame| frame.to_string());
                let (sender, cause, lost) = (e.endpoints.src, e.cause.name(), millis(Some(e.lost)));
                texts![e.connection, begun, sender, cause, trigger, verdict, e.times, lost, frame]
            }
        };
        cells.extend(merged.then(|| key.capture_point.to_string()));
        cells.extend(change.map(|change| change.name().into()));
        cells
    });
    let right: &[usize] = if merged { &[0, 1, 6, 7, 8, 9] } else { &[0, 1, 6, 7, 8] };
    let table = aligned(&header, right, rows)?;
    let lost: Duration = lines.iter().filter_map(|(_, row, _)| Some(row.as_ref()?.lost)).sum();
    let (count, lost, first) = (lines.len(), millis(Some(lost)), utc(first));
    let point = if merged { POINT } else { "" };
    Some(format!(
        "{count} rows, which lost {lost} ms; a row without a frame is for several occurrences\n\
         begun: since {first}; frame: of the first retransmission, or of the late ACK\n\
         {point}\n{table}\n"
    ))
}

/// The connections of a capture. Each has two rows: one for what each end sent.
pub fn connection_table(analyzed: &Analyzed<AllConnections>) -> String {
    let AllConnections { rows, overview, .. } = &analyzed.findings;
    connection_lines(rows.iter().map(unchanged).collect(), overview, &analyzed.counts)
        .unwrap_or("no connections\n".into())
}

/// The connections that changed since they were last given out.
pub fn changed_connection_table(analyzed: &Analyzed<Changes<Connection>>) -> String {
    let Changes { records, overview } = &analyzed.findings;
    connection_lines(records.iter().map(changed).collect(), overview, &analyzed.counts)
        .unwrap_or("no new connections\n".into())
}

/// `None` without lines.
fn connection_lines(lines: Vec<TableLine<'_, Connection>>, overview: &Overview, counts: &Counts) -> Option<String> {
    let shows_change = lines.first()?.2.is_some();
    let merged = overview.vantages.capture_points > 1;
    let first = first_frame(overview, counts);
    let header = [
        "no.",
        "begin\n(s)",
        "duration\n(s)",
        "sender",
        "payload\n(bytes)",
        "retrans-\nmissions",
        "spuri-\nous",
        "RTT p50\n(ms)",
        "lost\n(ms)",
        "profile",
    ];
    let more = [merged.then_some("point"), shows_change.then_some("record")];
    let header: Vec<&str> = header.into_iter().chain(more.into_iter().flatten()).collect();
    let rows = lines.iter().flat_map(|((id, point), row, change)| {
        let mut cells = row.map_or_else(
            || withdrawn(id, 10),
            |c| {
                let own = texts![id, seconds(c.begun.since(first)), seconds(c.duration())];
                [own, direction(sender(c.endpoints.src, c), &c.directions[0])].concat()
            },
        );
        cells.extend(merged.then(|| point.to_string()));
        cells.extend(change.map(|change| change.name().into()));
        let back = row.map(|c| [texts!["", "", ""], direction(sender(c.endpoints.dst, c), &c.directions[1])].concat());
        std::iter::once(cells).chain(back)
    });
    let right: &[usize] = if merged { &[0, 1, 2, 4, 5, 6, 7, 8, 10] } else { &[0, 1, 2, 4, 5, 6, 7, 8] };
    let table = aligned(&header, right, rows)?;
    let (count, first, point) = (lines.len(), utc(first), if merged { POINT } else { "" });
    Some(format!(
        "{count} connections, two rows each: one per sender; retransmissions in segments\n\
         begin: since {first}; lost: how much later data was acknowledged than without losses and delays\n{point}\n{table}\n"
    ))
}

/// An end of a connection, with the tunnel that tells it from others between the same ends.
fn sender(end: SocketAddr, connection: &Connection) -> String {
    match connection.tunnel() {
        None => end.to_string(),
        Some(tunnel) => format!("{end} ({tunnel})"),
    }
}

/// The cells for one sender.
fn direction(sender: String, sent: &Direction) -> Vec<String> {
    let profile = match Sender::from(&sent.profile) {
        Sender::Profile(name) => name,
        // The column is narrow.
        Sender::Several(names) => either(&names).replace(" or linux-", " or "),
        Sender::None => "none".into(),
        Sender::Nothing => String::new(),
    };
    let profile = match sent.least_rto {
        Some(least) => format!("{profile}, min. RTO {:.0} ms", ms(least)),
        None => profile,
    };
    let again = &sent.retransmissions;
    let [rtt, lost] = [sent.rtt.map(|rtt| rtt.p50), Some(sent.lost.total())].map(millis);
    texts![sender, sent.bytes, again.total(), again.of_verdict(Verdict::Spurious), rtt, lost, profile]
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

/// A time in seconds, to the microsecond.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.6}", time.as_secs_f64())
}

/// A time in milliseconds, to the microsecond; `-` if it is unknown.
pub(super) fn millis(time: Option<Duration>) -> String {
    recoup_table::millis(time.map(ms))
}
