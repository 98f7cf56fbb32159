//! `recoup whatif --try LEVER=VALUE`, held against simulations with the same setting.
//!
//! Losses are by position, so both runs meet the same, and nothing is drawn.

use super::folder;
use serde_json::Value;

/// A lever, and the settings of a simulation before and after it was pulled.
struct Case {
    lever: &'static str,
    /// Of both simulations.
    flows: &'static [&'static str],
    /// Those that the lever changes.
    before: &'static str,
    after: &'static str,
    profiles: [&'static str; 2],
}

const fn setting(
    lever: &'static str,
    flows: &'static [&'static str],
    before: &'static str,
    after: &'static str,
) -> Case {
    Case { lever, flows, before, after, profiles: ["linux-6", "linux-6"] }
}

const fn profile(
    lever: &'static str,
    flows: &'static [&'static str],
    before: &'static str,
    after: &'static str,
) -> Case {
    Case { lever, flows, before: "psh=write", after: "psh=write", profiles: [before, after] }
}

const CASES: &[Case] = &[
    setting("initial-window=20", &["segments=60", "drop=data:31"], "initial_window=10", "initial_window=20"),
    setting("quickack-route=1", &["segments=21", "initial_window=1", "drop=none"], "ack=delayed", "ack=quick"),
    setting(
        "receive-buffer=4096 131072 33554432",
        &["segments=600", "drop=none", "rtt=80ms"],
        "receive_buffer=120kB",
        "receive_buffer=64MiB",
    ),
    setting("congestion-control=reno", &["segments=400", "drop=data:60"], "cc=cubic", "cc=reno"),
    setting("congestion-control=cubic", &["segments=400", "drop=data:60"], "cc=reno", "cc=cubic"),
    setting("reordering=10", &["segments=30", "drop=data:26"], "dupthresh=3", "dupthresh=10"),
    profile("tail-loss-probe=0", &["segments=20", "drop=tail:1"], "linux-6", "linux-6+notlp"),
    profile("tail-loss-probe=3", &["segments=20", "drop=tail:1"], "linux-6+notlp", "linux-6"),
    profile("sack=0", &["segments=20", "drop=data:5,data:7,data:9,data:11"], "linux-6", "linux-6+nosack"),
    profile("kernel=6.12", &["segments=20", "drop=tail:1"], "linux-3.17", "linux-6"),
    setting("slow-start-after-idle=0", IDLE, "cc=cubic", "cc=profile"),
    setting(
        "rto-min-sysctl=50000",
        &["segments=11", "drop=data:11", "rto.min_of=rttvar"],
        "rto.min=200ms",
        "rto.min=50ms",
    ),
];

/// Two responses with a long pause.
const IDLE: &[&str] = &["writes=120kB@0,120kB@3s", "drop=none"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn each_lever_changes_what_a_simulation_with_the_setting_shows() {
    let dir = folder();
    let mut wrong = Vec::new();
    for case in CASES {
        let run = |profile: &str, own: &str, more: &[&str]| {
            let set = case.flows.iter().chain([&own]).flat_map(|one| ["--set", one]);
            let set: Vec<&str> = set.collect();
            let args = ["run", "tail-loss", "--flows", "6", "--profile", profile, "--format", "json"];
            let document = dir.run(&[&args[..], &set, more].concat()).json();
            number(&document["results"][0]["fct_ms"]["mean"])
        };
        let [before, after] = case.profiles;
        let after = match case.lever {
            "slow-start-after-idle=0" => "linux-6+noidle",
            _ => after,
        };
        let captured = run(before, case.before, &["--pcap", "caps"]);
        let truth = run(after, case.after, &[]) - captured;
        let sender = format!("caps/{before}-sender.pcap");
        let answer = dir.run(&["whatif", "--quiet", &sender, "--try", case.lever, "--format", "json"]).json();
        let capture = &answer["captures"][0];
        let result = &capture["results"][0];
        assert_eq!(result["lever"], true, "{}: {answer}", case.lever);
        assert!(result["command"].is_string(), "{answer}");
        let change = number(&result["mean_change_ms"]);
        // Where the path's rate is unknown, the prediction is the middle of what is possible.
        let interval = &result["mean_change_ci95_ms"];
        let covers = (number(&interval[0])..=number(&interval[1])).contains(&truth);
        let error = (change - truth).abs();
        let is_right = error <= f64::max(0.02 * truth.abs(), 0.2) || covers && error <= 0.15 * truth.abs();
        if !is_right || truth == 0.0 || capture["rerun"] != 6 {
            wrong.push(format!("{}: predicted {change:+.1} ms, true {truth:+.1} ms of {captured:.1}", case.lever));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
