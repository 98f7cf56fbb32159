//! A row for each of several captures, and for groups of connections.

use super::super::facts::Facts;
use super::super::groups::{Group, GroupRow};
use super::super::report::{cause_title, costly};
use crate::wording::{bytes, duration, grouped, millis, percent};
use recoup_draw::page::{Column, ColumnKind, Importance, Overview, OverviewCell};
use recoup_table::utc;
use recoup_units::Instant;

/// Groups of a table that are shown: those that come first.
const MOST_GROUPS: usize = 100;

fn column(heading: &str, about: &str, kind: ColumnKind) -> Column {
    Column { heading: heading.into(), about: about.into(), kind, importance: Importance::High }
}

fn text(text: String) -> OverviewCell {
    OverviewCell { text, value: None }
}

fn number(text: String, value: f64) -> OverviewCell {
    OverviewCell { text, value: Some(value) }
}

/// Two amounts, of which one is a part of the other.
fn share(part: f64, whole: f64) -> OverviewCell {
    match whole > 0.0 {
        true => number(percent(part, whole), part / whole),
        false => OverviewCell::default(),
    }
}

/// The columns that rows of captures and of groups end with.
fn of_connections() -> Vec<Column> {
    use ColumnKind::{Bytes, Category, Count, Seconds, Share};
    vec![
        column("Connections", "Its connections", Count),
        column("Data", "Payload of all connections, retransmissions included", Bytes),
        column("Lost", "The time that its connections lost", Seconds),
        column("Share lost", "The same as a share of the time of its connections", Share),
        column("Main cause", "What cost most of that", Category),
        column("Retransmissions", "Retransmissions of all connections", Count),
        column("Retransmitted", "Retransmissions as a share of all segments with data, SYN or FIN", Share),
        column("Round-trip time", "Of the medians of all main senders, the median", Seconds),
    ]
}

/// The cells of these columns.
fn cells(group: &Group) -> Vec<OverviewCell> {
    let lost = group.lost.total();
    let again = group.retransmissions.total();
    vec![
        number(grouped(group.connections), group.connections as f64),
        number(bytes(group.bytes), group.bytes as f64),
        number(duration(lost), lost.as_secs_f64()),
        share(lost.as_secs_f64(), group.connection_time.as_secs_f64()),
        text(costly(&group.lost).first().map_or_else(String::new, |cause| cause_title(*cause).into())),
        number(grouped(again), again as f64),
        share(again as f64, group.segments as f64),
        group.rtt.summary().map_or_else(OverviewCell::default, |rtt| number(millis(rtt.p50), rtt.p50 / 1e3)),
    ]
}

/// The tables of groups whose property is one of those `wanted`.
pub(super) fn groups(rows: &[GroupRow], wanted: impl Fn(&str) -> bool) -> Vec<Overview> {
    let tables = rows.chunk_by(|row, next| row.by == next.by).filter(|rows| wanted(&rows[0].by));
    let table = |rows: &[GroupRow]| {
        let of_group = |row: &GroupRow| {
            let name = text(row.key.clone());
            std::iter::once(name).chain(cells(&row.group)).collect()
        };
        let (by, left_out) = (&rows[0].by, rows.len().saturating_sub(MOST_GROUPS));
        let first = column("Group", "What its connections have in common", ColumnKind::Text);
        Overview {
            heading: match left_out {
                0 => format!("By {by}"),
                n => format!("By {by}: the first {MOST_GROUPS} of {}", grouped((n + MOST_GROUPS) as u64)),
            },
            columns: std::iter::once(first).chain(of_connections()).collect(),
            rows: rows.iter().take(MOST_GROUPS).map(of_group).collect(),
        }
    };
    tables.map(table).collect()
}

/// The table without a row.
pub(super) fn empty() -> Overview {
    use ColumnKind::{Seconds, Text};
    Overview {
        heading: "Captures".into(),
        columns: [
            column("Capture", "Its name", Text),
            column("First frame (UTC)", "When its first frame was captured", Text),
            column("Duration", "From the first packet of a connection to the last", Seconds),
        ]
        .into_iter()
        .chain(of_connections())
        .collect(),
        rows: Vec::new(),
    }
}

/// The row of a capture.
pub(super) fn row(name: &str, facts: &Facts, first_frame: Instant) -> Vec<OverviewCell> {
    let length = facts.duration();
    let own = [
        text(name.into()),
        text(facts.span.map_or_else(String::new, |_| utc(first_frame))),
        number(duration(length), length.as_secs_f64()),
    ];
    own.into_iter().chain(cells(&Group::of(facts))).collect()
}
