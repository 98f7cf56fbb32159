//! A report about an invented capture, with a page's full load: thousands of connections, and diagrams
//! with thousands of marks.

use recoup_draw::{
    page::{
        Body, Breakdown, Cell, Chart, Column, ColumnKind, Connection, Direction, Importance, Page, Part, Point, Ranked,
        Row, Section, Series, Table,
    },
    sequence::{AckArrival, Control, MarkRecorder, Necessity, Panel},
};
use recoup_units::{Instant, Offset, Span, SplitMix};
use std::time::Duration;

/// The size of a report.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Connections in the table.
    pub rows: usize,
    /// Connections in detail.
    pub details: usize,
    /// Segments of each connection in detail.
    pub segments: u64,
}

/// From 0 to 1.
fn share(numbers: &mut SplitMix) -> f64 {
    numbers.below(1_000_000) as f64 / 1e6
}

const CAUSES: [&str; 8] = [
    "lost SYN-ACK",
    "lost segments",
    "burst",
    "tail found by probe",
    "tail found by timeout",
    "reordering",
    "delay spike",
    "zero window",
];

const STATES: [&str; 9] = [
    "connecting",
    "recovering",
    "zero window",
    "receiver window",
    "sender buffer",
    "network",
    "application",
    "closing",
    "unknown",
];

pub fn page(size: Size) -> Page {
    Page {
        title: "web1.pcapng".into(),
        summary: "9.1 s, 12,345 connections, 22.8 MB, captured at the server".into(),
        body: Body {
            changes: Vec::new(),
            groups: Vec::new(),
            clock: "Seconds count from the first frame, captured 2026-11-22 10:00:00 UTC.".into(),
            sections: sections(),
            advice: None,
            breakdowns: breakdowns(),
            charts: charts(),
            connections: (0..size.details).map(|i| connection(i, size.segments)).collect(),
            connections_about: "These are the connections that lost most time.".into(),
        },
        overview: None,
        table: table(size.rows),
        captures: Vec::new(),
        notes: vec!["Times are those of the capture's clock.".into()],
        generator: "Recoup 0.1.0".into(),
    }
}

fn sections() -> Vec<Section> {
    let ranked =
        |name: &str, amount: &str, text: &str| Ranked { name: name.into(), amount: amount.into(), text: text.into() };
    vec![
        Section {
            heading: "Time lost".into(),
            paragraphs: vec!["Recovery took 55.4 s of 208 s of connection time (27 %), in 226 connections.".into()],
            ranked: vec![
                ranked(
                    "Lost SYN-ACKs",
                    "25.3 s",
                    "25 times, 1.0 s each: the client's first timeout. Nothing repairs a lost SYN-ACK sooner.",
                ),
                ranked(
                    "Lost segments",
                    "17.8 s",
                    "380 found by SACK after one round trip of 60 ms; 47 more were not lost: packets arrive up to 15 ms out of order.",
                ),
                ranked("Lost tails", "6.1 s", "16 found by a probe after 330 ms, 3 by timeout after 410 ms."),
            ],
            points: Vec::new(),
        },
        Section {
            heading: "Limits".into(),
            points: vec![
                Point { text: "Receiver windows held 3 connections for 2.2 s.".into(), connection: Some("1".into()) },
                Point { text: "The applications had nothing to send for 71 % of the time.".into(), connection: None },
            ],
            ..Section::default()
        },
        Section {
            heading: "Not known".into(),
            points: vec![Point {
                text: "The verdict on 3 of 512 retransmissions: no ACK of them is in the capture.".into(),
                connection: None,
            }],
            ..Section::default()
        },
    ]
}

fn breakdowns() -> Vec<Breakdown> {
    let part = |i: usize, name: &str, amount: f64, colour: usize| Part {
        name: name.into(),
        amount,
        text: format!("{amount:.1} s"),
        about: if i == 0 { "SYN-ACKs that never arrived".into() } else { String::new() },
        colour,
    };
    let lost = [25.3, 17.8, 0.9, 5.1, 1.0, 2.2, 0.04, 2.2];
    let spent = [8.0, 55.4, 1.4, 0.8, 0.3, 40.0, 90.0, 5.1, 7.0];
    vec![
        Breakdown {
            heading: "Time lost by cause (s)".into(),
            about: "How much later data was acknowledged than without the cause. No time counts twice.".into(),
            parts: CAUSES.iter().zip(lost).enumerate().map(|(i, (name, s))| part(i, name, s, i + 3)).collect(),
        },
        Breakdown {
            heading: "Time by state of the sender (s)".into(),
            about: "The lives of both directions of all connections.".into(),
            parts: STATES
                .iter()
                .zip(spent)
                .enumerate()
                .map(|(i, (name, s))| part(i + 1, name, s, if i == 8 { Part::GREY } else { i }))
                .collect(),
        },
    ]
}

fn charts() -> Vec<Chart> {
    let mut numbers = SplitMix(7);
    let intervals: Vec<(f64, f64)> = (0..900).map(|i| (f64::from(i) * 0.01, f64::from(i + 1) * 0.01)).collect();
    let mut line = |name: &str, level: f64, spread: f64| Series {
        name: name.into(),
        values: intervals
            .iter()
            .enumerate()
            .map(|(i, (s, _))| {
                let value = level * (1.0 + 0.5 * (s * 1.3).sin()) + spread * share(&mut numbers);
                (i % 217 > 4).then_some(value)
            })
            .collect(),
    };
    let chart = |heading: &str, y_label: &str, series: Vec<Series>| Chart {
        heading: heading.into(),
        about: "Of all connections, in intervals of 10 ms.".into(),
        y_label: y_label.into(),
        x_label: "seconds since the first frame".into(),
        intervals: intervals.clone(),
        series,
    };
    vec![
        chart(
            "Retransmissions (% of segments)",
            "Retransmissions (%)",
            vec![line("needed", 2.0, 1.5), line("spurious", 0.3, 0.4)],
        ),
        chart("Round-trip time (ms)", "RTT (ms)", vec![line("median", 60.0, 4.0), line("90th percentile", 80.0, 20.0)]),
        chart(
            "Goodput (bytes/s)",
            "Goodput (bytes/s)",
            vec![line("from servers", 2.4e6, 4e5), line("from clients", 1.2e5, 8e4)],
        ),
    ]
}

fn columns() -> Vec<Column> {
    use ColumnKind::{Bytes, Category, Count, Moment, Seconds, Share, Text};
    use Importance::{High, Low, Medium};
    let column = |heading: &str, kind, importance| Column {
        heading: heading.into(),
        about: format!("{heading} of the connection"),
        kind,
        importance,
    };
    let mut columns = vec![
        column("No.", Count, High),
        column("Client", Text, Medium),
        column("Server", Text, Medium),
        column("Begun (s)", Moment, Medium),
        column("Duration", Seconds, High),
        column("Bytes", Bytes, Medium),
        column("Time lost", Seconds, High),
        column("Main cause", Category, High),
        column("Retrans.", Count, Medium),
        column("Spurious", Count, Medium),
        column("Loss rate", Share, Medium),
        column("RTT median", Seconds, Medium),
        column("End", Category, Low),
    ];
    for sender in ["client", "server"] {
        columns.extend(STATES.iter().map(|state| column(&format!("{sender}: {state}"), Seconds, Low)));
    }
    columns
}

fn table(rows: usize) -> Table {
    let mut numbers = SplitMix(1);
    Table {
        columns: columns(),
        rows: (0..rows).map(|i| row(i, &mut numbers)).collect(),
        total: rows as u64 * 6,
        order: "that lost most time".into(),
    }
}

fn row(i: usize, numbers: &mut SplitMix) -> Row {
    let client = format!("10.193.{}.{}:{}", i % 7, i % 250, 1024 + numbers.below(60_000));
    let server = "192.0.2.10:443";
    let lost = 20.0 / (1.0 + i as f64) + 0.001 * share(numbers);
    let retransmissions = numbers.below(40) as f64;
    let mut cells = vec![
        Cell::Number(i as f64),
        Cell::from(client.as_str()),
        Cell::from(server),
        Cell::Number(9.0 * share(numbers)),
        Cell::Number(lost + 3.0 * share(numbers)),
        Cell::Number(numbers.below(3_000_000) as f64),
        Cell::Number(lost),
        Cell::from(CAUSES[numbers.below(8) as usize]),
        Cell::Number(retransmissions),
        Cell::Number((retransmissions * 0.1).floor()),
        Cell::Number(0.03 * share(numbers)),
        Cell::from((!i.is_multiple_of(11)).then(|| 0.06 * (0.5 + share(numbers)))),
        Cell::from(["closed", "reset", "capture end"][i % 3]),
    ];
    cells.extend((0..18).map(|_| match numbers.below(3) {
        0 => Cell::Number(0.0),
        _ => Cell::Number(share(numbers)),
    }));
    Row {
        connection: i.to_string(),
        filter: format!("tcp.stream == {i}"),
        retransmissions: (0..retransmissions as u64).map(|n| i as u64 * 500 + n * 61 + 1).collect(),
        cells,
    }
}

fn connection(i: usize, segments: u64) -> Connection {
    let fact = |name: &str, value: &str| (name.to_string(), value.to_string());
    Connection {
        id: i.to_string(),
        number: i as u64,
        begun: Duration::from_micros(2_130_000 + 17 * i as u64),
        title: format!("10.193.1.2:{} → 192.0.2.10:443: 1.20 s lost of 1.32 s (lost SYN-ACK)", 31_406 + i),
        facts: vec![
            fact("Begun", "2.130 s"),
            fact("RTT (median)", "60 ms"),
            fact("Bytes from the server", "2.4 MB"),
            fact("Sender of the data", "linux-6"),
            fact("Captured at", "the server"),
        ],
        file: "web1 of today.pcapng".into(),
        filter: format!("tcp.stream == {i}"),
        directions: vec![
            direction("192.0.2.10:443", 40 + i as u64, segments),
            direction("10.193.1.2:31406", 80 + i as u64, segments / 20),
        ],
        notes: Vec::new(),
    }
}

const MSS: u64 = 1448;
const RTT_US: u64 = 60_000;

/// A sender that loses 2 % of its segments, detects each loss after a round trip, and retransmits it.
fn direction(sender: &str, seed: u64, segments: u64) -> Direction {
    let mut numbers = SplitMix(seed);
    let mut events: Vec<(u64, u64, Event)> =
        vec![(0, 0, Event::Syn), (RTT_US, 0, Event::Ack { una: 1, block: None, window: 65_536 })];
    let (mut time, mut una) = (RTT_US + 300, 1);
    let mut hole: Option<(u64, u64)> = None;
    for n in 0..segments {
        let start = 1 + n * MSS;
        // A flight of 40 segments takes a round trip.
        time += if n % 40 == 0 { RTT_US - 20_000 } else { 500 + numbers.below(700) };
        events.push((time, n, Event::Data(start)));
        let lost = hole.is_none() && numbers.below(50) == 0;
        if lost {
            hole = Some((start, n));
            let late = if numbers.below(20) == 0 { 250_000 } else { RTT_US + 3000 };
            events.push((time + late, n, Event::Again(start, numbers.below(10))));
            continue;
        }
        let arrival = time + RTT_US + numbers.below(400);
        let block = hole.map(|(at, _)| (at + MSS, start + MSS));
        if hole.is_some_and(|(_, since)| n > since + 50) {
            hole = None;
        }
        if hole.is_none() {
            una = start + MSS;
        }
        let window = if n % 3000 > 2950 { 0 } else { 400_000 };
        let block = block.filter(|_| hole.is_some());
        events.push((arrival, n, Event::Ack { una, block, window }));
    }
    events.push((time + 2 * RTT_US, segments, Event::Fin(1 + segments * MSS)));
    events.sort_by_key(|event| (event.0, event.1));
    Direction {
        sender: sender.into(),
        panel: Panel { title: format!("What {sender} sent: {segments} segments"), marks: record(events) },
    }
}

enum Event {
    Syn,
    Data(u64),
    Again(u64, u64),
    Fin(u64),
    Ack { una: u64, block: Option<(u64, u64)>, window: u64 },
}

fn record(events: Vec<(u64, u64, Event)>) -> Vec<recoup_draw::sequence::Mark> {
    let mut recorder = MarkRecorder::default();
    for (frame, (us, _, event)) in events.into_iter().enumerate() {
        let at = Instant::from_nanos(us * 1000);
        recorder.set_frame(frame as u64 * 3 + 1);
        let segment = |start| Span::at(Offset(start), MSS);
        match event {
            Event::Syn => recorder.control_sent(at, Control::Syn, Offset::SYN),
            Event::Fin(offset) => recorder.control_sent(at, Control::Fin, Offset(offset)),
            Event::Data(start) => recorder.data_sent(at, segment(start)),
            Event::Again(start, luck) => {
                let (necessity, reason) = match luck {
                    0 => (Necessity::Spurious, "the receiver reported a duplicate (DSACK)"),
                    1 => (Necessity::Unknowable, "the capture holds no ACK of it"),
                    _ => (Necessity::Needed, "the receiver reported no duplicate"),
                };
                let trigger = if luck > 7 { "rto" } else { "rack" };
                recorder.retransmission_explained(at, segment(start), trigger.into(), necessity, reason);
            }
            Event::Ack { una, block, window } => {
                let ack = AckArrival { una: Offset(una), may_be_duplicate: true, window: Some(Offset(una + window)) };
                let block = block.map(|(a, b)| Span::new(Offset(a), Offset(b.max(a))));
                recorder.ack_arrived(at, ack, block);
            }
        }
    }
    recorder.into_marks()
}
