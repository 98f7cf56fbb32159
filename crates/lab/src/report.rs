//! Results as table, JSON and CSV.

use crate::run::{Cost, ProfileResult};
use crate::scenario::Scenario;
use crate::settings::KEYS;
use crate::stats::Summary;
use comfy_table::{Cell, CellAlignment, Table, presets};
use recoup_recovery::Trigger;
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
    /// The profile.
    pub profile: String,
    /// Flows run.
    pub flows: u64,
    /// Flows whose last byte was delivered.
    pub completed: u64,
    /// Flow completion time, from SYN to the delivery of the last data byte; `null` when no flow
    /// completed.
    pub fct_ms: Option<Summary>,
    /// Mean flow completion time over the first profile's.
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
    /// Retransmissions of which an earlier copy delivered every byte.
    pub spurious: u64,
    /// Payload bytes that arrived more than once.
    pub unnecessary_bytes: u64,
    /// From the last ACK to the first retransmission of data; `null` when no flow had one.
    pub last_ack_to_retransmission_ms: Option<Summary>,
}

impl Report {
    /// The report of a run.
    pub fn new(scenario: &Scenario, results: &[ProfileResult]) -> Self {
        let setting = |key: &str| Value::from(scenario.settings.get(key));
        let first = results.first().and_then(|r| r.cost.fct.summary());
        Self {
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            settings: KEYS
                .iter()
                .map(|k| (k.name.into(), setting(k.name)))
                .collect(),
            results: results.iter().map(|r| Entry::new(r, first)).collect(),
        }
    }

    /// As JSON, indented, with a final newline.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.unwrap_or_else(|e| json!({ "error": e.to_string() }).to_string()) + "\n"
    }

    /// As CSV: a line a profile; the columns are the JSON's names joined by underscores.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(vec![]);
        for (i, entry) in self.results.iter().enumerate() {
            let mut columns = vec![
                ("scenario".to_string(), self.scenario.clone()),
                ("seed".to_string(), self.seed.to_string()),
            ];
            flatten(
                "",
                &serde_json::to_value(entry).unwrap_or_default(),
                &mut columns,
            );
            // Writing to memory cannot fail.
            if i == 0 {
                let _ = writer.write_record(columns.iter().map(|(name, _)| name));
            }
            let _ = writer.write_record(columns.iter().map(|(_, value)| value));
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    /// As a table with a column a profile.
    pub fn to_table(&self) -> String {
        let mut table = plain_table();
        let mut header = vec![String::new()];
        header.extend(self.results.iter().map(|r| r.profile.clone()));
        table.set_header(header);
        let mut row = |name: &str, value: &dyn Fn(&Entry) -> String| {
            let mut cells = vec![Cell::new(name)];
            let values = self.results.iter().map(|r| Cell::new(value(r)));
            cells.extend(values.map(|c| c.set_alignment(CellAlignment::Right)));
            table.add_row(cells);
        };
        row("flows completed", &|r| {
            format!("{} of {}", r.completed, r.flows)
        });
        for (name, part) in SUMMARY {
            row(&format!("FCT {name} (ms)"), &|r| {
                millis(r.fct_ms.as_ref().map(part))
            });
        }
        row("FCT normalised", &|r| {
            r.fct_normalised.map_or("-".into(), |n| format!("{n:.3}"))
        });
        row("last ACK to retransmission p50 (ms)", &|r| {
            millis(r.last_ack_to_retransmission_ms.map(|s| s.p50))
        });
        row("data segments sent", &|r| r.segments_sent.to_string());
        row("bytes sent", &|r| r.bytes_sent.to_string());
        row("packets dropped", &|r| r.packets_dropped.to_string());
        row("retransmissions", &|r| count(r, "total"));
        for trigger in Trigger::ALL.map(Trigger::name) {
            row(&format!("  {trigger}"), &|r| count(r, trigger));
        }
        row("probes, new data included", &|r| r.probes.to_string());
        row("duplicates", &|r| r.duplicates.to_string());
        row("spurious", &|r| r.spurious.to_string());
        row("unnecessary bytes", &|r| r.unnecessary_bytes.to_string());
        format!("{table}\n")
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
        let counts = Trigger::ALL.map(|t| (t.name(), cost.retransmissions.of(t)));
        let total = std::iter::once(("total", cost.retransmissions.total()));
        Self {
            profile: result.profile.name().into(),
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
            probes: cost.probes,
            duplicates: cost.duplicates,
            spurious: cost.spurious,
            unnecessary_bytes: cost.unnecessary_bytes,
            last_ack_to_retransmission_ms: cost.last_ack_to_retransmission.summary(),
        }
    }
}

/// A table in the house's style: no vertical lines, so that it pastes well.
pub fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table
}

/// Milliseconds to the microsecond, or `-`.
pub fn millis(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| format!("{v:.3}"))
}

fn count(entry: &Entry, name: &str) -> String {
    entry
        .retransmissions
        .get(name)
        .map_or("-".into(), Value::to_string)
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
    fn the_table_names_units_and_profiles() {
        let table = report(&[]).to_table();
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
}
