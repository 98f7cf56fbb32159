//! Compares the results of profiles.
//!
//! One list of columns ([`columns()`], with parts in `recovery`, `latency` and `intervals`) serves JSON, CSV and Arrow, and the text
//! table has those of them that `tables` lists, a row each.

mod columns;
mod finding;
pub(crate) mod intervals;
mod latency;
mod plot;
mod recovery;
mod stages;
mod tables;

pub use columns::columns;
pub(crate) use columns::table_columns;
pub use finding::finding;
pub use intervals::{Differences, Estimated, Intervals};
pub use latency::{Latency, ResponseLatencies};
pub use plot::{Plot, PlotKind};
pub use tables::View;
pub(crate) use tables::{left_out_note, lines};

use crate::effect;
use crate::run::{Cost, ProfileResult};
use crate::scenario::Scenario;
use crate::settings::{self, Settings};
use crate::stage::Stage;
#[cfg(feature = "arrow")]
use arrow_schema::ArrowError;
use recoup_support::stats::{Durations, Summary};
#[cfg(feature = "arrow")]
use recoup_table::{Batches, Part};
use recoup_table::{Columns, Keep, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The schema of a run's JSON document.
pub const SCHEMA: Schema = Schema { name: "recoup.run", version: 1 };

/// Stands below the heading of a run that was interrupted.
pub(crate) const INTERRUPTED: &str = "\nInterrupted: these are the results of a part of the run.";

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
    interrupted: bool,
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
    /// Times in the state Recovery in ms; `None` if no recovery ended.
    pub recovery_time: Option<Summary>,
    /// Times from the beginning of a recovery until the sender is Open in ms; `None` if there was none.
    pub recovery_time_until_open: Option<Summary>,
    /// The TCP latency of responses; `None` with real packets.
    pub responses: Option<ResponseLatencies>,
    /// Intervals of the flow completion times; `None` with too few flows, or in a world runs.
    pub intervals: Option<Intervals>,
}

impl Report {
    /// The report of a run.
    pub fn new(scenario: &Scenario, results: &[ProfileResult]) -> Self {
        let setting = |key: &str| Value::from(scenario.settings.get(key));
        let first = |stage| results.iter().find(|result| result.stage == stage).map(|result| &result.cost);
        let mut entries: Vec<Entry> = results.iter().map(|result| Entry::new(result, first(result.stage))).collect();
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
            settings: settings::all().map(|s| (s.key.into(), setting(s.key))).collect(),
            finding: finding(scenario, &entries),
            heading: heading(scenario, &[]),
            results: entries,
            interrupted: false,
        }
    }

    /// Says in every format but CSV that the run was interrupted, so that the results are those of a part of it. CSV has the
    /// number of flows.
    pub fn interrupted(mut self, interrupted: bool) -> Self {
        self.interrupted = interrupted;
        self
    }

    /// As JSON, indented, with a final newline.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Body<'a, R> {
            scenario: &'a str,
            seed: u64,
            settings: &'a Map<String, Value>,
            interrupted: bool,
            results: R,
        }
        let columns = columns();
        let body = Body {
            scenario: &self.scenario,
            seed: self.seed,
            settings: &self.settings,
            interrupted: self.interrupted,
            results: columns.to_json(&self.results),
        };
        document(SCHEMA, &body)
    }

    /// As CSV, one line per profile. A column's name is the path of its JSON key, joined by underscores.
    /// The last columns are the settings, with the prefix `set_`.
    pub fn to_csv(&self) -> String {
        self.columns().to_csv(&self.results)
    }

    /// As Arrow, with the columns of CSV.
    ///
    /// # Errors
    /// If two columns have one name.
    #[cfg(feature = "arrow")]
    pub fn to_arrow(&self) -> Result<Batches, ArrowError> {
        let rows = &self.results;
        self.columns().to_arrow(&[Part { name: "", rows }])
    }

    /// The columns of CSV.
    fn columns(&self) -> Columns<Entry> {
        let mut all = with_scenario(Columns::new(), &self.scenario, self.seed).all_of(columns(), |entry| Some(entry));
        for (key, value) in &self.settings {
            let value = value.as_str().map(str::to_owned);
            all = all.column(format!("set_{key}"), "", "a setting of the scenario", move |_| value.clone());
        }
        all
    }

    /// As text: the result in one sentence, the scenario with its most important settings, and one table
    /// per stage with one column per profile. With several stages, their comparison precedes the tables.
    pub fn to_table(&self, view: View, keep: Keep) -> String {
        let finding = self.finding.as_ref().map_or(String::new(), |line| format!("{line}\n\n"));
        let tables = tables::tables(self, view, keep);
        let part = if self.interrupted { INTERRUPTED } else { "" };
        format!("{finding}{}{part}\n\n{tables}", self.heading)
    }
}

/// A document in memory.
pub(crate) fn document(schema: Schema, body: &impl Serialize) -> String {
    schema.to_text(body).unwrap_or_else(|e| json!({ "error": e.to_string() }).to_string() + "\n")
}

/// Adds the columns that are the same in all rows.
pub(crate) fn with_scenario<R: 'static>(columns: Columns<R>, scenario: &str, seed: u64) -> Columns<R> {
    let scenario = scenario.to_owned();
    columns.column("scenario", "", "the scenario", move |_| scenario.clone()).column(
        "seed",
        "",
        "the seed that repeats the run",
        move |_| seed,
    )
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
            (ours, ours.zip(first).and_then(|(ours, first)| ratio(ours.mean, first.mean)))
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
            recovery_time_until_open: result.cost.recoveries.time_until_open.summary(),
            responses: (result.stage == Stage::Sim).then(|| ResponseLatencies::new(&result.cost.responses)),
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
            &mut cost.recoveries.time_until_open,
            &mut cost.responses.all,
            &mut cost.responses.retransmitted,
            &mut cost.responses.lossy,
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

#[cfg(test)]
mod tests;
