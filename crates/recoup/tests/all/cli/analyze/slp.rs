//! `recoup analyze --study=slp`.

use super::reading;
use crate::cli::folder;
use recoup_testing::{Folder, csv_rows};
use serde_json::Value;
use std::fs;

const CAPTURE: &str = "caps/linux-3.17-sender.pcap";

/// A folder with a capture, at the server, of fetches over a lossy path.
fn captured() -> Folder {
    let folder = folder();
    let args = "run fetch --profile linux-3.17 --flows 200 --seed 7 --pcap caps --set close=true \
        --set writes=20kB@0,8kB@500ms --set drop=bernoulli:0.06,up:bernoulli:0.04";
    folder.run(&args.split_whitespace().collect::<Vec<_>>()).printed();
    folder
}

fn study(folder: &Folder, args: &[&str]) -> Value {
    let args = [&["analyze", "--study=slp", "--format", "json"], args].concat();
    let outcome = folder.run(&args);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let document: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(document["schema"], "recoup.analyze.slp");
    document["captures"][0]["study"].clone()
}

/// Keeps the packets of a classic capture of raw IPv4 or Ethernet that come from port 80, the server's.
fn server_to_client(capture: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let link = word(&capture[20..24]);
    let ip = if link == 1 { 14 } else { 0 };
    let (mut kept, mut at) = (capture[..24].to_vec(), 24);
    while at < capture.len() {
        let len = word(&capture[at + 8..at + 12]) as usize;
        let record = &capture[at..at + 16 + len];
        let packet = &record[16 + ip..];
        let tcp = usize::from(packet[0] & 15) * 4;
        if packet[tcp..tcp + 2] == [0, 80] {
            kept.extend_from_slice(record);
        }
        at += record.len();
    }
    kept
}

#[test]
fn the_tables_count_each_retransmission_of_the_analysis() {
    let folder = captured();
    let report = study(&folder, &[CAPTURE]);
    let args = ["analyze", CAPTURE, "--retransmissions", "--format", "csv"];
    let rows = folder.run(&args).stdout;
    let rows = csv_rows(&rows);
    // The analysis also lists retransmissions whose first transmissions were lost before the capture.
    let from_server = rows[1..].iter().filter(|row| row[2].ends_with(":80"));
    let from_server = from_server.count();
    assert!(from_server > 50, "{from_server}");
    let args = ["analyze", CAPTURE, "--study=slp", "--format", "csv"];
    let samples = folder.run(&args).stdout;
    let samples = csv_rows(&samples);
    let sender = samples[0].iter().position(|name| *name == "sender");
    let sender = sender.expect("a column");
    let of_server = samples[1..].iter().filter(|row| row[sender] == "server");
    assert_eq!(of_server.count(), from_server);
    assert_eq!(report["retransmissions"], samples.len() as u64 - 1);
    assert_eq!(report["positions"].as_array().map(Vec::len), Some(4));
    let sum: u64 = report["flags"]
        .as_array()
        .expect("panels")
        .iter()
        .flat_map(|panel| panel["categories"].as_array().expect("categories"))
        .filter_map(|category| category["retransmissions"].as_u64())
        .sum();
    assert_eq!(report["retransmissions"], sum);
}

#[test]
fn text_and_figures_show_the_study() {
    let folder = captured();
    let outcome = folder.run(&["analyze", CAPTURE, "--study=slp", "--figures", "figs"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for heading in [
        "The 2021 study of selective loss prevention",
        "Retransmissions classified as timeouts, by five classifiers",
        "The paper's figures beside those of this capture",
        "Timeouts by position of the lost packet",
        "Timeouts by flags of the lost packet, sent by servers",
        "Likelihood q of a timeout by kind",
        "Table I: ",
    ] {
        assert!(outcome.stdout.contains(heading), "{heading}");
    }
    let mut lines = outcome.stdout.lines();
    assert!(lines.all(|line| line.chars().count() <= 120), "{}", outcome.stdout);
    assert!(folder.read("figs/slp-positions.svg").starts_with("<svg "));
    assert!(folder.read("figs/slp-flags.svg").starts_with("<svg "));
    // A stream is read once and studied all the same.
    let stream = reading(&folder, &["analyze", "-", "--study=slp"], CAPTURE);
    let body = |text: &str| text.split_once('\n').map(|(_, body)| body.to_owned());
    assert_eq!(body(&stream.stdout), body(&outcome.stdout));
}

#[test]
fn a_one_way_capture_has_two_panels_and_no_rule_of_wireshark() {
    let folder = captured();
    let both = fs::read(folder.path(CAPTURE)).expect("a capture");
    folder.write("down.pcap", server_to_client(&both));
    let [both, down] = [CAPTURE, "down.pcap"].map(|capture| study(&folder, &[capture]));
    assert_eq!(down["sides_apart"], false);
    let panels = down["positions"].as_array().expect("panels");
    assert_eq!(panels.len(), 2);
    assert!(panels.iter().all(|panel| panel["sender"] == "both"));
    // The same packets stand at the same positions.
    for (panel, half) in [(2, 0), (3, 1)] {
        let positions = |report: &Value, panel: usize| -> Vec<(u64, u64)> {
            let positions = report["positions"][panel]["positions"].as_array();
            let positions = positions.expect("positions").iter();
            let number = |place: &Value, name: &str| place[name].as_u64().expect("a number");
            positions.map(|place| (number(place, "position"), number(place, "retransmissions"))).collect()
        };
        let from_server = positions(&both, panel);
        assert!(!from_server.is_empty());
        assert_eq!(positions(&down, half), from_server);
    }
    let wireshark = &down["classifications"][4];
    assert_eq!((&wireshark["classifier"], &wireshark["classified"]), (&"wireshark".into(), &0.into()));
}

#[test]
fn the_likelihoods_are_those_of_the_setting_slp_q() {
    let folder = captured();
    let args = ["analyze", CAPTURE, "--study=slp", "--likelihoods", "q.csv"];
    let outcome = folder.run(&args);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let report = study(&folder, &[CAPTURE]);
    let mut known = 0;
    for kind in report["kinds"].as_array().expect("kinds") {
        let name = kind["kind"].as_str().expect("a name");
        let line = folder.read("q.csv");
        let line = line.lines().find_map(|line| line.strip_prefix(&format!("{name},")));
        match kind["retransmissions"].as_u64().expect("a count") {
            0..10 => {
                assert_eq!(line, None, "{name}");
                let note = format!("{name} ({})", kind["retransmissions"]);
                assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
            }
            _ => {
                let q: f64 = line.expect("a line").parse().expect("a number");
                assert!((q - kind["q"].as_f64().expect("a number")).abs() < 1e-6);
                known += 1;
            }
        }
    }
    assert!(known > 2, "{known}");
    let args = "run fetch --profile linux-3.17+slp --flows 2 --set slp.q=q.csv";
    let run = folder.run(&args.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

#[test]
fn a_filter_chooses_what_is_counted() {
    let folder = captured();
    let all = study(&folder, &[CAPTURE]);
    let part = study(&folder, &[CAPTURE, "--filter", "port 32768 or port 32769"]);
    assert_eq!(part["connections"], 2);
    assert!(part["retransmissions"].as_u64() < all["retransmissions"].as_u64());
}

#[test]
fn an_empty_capture_has_no_tables() {
    let folder = captured();
    let header = &fs::read(folder.path(CAPTURE)).expect("a capture")[..24];
    folder.write("empty.pcap", header);
    let args = ["analyze", "empty.pcap", "--study=slp", "--figures", "figs"];
    let outcome = folder.run(&args);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("0 retransmissions"));
    assert!(outcome.stdout.contains("Table I: the capture holds no SYN\n"));
    assert!(outcome.stderr.contains("nothing to draw in slp-positions"));
}

#[test]
fn wrong_use_is_refused_in_a_line() {
    let folder = captured();
    for (args, line) in [
        (&["--study=sip"][..], "expected loss-detection or slp, did you mean `slp`?"),
        (&["--study", "slp"], "--study slp: expected an equals sign: --study=slp"),
        (&["--likelihoods", "q.csv"], "--likelihoods: expected --study=slp"),
        (&["--study=slp", "--state", "s"], "--study=slp: expected no --state"),
        (&["--study=slp", "--summary"], "--study=slp: expected no --summary"),
        (&["--study=slp", "--likelihoods", CAPTURE], "cannot write `caps/linux-3.17-sender.pcap`: it is"),
        (
            &["caps/linux-3.17-receiver.pcap", "--study=slp", "--likelihoods", "q.csv"],
            "--likelihoods: expected one capture, or --join",
        ),
        (&["missing.pcap", "--study=slp"], "missing.pcap"),
        (
            &["--study=slp", "--likelihoods", "q.csv", "-o", "q.csv", "--format", "csv"],
            "--likelihoods q.csv: expected another file than --output",
        ),
    ] {
        let args = [&["analyze", CAPTURE], args].concat();
        let outcome = folder.run(&args);
        assert_eq!(outcome.status, Some(2), "{args:?}");
        assert!(outcome.stderr.contains(line), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
    assert!(!folder.path("q.csv").exists());
}
