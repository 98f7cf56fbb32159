use super::*;
use crate::run::{flow_tasks, run_with_flows};
use crate::sweep::Sweep;
use crate::world::WorldScenario;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

/// Keeps the rows in the order of their tasks.
#[derive(Debug, Default)]
struct Kept(Mutex<(InOrder<Vec<FlowRow>>, Vec<FlowRow>)>);

impl FlowSink for Kept {
    fn add(&self, task: u64, rows: Vec<FlowRow>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (order, all) = &mut *kept;
        let Ok(()) = order.add(task, rows, |rows| {
            all.extend(rows);
            Ok::<_, Infallible>(())
        });
    }
}

/// The rows as CSV of what `run` hands over.
fn csv<'a>(swept: impl IntoIterator<Item = &'a str>, run: impl FnOnce(&Arc<dyn FlowSink>)) -> String {
    let kept = Arc::new(Kept::default());
    let sink: Arc<dyn FlowSink> = kept.clone();
    run(&sink);
    drop(sink);
    let kept = Arc::into_inner(kept).expect("one owner").0.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(kept.0.ahead.is_empty(), "a task is missing");
    columns(swept).to_csv(&kept.1)
}

/// The cells of a column.
fn column<'a>(csv: &'a str, name: &str) -> Vec<&'a str> {
    let place = csv.lines().next().unwrap().split(',').position(|one| one == name);
    let place = place.unwrap_or_else(|| panic!("no column {name}"));
    csv.lines().skip(1).map(|line| line.split(',').nth(place).unwrap()).collect()
}

fn sum(csv: &str, name: &str) -> f64 {
    column(csv, name).iter().map(|cell| cell.parse::<f64>().unwrap_or(0.0)).sum()
}

fn lossy(flows: u64) -> Scenario {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.flows = flows;
    scenario.set("drop", "bernoulli:0.1").unwrap();
    scenario
}

#[test]
fn the_rows_add_up_to_the_results_on_any_number_of_threads() {
    let scenario = lossy(150);
    let rows = |threads| {
        let mut results = Vec::new();
        let csv = csv([], |sink| {
            let output = FlowOutput::new(sink.clone());
            results = run_with_flows(&scenario, threads, Some(&output), |_| (), || false).unwrap();
        });
        (csv, results)
    };
    let (csv, results) = rows(4);
    assert_eq!(rows(1).0, csv);
    assert_eq!(flow_tasks(&scenario), 3 * scenario.profiles.len() as u64);
    let flows: Vec<String> = scenario.profiles.iter().flat_map(|_| (0..150).map(|n| n.to_string())).collect();
    assert_eq!(column(&csv, "flow"), flows);
    let total = |of: fn(&crate::run::Cost) -> u64| results.iter().map(|result| of(&result.cost)).sum::<u64>() as f64;
    for (name, expected) in [
        ("segments_sent", total(|cost| cost.segments_sent)),
        ("bytes_sent", total(|cost| cost.bytes_sent)),
        ("packets_dropped", total(|cost| cost.packets_dropped)),
        ("retransmissions_total", total(|cost| cost.counters.retransmissions.total())),
        ("timeouts", total(|cost| cost.counters.timeouts.iter().sum())),
        ("spurious", total(|cost| cost.spurious)),
        ("probes", total(|cost| cost.counters.probes)),
    ] {
        assert!(expected > 0.0, "{name}");
        assert_eq!(sum(&csv, name), expected, "{name}");
    }
    let fct = results.iter().map(|result| result.cost.fct.summary().unwrap().mean * result.cost.completed as f64);
    assert!((sum(&csv, "fct_ms") - fct.sum::<f64>()).abs() < 1e-3);
    assert!(column(&csv, "server_bytes").iter().all(|bytes| *bytes == "14480"));
    assert!(column(&csv, "delivered_bytes").iter().all(|bytes| *bytes == "14480"));
    assert!(column(&csv, "outcome").iter().all(|outcome| *outcome == "completed"));
}

#[test]
fn a_flow_that_does_not_complete_says_why() {
    let mut scenario = lossy(1);
    scenario.set("drop", "bernoulli:1").unwrap();
    scenario.set("user_timeout", "3s").unwrap();
    let csv = csv([], |sink| {
        run_with_flows(&scenario, 1, Some(&FlowOutput::new(sink.clone())), |_| (), || false).unwrap();
    });
    assert!(column(&csv, "outcome").iter().all(|outcome| *outcome == "timed_out"), "{csv}");
    assert!(column(&csv, "fct_ms").iter().all(|fct| fct.is_empty()), "{csv}");
}

#[test]
fn rows_of_a_sweep_have_their_cells_values() {
    let sweep = Sweep::parse(&["rtt=20ms,40ms".into()]).unwrap();
    let cells = sweep.scenarios(&lossy(70)).unwrap();
    let csv = csv(sweep.keys(), |sink| {
        // The second cell is done first.
        for (cell, scenario) in cells.iter().rev() {
            let output = FlowOutput::of_cell(sink, cell, cell.number as u64 * flow_tasks(scenario));
            run_with_flows(scenario, 2, Some(&output), |_| (), || false).unwrap();
        }
    });
    let profiles = cells[0].1.profiles.len();
    let each = |value: &'static str| vec![value; 70 * profiles];
    assert_eq!(column(&csv, "cell"), [each("0"), each("1")].concat());
    assert_eq!(column(&csv, "set_rtt"), [each("20ms"), each("40ms")].concat());
}

#[test]
fn worlds_have_a_row_for_each_flow_of_each_run() {
    let text = "profiles = [\"linux-6\", \"linux-3.17\"]\nduration = \"2s\"\nruns = 2\n\
        [links.bottleneck]\nbetween = [\"a\", \"b\"]\ndelay = \"10ms\"\nrate = \"5Mbit\"\nqueue = 10\n\
        [workloads.fetches]\nclient = \"a\"\nserver = \"b\"\nflows = 20\nevery = \"50ms\"\nsegments = 20\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    std::fs::write(&file, text).unwrap();
    let crate::scenario::Experiment::World(world) = crate::scenario::Experiment::load(file.to_str().unwrap()).unwrap()
    else {
        panic!("a world")
    };
    let world: WorldScenario = *world;
    let mut results = Vec::new();
    let csv = csv([], |sink| {
        let output = FlowOutput::new(sink.clone());
        results = world.run_with_flows(3, Some(&output), |_| (), || false).unwrap();
    });
    let flows: u64 = results.iter().map(|result| result.workloads[0].cost.flows).sum();
    assert_eq!(column(&csv, "flow").len() as u64, flows);
    let segments: u64 = results.iter().map(|result| result.workloads[0].cost.segments_sent).sum();
    assert_eq!(sum(&csv, "segments_sent"), segments as f64);
    let delivered: u64 = results.iter().map(|result| result.workloads[0].delivered).sum();
    assert_eq!(sum(&csv, "delivered_bytes"), delivered as f64);
    let begins: Vec<f64> = column(&csv, "begin_ms").iter().map(|cell| cell.parse().unwrap()).collect();
    assert!(begins.iter().any(|begin| *begin > 100.0), "{csv}");
    assert_eq!(column(&csv, "run").iter().filter(|run| **run == "1").count() as u64, flows / 2);
    assert!(column(&csv, "workload").iter().all(|name| *name == "fetches"));
}
