//! The table of connections.

use super::super::facts::{Facts, lost_by, main_direction};
use super::super::order::{Ranked, SortBy};
use super::super::quic::Protocol;
use super::super::report::{most_costly, state_title, title};
use crate::wording::capitalized;
use recoup_draw::page::{Cell, Column, ColumnKind, Importance, Row, Table};
use recoup_trace::finding::{self, SenderState, Verdict};
use recoup_units::Instant;
use std::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Reads a cell off a connection of a capture whose first frame was captured at this time.
type CellOf = Box<dyn Fn(&Ranked, Instant) -> Cell>;

fn column(
    heading: &str,
    about: &str,
    kind: ColumnKind,
    importance: Importance,
    cell: impl Fn(&Ranked, Instant) -> Cell + 'static,
) -> (Column, CellOf) {
    let column = Column { heading: heading.into(), about: about.into(), kind, importance };
    (column, Box::new(cell))
}

/// The direction that carries more data.
fn main(ranked: &Ranked) -> &finding::Direction {
    &ranked.connection.directions[main_direction(&ranked.connection)]
}

fn number(value: u64) -> Cell {
    Cell::Number(value as f64)
}

fn seconds(time: Duration) -> Cell {
    Cell::Number(time.as_secs_f64())
}

fn both(ranked: &Ranked, of: fn(&finding::Direction) -> u64) -> Cell {
    number(ranked.connection.directions.iter().map(of).sum())
}

fn columns() -> Vec<(Column, CellOf)> {
    use ColumnKind as Kind;
    use Importance::{High, Low, Medium};
    let mut columns = vec![
        column("Connection", "Its number, from 0, in the order of first packets", Kind::Count, High, |r, _| {
            number(r.connection.id)
        }),
        column("Client", "The end that opened the connection", Kind::Text, Medium, |r, _| {
            r.connection.end_name(0).as_str().into()
        }),
        column("Server", "The other end", Kind::Text, Medium, |r, _| r.connection.end_name(1).as_str().into()),
        column("Begun", "Its first packet, since the capture's first frame", Kind::Moment, Medium, |r, begun| {
            seconds(r.connection.begun.since(begun.min(r.connection.begun)))
        }),
        column("Duration", "From its first packet to its last", Kind::Seconds, Medium, |r, _| {
            seconds(r.connection.duration())
        }),
        column("Lost", "The time it lost", Kind::Seconds, High, |r, _| seconds(lost_by(&r.connection).total())),
        column("Main cause", "What cost most of that", Kind::Category, High, |r, _| {
            let protocol = Protocol::of(&r.connection);
            most_costly(&r.connection).map_or(Cell::Empty, |cause| title(cause, protocol).into())
        }),
        column("Data", "Payload of both directions, retransmissions included", Kind::Bytes, Medium, |r, _| {
            both(r, |d| d.bytes)
        }),
        column("Retransmissions", "Retransmissions of both directions", Kind::Count, High, |r, _| {
            both(r, |d| d.retransmissions.total())
        }),
        column("Spurious", "Retransmissions that were not needed", Kind::Count, Medium, |r, _| {
            both(r, |d| d.retransmissions.of_verdict(Verdict::Spurious))
        }),
        column(
            "Retransmission rate",
            "Retransmissions of the main sender, as a share of its segments",
            Kind::Share,
            Low,
            |r, _| {
                let main = main(r);
                let all = (main.segments > 0).then_some(main.segments as f64);
                all.map(|all| main.retransmissions.total() as f64 / all).into()
            },
        ),
        column("Round-trip time", "The median of the main sender", Kind::Seconds, Medium, |r, _| {
            let main = main(r);
            let shown = main.rtt.filter(|_| main.vantage != finding::Vantage::Receiver);
            shown.map(|rtt| rtt.p50.as_secs_f64()).into()
        }),
    ];
    columns.extend(SenderState::ALL.map(|state| {
        let about = "Time of the main sender in this state";
        column(&capitalized(state_title(state)), about, Kind::Seconds, Low, move |r, _| seconds(main(r).time.of(state)))
    }));
    columns
}

/// The rows of connections. Of one of several captures, each also has a cell with the capture's name.
pub(super) struct Rows {
    columns: Vec<(Column, CellOf)>,
    order: SortBy,
    are_of_several: bool,
    /// By the value of the order, the largest first.
    rows: Vec<(u64, Row)>,
}

impl Rows {
    pub fn new(order: SortBy, are_of_several: bool) -> Self {
        Self { columns: columns(), order, are_of_several, rows: Vec::new() }
    }

    /// Adds the connections of a capture, and keeps those that come first. `id` identifies one in the page.
    pub fn add(&mut self, capture: &str, facts: &Facts, first_frame: Instant, most: usize, id: impl Fn(u64) -> String) {
        let rows = facts.worst.connections().iter().map(|ranked| {
            let mut cells: Vec<Cell> = self.columns.iter().map(|(_, cell)| cell(ranked, first_frame)).collect();
            if self.are_of_several {
                cells.insert(1, capture.into());
            }
            let row = Row {
                connection: id(ranked.connection.id),
                filter: display_filter(&ranked.connection),
                retransmissions: ranked.frames.clone(),
                cells,
            };
            // Numbers of connections compare within a capture only.
            let value = if self.order == SortBy::Begin { 0 } else { ranked.value() };
            (value, row)
        });
        self.rows.extend(rows);
        // The sort is stable: captures stay in their order.
        self.rows.sort_by_key(|(value, _)| Reverse(*value));
        self.rows.truncate(most);
    }

    /// The table of the first of `total` connections.
    pub fn into_table(self, total: u64) -> Table {
        let mut columns: Vec<Column> = self.columns.into_iter().map(|(column, _)| column).collect();
        if self.are_of_several {
            columns.insert(
                1,
                Column {
                    heading: "Capture".into(),
                    about: "The capture that holds it".into(),
                    kind: ColumnKind::Category,
                    importance: Importance::High,
                },
            );
        }
        Table {
            rows: self.rows.into_iter().map(|(_, row)| row).collect(),
            total,
            order: self.order.about().into(),
            columns,
        }
    }
}

/// A Wireshark display filter for a connection's packets.
pub(super) fn display_filter(connection: &finding::Connection) -> String {
    if connection.quic.is_some() {
        return String::new();
    }
    let ends = &connection.endpoints;
    let address = |end: &SocketAddr| {
        let version = match end.ip() {
            IpAddr::V4(_) => "ip",
            IpAddr::V6(_) => "ipv6",
        };
        format!("{version}.addr == {} && tcp.port == {}", end.ip(), end.port())
    };
    format!(
        "{} && {} && frame.number >= {} && frame.number <= {}",
        address(&ends.src),
        address(&ends.dst),
        connection.frames.start(),
        connection.frames.end()
    )
}
