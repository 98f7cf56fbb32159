//! `recoup analyze --state`: an analysis that goes on from run to run.

use super::{SENDER, captured};
use recoup_testing::{Folder, csv_rows};
use std::collections::BTreeMap;
use std::fs;

#[cfg(unix)]
use {super::endings::interrupted, serde_json::Value, std::os::unix::process::ExitStatusExt};

/// A folder with a capture, the same in two parts (a.pcap, b.pcap), cut within a connection.
fn in_parts() -> Folder {
    let (dir, _) = captured("20");
    let whole = fs::read(dir.path(SENDER)).expect("a capture");
    let cut = frame_from(&whole, whole.len() / 2);
    dir.write("a.pcap", &whole[..cut]);
    dir.write("b.pcap", [&whole[..24], &whole[cut..]].concat());
    dir
}

/// Where the first frame at or after this byte of a capture begins.
fn frame_from(capture: &[u8], byte: usize) -> usize {
    let mut at = 24;
    while at < byte {
        let length = capture[at + 8..at + 12].try_into().expect("four bytes");
        at += 16 + u32::from_le_bytes(length) as usize;
    }
    at
}

/// Runs `recoup analyze --state s` with these arguments, and nothing to note.
fn go_on(dir: &Folder, args: &[&str]) -> String {
    dir.run(&[&["analyze", "--state", "s"], args].concat()).printed()
}

/// The rows of an output. Those of a run with a state also say in which file a frame is: that is left out.
fn rows(output: &str) -> Vec<Vec<&str>> {
    let rows = csv_rows(output);
    let kept = rows[0].iter().map(|column| !column.starts_with("file"));
    let kept: Vec<bool> = kept.collect();
    let rows = rows.into_iter().map(|row| {
        let cells = row.into_iter().zip(&kept);
        cells.filter_map(|(cell, kept)| kept.then_some(cell)).collect()
    });
    rows.collect()
}

/// Rows without the column `record`, by key: the latest of each.
fn fold<'a>(outputs: &[&'a str], key: &[&str]) -> BTreeMap<Vec<&'a str>, Vec<&'a str>> {
    let mut latest = BTreeMap::new();
    for rows in outputs.iter().map(|output| rows(output)) {
        let column = |name: &&str| {
            let mut columns = rows[0].iter();
            columns.position(|column| column == name).expect("a column")
        };
        let key: Vec<usize> = key.iter().map(column).collect();
        for row in &rows[1..] {
            let key: Vec<&str> = key.iter().map(|column| row[*column]).collect();
            let (record, row) = row.split_last().expect("a record");
            let known = match *record {
                "new" => latest.insert(key, row.to_vec()).is_none(),
                "revised" => latest.insert(key, row.to_vec()).is_some(),
                "withdrawn" => latest.remove(&key).is_some(),
                other => panic!("{other}"),
            };
            assert!(known, "{record} {row:?}");
        }
    }
    latest
}

#[test]
fn runs_over_the_parts_show_what_one_run_over_the_whole_shows() {
    let dir = in_parts();
    for (view, key) in [
        ("--retransmissions", &["frame", "seq"][..]),
        ("--episodes", &["connection", "capture_point", "side", "frame", "cause"]),
        ("--connections", &["connection", "capture_point"]),
    ] {
        let csv = [view, "--format", "csv"];
        let whole = dir.run(&[&["analyze", SENDER][..], &csv].concat()).printed();
        let state = view.trim_start_matches('-');
        let run = |args: &[&str]| {
            let all = [&["analyze", "--state", state][..], &csv, args].concat();
            dir.run(&all).printed()
        };
        let outputs = [run(&["a.pcap"]), run(&["a.pcap", "b.pcap"]), run(&["b.pcap"])];
        let expected = csv_rows(&whole);
        let header = rows(&outputs[0])[0].join(",");
        assert_eq!(header, expected[0].join(",") + ",record");
        // What was read is not read again.
        assert_eq!(outputs[2].lines().count(), 1, "{}", outputs[2]);
        assert!(outputs[1].lines().count() < expected.len(), "{}", outputs[1]);
        // Nor does a file that cannot be read keep the old rows in the output.
        dir.write("broken.pcap", "no capture");
        let again = ["analyze", "--state", state, "a.pcap", "broken.pcap", "-o", "rows.csv"];
        let outcome = dir.run(&[&again[..], &csv].concat());
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        assert_eq!(dir.read("rows.csv"), outputs[2]);
        let outputs: Vec<&str> = outputs.iter().map(|output| &**output).collect();
        let latest = fold(&outputs, key);
        let mut expected: Vec<&Vec<&str>> = expected[1..].iter().collect();
        expected.sort();
        let mut latest: Vec<&Vec<&str>> = latest.values().collect();
        latest.sort();
        assert_eq!(latest, expected, "{view}");
    }
    // Totals are those of all runs. The state alone shows them as well.
    let body = |text: &str| text.split_once("\n\n").expect("a name").1.to_owned();
    let whole = body(&dir.run(&["analyze", SENDER]).printed());
    let first = body(&go_on(&dir, &["a.pcap"]));
    assert_ne!(first, whole);
    assert_eq!(body(&go_on(&dir, &["b.pcap"])), whole);
    let before = fs::read(dir.path("s")).expect("a state");
    let alone = go_on(&dir, &[]);
    assert!(alone.starts_with("s\n\n"), "{alone}");
    assert_eq!(body(&alone), whole);
    assert_eq!(fs::read(dir.path("s")).expect("a state"), before);
    // The study and its figures are those of all runs.
    let study = dir.run(&["analyze", SENDER, "--study"]).printed();
    assert_eq!(body(&go_on(&dir, &["--study"])), body(&study));
    dir.run(&["analyze", SENDER, "--figures", "whole"]);
    dir.run(&["analyze", "--state", "s", "--figures", "parts"]);
    let figures = dir.files().into_iter().filter_map(|file| Some(file.strip_prefix("whole/")?.to_owned()));
    for figure in figures.collect::<Vec<String>>() {
        let [whole, parts] = ["whole", "parts"].map(|folder| dir.read(&format!("{folder}/{figure}")));
        assert!(whole == parts, "{figure}");
    }
}

#[test]
fn a_capture_that_grows_is_read_on() {
    let dir = in_parts();
    let whole = fs::read(dir.path(SENDER)).expect("a capture");
    let view = ["analyze", "--state", "s", "--connections", "--format", "csv", "day.pcap"];
    let mut outputs = Vec::new();
    for part in 1..=4 {
        let end = frame_from(&whole, whole.len() * part / 4);
        dir.write("day.pcap", &whole[..end]);
        outputs.push(dir.run(&view).printed());
    }
    let outputs: Vec<&str> = outputs.iter().map(|output| &**output).collect();
    let latest = fold(&outputs, &["connection", "capture_point"]);
    let args = ["analyze", "--connections", "--format", "csv", SENDER];
    let expected = dir.run(&args).printed();
    let expected: Vec<Vec<&str>> = csv_rows(&expected).split_off(1);
    let column = |row: &Vec<&str>| row[0].parse::<u64>().expect("a number");
    let mut latest: Vec<Vec<&str>> = latest.into_values().collect();
    latest.sort_by_key(column);
    assert_eq!(latest, expected);
}

#[test]
fn states_of_other_connections_are_merged() {
    let (dir, _) = captured("5");
    let whole = fs::read(dir.path(SENDER)).expect("a capture");
    // The same connections with other addresses: 192.0.2.1 becomes 192.0.3.1.
    let mut other = whole.clone();
    let mut at = 24;
    while at < other.len() {
        let next = frame_from(&other, at + 1);
        for address in [12, 16] {
            let place = at + 16 + address;
            if other[place..place + 3] == [192, 0, 2] {
                other[place + 2] = 3;
            }
        }
        at = next;
    }
    dir.write("other.pcap", other);
    let json = |args: &[&str]| {
        let all = [&["analyze", "--format", "json"], args].concat();
        dir.run(&all).json()["captures"][0].clone()
    };
    let one = json(&["--state", "one", SENDER]);
    let other = json(&["--state", "other", "other.pcap"]);
    let merged = json(&["--merge-state", "one", "--merge-state", "other"]);
    for total in ["connections", "packets", "data_retransmissions", "bytes", "rtt_count"] {
        let of = |document: &serde_json::Value| document["summary"][total].as_u64();
        let sum = of(&one).zip(of(&other)).map(|(a, b)| a + b);
        assert_eq!(of(&merged), sum, "{total}");
    }
    // Merged into a state they are saved, once the first run has begun it.
    json(&["--state", "all", "--merge-state", "one"]);
    json(&["--state", "all", "--merge-state", "other"]);
    assert_eq!(json(&["--state", "all"])["summary"], merged["summary"]);
    assert_eq!(merged["capture"], "one, other");
    // Nothing is merged twice.
    let line = format!("one: the totals contain the capture {SENDER} already");
    refuses(&dir, &["--state", "all", "--merge-state", "one"], &[&line]);
}

/// Checks that `args` are refused with one line that has all `parts`, and that all files stay as they were.
fn refuses(dir: &Folder, args: &[&str], parts: &[&str]) {
    let files = dir.files();
    let contents = || -> Vec<Option<Vec<u8>>> { files.iter().map(|file| fs::read(dir.path(file)).ok()).collect() };
    let before = contents();
    let outcome = dir.run(&[&["analyze"], args].concat());
    let stderr = &outcome.stderr;
    assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""), "{args:?}: {stderr}");
    assert!(stderr.starts_with("recoup: ") && stderr.lines().count() == 1, "{args:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?}: {part} not in: {stderr}");
    }
    assert_eq!(dir.files(), files, "{args:?}");
    assert!(contents() == before, "{args:?}");
}

#[test]
fn a_state_that_cannot_be_continued_is_refused_and_stays() {
    let dir = in_parts();
    go_on(&dir, &["a.pcap"]);
    dir.run(&["analyze", "--state", "rows", "--connections", "a.pcap"]);
    let state = fs::read(dir.path("s")).expect("a state");
    dir.write("cut", &state[..state.len() - 100]);
    let mut damaged = state.clone();
    damaged[state.len() / 2] ^= 1;
    dir.write("damaged", damaged);
    dir.write("empty", "");
    fs::create_dir(dir.path("folder")).expect("a folder");
    let foreign = "not a state file: expected one that `recoup analyze --state` wrote, or no file";
    let damage = "state file cut or damaged: expected the checksum at its end to match";
    for (args, parts) in [
        (&["--state", "cut", "b.pcap"][..], &["cut: ", damage][..]),
        (&["--state", "damaged", "b.pcap"], &["damaged: ", damage]),
        (&["--state", SENDER, "b.pcap"], &[SENDER, foreign]),
        (&["--state", "empty", "b.pcap"], &["empty: ", foreign]),
        (&["--state", "folder", "b.pcap"], &["folder: ", foreign]),
        (&["--state", "none"], &["none: No such file"]),
        (&["--state", "none/s", "b.pcap"], &["cannot write `none/s`: No such file"]),
        (&["--state", "s", "--connections", "b.pcap"], &["s: state made with --summary: expected --connections"]),
        (&["--state", "rows", "b.pcap"], &["rows: state made with --connections: expected --summary"]),
        (&["--state", "s", "--idle", "60s", "b.pcap"], &["s: state made with --idle 900s: expected --idle 60s"]),
        (
            &["--state", "s", "--profile", "linux-6", "b.pcap"],
            &["s: state made with no --profile: expected --profile linux-6"],
        ),
        (&["--state", "b.pcap", "b.pcap"], &["cannot write `b.pcap`: it is b.pcap, which is read"]),
        (&["--state", "s", "-o", "s", "b.pcap"], &["--state s: expected another file than --output"]),
        (&["--state", "t", "-o", "t", "b.pcap"], &["--state t: expected another file than --output"]),
        (&["--state", "s", "--merge-state", "s"], &["cannot write `s`: it is s, which is read"]),
        (&["--state", "s", "--merge-state", "none"], &["none: No such file"]),
        (&["--state", "s", "--merge-state", "rows"], &["rows: state made with --connections"]),
        (&["--merge-state", "s", "b.pcap"], &["--merge-state: expected no captures, or --state FILE"]),
        (
            &["--state", "s", "--connections", "--merge-state", "rows"],
            &["'--merge-state <FILE>'", "cannot be used with", "--connections"],
        ),
        (&["--state", "s", "--plot", "0", "b.pcap"], &["'--state <FILE>' cannot be used with '--plot <CONNECTION>'"]),
        (&["--state", "s", "cut"], &["cut: "]),
        (&["--state", "new", "empty"], &["empty: "]),
    ] {
        refuses(&dir, args, parts);
    }
}

/// If the findings cannot be printed, the state stays as it was.
#[test]
fn a_state_is_replaced_only_after_the_findings_are_printed() {
    let dir = in_parts();
    go_on(&dir, &["a.pcap"]);
    let before = fs::read(dir.path("s")).expect("a state");
    let Ok(full) = fs::File::options().write(true).open("/dev/full") else {
        return;
    };
    let mut command = dir.command(&["analyze", "--state", "s", "b.pcap"]);
    let output = command.stdout(full).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read(dir.path("s")).expect("a state"), before);
    assert_eq!(dir.files().iter().filter(|file| file.contains(".tmp")).count(), 0);
}

/// After an interrupt the next run goes on where the reading stopped.
#[cfg(unix)]
#[test]
fn an_interrupted_run_saves_how_far_it_came() {
    let (dir, _) = captured("20");
    let output = interrupted(&dir, &["analyze", "--state", "s", "-", "--format", "json"]);
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let outcome = dir.run(&["analyze", "--state", "s", "--format", "json"]);
    let saved: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let of = |document: &Value, total: &str| document["captures"][0]["summary"][total].clone();
    for total in ["frames", "connections", "data_retransmissions"] {
        assert_eq!(of(&saved, total), of(&shown, total), "{total}");
    }
    assert!(of(&saved, "frames").as_u64() > Some(0));
}
