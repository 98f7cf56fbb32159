//! `recoup explain`.

use super::folder;
use recoup_testing::Folder;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

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
fn a_connection_has_a_document_and_a_file_of_its_own() {
    let dir = captured("drop=tail:2");
    let one = ["explain", SENDER, "--connection", "3"];
    let document = dir.run(&[&one[..], &["--format", "json"]].concat()).json();
    assert_eq!(document["schema"], "recoup.connection");
    assert_eq!(document["connection"], 3);
    let episodes = document["episodes"].as_array().expect("episodes");
    assert_eq!(episodes[0]["cause"], "tail_by_timeout", "{document}");
    dir.run(&[&one[..], &["-o", "one.json"]].concat()).printed();
    assert_eq!(dir.read("one.json"), dir.run(&[&one[..], &["--format", "json"]].concat()).stdout);
    dir.run(&[&one[..], &["-o", "one.txt"]].concat()).printed();
    assert_eq!(dir.read("one.txt"), dir.run(&one).printed());
    dir.run(&[&one[..], &["-o", "one.html"]].concat()).printed();
    assert!(dir.read("one.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn groups_say_which_port_lost_most_and_add_up_to_the_whole() {
    let dir = captured("drop=tail:2");
    let by = ["explain", SENDER, "--no-advice", "--by", "client", "--by", "prefix:16"];
    let text = dir.run(&by).printed();
    assert!(text.contains("\nBy client:\n") && text.contains("\nBy prefix:16:\n"), "{text}");
    let document = dir.run(&[&by[..], &["--format", "json"]].concat()).json();
    let capture = &document["captures"][0];
    let groups = capture["groups"].as_array().expect("groups");
    for by in ["client", "prefix:16"] {
        let lost = groups.iter().filter(|group| group["by"] == by).filter_map(|group| group["lost_ms"].as_f64());
        let all = capture["lost_ms"].as_f64().expect("a time");
        assert!((lost.sum::<f64>() - all).abs() < 0.01 && all > 0.0, "{by}: {all}");
    }
    // The expression of a group keeps its connections.
    let filter = groups[0]["filter"].as_str().expect("an expression");
    let part = dir.run(&["explain", SENDER, "--no-advice", "--format", "json", "--filter", filter]).json();
    assert_eq!(part["captures"][0]["connection_count"], groups[0]["connections"], "{filter}");
    assert_eq!(part["captures"][0]["lost_ms"], groups[0]["lost_ms"]);
    let rows = dir.run(&[&by[..], &["--format", "csv"]].concat()).printed();
    assert_eq!(rows.lines().count(), 1 + groups.len(), "{rows}");
    assert!(rows.starts_with("by,group,filter,connections,"), "{rows}");
}

#[test]
fn several_captures_have_one_total_and_a_row_each() {
    let dir = captured("drop=tail:2");
    dir.run(&["run", "tail-loss", "--flows", "4", "--profile", "linux-6", "--set", "drop=tail:1", "--pcap", "more"])
        .printed();
    let both = ["explain", SENDER, "more/linux-6-sender.pcap"];
    let text = dir.run(&both).printed();
    assert!(text.starts_with("2 captures: "), "{text}");
    assert!(text.contains("10 connections") && text.contains("\nBy capture:\n"), "{text}");
    let document = dir.run(&[&both[..], &["--format", "json", "--no-advice"]].concat()).json();
    let lost = |value: &Value| value["lost_ms"].as_f64().expect("a time");
    let each = document["captures"].as_array().expect("captures");
    assert!((lost(&document["total"]) - each.iter().map(lost).sum::<f64>()).abs() < 0.01);
    let rows = dir.run(&[&both[..], &["--format", "csv"]].concat()).printed();
    assert_eq!(rows.lines().count(), 3, "{rows}");
    // No connection is in rows of two kinds.
    let rows = dir.run(&[&both[..], &["--by", "server", "--format", "csv"]].concat()).printed();
    assert!(rows.lines().count() > 1 && rows.lines().skip(1).all(|row| row.starts_with("server,")), "{rows}");
    // One that cannot be read does not keep the others from being explained.
    std::fs::write(dir.path("broken.pcap"), "no capture").expect("a file");
    let outcome = dir.run(&[&both[..], &["broken.pcap"]].concat());
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("broken.pcap"), "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("2 captures: "), "{}", outcome.stdout);
    let apart = dir.run(&[&both[..], &["--each"]].concat()).printed();
    assert_eq!(apart.matches(" connections, ").count(), 2, "{apart}");
}

#[test]
fn a_text_says_what_it_leaves_out() {
    let dir = folder();
    let cut = dir.run(&["explain", "--demo", "--lines", "40"]).printed();
    // One line may stand for what several parts leave out.
    assert!((38..=40).contains(&cut.lines().count()), "{cut}");
    assert!(cut.contains("more lines: --all shows them)"), "{cut}");
    let all = dir.run(&["explain", "--demo", "--all"]).printed();
    assert!(!all.contains("more lines") && all.lines().count() > 80, "{all}");
    for part in ["Lost most (", "Not known:"] {
        assert!(cut.contains(part) && all.contains(part), "{part}");
    }
    // A file has all lines about as many connections as standard output.
    dir.run(&["explain", "--demo", "-o", "all.txt"]).printed();
    let file = dir.read("all.txt");
    assert!(!file.contains("more lines") && file.contains("; --top lists 44 more):"), "{file}");
    assert_eq!(dir.run(&["explain", "--demo", "--top", "100", "-o", "top.txt"]).printed(), "");
    assert_eq!(dir.read("top.txt"), all);
}

#[test]
fn a_stream_is_explained_while_it_is_read() {
    let dir = captured("drop=tail:2");
    let capture = std::fs::read(dir.path(SENDER)).expect("a capture");
    let mut command = dir.command(&["explain", "-", "--every", "1ms"]);
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program runs");
    let mut input = program.stdin.take().expect("a pipe");
    // The first packet after a pause brings an answer about all before it.
    for part in capture.chunks(capture.len() / 3) {
        input.write_all(part).expect("the program reads");
        sleep(Duration::from_millis(500));
    }
    drop(input);
    let output = program.wait_with_output().expect("the program ends");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    // The last answer is that of the whole capture.
    let whole = dir.command(&["explain", "-"]).stdin(File::open(dir.path(SENDER)).expect("a file")).output();
    let whole = String::from_utf8(whole.expect("the program runs").stdout).expect("UTF-8");
    assert!(!whole.contains("So far"), "{whole}");
    let early = text.strip_suffix(&whole).unwrap_or_else(|| panic!("another last answer: {text}"));
    assert!(early.starts_with("So far (") && early.contains("Losses and delays cost"), "{text}");
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
fn a_page_of_several_captures_has_a_row_for_each() {
    let dir = captured("drop=tail:2");
    std::fs::copy(dir.path(SENDER), dir.path("other.pcap")).expect("a copy");
    let args = ["explain", SENDER, "cut.pcap", "other.pcap", "--no-advice", "-o", "report.html"];
    dir.write("cut.pcap", b"no capture");
    let outcome = dir.run(&args);
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(2), 1), "{}", outcome.stderr);
    let page = dir.read("report.html");
    for part in [
        "<h1>Recoup: 2 captures</h1>",
        " in all, 12 connections, ",
        "<h2 id=\"captures-heading\">Captures</h2>",
        "<th scope=\"row\"><a href=\"#capture-2\">other.pcap</a></th>",
        "<h2 id=\"capture-2-heading\">other.pcap</h2>",
        "id=\"connection-2-",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<section class=\"capture\"").count(), 2);
    // Nothing is written if no capture can be read.
    assert_eq!(dir.run(&["explain", "cut.pcap", "-o", "none.html"]).status, Some(2));
    assert!(!dir.path("none.html").exists());
}

/// The JSON of the charts of a page.
fn charts(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("class=\"charts\">").expect("charts");
    let (json, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn charts_count_from_the_first_frame_of_the_capture() {
    let dir = captured("drop=tail:2");
    let begin = |args: &[&str]| {
        dir.run(&[&["explain", SENDER, "--no-advice", "-o", "report.html"][..], args].concat());
        let page = dir.read("report.html");
        assert!(page.contains("All times are seconds since the capture&#39;s first frame, as in Wireshark."));
        charts(&page)[0]["times"][0].as_f64().expect("a time")
    };
    assert_eq!(begin(&[]), 0.0);
    let later = begin(&["--from", "100ms"]);
    assert!((0.1..1.0).contains(&later), "{later}");
    // The third flow begins after the first ones.
    assert!(begin(&["--filter", "port 32770"]) > 0.0);
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
        (&["explain", SENDER, SENDER, "--format", "html", "--connection", "0"], "expected one capture"),
        (&["explain", SENDER, "--sort", "lost"], "time-lost"),
        (&["explain", SENDER, "--by", "servr"], "did you mean `server`?"),
        (&["explain", SENDER, "--connection", "0", "-o", "one.csv"], "rows of groups"),
        (&["explain", SENDER, "--every", "1s", "--format", "json"], "expected --format table"),
        (&["explain", SENDER, "--lines", "0"], "--lines"),
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
