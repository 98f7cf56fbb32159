//! A capture at the sender shows BBR where losses do not reduce the sender's window, and never where they do or where
//! the application limits the sender.

use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_sim::Simulation;
use recoup_trace::analyze::{Kept, Settings, analyze};
use recoup_trace::finding::{Direction, Identification};
use recoup_trace::read::Reader;
use recoup_units::FlowId;
use std::path::Path;

/// Analyzes a flow with these settings, captured at its sender. `seed` draws its losses.
fn sender(control: &str, settings: &str, seed: u64) -> Direction {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    let common = [("ack", "linux"), ("cc", control)];
    let given = settings.split(' ').filter_map(|one| one.split_once('='));
    for (key, value) in common.into_iter().chain(given) {
        scenario.settings.set(key, value, Path::new("")).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let paths = CapturePaths::new(dir.path(), "flow");
    let mut capture = Capture::create(&paths).unwrap();
    let spec = scenario.settings.flow(&"linux-6".parse().unwrap());
    let mut simulation = Simulation::new(&scenario.settings.path().unwrap()).unwrap();
    simulation.run(&spec, seed, FlowId(0), &mut capture);
    capture.finish().unwrap();
    let reader = Reader::open(&paths.server).unwrap();
    let analysis = analyze(reader, &Settings::default(), Kept::default, |_| true).unwrap();
    let findings = analysis.findings.into_iter();
    let mut connections = findings.flat_map(|kept| kept.connections);
    let [_, sender] = connections.next().unwrap().directions;
    sender
}

/// The profiles that are named.
fn named(sender: &Direction) -> Vec<&str> {
    match &sender.profile {
        Identification::Several(several) => several.iter().map(|one| &*one.profile).collect(),
        other => other.best().map(|one| &*one.profile).into_iter().collect(),
    }
}

fn is_bbr(sender: &Direction) -> bool {
    named(sender).iter().any(|name| name.ends_with("+bbr1"))
}

/// Paths on which losses keep the window of CUBIC and of Reno below what the path holds.
const LOSSY: [&str; 3] = [
    "rate=10Mbit queue=100 rtt=60ms drop=bernoulli:1% segments=4000",
    "rate=10Mbit queue=100 rtt=40ms drop=bernoulli:5% segments=3000",
    "rate=20Mbit queue=8 rtt=30ms drop=bernoulli:2% segments=3000",
];

#[test]
fn bbr_is_named_where_its_window_outlasts_losses() {
    for settings in LOSSY {
        for seed in 1..=3 {
            let sender = sender("bbr1", settings, seed);
            let [names, window] = [format!("{:?}", named(&sender)), format!("{:?}", sender.window)];
            assert!(is_bbr(&sender), "{settings}, seed {seed}: {names}, {window}");
            assert!(named(&sender)[0] == "linux-6+bbr1", "{settings}: {names}");
        }
    }
}

#[test]
fn a_window_that_falls_is_never_bbr() {
    let others = [
        "rate=10Mbit queue=10 rtt=80ms drop=none segments=3000",
        "rate=10Mbit queue=100 rtt=40ms drop=bernoulli:10% segments=600",
        "rate=20Mbit queue=100 rtt=60ms drop=gilbert-elliott:0.002,0.2 segments=3000",
    ];
    for settings in LOSSY.into_iter().chain(others) {
        for control in ["cubic", "reno"] {
            for seed in 1..=3 {
                let sender = sender(control, settings, seed);
                let place = format!("{control}, {settings}, seed {seed}: {:?}", sender.window);
                assert!(!is_bbr(&sender), "{place}");
                assert_eq!(sender.window.unreduced, 0, "{place}");
            }
        }
    }
}

#[test]
fn few_losses_and_an_idle_application_show_nothing() {
    let undecided = [
        "rate=10Mbit queue=100 rtt=80ms drop=bernoulli:2% segments=60",
        "rate=10Mbit queue=100 rtt=60ms drop=bernoulli:2% \
         exchanges=500B>28kB,50ms,500B>28kB,50ms,500B>28kB,50ms,500B>28kB,50ms,500B>28kB",
    ];
    for settings in undecided {
        for control in ["bbr1", "cubic"] {
            let sender = sender(control, settings, 1);
            assert!(!is_bbr(&sender), "{control}, {settings}: {:?}", sender.window);
        }
    }
}
