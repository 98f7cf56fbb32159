//! `recoup analyze --episodes`: lost time as rows, which add up to what other views show.

use crate::cli::folder;
use recoup_testing::Folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Occurrences and milliseconds lost, by cause.
type Lost = BTreeMap<String, (u64, f64)>;

/// Captures of the repository.
fn capture(path: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    path.to_str().expect("UTF-8").to_owned()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"))
}

fn count(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name}: {row}"))
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_else(|| panic!("{name}: {row}"))
}

/// The first capture of a document that the program prints.
fn printed(dir: &Folder, command: &[&str], captures: &[&str]) -> Value {
    let args = [command, captures, &["--format", "json"]].concat();
    // Some captures have notes.
    let outcome = dir.run(&args);
    assert_eq!(outcome.status, Some(0), "{args:?}: {}", outcome.stderr);
    let document: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    document["captures"][0].clone()
}

fn rows<'a>(capture: &'a Value, name: &str) -> &'a [Value] {
    capture[name].as_array().unwrap_or_else(|| panic!("{name}: {capture}"))
}

fn of_episodes(rows: &[Value]) -> Lost {
    let mut lost = Lost::new();
    for row in rows {
        let of = lost.entry(text(row, "cause").to_owned()).or_default();
        of.0 += count(row, "times");
        of.1 += number(row, "lost_ms");
    }
    lost
}

fn of_explanation(explained: &Value) -> Lost {
    let causes = rows(explained, "causes").iter();
    causes.map(|of| (text(of, "cause").to_owned(), (count(of, "times"), number(of, "lost_ms")))).collect()
}

/// By cause, of both ends. Of a merged file, each end counts at the capture point nearest to it.
fn of_connections(rows: &[Value]) -> BTreeMap<String, f64> {
    let mut lost = BTreeMap::new();
    for row in rows {
        let (point, points) = (count(row, "capture_point"), count(row, "capture_points"));
        let ends = [("src_lost_", point == 0), ("dst_lost_", point + 1 == points)];
        let mut all = 0.0;
        for (name, value) in row.as_object().expect("a row") {
            for (prefix, is_nearest) in ends {
                let cause = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix("_ms"));
                let value = cause.map_or(0.0, |_| value.as_f64().expect("a time"));
                all += value;
                if is_nearest && value > 0.0 {
                    *lost.entry(cause.expect("a cause").to_owned()).or_default() += value;
                }
            }
        }
        let both = number(row, "src_lost_ms") + number(row, "dst_lost_ms");
        let total = number(row, "lost_ms");
        assert!((total - both).abs() < 1e-4 && (total - all).abs() < 1e-4, "{total} {both} {all}: {row}");
    }
    lost
}

/// Whether the sums differ by nothing but the rounding of decimals.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-3
}

/// Captures whose connections lose time in every way that the repository has examples of. The last one is merged from two
/// capture points.
const CAPTURES: &[&[&str]] = &[
    &["captures/src/capture/demo.pcap.zst"],
    &["trace/tests/field/both_directions_lose.pcap.zst"],
    &["trace/tests/field/fast_then_timeout.pcap.zst"],
    &["trace/tests/field/fin_unanswered.pcap.zst"],
    &["trace/tests/field/lasthop.middle.pcap.zst"],
    &["trace/tests/field/mid_connection_unknown_scale.pcap.zst"],
    &["trace/tests/field/nagle_delayed_ack.pcap.zst"],
    &["trace/tests/field/outage.client.pcap.zst"],
    &["trace/tests/field/outage.server.pcap.zst"],
    &["trace/tests/field/payload_only_export.pcap.zst"],
    &["trace/tests/field/pmtu_black_hole_no_icmp.pcap.zst"],
    &["trace/tests/field/zero_window_overrun.pcap.zst"],
    &["trace/tests/kernel_time/loss_and_small_window.sender.pcap.gz"],
    &["--join", "trace/tests/field/bidi.client.pcap.zst", "trace/tests/field/bidi.server.pcap.zst"],
];

#[test]
fn sums_over_rows_are_those_of_explain_and_of_connections() {
    let dir = folder();
    let (mut causes, mut points) = (BTreeMap::new(), 0);
    for captures in CAPTURES {
        let found: Vec<String> =
            captures.iter().map(|name| if name.starts_with('-') { name.to_string() } else { capture(name) }).collect();
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        let episodes = printed(&dir, &["analyze", "--episodes"], &found);
        let episodes = rows(&episodes, "episodes");
        let explained = printed(&dir, &["explain", "--no-advice"], &found);
        let connections = printed(&dir, &["analyze", "--connections"], &found);
        let connections = rows(&connections, "connections");

        let (lost, expected) = (of_episodes(episodes), of_explanation(&explained));
        let lost: Lost = lost.into_iter().filter(|(_, (times, _))| *times > 0).collect();
        assert_eq!(lost.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{captures:?}");
        for (cause, (times, lost)) in &lost {
            let expected = expected[cause];
            assert!(
                *times == expected.0 && is_same(*lost, expected.1),
                "{captures:?} {cause}: {times} {lost} {expected:?}"
            );
        }
        let by_connection = of_connections(connections);
        for (cause, (_, lost)) in &lost {
            assert!(is_same(*lost, by_connection[cause]), "{captures:?} {cause}: {lost} {by_connection:?}");
        }
        assert_eq!(by_connection.len(), lost.len(), "{captures:?}: {by_connection:?}");
        let recovering: f64 = episodes.iter().filter_map(|row| row["recovering_ms"].as_f64()).sum();
        let expected: f64 = rows(&explained, "recovering").iter().map(|of| number(of, "time_ms")).sum();
        assert!(is_same(recovering, expected), "{captures:?}: {recovering} {expected}");

        causes.extend(lost);
        points = connections.iter().map(|row| count(row, "capture_points")).max().unwrap_or_default().max(points);
    }
    assert_eq!(points, 2);
    // With a retransmission and without, kept one by one and not.
    for cause in ["lost_syn_ack", "tail_by_timeout", "lost_acks", "nagle_delayed_ack", "zero_window", "mtu_black_hole"]
    {
        assert!(causes.contains_key(cause), "{cause}: {causes:?}");
    }
}

#[test]
fn a_row_is_about_the_end_that_waited_and_names_its_frames() {
    let dir = folder();
    let path = capture("trace/tests/field/fast_then_timeout.pcap.zst");
    let episodes = printed(&dir, &["analyze", "--episodes"], &[&path]);
    let retransmissions = printed(&dir, &["analyze", "--retransmissions"], &[&path]);
    let retransmissions = rows(&retransmissions, "retransmissions");
    let with_frame = rows(&episodes, "episodes").iter().filter(|row| row["trigger"].is_string());
    let mut all = 0;
    for row in with_frame {
        let at = retransmissions.iter().position(|of| of["frame"] == row["frame"]).expect("the first retransmission");
        let first = &retransmissions[at];
        for (name, of) in [
            ("connection", "connection"),
            ("host", "src_host"),
            ("port", "src_port"),
            ("peer_host", "dst_host"),
            ("peer_port", "dst_port"),
            ("trigger", "trigger"),
            ("verdict", "verdict"),
            ("begun", "time"),
            ("first_frame", "frame"),
        ] {
            assert_eq!(row[name], first[of], "{name}: {row}");
        }
        let frames = count(row, "first_frame")..=count(row, "last_frame");
        let own = retransmissions.iter().filter(|of| {
            of["src"] == first["src"] && of["connection"] == row["connection"] && frames.contains(&count(of, "frame"))
        });
        assert_eq!(own.count() as u64, count(row, "retransmissions"), "{row}");
        all += count(row, "retransmissions");
    }
    assert_eq!(all, retransmissions.len() as u64);
}
