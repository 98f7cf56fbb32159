//! A row for each flow of a run: what it carried, how long it took and what its loss recovery did.
//!
//! Flows end on several threads, in no order. A run is therefore cut into tasks that are numbered in the order of the
//! rows, and a [`FlowSink`] gets the rows of one task at a time. [`InOrder`] brings the tasks into their order. It holds
//! the rows of tasks that are ahead of the first one that is missing.

mod columns;

pub use columns::{SCHEMA, columns};

use crate::scenario::Scenario;
use crate::sweep::Cell;
use recoup_recovery::{Counters, Profile};
use recoup_tcp::Endpoint;
use recoup_tcp::flow::FlowRecord;
use recoup_units::{FlowId, Instant, Offset};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// What the rows of one profile, run and workload have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowGroup {
    /// The cell of a sweep.
    pub cell: Option<Cell>,
    /// The sender's profile.
    pub profile: String,
    /// The workload of a world.
    pub workload: Option<String>,
    /// The run of a world, from 0.
    pub run: Option<u64>,
    /// The seed of the run.
    pub seed: u64,
}

/// One flow of a run.
#[derive(Clone, Debug)]
pub struct FlowRow {
    /// What it has in common with other flows.
    pub group: Arc<FlowGroup>,
    /// Its number, from 0: in a world among the flows of its workload. The random choices of the network follow from it
    /// and the seed.
    pub flow: FlowId,
    /// When it began in simulated time; on a path of its own 0.
    pub begin: Instant,
    /// How it ended.
    pub outcome: Outcome,
    /// Payload bytes that the client and the server wrote.
    pub written: [u64; 2],
    /// Payload bytes that arrived in order, of both directions.
    pub delivered: u64,
    /// Its cost.
    pub record: FlowRecord,
}

/// How a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The last byte of data arrived.
    Completed,
    /// A sender gave up, because its user timeout passed.
    TimedOut,
    /// It was open when the simulated time ended, or nothing more could happen to it.
    Incomplete,
}

impl Outcome {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TimedOut => "timed_out",
            Self::Incomplete => "incomplete",
        }
    }
}

impl FlowRow {
    /// The row of a flow that has ended. `endpoints` are those of client and server.
    pub fn new(
        group: &Arc<FlowGroup>,
        flow: FlowId,
        begin: Instant,
        record: &FlowRecord,
        endpoints: [&Endpoint; 2],
    ) -> Self {
        let gave_up = endpoints.iter().any(|endpoint| endpoint.sender().gave_up());
        Self {
            group: group.clone(),
            flow,
            begin,
            outcome: match record.fct {
                Some(_) => Outcome::Completed,
                None if gave_up => Outcome::TimedOut,
                None => Outcome::Incomplete,
            },
            written: endpoints.map(written),
            delivered: endpoints.iter().map(|endpoint| delivered(endpoint)).sum(),
            record: *record,
        }
    }

    fn counters(&self) -> &Counters {
        &self.record.counters
    }
}

/// The payload bytes that the application of an endpoint wrote.
fn written(endpoint: &Endpoint) -> u64 {
    let sender = endpoint.sender();
    let fin = u64::from(sender.fin().is_some());
    sender.limit().0.saturating_sub(Offset::DATA.0 + fin)
}

/// The payload bytes that an endpoint received in order.
pub(crate) fn delivered(endpoint: &Endpoint) -> u64 {
    let receiver = endpoint.receiver();
    let fin = u64::from(receiver.finished());
    receiver.next().0.saturating_sub(Offset::DATA.0 + fin)
}

/// Takes the rows of a run. Calls come from any thread.
pub trait FlowSink: Debug + Send + Sync {
    /// Takes all rows of a task. Tasks count from 0 in the order of the rows, and come in any order.
    fn add(&self, task: u64, rows: Vec<FlowRow>);
}

/// A part of a run whose rows go to a sink.
#[derive(Clone, Debug)]
pub struct FlowOutput {
    /// Takes the rows.
    pub sink: Arc<dyn FlowSink>,
    /// The cell of a sweep whose rows they are.
    pub cell: Option<Cell>,
    /// The number of the first task.
    pub first_task: u64,
}

impl FlowOutput {
    /// The rows of a whole run.
    pub fn new(sink: Arc<dyn FlowSink>) -> Self {
        Self { sink, cell: None, first_task: 0 }
    }

    /// The rows of a cell of a sweep, whose tasks begin with `first_task`.
    pub fn of_cell(sink: &Arc<dyn FlowSink>, cell: &Cell, first_task: u64) -> Self {
        Self { sink: sink.clone(), cell: Some(cell.clone()), first_task }
    }

    /// What the flows of a profile on paths of their own have in common.
    pub(crate) fn group(&self, scenario: &Scenario, profile: &Profile) -> Arc<FlowGroup> {
        Arc::new(FlowGroup {
            cell: self.cell.clone(),
            profile: profile.name().into(),
            workload: None,
            run: None,
            seed: scenario.seed,
        })
    }

    /// Hands over the rows of a task of this part, from 0.
    pub(crate) fn add(&self, task: u64, rows: Vec<FlowRow>) {
        self.sink.add(self.first_task + task, rows);
    }
}

/// Brings tasks into their order.
#[derive(Debug, Default)]
pub struct InOrder<T> {
    next: u64,
    ahead: BTreeMap<u64, T>,
}

impl<T> InOrder<T> {
    /// Takes what belongs to `task`, and passes on everything whose turn it is.
    ///
    /// # Errors
    /// The first error of `pass`.
    pub fn add<E>(&mut self, task: u64, rows: T, mut pass: impl FnMut(T) -> Result<(), E>) -> Result<(), E> {
        self.ahead.insert(task, rows);
        while let Some(rows) = self.ahead.remove(&self.next) {
            self.next += 1;
            pass(rows)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
