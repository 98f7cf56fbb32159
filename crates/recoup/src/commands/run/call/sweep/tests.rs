use super::*;
use recoup_lab::sweep::{Sweep, SweepReport};
use std::sync::atomic::{AtomicU64, Ordering};

/// Stops after so many flows.
struct Until {
    flows: u64,
    finished: AtomicU64,
}

impl Progress for Until {
    fn begins(&self, _: Work, _: u64) {}

    fn advanced(&self, by: u64) {
        self.finished.fetch_add(by, Ordering::Relaxed);
    }

    fn ends(&self) {}

    fn is_stopped(&self) -> bool {
        self.finished.load(Ordering::Relaxed) >= self.flows
    }
}

fn sweep(texts: &[&str], flows: u64) -> (Scenario, Sweep, SweepRequest) {
    let mut base = Scenario::load("tail-loss").unwrap();
    base.flows = flows;
    let texts: Vec<String> = texts.iter().map(|text| (*text).into()).collect();
    let sweep = Sweep::parse(&texts).unwrap();
    let request =
        SweepRequest { cells: sweep.scenarios(&base).unwrap(), simulate: true, real: Vec::new(), flows: None };
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
