//! `recoup anonymize`.

use crate::cli::analyze::{SENDER, captured};
use recoup_testing::Folder;
use std::fs;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;

/// Captures from practice: link types, tunnels, ICMP, directions that are not captured, cut packets.
const FIELD: [&str; 6] = [
    "any_interface_gso_split",
    "both_directions_lose",
    "payload_only_export",
    "pmtu_black_hole_no_icmp",
    "vxlan_mirror",
    "zero_window_overrun",
];

const VIEWS: [&[&str]; 4] = [
    &["analyze", "--connections", "--format", "csv"],
    &["analyze", "--retransmissions", "--format", "csv"],
    &["analyze", "--summary", "--format", "json"],
    &["explain", "--no-advice"],
];

const SECRET: &str = "correct horse battery staple";

fn field(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "trace", "tests", "field", &format!("{name}.pcap.zst")].iter().collect()
}

/// The text with a word for each address, and with single spaces: the width of columns and lines depends on addresses.
fn without_names(text: &str, file: &str) -> String {
    let text = text.replace(file, "FILE");
    let is_part = |c: char| c.is_ascii_hexdigit() || ".:[]".contains(c);
    let mut found = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if is_part(c) {
            word.push(c);
            continue;
        }
        let trimmed = word.trim_end_matches([':', '.']);
        let is_name = trimmed.parse::<SocketAddr>().is_ok() || trimmed.parse::<IpAddr>().is_ok();
        found += if is_name { "NAME" } else { &word };
        word.clear();
        match c.is_whitespace() {
            true if found.ends_with(' ') => {}
            true => found.push(' '),
            false => found.push(c),
        }
    }
    found
}

/// What the program says of a capture, without names.
fn views(dir: &Folder, file: &str) -> Vec<String> {
    let say = |view: &&[&str]| {
        let outcome = dir.run(&[view, &[file][..]].concat());
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        without_names(&format!("{}{}", outcome.stdout, outcome.stderr), file)
    };
    VIEWS.iter().map(say).collect()
}

#[track_caller]
fn assert_same_analysis(dir: &Folder, file: &str) {
    dir.run(&["-q", "anonymize", file, "-o", "anonymous.pcap"]).printed();
    for ((before, after), view) in views(dir, file).iter().zip(views(dir, "anonymous.pcap")).zip(VIEWS) {
        assert_eq!(*before, after, "{file}: {view:?}");
    }
}

#[test]
fn the_analysis_is_the_same_but_for_names() {
    let (dir, _) = captured("3");
    assert_same_analysis(&dir, SENDER);
    for name in FIELD {
        fs::copy(field(name), dir.path("field.pcap.zst")).expect("a copy");
        assert_same_analysis(&dir, "field.pcap.zst");
    }
}

#[test]
fn captures_of_one_run_or_of_one_key_map_alike() {
    let (dir, _) = captured("1");
    let receiver = SENDER.replace("sender", "receiver");
    let report = dir.run(&["anonymize", SENDER, &receiver, "-o", "out"]);
    assert_eq!((report.status, report.stdout.as_str()), (Some(0), ""), "{report:?}");
    let [sender, receiver] = ["linux-3.17-sender.pcap", "linux-3.17-receiver.pcap"].map(|name| format!("out/{name}"));
    assert!(report.stderr.starts_with(&format!("recoup: wrote {sender}: ")), "{report:?}");
    assert!(report.stderr.contains("recoup: mapped 2 IPv4 addresses by a random key, which is not kept"), "{report:?}");
    let ends = |file: &str| {
        let csv = dir.run(&["-q", "analyze", file, "--connections", "--format", "csv"]).printed();
        let mut names: Vec<String> = recoup_testing::csv_rows(&csv)[1..]
            .iter()
            .flatten()
            .filter(|cell| cell.parse::<SocketAddr>().is_ok())
            .map(|cell| (*cell).to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!((ends(&sender), ends(&sender).len()), (ends(&receiver), 2));

    dir.write("key", SECRET);
    for (capture, out) in [(SENDER, "a.pcap"), (SENDER, "b.pcap.gz"), (SENDER, "c.pcap.zst")] {
        let report = dir.run(&["anonymize", capture, "--key", "key", "-o", out]);
        assert!(report.stderr.contains("by the key in key: who has it can undo the map\n"), "{report:?}");
        assert_eq!(ends(out), ends("a.pcap"));
    }
    assert_ne!(ends("a.pcap"), ends(&sender));
    assert_ne!(ends("a.pcap"), ends(SENDER));
    assert_eq!(dir.bytes("b.pcap.gz")[..2], [0x1f, 0x8b]);
    assert_eq!(dir.bytes("c.pcap.zst")[..4], [0x28, 0xb5, 0x2f, 0xfd]);
}

#[test]
fn a_stream_is_anonymized_and_a_cut_capture_keeps_what_is_whole() {
    let (dir, _) = captured("1");
    let capture = dir.bytes(SENDER);
    let mut child = dir
        .command(&["anonymize", "-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&capture[..capture.len() - 5]).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let report = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(report.starts_with("recoup: wrote standard output: "), "{report}");
    let note = "recoup: note: standard input: the capture ends within a packet: what comes before is written\n";
    assert!(report.contains(note), "{report}");
    dir.write("out.pcap", output.stdout);
    let analyzed = dir.run(&["analyze", "out.pcap"]);
    assert_eq!((analyzed.status, analyzed.stderr.as_str()), (Some(0), ""));
}

#[test]
fn wrong_use_is_refused_and_nothing_is_written() {
    let (dir, _) = captured("1");
    let receiver = SENDER.replace("sender", "receiver");
    dir.write("short", "secret\n");
    dir.write("text", "once upon a time");
    fs::create_dir(dir.path("a")).expect("a folder");
    fs::copy(dir.path(SENDER), dir.path("a/linux-3.17-sender.pcap")).expect("a copy");
    for (args, part) in [
        (&[SENDER][..], "--output <FILE>"),
        (&[SENDER, "-o", SENDER], "which is read"),
        (&[SENDER, &receiver, "-o", "caps"], "which is read"),
        (&[SENDER, "a/linux-3.17-sender.pcap", "-o", "new"], "expected another file than --output"),
        (&[SENDER, &receiver, "-o", "-"], "--output -: expected a folder for several captures"),
        (&["-", "-o", "caps"], "--output caps: a folder: expected a file for standard input"),
        (&[SENDER, "-o", "x", "--key", "short"], "--key short: a key of 7 bytes: expected at least 16"),
        (&[SENDER, "-o", "x", "--key", "none"], "--key none: cannot read it: "),
        (&["none.pcap", "-o", "x"], "cannot read none.pcap: "),
        (&["text", "-o", "x"], "text: not a capture: expected a pcap or pcapng capture"),
        (&[SENDER, "-o", "none/x"], "cannot write `none/x`: "),
    ] {
        dir.refuses(&[&["anonymize"], args].concat(), &[part]);
    }
}
