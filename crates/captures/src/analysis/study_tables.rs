//! The tables of the 2007 loss detection study for a capture, as text. Its figures become quantiles.

use crate::study::published::System;
use crate::study::{
    Capture, Cdf, Claim, Connections, FalsePositives, FlightRecovery, MOST_LOST, Parameters, Portion, Report,
    SenderReport, Shares, Split,
};
use crate::text_table::{aligned, decimal, table, texts, wrapped};
use recoup_units::named;

/// The width of the table of claims, in characters.
const WIDTH: u16 = 118;

named! {
    /// A table of the study for a capture, named by its heading.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StudyTable {
        /// Table I: the parameters of the profiles found.
        Parameters = "Table I: parameters of the profiles found (times in ms)",
        /// Table II: the capture.
        Capture = "Table II: the capture",
        /// Table III: connections by loss.
        Connections = "Table III: connections by loss (% of all connections, bytes and packets)",
        /// Table III: lossy senders by profile.
        Profiles = "Table III: lossy senders of explained connections, by profile (% of these senders)",
        /// Table IV: retransmissions by trigger and verdict.
        Classification = "Table IV: retransmissions by trigger and verdict (segments)",
        /// Table IV in %, beside the study's own.
        Shares = "Table IV in %: of the retransmissions by RTO and FR/R whose verdict is known",
        /// Figure 1: payload per connection.
        Bytes = "Figure 1: payload per connection (bytes)",
        /// Figure 2: detection times.
        Detection = "Figure 2: detection time (RTTs)",
        /// §V-A2b: recoveries by segments lost in the flight.
        Recoveries = "Recoveries by segments lost in the flight (recoveries; RTTs)",
        /// Figure 3: best-case reduction.
        Reduction = "Figure 3: reduction of the connection duration by ideal loss detection (% per sender)",
        /// §V-A: statements.
        Claims = "Statements of the study beside the same quantities of this capture. Only RTO and FR/R count as\n\
                 retransmissions. Shares of spurious retransmissions leave out unknowable ones. The study's figure\n\
                 is that of the sender's system, or else the range of its four systems.",
    }
}

type Rows<'a> = &'a [&'a SenderReport];

impl StudyTable {
    /// The table below its heading, after a blank line; empty if it has no rows.
    pub fn of(self, report: &Report) -> String {
        let senders: Vec<&SenderReport> = report.senders.iter().chain([&report.all]).collect();
        let table = match self {
            Self::Parameters => parameters(&report.parameters),
            Self::Capture => capture(&report.capture),
            Self::Connections => connections(&report.connections),
            Self::Profiles => profiles(&report.connections),
            Self::Classification => classification(&senders),
            Self::Shares => shares(&senders),
            Self::Bytes => quantiles(&report.bytes),
            Self::Detection => detection(&senders),
            Self::Recoveries => recoveries(&senders),
            Self::Reduction => reduction(&senders),
            Self::Claims => Some(claims(report)),
        };
        let notes = match self {
            Self::Claims => notes(&report.all.claims),
            _ => String::new(),
        };
        table.map_or(String::new(), |table| format!("\n{}\n\n{table}\n{notes}", self.name()))
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

fn parameters(profiles: &[Parameters]) -> Option<String> {
    let header = ["profile", "clock", "initial RTO", "minimum RTO", "a", "b", "m", "k", "D", "RTT sampled per"];
    let rows = profiles.iter().map(|p| {
        let sampling = p.sampling.replace('_', " ");
        texts![p.profile, p.granularity_ms, p.initial_rto_ms, p.min_rto_ms, p.a, p.b, p.m, p.k, p.dupthresh, sampling]
    });
    aligned(&header, &[1, 2, 3, 4, 5, 6, 7, 8], rows)
}

fn capture(c: &Capture) -> Option<String> {
    let header = ["duration (s)", "load (Mbit/s)", "connections", "payload (bytes)", "packets"];
    let duration = format!("{:.6}", c.duration_s);
    table(&header, 0, [texts![duration, decimal(c.load_mbit_s), c.connections, c.bytes, c.packets]])
}

fn connections(c: &Connections) -> Option<String> {
    let row = |name: &str, some: &Portion| {
        let percent = [some.connections_percent, some.bytes_percent, some.packets_percent].map(decimal);
        texts![name, some.connections, percent[0], some.bytes, percent[1], some.packets, percent[2]]
    };
    table(
        &["", "connections", "%", "payload (bytes)", "%", "packets", "%"],
        1,
        [
            row("lossy", &c.lossy),
            row("  explained: all profiles known", &c.explained),
            row("undecided: verdicts unknowable", &c.undecided),
        ],
    )
}

fn profiles(c: &Connections) -> Option<String> {
    let rows = c.profiles.iter().map(|of| texts![of.profile, of.senders, decimal(Some(of.percent))]);
    table(&["profile", "senders", "%"], 1, rows)
}

fn classification(senders: Rows<'_>) -> Option<String> {
    let header = [
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
    ];
    let rows = senders.iter().map(|sender| {
        let c = &sender.retransmissions;
        let three = [&c.rto, &c.fast_retransmit, &c.tlp];
        let mut row = texts![sender.sender, c.total];
        row.extend(three.iter().flat_map(|split| texts![split.needed, split.spurious]));
        row.push(three.iter().map(|split| split.unknowable).sum::<u64>().to_string());
        row.extend([&c.path_mtu, &c.syn, &c.syn_ack, &c.unknown].map(|split| Split::total(split).to_string()));
        row
    });
    table(&header, 1, rows)
}

/// The senders, and below them the study's own.
fn shares(senders: Rows<'_>) -> Option<String> {
    let row = |name: String, of: Shares| {
        let percent = [of.rto_needed, of.rto_spurious, of.fast_retransmit_needed, of.fast_retransmit_spurious];
        let percent = percent.map(|share| share.map_or("-".into(), |s| format!("{s:.1}")));
        [texts![name, of.retransmissions], percent.into()].concat()
    };
    let here = senders.iter().map(|sender| row(sender.sender.clone(), sender.retransmissions_percent));
    let there = System::ALL.iter().map(|system| row(format!("the study's {}", system.name), system.shares()));
    let header = ["sender", "segments\n= 100 %", "RTO\nneeded", "RTO\nspurious", "FR/R\nneeded", "FR/R\nspurious"];
    table(&header, 1, here.chain(there))
}

fn quantiles(of: &Cdf) -> Option<String> {
    let values = [of.min, of.p10, of.p50, of.p90, of.p99, of.max];
    let values = values.map(|value| value.map_or("-".into(), |v| format!("{v:.0}")));
    let row = (of.count > 0).then(|| [texts![of.count], values.into()].concat());
    table(&["connections", "min", "p10", "p50", "p90", "p99", "max"], 0, row)
}

fn detection(senders: Rows<'_>) -> Option<String> {
    let rows = senders.iter().map(|sender| {
        let both = [&sender.detection.fast_retransmit, &sender.detection.rto];
        let [fast, rto] = both.map(|of| [texts![of.count], percentiles(of)].concat());
        [texts![sender.sender], fast, rto].concat()
    });
    let header = ["sender", "FR/R\ncount", "\np50", "\np90", "\np99", "RTO\ncount", "\np50", "\np90", "\np99"];
    table(&header, 1, rows)
}

fn reduction(senders: Rows<'_>) -> Option<String> {
    let rows = senders.iter().map(|sender| {
        let r = &sender.reduction;
        let all = texts![format!("{:.3}", r.seconds), r.unmeasured];
        [texts![sender.sender, r.percent.count], percentiles(&r.percent), all].concat()
    });
    table(&["sender", "count", "p50", "p90", "p99", "total (s)", "detections\nunmeasured"], 1, rows)
}

fn percentiles(of: &Cdf) -> Vec<String> {
    [of.p50, of.p90, of.p99].map(decimal).into()
}

/// How long recoveries take: all with SACK and all without, then all that FR/R began and all that RTO began.
fn recoveries(senders: Rows<'_>) -> Option<String> {
    let header = [
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
    ];
    let row = |sender: &SenderReport, lost: usize| {
        let of = |detected_by: &str, sack: Option<bool>| {
            let matches =
                |line: &&FlightRecovery| line.lost == lost && line.detected_by == detected_by && sack == line.sack;
            sender.recoveries.iter().find(matches)
        };
        let cells = |line: Option<&FlightRecovery>| {
            let count = line.map_or(0, |line| line.recoveries);
            texts![count, decimal(line.and_then(|l| l.p50)), decimal(line.and_then(|l| l.mean))]
        };
        of("any", None)?;
        let more = if lost == MOST_LOST { " or more" } else { "" };
        let mut row = texts![sender.sender, format!("{lost}{more}")];
        row.extend([true, false].into_iter().flat_map(|sack| cells(of("any", Some(sack)))));
        row.extend(["fast_retransmit", "rto"].into_iter().flat_map(|by| cells(of(by, None)).into_iter().take(2)));
        Some(row)
    };
    table(&header, 1, senders.iter().flat_map(|sender| (1..=MOST_LOST).filter_map(|lost| row(sender, lost))))
}

/// The statements for each profile, and for all senders if there are others.
fn claims(report: &Report) -> String {
    let is_profile = |sender: &&SenderReport| report.parameters.iter().any(|p| p.profile == sender.sender);
    let profiles = report.senders.iter().filter(is_profile);
    let all = (report.senders.len() > 1 || report.parameters.is_empty()).then_some(&report.all);
    let senders: Vec<&SenderReport> = profiles.chain(all).collect();
    let row = |n: usize, sender: &SenderReport, i: usize| {
        let claim = &sender.claims[i];
        let once = [claim.section, claim.what, claim.unit].map(|text| if n == 0 { text } else { "" });
        let [section, what, unit] = once;
        texts![section, what, unit, sender.sender, claim.study.unwrap_or("-"), decimal(claim.here)]
    };
    let rows =
        (0..report.all.claims.len()).flat_map(|i| senders.iter().enumerate().map(move |(n, sender)| row(n, sender, i)));
    wrapped(&["§", "quantity", "unit", "sender", "study", "here"], WIDTH, rows)
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
