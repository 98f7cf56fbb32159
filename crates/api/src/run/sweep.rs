//! Runs the cells of a sweep, several at a time.

use super::{Progress, Request, RunError, drop_without_effect, flows};
use recoup_lab::report::Report;
use recoup_lab::run::run_until;
use recoup_support::threads::{cores, in_parallel};
use recoup_lab::scenario::Scenario;
use recoup_lab::stage::{Ends, Stage};
use recoup_lab::sweep::Cell;
use recoup_lab::world::{WorldReport, WorldScenario};
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
}

/// The cells of a sweep over a world.
#[derive(Debug)]
pub struct WorldSweepRequest {
    /// The world of each cell.
    pub cells: Vec<(Cell, WorldScenario)>,
}

/// What a sweep found.
#[derive(Debug)]
pub struct SweepOutcome<R> {
    /// The finished cells in the order of the sweep. After an interruption, unfinished ones are missing.
    pub finished: Vec<(Cell, R)>,
    /// What the user should know of the results, a line each.
    pub notes: Vec<String>,
}

/// A finished cell's report, and its notes.
type Finished = (Report, Vec<String>);

impl SweepRequest {
    /// What has no effect on these cells, a line each.
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
        let finished = self.cells.iter().zip(outcomes);
        let finished = finished.filter_map(|((cell, _), outcome)| {
            let (report, notes) = outcome?;
            Some(((cell.clone(), report), notes))
        });
        let (finished, notes): (Vec<_>, Vec<_>) = finished.unzip();
        let cells = finished.iter().map(|(cell, _)| cell);
        let notes = merged(cells.zip(notes), finished.len());
        Ok(SweepOutcome { finished, notes })
    }

    /// The report and the notes of each cell in the simulator; `None` for cells that were not finished.
    fn simulated(&self, progress: &dyn Progress) -> Result<Vec<Option<Finished>>, RunError> {
        let totals = self.cells.iter().map(|(_, scenario)| total(scenario));
        progress.stage_begins(Stage::Sim, totals.fold(0, u64::saturating_add));
        let (cells, each) = division(self.cells.len());
        let outcomes = in_parallel(self.cells.len(), cells, |number| {
            let (_, scenario) = &self.cells[number];
            let done = |flows| progress.flows_finished(flows);
            if progress.is_stopped() {
                return Ok(None);
            }
            let results = run_until(scenario, each, done, || progress.is_stopped())?;
            let finished = results.iter().map(|result| result.cost.flows);
            let is_finished = finished.sum::<u64>() == total(scenario);
            Ok(is_finished.then(|| {
                let notes = drop_without_effect(scenario, &results);
                (Report::new(scenario, &results), notes.into_iter().collect())
            }))
        });
        progress.stage_ends();
        outcomes
    }
}

/// The flows of all profiles together.
fn total(scenario: &Scenario) -> u64 {
    flows(scenario, scenario.profiles.len())
}

/// How many cells run at a time, and the number of threads of each.
fn division(cells: usize) -> (usize, usize) {
    let at_a_time = cores().min(cells.max(1));
    (at_a_time, cores().div_ceil(at_a_time))
}

impl WorldSweepRequest {
    /// The time to simulate, of all worlds together.
    pub fn total(&self) -> Duration {
        let worlds = self.cells.iter().map(|(_, world)| world.total());
        worlds.fold(Duration::ZERO, Duration::saturating_add)
    }

    /// Runs all cells. `done` and `is_stopped` are those of [`WorldRequest::run`](super::world::WorldRequest::run).
    /// The result does not depend on the number of cores.
    ///
    /// # Errors
    /// A world that cannot be built.
    pub fn run(
        &self,
        done: &(dyn Fn(Duration) + Sync),
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<SweepOutcome<WorldReport>, RunError> {
        let (cells, each) = division(self.cells.len());
        let results = in_parallel(self.cells.len(), cells, |number| {
            let (_, world) = &self.cells[number];
            if is_stopped() {
                return Ok(None);
            }
            let results = world.run(each, done, is_stopped).map_err(RunError::World)?;
            let simulated = results.iter().map(|result| result.simulated);
            let is_finished = simulated.sum::<Duration>() == world.total();
            let report = || {
                let notes = super::world::cut_off(world, &results);
                (WorldReport::new(world, &results), notes)
            };
            Ok::<_, RunError>(is_finished.then(report))
        })?;
        let finished = self.cells.iter().zip(results);
        let finished = finished.filter_map(|((cell, _), result)| {
            let (report, notes) = result?;
            Some(((cell.clone(), report), notes))
        });
        let (finished, notes): (Vec<_>, Vec<_>) = finished.unzip();
        let cells = finished.iter().map(|(cell, _)| cell);
        let notes = merged(cells.zip(notes), finished.len());
        Ok(SweepOutcome { finished, notes })
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
mod tests {
    use super::*;
    use recoup_lab::sweep::{Sweep, SweepReport};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Stops after so many flows.
    struct Until {
        flows: u64,
        finished: AtomicU64,
    }

    impl Progress for Until {
        fn stage_begins(&self, _: Stage, _: u64) {}

        fn flows_finished(&self, flows: u64) {
            self.finished.fetch_add(flows, Ordering::Relaxed);
        }

        fn stage_ends(&self) {}

        fn is_stopped(&self) -> bool {
            self.finished.load(Ordering::Relaxed) >= self.flows
        }
    }

    fn sweep(texts: &[&str], flows: u64) -> (Scenario, Sweep, SweepRequest) {
        let mut base = Scenario::load("tail-loss").unwrap();
        base.flows = flows;
        let texts: Vec<String> = texts.iter().map(|text| (*text).into()).collect();
        let sweep = Sweep::parse(&texts).unwrap();
        let request = SweepRequest { cells: sweep.scenarios(&base).unwrap(), simulate: true, real: Vec::new() };
        (base, sweep, request)
    }

    #[test]
    fn a_cell_is_the_same_as_a_run_of_its_own() {
        let (_, _, request) = sweep(&["drop=bernoulli:2%,bernoulli:8%", "rtt=10ms,40ms"], 70);
        let all = Until { flows: u64::MAX, finished: AtomicU64::new(0) };
        let outcome = request.run(&all).unwrap();
        assert_eq!(outcome.finished.len(), 4);
        assert_eq!(all.finished.into_inner(), 4 * 3 * 70);
        for ((cell, report), (_, scenario)) in outcome.finished.iter().zip(&request.cells) {
            let alone = recoup_lab::run::run(scenario, 1, |_| ()).unwrap();
            let alone = Report::new(scenario, &alone);
            assert_eq!(report.to_json(), alone.to_json(), "{cell}");
        }
    }

    #[test]
    fn an_interrupted_sweep_has_whole_cells_and_names_the_others() {
        let (base, sweep, request) = sweep(&["rtt=1ms,2ms,3ms,4ms,5ms,6ms,7ms,8ms"], 1000);
        let until = Until {
            // The first cell's flows and some more.
            flows: 3500,
            finished: AtomicU64::new(0),
        };
        let outcome = request.run(&until).unwrap();
        for (cell, report) in &outcome.finished {
            let flows = report.results.iter().map(|entry| entry.result.cost.flows);
            assert_eq!(flows.collect::<Vec<_>>(), [1000; 3], "{cell}");
        }
        let report = SweepReport::of_pairs(&base, &sweep, &outcome.finished).unwrap();
        let missing = report.missing().len();
        assert_eq!(outcome.finished.len() + missing, 8);
        assert!(missing >= 5, "{missing}");
        assert_eq!(report.missing()[missing - 1].to_string(), "rtt=8ms");
    }

    #[test]
    fn a_note_stands_once_with_the_cells_it_is_about() {
        let (_, sweep, _) = sweep(&["rtt=1ms,2ms,3ms"], 1);
        let cells = sweep.cells();
        let notes = [&["all", "one"][..], &["all", "two"], &["all", "two"]];
        let notes = notes.map(|notes| notes.iter().map(|note| (*note).into()).collect());
        assert_eq!(merged(cells.iter().zip(notes), 3), ["all", "rtt=1ms: one", "rtt=2ms and others: two"]);
    }
}
