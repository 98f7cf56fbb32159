//! An explanation as the value of an HTML page.

use super::advice::Advice;
use super::facts::{Facts, lost_by, main_direction};
use super::order::{Ranked, SortBy};
use super::report::{Report, cause_title, costly, most_costly, state_share, state_title};
use crate::analysis::Analyzed;
use crate::wording::{bytes, capitalized, capture_name, count, duration};
use recoup_draw::page::{
    Breakdown, Cell, Chart, Column, ColumnKind, Connection, Direction, Importance, Page, Part, Point, Row, Section,
    Series, Table,
};
use recoup_trace::finding::{self, Cause, SenderState, Verdict};
use recoup_trace::timeline::{Bin, Timeline};
use recoup_units::Instant;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Points of a line over time: about one for each four pixels.
const MOST_POINTS: usize = 200;

/// A connection's diagrams, and what they lack.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The diagrams of the directions that sent data.
    pub directions: Vec<Direction>,
    /// Notes on packets that they lack.
    pub notes: Vec<String>,
}

/// The page of a capture. `drawn` holds the diagrams of the first connections, in their order.
pub fn explanation_page(analyzed: &Analyzed<Facts>, drawn: Vec<Drawn>, order: SortBy) -> Page {
    let facts = &analyzed.findings;
    let report = Report::new(analyzed);
    let worst = facts.worst.connections();
    let connections = worst.iter().zip(drawn);
    let begun = facts.span.map_or(Instant::ZERO, |(begun, _)| begun);
    Page {
        title: format!("Recoup: {}", capture_name(&analyzed.capture)),
        summary: report.heading.clone(),
        sections: sections(&report),
        advice: report.advice.as_ref().map(advice),
        breakdowns: breakdowns(facts),
        charts: charts(&facts.timeline, begun),
        table: table(facts, begun, order),
        connections_about: match order {
            SortBy::TimeLost => "The connections that lost most time.".into(),
            _ => format!("The first connections of the table: those {}.", order.about()),
        },
        connections: connections.map(|(ranked, drawn)| connection(&analyzed.capture, ranked, drawn)).collect(),
        notes: Vec::new(),
        generator: format!("Recoup {}", env!("CARGO_PKG_VERSION")),
    }
}

fn sections(report: &Report) -> Vec<Section> {
    let ranked = report.causes.iter().map(|line| recoup_draw::page::Ranked {
        name: line.name.into(),
        amount: duration(line.lost),
        text: line.text.clone(),
    });
    let point = |text: &String| Point { text: text.clone(), connection: None };
    let mut sections = vec![Section {
        heading: "What made connections slow".into(),
        paragraphs: std::iter::once(&report.finding).chain(&report.time).cloned().collect(),
        ranked: ranked.collect(),
        points: Vec::new(),
    }];
    let mut list = |heading: &str, points: Vec<Point>| {
        if !points.is_empty() {
            sections.push(Section { heading: heading.into(), points, ..Section::default() });
        }
    };
    let worst = report
        .connections
        .iter()
        .map(|line| Point { text: line.text.clone(), connection: Some(line.number.to_string()) });
    list("Connections that lost most time", worst.collect());
    let compared = report.compared.iter().map(|compared| point(&compared.to_string()));
    list("Measured, and usual on Google's servers in 2011", compared.collect());
    list("What the capture does not show", report.not_known.iter().map(point).collect());
    sections
}

/// The section with the advice.
fn advice(advice: &Advice) -> Section {
    let nothing = Some(&advice.nothing).filter(|text| !text.is_empty());
    let ranked = advice.ranked.iter().map(|line| recoup_draw::page::Ranked {
        name: line.mechanism.clone(),
        amount: line.amount(),
        text: match line.command {
            Some(_) => line.text.clone(),
            None => format!("Only another TCP has it. {}", capitalized(&line.text)),
        },
    });
    Section {
        heading: "What would have helped".into(),
        paragraphs: std::iter::once(&advice.basis).chain(nothing).cloned().collect(),
        ranked: ranked.collect(),
        points: Vec::new(),
    }
}

fn breakdowns(facts: &Facts) -> Vec<Breakdown> {
    let lost = facts.lost.total();
    let causes = costly(&facts.lost).into_iter().enumerate().map(|(colour, cause)| {
        let of = facts.lost.of(cause);
        Part {
            name: cause_title(cause).into(),
            amount: of.as_secs_f64(),
            text: duration(of),
            about: count(facts.lost.times(cause).into(), "occurrence"),
            colour: if cause == Cause::Unknown { Part::GREY } else { colour },
        }
    });
    let all = facts.connection_time;
    let states = SenderState::ALL.into_iter().enumerate().map(|(colour, state)| {
        let of = facts.time.of(state);
        Part {
            name: state_title(state).into(),
            amount: of.as_secs_f64(),
            text: duration(of),
            about: String::new(),
            colour: if state == SenderState::Unknown { Part::GREY } else { colour },
        }
    });
    vec![
        Breakdown {
            heading: "Time lost, by cause".into(),
            about: format!("All causes: {}.", duration(lost)),
            parts: causes.collect(),
        },
        Breakdown {
            heading: "Time of the main senders, by state".into(),
            about: format!(
                "The main sender of a connection is the end that sent more data. All connections: {}.",
                duration(all)
            ),
            parts: states.collect(),
        },
    ]
}

fn charts(timeline: &Timeline, begun: Instant) -> Vec<Chart> {
    let timeline = timeline.in_bins(MOST_POINTS);
    let width = timeline.width().as_secs_f64();
    let bins: Vec<(f64, Bin)> =
        timeline.bins().map(|(at, bin)| (at.since(begun.min(at)).as_secs_f64(), *bin)).collect();
    let seconds: Vec<f64> = bins.iter().map(|(at, _)| *at).collect();
    let chart = |heading: &str, about: &str, name: &str, value: &dyn Fn(&Bin) -> Option<f64>| Chart {
        heading: heading.into(),
        about: format!("{about} in each interval of {}.", duration(timeline.width())),
        y_label: name.into(),
        x_label: "seconds since the first packet".into(),
        seconds: seconds.clone(),
        series: vec![Series { name: name.into(), values: bins.iter().map(|(_, bin)| value(bin)).collect() }],
    };
    if bins.is_empty() {
        return Vec::new();
    }
    vec![
        chart(
            "Retransmission rate",
            "Retransmissions as a share of all segments with data, SYN or FIN",
            "retransmissions (%)",
            &|bin| (bin.segments > 0).then(|| 100.0 * bin.retransmissions as f64 / bin.segments as f64),
        ),
        chart("Round-trip time", "Mean round-trip time of all connections", "round-trip time (ms)", &|bin| {
            bin.mean_rtt().map(|rtt| rtt.as_secs_f64() * 1e3)
        }),
        chart("Goodput", "Data acknowledged for the first time, of all connections", "goodput (Mbit/s)", &|bin| {
            Some(bin.acknowledged as f64 * 8e-6 / width)
        }),
    ]
}

/// Reads a cell off a connection of a capture that begins at this time.
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
            r.connection.endpoints.src.to_string().as_str().into()
        }),
        column("Server", "The other end", Kind::Text, Medium, |r, _| {
            r.connection.endpoints.dst.to_string().as_str().into()
        }),
        column("Begun", "Its first packet, since the capture's first packet", Kind::Moment, Medium, |r, begun| {
            seconds(r.connection.begun.since(begun.min(r.connection.begun)))
        }),
        column("Duration", "From its first packet to its last", Kind::Seconds, Medium, |r, _| {
            seconds(r.connection.duration())
        }),
        column("Lost", "The time it lost", Kind::Seconds, High, |r, _| seconds(lost_by(&r.connection).total())),
        column("Main cause", "What cost most of that", Kind::Category, High, |r, _| {
            most_costly(&r.connection).map_or(Cell::Empty, |cause| cause_title(cause).into())
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

fn table(facts: &Facts, begun: Instant, order: SortBy) -> Table {
    let columns = columns();
    let rows = facts.worst.connections().iter().map(|ranked| Row {
        connection: ranked.connection.id.to_string(),
        filter: display_filter(&ranked.connection),
        retransmissions: ranked.frames.clone(),
        cells: columns.iter().map(|(_, cell)| cell(ranked, begun)).collect(),
    });
    Table {
        rows: rows.collect(),
        total: facts.connections,
        order: order.about().into(),
        columns: columns.into_iter().map(|(column, _)| column).collect(),
    }
}

/// A Wireshark display filter for a connection's packets.
fn display_filter(connection: &finding::Connection) -> String {
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

fn connection(file: &str, ranked: &Ranked, drawn: Drawn) -> Connection {
    let connection = &ranked.connection;
    let lost = lost_by(connection).total();
    let ends = &connection.endpoints;
    let mut facts = vec![
        ("Time lost".into(), format!("{} of {}", duration(lost), duration(connection.duration()))),
        ("Frames".into(), format!("{} to {}", connection.frames.start(), connection.frames.end())),
        ("Opening, end".into(), format!("{}, {}", connection.opening.name(), connection.closing.name())),
    ];
    for (end, side) in [ends.src, ends.dst].iter().zip(&connection.directions) {
        facts.push((end.to_string(), side_facts(side)));
    }
    Connection {
        id: connection.id.to_string(),
        title: format!("{}: {} lost", connection.name(), duration(lost)),
        facts,
        file: file.into(),
        filter: display_filter(connection),
        directions: drawn.directions,
        notes: drawn.notes,
    }
}

/// The data of one end, and where its time went.
fn side_facts(side: &finding::Direction) -> String {
    let all = side.time.total();
    let states = SenderState::ALL.into_iter().filter(|state| !side.time.of(*state).is_zero());
    let states: Vec<String> = states.map(|state| state_share(state, side.time.of(state), all)).collect();
    format!(
        "sent {} with {}; {}",
        bytes(side.bytes),
        count(side.retransmissions.total(), "retransmission"),
        states.join(", ")
    )
}
