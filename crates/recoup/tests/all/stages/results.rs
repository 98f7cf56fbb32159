//! The output of runs on real packets.

use crate::stages::World;
use serde_json::Value;

const RUN: [&str; 8] = [
    "run",
    "tail-loss",
    "--flows=2",
    "--set=rate=100Mbit",
    "--set=rtt=40ms",
    "--set=drop=tail:1",
    "--profile=linux-6",
    "--format=json",
];

fn results(world: &World, args: &[&str]) -> Vec<Value> {
    let outcome = world.run(&[&RUN, args].concat());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    report["results"].as_array().expect("results").clone()
}

/// The kernel's profile name, such as `kernel-6.18.3`.
fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let version = release.split(|c| !is_version(c)).next().expect("a version");
    format!("kernel-{version}")
}

#[test]
fn each_stage_reports_its_hosts_and_the_delivery_error() {
    let Some(world) = World::new() else { return };
    let kernel = kernel();
    let mixed = format!("linux-6 to {kernel}");
    // (arguments, stage, profile, client, server)
    let cases: [(&[&str], &str, &str, &str, &str); 4] = [
        (&["--on=net"], "net", "linux-6", "linux-6", "linux-6"),
        (&["--on=kernel"], "kernel", &kernel, &kernel, &kernel),
        (&["--on=net", "--client=kernel"], "net", &mixed, &kernel, "linux-6"),
        (&["--on=kernel", "--server=recoup"], "kernel", &mixed, &kernel, "linux-6"),
    ];
    for (args, stage, profile, client, server) in cases {
        let results = results(&world, args);
        assert_eq!(results.len(), 1, "{args:?}");
        let result = &results[0];
        let live = &result["live"];
        assert_eq!(result["stage"], stage, "{args:?}");
        assert_eq!(result["profile"], profile, "{args:?}");
        assert_eq!((&live["client"], &live["server"]), (&client.into(), &server.into()));
        assert!(live["delivery_error_ms"]["p999"].is_number(), "{live}");
        let facts = &live["kernel"];
        assert_eq!(facts.is_null(), client != kernel, "{live}");
        if client == kernel {
            assert_eq!(format!("kernel-{}", facts["version"].as_str().unwrap()), kernel);
        }
    }
    assert_eq!(world.interfaces(), ["lo"]);
}

#[test]
fn all_stages_appear_in_one_result() {
    let Some(world) = World::new() else { return };
    let results = results(&world, &["--on=all"]);
    let stages: Vec<_> = results.iter().map(|result| &result["stage"]).collect();
    assert_eq!(stages, ["sim", "net", "kernel"]);
    assert!(results[0]["live"].is_null());
    assert!(results[1]["live"].is_object() && results[2]["live"].is_object());
}

#[test]
fn kernel_settings_and_thinned_acks_are_reported() {
    let Some(world) = World::new() else { return };
    let args = ["--on=kernel", "--set=kernel.tlp=off", "--set=kernel.sack=off", "--set=ack=delayed:100ms"];
    let results = results(&world, &args);
    let live = &results[0]["live"];
    assert_eq!(live["acks_held_ms"], 100.0, "{live}");
    assert_eq!(live["kernel"]["tlp"], false, "{live}");
    assert_eq!(live["kernel"]["sack"], false, "{live}");
    assert_eq!(live["kernel"]["timestamps"], true, "{live}");
}

/// Every `sent` event of a host, as `(host, what, start, end, trigger)`.
fn sent(world: &World, stage: &str, host: &str) -> Vec<Value> {
    let args = [&RUN[..], &["--events=-", stage]].concat();
    let outcome = world.run(&args);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let lines = outcome.stdout.lines().skip(1);
    let events = lines.map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let sent = events.filter(|event| event["event"] == "sent" && event["host"] == host);
    let fields = ["profile", "flow", "what", "start", "end", "trigger"];
    sent.map(|event| fields.map(|field| event[field].clone()).into_iter().collect()).collect()
}

#[test]
fn events_over_real_packets_are_those_of_the_simulator() {
    let Some(world) = World::new() else { return };
    for host in ["client", "server"] {
        let real = sent(&world, "--on=net", host);
        assert!(!real.is_empty());
        assert_eq!(real, sent(&world, "--on=sim", host), "{host}");
    }
}

#[test]
fn the_kernel_has_packet_events_and_a_note() {
    let Some(world) = World::new() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("events");
    let events = format!("--events={}", file.display());
    let outcome = world.run(&[&RUN[..], &["--on=kernel", &events]].concat());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("the kernel reports no events"), "{outcome:?}");
    let text = std::fs::read_to_string(&file).expect("events");
    let packet = |line: &str| line.contains(r#""event":"packet_"#) && line.contains(&kernel());
    assert!(text.lines().count() > 20 && text.lines().skip(1).all(packet), "{text}");
}
