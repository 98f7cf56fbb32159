//! Runs the cells of a sweep, several at a time.

use super::{Progress, Request, RunError, Work, drop_without_effect, flows};
use recoup_lab::flows::{FlowOutput, FlowSink};
use recoup_lab::report::Report;
use recoup_lab::run::{flow_tasks, run_with_flows};
use recoup_lab::scenario::Scenario;
use recoup_lab::stage::{Ends, Stage};
use recoup_lab::sweep::Cell;
use recoup_lab::world::{WorldReport, WorldScenario};
use recoup_support::threads::{cores, in_parallel};
use std::sync::Arc;
use std::time::Duration;

/// The cells of a sweep over one pair of hosts.
#[derive(Debug)]
pub struct SweepRequest {
    /// The scenario of each cell.
    pub cells: Vec<(Cell, Scenario)>,
    /// Whether to run them in the simulator.
    pub simulate: bool,
    /// The stages with real packets to run them on, after the simulator.
    pub real: Vec<Ends>,
    /// Takes a row for each flow of the simulator.
    pub flows: Option<Arc<dyn FlowSink>>,
}

/// The cells of a sweep over a world.
#[derive(Debug)]
pub struct WorldSweepRequest {
    /// The world of each cell.
    pub cells: Vec<(Cell, WorldScenario)>,
    /// Takes a row for each flow.
    pub flows: Option<Arc<dyn FlowSink>>,
}

/// The results of a sweep.
#[derive(Debug)]
pub struct SweepOutcome<R> {
    /// The finished cells in the order of the sweep. After an interruption, unfinished ones are missing.
    pub finished: Vec<(Cell, R)>,
    /// Notes on the results, a line each.
    pub notes: Vec<String>,
}

/// A finished cell's report, and its notes.
type Finished = (Report, Vec<String>);

impl SweepRequest {
    /// Notes on settings that have no effect on these cells, a line each.
    pub fn notes(&self) -> Vec<String> {
        let notes = self.cells.iter().map(|(cell, scenario)| {
            let request = self.request(scenario);
            (cell, request.notes())
        });
        merged(notes, self.cells.len())
    }

    fn request(&self, scenario: &Scenario) -> Request {
        Request {
            scenario: scenario.clone(),
            simulate: self.simulate,
            real: self.real.clone(),
            pcap: None,
            events: None,
            flows: None,
        }
    }

    /// Runs all cells. The result does not depend on the number of cores.
    ///
    /// # Errors
    /// Settings that do not fit together, a system that refuses what a testbed needs.
    pub fn run(&self, progress: &dyn Progress) -> Result<SweepOutcome<Report>, RunError> {
        let outcomes = match self.real.is_empty() {
            true => self.simulated(progress)?,
            // Testbeds run one after another, because they measure real time.
            false => {
                let mut outcomes = Vec::new();
                for (_, scenario) in &self.cells {
                    if progress.is_stopped() {
                        break;
                    }
                    let outcome = self.request(scenario).run(progress)?;
                    outcomes.push((!outcome.interrupted).then(|| {
                        let report = Report::new(scenario, &outcome.results);
                        (report, outcome.notes)
                    }));
                }
                outcomes
            }
        };
        Ok(SweepOutcome::of(&self.cells, outcomes))
    }

    /// The report and the notes of each cell in the simulator; `None` for cells that were not finished.
    fn simulated(&self, progress: &dyn Progress) -> Result<Vec<Option<Finished>>, RunError> {
        let totals = self.cells.iter().map(|(_, scenario)| total(scenario));
        progress.begins(Work::Flows(Stage::Sim), totals.fold(0, u64::saturating_add));
        let (cells, each) = division(self.cells.len());
        let first_tasks = first_tasks(self.cells.iter().map(|(_, scenario)| flow_tasks(scenario)));
        let outcomes = in_parallel(self.cells.len(), cells, |number| {
            let (cell, scenario) = &self.cells[number];
            let rows = self.flows.as_ref().map(|sink| FlowOutput::of_cell(sink, cell, first_tasks[number]));
            let done = |flows| progress.advanced(flows);
            if progress.is_stopped() {
                return Ok(None);
            }
            let results = run_with_flows(scenario, each, rows.as_ref(), done, || progress.is_stopped())?;
            let finished = results.iter().map(|result| result.cost.flows);
            let is_finished = finished.sum::<u64>() == total(scenario);
            Ok(is_finished.then(|| {
                let notes = drop_without_effect(scenario, &results);
                (Report::new(scenario, &results), notes.into_iter().collect())
            }))
        });
        progress.ends();
        outcomes
    }
}

/// The flows of all profiles together.
fn total(scenario: &Scenario) -> u64 {
    flows(scenario, scenario.profiles.len())
}

/// The number of the first task of each cell, where the cells have so many tasks.
fn first_tasks(tasks: impl Iterator<Item = u64>) -> Vec<u64> {
    let before = tasks.scan(0_u64, |before, tasks| {
        let first = *before;
        *before = before.saturating_add(tasks);
        Some(first)
    });
    before.collect()
}

/// How many cells run at a time, and the number of threads of each.
fn division(cells: usize) -> (usize, usize) {
    let at_a_time = cores().min(cells.max(1));
    (at_a_time, cores().div_ceil(at_a_time))
}

impl WorldSweepRequest {
    /// Runs all cells. The result does not depend on the number of cores.
    ///
    /// # Errors
    /// A world that cannot be built.
    pub fn run(&self, progress: &dyn Progress) -> Result<SweepOutcome<WorldReport>, RunError> {
        let total = self.cells.iter().map(|(_, world)| world.total()).fold(Duration::ZERO, Duration::saturating_add);
        let (cells, each) = division(self.cells.len());
        let first_tasks = first_tasks(self.cells.iter().map(|(_, world)| world.flow_tasks()));
        let outcomes = super::world::follow(progress, total, |done, is_stopped| {
            in_parallel(self.cells.len(), cells, |number| {
                let (cell, world) = &self.cells[number];
                let rows = self.flows.as_ref().map(|sink| FlowOutput::of_cell(sink, cell, first_tasks[number]));
                if is_stopped() {
                    return Ok(None);
                }
                let results = world.run_with_flows(each, rows.as_ref(), done, is_stopped).map_err(RunError::World)?;
                let simulated = results.iter().map(|result| result.simulated);
                let is_finished = simulated.sum::<Duration>() == world.total();
                Ok::<_, RunError>(is_finished.then(|| {
                    let notes = super::world::cut_off(world, &results);
                    (WorldReport::new(world, &results), notes)
                }))
            })
        })?;
        Ok(SweepOutcome::of(&self.cells, outcomes))
    }
}

impl<R> SweepOutcome<R> {
    /// The reports and notes of the cells that were finished.
    fn of<S>(cells: &[(Cell, S)], outcomes: Vec<Option<(R, Vec<String>)>>) -> Self {
        let finished = cells.iter().zip(outcomes).filter_map(|((cell, _), outcome)| {
            let (report, notes) = outcome?;
            Some(((cell.clone(), report), notes))
        });
        let (finished, notes): (Vec<_>, Vec<_>) = finished.unzip();
        let cells = finished.iter().map(|(cell, _)| cell);
        let notes = merged(cells.zip(notes), finished.len());
        Self { finished, notes }
    }
}

/// The notes of several cells, each once, with the cell it is about unless it is about all of them.
fn merged<'a>(notes: impl Iterator<Item = (&'a Cell, Vec<String>)>, cells: usize) -> Vec<String> {
    let mut found: Vec<(String, &Cell, usize)> = Vec::new();
    for (cell, note) in notes.flat_map(|(cell, notes)| notes.into_iter().map(move |n| (cell, n))) {
        match found.iter_mut().find(|(known, ..)| *known == note) {
            Some((_, _, count)) => *count += 1,
            None => found.push((note, cell, 1)),
        }
    }
    let line = |(note, first, count): (String, &Cell, usize)| match count {
        all if all == cells => note,
        1 => format!("{first}: {note}"),
        _ => format!("{first} and others: {note}"),
    };
    found.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests;
