//! `recoup scenario` and `recoup profiles`, and scenarios from files.

use crate::cli::{folder, recoup};
use recoup_testing::Folder;

#[test]
fn built_in_scenarios_are_listed_with_their_descriptions() {
    let list = recoup(&["scenario", "list"]).printed();
    let line = list.lines().find(|l| l.trim().starts_with("tail-loss "));
    assert!(line.is_some_and(|l| l.trim().len() > "tail-loss ".len() + 10), "{list}");
}

#[test]
fn a_saved_scenario_gives_the_same_result() {
    let dir = folder();
    let text = dir.run(&["scenario", "show", "tail-loss"]).printed();
    dir.write("tail-loss.toml", &text);
    let run = |name: &str| dir.run_reading(&["run", name, "--format", "json"], &text);
    let built_in = run("tail-loss").printed();
    assert_eq!(run("tail-loss.toml").printed(), built_in);
    assert_eq!(run("./tail-loss.toml").printed(), built_in);
    let piped = run("-").json();
    assert_eq!(piped["scenario"], "-");
    let built_in: serde_json::Value = serde_json::from_str(&built_in).expect("JSON");
    for part in ["seed", "settings", "results"] {
        assert_eq!(piped[part], built_in[part], "{part}");
    }
}

#[test]
fn a_scenario_is_read_from_a_file() {
    let dir = folder();
    std::fs::create_dir(dir.path("mine")).expect("a folder");
    dir.write("mine/slow.trace", "12\n");
    dir.write(
        "mine/slow",
        "about = \"slow\"\nprofiles = [\"linux-3.17+tlp\"]\nflows = 3\nseed = 9\n\
         [settings]\nrtt = \"30ms\"\nmss = 1000\nlink = \"slow.trace\"\n",
    );
    // Any file name is allowed, and links are searched beside the scenario.
    let report = dir.run(&["run", "mine/slow", "--format", "json"]).json();
    assert_eq!(report["scenario"], "slow");
    assert_eq!(report["seed"], 9);
    assert_eq!(report["settings"]["rtt"], "30ms");
    assert_eq!(report["settings"]["segments"], "10", "as usual");
    assert_eq!(report["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["results"][0]["profile"], "linux-3.17+tlp");
    assert_eq!(report["results"][0]["flows"], 3);
    // The command line overrides the file.
    let args = [
        "run",
        "mine/slow",
        "--flows",
        "2",
        "--seed",
        "4",
        "--set",
        "rtt=31ms",
        "--profile",
        "linux-3.17",
        "--format",
        "json",
    ];
    let report = dir.run(&args).json();
    assert_eq!(report["seed"], 4);
    assert_eq!(report["settings"]["rtt"], "31ms");
    assert_eq!(report["results"][0]["profile"], "linux-3.17");
    assert_eq!(report["results"][0]["flows"], 2);
}

#[test]
fn one_profile_is_described_alone() {
    let base = recoup(&["profiles", "linux-6"]).printed();
    assert!(base.starts_with("linux-6: "), "{base}");
    assert!(base.contains("RFC 8985") && !base.contains("linux-2.6"), "{base}");
    let with = recoup(&["profiles", "linux-3.17+tlpr"]).printed();
    assert!(with.starts_with("linux-3.17+tlpr\n\nlinux-3.17: "), "{with}");
    assert!(with.contains("\n+tlpr: tail loss probe with restart"), "{with}");
}

#[test]
fn profiles_lists_every_base_and_every_mechanism() {
    let text = recoup(&["profiles"]).printed();
    assert!(text.contains("\nlinux-3.17: "), "{text}");
    for mechanism in ["rtor", "tlp", "tlpr", "cubic", "reno"] {
        assert!(text.contains(&format!("\n+{mechanism}: ")), "{mechanism}\n{text}");
        let profile = format!("linux-3.17+{mechanism}");
        recoup(&["run", "tail-loss", "--profile", &profile]).printed();
    }
    for value in ["1000 ms", "RFC 6298", "RFC 7765"] {
        assert!(text.contains(value), "{value}\n{text}");
    }
}

/// What is run to be captured, without the number of flows.
const CAPTURED: [&str; 10] = [
    "run",
    "tail-loss",
    "--profile",
    "linux-6",
    "--set",
    "exchanges=300B>60kB,1s,300B>20kB",
    "--set",
    "drop=bernoulli:0.02",
    "--set",
    "ack=quick",
];

/// A folder with the captures of 40 flows, `caps/linux-6-sender.pcap` and `caps/linux-6-receiver.pcap`.
fn captured() -> Folder {
    let dir = folder();
    let args = [&CAPTURED[..], &["--flows", "40", "--pcap", "caps"]].concat();
    dir.run(&args).printed();
    dir
}

#[test]
fn a_scenario_inferred_from_a_capture_runs_and_takes_as_long() {
    let dir = captured();
    let capture = "caps/linux-6-sender.pcap";
    let text = dir.run(&["scenario", "from", capture]).printed();
    let written = dir.run(&["scenario", "from", capture, "-o", "mine.toml"]);
    assert_eq!(written.printed(), "");
    assert_eq!(dir.read("mine.toml"), text);
    for line in [
        "# Inferred from linux-6-sender.pcap: 40 of its 40 connections, in which the server sends more data",
        "profiles = [\"linux-6\"]",
        "flows = 40",
        "rtt = \"80ms\"",
        "exchanges = \"300B>60kB,1s,300B>20kB\"",
        "mss = \"1448\"",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    assert!(text.contains("drop = \"down:bernoulli:0.0"), "{text}");
    let mean = |args: &[&str]| {
        let more = ["--flows", "200", "--format", "json"];
        let report = dir.run(&[args, &more].concat()).json();
        report["results"][0]["fct_ms"]["mean"].as_f64().expect("a time")
    };
    let [was, is] = [mean(&CAPTURED), mean(&["run", "mine.toml"])];
    assert!((is / was - 1.0).abs() < 0.05, "{was} ms, {is} ms");
}

#[test]
fn a_capture_from_which_nothing_can_be_inferred_is_refused_in_one_line() {
    let dir = captured();
    for (args, error) in [
        (
            &["caps/linux-6-receiver.pcap"][..],
            "caps/linux-6-receiver.pcap: no scenario can be inferred: of 40 connections, 40 cannot be used because: captured at the receiver of its data",
        ),
        (&["a.pcap", "b.pcap"], "expected one capture, or --join"),
        (&["none.pcap"], "none.pcap"),
    ] {
        let refused = dir.run(&[&["scenario", "from"], args].concat());
        assert_eq!((refused.status, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        assert!(refused.stderr.contains(error), "{}", refused.stderr);
    }
}
