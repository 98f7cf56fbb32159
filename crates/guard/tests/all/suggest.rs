//! `recoup guard suggest` on captures of simulated flows.

use crate::PROGRAM;
use recoup_lab::pcap::{Capture, CapturePaths};
use recoup_lab::scenario::Scenario;
use recoup_sim::Simulation;
use recoup_testing::{Fields, Folder, check_fields};
use recoup_units::FlowId;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Flows in the captures.
const FLOWS: u64 = 120;

/// A capture at the server and one at the client: 120 flows over a path with a round trip of 60 ms, which loses 5 % of what the
/// server sends.
fn captures() -> [PathBuf; 2] {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let paths = |folder: &TempDir| ["server.pcap", "client.pcap"].map(|name| folder.path().join(name));
    let simulate = || {
        let folder = tempfile::tempdir().unwrap();
        let [server, client] = paths(&folder);
        let mut capture = Capture::create(&CapturePaths { server, client }).unwrap();
        let mut scenario = Scenario::load("fetch").unwrap();
        for (key, value) in [("rtt", "60ms"), ("drop", "bernoulli:0.05"), ("close", "true")] {
            scenario.set(key, value).unwrap();
        }
        let flow = scenario.settings.flow(&"linux-6".parse().unwrap());
        let mut simulation = Simulation::new(&scenario.settings.path().unwrap()).unwrap();
        for number in 0..FLOWS {
            simulation.run(&flow, 1, FlowId(number), &mut capture);
        }
        capture.finish().unwrap();
        folder
    };
    paths(FOLDER.get_or_init(simulate))
}

fn document(folder: &Folder, capture: &std::path::Path) -> Value {
    let capture = capture.display().to_string();
    let outcome = folder.run(&["suggest", "--quiet", "--json", &capture, "--plan", "plan.toml"]);
    serde_json::from_str(&outcome.printed()).unwrap()
}

/// Checks what a capture suggests to this end, whose first packet has the timer `first`.
fn check(capture: &std::path::Path, first: &str, network: &str) -> Value {
    let folder = Folder::new(PROGRAM);
    let document = document(&folder, capture);
    check_fields(&document, "", Fields::new());
    assert_eq!(document["captured_here"], FLOWS);
    let networks = document["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 1, "{networks:#?}");
    let [found, effect] = [&networks[0], &networks[0]["effect"]];
    assert_eq!(found["network"], network);
    // 60 ms · 1.5 = 90 ms are 22.5 ticks of 4 ms. The simulated path has no other delay.
    let timer = found["timers"][format!("{}_ms", first.replace('-', "_"))].as_f64().unwrap();
    let largest = found["basis"]["rtt_max_ms"].as_f64().unwrap();
    assert_eq!(timer, (largest * 1.5 / 4.0).ceil() * 4.0);
    assert!((92.0..=96.0).contains(&timer), "{timer}");
    // Each handshake either has a round trip or waited: no more than one in twenty lost packets, four times over.
    let waiters = effect["waiters"].as_u64().unwrap();
    assert_eq!(effect["handshakes"].as_u64().unwrap() + waiters, FLOWS);
    assert!((1..=24).contains(&waiters), "{waiters}");
    assert_eq!(effect["needless"], 0);
    // Each waited for 1 s at least, and would have waited for that much less.
    let [waited, would_wait] = ["waited_ms", "would_wait_ms"].map(|key| effect[key].as_f64().unwrap());
    assert!(waited >= 1_000.0 * waiters as f64 && would_wait >= timer * waiters as f64, "{effect}");
    assert!(would_wait <= 0.12 * waited, "{effect}");
    assert!(document["later_half"]["handshakes"].as_u64().unwrap() > 0);
    assert_eq!(document["later_half"]["needless"], 0);
    // The plan says the same, and is read.
    let plan = folder.read("plan.toml");
    assert!(plan.contains(&format!("[\"{network}\"]\n")), "{plan}");
    assert!(plan.contains(&format!("{first} = \"{timer}ms\"\n")), "{plan}");
    let dry = folder.run(&["timers", "--plan", "plan.toml"]).printed();
    assert!(dry.contains(network) && dry.contains(&format!("{timer}ms (")), "{dry}");
    document
}

#[test]
fn a_server_gets_a_syn_ack_timer_and_a_prediction() {
    let [server, _] = captures();
    let document = check(&server, "syn-ack", "198.51.100.0/24");
    assert_eq!(document["networks"][0]["timers"]["syn_ms"], Value::Null);
    let prediction = &document["predictions"][0];
    assert!(prediction["rerun"].as_u64().unwrap() > FLOWS / 2, "{prediction}");
    let network = &prediction["networks"][0];
    assert_eq!(network["network"], "198.51.100.0/24");
    // Handshakes that waited for a SYN-ACK are sooner by most of a second.
    let sum = network["all"]["sum_change_ms"].as_f64().unwrap();
    let effect = &document["networks"][0]["effect"];
    let saved = effect["waited_ms"].as_f64().unwrap() - effect["would_wait_ms"].as_f64().unwrap();
    assert!(sum < -0.5 * saved, "{sum} of {saved}");
    assert!(network["lossy"]["connections"].as_u64() < network["all"]["connections"].as_u64());
}

#[test]
fn a_client_gets_a_syn_timer() {
    let [_, client] = captures();
    let document = check(&client, "syn", "192.0.2.0/24");
    assert_eq!(document["networks"][0]["timers"]["syn_ack_ms"], Value::Null);
}

#[test]
fn a_text_says_what_it_rests_on_and_how_to_use_it() {
    let [server, _] = captures();
    let folder = Folder::new(PROGRAM);
    let text = folder.run(&["suggest", "--quiet", &server.display().to_string()]).printed();
    for expected in [
        "120 connections, 120 captured at this host from their beginning",
        "| 198.51.100.0/24 |",
        "needless SYNs and SYN-ACKs",
        "of the later half",
        "95 % interval",
        "recoup guard timers --plan plan.toml --cgroup DIR",
        "tcp_syn_linear_timeouts=0",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn too_few_handshakes_are_said_in_one_line() {
    let [server, _] = captures();
    let folder = Folder::new(PROGRAM);
    // Frames of the first seconds.
    let arguments = ["suggest", "--quiet", "--to", "10ms", &server.display().to_string(), "--plan", "plan.toml"];
    let text = folder.run(&arguments).printed();
    assert!(text.contains("\n\nNo timer is suggested: "), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
    folder.refuses(&["timers", "--plan", "plan.toml"], &["plan.toml:1: the plan is empty: expected a network"]);
}

#[test]
fn standard_input_has_no_prediction() {
    let [server, _] = captures();
    let folder = Folder::new(PROGRAM);
    let mut command = folder.command(&["suggest", "--quiet", "-"]);
    let output = command.stdin(std::fs::File::open(server).unwrap()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("Standard input is read once"), "{text}");
    assert!(text.contains("| 198.51.100.0/24 |") && !text.contains("95 % interval"), "{text}");
}

#[test]
fn wrong_arguments_are_refused_in_one_line() {
    let [server, _] = captures();
    let server = server.display().to_string();
    let folder = Folder::new(PROGRAM);
    folder.write("here.pcap", std::fs::read(&server).unwrap());
    folder.refuses(&["suggest"], &["<CAPTURE>"]);
    folder.refuses(&["suggest", "no-such.pcap"], &["no-such.pcap"]);
    folder.refuses(&["suggest", "here.pcap", "--json", "--format", "table"], &["--json", "--format"]);
    folder.refuses(&["suggest", "here.pcap", "--plan", "here.pcap"], &["it is here.pcap, which is read"]);
    folder.refuses(&["suggest", "here.pcap", "-o", "x.json", "--plan", "x.json"], &["x.json"]);
    folder.refuses(&["suggest", "here.pcap", "-o", "x.csv"], &["x.csv", ".txt or .json"]);
}
