//! `recoup explain`.

use super::folder;
use recoup_testing::Folder;
use serde_json::Value;
use std::fs::File;

/// A folder with the captures of flows that lost their last two segments.
fn captured(drop: &str) -> Folder {
    let dir = folder();
    let args = ["run", "tail-loss", "--flows", "6", "--profile", "linux-3.17"];
    let path = ["--set", "ack=quick", "--set", drop, "--pcap", "caps"];
    dir.run(&[&args[..], &path].concat()).printed();
    dir
}

const SENDER: &str = "caps/linux-3.17-sender.pcap";

#[test]
fn the_demo_names_what_made_its_connections_slow() {
    let dir = folder();
    let text = dir.run(&["explain", "--demo"]).printed();
    assert!(text.starts_with("demo: "), "{text}");
    assert!(text.contains("captured at the server"), "{text}");
    assert!(text.contains("  1. "), "{text}");
    assert!(text.lines().count() <= 80, "{text}");
    let document = dir.run(&["explain", "--demo", "--format", "json"]).json();
    let capture = &document["captures"][0];
    // Four SYN-ACKs were lost, and each cost the first timeout of a second.
    let causes = capture["causes"].as_array().expect("causes");
    let syn_acks = causes.iter().find(|cause| cause["cause"] == "lost_syn_ack");
    let syn_acks = syn_acks.expect("lost SYN-ACKs");
    assert_eq!(syn_acks["times"], 4);
    let lost = syn_acks["lost_ms"].as_f64().expect("a time");
    assert!((3990.0..=4010.0).contains(&lost), "{lost}");
    let ranked = &capture["ranked"][0];
    assert!(text.contains(ranked["name"].as_str().expect("a name")), "{text}");
}

#[test]
fn the_demo_says_what_would_have_helped_unless_told_not_to() {
    let dir = folder();
    let text = dir.run(&["explain", "--demo"]).printed();
    assert!(text.contains("\nWhat would have helped:\n"), "{text}");
    assert!(text.lines().count() <= 80, "{text}");
    let document = dir.run(&["explain", "--demo", "--format", "json"]).json();
    let advice = &document["captures"][0]["advice"];
    // A shorter timeout saves most of the second that each of the four lost SYN-ACKs cost, and somebody can set it.
    let best = &advice["ranked"][0];
    assert_eq!(best["mechanism"], "syn-timeout-bpf=75", "{advice}");
    assert!(best["command"].as_str().is_some_and(|command| text.contains(&command[..20])), "{best}");
    let gain = best["mean_gain_ms"].as_f64().expect("a gain");
    let interval = |i: usize| best["mean_gain_ci95_ms"][i].as_f64().expect("an end");
    assert!(0.0 < interval(0) && interval(0) < gain && gain < interval(1), "{best}");
    // What no kernel has comes after what somebody can switch on.
    let ranked = advice["ranked"].as_array().expect("a list");
    let first_stack = ranked.iter().position(|line| line["command"].is_null()).expect("copies help, too");
    assert!(ranked[first_stack..].iter().all(|line| line["command"].is_null()), "{advice}");
    assert!(text.contains("\n  Only another TCP has:\n"), "{text}");
    assert!(text.contains("selective loss prevention: connections would have ended"), "{text}");
    let page = ["explain", "--demo", "-o", "page.html"];
    dir.run(&page).printed();
    assert!(dir.read("page.html").contains("What would have helped"));
    let without = ["explain", "--demo", "--no-advice"];
    assert!(!dir.run(&without).printed().contains("would have helped"));
    dir.run(&[&without[..], &["-o", "without.html"]].concat()).printed();
    assert!(!dir.read("without.html").contains("What would have helped"));
}

/// The sum of the numbers of an object.
fn sum(object: &Value) -> f64 {
    let values = object.as_object().expect("an object").values();
    values.filter_map(Value::as_f64).sum()
}

#[test]
fn the_time_of_each_side_adds_up_to_the_connection() {
    let dir = captured("drop=tail:2");
    let document = dir.run(&["explain", SENDER, "--format", "json"]).json();
    let connections = document["captures"][0]["connections"].as_array();
    let connections = connections.expect("connections");
    assert_eq!(connections.len(), 6);
    for connection in connections {
        let duration = connection["duration_ms"].as_f64().expect("a duration");
        for side in connection["sides"].as_array().expect("sides") {
            let time = sum(&side["time_ms"]);
            assert!((time - duration).abs() < 0.01, "{connection}");
        }
        let server = &connection["sides"][1];
        assert_eq!(server["lost"][0]["cause"], "tail_by_timeout", "{server}");
    }
}

#[test]
fn a_capture_without_trouble_takes_one_line() {
    let dir = captured("drop=none");
    let text = dir.run(&["explain", SENDER]).printed();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("No connection lost time."), "{text}");
}

#[test]
fn one_connection_is_explained_by_its_episodes() {
    let dir = captured("drop=tail:2");
    let text = dir.run(&["explain", SENDER, "--connection", "3"]).printed();
    assert!(text.starts_with("Connection 3, "), "{text}");
    assert!(text.contains("a lost tail"), "{text}");
    let outcome = dir.run(&["explain", SENDER, "--connection", "6"]);
    assert_eq!(outcome.status, Some(2));
    let line = "no connection 6: there are 6, from 0 to 5";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

#[test]
fn a_page_of_a_stream_shows_what_the_page_of_a_file_does() {
    let dir = captured("drop=tail:2");
    let status = dir.run(&["explain", SENDER, "-o", "report.html"]).status;
    assert_eq!(status, Some(0));
    let page = dir.read("report.html");
    assert!(page.starts_with("<!DOCTYPE html>"), "{}", &page[..99]);
    for part in ["Lost tails", "Retransmission rate", "frame.number"] {
        assert!(page.contains(part), "{part}");
    }
    let input = File::open(dir.path(SENDER)).expect("a file");
    let mut command = dir.command(&["explain", "-", "--format", "html"]);
    let output = command.stdin(input).output().expect("the program runs");
    let streamed = String::from_utf8(output.stdout).expect("UTF-8");
    // The name of the file is in several places.
    let more = page.len().abs_diff(streamed.len());
    assert!(more < 2000, "{} and {}", page.len(), streamed.len());
    assert!(streamed.contains("standard input: "));
}

#[test]
fn filters_and_windows_choose_what_is_explained() {
    let dir = captured("drop=tail:2");
    let part = ["--filter", "port 32770", "--format", "json"];
    let document = dir.run(&[&["explain", SENDER][..], &part].concat()).json();
    let connections = document["captures"][0]["connections"].as_array();
    let connections = connections.expect("connections");
    assert_eq!(connections.len(), 1);
    assert_eq!(connections[0]["connection"], 2);
}

#[test]
fn wrong_use_takes_one_line() {
    let dir = captured("drop=none");
    for (args, part) in [
        (&["explain"][..], "CAPTURE"),
        (&["explain", SENDER, "-o", "report.docx"], ".html"),
        (&["explain", SENDER, SENDER, "--format", "html"], "expected one capture"),
        (&["explain", SENDER, "--sort", "lost"], "time-lost"),
        (&["explain", SENDER, "--filter", "port x"], "port"),
        (&["explain", "--demo", SENDER], "--demo"),
        (&["explain", SENDER, "--profile", "linux-5"], "linux-6"),
        (&["explain", SENDER, "--threads", "0"], "from 1 to 1024"),
    ] {
        let outcome = dir.run(args);
        assert_eq!(outcome.status, Some(2), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{args:?}: {}", outcome.stderr);
    }
    assert!(!dir.path("report.docx").exists());
}
