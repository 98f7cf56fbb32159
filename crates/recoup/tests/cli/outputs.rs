//! `recoup run --pcap` and `--events`.

use crate::{Folder, recoup};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How many packets a classic pcap file of raw IP packets holds; every one must be a whole packet.
fn packets(file: &Path) -> usize {
    let bytes = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(word(0), 0xa1b2_3c4d, "nanosecond timestamps, little-endian");
    assert_eq!(word(20), 101, "LINKTYPE_RAW");
    let (mut at, mut count, mut last) = (24, 0, (0, 0));
    while at < bytes.len() {
        let time = (word(at), word(at + 4));
        assert!(last <= time && time.1 < 1_000_000_000, "{last:?}, {time:?}");
        let (captured, on_wire) = (word(at + 8), word(at + 12));
        let packet = &bytes[at + 16..at + 16 + captured as usize];
        assert_eq!(captured, on_wire, "cut");
        assert_eq!(packet[0], 0x45, "IPv4");
        let total = u16::from_be_bytes([packet[2], packet[3]]);
        assert_eq!(u32::from(total), captured);
        (at, count, last) = (at + 16 + captured as usize, count + 1, time);
    }
    assert_eq!(at, bytes.len());
    count
}

#[test]
fn two_captures_a_profile_tell_what_was_sent_and_what_came() {
    let dir = Folder::new();
    let args = ["run", "tail-loss", "--set", "drop=tail:2", "--flows", "3"];
    let report = dir
        .recoup(&[&args[..], &["--format", "json", "--pcap", "cap/tures"]].concat())
        .json();
    let results = report["results"].as_array().expect("results");
    let mut names = vec!["cap".to_owned(), "cap/tures".to_owned()];
    for result in results {
        let profile = result["profile"].as_str().expect("a name");
        let [sender, receiver] =
            ["sender", "receiver"].map(|end| format!("cap/tures/{profile}-{end}.pcap"));
        let [sent, came] = [&sender, &receiver].map(|name| packets(&dir.path(name)));
        // Both ends see all that got through, the sender what was lost as well.
        assert_eq!(result["packets_dropped"], 6);
        assert_eq!(sent - came, 6, "{profile}");
        names.extend([sender, receiver]);
    }
    names.sort();
    assert_eq!(dir.files(), names, "and nothing else");

    // Files change nothing about the results, and replace what was there.
    let plain = recoup(&[&args[..], &["--format", "json"]].concat()).json();
    assert_eq!(plain, report);
    let before = fs::read(dir.path(&names[2])).expect("a capture");
    dir.recoup(&[&args[..], &["--pcap", "cap/tures"]].concat())
        .printed();
    assert_eq!(fs::read(dir.path(&names[2])).expect("a capture"), before);
    assert_eq!(dir.files(), names);
}

/// The events, each a JSON object, and how often the sender of `profile` sent again.
fn check_events(text: &str, flows: u64) -> BTreeMap<String, u64> {
    let mut again = BTreeMap::new();
    let mut last: BTreeMap<(String, u64), f64> = BTreeMap::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let time = event["time_ms"].as_f64().expect("a time");
        let profile = event["profile"].as_str().expect("a profile").to_owned();
        let flow = event["flow"].as_u64().expect("a flow");
        assert!(flow < flows && event["event"].is_string(), "{line}");
        assert!(event.get("host").is_some(), "{line}");
        if event["event"] == "sent" && event["what"] == "again" {
            *again.entry(profile.clone()).or_default() += 1;
        }
        let before = last.insert((profile, flow), time).unwrap_or(0.0);
        assert!(before <= time, "time runs backwards: {line}");
    }
    assert_eq!(last.len() as u64, 4 * flows, "every flow of every profile");
    again
}

#[test]
fn events_are_json_lines_that_agree_with_the_results() {
    let dir = Folder::new();
    let args = ["run", "tail-loss", "--set", "drop=tail:3", "--flows", "2"];
    let to_file = [
        "--format",
        "json",
        "--events",
        "events.jsonl",
        "--pcap",
        "caps",
    ];
    let report = dir.recoup(&[&args[..], &to_file].concat()).json();
    let events = dir.read("events.jsonl");
    let again = check_events(&events, 2);
    for result in report["results"].as_array().expect("results") {
        let profile = result["profile"].as_str().expect("a name");
        assert_eq!(
            result["retransmissions"]["total"], again[profile],
            "{profile}"
        );
    }
    assert_eq!(dir.files().len(), 2 + 8, "{:?}", dir.files());
    let plain = recoup(&[&args[..], &["--format", "json"]].concat()).json();
    assert_eq!(plain, report);

    // To standard output the same, and nothing else.
    let printed = dir
        .recoup(&[&args[..], &["--events", "-"]].concat())
        .printed();
    assert!(printed == events, "the event streams differ");
}

/// Nothing is written by a run that is refused; what was there stays as it was.
#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let dir = Folder::new();
    fs::create_dir_all(dir.path("folder/linux-3.17-sender.pcap")).expect("a folder");
    dir.write("file", "kept");
    let before = dir.files();
    for (option, value, named) in [
        ("--pcap", "file", "`file`"),
        ("--pcap", "file/below", "`file/below`"),
        ("--pcap", "folder", "`folder/linux-3.17-sender.pcap`"),
        ("--events", "folder", "`folder`"),
        ("--events", "no/such/events", "`no/such/events`"),
        ("--events", "file/events", "`file/events`"),
    ] {
        for more in [&[][..], &["--events", "events"], &["--pcap", "caps"]] {
            // Each option once.
            if more.first() == Some(&option) {
                continue;
            }
            let args = [
                &["run", "tail-loss", "--profile", "linux-3.17", option, value][..],
                more,
            ]
            .concat();
            let outcome = dir.recoup(&args);
            let (status, stderr) = (outcome.status, &outcome.stderr);
            assert_eq!((status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
            let line = format!("recoup: cannot write {named}: ");
            assert!(stderr.starts_with(&line), "{args:?}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
            assert_eq!(dir.files(), before, "{args:?}");
        }
    }
    assert_eq!(dir.read("file"), "kept");
}
