//! The tables of the 2007 loss detection study for a capture, as text. Its figures become quantiles.

use super::tables::{number, right};
use crate::study::published::System;
use crate::study::{
    Cdf, Claim, Classification, Connections, FalsePositives, FlightRecovery, MOST_LOST, Parameters, Portion, Report,
    SenderReport, Shares, Split,
};
use comfy_table::{Cell, ContentArrangement, Table};
use recoup_table::plain_table;

/// The width of the table of claims, in characters.
const WIDTH: u16 = 118;

/// A table of the study for a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyTable {
    /// Table I: the parameters of the profiles found.
    Parameters,
    /// Table II: the capture.
    Capture,
    /// Table III: connections by loss.
    Connections,
    /// Table III: lossy senders by profile.
    Profiles,
    /// Table IV: retransmissions by trigger and verdict.
    Classification,
    /// Table IV in %, beside the study's own.
    Shares,
    /// Figure 1: payload per connection.
    Bytes,
    /// Figure 2: detection times.
    Detection,
    /// §V-A2b: recoveries by segments lost in the flight.
    Recoveries,
    /// Figure 3: best-case reduction.
    Reduction,
    /// §V-A: statements.
    Claims,
}

impl StudyTable {
    /// All tables in the order of the study.
    pub const ALL: [Self; 11] = [
        Self::Parameters,
        Self::Capture,
        Self::Connections,
        Self::Profiles,
        Self::Classification,
        Self::Shares,
        Self::Bytes,
        Self::Detection,
        Self::Recoveries,
        Self::Reduction,
        Self::Claims,
    ];

    const fn heading(self) -> &'static str {
        match self {
            Self::Parameters => "Table I: parameters of the profiles found (times in ms)",
            Self::Capture => "Table II: the capture",
            Self::Connections => "Table III: connections by loss (% of all connections, bytes and packets)",
            Self::Profiles => "Table III: lossy senders of explained connections, by profile (% of these senders)",
            Self::Classification => "Table IV: retransmissions by trigger and verdict (segments)",
            Self::Shares => "Table IV in %: of the retransmissions by RTO and FR/R whose verdict is known",
            Self::Bytes => "Figure 1: payload per connection (bytes)",
            Self::Detection => "Figure 2: detection time (RTTs)",
            Self::Recoveries => "Recoveries by segments lost in the flight (recoveries; RTTs)",
            Self::Reduction => "Figure 3: reduction of the connection duration by ideal loss detection (% per sender)",
            Self::Claims => {
                "Statements of the study beside the same quantities of this capture. Only RTO and FR/R count as\n\
                 retransmissions. Shares of spurious retransmissions leave out unknowable ones. The study's figure\n\
                 is that of the sender's system, or else the range of its four systems."
            }
        }
    }

    /// The table below its heading, after a blank line; empty if it has no rows.
    pub fn of(self, report: &Report) -> String {
        let senders = || report.senders.iter().chain([&report.all]);
        let table = match self {
            Self::Parameters => parameters(&report.parameters),
            Self::Capture => capture(&report.capture),
            Self::Connections => connections(&report.connections),
            Self::Profiles => profiles(&report.connections),
            Self::Classification => Some(classification(senders())),
            Self::Shares => Some(shares(senders())),
            Self::Bytes => quantiles(&report.bytes),
            Self::Detection => detection(senders()),
            Self::Recoveries => recoveries(senders()),
            Self::Reduction => reduction(senders()),
            Self::Claims => claims(report),
        };
        let notes = match self {
            Self::Claims => notes(&report.all.claims),
            _ => String::new(),
        };
        table.map_or(String::new(), |table| format!("\n{}\n\n{table}\n{notes}", self.heading()))
    }
}

/// All tables, after a blank line; one sentence if the capture has no retransmissions.
pub fn study_tables(report: &Report) -> String {
    if report.all.senders == 0 {
        let line = "\nThe 2007 study of loss detection: no tables, because the capture contains no retransmissions\n";
        return line.into();
    }
    let head = "\nThe 2007 study of loss detection, for this capture\nFR/R: triggers fast and early; RTO: triggers rto and slow_start\n";
    let tables = StudyTable::ALL.map(|table| table.of(report));
    head.to_string() + &tables.concat() + &false_positives(&report.false_positives)
}

fn parameters(profiles: &[Parameters]) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["profile", "clock", "initial RTO", "minimum RTO", "a", "b", "m", "k", "D", "RTT sampled per"]);
    right(&mut table, &[1, 2, 3, 4, 5, 6, 7, 8]);
    for p in profiles {
        table.add_row([
            p.profile.clone(),
            p.granularity_ms.to_string(),
            p.initial_rto_ms.to_string(),
            p.min_rto_ms.to_string(),
            p.a.to_string(),
            p.b.to_string(),
            p.m.to_string(),
            p.k.to_string(),
            p.dupthresh.to_string(),
            p.sampling.replace('_', " "),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

fn capture(c: &crate::study::Capture) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["duration (s)", "load (Mbit/s)", "connections", "payload (bytes)", "packets"]);
    table.add_row([
        number(format!("{:.6}", c.duration_s)),
        number(decimal(c.load_mbit_s)),
        number(c.connections),
        number(c.bytes),
        number(c.packets),
    ]);
    Some(table)
}

fn connections(c: &Connections) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["", "connections", "%", "payload (bytes)", "%", "packets", "%"]);
    let mut add = |name: &str, some: &Portion| {
        table.add_row([
            Cell::new(name),
            number(some.connections),
            number(decimal(some.connections_percent)),
            number(some.bytes),
            number(decimal(some.bytes_percent)),
            number(some.packets),
            number(decimal(some.packets_percent)),
        ]);
    };
    add("lossy", &c.lossy);
    add("  explained: all profiles known", &c.explained);
    add("undecided: verdicts unknowable", &c.undecided);
    Some(table)
}

fn profiles(c: &Connections) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["profile", "senders", "%"]);
    for of in &c.profiles {
        let share = decimal(Some(of.percent));
        table.add_row([Cell::new(&of.profile), number(of.senders), number(share)]);
    }
    (!table.is_empty()).then_some(table)
}

fn classification<'a>(senders: impl Iterator<Item = &'a SenderReport>) -> Table {
    let mut table = plain_table();
    table.set_header([
        "sender",
        "total",
        "RTO\nneeded",
        "RTO\nspurious",
        "FR/R\nneeded",
        "FR/R\nspurious",
        "TLP\nneeded",
        "TLP\nspurious",
        "un-\nknowable",
        "path\nMTU",
        "SYN",
        "SYN-\nACK",
        "unknown",
    ]);
    for sender in senders {
        let c: &Classification = &sender.retransmissions;
        let three = [&c.rto, &c.fast_retransmit, &c.tlp];
        let split = three.into_iter().flat_map(|split| [split.needed, split.spurious]);
        let unknowable: u64 = three.into_iter().map(|split| split.unknowable).sum();
        let others = [&c.path_mtu, &c.syn, &c.syn_ack, &c.unknown].map(Split::total);
        let numbers = [c.total].into_iter().chain(split).chain([unknowable]).chain(others);
        table.add_row([Cell::new(&sender.sender)].into_iter().chain(numbers.map(number)));
    }
    table
}

/// The senders, and below them the study's own.
fn shares<'a>(senders: impl Iterator<Item = &'a SenderReport>) -> Table {
    let mut table = plain_table();
    table.set_header(["sender", "segments\n= 100 %", "RTO\nneeded", "RTO\nspurious", "FR/R\nneeded", "FR/R\nspurious"]);
    let mut add = |name: String, of: Shares| {
        let percent = [of.rto_needed, of.rto_spurious, of.fast_retransmit_needed, of.fast_retransmit_spurious];
        let percent = percent.map(|share| number(share.map_or("-".into(), |s| format!("{s:.1}"))));
        let cells = [Cell::new(name), number(of.retransmissions)];
        table.add_row(cells.into_iter().chain(percent));
    };
    for sender in senders {
        add(sender.sender.clone(), sender.retransmissions_percent);
    }
    for system in &System::ALL {
        add(format!("the study's {}", system.name), system.shares());
    }
    table
}

fn quantiles(of: &Cdf) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["connections", "min", "p10", "p50", "p90", "p99", "max"]);
    let values = [of.min, of.p10, of.p50, of.p90, of.p99, of.max];
    let values = values.map(|value| number(value.map_or("-".into(), |v| format!("{v:.0}"))));
    table.add_row([number(of.count)].into_iter().chain(values));
    (of.count > 0).then_some(table)
}

fn detection<'a>(senders: impl Iterator<Item = &'a SenderReport>) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["sender", "FR/R\ncount", "\np50", "\np90", "\np99", "RTO\ncount", "\np50", "\np90", "\np99"]);
    for sender in senders {
        let both = [&sender.detection.fast_retransmit, &sender.detection.rto];
        let cells = both.into_iter().flat_map(|of| [number(of.count)].into_iter().chain(percentiles(of)));
        table.add_row([Cell::new(&sender.sender)].into_iter().chain(cells));
    }
    Some(table)
}

fn reduction<'a>(senders: impl Iterator<Item = &'a SenderReport>) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["sender", "count", "p50", "p90", "p99", "total (s)", "detections\nunmeasured"]);
    for sender in senders {
        let r = &sender.reduction;
        let name = [Cell::new(&sender.sender), number(r.percent.count)];
        let all = [number(format!("{:.3}", r.seconds)), number(r.unmeasured)];
        table.add_row(name.into_iter().chain(percentiles(&r.percent)).chain(all));
    }
    Some(table)
}

fn percentiles(of: &Cdf) -> [Cell; 3] {
    [of.p50, of.p90, of.p99].map(|value| number(decimal(value)))
}

/// How long recoveries take: all with SACK and all without, then all that FR/R began and all that RTO began.
fn recoveries<'a>(senders: impl Iterator<Item = &'a SenderReport>) -> Option<Table> {
    let mut table = plain_table();
    table.set_header([
        "sender",
        "lost",
        "with\nSACK",
        "\np50",
        "\nmean",
        "without\nSACK",
        "\np50",
        "\nmean",
        "after\nFR/R",
        "\np50",
        "after\nRTO",
        "\np50",
    ]);
    for sender in senders {
        for lost in 1..=MOST_LOST {
            let of = |detected_by: &str, sack: Option<bool>| {
                let matches =
                    |line: &&FlightRecovery| line.lost == lost && line.detected_by == detected_by && sack == line.sack;
                sender.recoveries.iter().find(matches)
            };
            let cells = |line: Option<&FlightRecovery>, mean: bool| {
                let count = line.map_or("0".into(), |line| line.recoveries.to_string());
                let times = [line.and_then(|l| l.p50), line.and_then(|l| l.mean)];
                let times = times.map(decimal).into_iter().take(1 + usize::from(mean));
                [count].into_iter().chain(times).map(number).collect::<Vec<_>>()
            };
            if of("any", None).is_none() {
                continue;
            }
            let more = if lost == MOST_LOST { " or more" } else { "" };
            let name = [Cell::new(&sender.sender), number(format!("{lost}{more}"))];
            let columns = [
                cells(of("any", Some(true)), true),
                cells(of("any", Some(false)), true),
                cells(of("fast_retransmit", None), false),
                cells(of("rto", None), false),
            ];
            table.add_row(name.into_iter().chain(columns.into_iter().flatten()));
        }
    }
    (!table.is_empty()).then_some(table)
}

/// The statements for each profile, and for all senders if there are others.
fn claims(report: &Report) -> Option<Table> {
    let is_profile = |sender: &&SenderReport| {
        let names = report.parameters.iter().map(|p| &p.profile);
        names.into_iter().any(|name| *name == sender.sender)
    };
    let profiles = report.senders.iter().filter(is_profile);
    let all = (report.senders.len() > 1 || report.parameters.is_empty()).then_some(&report.all);
    let senders: Vec<&SenderReport> = profiles.chain(all).collect();
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH);
    table.set_header(["§", "quantity", "unit", "sender", "study", "here"]);
    for i in 0..report.all.claims.len() {
        for (n, sender) in senders.iter().enumerate() {
            let claim = &sender.claims[i];
            let once = |text| if n == 0 { text } else { "" };
            table.add_row([
                Cell::new(once(claim.section)),
                Cell::new(once(claim.what)),
                Cell::new(once(claim.unit)),
                Cell::new(&sender.sender),
                Cell::new(claim.study.unwrap_or("-")),
                number(decimal(claim.here)),
            ]);
        }
    }
    Some(table)
}

/// The remarks on the study's figures, each once.
fn notes(claims: &[Claim]) -> String {
    let mut notes: Vec<&str> = claims.iter().filter_map(|claim| claim.note).collect();
    notes.dedup();
    let lines: String = notes.iter().map(|note| format!("- {note}\n")).collect();
    format!("\n{lines}")
}

/// Footnote 6, as a sentence.
fn false_positives(f: &FalsePositives) -> String {
    let share = f.percent.map_or(String::new(), |share| format!(" ({share:.2} %)"));
    format!(
        "\nFootnote 6, false positives: {} of {} connections without loss{share} have retransmissions, {} segments in total\n",
        f.connections, f.loss_free, f.retransmissions
    )
}

/// Two decimals, or `-`.
fn decimal(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}
