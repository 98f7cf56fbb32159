//! `--guard-log`: captures of a host on which `recoup guard copies` runs.

use crate::cli::folder;
use recoup_captures::guard_log::{Act, Decided, Entry, Kind, LoggedCopy, Outcome, SCHEMA, Settled};
use recoup_testing::{Fields, Folder, check_fields};
use recoup_trace::read::{CapturedPacket, Reader};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

const CAPTURE: &str = "guarded.pcap";
const LOG: &str = "guard.log";

/// Of the 24 bytes of a classic capture's header; of each record: 8 bytes of time, the captured length, the length.
const HEADER: usize = 24;
const RECORD: usize = 16;

/// A folder with a capture, and the number of copies in it. Each connection lost one segment, the last that was sent then. In
/// place of the sender's retransmission a program has sent a copy of it, which the log names.
fn guarded() -> (Folder, usize) {
    let dir = folder();
    let args = "run tail-loss --profile linux-3.17 --flows 200 --seed 5 --pcap caps --set segments=4 \
        --set drop=bernoulli:0.06 --set close=true";
    dir.run(&args.split_whitespace().collect::<Vec<_>>()).printed();
    let bytes = dir.bytes("caps/linux-3.17-sender.pcap");
    let packets = packets(&bytes);
    let records = records(&bytes);
    let mut sent: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, packet) in packets.iter().enumerate().filter(|(_, packet)| packet.segment.sequence_len() > 0) {
        sent.entry(packet.endpoints).or_default().push(place);
    }
    let mut copies = HashMap::new();
    let mut kept = HashSet::new();
    for (ends, places) in &sent {
        let segment = |place: &usize| &packets[*place].segment;
        let is_again = |place: &&usize| {
            let before = places.iter().take_while(|before| before < place);
            before.into_iter().any(|before| segment(before).seq == segment(place).seq)
        };
        let again: Vec<usize> = places.iter().filter(is_again).copied().collect();
        let back = sent.get(&ends.reverse()).into_iter().flatten();
        let back: Vec<_> = back.map(|place| segment(place).seq).collect();
        let is_whole_back = back.iter().collect::<HashSet<_>>().len() == back.len();
        let [one] = again[..] else { continue };
        let first = places.iter().find(|place| segment(place).seq == segment(&one).seq).copied().expect("the first");
        let is_last = places.iter().all(|place| *place >= one || !segment(place).seq.after(segment(&one).seq));
        if is_whole_back && is_last && segment(&one).payload_len > 0 {
            copies.insert(one, first);
            kept.extend([*ends, ends.reverse()]);
        }
    }
    let mut capture = bytes[..HEADER].to_vec();
    let mut log = format!("{}\n", json!({ "schema": "recoup.guard.log", "version": 1 }));
    for (place, packet) in packets.iter().enumerate().filter(|(_, packet)| kept.contains(&packet.endpoints)) {
        let (head, data) = records[place].split_at(RECORD);
        let mut data = data.to_vec();
        if let Some(first) = copies.get(&place) {
            data = records[*first][RECORD..].to_vec();
            let (ends, segment) = (packet.endpoints, packets[*first].segment);
            log += &format!(
                "{}\n",
                json!({
                    "event": "decided", "at": packet.at.as_nanos() - 30_000, "kind": "probe", "act": "sent", "src": ends.src,
                    "dst": ends.dst, "seq": segment.seq.0, "len": segment.sequence_len(), "bytes": data.len(),
                })
            );
        }
        // Without an identification (RFC 6864 §4), a copy is no packet that the capture holds twice.
        data[4..6].fill(0);
        capture.extend(&head[..8]);
        capture.extend((data.len() as u32).to_le_bytes());
        capture.extend(&head[12..]);
        capture.extend(data);
    }
    dir.write(CAPTURE, capture);
    dir.write(LOG, log);
    assert!(copies.len() > 4, "{}", copies.len());
    (dir, copies.len())
}

fn packets(capture: &[u8]) -> Vec<CapturedPacket> {
    let mut reader = Reader::new("capture", capture).expect("a capture");
    std::iter::from_fn(|| reader.next().copied()).collect()
}

/// The records of a classic capture in little-endian order.
fn records(capture: &[u8]) -> Vec<&[u8]> {
    let mut rest = &capture[HEADER..];
    let mut records = Vec::new();
    while rest.len() >= RECORD {
        let len = u32::from_le_bytes(rest[8..12].try_into().expect("4 bytes")) as usize;
        let (record, next) = rest.split_at(RECORD + len);
        records.push(record);
        rest = next;
    }
    records
}

fn rows(document: &Value) -> usize {
    document["captures"][0]["retransmissions"].as_array().expect("rows").len()
}

#[test]
fn a_log_has_the_fields_of_its_version() {
    let ends = ["192.0.2.1:443", "198.51.100.7:40000"].map(|end| end.parse().expect("an end"));
    let copy = LoggedCopy { at: 7, kind: Kind::Tail, act: Act::Sent, src: ends[0], dst: ends[1], seq: 1, len: 2 };
    let lines = [
        Entry::Decided(Decided { copy, bytes: 60 }),
        Entry::Settled(Settled { copy, outcome: Outcome::Repaired, saved_ns: 1 }),
    ];
    check_fields(&json!({ "schema": SCHEMA.name, "version": SCHEMA.version, "lines": lines }), "", Fields::new());
}

#[test]
fn copies_are_no_retransmissions_if_the_log_names_them() {
    let (dir, copies) = guarded();
    let view = ["analyze", CAPTURE, "--retransmissions", "--format", "json"];
    let without = dir.run(&view).json();
    assert_eq!(rows(&without), copies);
    assert_eq!(without["captures"][0]["guard_copies"], Value::Null);
    let with = dir.run(&[&view[..], &["--guard-log", LOG]].concat());
    let note = format!("copies sent by recoup guard: {copies} (0 of the log not in the capture)");
    assert!(with.stderr.contains(&note), "{}", with.stderr);
    let with: Value = serde_json::from_str(&with.stdout).expect("JSON");
    assert_eq!(rows(&with), 0);
    assert_eq!(with["captures"][0]["guard_copies"], json!({ "captured": copies, "not_captured": 0 }));
    check_fields(&with, "", Fields::new());
    let summary = dir.run(&["-q", "analyze", CAPTURE, "--guard-log", LOG, "--format", "json"]).json();
    let of = |name: &str| summary["captures"][0]["summary"][name].clone();
    assert_eq!((of("guard_copies"), of("lost_ms"), of("doubled")), (json!(copies), json!(0.0), json!(0)));
    check_fields(&summary, "", Fields::new());
    let text = dir.run(&["-q", "analyze", CAPTURE, "--guard-log", LOG]).printed();
    assert!(text.contains("copies sent by recoup guard"), "{text}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (dir, _) = guarded();
    for view in ["--summary", "--connections", "--episodes", "--retransmissions"] {
        let run = |threads| {
            dir.run(&["-q", "analyze", CAPTURE, "--guard-log", LOG, view, "--format", "json", "--threads", threads])
                .printed()
        };
        assert_eq!(run("1"), run("4"), "{view}");
    }
}

#[test]
fn an_explanation_and_comments_name_the_copies() {
    let (dir, copies) = guarded();
    let args = ["-q", "explain", CAPTURE, "--guard-log", LOG, "--no-advice"];
    let text = dir.run(&args).printed().replace('\n', " ");
    assert!(text.contains("No connection lost time."), "{text}");
    assert!(text.contains(&format!("also sent {copies} copies of segments")), "{text}");
    let document = dir.run(&[&args[..], &["--format", "json"]].concat()).json();
    assert_eq!(document["captures"][0]["guard_copies"]["captured"], copies);
    let outcome = dir.run(&["annotate", CAPTURE, "--guard-log", LOG, "-o", "annotated.pcapng"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let annotated = dir.bytes("annotated.pcapng");
    let comment = b"Recoup: copy sent by recoup guard";
    let comments = annotated.windows(comment.len()).filter(|bytes| bytes == comment);
    assert_eq!(comments.count(), copies);
}

/// A connection whose loss a copy repaired has no rerun that is honest: the sender never retransmitted.
#[test]
fn connections_that_a_copy_may_have_repaired_are_not_rerun() {
    let (dir, copies) = guarded();
    let args = ["-q", "whatif", CAPTURE, "--guard-log", LOG, "--try", "+tlpr", "--format", "json"];
    let refused = |document: &Value| {
        let refused = document["captures"][0]["refused"].as_array().expect("reasons").clone();
        let of = refused.iter().find(|reason| reason["reason"] == "repaired_by_copy");
        of.map_or(0, |reason| reason["connections"].as_u64().expect("a count"))
    };
    let document = dir.run(&args).json();
    assert_eq!((refused(&document), &document["captures"][0]["rerun"]), (copies as u64, &json!(0)));
    // The guard says that none of them was needed.
    let log = dir.read(LOG);
    let settled = log.lines().skip(1).map(|line| {
        let mut entry: Value = serde_json::from_str(line).expect("JSON");
        (entry["event"], entry["outcome"], entry["saved_ns"]) = (json!("settled"), json!("needless"), json!(0));
        format!("{entry}\n")
    });
    let settled: String = settled.collect();
    dir.write(LOG, log + &settled);
    let document = dir.run(&args).json();
    assert_eq!(refused(&document), 0);
    let reached = ["rerun", "apart"].map(|name| document["captures"][0][name].clone());
    assert!(reached[0] != json!(0) || reached[1] != json!([]), "{reached:?}");
}

#[test]
fn a_log_that_is_none_and_states_are_refused() {
    let (dir, copies) = guarded();
    let log = dir.read(LOG);
    dir.write("damaged.log", log.replacen("\"seq\"", "\"sequence\"", 1));
    let args = ["-q", "analyze", CAPTURE, "--guard-log"];
    dir.refuses(
        &[&args[..], &["damaged.log"]].concat(),
        &["--guard-log damaged.log: line 2: missing field `seq`: expected"],
    );
    dir.refuses(
        &[&args[..], &[CAPTURE]].concat(),
        &["guarded.pcap: line 1: not the log of `recoup guard copies`: expected"],
    );
    dir.refuses(&[&args[..], &["none.log"]].concat(), &["--guard-log none.log: cannot read the log: "]);
    dir.refuses(&[&args[..], &[LOG, "--state", "s"]].concat(), &["--guard-log: expected no --state"]);
    dir.refuses(&[&args[..], &[LOG, "--output", LOG]].concat(), &[LOG]);
    // The guard was killed while it wrote.
    dir.write("killed.log", &log[..log.len() - 9]);
    let summary = dir.run(&[&args[..], &["killed.log", "--format", "json"]].concat()).json();
    assert_eq!(summary["captures"][0]["guard_copies"], json!({ "captured": copies - 1, "not_captured": 0 }));
    // A log of another time.
    let other = log.replace("\"src\":\"192.0.2.1", "\"src\":\"192.0.2.2");
    dir.write("other.log", other);
    let summary = dir.run(&[&args[..], &["other.log", "--format", "json"]].concat()).json();
    assert_eq!(summary["captures"][0]["guard_copies"], json!({ "captured": 0, "not_captured": copies }));
}
