//! `recoup run` with links and workloads.

use crate::cli::{folder, recoup};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn a_world_is_the_same_in_text_json_and_csv() {
    let args = ["-q", "run", "dumbbell", "--set", "duration=1s"];
    let with = |format: &str| recoup(&[&args[..], &["--format", format]].concat());
    let json = with("json").json();
    let csv = with("csv").printed();
    let mut lines = csv.lines().map(|line| line.split(','));
    let header: Vec<&str> = lines.next().expect("a header").collect();
    let column = |name: &str| {
        let place = header.iter().position(|one| *one == name);
        place.unwrap_or_else(|| panic!("{name}"))
    };
    let results = json["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    for (line, result) in lines.zip(results) {
        let (line, workload) = (line.collect::<Vec<_>>(), &result["workloads"][0]);
        for (name, value) in [
            ("workload", "fetches".to_owned()),
            ("flows", workload["flows"].to_string()),
            ("goodput_mbps", workload["goodput_mbps"].to_string()),
            ("retransmissions_total", workload["retransmissions"]["total"].to_string()),
        ] {
            assert_eq!(line[column(name)], value, "{name}");
        }
    }
    assert!(recoup(&args).printed().contains("| bottleneck | up"));
}

#[test]
fn files_have_the_watched_flows_and_nothing_else() {
    let dir = folder();
    let args = "-q run dumbbell --set duration=1s --set links.bottleneck.rate=20Mbit --profile linux-6 \
        --format json";
    let args: Vec<&str> = args.split_whitespace().collect();
    let files = ["--pcap", "caps", "--events", "e.jsonl", "--watch", "fetches:0-3", "--watch", "fetches:42"];
    let watched = dir.run(&[&args[..], &files].concat()).json();
    assert_eq!(watched, recoup(&args).json(), "writing files changes nothing");
    let text = fs::read_to_string(dir.path("e.jsonl")).expect("events");
    let lines = text.lines().skip(1);
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut last = 0.0;
    let mut flows = BTreeSet::new();
    for line in lines {
        let time = line["time_ms"].as_f64().expect("a time");
        assert!(last <= time, "{line}");
        last = time;
        flows.insert(line["flow"].as_u64().expect("a flow"));
        // Each flow has a sequence space of its own.
        assert!(!line["seq"].is_null() || line["event"] != "packet_sent", "{line}");
    }
    assert_eq!(flows, BTreeSet::from([0, 1, 2, 3, 42]));
    let capture = "caps/linux-6-sender.pcap";
    let analysis = dir.run(&["analyze", capture, "--connections", "--format", "json"]);
    let connections = &analysis.json()["captures"][0]["connections"];
    assert_eq!(connections.as_array().map(Vec::len), Some(5), "{connections}");
}

#[test]
fn what_a_world_cannot_have_is_refused() {
    for (args, error) in [
        ("--on net", "--on: a scenario with links and workloads runs in the simulator only"),
        ("--flows 3", "--flows: in a world, set the flows of a workload"),
        ("--watch fetches", "--watch: expected beside --pcap or --events"),
        ("--events - --watch fetch", "--watch fetch: no workload `fetch`, did you mean `fetches`?"),
        ("--set rtt=1ms", "--set rtt: unknown key `rtt`"),
        (
            "--set links.bottleneck.quee=1",
            "--set links.bottleneck.quee: unknown key `quee` of a link, did you mean `queue`?",
        ),
        ("--set duration", "--set duration: expected KEY=VALUE, such as duration=10s"),
        ("--format csv --all-rows", "--all-rows: changes the table"),
    ] {
        let args: Vec<&str> = ["run", "dumbbell"].into_iter().chain(args.split(' ')).collect();
        let outcome = recoup(&args);
        assert_eq!(outcome.status, Some(2), "{args:?}");
        assert!(outcome.stderr.contains(error), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
    let outcome = recoup(&["run", "tail-loss", "--watch", "x"]);
    assert!(outcome.stderr.contains("--watch: expected beside a scenario with links"));
}
