//! Scenarios are simulated, captured at their sender, and inferred again.

use super::*;
use crate::capture::Unwatched;
use recoup_lab::pcap::{Capture as CaptureFiles, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_sim::{NoObserver, Simulation};
use recoup_units::FlowId;
use std::path::Path;

fn scenario(profile: &str, flows: u64, settings: &[(&str, &str)]) -> Scenario {
    let mut scenario = Scenario::load("fetch").unwrap();
    let usual = [
        ("drop", "none"),
        ("rate", "none"),
        ("ack", "quick"),
        ("writes", "none"),
        ("request", "0"),
        ("rtt", "60ms"),
        ("exchanges", "300B>50kB"),
    ];
    for (key, value) in usual.iter().chain(settings) {
        scenario.settings.set(key, value, Path::new("")).unwrap();
    }
    scenario.profiles = vec![profile.parse().unwrap()];
    scenario.flows = flows;
    scenario
}

/// Simulates the flows, and writes what client and server see.
fn captured(scenario: &Scenario, dir: &Path) -> CapturePaths {
    let paths = CapturePaths::new(dir, "flows");
    let mut capture = CaptureFiles::create(&paths).unwrap();
    let spec = scenario.settings.flow(&scenario.profiles[0]);
    let mut simulation = Simulation::new(&scenario.settings.path().unwrap()).unwrap();
    for flow in 0..scenario.flows {
        simulation.run(&spec, scenario.seed, FlowId(flow), &mut capture);
    }
    capture.finish().unwrap();
    paths
}

fn infer(capture: &Path) -> Result<InferredScenario, InferenceError> {
    infer_scenario(crate::capture::Capture::open(capture)?, &Settings::default(), &Unwatched)
}

/// The scenario inferred from the capture at the host that sends most, loaded from its text.
fn again(scenario: &Scenario) -> (Scenario, String) {
    let dir = tempfile::tempdir().unwrap();
    let paths = captured(scenario, dir.path());
    let exchanges = &scenario.settings.exchanges;
    let down: u64 = exchanges.iter().map(|one| one.response).sum();
    let up: u64 = exchanges.iter().map(|one| one.request).sum();
    let text = infer(if down >= up { &paths.server } else { &paths.client }).unwrap().to_toml();
    let read = Scenario::parse("x", "x.toml", &text, Path::new("")).unwrap();
    read.check().unwrap();
    (read, text)
}

/// The mean completion time of so many flows, in seconds.
fn mean_fct(scenario: &Scenario, flows: u64) -> f64 {
    let spec = scenario.settings.flow(&scenario.profiles[0]);
    let mut simulation = Simulation::new(&scenario.settings.path().unwrap()).unwrap();
    let fct = |flow| {
        let record = simulation.run(&spec, 9, FlowId(flow), &mut NoObserver);
        record.fct.unwrap().as_secs_f64()
    };
    (0..flows).map(fct).sum::<f64>() / flows as f64
}

#[track_caller]
fn assert_settings(read: &Scenario, text: &str, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(read.settings.get(key).as_deref(), Some(*value), "{key} in\n{text}");
    }
}

#[test]
fn a_policer_comes_back_and_a_full_queue_is_none() {
    let policed = [("exchanges", "300B>3MB"), ("rate", "100Mbit"), ("drop", "policer:3Mbit,40kB")];
    let (read, text) = again(&scenario("linux-6", 12, &policed));
    let drop = read.settings.get("drop").unwrap();
    let rule = drop.strip_prefix("policer:").unwrap_or_else(|| panic!("{text}"));
    let rate = recoup_path::quantity::parse_rate(rule.split(',').next().unwrap()).unwrap();
    assert!((rate.bits_per_second() as f64 / 3e6 - 1.0).abs() < 0.05, "{text}");
    let queued = [("exchanges", "300B>3MB"), ("rate", "3Mbit"), ("queue", "30")];
    let (read, text) = again(&scenario("linux-6", 12, &queued));
    assert!(!read.settings.get("drop").unwrap().contains("policer"), "{text}");
}

#[test]
fn rtt_sizes_think_times_and_mss_come_back() {
    for exchanges in ["300B>50kB", "300B>20kB,1200ms,310B>30ms>5kB,5B>6B", "300B>20kB,700ms,0>9kB", "200kB>300B"] {
        let settings = [("exchanges", exchanges), ("mss", "1400"), ("rtt", "35ms")];
        let (read, text) = again(&scenario("linux-6", 6, &settings));
        assert_settings(&read, &text, &settings);
        assert_settings(&read, &text, &[("drop", "none"), ("rate", "none"), ("ack", "quick")]);
        assert_eq!(read.flows, 6, "{text}");
    }
}

#[test]
fn lost_positions_come_back_and_a_profile_that_repairs_them_alike() {
    for drop in ["tail:2", "data:5,data:7", "data:5,data:5@2"] {
        let settings = [("drop", drop)];
        let original = scenario("linux-3.17", 8, &settings);
        let (read, text) = again(&original);
        assert_settings(&read, &text, &settings);
        // Other profiles repair these losses in the same way.
        assert!(text.contains("reruns reproduce 8 as"), "{text}");
        assert_eq!(mean_fct(&read, 1), mean_fct(&original, 1), "{text}");
    }
}

/// The numbers of a rule such as `bernoulli:0.02`.
fn numbers(rule: &str) -> Vec<f64> {
    let (_, numbers) = rule.rsplit_once(':').unwrap();
    numbers.split(',').map(|n| n.parse().unwrap()).collect()
}

#[test]
fn loss_processes_come_back() {
    let settings = [("exchanges", "300B>300kB"), ("drop", "bernoulli:0.02")];
    let (read, text) = again(&scenario("linux-6", 60, &settings));
    let drop = read.settings.get("drop").unwrap();
    assert!(drop.starts_with("bernoulli:"), "{text}");
    assert!((numbers(&drop)[0] / 0.02 - 1.0).abs() < 0.15, "{text}");

    let settings = [("exchanges", "300B>300kB"), ("drop", "gilbert-elliott:0.005,0.4")];
    let (read, text) = again(&scenario("linux-6", 240, &settings));
    let drop = read.settings.get("drop").unwrap();
    assert!(drop.starts_with("gilbert-elliott:"), "{text}");
    let found = numbers(&drop);
    assert!((found[0] / 0.005 - 1.0).abs() < 0.25, "{text}");
    assert!((found[1] / 0.4 - 1.0).abs() < 0.25, "{text}");
}

/// The losses come back as a trace: as many as the path lost, in bursts as long.
#[test]
fn a_loss_trace_comes_back() {
    let simulated = scenario("linux-6", 60, &[("exchanges", "300B>300kB"), ("drop", "gilbert-elliott:0.01,0.4")]);
    let dir = tempfile::tempdir().unwrap();
    let text = infer(&captured(&simulated, dir.path()).server).unwrap().loss_trace;
    assert_eq!(text.lines().count(), 60, "{text}");
    let trace = recoup_path::LossTrace::parse(&text, '1').unwrap();
    let share = trace.losses() as f64 / trace.entries() as f64;
    assert!((share / (0.01 / 0.41) - 1.0).abs() < 0.2, "{share}");
    let bursts = text.split(|c| c != '1').filter(|burst| !burst.is_empty()).count();
    let length = trace.losses() as f64 / bursts as f64;
    assert!((length / (1.0 / 0.4) - 1.0).abs() < 0.2, "{length}");
    // A flow that meets these losses loses packets.
    let file = dir.path().join("losses");
    std::fs::write(&file, &text).unwrap();
    let replayed =
        scenario("linux-6", 20, &[("exchanges", "300B>300kB"), ("drop", &format!("trace:{}", file.display()))]);
    let dropped: u64 =
        recoup_lab::run::run(&replayed, 1, |_| ()).unwrap().iter().map(|one| one.cost.packets_dropped).sum();
    assert!(dropped > 50, "{dropped}");
}

#[test]
fn lost_acks_and_reordering_come_back() {
    let settings = [("exchanges", "300B>300kB"), ("drop", "up:bernoulli:0.03"), ("reorder", "down:0.01:8ms")];
    let (read, text) = again(&scenario("linux-6", 40, &settings));
    let get = |key: &str| read.settings.get(key).unwrap();
    assert!(get("drop").contains("up:bernoulli:"), "{text}");
    assert!((numbers(&get("drop"))[0] / 0.03 - 1.0).abs() < 0.4, "{text}");
    let reorder = read.settings.reorder.down.unwrap();
    assert!((reorder.probability.get() / 0.01 - 1.0).abs() < 0.5, "{text}");
    assert!((reorder.extra.as_secs_f64() / 0.008 - 1.0).abs() < 0.3, "{text}");
}

#[test]
fn the_rate_and_the_queue_come_back_and_their_losses_are_not_repeated() {
    let settings = [("exchanges", "300B>500kB"), ("rate", "down:8Mbit"), ("queue", "down:30p")];
    let (read, text) = again(&scenario("linux-6", 10, &settings));
    let rate = read.settings.rate.down.unwrap().bits_per_second() as f64;
    assert!((rate / 8e6 - 1.0).abs() < 0.03, "{text}");
    let recoup_path::Queue::Packets(limit) = read.settings.queue.down else {
        panic!("{text}");
    };
    assert!((28..=32).contains(&limit), "{text}");
    assert_settings(&read, &text, &[("drop", "none")]);
}

#[test]
fn receivers_that_delay_acks_and_other_initial_windows_come_back() {
    for (ack, window) in [("linux", "20"), ("delayed:100ms", "4")] {
        let settings = [("exchanges", "300B>300kB"), ("ack", ack), ("initial_window", window)];
        let (read, text) = again(&scenario("linux-6", 5, &settings));
        let expected = read.settings.get("ack").unwrap();
        assert!(expected.starts_with(ack), "{text}");
        assert_settings(&read, &text, &[("initial_window", window)]);
    }
}

#[test]
fn a_scenario_that_was_inferred_takes_as_long_as_the_capture() {
    let original = scenario("linux-6", 80, &[("exchanges", "300B>60kB,400ms,300B>9kB"), ("drop", "bernoulli:0.02")]);
    let (read, text) = again(&original);
    let [was, is] = [&original, &read].map(|one| mean_fct(one, 500));
    assert!((is / was - 1.0).abs() < 0.1, "{was} s, {is} s in\n{text}");
}

#[test]
fn a_capture_at_the_receiver_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let lossy = scenario("linux-6", 3, &[("drop", "data:3")]);
    let paths = captured(&lossy, dir.path());
    let error = infer(&paths.client).unwrap_err().to_string();
    let why =
        "no scenario can be inferred: of 3 connections, 3 cannot be used because: captured at the receiver of its data";
    assert!(error.ends_with(why) && !error.contains('\n'), "{error}");
}
