//! A summary as text tables.

use super::columns::{ms, trigger_name, trigger_row, triggers};
use super::findings::Analyzed;
use super::summary::Summary;
use super::summary_columns::{left_out, other_traffic};
use super::tables::{either, millis, seconds};
use crate::study::{Explained, Merge as _, Sender, percent};
use crate::text_table::{aligned, decimal, table, texts};
use recoup_recovery::Trigger;
use recoup_support::stats::Durations;
use recoup_table::{millis as digits, utc};
use recoup_trace::finding::{Evidence, Tally, Vantage, Verdict};
use recoup_trace::systems::systems_like;
use std::time::Duration;

/// The summary of a capture, without the tables of [`study_tables`](super::study_tables()).
pub fn summary_tables(analyzed: &Analyzed<Summary>) -> String {
    let s = &analyzed.findings;
    let mut text = capture(analyzed);
    let mut add = |heading: &str, table: Option<String>| {
        if let Some(table) = table {
            text += &format!("\n{heading}\n\n{table}\n");
        }
    };
    add(
        "Retransmissions by trigger and verdict (segments; % of the segments with payload, SYN or FIN)",
        retransmissions(s),
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
    add(
        "Connections that lost most time (lost: how much later data was acknowledged than without losses and delays)",
        slowest(s),
    );
    text
}

fn capture(analyzed: &Analyzed<Summary>) -> String {
    let (counts, s) = (&analyzed.counts, &analyzed.findings);
    let mut rows = vec![
        texts!["frames", counts.frames],
        texts!["  TCP segments", counts.packets],
        texts!["  other traffic", other_traffic(counts)],
        texts!["  unreadable, left out", left_out(counts)],
    ];
    if let Some((begun, ended)) = s.span {
        rows.push(texts!["first packet", utc(begun)]);
        rows.push(texts!["duration (s)", seconds(ended.since(begun))]);
    }
    rows.push(texts!["connections", s.connections]);
    rows.push(texts!["  opened before the capture", s.openings[1]]);
    rows.push(texts!["payload (bytes)", s.bytes]);
    for (vantage, bytes) in Vantage::ALL.into_iter().zip(s.vantages.bytes).filter(|(_, bytes)| *bytes > 0) {
        let name = match vantage {
            Vantage::Sender => "  captured at the sender (%)",
            Vantage::Between => "  captured between the hosts (%)",
            Vantage::Receiver => "  captured at the receiver (%)",
            Vantage::Unknown => "  capture point unknown (%)",
        };
        rows.push(texts![name, share(bytes, s.vantages.bytes.iter().sum())]);
    }
    rows.push(texts!["  sent but not captured (bytes)", s.missing]);
    rows.push(texts!["segments with payload, SYN or FIN", s.segments]);
    rows.push(texts!["duplicated packets", s.duplicates]);
    rows.push(texts!["keep-alive and window probes", s.probes]);
    if let Some(copies) = &counts.copies {
        rows.push(texts!["copies sent by recoup guard", copies.captured]);
        rows.push(texts!["  of its log, not in the capture", copies.not_captured()]);
    }
    table(&["capture", ""], 1, rows).unwrap_or_default() + "\n"
}

/// A heading, and one for each verdict.
fn by_verdict(heading: &'static str) -> Vec<&'static str> {
    [heading].into_iter().chain(Verdict::ALL.map(Verdict::name)).collect()
}

/// Retransmissions of data, SYN and FIN by trigger and verdict, and the totals.
fn retransmissions(s: &Summary) -> Option<String> {
    let mut rows = Vec::new();
    let mut add = |name: String, by_verdict: &dyn Fn(Verdict) -> u64| {
        let of = Verdict::ALL.map(by_verdict);
        let all: u64 = of.iter().sum();
        rows.push([texts![name], of.map(|n| n.to_string()).into(), texts![all, share(all, s.segments)]].concat());
    };
    let mut everything = Tally::default();
    for (name, tally) in [("data", &s.data), ("SYN, SYN-ACK", &s.syn), ("FIN without data", &s.fin)] {
        add(name.into(), &|verdict| tally.of_verdict(verdict));
        for trigger in triggers() {
            // The triggers of data have rows even if their counts are 0.
            let is_of_data = name == "data" && !matches!(trigger, Some(Trigger::Syn | Trigger::SynAck));
            if is_of_data || tally.of_trigger(trigger) > 0 {
                add(format!("  {}", trigger_name(trigger)), &|verdict| tally.count(trigger, verdict));
            }
        }
        everything.merge(tally);
    }
    add("total".into(), &|verdict| everything.of_verdict(verdict));
    table(&[by_verdict("retransmissions"), vec!["total", "%"]].concat(), 1, rows)
}

fn evidence(s: &Summary) -> Option<String> {
    let rows = Evidence::ALL.into_iter().zip(s.evidence).filter(|(_, of)| of.iter().any(|count| *count > 0));
    let rows = rows.map(|(evidence, of)| [texts![evidence.name()], of.map(|n| n.to_string()).into()].concat());
    table(&by_verdict("evidence"), 1, rows)
}

fn loss_times(s: &Summary) -> Option<String> {
    let rows = triggers().filter_map(|trigger| {
        let times = &s.loss_times[trigger_row(trigger)];
        let [detection, recovery] = [&times.detection, &times.recovery].map(count_and_quantiles);
        (times.detection.count() + times.recovery.count() > 0)
            .then(|| [texts![trigger_name(trigger)], detection, recovery].concat())
    });
    let header =
        ["trigger", "detection\ncount", "\np50", "\np90", "\np99", "recovery\ncount", "\np50", "\np90", "\np99"];
    table(&header, 1, rows)
}

/// The count, the median, the 90th and the 99th percentile.
fn count_and_quantiles(times: &Durations) -> Vec<String> {
    let of = times.summary();
    texts![times.count(), digits(of.map(|s| s.p50)), digits(of.map(|s| s.p90)), digits(of.map(|s| s.p99))]
}

/// Of more than two profiles the table names the best; JSON names all.
fn senders(s: &Summary) -> Option<String> {
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
    let rows = rows.into_iter().map(|([name, systems], all)| {
        let share = share(all.explained, all.of);
        texts![name, systems, all.senders, all.retransmissions, all.of, all.explained, share]
    });
    table(&["profile", "as in", "senders", "retrans-\nmissions", "replayed", "explained", "%"], 2, rows)
}

/// The systems that behave like one of these profiles.
fn systems(names: &str) -> String {
    let mut all: Vec<&str> = names.split('|').filter_map(systems_like).collect();
    all.dedup();
    either(&all.join("|")).replace(" or Linux ", " or ")
}

fn rtts(s: &Summary) -> Option<String> {
    let rows =
        [("handshakes", &s.handshake_rtt), ("senders' medians", &s.rtt)].into_iter().filter_map(|(name, times)| {
            let of = times.summary()?;
            let values = [of.min, of.p50, of.p90, of.p99, of.max, of.mean].map(|value| digits(Some(value)));
            Some([texts![name, times.count()], values.into()].concat())
        });
    table(&["", "count", "min", "p50", "p90", "p99", "max", "mean"], 1, rows)
}

fn slowest(s: &Summary) -> Option<String> {
    let times = |lost: Duration, of: Duration| {
        let part = match of.is_zero() {
            true => "-".into(),
            false => format!("{:.1}", 100.0 * ms(lost) / ms(of)),
        };
        texts![millis(Some(lost)), millis(Some(of)), part]
    };
    let rows = s.slowest.iter().map(|slow| {
        let name = match slow.tunnel {
            None => slow.endpoints.to_string(),
            Some(tunnel) => format!("{} ({tunnel})", slow.endpoints),
        };
        let all = texts![slow.retransmissions, slow.spurious, name];
        [texts![slow.connection], times(slow.lost, slow.duration), all].concat()
    });
    let total = (!s.slowest.is_empty()).then(|| {
        let all = format!("lost time: {} of {} connections", s.connections_that_lost_time, s.connections);
        [texts!["total"], times(s.lost, s.duration), texts!["", "", all]].concat()
    });
    let header =
        ["connection", "lost\n(ms)", "duration\n(ms)", "lost\n(%)", "retrans-\nmissions", "spurious", "endpoints"];
    aligned(&header, &[0, 1, 2, 3, 4, 5], rows.chain(total))
}

/// `part` in percent of `whole`; `-` if `whole` is 0.
fn share(part: u64, whole: u64) -> String {
    decimal(percent(part, whole))
}
