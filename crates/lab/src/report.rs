//! Compares the results of profiles.
//!
//! One list of columns ([`columns()`]) serves text tables, JSON and CSV.

mod columns;
mod finding;
pub(crate) mod intervals;
mod plot;
mod recovery;
mod stages;
mod tables;

pub use columns::columns;
pub(crate) use columns::table_columns;
pub use finding::finding;
pub use intervals::{Differences, Estimated, Intervals};
pub use plot::{Plot, PlotKind};
pub use tables::View;
pub(crate) use tables::{left_out_note, lines};

use crate::effect;
use crate::run::{Cost, ProfileResult};
use crate::scenario::Scenario;
use crate::settings::{self, Settings};
use crate::stage::Stage;
use crate::stats::{Durations, Summary};
use recoup_table::{Columns, Keep, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The schema of a run's JSON document.
pub const SCHEMA: Schema = Schema {
    name: "recoup.run",
    version: 1,
};

/// A run's results.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// The seed that repeats the run.
    pub seed: u64,
    /// Every setting as text.
    pub settings: Map<String, Value>,
    /// One entry per profile and stage, in the order given.
    pub results: Vec<Entry>,
    /// The result in one sentence.
    finding: Option<String>,
    /// The scenario, its seed and its settings, in one line.
    heading: String,
}

/// One profile's result on one stage, with derived statistics.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The result.
    pub result: ProfileResult,
    /// Flow completion times in ms; `None` if no flow completed.
    pub fct: Option<Summary>,
    /// Mean flow completion time divided by the first profile's on the same stage.
    pub fct_normalised: Option<f64>,
    /// Flow completion times from establishment in ms; `None` if no flow completed.
    pub fct_established: Option<Summary>,
    /// Their mean divided by the first profile's on the same stage.
    pub fct_established_normalised: Option<f64>,
    /// From the last ACK to the first retransmission of data, in ms; `None` if no flow had one.
    pub last_ack_to_retransmission: Option<Summary>,
    /// Durations of recoveries in ms; `None` if no recovery ended.
    pub recovery_time: Option<Summary>,
    /// Intervals of the flow completion times; `None` with too few flows, or in a world runs.
    pub intervals: Option<Intervals>,
}

impl Report {
    /// The report of a run.
    pub fn new(scenario: &Scenario, results: &[ProfileResult]) -> Self {
        let setting = |key: &str| Value::from(scenario.settings.get(key));
        let first = |stage| {
            let mut of_stage = results.iter().filter(|r| r.stage == stage);
            of_stage.next().map(|r| &r.cost)
        };
        let entries = results.iter();
        let entries = entries.map(|result| Entry::new(result, first(result.stage)));
        let mut entries: Vec<Entry> = entries.collect();
        for stage in Stage::ALL {
            let of_stage = results.iter().filter(|result| result.stage == stage);
            let costs: Vec<&Cost> = of_stage.map(|result| &result.cost).collect();
            let intervals = intervals::of_flows(&costs, scenario.seed).into_iter();
            let of_stage = entries.iter_mut().filter(|entry| entry.stage() == stage);
            for (entry, intervals) in of_stage.zip(intervals.flatten()) {
                entry.intervals = Some(intervals);
            }
        }
        Self {
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            settings: settings::all()
                .map(|s| (s.key.into(), setting(s.key)))
                .collect(),
            finding: finding(scenario, &entries),
            heading: heading(scenario, &[]),
            results: entries,
        }
    }

    /// As JSON, indented, with a final newline.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Body<'a, R> {
            scenario: &'a str,
            seed: u64,
            settings: &'a Map<String, Value>,
            results: R,
        }
        let columns = columns();
        let body = Body {
            scenario: &self.scenario,
            seed: self.seed,
            settings: &self.settings,
            results: columns.to_json(&self.results),
        };
        let text = SCHEMA.to_text(&body);
        text.unwrap_or_else(|e| json!({ "error": e.to_string() }).to_string() + "\n")
    }

    /// As CSV, one line per profile. A column's name is the path of its JSON key, joined by underscores.
    /// The last columns are the settings, with the prefix `set_`.
    pub fn to_csv(&self) -> String {
        let (scenario, seed) = (self.scenario.clone(), self.seed);
        let mut all = Columns::<Entry>::new()
            .text(("scenario", "", "the scenario"), move |_| {
                Some(scenario.clone().into())
            })
            .integer(("seed", "", "the seed that repeats the run"), move |_| {
                Some(seed)
            })
            .all_of(columns(), |entry| Some(entry));
        for (key, value) in &self.settings {
            let value = value.as_str().map(str::to_owned);
            let header = (format!("set_{key}"), "", "a setting of the scenario");
            all = all.text(header, move |_| Some(value.clone()?.into()));
        }
        all.to_csv(&self.results)
    }

    /// As text: the result in one sentence, the scenario with its most important settings, and one table
    /// per stage with one column per profile. With several stages, their comparison precedes the tables.
    pub fn to_table(&self, view: View, keep: Keep) -> String {
        let finding = self.finding.as_deref();
        let finding = finding.map_or(String::new(), |line| format!("{line}\n\n"));
        let tables = tables::tables(self, view, keep);
        format!("{finding}{}\n\n{tables}", self.heading)
    }
}

/// The scenario with the settings that have an effect: those that differ from the defaults, and the most
/// important ones. Those of `left_out` are left out.
pub(crate) fn heading(scenario: &Scenario, left_out: &[&str]) -> String {
    const SHOWN: [&str; 6] = ["rtt", "rate", "segments", "drop", "ack", "timers"];
    let usual = Settings::default();
    let settings: Vec<String> = effect::effective_settings(&scenario.settings)
        .into_iter()
        .filter(|(name, value)| SHOWN.contains(name) || usual.get(name).as_ref() != Some(value))
        .filter(|(name, _)| !left_out.contains(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let (name, flows, seed) = (&scenario.name, scenario.flows, scenario.seed);
    format!("{name} flows={flows} seed={seed} {}", settings.join(" "))
}

impl Entry {
    /// The result with its statistics; `first` is what the first profile's flows cost.
    pub(crate) fn new(result: &ProfileResult, first: Option<&Cost>) -> Self {
        let times = |which: fn(&Cost) -> &Durations| {
            let ours = which(&result.cost).summary();
            let first = first.and_then(|first| which(first).summary());
            (
                ours,
                ours.zip(first)
                    .and_then(|(ours, first)| ratio(ours.mean, first.mean)),
            )
        };
        let (fct, fct_normalised) = times(|cost| &cost.fct);
        let (fct_established, fct_established_normalised) = times(|cost| &cost.fct_established);
        Self {
            fct,
            fct_normalised,
            fct_established,
            fct_established_normalised,
            last_ack_to_retransmission: result.cost.last_ack_to_retransmission.summary(),
            recovery_time: result.cost.recoveries.time.summary(),
            intervals: None,
            result: result.clone(),
        }
    }

    /// The entry without its distributions: its statistics are computed.
    pub(crate) fn without_distributions(mut self) -> Self {
        let cost = &mut self.result.cost;
        for times in [
            &mut cost.fct,
            &mut cost.fct_established,
            &mut cost.last_ack_to_retransmission,
            &mut cost.recoveries.time,
        ] {
            *times = Durations::default();
        }
        cost.fct_by_flow = Vec::new();
        self
    }

    /// Whether the senders' internal state is known, and not only their packets.
    fn senders_known(&self) -> bool {
        self.result.senders_known
    }

    fn stage(&self) -> Stage {
        self.result.stage
    }
}

/// `None` for the times of flows without data: from establishment they are 0.
fn ratio(ours: f64, first: f64) -> Option<f64> {
    (first > 0.0).then(|| ours / first)
}

/// Fails if a row of the table is wider than 160 columns.
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
    fn json_has_the_documented_names() {
        let json: Value =
            serde_json::from_str(&report(&[("drop", "tail:3"), ("ack", "quick")]).to_json())
                .unwrap();
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
            "spurious_data",
            "unnecessary_bytes",
        ] {
            assert!(!first[name].is_null(), "{name}");
        }
        for name in ["min", "p50", "p90", "p99", "max", "mean"] {
            assert_eq!(first["fct_ms"][name], json!(600.0), "{name}");
            // The server is established after one and a half round trips of 80 ms.
            assert_eq!(first["fct_established_ms"][name], json!(480.0), "{name}");
        }
        assert_eq!(
            (&json["schema"], &json["version"]),
            (&json!("recoup.run"), &json!(1))
        );
        let expected = json!({"total": 3, "fast": 0, "early": 0, "rto": 1, "slow_start": 2,
            "tlp": 0, "pmtu": 0, "mtu_probe": 0, "syn": 0, "syn_ack": 0});
        assert_eq!(first["retransmissions"], expected);
        assert_eq!(first["segments_sent"], json!(13));
    }

    #[test]
    fn csv_has_the_same_columns_if_no_flow_completes() {
        let header = |csv: String| csv.lines().next().unwrap().to_string();
        let dead = report(&[("drop", "bernoulli:1")]);
        assert_eq!(dead.results[0].result.cost.completed, 0);
        assert_eq!(header(dead.to_csv()), header(report(&[]).to_csv()));
        assert_eq!(dead.to_csv().lines().count(), 4);
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
                ("set_ack", "delayed:200ms"),
            ] {
                let column = header.iter().position(|column| column == name).unwrap();
                assert_eq!(&line[column], value, "{name}");
            }
        }
        assert_eq!(count, 3);
    }

    #[test]
    fn the_table_names_units_and_profiles() {
        let all = report(&[]).to_table(View::Cost, Keep::All);
        for part in [
            "linux-6+tlpr",
            "FCT p50 (ms)",
            "Retransmissions (segments)",
            "Retransmissions by slow_start",
            "Flows completed",
        ] {
            assert!(all.contains(part), "{part}\n{all}");
        }
    }

    #[test]
    fn rows_of_zeros_or_equal_values_are_left_out() {
        let table = report(&[]).to_table(View::Cost, Keep::Telling);
        assert!(table.contains("--all-rows"), "{table}");
        assert!(table.contains("| FCT (ms)"), "{table}");
        for part in ["FCT p99", "slow_start", "Flows completed", "Extra copies"] {
            assert!(!table.contains(part), "{part}\n{table}");
        }
        // With one profile all values are equal, so only rows of zeros are left out.
        let mut scenario = Scenario::load("tail-loss").unwrap();
        scenario.profiles.truncate(1);
        let report = Report::new(&scenario, &run(&scenario, 1, |_| ()).unwrap());
        let table = report.to_table(View::Cost, Keep::Telling);
        assert!(table.contains("Data sent (segments)"), "{table}");
        assert!(!table.contains("Extra copies"), "{table}");
    }

    /// Without losses in the handshake, the time from establishment tells nothing new.
    #[test]
    fn the_time_from_establishment_stands_where_the_handshake_was_retransmitted() {
        let [established, of_data] = [
            "| FCT from establishment",
            "| Spurious retransmissions of data",
        ];
        for (drop, keep, stands) in [
            ("tail:1", Keep::Telling, false),
            ("tail:1", Keep::All, true),
            ("tail:1,up:ack:1", Keep::Telling, true),
        ] {
            let table = report(&[("drop", drop)]).to_table(View::Cost, keep);
            assert_eq!(table.contains(established), stands, "{drop}: {table}");
        }
        let spurious = report(&[("drop", "up:ack:1")]);
        let cost = &spurious.results[0].result.cost;
        assert_eq!((cost.spurious, cost.spurious_data), (1, 0));
        let table = spurious.to_table(View::Cost, Keep::All);
        assert!(table.contains(of_data), "{table}");
    }

    /// Flows of 150 segments, 5 % of which are lost.
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
                    "Retransmissions (segments)",
                    "by rto after back-off",
                    "never acknowledged",
                    "Fast retransmits per recovery",
                    "Recoveries with a DSACK",
                    "DSACKs per retransmission (%)",
                    "Lost retransmissions per recovery (%)",
                    "Window reductions undone by frto",
                    "Retransmissions per data segment (%)",
                    "Network transmit time per flow (ms)",
                    "in loss recovery (%)",
                    "Data segments sent in recovery (%)",
                    "Recoveries followed by slow start (%)",
                ][..],
            ),
            (
                View::Recovery,
                &[
                    "Recoveries ended by a timeout",
                    "Recoveries begun with pipe < ssthresh",
                    "pipe - ssthresh at entry min (segments)",
                    "cwnd - ssthresh before exit p5 (segments)",
                    "cwnd after recovery p5 (segments)",
                    "Time in recovery p99 (ms)",
                ],
            ),
        ] {
            let table = report.to_table(view, Keep::All);
            for part in parts {
                assert!(table.contains(part), "{part}\n{table}");
            }
        }
    }

    /// Counts that are computed in two ways agree.
    #[test]
    fn the_senders_counts_agree_with_the_simulators() {
        let json: Value = serde_json::from_str(&lossy().to_json()).unwrap();
        for entry in json["results"].as_array().unwrap() {
            let recovery = &entry["recovery"];
            let count = |value: &Value| value.as_u64().unwrap();
            let sum = |object: &Value, names: [&str; 3]| -> u64 {
                names.iter().map(|name| count(&object[name])).sum()
            };
            let recoveries = count(&recovery["recoveries"]);
            assert!(recoveries > 0, "{entry}");
            let ended = sum(&recovery["ended"], ["complete", "undone", "timeout"]);
            assert_eq!(ended, recoveries);
            assert_eq!(
                recovery["timeouts"]["recovery"],
                recovery["ended"]["timeout"]
            );
            let pipe = &recovery["pipe_minus_ssthresh"];
            assert_eq!(sum(pipe, ["below", "equal", "above"]), recoveries);
            assert!(pipe["min"].as_i64() <= pipe["max"].as_i64());
            let retransmissions = &entry["retransmissions"];
            let fast =
                sum(retransmissions, ["fast", "early", "early"]) - count(&retransmissions["early"]);
            let ratios = &recovery["ratios"];
            let ratio = ratios["fast_retransmits_per_recovery"].as_f64();
            assert_eq!(ratio, Some(fast as f64 / recoveries as f64));
            let real = |value: &Value| value.as_f64().unwrap();
            let rate = real(&ratios["retransmission_rate_percent"]);
            let sent = rate * real(&entry["segments_sent"]) / 100.0;
            assert!((sent - real(&retransmissions["total"])).abs() < 1e-6);
            let recovering = real(&recovery["in_recovery_ms"]) + real(&recovery["in_loss_ms"]);
            assert!(recovering <= real(&recovery["transmit_time_ms"]));
        }
    }

    #[test]
    fn without_a_loss_ratios_are_null() {
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
            let table = report.to_table(view, Keep::All);
            assert!(!table.contains("NaN") && !table.contains("null"), "{table}");
        }
    }
}
