//! The results of a sweep, as text, JSON and CSV: one long table, and in JSON a list of cells.

use super::{Cell, Sweep};
use crate::report::{self, Entry, Report};
use crate::scenario::Scenario;
use crate::world::report::{self as world_report, LinkRow, WorkloadRow};
use crate::world::{WorldReport, WorldScenario};
#[cfg(feature = "arrow")]
use arrow_schema::ArrowError;
#[cfg(feature = "arrow")]
use recoup_table::{Batches, Part};
use recoup_table::{Columns, Schema};
use serde_json::{Map, Value, json};

/// The schema of the JSON document of a sweep over one pair of hosts.
pub const PAIR_SCHEMA: Schema = Schema { name: "recoup.sweep", version: 1 };

/// The schema of the JSON document of a sweep over a world.
pub const WORLD_SCHEMA: Schema = Schema { name: "recoup.world_sweep", version: 1 };

/// The results of a sweep.
#[derive(Clone, Debug)]
pub struct SweepReport {
    pub(super) scenario: String,
    seed: u64,
    pub(super) keys: Vec<String>,
    /// The scenario and its keys, without those that are swept.
    heading: String,
    /// The cells in JSON.
    cells: Vec<Value>,
    /// The cells that were not finished.
    missing: Vec<Cell>,
    pub(super) rows: Rows,
}

/// The rows of the tables.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    Pair(Vec<Row<Entry>>),
    World(Vec<Row<WorkloadRow>>, Vec<Row<LinkRow>>),
}

/// A row of a cell.
#[derive(Clone, Debug)]
pub(super) struct Row<T> {
    pub cell: Cell,
    /// The cell's settings.
    settings: Map<String, Value>,
    pub of: T,
}

impl SweepReport {
    /// The report of these finished cells of a sweep over one pair of hosts.
    ///
    /// # Errors
    /// Results that JSON cannot express.
    pub fn of_pairs(base: &Scenario, sweep: &Sweep, finished: &[(Cell, Report)]) -> Result<Self, serde_json::Error> {
        let columns = report::columns();
        let mut rows = Vec::new();
        let mut cells = Vec::new();
        for (cell, report) in finished {
            let results = serde_json::to_value(columns.to_json(&report.results))?;
            cells.push(cell_to_json(cell, &report.settings, results));
            rows.extend(report.results.iter().map(|entry| Row {
                cell: cell.clone(),
                settings: report.settings.clone(),
                of: entry.clone().without_distributions(),
            }));
        }
        let heading = report::heading(base, &sweep.keys().collect::<Vec<_>>());
        Ok(Self::new(sweep, (&base.name, base.seed), heading, cells, Rows::Pair(rows)))
    }

    /// The report of these finished cells of a sweep over a world.
    ///
    /// # Errors
    /// As [`of_pairs`](Self::of_pairs).
    pub fn of_worlds(
        base: &WorldScenario,
        sweep: &Sweep,
        finished: &[(Cell, WorldReport)],
    ) -> Result<Self, serde_json::Error> {
        let (mut workloads, mut links, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for (cell, report) in finished {
            let results = report.results_to_json()?.into();
            cells.push(cell_to_json(cell, report.settings(), results));
            let settings: Map<String, Value> =
                cell.values.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
            for result in &report.results {
                workloads.extend(result.workloads.iter().map(|workload| {
                    let mut of = workload.clone();
                    of.entry = of.entry.without_distributions();
                    Row { cell: cell.clone(), settings: settings.clone(), of }
                }));
                links.extend(result.links.iter().map(|link| Row {
                    cell: cell.clone(),
                    settings: settings.clone(),
                    of: link.clone(),
                }));
            }
        }
        let heading = world_report::heading(base, &sweep.keys().collect::<Vec<_>>());
        Ok(Self::new(sweep, (&base.name, base.seed), heading, cells, Rows::World(workloads, links)))
    }

    /// `cells` are the finished ones in JSON.
    fn new(sweep: &Sweep, (name, seed): (&str, u64), heading: String, cells: Vec<(usize, Value)>, rows: Rows) -> Self {
        let mut missing = sweep.cells();
        missing.retain(|cell| !cells.iter().any(|(number, _)| *number == cell.number));
        Self {
            scenario: name.into(),
            seed,
            keys: sweep.keys().map(String::from).collect(),
            heading,
            cells: cells.into_iter().map(|(_, cell)| cell).collect(),
            missing,
            rows,
        }
    }

    /// The cells that were not finished.
    pub fn missing(&self) -> &[Cell] {
        &self.missing
    }

    /// As JSON, indented, with a final newline.
    pub fn to_json(&self) -> String {
        let missing: Vec<Value> = self.missing.iter().map(swept).collect();
        let body = json!({
            "scenario": self.scenario,
            "seed": self.seed,
            "keys": self.keys,
            "cells": self.cells,
            "missing": missing,
        });
        let schema = match self.rows {
            Rows::Pair(_) => PAIR_SCHEMA,
            Rows::World(..) => WORLD_SCHEMA,
        };
        report::document(schema, &body)
    }

    /// As CSV, one line per cell and profile, in a world per cell, profile and workload. The columns are those of a
    /// single run, and the last ones the settings with the prefix `set_`: all of one pair of hosts, and of a world
    /// those that are swept.
    pub fn to_csv(&self) -> String {
        match &self.rows {
            Rows::Pair(rows) => self.pair_columns().to_csv(rows),
            Rows::World(rows, _) => self.world_columns().to_csv(rows),
        }
    }

    /// As Arrow, with the columns of CSV.
    ///
    /// # Errors
    /// If two columns have one name.
    #[cfg(feature = "arrow")]
    pub fn to_arrow(&self) -> Result<Batches, ArrowError> {
        let name = "";
        match &self.rows {
            Rows::Pair(rows) => self.pair_columns().to_arrow(&[Part { name, rows }]),
            Rows::World(rows, _) => self.world_columns().to_arrow(&[Part { name, rows }]),
        }
    }

    /// The columns of CSV for one pair of hosts.
    fn pair_columns(&self) -> Columns<Row<Entry>> {
        let settings = crate::settings::all().map(|setting| setting.key.to_owned());
        self.columns(report::columns(), settings)
    }

    /// The columns of CSV for a world.
    fn world_columns(&self) -> Columns<Row<WorkloadRow>> {
        let columns = world_report::workload_columns(report::columns());
        self.columns(columns, self.keys.iter().cloned())
    }

    /// As text: the scenario, and a table with one row per cell and profile. In a world the table has one row per cell,
    /// profile and workload, and a second one has the links.
    pub fn to_table(&self) -> String {
        let keys = || self.keys.iter().cloned();
        let tables = match &self.rows {
            Rows::Pair(rows) => {
                let columns = self.columns(report::table_columns(), keys());
                self.table(&columns, rows, &costs(rows.iter().map(|row| &row.of)))
            }
            Rows::World(rows, links) => {
                let columns = self.columns(world_report::workload_columns(report::table_columns()), keys());
                let mut names = vec!["workload"];
                names.extend(costs(rows.iter().map(|row| &row.of.entry)));
                names.retain(|name| *name != "spurious");
                names.extend(["goodput_mbps", "jains_index"]);
                let workloads = self.table(&columns, rows, &names);
                let columns = self.columns(world_report::link_columns(), keys());
                let names =
                    ["link", "direction", "profile", "utilisation_percent", "packets", "dropped_by_queue", "lost"];
                format!("{workloads}\nLinks\n\n{}", self.table(&columns, links, &names))
            }
        };
        format!("{}\n\n{tables}", self.heading)
    }

    /// The columns of a part with those of its cell.
    fn columns<T: 'static>(&self, of_part: Columns<T>, settings: impl Iterator<Item = String>) -> Columns<Row<T>> {
        let cell = Columns::<Row<T>>::new().column("cell", "", "the cell of the sweep, from 0", |row| row.cell.number);
        let mut columns = report::with_scenario(cell, &self.scenario, self.seed).all_of(of_part, |row| Some(&row.of));
        for key in settings {
            let heading = key.clone();
            columns = columns
                .column(format!("set_{key}"), "", "a setting of the scenario", move |row: &Row<T>| {
                    Some(row.settings.get(&key)?.as_str()?.to_owned())
                })
                .heading(heading);
        }
        columns
    }

    fn table<T: 'static>(&self, columns: &Columns<Row<T>>, rows: &[Row<T>], names: &[&str]) -> String {
        let keys: Vec<String> = self.keys.iter().map(|key| format!("set_{key}")).collect();
        let names: Vec<&str> = keys.iter().map(String::as_str).chain(names.iter().copied()).collect();
        columns.to_text(rows, &names) + "\n"
    }
}

/// The columns that the table shows of these results.
fn costs<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> Vec<&'static str> {
    let mut names = vec!["profile"];
    let mut stages = entries.clone().map(|entry| entry.result.stage);
    let first = stages.next();
    if stages.any(|stage| Some(stage) != first) {
        names.push("stage");
    }
    let cost = || entries.clone().map(|entry| &entry.result.cost);
    if cost().any(|cost| cost.completed < cost.flows) {
        names.push("completed");
    }
    // A single flow has one FCT.
    if cost().any(|cost| cost.flows > 1) {
        names.extend(["fct_ms_p50", "fct_ms_p99"]);
    }
    names.push("fct_ms_mean");
    names.extend(match entries.clone().any(|entry| entry.intervals.is_some()) {
        true => &["text_difference_mean", "text_ratio"][..],
        false => &["fct_normalised"],
    });
    names.extend(["retransmissions_total", "spurious"]);
    names
}

/// A cell with its number.
fn cell_to_json(cell: &Cell, settings: &Map<String, Value>, results: Value) -> (usize, Value) {
    let value = json!({
        "cell": cell.number,
        "swept": swept(cell),
        "settings": settings,
        "results": results,
    });
    (cell.number, value)
}

/// The keys of a cell with their values.
fn swept(cell: &Cell) -> Value {
    let pair = |(key, value): &(String, String)| json!({ "key": key, "value": value });
    cell.values.iter().map(pair).collect()
}
