//! Explanations of captures as the value of one HTML page.
//!
//! | module | contents |
//! | --- | --- |
//! | `bars` | time by cause and by state |
//! | `charts` | retransmissions, round-trip times and goodput over time |
//! | `table` | the table of connections |
//! | `overview` | a row for each of several captures, and for groups of connections |

mod bars;
mod charts;
mod overview;
mod table;

use super::advice::Advice;
use super::facts::{Facts, lost_by};
use super::order::{Ranked, SortBy};
use super::quic::Protocol;
use super::report::{Report, state_share};
use super::total::Total;
use crate::analysis::Analyzed;
use crate::wording::{bytes, capitalized, capture_name, count, duration};
use recoup_draw::page::{Body, Capture, Connection, Direction, Overview, Page, Point, Section};
use recoup_table::utc;
use recoup_trace::finding::{self, SenderState};
use recoup_units::Instant;
use table::{Rows, display_filter};

/// Times before this are no dates (1971), but times since a trace began.
const FIRST_DATE: Instant = Instant::from_nanos(31_536_000_000_000_000);

/// Connections in the list of those that lost most. The table has more.
const LISTED: usize = 3;

/// A connection's diagrams, and what they lack.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The diagrams of the directions that sent data.
    pub directions: Vec<Direction>,
    /// Notes on packets that they lack.
    pub notes: Vec<String>,
}

/// The page of a capture without diagrams, from what its facts hold. `rows`: connections in its table.
pub fn page_without_diagrams(analyzed: &Analyzed<Facts>, rows: usize) -> Page {
    let order = analyzed.findings.worst.order();
    let mut page = PageOf::new(false, order, rows);
    page.add(&analyzed.capture, analyzed, Vec::new());
    let mut total = Total::new(order, 0, &[]);
    total.add(analyzed);
    page.finish(&total)
}

/// Makes a page of captures, one after another.
pub(super) struct PageOf {
    order: SortBy,
    /// Connections of the table.
    most: usize,
    /// Whether each capture gets a section and a row of its own.
    are_several: bool,
    captures: Vec<Capture>,
    overview: Overview,
    rows: Rows,
    notes: Vec<String>,
}

impl PageOf {
    /// A page of one capture, or of several.
    pub fn new(are_several: bool, order: SortBy, most: usize) -> Self {
        Self {
            order,
            most,
            are_several,
            captures: Vec::new(),
            overview: overview::empty(),
            rows: Rows::new(order, are_several),
            notes: Vec::new(),
        }
    }

    /// Adds a capture. `drawn` holds the diagrams of its first connections, in their order.
    pub fn add(&mut self, name: &str, analyzed: &Analyzed<Facts>, drawn: Vec<Drawn>) {
        let name = capture_name(name);
        let facts = &analyzed.findings;
        let number = self.captures.len() + 1;
        let id = |connection: u64| match self.are_several {
            true => format!("{number}-{connection}"),
            false => connection.to_string(),
        };
        let first_frame = first_frame(analyzed);
        let report = Report::new(analyzed);
        let file = &analyzed.capture;
        let connections = facts.worst.connections().iter().zip(drawn);
        self.rows.add(name, facts, first_frame, self.most, id);
        self.overview.rows.push(overview::row(name, facts, first_frame));
        self.captures.push(Capture {
            name: name.into(),
            summary: report.heading.clone(),
            body: Body {
                clock: facts.span.map_or_else(String::new, |_| clock(first_frame, facts.protocol())),
                sections: sections(&report, facts.protocol(), id),
                advice: report.advice.as_ref().map(advice),
                changes: Vec::new(),
                groups: overview::groups(&report.groups, |_| true),
                breakdowns: bars::breakdowns(facts),
                charts: facts.span.map_or_else(Vec::new, |span| charts::charts(&facts.timeline, span, first_frame)),
                connections: connections
                    .map(|(ranked, drawn)| {
                        let id = id(ranked.connection.id);
                        Connection { id, ..connection(file, ranked, first_frame, drawn) }
                    })
                    .collect(),
                connections_about: match self.order {
                    SortBy::TimeLost => "The connections that lost most time.".into(),
                    order => format!("The first connections: those {}.", order.about()),
                },
            },
        });
    }

    /// Adds a note on a capture at the end of the page.
    pub fn note(&mut self, capture: &str, note: &str) {
        self.notes.push(match self.are_several {
            true => format!("{}: {note}", capture_name(capture)),
            false => note.into(),
        });
    }

    /// The page. `total` has all captures together.
    pub fn finish(mut self, total: &Total) -> Page {
        let connections = total.facts.connections;
        let whole = match self.are_several {
            true => sum(total),
            false => self.captures.pop().unwrap_or_default(),
        };
        Page {
            title: format!("Recoup: {}", whole.name),
            summary: whole.summary,
            body: whole.body,
            overview: self.are_several.then_some(self.overview),
            table: self.rows.into_table(connections),
            captures: self.captures,
            notes: self.notes,
            generator: format!("Recoup {}", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// What the page says about all captures together.
fn sum(total: &Total) -> Capture {
    let report = Report::of_all(total);
    let mut sections = causes_and_usual_values(&report);
    sections.retain(|section| !section.paragraphs.is_empty() || !section.points.is_empty());
    Capture {
        name: count(total.captures, "capture"),
        summary: report.heading.clone(),
        body: Body {
            sections,
            groups: overview::groups(&report.groups, |by| by != "capture"),
            breakdowns: bars::breakdowns(&total.facts),
            ..Body::default()
        },
    }
}

/// When the capture's first frame was captured: from then Wireshark counts seconds.
fn first_frame(analyzed: &Analyzed<Facts>) -> Instant {
    let begun = analyzed.findings.span.map_or(Instant::ZERO, |(begun, _)| begun);
    analyzed.counts.from_first_frame(begun)
}

fn clock(first_frame: Instant, protocol: Protocol) -> String {
    let first = match protocol {
        Protocol::Tcp => "All times are seconds since the capture's first frame, as in Wireshark. It was captured at",
        Protocol::Quic if first_frame < FIRST_DATE => return "All times are those of the trace, in seconds.".into(),
        Protocol::Quic => "All times are seconds since the trace's first event. It was logged at",
    };
    format!("{first} {}.", utc(first_frame))
}

/// The sentences about a capture. `id` identifies one of its connections in the page.
fn sections(report: &Report, protocol: Protocol, id: impl Fn(u64) -> String) -> Vec<Section> {
    let worst = report.connections.iter().take(LISTED);
    let worst = worst.map(|line| Point { text: line.text.clone(), connection: Some(id(line.number)) });
    let mut sections = causes_and_usual_values(report);
    sections.insert(1, list("Connections that lost most time", worst.collect()));
    sections.push(list(
        protocol.choose("What the capture does not show", "What the trace does not show"),
        report.not_known.iter().map(|text| point(text)).collect(),
    ));
    sections.retain(|section| !section.paragraphs.is_empty() || !section.points.is_empty());
    sections
}

/// The causes of lost time, and measured values beside usual ones.
fn causes_and_usual_values(report: &Report) -> Vec<Section> {
    let ranked = report.causes.iter().map(|line| recoup_draw::page::Ranked {
        name: line.name.into(),
        amount: duration(line.lost),
        text: line.text.clone(),
    });
    let compared = report.compared.iter().map(|compared| point(&compared.to_string()));
    vec![
        Section {
            heading: "What made connections slow".into(),
            paragraphs: [&report.finding].into_iter().chain(&report.time).chain(&report.differences).cloned().collect(),
            ranked: ranked.collect(),
            points: Vec::new(),
        },
        list("Measured, and usual on Google's servers in 2011", compared.collect()),
    ]
}

fn list(heading: &str, points: Vec<Point>) -> Section {
    Section { heading: heading.into(), points, ..Section::default() }
}

fn point(text: &str) -> Point {
    Point { text: text.into(), connection: None }
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

fn connection(file: &str, ranked: &Ranked, first_frame: Instant, drawn: Drawn) -> Connection {
    let connection = &ranked.connection;
    let lost = lost_by(connection).total();
    let protocol = Protocol::of(connection);
    let mut facts = vec![
        ("Time lost".into(), format!("{} of {}", duration(lost), duration(connection.duration()))),
        (
            protocol.choose("Frames", "Events").into(),
            format!("{} to {}", connection.frames.start(), connection.frames.end()),
        ),
        ("Opening, end".into(), format!("{}, {}", connection.opening.name(), connection.closing.name())),
    ];
    for (end, side) in connection.directions.iter().enumerate() {
        facts.push((connection.end_name(end), side_facts(side)));
    }
    Connection {
        id: String::new(),
        number: connection.id,
        begun: connection.begun.since(first_frame),
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
    let states = if states.is_empty() { String::new() } else { format!("; {}", states.join(", ")) };
    format!("sent {} with {}{states}", bytes(side.bytes), count(side.retransmissions.total(), "retransmission"))
}
