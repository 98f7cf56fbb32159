//! `recoup analyze`.

pub mod endings;
mod episodes;
mod join;
mod part;
mod slp;
mod state;
mod tunnels;

use crate::cli::folder;
use recoup_testing::{Folder, Outcome, csv_rows};
use serde_json::Value;
use std::fs::{self, File};

pub const SENDER: &str = "caps/linux-3.17-sender.pcap";
const RECEIVER: &str = "caps/linux-3.17-receiver.pcap";
const HEADER: &str = "frame,time,src,dst,seq,len,trigger,verdict,evidence,copy,detection_ms,recovery_ms,\
                      detection_rtts,recovery_rtts,vantage,connection,syn,fin,flight,capture_point,\
                      src_host,src_port,dst_host,dst_port";

/// A folder with captures of flows that lost their last two segments, and the number of
/// retransmissions.
pub fn captured(flows: &str) -> (Folder, u64) {
    let dir = folder();
    let args = ["run", "tail-loss", "--set", "drop=tail:2", "--flows", flows];
    let more = ["--set", "ack=quick", "--profile", "linux-3.17", "--pcap", "caps", "--format", "json"];
    let report = dir.run(&[&args[..], &more].concat()).json();
    let retransmissions = report["results"][0]["retransmissions"]["total"].as_u64();
    (dir, retransmissions.expect("a count"))
}

/// Runs the program with a file on standard input.
fn reading(dir: &Folder, args: &[&str], input: &str) -> Outcome {
    let input = File::open(dir.path(input)).expect("a file");
    let output = dir.command(args).stdin(input).output();
    let output = output.expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Outcome { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn every_retransmission_is_one_line_in_the_order_of_frames() {
    let (dir, retransmissions) = captured("3");
    let args = ["analyze", SENDER, "--retransmissions", "--format", "csv"];
    let csv = dir.run(&args).printed();
    let rows = csv_rows(&csv);
    assert_eq!(rows[0].join(","), HEADER);
    let rows = &rows[1..];
    assert_eq!(rows.len() as u64, retransmissions);
    assert!(rows.is_sorted_by_key(|row| row[0].parse::<u64>().expect("a frame")));
    for (i, row) in rows.iter().enumerate() {
        let client = format!("198.51.100.1:{}", 32768 + i / 2);
        assert_eq!(row[2..4], ["192.0.2.1:80", &*client], "{row:?}");
        assert_eq!((row[5], row[7]), ("1448", "needed"), "{row:?}");
        assert_eq!((row[14], row[9]), ("sender", "1"), "{row:?}");
        assert_eq!(row[15], (i / 2).to_string(), "{row:?}");
    }
    // The first retransmission waited for the timeout. Flows begin one second apart.
    for (row, second) in rows.iter().step_by(2).zip(800..) {
        let time = format!("946684{second}.480000000");
        assert_eq!((row[1], row[6], row[10]), (&*time, "rto", "360"), "{row:?}");
    }
}

#[test]
fn the_formats_of_a_view_have_the_same_values() {
    let (dir, retransmissions) = captured("3");
    let shown = |view: &str, format: &str| {
        let args = ["analyze", SENDER, view, "--format", format];
        dir.run(&args).printed()
    };
    let json = |view: &str| {
        let text = shown(view, "json");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let captures = value["captures"].as_array().expect("captures");
        assert_eq!((captures.len(), &captures[0]["capture"]), (1, &SENDER.into()));
        captures[0].clone()
    };
    for view in ["--retransmissions", "--episodes", "--connections"] {
        let csv = shown(view, "csv");
        let rows = csv_rows(&csv);
        let objects = json(view)[&view[2..]].clone();
        let objects = objects.as_array().expect("rows").clone();
        assert_eq!(objects.len(), rows.len() - 1, "{view}");
        for (object, row) in objects.iter().zip(&rows[1..]) {
            for (name, cell) in rows[0].iter().zip(row) {
                let expected = match &object[name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    // A time has more digits than an f64.
                    _ if ["time", "begun", "ended"].contains(name) => (*cell).into(),
                    other => other.to_string().trim_end_matches(".0").into(),
                };
                assert_eq!(*cell, expected, "{view} {name}");
            }
        }
    }
    let summary = json("--summary");
    assert_eq!(summary["summary"]["data_retransmissions"], retransmissions);
    assert_eq!(summary["summary"]["data_needed"], retransmissions);
    assert_eq!(summary["summary"]["connections"], 3);
    assert_eq!(csv_rows(&shown("--summary", "csv")).len(), 2);
    // The default is the summary as a table.
    let table = dir.run(&["analyze", SENDER]).printed();
    assert_eq!(table, shown("--summary", "table"));
    for part in [
        "| data ",
        "|   rto ",
        "| total ",
        "| connections ",
        "| senders' medians ",
        "Connections that lost most time",
        "(ms)",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    // --study appends the tables of the study. JSON always contains them.
    let with_study = dir.run(&["analyze", SENDER, "--study"]).printed();
    let study = with_study.strip_prefix(&*table).expect("the summary first");
    assert!(study.starts_with("\nThe 2007 study") && study.contains("\nTable IV"));
    let study = dir.run(&["analyze", SENDER, "--study", "--format", "json"]);
    assert_eq!(study.printed(), shown("--summary", "json"));
    assert!(shown("--connections", "table").contains("198.51.100.1:32770"));
    assert!(shown("--retransmissions", "table").contains("| needed "));
}

#[test]
fn parquet_goes_to_a_file_or_a_pipe() {
    let (dir, _) = captured("1");
    for view in ["--summary", "--connections", "--retransmissions"] {
        let args = ["analyze", SENDER, view, "--format", "parquet"];
        let piped = dir.command(&args).output().expect("the program runs");
        assert!(piped.status.success(), "{piped:?}");
        let bytes = piped.stdout;
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{view}");
        let to_file = [&args[..], &["--output", "x.parquet"]].concat();
        assert_eq!(dir.run(&to_file).printed(), "");
        assert_eq!(fs::read(dir.path("x.parquet")).expect("a file"), bytes, "{view}");
    }
}

#[test]
fn standard_input_is_read_like_a_file_and_concatenated_parts_like_one_capture() {
    let (dir, retransmissions) = captured("3");
    let args = ["analyze", "-", "--retransmissions", "--format", "csv"];
    let whole = dir.run(&["analyze", SENDER, "--retransmissions", "--format", "csv"]).printed();
    assert_eq!(reading(&dir, &args, SENDER).printed(), whole);
    // Split between two packets into two captures.
    let bytes = fs::read(dir.path(SENDER)).expect("a capture");
    let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut half = 24;
    while half < bytes.len() / 2 {
        half += 16 + length(half + 8) as usize;
    }
    let parts = [&bytes[..half], &bytes[..24], &bytes[half..]].concat();
    dir.write("parts.pcap", parts);
    assert_eq!(reading(&dir, &args, "parts.pcap").printed(), whole);
    assert_eq!(whole.lines().count() as u64, 1 + retransmissions);
}

#[test]
fn several_captures_are_analyzed_separately() {
    let (dir, retransmissions) = captured("2");
    fs::copy(dir.path(SENDER), dir.path("b.pcap")).expect("a copy");
    let args = ["analyze", SENDER, "b.pcap", "--retransmissions", "--format"];
    let csv = dir.run(&[&args[..], &["csv"]].concat()).printed();
    let rows = csv_rows(&csv);
    assert_eq!(rows[0].join(","), format!("{HEADER},capture"));
    let (first, second) = rows[1..].split_at(retransmissions as usize);
    assert_eq!(first.len(), second.len());
    for (a, b) in first.iter().zip(second) {
        assert_eq!((a[24], b[24]), (SENDER, "b.pcap"));
        assert_eq!(a[..24], b[..24]);
    }
    let json = dir.run(&[&args[..], &["json"]].concat()).json();
    assert_eq!(json["captures"][1]["capture"], "b.pcap");
    let table = dir.run(&["analyze", SENDER, "b.pcap"]).printed();
    assert!(table.starts_with(&format!("{SENDER}\n\n")) && table.contains("\n\nb.pcap\n\n"));
}

#[test]
fn problems_of_a_capture_are_noted() {
    let (dir, _) = captured("2");
    let whole = fs::read(dir.path(SENDER)).expect("a capture");
    dir.write("cut.pcap", &whole[..whole.len() - 10]);
    dir.write("empty.pcap", &whole[..24]);
    for (file, note) in [
        ("cut.pcap", "cut.pcap: after frame 49: the capture ends within a packet"),
        ("empty.pcap", "empty.pcap: the capture contains no packets"),
        (RECEIVER, "caps/linux-3.17-receiver.pcap: 100 % of the data was captured at the receiver, "),
    ] {
        for view in ["--summary", "--connections", "--retransmissions"] {
            let outcome = dir.run(&["analyze", file, view]);
            assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
            let expected = format!("recoup: note: {note}");
            assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
            assert!(outcome.stdout.starts_with(&format!("{file}\n\n")));
        }
    }
    // In JSON the capture's object contains the notes.
    let outcome = dir.run(&["analyze", "cut.pcap", "--format", "json"]);
    let json: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(json["captures"][0]["notes"][0], "after frame 49: the capture ends within a packet");
}

#[test]
fn an_unreadable_capture_is_refused_in_one_line() {
    let (dir, _) = captured("1");
    let whole = fs::read(dir.path(SENDER)).expect("a capture");
    fs::create_dir(dir.path("folder")).expect("a folder");
    dir.write("empty", "");
    dir.write("text", "once upon a time there was no capture at all");
    dir.write("garbage.pcap", [&whole[..24], &[0xff; 64]].concat());
    let mut unknown = whole.clone();
    unknown[20..24].copy_from_slice(&9999_u32.to_le_bytes());
    dir.write("unknown.pcap", unknown);
    for (args, expected) in [
        (&["none.pcap"][..], "cannot read none.pcap: No such file"),
        (&["folder"], "folder: a directory: expected a capture file"),
        (&["empty"], "empty: empty: expected a pcap or pcapng capture, plain or compressed by gzip or zstd"),
        (&["--join", "empty"], "empty: empty: expected a pcap or pcapng capture, plain or compressed by gzip or zstd"),
        (&["text"], "text: "),
        (&[SENDER, "none.pcap"], "cannot read none.pcap: No such file"),
        (&["text", SENDER, "folder"], "folder: a directory: expected a capture file"),
        (&["garbage.pcap"], "garbage.pcap: no readable frame: damaged at byte 24"),
        (&["unknown.pcap"], "unknown.pcap: link type 9999: expected "),
        (&["-", "-"], "-: standard input can be read only once"),
        (
            &[SENDER, "--profile", "linux-5"],
            "--profile linux-5: unknown profile 'linux-5', did you mean `linux-6`? (`recoup profiles` lists",
        ),
        (
            &[SENDER, "--idle", "-1s"],
            "invalid value '-1s' for '--idle <TIME>': `-1s` is not a duration: expected a number with a unit, not negative",
        ),
        (&[SENDER, "--idle", "soon"], "invalid value 'soon' for '--idle <TIME>': `soon` is not a duration"),
        (&[SENDER, "--idle", "0"], "invalid value '0' for '--idle <TIME>': expected more than 0"),
        (&[SENDER, "--threads", "0"], "invalid value '0' for '--threads <N>': expected a number from 1 to 1024"),
        (&[SENDER, "--threads", "-2"], "invalid value '-2' for '--threads <N>': expected a number from 1 to 1024"),
        (&[SENDER, "--format", "xml"], "invalid value 'xml' for '--format <FORMAT>'"),
        (&[SENDER, "--summary", "--connections"], "the argument '--summary' cannot be used with '--connections'"),
        (
            &[SENDER, "--connections", "--figures", "figs"],
            "the argument '--connections' cannot be used with '--figures <DIR>'",
        ),
        (&[SENDER, "--study", "--format", "csv"], "--study: expected --format table or json"),
        (&[SENDER, RECEIVER, "--plot", "0"], "--plot: expected one capture"),
        (&[SENDER, "--plot", "1"], "caps/linux-3.17-sender.pcap: no connection 1: there is one, number 0"),
        (
            &[SENDER, "--plot", "0", "-o", "x.gif"],
            "--output x.gif: expected a name that ends in .svg, .png, .pdf or .xpl",
        ),
        (
            &[SENDER, "--plot", "first"],
            "invalid value 'first' for '--plot <CONNECTION>': expected a connection's number, from 0",
        ),
        (
            &[SENDER, "--plot", "-1"],
            "invalid value '-1' for '--plot <CONNECTION>': expected a connection's number, from 0",
        ),
        (&[SENDER, "-o", "x.xml"], "--output x.xml: expected a name that ends in .txt, .json, .csv or .parquet"),
        (&[SENDER, "--study", "-o", "x.CSV"], "--study: expected --format table or json"),
        (
            &[SENDER, "--plot", "0", "--format", "json"],
            "the argument '--plot <CONNECTION>' cannot be used with '--format <FORMAT>'",
        ),
        (
            &[SENDER, "-o", "./caps/linux-3.17-sender.pcap"],
            "cannot write `./caps/linux-3.17-sender.pcap`: it is caps/linux-3.17-sender.pcap, which is read",
        ),
        (&[SENDER, "-o", "no/x.json"], "cannot write `no/x.json`: No such file"),
        (&["text", "-o", "x.json"], "text: "),
    ] {
        let before = dir.files();
        let outcome = dir.run(&[&["analyze"], args].concat());
        let stderr = &outcome.stderr;
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        let expected = format!("recoup: {expected}");
        assert!(stderr.starts_with(&expected), "{args:?}: {stderr}");
        assert_eq!(dir.files(), before, "{args:?}");
    }
}

/// The error is one line, and the other captures are analyzed.
#[test]
fn an_unreadable_capture_does_not_affect_the_others() {
    let (dir, _) = captured("1");
    fs::copy(dir.path(SENDER), dir.path("b.pcap")).expect("a copy");
    dir.write("empty", "");
    dir.write("text", "once upon a time there was no capture at all");
    let shown = |captures: &[&str], format: &str| {
        let args = [captures, &["--connections", "--format", format]].concat();
        dir.run(&[&["analyze"], &args[..]].concat())
    };
    for format in ["table", "json", "csv"] {
        let outcome = shown(&["empty", SENDER, "text", "b.pcap"], format);
        assert_eq!(outcome.status, Some(2), "{format}");
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("recoup: empty: "), "{lines:?}");
        assert!(lines[1].starts_with("recoup: text: "), "{lines:?}");
        let without = shown(&[SENDER, "b.pcap"], format).printed();
        assert_eq!(outcome.stdout, without, "{format}");
    }
    // The columns do not depend on the number of readable captures.
    let alone = shown(&[SENDER, "text"], "csv").stdout;
    assert!(alone.starts_with("connection,") && alone.contains(",capture\n"));
    assert!(alone.ends_with(&format!(",{SENDER}\n")), "{alone}");
}

/// Without --format.
#[test]
fn the_ending_of_the_output_file_selects_the_format() {
    let (dir, _) = captured("1");
    let written = |file: &str, format: &[&str]| {
        let args = ["analyze", SENDER, "--connections", "-o", file];
        assert_eq!(dir.run(&[&args[..], format].concat()).printed(), "");
        fs::read(dir.path(file)).expect("a file")
    };
    for (file, format) in
        [("a.json", "json"), ("a.CSV", "csv"), ("a.parquet", "parquet"), ("a.txt", "table"), ("json", "table")]
    {
        let asked_for = written("asked-for", &["--format", format]);
        assert_eq!(written(file, &[]), asked_for, "{file}");
    }
    let csv = written("a.json", &["--format", "csv"]);
    assert_eq!(csv, written("a.csv", &[]));
}

#[test]
fn figures_are_drawn_into_a_folder() {
    let (dir, _) = captured("2");
    let args = ["analyze", SENDER, "--figures", "figs", "-o", "summary.txt"];
    let outcome = dir.run(&args);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for name in ["fig1-bytes", "fig2-detection", "fig3-reduction"] {
        let file = format!("figs/{name}.svg");
        assert!(outcome.stderr.contains(&format!("wrote {file}\n")));
        assert!(dir.read(&file).starts_with("<svg "), "{name}");
    }
    let printed = dir.run(&["analyze", SENDER]).printed();
    assert_eq!(dir.read("summary.txt"), printed);
    // Figure 1 has a line for each capture.
    let outcome = dir.run(&["analyze", SENDER, RECEIVER, "--figures", "both"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let drawn = dir.read("both/fig1-bytes.svg");
    for path in [SENDER, RECEIVER] {
        let name = path.trim_start_matches("caps/");
        assert!(drawn.contains(name), "{name}");
    }
    assert!(!drawn.contains("all connections"));
    // Without data no figure is drawn.
    let empty = fs::read(dir.path(SENDER)).expect("a capture")[..24].to_vec();
    dir.write("empty.pcap", empty);
    let args = ["analyze", "empty.pcap", "--study", "--figures", "none"];
    let outcome = dir.run(&args);
    assert_eq!(outcome.status, Some(0));
    let notes = "recoup: note: empty.pcap: the capture contains no packets\n\
                 recoup: note: empty.pcap: nothing to draw in fig1-bytes, fig2-detection, fig3-reduction\n";
    assert_eq!(outcome.stderr, notes);
    assert!(outcome.stdout.contains("no tables, because the capture contains no retransmissions"));
    let drawn = fs::read_dir(dir.path("none")).expect("a folder");
    assert_eq!(drawn.count(), 0);
}

/// Marks every verdict of the chosen connection and no other.
#[test]
fn a_connection_is_drawn_with_its_verdicts() {
    let (dir, _) = captured("3");
    let drawn = |number: &str| dir.run(&["analyze", "--plot", number, SENDER]).printed();
    let svg = drawn("1");
    assert!(svg.starts_with("<svg ") && svg.contains("Connection 1: "));
    assert!(svg.contains("198.51.100.1:32769") && !svg.contains("198.51.100.1:32768"));
    for format in ["svg", "XPL"] {
        let file = format!("picture.{format}");
        let args = ["analyze", SENDER, "--plot", "1", "-o", &file];
        assert_eq!(dir.run(&args).printed(), "");
    }
    assert_eq!(dir.read("picture.svg"), svg);
    let xplot = dir.read("picture.XPL");
    assert!(xplot.starts_with("timeval "), "{xplot}");
    // Each of its retransmissions is marked once, and none of another connection.
    let args = ["analyze", SENDER, "--retransmissions", "--format", "csv"];
    let csv = dir.run(&args).printed();
    let rows = csv_rows(&csv);
    let own = rows[1..].iter().filter(|row| row[15] == "1");
    let own: Vec<String> = own.map(|row| format!("{} {}", row[6], row[7])).collect();
    let is_verdict = |line: &&str| line.ends_with(" needed");
    let marked: Vec<&str> = xplot.lines().filter(is_verdict).collect();
    assert_eq!(marked.len(), 2, "{xplot}");
    assert_eq!(marked, own);
    // The error names the possible numbers, and no file is written.
    let outcome = dir.run(&["analyze", "--plot", "3", SENDER, "-o", "none.svg"]);
    let line = format!("recoup: {SENDER}: no connection 3: there are 3, from 0 to 2\n");
    assert_eq!((outcome.status, outcome.stderr), (Some(2), line));
    assert!(!dir.path("none.svg").exists());
}

/// A duration as the sentences of `recoup explain` say it, in ms.
fn said(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').expect("a unit");
    number.parse::<f64>().expect("a number") * if unit == "s" { 1e3 } else { 1.0 }
}

/// One quantity has one name: what `analyze` calls lost or recovering is what `explain` calls so.
#[test]
fn analyze_and_explain_agree_on_lost_time_and_on_recovering() {
    let (dir, _) = captured("3");
    let json = |args: &[&str]| dir.run(args).json()["captures"][0].clone();
    let number = |value: &Value| value.as_f64().expect("a number");
    let summary = json(&["analyze", SENDER, "--summary", "--format", "json"]);
    let connections = json(&["analyze", SENDER, "--connections", "--format", "json"]);
    let explained = json(&["explain", SENDER, "--no-advice", "--format", "json"]);
    assert!(number(&explained["lost_ms"]) > 0.0);
    assert_eq!(summary["summary"]["lost_ms"], explained["lost_ms"]);
    assert_eq!(summary["summary"]["connections_that_lost_time"], explained["connections_that_lost_time"]);
    for slow in summary["slowest"].as_array().expect("connections") {
        let same = |other: &&Value| other["connection"] == slow["connection"];
        let of_explain = explained["connections"].as_array().and_then(|all| all.iter().find(same)).expect("it");
        assert_eq!(slow["lost_ms"], of_explain["lost_ms"]);
        let row = connections["connections"].as_array().and_then(|all| all.iter().find(same)).expect("it");
        for (side, prefix) in [(0, "src"), (1, "dst")] {
            let state = &of_explain["sides"][side]["time_ms"]["recovering"];
            assert_eq!(&row[format!("{prefix}_recovering_ms")], state);
        }
        let number_of = slow["connection"].to_string();
        let text = dir.run(&["explain", SENDER, "--connection", &number_of]).printed();
        let (_, cost) = text.split_once("Losses and delays cost ").expect("the headline");
        let (cost, _) = cost.split_once(" of ").expect("the headline");
        let lost = number(&slow["lost_ms"]);
        assert!((said(cost) - lost).abs() <= lost / 100.0, "{cost}, {lost}");
    }
}
