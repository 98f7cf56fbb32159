//! A summary as text tables.

use super::columns::{ms, trigger_name, trigger_row, triggers};
use super::findings::Analyzed;
use super::summary::Summary;
use super::summary_columns::{left_out, other_traffic};
use super::tables::{either, millis, number, right, seconds};
use crate::study::Merge;
use crate::study::{Explained, Sender};
use comfy_table::{Cell, Table};
use recoup_recovery::Trigger;
use recoup_support::stats::Durations;
use recoup_table::{millis as digits, plain_table, utc};
use recoup_trace::finding::{Evidence, Tally, Vantage, Verdict};
use recoup_trace::systems::systems_like;
use std::time::Duration;

/// The summary of a capture, without the tables of [`study_tables`](super::study_tables()).
pub fn summary_tables(analyzed: &Analyzed<Summary>) -> String {
    let s = &analyzed.findings;
    let mut text = format!("{}\n", capture(analyzed));
    let mut add = |heading: &str, table: Option<Table>| {
        if let Some(table) = table {
            text += &format!("\n{heading}\n\n{table}\n");
        }
    };
    add(
        "Retransmissions by trigger and verdict (segments; % of the segments with payload, SYN or FIN)",
        Some(retransmissions(s)),
    );
    add("Evidence for the verdicts (segments)", evidence(s));
    add(
        "Detection and recovery times by trigger (ms)\n\
         detection: from the first transmission to the retransmission;\n\
         recovery: from the retransmission to the ACK of everything sent before it",
        loss_times(s),
    );
    add("Sender identification (% of the replayed retransmissions that the profile explains)", senders(s));
    add("Round-trip times (ms)", rtts(s));
    add("Connections with most time in recovery (detecting losses, real or not, and recovering from them)", slowest(s));
    text
}

fn capture(analyzed: &Analyzed<Summary>) -> Table {
    let (counts, s) = (&analyzed.counts, &analyzed.findings);
    let mut table = plain_table();
    table.set_header(["capture", ""]);
    let mut add = |name: &str, value: String| {
        table.add_row([Cell::new(name), number(value)]);
    };
    add("frames", counts.frames.to_string());
    add("  TCP segments", counts.packets.to_string());
    add("  other traffic", other_traffic(counts).to_string());
    add("  unreadable, left out", left_out(counts).to_string());
    if let Some((begun, ended)) = s.span {
        add("first packet", utc(begun));
        add("duration (s)", seconds(ended.since(begun)));
    }
    add("connections", s.connections.to_string());
    let [_, late] = s.openings;
    add("  opened before the capture", late.to_string());
    add("payload (bytes)", s.bytes.to_string());
    for vantage in Vantage::ALL {
        let share = share(s.vantages.bytes[vantage as usize], s.vantages.bytes.iter().sum());
        if let Some(share) = share.filter(|_| s.vantages.bytes[vantage as usize] > 0) {
            let name = match vantage {
                Vantage::Sender => "  captured at the sender (%)",
                Vantage::Between => "  captured between the hosts (%)",
                Vantage::Receiver => "  captured at the receiver (%)",
                Vantage::Unknown => "  capture point unknown (%)",
            };
            add(name, share);
        }
    }
    add("  sent but not captured (bytes)", s.missing.to_string());
    add("segments with payload, SYN or FIN", s.segments.to_string());
    add("duplicated packets", s.duplicates.to_string());
    add("keep-alive and window probes", s.probes.to_string());
    table
}

/// Retransmissions of data, SYN and FIN by trigger and verdict, and the totals.
fn retransmissions(s: &Summary) -> Table {
    let mut table = plain_table();
    table.set_header(["retransmissions"].into_iter().chain(Verdict::ALL.map(Verdict::name)).chain(["total", "%"]));
    let mut add = |name: &str, by_verdict: [u64; Verdict::ALL.len()]| {
        let all: u64 = by_verdict.iter().sum();
        let share = share(all, s.segments).unwrap_or_else(|| "-".into());
        let numbers = by_verdict.into_iter().chain([all]).map(number);
        let row = [Cell::new(name)].into_iter().chain(numbers);
        table.add_row(row.chain([number(share)]));
    };
    let total = |tally: &Tally| Verdict::ALL.map(|verdict| tally.of_verdict(verdict));
    let mut everything = Tally::default();
    for (name, tally) in [("data", &s.data), ("SYN, SYN-ACK", &s.syn), ("FIN without data", &s.fin)] {
        add(name, total(tally));
        for trigger in triggers() {
            // The triggers of data have rows even if their counts are 0.
            let is_of_data = name == "data" && !matches!(trigger, Some(Trigger::Syn | Trigger::SynAck));
            if is_of_data || tally.of_trigger(trigger) > 0 {
                let of = Verdict::ALL.map(|verdict| tally.count(trigger, verdict));
                add(&format!("  {}", trigger_name(trigger)), of);
            }
        }
        everything.merge(tally);
    }
    add("total", total(&everything));
    table
}

fn evidence(s: &Summary) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["evidence"].into_iter().chain(Verdict::ALL.map(Verdict::name)));
    for evidence in Evidence::ALL {
        let of = s.evidence[evidence as usize];
        if of.iter().any(|count| *count > 0) {
            table.add_row([Cell::new(evidence.name())].into_iter().chain(of.map(number)));
        }
    }
    (!table.is_empty()).then_some(table)
}

fn loss_times(s: &Summary) -> Option<Table> {
    let mut table = plain_table();
    table.set_header([
        "trigger",
        "detection\ncount",
        "\np50",
        "\np90",
        "\np99",
        "recovery\ncount",
        "\np50",
        "\np90",
        "\np99",
    ]);
    for trigger in triggers() {
        let times = &s.loss_times[trigger_row(trigger)];
        if times.detection.count() + times.recovery.count() > 0 {
            let cells = [&times.detection, &times.recovery].map(count_and_quantiles).concat();
            let name = Cell::new(trigger_name(trigger));
            table.add_row([name].into_iter().chain(cells.into_iter().map(number)));
        }
    }
    (!table.is_empty()).then_some(table)
}

/// The count, the median, the 90th and the 99th percentile.
fn count_and_quantiles(times: &Durations) -> [String; 4] {
    let summary = times.summary();
    [
        times.count().to_string(),
        digits(summary.map(|s| s.p50)),
        digits(summary.map(|s| s.p90)),
        digits(summary.map(|s| s.p99)),
    ]
}

/// Of more than two profiles the table names the best; JSON names all.
fn senders(s: &Summary) -> Option<Table> {
    let mut rows: Vec<([String; 2], Explained)> = Vec::new();
    for (sender, explained) in s.study.senders() {
        let name = match sender {
            Sender::Profile(names) | Sender::Several(names) => [either(names), systems(names)],
            Sender::None => ["no known profile".into(), String::new()],
            Sender::Nothing => ["unidentified".into(), String::new()],
        };
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.merge(explained),
            None => rows.push((name, *explained)),
        }
    }
    let mut table = plain_table();
    table.set_header(["profile", "as in", "senders", "retrans-\nmissions", "replayed", "explained", "%"]);
    for ([name, systems], all) in rows {
        table.add_row([
            Cell::new(name),
            Cell::new(systems),
            number(all.senders),
            number(all.retransmissions),
            number(all.of),
            number(all.explained),
            number(share(all.explained, all.of).unwrap_or_else(|| "-".into())),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

/// The systems that behave like one of these profiles.
fn systems(names: &str) -> String {
    let mut all: Vec<&str> = names.split('|').filter_map(systems_like).collect();
    all.dedup();
    either(&all.join("|")).replace(" or Linux ", " or ")
}

fn rtts(s: &Summary) -> Option<Table> {
    let mut table = plain_table();
    table.set_header(["", "count", "min", "p50", "p90", "p99", "max", "mean"]);
    for (name, times) in [("handshakes", &s.handshake_rtt), ("senders' medians", &s.rtt)] {
        if let Some(of) = times.summary() {
            let values = [of.min, of.p50, of.p90, of.p99, of.max, of.mean].map(|value| number(digits(Some(value))));
            let name = [Cell::new(name), number(times.count())];
            table.add_row(name.into_iter().chain(values));
        }
    }
    (!table.is_empty()).then_some(table)
}

fn slowest(s: &Summary) -> Option<Table> {
    let mut table = plain_table();
    table.set_header([
        "connection",
        "recovery\n(ms)",
        "duration\n(ms)",
        "recovery\n(%)",
        "retrans-\nmissions",
        "spurious",
        "endpoints",
    ]);
    right(&mut table, &[0, 1, 2, 3, 4, 5]);
    let part = |recovering: Duration, of: Duration| match of.is_zero() {
        true => "-".into(),
        false => format!("{:.1}", 100.0 * ms(recovering) / ms(of)),
    };
    for slow in &s.slowest {
        table.add_row([
            slow.connection.to_string(),
            millis(Some(slow.recovering)),
            millis(Some(slow.duration)),
            part(slow.recovering, slow.duration),
            slow.retransmissions.to_string(),
            slow.spurious.to_string(),
            slow.endpoints.to_string(),
        ]);
    }
    if table.is_empty() {
        return None;
    }
    table.add_row([
        "total".into(),
        millis(Some(s.recovering)),
        millis(Some(s.duration)),
        part(s.recovering, s.duration),
        String::new(),
        String::new(),
        format!("in recovery: {} of {} connections", s.recovering_connections, s.connections),
    ]);
    Some(table)
}

/// `part` in percent of `whole`; `None` if `whole` is 0.
fn share(part: u64, whole: u64) -> Option<String> {
    (whole > 0).then(|| format!("{:.2}", 100.0 * part as f64 / whole as f64))
}
