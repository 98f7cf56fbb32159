//! `recoup run --flows-out`.

use crate::cli::folder;
use recoup_testing::{Folder, csv_rows};
use serde_json::Value;

fn run(dir: &Folder, args: &str) -> Value {
    let all: Vec<&str> = ["-q", "run"].into_iter().chain(args.split_whitespace()).chain(["--format", "json"]).collect();
    dir.run(&all).json()
}

/// The columns of a file by name.
fn column<'a>(rows: &'a [Vec<&'a str>], name: &str) -> Vec<&'a str> {
    let place = rows[0].iter().position(|head| *head == name).unwrap_or_else(|| panic!("no column {name}"));
    rows[1..].iter().map(|row| row[place]).collect()
}

#[test]
fn a_run_has_a_row_for_each_flow() {
    let dir = folder();
    let document = run(&dir, "tail-loss --flows 200 --set drop=bernoulli:0.1 --flows-out f.csv");
    let text = dir.read("f.csv");
    let rows = csv_rows(&text);
    let results = document["results"].as_array().expect("results");
    assert_eq!(rows.len(), 1 + 200 * results.len());
    for result in results {
        let of_profile: Vec<Vec<&str>> = rows[1..].iter().filter(|row| row[0] == result["profile"]).cloned().collect();
        let rows = [&rows[..1], &of_profile].concat();
        let sum =
            |name: &str| column(&rows, name).iter().map(|cell| cell.parse::<f64>().expect("a number")).sum::<f64>();
        for (name, whole) in [
            ("segments_sent", &result["segments_sent"]),
            ("packets_dropped", &result["packets_dropped"]),
            ("retransmissions_rto", &result["retransmissions"]["rto"]),
            ("spurious", &result["spurious"]),
        ] {
            assert_eq!(Some(sum(name)), whole.as_f64(), "{name}");
        }
        let mean = result["fct_ms"]["mean"].as_f64().expect("a mean");
        assert!((sum("fct_ms") / 200.0 - mean).abs() < 1e-6, "{mean}");
    }
    // With captures, flows run one after another; the rows are the same.
    run(&dir, "tail-loss --flows 200 --set drop=bernoulli:0.1 --pcap caps --flows-out again.csv");
    assert!(text == dir.read("again.csv"));
}

#[test]
fn rows_are_written_in_each_format() {
    let dir = folder();
    for file in ["f.csv", "f.jsonl", "f.parquet"] {
        run(&dir, &format!("tail-loss --flows 70 --flows-out {file}"));
    }
    let lines = dir.read("f.jsonl");
    let mut lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let header = lines.next().expect("a header");
    assert_eq!((&header["schema"], &header["version"]), (&"recoup.flows".into(), &1.into()));
    let csv = dir.read("f.csv");
    let rows = csv_rows(&csv);
    let fct = column(&rows, "fct_ms");
    let count = lines.zip(&fct).map(|(line, fct)| assert_eq!(line["fct_ms"].as_f64(), fct.parse().ok())).count();
    assert_eq!((count, fct.len()), (70 * 3, 70 * 3));
    assert!(std::fs::read(dir.path("f.parquet")).expect("a file").starts_with(b"PAR1"));
}

#[test]
fn sweeps_and_worlds_have_rows_with_their_values() {
    let dir = folder();
    run(&dir, "tail-loss --flows 70 --sweep rtt=20ms,40ms --sweep segments=5,10 --flows-out s.csv");
    let text = dir.read("s.csv");
    let rows = csv_rows(&text);
    assert_eq!(rows.len(), 1 + 4 * 3 * 70);
    let cells = column(&rows, "cell").into_iter().zip(column(&rows, "set_rtt")).zip(column(&rows, "set_segments"));
    let expected = [("20ms", "5"), ("20ms", "10"), ("40ms", "5"), ("40ms", "10")];
    for (((cell, rtt), segments), number) in cells.zip(0_usize..) {
        assert_eq!(cell, (number / 210).to_string());
        assert_eq!((rtt, segments), expected[number / 210]);
    }
    let args = "dumbbell --set duration=1s --set runs=2 --sweep links.bottleneck.queue=20,100 --flows-out w.csv";
    let document = run(&dir, args);
    let text = dir.read("w.csv");
    let rows = csv_rows(&text);
    let of_cell = |cell: usize| column(&rows, "cell").iter().filter(|one| **one == cell.to_string()).count() as u64;
    for (number, cell) in document["cells"].as_array().expect("cells").iter().enumerate() {
        let results = cell["results"].as_array().expect("results").iter();
        let workloads = results.flat_map(|result| result["workloads"].as_array().expect("workloads"));
        assert_eq!(of_cell(number), workloads.map(|one| one["flows"].as_u64().expect("flows")).sum::<u64>());
    }
    let names = ["set_links.bottleneck.queue", "workload", "run", "begin_ms", "outcome"];
    assert!(names.iter().all(|name| !column(&rows, name).contains(&"")), "{}", &text[..2000.min(text.len())]);
}

/// docs/results.md lists every column.
#[test]
fn every_column_is_documented() {
    let manual = include_str!("../../../../../docs/results.md");
    let (_, section) = manual.split_once("## A row for each flow").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    for field in recoup_lab::flows::columns(["rtt"]).fields() {
        let name = field.path.replace('.', "_");
        let is_trigger = name.starts_with("retransmissions_") && name != "retransmissions_total";
        let name = match (is_trigger, name.strip_prefix("set_")) {
            (true, _) => "retransmissions_TRIGGER",
            (_, Some(_)) => "set_KEY",
            _ => &name,
        };
        assert!(section.contains(&format!("`{name}`")), "{name}");
    }
}
