//! The answer as text, and the plan.

use super::networks::is_wide;
use super::rules::{FEWEST, FEWEST_CONNECTIONS, FEWEST_DATA, Suggestion, Suggestions, Unknown, Usual};
use super::samples::PathFacts;
use super::{Answer, Prediction};
use crate::plan::{Timer, to_toml};
use recoup_captures::whatif::Changes;
use recoup_captures::wording::{capture_name, count, duration, grouped, in_ms, list, millis};
use recoup_kernel::Network;
use recoup_support::quantity::format_duration;
use recoup_support::rounded::decimals;
use recoup_table::table_of_texts;
use recoup_trace::finding::RttQuantiles;
use std::path::Path;
use std::time::Duration;

/// Networks that a table lists. The plan and the document have all.
const MOST_LISTED: usize = 40;

/// The answer: in a sentence, in tables, and how to use it. `plan`: the file that was written.
pub fn answer(answer: &Answer, plan: Option<&Path>) -> String {
    let captures: Vec<String> = answer.captures.iter().map(|name| capture_name(name).to_string()).collect();
    let head = format!(
        "{}: {}, {} captured at this host from their beginning, {} with a known round-trip time.",
        list(&captures),
        count(answer.connections, "connection"),
        grouped(answer.facts.connections),
        count(answer.facts.handshake_rtts().len() as u64, "handshake"),
    );
    if answer.advice.is_empty() {
        return format!("{head}\n\nNo timer is suggested: {}.\n", why_none(&answer.facts));
    }
    let mut parts = vec![head, basis_table(answer), effect_table(answer)];
    parts.extend(left_out(answer));
    parts.push(foresight(answer));
    parts.extend(answer.predictions.iter().filter_map(|one| prediction_table(one, answer.predictions.len() > 1)));
    parts.push(not_predicted(answer));
    parts.push(use_of(plan));
    parts.join("\n\n") + "\n"
}

/// Why the capture suggests nothing, in one line.
fn why_none(facts: &PathFacts) -> String {
    if facts.connections == 0 {
        return "no connection was captured at one of its ends from its beginning".into();
    }
    let all = Suggestions::of(facts);
    let of = |what: &str, suggestion| match suggestion {
        Suggestion::Unknown(Unknown::Handshakes) => {
            format!("{what}: no network has {FEWEST} handshakes with a known round-trip time")
        }
        Suggestion::Unknown(Unknown::Data) => {
            format!("{what}: no network has {FEWEST_DATA} round-trip times of data of {FEWEST_CONNECTIONS} connections")
        }
        Suggestion::Unknown(Unknown::Waiters) => format!("{what}: no peer waited for it with a small segment"),
        Suggestion::Usual(Usual::TooEarly) => format!("{what}: the kernel's own was too short already"),
        Suggestion::Usual(Usual::Needed) => format!("{what}: the paths need the kernel's own"),
        Suggestion::Lower(_) => format!("{what}: the networks are too few, or say nothing of the others"),
    };
    let all = [
        of("SYN", all.syn),
        of("SYN-ACK", all.syn_ack),
        of("least RTO", all.least_rto),
        of("delay of ACKs", all.most_ack_delay),
    ];
    all.join("; ")
}

/// The networks, the smallest last.
fn listed(answer: &Answer) -> impl Iterator<Item = &super::NetworkAdvice> {
    answer.advice.iter().take(MOST_LISTED)
}

/// What the timers rest on, and the timers.
fn basis_table(answer: &Answer) -> String {
    let header = [
        "network",
        "connections",
        "handshakes",
        "RTT: median",
        "p99",
        "largest (ms)",
        "SYN: 1 s →",
        "SYN-ACK: 1 s →",
        "least RTO: 200 ms →",
        "ACK delay: 200 ms →",
    ];
    let rows = listed(answer).map(|one| {
        let rtts = one.facts.handshake_rtts();
        let rtt = |share: f64| quantile(&rtts, share).map_or("-".into(), |rtt| decimals(in_ms(rtt), 1));
        let mut row = vec![
            one.network.to_string(),
            grouped(one.facts.connections),
            grouped(rtts.len() as u64),
            rtt(0.5),
            rtt(0.99),
            rtt(1.0),
        ];
        row.extend(Timer::ALL.map(|timer| timer.of(&one.timers).map_or("-".into(), spaced)));
        row
    });
    table_of_texts(&header, 1, rows)
}

/// As `120 ms`.
fn spaced(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

/// The smallest value that at least this share does not exceed. The values ascend.
pub fn quantile(ascending: &[Duration], share: f64) -> Option<Duration> {
    let rank = (share * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).copied()
}

/// What the timers would have changed in the capture, without reruns.
fn effect_table(answer: &Answer) -> String {
    let header = [
        "network",
        "connections that get its timers",
        "time lost today",
        "handshakes that waited",
        "waited",
        "would have waited",
        "needless SYNs and SYN-ACKs",
    ];
    let rows = listed(answer).map(|one| {
        let effect = answer.effects.get(&one.network).copied().unwrap_or_default();
        vec![
            one.network.to_string(),
            grouped(effect.connections),
            duration(effect.lost),
            grouped(effect.waiters),
            duration(effect.waited),
            duration(effect.would_wait),
            format!("{} of {}", grouped(effect.needless), grouped(effect.handshakes)),
        ]
    });
    table_of_texts(&header, 1, rows)
}

fn left_out(answer: &Answer) -> Option<String> {
    let more = answer.advice.len().checked_sub(MOST_LISTED).filter(|more| *more > 0)?;
    Some(format!("{} more; --plan and --json have all.", count(more as u64, "network")))
}

/// How suggestions fare with connections that they do not rest on.
fn foresight(answer: &Answer) -> String {
    let foresight = answer.foresight;
    match foresight.handshakes {
        0 => "The earlier half of the connections alone suggests no SYN timer for the later half.".into(),
        handshakes => format!(
            "Timers that the earlier half of the connections suggests would have sent {} needlessly in {} of the later half.",
            count(foresight.needless, "SYN or SYN-ACK").replace("SYN or SYN-ACKs", "SYNs or SYN-ACKs"),
            count(handshakes, "handshake"),
        ),
    }
}

/// What reruns predict for a capture.
fn prediction_table(prediction: &Prediction, is_one_of_several: bool) -> Option<String> {
    let networks = prediction.networks.as_ref()?;
    let header = [
        "predicted by reruns",
        "run again",
        "mean change (ms)",
        "95 % interval (ms)",
        "another run (ms)",
        "with a loss",
        "their mean change (ms)",
        "sum (s)",
        "spurious",
    ];
    let interval = |range: Option<(f64, f64)>| {
        range.map_or("-".into(), |(low, high)| format!("{} to {}", decimals(low, 1), decimals(high, 1)))
    };
    let mean = |changes: &Changes| changes.mean_change_ms.map_or("-".into(), |mean| decimals(mean, 1));
    let rows =
        networks.iter().filter(|(_, [all, _])| all.connections > 0).take(MOST_LISTED).map(|(network, [all, lossy])| {
            vec![
                network.to_string(),
                grouped(all.connections),
                mean(all),
                interval(all.paired_interval_ms),
                interval(all.interval_ms),
                grouped(lossy.connections),
                mean(lossy),
                decimals(all.sum_change_ms / 1e3, 1),
                format!("{} {:+.1}", all.spurious, all.extra_spurious),
            ]
        });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let capture = if is_one_of_several { format!("{}:\n", capture_name(&prediction.capture)) } else { String::new() };
    Some(capture + &table_of_texts(&header, 1, rows))
}

/// What the prediction leaves out.
fn not_predicted(answer: &Answer) -> String {
    let mut parts = Vec::new();
    let [rerun, others] = answer.predictions.iter().fold([0, 0], |[a, b], one| [a + one.rerun[0], b + one.rerun[1]]);
    if answer.predictions.iter().any(|one| one.networks.is_none()) {
        parts.push("Standard input is read once, so that its connections were not run again: give a file.".to_owned());
    }
    if rerun + others > 0 {
        parts.push(format!(
            "Reruns replace the sender of most data, so that they need captures at it: {} run again, {} not (`recoup whatif` says why).",
            grouped(rerun),
            grouped(others)
        ));
    }
    parts.push(
        "\"Would have waited\" counts all handshakes, and assumes that each retransmission meets the fate that it had."
            .into(),
    );
    let nagle: Duration = answer.effects.values().map(|effect| effect.nagle).sum();
    if !nagle.is_zero() {
        parts.push(format!(
            "A shorter delay of this host's ACKs saves at most the {} that its peers lost by it; reruns do not show it.",
            duration(nagle)
        ));
    }
    parts.join(" ")
}

/// How to use the plan.
fn use_of(plan: Option<&Path>) -> String {
    let file = plan.map_or("plan.toml".into(), |plan| plan.display().to_string());
    let written = match plan {
        Some(_) => String::new(),
        None => "Run this command again with --plan plan.toml to write the plan. ".into(),
    };
    format!(
        "{written}Then: recoup guard timers --plan {file} --cgroup DIR shows what it would set, and --act sets it. A wide network has \
         hosts that the capture does not show; delete it from the plan if they may be farther away: RFC 8961 §4 asks for 1 s where \
         nothing is known of a path. Since Linux 6.5, the first 5 retransmissions of a SYN keep the first timeout: `sysctl -w \
         net.ipv4.tcp_syn_linear_timeouts=0` doubles it each time, as RFC 8961 §4 (4) asks."
    )
}

/// The plan, with what it rests on.
pub fn plan(answer: &Answer) -> String {
    let captures: Vec<String> = answer.captures.iter().map(|name| capture_name(name).to_string()).collect();
    let head = format!(
        "Timers of new connections by the network of the other host, suggested by\n`recoup guard suggest` from {}.\n\n\
         Of several networks that an address is in, the smallest counts, also where it has no timer.\n\
         syn, syn-ack: the first timeout (the kernel's own is 1s); least-rto, most-ack-delay: 200ms.\n\
         A timer that is not named is the kernel's own. Change or delete what you know better.",
        list(&captures)
    );
    let about = |network: &Network| {
        let one = answer.advice.iter().find(|one| one.network == *network);
        let wide = match is_wide(network) {
            true => "\nAlso for hosts that the capture does not show: delete it if they may be farther away.",
            false => "",
        };
        one.map_or_else(String::new, |one| basis(&one.facts)) + wide
    };
    match answer.plan.is_empty() {
        true => to_toml(&answer.plan, &format!("{head}\n\nNothing is suggested: {}.", why_none(&answer.facts)), about),
        false => to_toml(&answer.plan, &head, about),
    }
}

/// What the timers of a network rest on.
fn basis(facts: &PathFacts) -> String {
    let rtts = facts.handshake_rtts();
    let mut lines = vec![count(facts.connections, "connection")];
    if let (Some(median), Some(largest)) = (quantile(&rtts, 0.5), rtts.last()) {
        let (median, largest) = (millis(in_ms(median)), millis(in_ms(*largest)));
        lines.push(format!(
            "{} with RTTs up to {largest}, half of them up to {median}",
            count(rtts.len() as u64, "handshake")
        ));
    }
    let samples: u64 = facts.data.iter().map(|rtt: &RttQuantiles| rtt.samples).sum();
    if samples > 0 {
        lines.push(format!("{} of data", count(samples, "round trip")));
    }
    if !facts.nagle.is_zero() {
        let time = format_duration(Duration::from_millis(facts.nagle.as_millis() as u64));
        lines.push(format!("{} waited {time} for delayed ACKs", count(facts.waiters, "peer")));
    }
    lines.join("; ")
}
