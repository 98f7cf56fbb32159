//! The 2007 loss detection study's tables for a capture, for reading; its figures as quantiles.

use super::tables::{number, right};
use comfy_table::{Cell, ContentArrangement, Table};
use recoup_table::plain_table;
use recoup_trace::study::{
    Cdf, Classification, Connections, FalsePositives, Parameters, Portion, Report, SenderReport,
    Split,
};

/// Columns of a terminal that sentences are broken for.
const WIDTH: u16 = 100;

/// All of them, after a blank line; where nothing was sent again, that.
pub fn study_tables(report: &Report) -> String {
    if report.all.senders == 0 {
        let line = "\nThe 2007 study of loss detection: nothing was sent again, so that there are no tables\n";
        return line.into();
    }
    let senders = || report.senders.iter().chain([&report.all]);
    let mut text = String::from(
        "\nThe 2007 study of loss detection for this capture: FR/R is fast and early, RTO is rto and slow_start\n",
    );
    for (heading, table) in [
        (
            "Table I, profiles found (times in ms)",
            parameters(&report.parameters),
        ),
        ("Table II, the capture", capture(&report.capture)),
        ("Table III, connections", connections(&report.connections)),
        (
            "Table III, senders of explained connections that lost something",
            profiles(&report.connections),
        ),
        (
            "Table IV, retransmissions in segments; SYN, SYN-ACK and unknown triggers with any verdict",
            Some(classification(senders())),
        ),
        (
            "Figure 1, payload of a connection (bytes)",
            quantiles(&report.bytes),
        ),
        ("Figure 2, detection (RTTs)", detection(senders())),
        (
            "Figure 3, best-case reduction of a connection's duration (%)",
            reduction(senders()),
        ),
        (
            "What the study says of senders, and all those here; retransmissions: by RTO and FR/R alone,\n\
             not TLP, SYN, SYN-ACK and those of unknown triggers; spurious ones: of those with a verdict",
            claims(&report.all),
        ),
    ] {
        if let Some(table) = table {
            text += &format!("\n{heading}\n\n{table}\n");
        }
    }
    text + &false_positives(&report.false_positives)
}

fn parameters(profiles: &[Parameters]) -> Option<Table> {
    let mut table = plain_table();
    table.set_header([
        "profile",
        "clock",
        "RTO, first",
        "RTO, least",
        "a",
        "b",
        "m",
        "k",
        "D",
        "RTT of a",
    ]);
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

fn capture(c: &recoup_trace::study::Capture) -> Option<Table> {
    let mut table = plain_table();
    table.set_header([
        "duration (s)",
        "load (Mbit/s)",
        "connections",
        "bytes",
        "packets",
    ]);
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
    table.set_header(["", "connections", "%", "bytes", "%", "packets", "%"]);
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
    add("  explained: profiles known", &c.explained);
    add("undecided: lossy or not", &c.undecided);
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
        "all three\nunknowable",
        "SYN",
        "SYN-\nACK",
        "un-\nknown",
    ]);
    for sender in senders {
        let c: &Classification = &sender.retransmissions;
        let three = [&c.rto, &c.fast_retransmit, &c.tlp];
        let split = three
            .into_iter()
            .flat_map(|split| [split.needed, split.spurious]);
        let unknowable: u64 = three.into_iter().map(|split| split.unknowable).sum();
        let others = [&c.syn, &c.syn_ack, &c.unknown].map(Split::total);
        let numbers = [c.total]
            .into_iter()
            .chain(split)
            .chain([unknowable])
            .chain(others);
        table.add_row(
            [Cell::new(&sender.sender)]
                .into_iter()
                .chain(numbers.map(number)),
        );
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
    table.set_header([
        "sender", "FR/R", "p50", "p90", "p99", "RTO", "p50", "p90", "p99",
    ]);
    for sender in senders {
        let both = [&sender.detection.fast_retransmit, &sender.detection.rto];
        let cells = both
            .into_iter()
            .flat_map(|of| [number(of.count)].into_iter().chain(percentiles(of)));
        table.add_row([Cell::new(&sender.sender)].into_iter().chain(cells));
    }
    Some(table)
}

fn reduction<'a>(senders: impl Iterator<Item = &'a SenderReport>) -> Option<Table> {
    let mut table = plain_table();
    table.set_header([
        "sender",
        "of",
        "p50",
        "p90",
        "p99",
        "in all (s)",
        "unmeasured",
    ]);
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

fn claims(all: &SenderReport) -> Option<Table> {
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH);
    table.set_header(["§", "what", "unit", "study", "here"]);
    for claim in &all.claims {
        table.add_row([
            Cell::new(claim.section),
            Cell::new(claim.what),
            Cell::new(claim.unit),
            Cell::new(claim.study),
            number(decimal(claim.here)),
        ]);
    }
    Some(table)
}

/// Footnote 6, as a sentence.
fn false_positives(f: &FalsePositives) -> String {
    let share = f
        .percent
        .map_or(String::new(), |share| format!(" ({share:.2} %)"));
    format!(
        "\nFootnote 6, false positives: on {} of {} connections without loss{share} something was sent again: {} segments\n",
        f.connections, f.loss_free, f.retransmissions
    )
}

/// Two decimals, or `-`.
fn decimal(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}
