//! `recoup annotate`, and what tshark shows of it.

use crate::cli::analyze::{SENDER, captured};
use recoup_testing::{Folder, csv_rows};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const PLUGIN: &str = "lib/wireshark/plugins/recoup.lua";

/// What tshark prints of a capture in a folder. `None` if it is not installed.
fn tshark(dir: &Folder, args: &[&str]) -> Option<String> {
    let program = Command::new("tshark").current_dir(dir.path(".")).args(args).output();
    match program {
        Ok(done) if done.status.success() => Some(String::from_utf8(done.stdout).expect("text")),
        Ok(done) => panic!("{args:?}: {}", String::from_utf8_lossy(&done.stderr)),
        Err(_) if std::env::var_os("RECOUP_REQUIRE_TOOLS").is_some() => panic!("tshark is not installed"),
        Err(_) => None,
    }
}

/// Frame, trigger and verdict of each retransmission.
fn retransmissions(dir: &Folder, capture: &str) -> Vec<[String; 3]> {
    let rows = dir.run(&["analyze", "--retransmissions", "--format", "csv", capture]).printed();
    let rows = csv_rows(&rows);
    let column = |name| rows[0].iter().position(|column| *column == name).expect("a column");
    let columns = ["frame", "trigger", "verdict"].map(column);
    rows[1..].iter().map(|row| columns.map(|column| row[column].to_owned())).collect()
}

#[test]
fn tshark_filters_by_comments_and_by_the_fields_of_the_plugin() {
    let (dir, _) = captured("20");
    let outcome = dir.run(&["annotate", SENDER, "-o", "annotated.pcapng"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("recoup: wrote annotated.pcapng: "), "{}", outcome.stderr);
    let rows = retransmissions(&dir, SENDER);
    assert_eq!(retransmissions(&dir, "annotated.pcapng"), rows);
    let timeouts: Vec<&[String; 3]> = rows.iter().filter(|[_, trigger, _]| trigger == "rto").collect();
    assert!(!timeouts.is_empty() && timeouts.len() < rows.len(), "{rows:?}");
    dir.run(&["generate", "."]).printed();
    let fields = ["-T", "fields", "-e", "frame.number"];
    let by_comment = ["-r", "annotated.pcapng", "-Y", "frame.comment contains \"trigger=rto\""];
    let Some(found) = tshark(&dir, &[&by_comment[..], &fields].concat()) else {
        return;
    };
    assert_eq!(found.lines().collect::<Vec<_>>(), timeouts.iter().map(|row| &*row[0]).collect::<Vec<_>>());
    let script = format!("lua_script:{PLUGIN}");
    let all = ["-X", &script, "-r", "annotated.pcapng", "-Y", "recoup.trigger", "-E", "separator=,"];
    let fields = [&fields[..], &["-e", "recoup.trigger", "-e", "recoup.verdict"]].concat();
    let expected: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
    let found = tshark(&dir, &[&all[..], &fields].concat()).expect("tshark");
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    // What the episodes cost is what the program says.
    let cost =
        ["-X", &script, "-r", "annotated.pcapng", "-Y", "recoup.cost_ms > 0", "-T", "fields", "-e", "recoup.cost_ms"];
    let found = tshark(&dir, &cost).expect("tshark");
    let sum: f64 = found.split([',', '\n']).filter_map(|cost| cost.parse::<f64>().ok()).sum();
    let explained: Value = dir.run(&["explain", SENDER, "--no-advice", "--format", "json"]).json();
    let lost = explained["captures"][0]["lost_ms"].as_f64().expect("a time");
    assert!((sum - lost).abs() < 0.1 && lost > 0.0, "{sum} {lost}");
    // The second way: a capture without comments, beside tables.
    for (view, name) in [("--retransmissions", "r.csv"), ("--episodes", "e.csv")] {
        dir.run(&["analyze", view, SENDER, "-o", name]).printed();
    }
    let beside =
        ["-o", "recoup.csv:r.csv,e.csv", "-X", &script, "-r", SENDER, "-Y", "recoup.trigger", "-E", "separator=,"];
    let found = tshark(&dir, &[&beside[..], &fields].concat()).expect("tshark");
    assert_eq!(
        found.lines().filter(|line| line.matches(',').count() == 2 && !line.ends_with(',')).count(),
        expected.len()
    );
}

#[test]
fn connections_that_lost_time_alone_and_a_stream() {
    let (dir, _) = captured("20");
    let outcome = dir.run(&["annotate", SENDER, "-o", "slow.pcapng.zst", "--only"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(" connections that lost time; left out "), "{}", outcome.stderr);
    let lost = |capture: &str| {
        let document = dir.run(&["explain", capture, "--no-advice", "--format", "json"]).json();
        document["captures"][0]["lost_ms"].as_f64().expect("a time")
    };
    assert!((lost("slow.pcapng.zst") - lost(SENDER)).abs() < 1.0, "{} {}", lost("slow.pcapng.zst"), lost(SENDER));
    // A stream is read twice all the same.
    dir.run(&["annotate", SENDER, "-o", "whole.pcapng"]);
    let mut command = dir.command(&["annotate", "-", "-o", "stream.pcapng"]);
    let mut program = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program runs");
    let capture = fs::read(dir.path(SENDER)).expect("a capture");
    program.stdin.take().expect("a pipe").write_all(&capture).expect("the program reads");
    assert!(program.wait().expect("an end").success());
    assert!(fs::read(dir.path("stream.pcapng")).unwrap() == fs::read(dir.path("whole.pcapng")).unwrap());
}

#[test]
fn what_is_no_capture_is_refused_and_nothing_is_written() {
    let (dir, _) = captured("20");
    dir.write("text.pcap", "no capture at all");
    dir.refuses(&["annotate", "text.pcap", "-o", "out.pcapng"], &["text.pcap"]);
    dir.refuses(&["annotate", "missing.pcap", "-o", "out.pcapng"], &["missing.pcap"]);
    dir.refuses(&["annotate", SENDER, "-o", SENDER], &["it is caps/"]);
    assert!(!dir.path("out.pcapng").exists());
}
