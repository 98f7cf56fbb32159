//! Results as table, JSON and CSV.

mod recovery;
mod stages;
mod tables;

pub use recovery::{Ended, OnEntry, Percentiles, Ratios, Recovery};
pub use tables::View;

use crate::run::{Cost, ProfileResult};
use crate::scenario::Scenario;
use crate::settings;
use crate::stage::{Live, Stage};
use crate::stats::Summary;
use recoup_recovery::Trigger;
use recoup_table::csv;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A run's result as JSON is laid out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// The seed that repeats it.
    pub seed: u64,
    /// Every setting, as text.
    pub settings: Map<String, Value>,
    /// One entry a profile, in the order given.
    pub results: Vec<Entry>,
}

/// One profile's figures.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The profile; the kernel's name and version where it sent the data.
    pub profile: String,
    /// Where it was run: `sim`, `net` or `kernel`.
    pub stage: Stage,
    /// Flows run.
    pub flows: u64,
    /// Flows whose last byte was delivered.
    pub completed: u64,
    /// Flow completion time, from SYN to the delivery of the last data byte; `null` when no flow
    /// completed.
    pub fct_ms: Option<Summary>,
    /// Mean flow completion time over the first profile's on the same stage.
    pub fct_normalised: Option<f64>,
    /// Data segments sent, with retransmissions, probes and copies.
    pub segments_sent: u64,
    /// IP bytes sent both ways, SYNs and ACKs included.
    pub bytes_sent: u64,
    /// Packets dropped on the path.
    pub packets_dropped: u64,
    /// Segments sent again: `total`, then by trigger.
    pub retransmissions: Map<String, Value>,
    /// Tail loss probes, those that carry new data included.
    pub probes: u64,
    /// Extra copies sent in advance of any loss.
    pub duplicates: u64,
    /// Extra copies that were worth their while and not sent: the window had no room, or an earlier one
    /// was not acknowledged.
    pub duplicates_withheld: u64,
    /// Extra copies of data reported by DSACK to have arrived beside their originals.
    pub duplicates_reported: u64,
    /// Retransmissions of which an earlier copy delivered every byte.
    pub spurious: u64,
    /// Payload bytes that arrived more than once.
    pub unnecessary_bytes: u64,
    /// From the last ACK to the first retransmission of data; `null` when no flow had one.
    pub last_ack_to_retransmission_ms: Option<Summary>,
    /// What fast recovery and timeouts were like; `null` where the kernel sent the data.
    pub recovery: Option<Recovery>,
    /// What else there is to say of real packets; absent of the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
}

impl Report {
    /// The report of a run.
    pub fn new(scenario: &Scenario, results: &[ProfileResult]) -> Self {
        let setting = |key: &str| Value::from(scenario.settings.get(key));
        let first = |stage| {
            let mut of_stage = results.iter().filter(|r| r.stage == stage);
            of_stage.next().and_then(|r| r.cost.fct.summary())
        };
        Self {
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            settings: settings::all()
                .map(|s| (s.key.into(), setting(s.key)))
                .collect(),
            results: results
                .iter()
                .map(|r| Entry::new(r, first(r.stage)))
                .collect(),
        }
    }

    /// As JSON, indented, with a final newline.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.unwrap_or_else(|e| json!({ "error": e.to_string() }).to_string()) + "\n"
    }

    /// As CSV: a line a profile; the columns are the JSON's names joined by underscores, the
    /// settings, `set_` before their names, last.
    pub fn to_csv(&self) -> String {
        let row = |entry: &Entry| {
            let mut columns = vec![
                ("scenario".to_string(), self.scenario.clone()),
                ("seed".to_string(), self.seed.to_string()),
            ];
            flatten(
                "",
                &serde_json::to_value(entry).unwrap_or_default(),
                &mut columns,
            );
            for (key, value) in &self.settings {
                flatten(&format!("set_{key}"), value, &mut columns);
            }
            columns
        };
        let rows: Vec<_> = self.results.iter().map(row).collect();
        let header = self.columns();
        let value = |row: &[(String, String)], name: &String| {
            let found = row.iter().find(|(column, _)| column == name);
            found.map_or(String::new(), |(_, value)| value.clone())
        };
        let lines = rows
            .iter()
            .map(|row| header.iter().map(|name| value(row, name)));
        csv(&header, lines)
    }

    /// The columns of CSV, the same of every run: what a stage does not tell is empty.
    fn columns(&self) -> Vec<String> {
        let mut columns: Vec<(String, String)> = ["scenario", "seed"]
            .map(|name| (name.into(), String::new()))
            .to_vec();
        let full = self.results.first().map(|entry| Entry {
            recovery: Some(Recovery::new(&Cost::default())),
            live: Some(Live::with_everything()),
            ..entry.clone()
        });
        let full = serde_json::to_value(full).unwrap_or_default();
        flatten("", &full, &mut columns);
        let settings = self.settings.keys().map(|key| format!("set_{key}"));
        columns
            .into_iter()
            .map(|(name, _)| name)
            .chain(settings)
            .collect()
    }

    /// As tables with a column a profile, one a stage; of several stages first the comparison.
    pub fn to_table(&self, view: View) -> String {
        tables::tables(self, view)
    }
}

/// A part of a summary and its name.
type Part = (&'static str, fn(&Summary) -> f64);

const SUMMARY: [Part; 6] = [
    ("min", |s| s.min),
    ("p50", |s| s.p50),
    ("p90", |s| s.p90),
    ("p99", |s| s.p99),
    ("max", |s| s.max),
    ("mean", |s| s.mean),
];

impl Entry {
    fn new(result: &ProfileResult, first: Option<Summary>) -> Self {
        let cost: &Cost = &result.cost;
        let fct_ms = cost.fct.summary();
        let counts = Trigger::ALL.map(|t| (t.name(), cost.counters.retransmissions.of(t)));
        let total = std::iter::once(("total", cost.counters.retransmissions.total()));
        Self {
            profile: result.profile.clone(),
            stage: result.stage,
            flows: cost.flows,
            completed: cost.completed,
            fct_ms,
            fct_normalised: fct_ms
                .zip(first)
                .map(|(ours, first)| ours.mean / first.mean),
            segments_sent: cost.segments_sent,
            bytes_sent: cost.bytes_sent,
            packets_dropped: cost.packets_dropped,
            retransmissions: total
                .chain(counts)
                .map(|(k, n)| (k.into(), n.into()))
                .collect(),
            probes: cost.counters.probes,
            duplicates: cost.counters.copies,
            duplicates_withheld: cost.counters.copies_withheld,
            duplicates_reported: cost.counters.copies_reported,
            spurious: cost.spurious,
            unnecessary_bytes: cost.unnecessary_bytes,
            last_ack_to_retransmission_ms: cost.last_ack_to_retransmission.summary(),
            recovery: result.senders_known.then(|| Recovery::new(cost)),
            live: result.live.clone(),
        }
    }
}

/// The columns a summary has in CSV even when there is nothing to summarise.
fn flatten(prefix: &str, value: &Value, columns: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if prefix.is_empty() {
                    key.clone()
                } else {
                    format!("{prefix}_{key}")
                };
                flatten(&name, value, columns);
            }
        }
        Value::Null if prefix.ends_with("_ms") => {
            columns.extend(SUMMARY.map(|(name, _)| (format!("{prefix}_{name}"), String::new())));
        }
        Value::Null => columns.push((prefix.into(), String::new())),
        Value::String(text) => columns.push((prefix.into(), text.clone())),
        other => columns.push((prefix.into(), other.to_string())),
    }
}

/// No row of the table is wider than a terminal may be expected to be.
#[cfg(test)]
pub(crate) fn assert_fits_a_terminal(table: &str) {
    for row in table.lines().filter(|line| line.starts_with('|')) {
        assert!(row.chars().count() <= 160, "{row}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run;
    use std::path::Path;

    fn report(settings: &[(&str, &str)]) -> Report {
        let mut scenario = Scenario::load("tail-loss").unwrap();
        for (key, value) in settings {
            scenario.settings.set(key, value, Path::new(".")).unwrap();
        }
        Report::new(&scenario, &run(&scenario, 1, |_| ()).unwrap())
    }

    #[test]
    fn json_has_the_promised_names() {
        let json: Value = serde_json::from_str(&report(&[("drop", "tail:3")]).to_json()).unwrap();
        assert_eq!(
            (&json["scenario"], &json["seed"]),
            (&json!("tail-loss"), &json!(1))
        );
        let first = &json["results"][0];
        for name in [
            "profile",
            "flows",
            "completed",
            "fct_ms",
            "segments_sent",
            "bytes_sent",
            "retransmissions",
            "duplicates",
            "duplicates_withheld",
            "duplicates_reported",
            "spurious",
            "unnecessary_bytes",
        ] {
            assert!(!first[name].is_null(), "{name}");
        }
        for name in ["min", "p50", "p90", "p99", "max", "mean"] {
            assert_eq!(first["fct_ms"][name], json!(600.0), "{name}");
        }
        let expected = json!({"total": 3, "fast": 0, "early": 0, "rto": 1, "slow_start": 2,
            "tlp": 0, "syn": 0, "syn_ack": 0});
        assert_eq!(first["retransmissions"], expected);
        assert_eq!(first["segments_sent"], json!(13));
    }

    #[test]
    fn csv_has_the_same_columns_when_nothing_completes() {
        let header = |csv: String| csv.lines().next().unwrap().to_string();
        let dead = report(&[("drop", "bernoulli:1")]);
        assert_eq!(dead.results[0].completed, 0);
        assert_eq!(header(dead.to_csv()), header(report(&[]).to_csv()));
        assert_eq!(dead.to_csv().lines().count(), 5);
    }

    #[test]
    fn csv_has_every_setting_in_every_line() {
        let csv = report(&[("drop", "tail:1,up:ack:2"), ("rate", "10Mbit")]).to_csv();
        let mut lines = csv::Reader::from_reader(csv.as_bytes());
        let header = lines.headers().unwrap().clone();
        let expected: Vec<String> = settings::all().map(|s| format!("set_{}", s.key)).collect();
        let settings: Vec<&str> = header.iter().skip(header.len() - expected.len()).collect();
        assert_eq!(settings, expected);
        let mut count = 0;
        for line in lines.records() {
            let line = line.unwrap();
            count += 1;
            for (name, value) in [
                ("set_rtt", "80ms"),
                ("set_rate", "10Mbit"),
                ("set_drop", "tail:1,up:ack:2"),
                ("set_ack", "quick"),
            ] {
                let column = header.iter().position(|column| column == name).unwrap();
                assert_eq!(&line[column], value, "{name}");
            }
        }
        assert_eq!(count, 4);
    }

    #[test]
    fn the_table_names_units_and_profiles() {
        let table = report(&[]).to_table(View::Cost);
        for part in [
            "linux-3.17+tlpr",
            "FCT p50 (ms)",
            "520.000",
            "  slow_start",
            "1 of 1",
        ] {
            assert!(table.contains(part), "{part}\n{table}");
        }
    }

    /// 150 segments of every flow, one in twenty lost.
    fn lossy() -> Report {
        report(&[("segments", "150"), ("drop", "bernoulli:0.05")])
    }

    #[test]
    fn every_view_is_a_table_with_its_units() {
        let report = lossy();
        for (view, parts) in [
            (
                View::Retransmissions,
                &[
                    "retransmissions (segments, % of all)",
                    "timeouts by exponential back-off",
                    "of all these, failed",
                    "fast retransmits per recovery",
                    "recoveries with a DSACK (%)",
                    "DSACKs per retransmission (%)",
                    "lost retransmissions per recovery (%)",
                    "undone by frto",
                    "retransmission rate (% of data segments)",
                    "network transmit time per flow (ms)",
                    "of it in loss recovery (%)",
                    "data segments sent in recovery (%)",
                    "slow start after recovery (% of recoveries)",
                ][..],
            ),
            (
                View::Recovery,
                &[
                    "ended in a timeout",
                    "began with pipe < ssthresh",
                    "pipe - ssthresh on entry, min (segments)",
                    "cwnd - ssthresh before exit, p5 (segments)",
                    "cwnd after recovery, p5 (segments)",
                    "time in recovery p99 (ms)",
                ],
            ),
        ] {
            let table = report.to_table(view);
            for part in parts {
                assert!(table.contains(part), "{part}\n{table}");
            }
        }
    }

    /// What one counts another way comes out the same.
    #[test]
    fn the_senders_counts_agree_with_the_simulators() {
        let report = lossy();
        for entry in &report.results {
            let recovery = entry.recovery.as_ref().unwrap();
            assert!(recovery.recoveries > 0, "{entry:?}");
            let Ended {
                complete,
                undone,
                timeout,
            } = recovery.ended;
            assert_eq!(complete + undone + timeout, recovery.recoveries);
            assert_eq!(recovery.timeouts["recovery"], json!(timeout));
            let OnEntry {
                below,
                equal,
                above,
                min,
                max,
                ..
            } = recovery.pipe_minus_ssthresh;
            assert_eq!(below + equal + above, recovery.recoveries);
            assert!(min <= max);
            let again = |name: &str| entry.retransmissions[name].as_u64().unwrap();
            let fast = again("fast") + again("early");
            let ratio = recovery.ratios.fast_retransmits_per_recovery;
            assert_eq!(ratio, Some(fast as f64 / recovery.recoveries as f64));
            let rate = recovery.ratios.retransmission_rate_percent.unwrap();
            assert!(
                (rate * entry.segments_sent as f64 / 100.0 - again("total") as f64).abs() < 1e-6
            );
            let busy = recovery.transmit_time_ms;
            assert!(recovery.in_recovery_ms + recovery.in_loss_ms <= busy);
        }
    }

    #[test]
    fn without_a_loss_there_is_nothing_to_compare_with() {
        let report = report(&[("drop", "none")]);
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        let recovery = &json["results"][0]["recovery"];
        assert_eq!(recovery["recoveries"], json!(0));
        assert_eq!(
            recovery["ratios"]["fast_retransmits_per_recovery"],
            Value::Null
        );
        assert_eq!(
            recovery["ratios"]["retransmission_rate_percent"],
            json!(0.0)
        );
        assert_eq!(recovery["cwnd_after"]["p50"], Value::Null);
        assert_eq!(recovery["time_ms"], Value::Null);
        let header = |csv: String| csv.lines().next().unwrap().to_string();
        assert_eq!(header(report.to_csv()), header(lossy().to_csv()));
        for view in [View::Cost, View::Retransmissions, View::Recovery] {
            let table = report.to_table(view);
            assert!(!table.contains("NaN") && !table.contains("null"), "{table}");
        }
    }
}
