//! `recoup.partition`: one long capture, analyzed in parts on several machines. Values travel as bytes.

use crate::errors::{RecoupError, capture, wrong};
use crate::settings::{self, Options};
use crate::table::Table;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use recoup_captures::analysis::{AllConnections, AllEpisodes, AllRetransmissions, Summary, Tabular};
use recoup_captures::partition::{
    self as captures, CapturePlan, Decision, PartitionView, PartitioningError, SplitFile, ValueError,
};
use recoup_support::suggest::did_you_mean;
use recoup_trace::analyze::{ForeignFacts, PartitionAnalysis, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;

/// The tables that an analysis in parts gives.
#[derive(Clone, Copy)]
enum View {
    Retransmissions,
    Episodes,
    Connections,
    Summary,
}

impl View {
    const ALL: [(&'static str, Self); 4] = [
        ("retransmissions", Self::Retransmissions),
        ("episodes", Self::Episodes),
        ("connections", Self::Connections),
        ("summary", Self::Summary),
    ];

    fn named(name: &str) -> PyResult<Self> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, view)| view).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name);
            let (all, hint) = (names.join(", "), did_you_mean(name, names));
            wrong(format_args!("table {name}: expected {all}{hint}"))
        })
    }
}

fn to_bytes<T: Serialize>(value: &T) -> PyResult<Vec<u8>> {
    captures::to_bytes(value).map_err(damaged)
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    captures::from_bytes(bytes).map_err(damaged)
}

fn damaged(error: ValueError) -> PyErr {
    RecoupError::new_err(error.to_string())
}

fn error(error: PartitioningError) -> PyErr {
    match error {
        PartitioningError::Read(_) | PartitioningError::Analysis(_) => capture(error),
        other => wrong(other),
    }
}

/// What [`split`] returns: the record as bytes, why the capture cannot be read, the number of packets of each
/// partition.
type Split<'py> = (Bound<'py, PyBytes>, Option<String>, Vec<u64>);

/// Splits a capture file into the packets of each partition.
#[pyfunction]
pub fn split<'py>(
    py: Python<'py>,
    capture: PathBuf,
    folder: PathBuf,
    partitions: usize,
    options: Options,
) -> PyResult<Split<'py>> {
    settings::input(std::slice::from_ref(&capture), false)?;
    let settings = options.settings()?;
    let split = py.detach(|| captures::split(&capture, &folder, partitions, &settings));
    let split = split.map_err(error)?;
    let bytes = py.detach(|| to_bytes(&split))?;
    Ok((PyBytes::new(py, &bytes), split.failure, split.packets))
}

/// What [`plan`] returns: the plan as bytes, the number of partitions, why captures were left out, and the name of the
/// joined capture.
type Plan<'py> = (Bound<'py, PyBytes>, usize, Vec<String>, String);

/// Plans the analysis of the capture that these files make up.
#[pyfunction]
pub fn plan<'py>(py: Python<'py>, splits: Vec<Vec<u8>>, options: Options) -> PyResult<Plan<'py>> {
    let settings = options.settings()?;
    let planned = py.detach(|| {
        let files = splits.iter().map(|split| from_bytes::<SplitFile>(split));
        let files = files.collect::<PyResult<Vec<_>>>()?;
        let plan = captures::plan(&files, &settings).map_err(error)?;
        Ok::<_, PyErr>((to_bytes(&plan)?, plan))
    });
    let (bytes, plan) = planned?;
    let name = plan.name().to_owned();
    Ok((PyBytes::new(py, &bytes), plan.partitions, plan.failures, name))
}

/// Analyzes the connections of one partition; the result is bytes.
#[pyfunction]
pub fn analyze_partition<'py>(
    py: Python<'py>,
    plan: Vec<u8>,
    number: usize,
    facts: Option<Vec<u8>>,
    table: &str,
    options: Options,
) -> PyResult<Bound<'py, PyBytes>> {
    let (view, settings) = (View::named(table)?, options.settings()?);
    let bytes = py.detach(|| {
        let plan: CapturePlan = from_bytes(&plan)?;
        let facts = facts.map(|facts| from_bytes::<ForeignFacts>(&facts));
        let facts = Arc::new(facts.transpose()?.unwrap_or_default());
        match view {
            View::Retransmissions => of_one::<AllRetransmissions>(&plan, number, &facts, &settings),
            View::Episodes => of_one::<AllEpisodes>(&plan, number, &facts, &settings),
            View::Connections => of_one::<AllConnections>(&plan, number, &facts, &settings),
            View::Summary => of_one::<Summary>(&plan, number, &facts, &settings),
        }
    });
    Ok(PyBytes::new(py, &bytes?))
}

fn of_one<V: PartitionView>(
    plan: &CapturePlan,
    number: usize,
    facts: &Arc<ForeignFacts>,
    settings: &Settings,
) -> PyResult<Vec<u8>> {
    let analysis = captures::analyze_partition::<V>(plan, number, facts, settings);
    to_bytes(&analysis.map_err(error)?)
}

/// What [`settle`] returns: the table and notes, or the partitions to analyze again and the facts for it.
type Settled<'py> = (Option<Table>, Vec<String>, Vec<usize>, Option<Bound<'py, PyBytes>>);

/// Puts the analyses of all partitions together, or says which are to be made again.
#[pyfunction]
pub fn settle<'py>(py: Python<'py>, plan: Vec<u8>, analyses: Vec<Vec<u8>>, table: &str) -> PyResult<Settled<'py>> {
    let view = View::named(table)?;
    let outcome = py.detach(|| {
        let plan: CapturePlan = from_bytes(&plan)?;
        match view {
            View::Retransmissions => decide::<AllRetransmissions>(&plan, &analyses),
            View::Episodes => decide::<AllEpisodes>(&plan, &analyses),
            View::Connections => decide::<AllConnections>(&plan, &analyses),
            View::Summary => decide::<Summary>(&plan, &analyses),
        }
    });
    Ok(match outcome? {
        Outcome::Final(table, notes) => (Some(table), notes, vec![], None),
        Outcome::Again(partitions, facts) => (None, vec![], partitions, Some(PyBytes::new(py, &facts))),
    })
}

enum Outcome {
    Final(Table, Vec<String>),
    Again(Vec<usize>, Vec<u8>),
}

const MEMORY_LIMIT: &str = "the connections of all partitions together exceeded the limit of memory of one analysis: \
     it would have closed some of them early, so its rows may differ";

fn decide<V: PartitionView + Tabular>(plan: &CapturePlan, analyses: &[Vec<u8>]) -> PyResult<Outcome> {
    let analyses = analyses.iter().map(|one| from_bytes::<PartitionAnalysis<V>>(one));
    let analyses = analyses.collect::<PyResult<Vec<_>>>()?;
    Ok(match captures::settle(plan, analyses).map_err(error)? {
        Decision::Final(found) => {
            let mut notes = found.analyzed.notes();
            if found.reached_memory_limit {
                notes.push(MEMORY_LIMIT.into());
            }
            Outcome::Final(Table::of(&found.analyzed)?, notes)
        }
        Decision::Again { partitions, facts, .. } => Outcome::Again(partitions, to_bytes(&facts)?),
    })
}
