//! Results as text tables with one column per profile.

use super::{Entry, Report, intervals, stages, table_columns};
use crate::stage::Stage;
use recoup_recovery::undo::Proof;
use recoup_recovery::{State, Trigger};
use recoup_table::{Comparison, Keep, Line, Share};
use std::borrow::Cow;

/// Selects the rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Flow completion times, data sent, and unnecessary data.
    #[default]
    Cost,
    /// Retransmissions by kind and outcome (Tables 2, 3, 8 and 10 of the 2011 paper).
    Retransmissions,
    /// Windows and time in fast recovery (Tables 5, 6 and 7 and figure 5 of the same paper).
    Recovery,
    /// The TCP latency of responses (Tables 9 and 11 of the same paper).
    Latency,
}

/// One table per stage. If there are several stages, their comparison precedes the tables.
pub(super) fn tables(report: &Report, view: View, keep: Keep) -> String {
    let mut text = String::new();
    let stages = Stage::ALL.map(|stage| {
        let of_stage = report.results.iter().filter(|e| e.stage() == stage);
        (stage, of_stage.collect::<Vec<_>>())
    });
    let stages: Vec<_> = stages.iter().filter(|(_, all)| !all.is_empty()).collect();
    let several = stages.len() > 1;
    if several {
        text += &stages::comparison(report);
    }
    for (stage, entries) in &stages {
        if several {
            text += &format!("\n{}\n\n", stage.name());
        }
        text += &table(entries, view, keep);
        text += &stages::footnotes(entries);
    }
    text
}

/// A table with one column per profile.
fn table(entries: &[&Entry], view: View, keep: Keep) -> String {
    let known = |entry: &&&Entry| match view {
        View::Cost => true,
        View::Retransmissions | View::Recovery => entry.senders_known(),
        View::Latency => entry.responses.is_some(),
    };
    let entries: Vec<&Entry> = entries.iter().filter(known).copied().collect();
    if entries.is_empty() && view == View::Latency {
        return "Only the simulator measures responses.\n".into();
    }
    let lines = lines(&entries, view, keep);
    let Comparison { text, left_out } = table_columns().compare(&entries, "profile", &lines, keep);
    let mut text = format!("{text}\n{}", left_out_note(left_out));
    let flows = entries.iter().map(|entry| entry.result.cost.flows).max();
    if view == View::Cost && flows.is_some_and(|n| (2..intervals::FEWEST_UNITS).contains(&n)) {
        let fewest = intervals::FEWEST_UNITS;
        text += &format!("\nIntervals need at least {fewest} flows: --flows {fewest}.\n");
    }
    text
}

/// The lines of a view of these results.
pub(crate) fn lines(entries: &[&Entry], view: View, keep: Keep) -> Vec<Line> {
    match view {
        View::Cost => cost(entries, keep),
        View::Retransmissions => retransmissions().into_iter().map(Line::from).collect(),
        View::Recovery => recovery().into_iter().map(Line::from).collect(),
        View::Latency => latency(),
    }
}

/// A note on the lines that a table leaves out; empty if it shows all.
pub(crate) fn left_out_note(lines: usize) -> String {
    match lines {
        0 => String::new(),
        1 => "\n1 row is zero or the same for all profiles; --all-rows shows it.\n".into(),
        n => format!("\n{n} rows are zero or the same for all profiles; --all-rows shows them.\n"),
    }
}

/// The columns of a distribution that stand in most tables.
const FEW: &[&str] = &["min", "p50", "p90", "p99", "max", "mean"];

/// All columns of a distribution.
const ALL: &[&str] = &["min", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max", "mean"];

/// These columns of a distribution.
fn distribution(name: &str, parts: &[&str]) -> Vec<String> {
    let column = |part: &&str| format!("{name}_{part}");
    parts.iter().map(column).collect()
}

fn cost(entries: &[&Entry], keep: Keep) -> Vec<Line> {
    let single = keep == Keep::Telling && entries.iter().all(|e| e.result.cost.flows == 1);
    let mut lines: Vec<Line> = Vec::new();
    // The row is only worth showing if some flow did not complete.
    let incomplete = |e: &&Entry| e.result.cost.completed < e.result.cost.flows;
    if keep == Keep::All || entries.iter().any(incomplete) {
        lines.push(Line { always: true, share: Share::Always, ..Line::from("completed") });
    }
    // Unless the handshake was retransmitted, or the delay varies, the FCT from establishment differs by a constant.
    let from_establishment = keep == Keep::All || entries.iter().any(retransmits_handshake);
    let parts = if keep == Keep::All { ALL } else { FEW };
    // All quantiles of a single flow are equal.
    let times = |name: &'static str, heading| match single {
        true => vec![headed(format!("{name}_p50"), heading)],
        false => {
            let lines = distribution(name, parts).into_iter();
            lines.map(|column| Line { always: column == "fct_ms_p50", ..column.into() }).collect()
        }
    };
    lines.extend(times("fct_ms", "FCT"));
    // Beside the ratio with its interval, the bare one would only look more certain.
    let has_intervals = !single && entries.iter().any(|entry| entry.intervals.is_some());
    if keep == Keep::All || !has_intervals {
        lines.push("fct_normalised".into());
    }
    if has_intervals {
        lines.extend(intervals::text_names().map(Line::from));
    }
    if from_establishment {
        lines.extend(times("fct_established_ms", "FCT from establishment"));
        if keep == Keep::All || !has_intervals {
            lines.push("fct_established_normalised".into());
        }
    }
    let waited = "last_ack_to_retransmission_ms_p50";
    lines.push(if single { headed(waited, "Last ACK to retransmission") } else { waited.into() });
    lines.extend(["segments_sent", "bytes_sent", "packets_dropped"].map(Line::from));
    lines.extend(by_trigger().map(|name| Line { share: Share::Never, ..name.into() }));
    lines.extend(["probes", "duplicates", "duplicates_reported", "duplicates_withheld", "spurious"].map(Line::from));
    let of_data = |e: &&Entry| e.result.cost.spurious_data != e.result.cost.spurious;
    if keep == Keep::All || entries.iter().any(of_data) {
        lines.push("spurious_data".into());
    }
    lines.push("unnecessary_bytes".into());
    if entries.iter().any(|e| e.result.live.is_some()) {
        lines.extend(["live_delivery_error_ms_p999", "live_blurred_flows"].map(Line::from));
    }
    lines
}

/// Whether a SYN or SYN-ACK was retransmitted.
fn retransmits_handshake(entry: &&Entry) -> bool {
    let retransmissions = &entry.result.cost.counters.retransmissions;
    [Trigger::Syn, Trigger::SynAck].iter().any(|trigger| retransmissions.of(*trigger) > 0)
}

/// A line under a heading of its own, which always stands.
fn headed(name: impl Into<Cow<'static, str>>, heading: &'static str) -> Line {
    Line { always: true, heading: Some(heading.into()), ..Line::from(name) }
}

fn by_trigger() -> impl Iterator<Item = String> {
    let triggers = Trigger::ALL.map(Trigger::name);
    let names = ["total"].into_iter().chain(triggers);
    names.map(|name| format!("retransmissions_{name}"))
}

fn retransmissions() -> Vec<String> {
    const COUNTS: [&str; 11] = [
        "failed_retransmissions",
        "recoveries",
        "ratios_fast_retransmits_per_recovery",
        "dsacks",
        "recoveries_with_dsack",
        "ratios_dsacks_per_fast_retransmit_percent",
        "ratios_dsacks_per_retransmission_percent",
        "lost_retransmissions",
        "detected_lost_retransmissions",
        "ratios_lost_retransmissions_per_recovery_percent",
        "ratios_lost_retransmissions_per_fast_retransmit_percent",
    ];
    const RATIOS: [&str; 5] = [
        "ratios_retransmission_rate_percent",
        "ratios_transmit_time_per_flow_ms",
        "ratios_time_in_loss_recovery_percent",
        "ratios_segments_sent_in_recovery_percent",
        "ratios_slow_start_after_recovery_percent",
    ];
    let mut names = Vec::new();
    for name in by_trigger() {
        let is_rto = name == format!("retransmissions_{}", Trigger::Rto.name());
        names.push(name);
        if is_rto {
            names.extend(State::ALL.map(|state| format!("recovery_timeouts_{}", state.name())));
        }
    }
    let undone = Proof::ALL.map(|proof| format!("undone_{}", proof.name()));
    let undone = undone.iter().map(String::as_str);
    names.extend(COUNTS.into_iter().chain(undone).chain(RATIOS).map(|name| format!("recovery_{name}")));
    names
}

fn recovery() -> Vec<String> {
    let mut names = vec!["recovery_recoveries".to_owned()];
    for end in ["complete", "undone", "timeout"] {
        names.push(format!("recovery_ended_{end}"));
    }
    for part in ["below", "equal", "above", "min", "p1", "p50", "p99", "max"] {
        names.push(format!("recovery_pipe_minus_ssthresh_{part}"));
    }
    for window in ["cwnd_minus_ssthresh", "cwnd_after"] {
        for percent in [5, 10, 25, 50, 75, 90, 95, 99] {
            names.push(format!("recovery_{window}_p{percent}"));
        }
    }
    names.extend(distribution("recovery_time_ms", ALL));
    names.extend(distribution("recovery_time_until_open_ms", ALL));
    names
}

/// The rows of Tables 9 and 11, for each of the paper's choices of responses.
fn latency() -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for choice in ["all", "retransmitted", "lossy"] {
        lines.push(Line { always: true, ..format!("responses_{choice}_count").into() });
        let parts = &[&["mean"], &ALL[1..ALL.len() - 2]].concat();
        let times = distribution(&format!("responses_{choice}_latency_ms"), parts).into_iter();
        lines.extend(times.map(|name| Line { always: name.ends_with("mean"), ..name.into() }));
    }
    lines.insert(0, "responses_written".into());
    lines
}
