//! The results of a world, as text, JSON and CSV.

use super::{LinkResult, WorkloadResult, WorldResult, WorldScenario};
use crate::report::{self, Entry, View, intervals};
use crate::run::{Cost, ProfileResult};
#[cfg(feature = "arrow")]
use arrow_schema::ArrowError;
use recoup_sim::world::QueueingDelays;
use recoup_support::stats::Durations;
#[cfg(feature = "arrow")]
use recoup_table::{Batches, Part};
use recoup_table::{Columns, Comparison, Keep, Line, Schema};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The schema of a world's JSON document.
pub const SCHEMA: Schema = Schema { name: "recoup.world", version: 1 };

/// The results of a world.
#[derive(Clone, Debug)]
pub struct WorldReport {
    scenario: String,
    seed: u64,
    /// Every key that differs from its default, as text.
    settings: Map<String, Value>,
    /// The scenario and its keys, in a few lines.
    heading: String,
    runs: u64,
    interrupted: bool,
    pub(crate) results: Vec<Results>,
}

/// The rows of one profile.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    profile: String,
    simulated: Duration,
    pub workloads: Vec<WorkloadRow>,
    pub links: Vec<LinkRow>,
}

/// A workload's flows with one profile.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadRow {
    pub workload: String,
    pub entry: Entry,
    /// In Mbit/s.
    goodput: Option<f64>,
    /// Divided by the first profile's.
    goodput_normalised: Option<f64>,
    fairness: Option<f64>,
}

/// A link with one profile.
#[derive(Clone, Debug)]
pub(crate) struct LinkRow {
    profile: String,
    link: LinkResult,
    /// In percent.
    utilisation: Option<f64>,
}

impl WorldReport {
    /// The report of these results.
    pub fn new(world: &WorldScenario, results: &[WorldResult]) -> Self {
        let first = results.first();
        let of_profiles = results.iter().map(|result| Results::new(result, first));
        let mut rows: Vec<Results> = of_profiles.collect();
        add_intervals(world, results, &mut rows);
        Self {
            scenario: world.name.clone(),
            seed: world.seed,
            settings: world.values().into_iter().map(|(key, value)| (key, value.into())).collect(),
            heading: heading(world, &[]),
            runs: world.runs,
            results: rows,
            interrupted: false,
        }
    }

    /// Says in every format but CSV that the run was interrupted, so that the results are those of a part of it. CSV has the
    /// number of flows.
    pub fn interrupted(mut self, interrupted: bool) -> Self {
        self.interrupted = interrupted;
        self
    }

    /// Every key that differs from its default, as text.
    pub(crate) fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// As JSON, indented, with a final newline.
    pub fn to_json(&self) -> String {
        let results = self.results_to_json().unwrap_or_else(|e| vec![json!({ "error": e.to_string() })]);
        let Self { scenario, seed, settings, interrupted, .. } = self;
        let body = json!({
            "scenario": scenario, "seed": seed, "settings": settings, "interrupted": interrupted, "results": results
        });
        report::document(SCHEMA, &body)
    }

    /// The results in JSON, one object per profile.
    pub(crate) fn results_to_json(&self) -> Result<Vec<Value>, serde_json::Error> {
        let (workloads, links) = (workload_columns(report::columns()), link_columns());
        let results = self.results.iter().map(|result| {
            Ok(json!({
                "profile": result.profile,
                "simulated_ms": result.simulated.as_secs_f64() * 1e3,
                "workloads": serde_json::to_value(workloads.to_json(&result.workloads))?,
                "links": serde_json::to_value(links.to_json(&result.links))?,
            }))
        });
        results.collect()
    }

    /// The workloads as CSV, one line per profile and workload. A column's name is the path of its JSON key, joined
    /// by underscores.
    pub fn to_csv(&self) -> String {
        self.columns().to_csv(&self.workloads())
    }

    /// The workloads as Arrow, with the columns of CSV.
    ///
    /// # Errors
    /// If two columns have one name.
    #[cfg(feature = "arrow")]
    pub fn to_arrow(&self) -> Result<Batches, ArrowError> {
        let rows = &self.workloads();
        self.columns().to_arrow(&[Part { name: "", rows }])
    }

    /// The workloads of all profiles.
    fn workloads(&self) -> Vec<WorkloadRow> {
        let workloads = self.results.iter().flat_map(|r| r.workloads.clone());
        workloads.collect()
    }

    /// The columns of CSV.
    fn columns(&self) -> Columns<WorkloadRow> {
        report::with_scenario(Columns::new(), &self.scenario, self.seed)
            .all_of(workload_columns(report::columns()), |row| Some(row))
    }

    /// As text: the scenario, a table per workload with one column per profile, and a table of the links.
    pub fn to_table(&self, view: View, keep: Keep) -> String {
        let part = if self.interrupted { report::INTERRUPTED } else { "" };
        let mut text = format!("{}{part}\n", self.heading);
        let workloads = self.results.first().map_or(0, |first| first.workloads.len());
        for number in 0..workloads {
            let rows = self.results.iter().filter_map(|result| result.workloads.get(number));
            let rows: Vec<&WorkloadRow> = rows.collect();
            let name = rows.first().map_or("", |row| &row.workload);
            text += &format!("\n{name}\n\n{}", workload_table(&rows, view, keep));
        }
        if view == View::Cost && self.runs < intervals::FEWEST_UNITS {
            let fewest = intervals::FEWEST_UNITS;
            text += &format!(
                "\nNo intervals: the flows of a run depend on each other, so intervals need at least {fewest} runs (--set runs={fewest}).\n"
            );
        }
        let links: Vec<LinkRow> = self.results.iter().flat_map(|r| r.links.clone()).collect();
        text += &format!("\nLinks\n\n{}", link_table(links));
        text
    }
}

/// Adds the intervals of each workload. Those of an interrupted run are unknown, because its runs have different lengths.
fn add_intervals(world: &WorldScenario, results: &[WorldResult], rows: &mut [Results]) {
    let simulated = results.iter().map(|result| result.simulated);
    if simulated.sum::<Duration>() < world.total() {
        return;
    }
    for number in 0..world.workloads.len() {
        let workloads = results.iter().map(|result| &result.workloads[number]);
        let times: Vec<(&[Durations], &Durations)> =
            workloads.map(|workload| (&*workload.by_run, &workload.cost.fct)).collect();
        let intervals = intervals::of_runs(&times, world.seed).into_iter();
        for (result, intervals) in rows.iter_mut().zip(intervals.flatten()) {
            result.workloads[number].entry.intervals = Some(intervals);
        }
    }
}

/// The world with its keys, a line for each link and workload. Those of `left_out` are left out.
pub(crate) fn heading(world: &WorldScenario, left_out: &[&str]) -> String {
    let mut text = world.name.clone();
    let values = world.values();
    let mut above = "";
    let shown = values.iter();
    for (key, value) in shown.filter(|(key, _)| !left_out.contains(&key.as_str())) {
        let (part, key) = key.rsplit_once('.').unwrap_or(("", key));
        let part = match part.match_indices('.').nth(1) {
            // The settings of one kind, such as rto.min, have a dot of their own.
            Some((end, _)) => &part[..end],
            None => part,
        };
        if part != above {
            text += &format!("\n{part}");
            above = part;
        }
        text += &format!(" {key}={value}");
    }
    text
}

impl Results {
    fn new(result: &WorldResult, first: Option<&WorldResult>) -> Self {
        let workloads = result.workloads.iter().enumerate().map(|(number, workload)| {
            let first = first.and_then(|first| {
                let workload = first.workloads.get(number)?;
                Some((&workload.cost, workload.goodput(first.simulated)))
            });
            WorkloadRow::new(result, workload, first)
        });
        let link = |link: &LinkResult| LinkRow {
            profile: result.profile.clone(),
            link: link.clone(),
            utilisation: link.utilisation(result.simulated).map(|share| share * 100.0),
        };
        Self {
            profile: result.profile.clone(),
            simulated: result.simulated,
            workloads: workloads.collect(),
            links: result.links.iter().map(link).collect(),
        }
    }
}

impl WorkloadRow {
    fn new(result: &WorldResult, workload: &WorkloadResult, first: Option<(&Cost, Option<f64>)>) -> Self {
        let of_profile = ProfileResult::simulated(&result.profile, workload.cost.clone());
        let goodput = workload.goodput(result.simulated);
        let first_goodput = first.and_then(|(_, goodput)| goodput);
        let normalised = goodput.zip(first_goodput);
        Self {
            workload: workload.name.clone(),
            entry: Entry::new(&of_profile, first.map(|(cost, _)| cost)),
            goodput: goodput.map(|bits| bits / 1e6),
            goodput_normalised: normalised.filter(|(_, first)| *first > 0.0).map(|(ours, first)| ours / first),
            fairness: workload.fairness,
        }
    }
}

pub(crate) fn workload_columns(of_entry: Columns<Entry>) -> Columns<WorkloadRow> {
    Columns::<WorkloadRow>::new()
        .column("workload", "", "the workload", |row| row.workload.clone())
        .all_of(of_entry, |row| Some(&row.entry))
        .column("goodput_mbps", "Mbit/s", "payload that arrived in both directions, divided by the time simulated", |row| row.goodput)
        .heading("Goodput")
        .column("goodput_normalised", "", "goodput divided by that of the first profile", |row| row.goodput_normalised)
        .heading("Goodput / first profile's")
        .column("jains_index", "", "Jain's fairness index of the bytes that the pairs of hosts received, the mean of all runs: 1 if all received the same, 1/n if one of n received everything", |row| row.fairness)
        .heading("Jain's fairness index of the pairs")
}

fn workload_table(rows: &[&WorkloadRow], view: View, keep: Keep) -> String {
    let entries: Vec<&Entry> = rows.iter().map(|row| &row.entry).collect();
    let mut lines = report::lines(&entries, view, keep);
    if view == View::Cost {
        let of_the_world = ["goodput_mbps", "goodput_normalised", "jains_index"];
        lines.extend(of_the_world.map(|name| Line { always: name == "goodput_mbps", ..name.into() }));
    }
    let columns = workload_columns(report::table_columns());
    let Comparison { text, left_out } = columns.compare(rows, "profile", &lines, keep);
    format!("{text}\n{}", report::left_out_note(left_out))
}

pub(crate) fn link_columns() -> Columns<LinkRow> {
    Columns::<LinkRow>::new()
        .column("link", "", "the link", |row| row.link.name.clone())
        .heading("Link")
        .column("direction", "", "up or down", |row| row.link.direction.name())
        .heading("Direction")
        .column("profile", "", "the profile that is compared", |row| row.profile.clone())
        .heading("Profile")
        .column("utilisation_percent", "%", "the share of its rate that the link carried", |row| row.utilisation)
        .heading("Utilisation")
        .digits(1)
        .column("packets", "packets", "packets that reached the link", |row| row.link.record.packets)
        .heading("Packets")
        .column("bytes_delivered", "bytes", "IP bytes of the packets that left the link", |row| {
            row.link.record.bytes_delivered
        })
        .heading("Delivered")
        .column(
            "dropped_by_queue",
            "packets",
            "packets dropped because the queue was full, or by its management",
            |row| row.link.record.dropped_by_queue,
        )
        .heading("Dropped by the queue")
        .share_of(|row| row.link.record.packets)
        .column("lost", "packets", "packets that a loss rule dropped", |row| row.link.record.lost)
        .heading("Lost by rule")
        .share_of(|row| row.link.record.packets)
        .column(
            "marked",
            "packets",
            "packets that the management of the queue marked: congestion experienced (RFC 3168)",
            |row| row.link.record.marked,
        )
        .heading("Marked")
        .share_of(|row| row.link.record.packets)
        .column(
            "flows_with_drops",
            "flows",
            "flows of which the link dropped a packet, by its queue or by a rule",
            |row| row.link.flows_with_drops,
        )
        .heading("Flows with drops")
        .column("most_drops_of_a_flow", "packets", "the most packets of one flow that the link dropped", |row| {
            row.link.most_drops_of_a_flow
        })
        .heading("Most drops of a flow")
        .group("queueing_ms", queueing_columns(), |row| Some(&row.link.record.queueing))
}

/// Quantiles of the queueing delays.
fn queueing_columns() -> Columns<QueueingDelays> {
    let about = "time that packets waited in the queues of the link before their transmission began";
    let parts = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];
    parts.into_iter().fold(Columns::new(), |columns, (name, share)| {
        columns
            .column(name, "ms", format!("{about}: {name}"), move |delays: &QueueingDelays| {
                delays.quantile(share).map(|delay| delay.as_secs_f64() * 1e3)
            })
            .heading(format!("Queueing {name}"))
    })
}

/// The links one below the other, each with all profiles.
fn link_table(mut links: Vec<LinkRow>) -> String {
    let order: Vec<String> = links.iter().map(|row| row.link.name.clone()).collect();
    links.sort_by_key(|row| {
        let place = order.iter().position(|name| *name == row.link.name);
        (place, row.link.direction as u8)
    });
    let columns = link_columns();
    let happens = |count: fn(&LinkResult) -> u64| links.iter().any(|row| count(&row.link) > 0);
    // The others are in JSON and CSV.
    let is_left_out = |name: &str| match name {
        "packets" | "bytes_delivered" | "flows_with_drops" | "most_drops_of_a_flow" => true,
        "lost" => !happens(|link| link.record.lost),
        "marked" => !happens(|link| link.record.marked),
        _ => false,
    };
    let names = columns.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !is_left_out(name)).collect();
    columns.to_text(&links, &names) + "\n"
}
