use super::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts flows, and stops the run after `most` of them.
struct Counter {
    finished: AtomicU64,
    most: u64,
    begun: Mutex<Vec<(Work, u64)>>,
}

impl Counter {
    fn up_to(most: u64) -> Self {
        Self { finished: AtomicU64::new(0), most, begun: Mutex::default() }
    }
}

impl Progress for Counter {
    fn begins(&self, work: Work, size: u64) {
        self.begun.lock().unwrap().push((work, size));
    }

    fn advanced(&self, by: u64) {
        self.finished.fetch_add(by, Ordering::Relaxed);
    }

    fn ends(&self) {}

    fn is_stopped(&self) -> bool {
        self.finished.load(Ordering::Relaxed) >= self.most
    }
}

fn request(flows: u64) -> Request {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.flows = flows;
    scenario.profiles.truncate(2);
    Request { scenario, simulate: true, real: vec![], pcap: None, events: None, flows: None }
}

#[test]
fn every_flow_of_every_profile_is_run() {
    let progress = Counter::up_to(u64::MAX);
    let outcome = request(3).run(&progress).unwrap();
    assert!(!outcome.interrupted);
    assert_eq!(outcome.notes, [""; 0]);
    let flows: Vec<u64> = outcome.results.iter().map(|r| r.cost.flows).collect();
    assert_eq!(flows, [3, 3]);
    assert_eq!(*progress.begun.lock().unwrap(), [(Work::Flows(Stage::Sim), 6)]);
}

#[test]
fn a_stopped_run_has_the_results_of_the_finished_flows_and_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let events = dir.path().join("events");
    let request = Request { events: Some(events.clone()), ..request(100) };
    let outcome = request.run(&Counter::up_to(5)).unwrap();
    assert!(outcome.interrupted);
    let flows: Vec<u64> = outcome.results.iter().map(|r| r.cost.flows).collect();
    assert_eq!(flows, [5], "the second profile was not begun");
    let name = &outcome.results[0].profile;
    let note = format!("interrupted: {name} on sim 5 of 100 flows; captures and events are not written");
    assert_eq!(outcome.notes, [note]);
    assert!(!events.exists());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn losses_that_met_no_packet_are_noted() {
    let mut request = request(1);
    request.scenario.set("drop", "syn:9").unwrap();
    let outcome = request.run(&Counter::up_to(u64::MAX)).unwrap();
    let note = "drop=syn:9 met no packet; without up: it applies to the server's packets";
    assert_eq!(outcome.notes, [note]);
}

#[test]
fn files_are_checked_before_anything_is_run() {
    let mut request = request(1);
    request.scenario.profiles[1] = request.scenario.profiles[0].clone();
    request.pcap = Some("captures".into());
    let error = request.run(&Counter::up_to(u64::MAX)).unwrap_err();
    assert!(matches!(error, RunError::ProfileTwice(_)), "{error}");
}
