//! `recoup tmix`.

use crate::cli::folder;

const WORLD: &str = r#"
profiles = ["linux-6"]
duration = "300s"

[links.path]
between = ["servers", "clients"]
rate = "50Mbit"
delay = "5ms"

[workloads.vectors]
client = "clients"
server = "servers"
tmix = "first.cvec"
"#;

/// The lines that say what applications wrote, without the times.
fn units(cvec: &str) -> Vec<(String, String)> {
    let lines = cvec.lines().filter(|line| line.starts_with(['I', 'A']));
    let parts = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut units: Vec<_> =
        parts.filter(|parts| parts[3] != "0").map(|parts| (parts[0].to_owned(), parts[3].to_owned())).collect();
    units.sort();
    units
}

#[test]
fn a_synthetic_mix_is_replayed_captured_and_extracted() {
    let dir = folder();
    let synth = ["-q", "tmix", "synth", "--rate", "5", "--duration", "3s", "--seed", "2"];
    dir.run(&[&synth[..], &["-o", "first.cvec"]].concat()).printed();
    let first = dir.read("first.cvec");
    assert_eq!(dir.run(&synth).printed(), first);
    assert!(first.contains("# response: lognormal"), "{first}");
    dir.write("world.toml", WORLD);
    dir.run(&["-q", "run", "world.toml", "--pcap", "caps"]).printed();
    for capture in ["caps/linux-6-sender.pcap", "caps/linux-6-receiver.pcap"] {
        let extracted = dir.run(&["-q", "tmix", "extract", capture]).printed();
        let connections = first.lines().filter(|line| line.starts_with("S ")).count();
        let head = format!("# {connections} connections extracted from {capture}\n");
        assert!(extracted.starts_with(&head), "{extracted}");
        // Responses of two requests within 500 ms are told apart by the requests between them.
        assert_eq!(units(&extracted), units(&first));
    }
    let original = ["--format", "original"];
    let args = ["-q", "tmix", "extract", "caps/linux-6-sender.pcap"];
    let original = dir.run(&[&args[..], &original].concat()).printed();
    assert!(original.contains("\nSEQ 0 "), "{original}");
}

#[test]
fn a_load_is_found_that_loses_what_is_asked() {
    let dir = folder();
    let world =
        WORLD.replace("first.cvec", "synth:10").replace("50Mbit\"", "5Mbit\"\nqueue = \"20\"").replace("300s", "60s");
    dir.write("world.toml", world);
    let run = ["run", "world.toml", "--format", "json"];
    let outcome = dir.run(&[&run[..], &["--calibrate", "path:up=3%"]].concat());
    let (scale, _) = outcome
        .stderr
        .strip_prefix("recoup: note: scale = ")
        .and_then(|rest| rest.split_once(':'))
        .unwrap_or_else(|| panic!("{}", outcome.stderr));
    // The scale that is printed gives the same by itself.
    let setting = format!("workloads.vectors.scale={scale}");
    let again = dir.run(&[&run[..], &["-q", "--set", &setting]].concat());
    let document = again.json();
    let link = &document["results"][0]["links"][0];
    let count = |name: &str| link[name].as_f64().unwrap_or_else(|| panic!("{link}"));
    let lost = count("dropped_by_queue") / count("packets");
    assert!((lost - 0.03).abs() < 0.004, "{lost}");
}

#[test]
fn bad_input_is_named() {
    let dir = folder();
    dir.write("bad.cvec", "S 0 1 1 1\nI 0 0 300\nB 0 0 1\n");
    let world = WORLD.replace("first.cvec", "bad.cvec");
    dir.write("world.toml", world);
    dir.write("text.pcap", "no capture");
    for (args, error) in [
        (&["run", "world.toml"][..], "world.toml:13: workloads.vectors.tmix: bad.cvec:3: `B`: expected "),
        (
            &["run", "dumbbell", "--calibrate", "bottleneck=1%"],
            "--calibrate bottleneck=1%: no workload has `tmix`, whose load could be changed",
        ),
        (
            &["run", "tail-loss-dumbbell", "--calibrate", "botleneck=1%"],
            "--calibrate botleneck=1%: no link `botleneck`, did you mean `bottleneck`?",
        ),
        (
            &["run", "tail-loss-dumbbell", "--calibrate", "bottleneck=much"],
            "--calibrate bottleneck=much: `bottleneck=much`: expected a link and a share",
        ),
        (
            &["run", "tail-loss", "--calibrate", "bottleneck=1%"],
            "--calibrate: expected beside a scenario with links and workloads",
        ),
        (&["tmix", "extract", "absent.pcap"], "absent.pcap: "),
        (&["tmix", "extract", "text.pcap"], "text.pcap: "),
        (&["tmix", "extract", "a.pcap", "b.pcap"], "expected one capture, or --join"),
        (&["tmix", "synth", "--rate", "0"], "invalid value '0' for '--rate <N>': expected a number of connections"),
        (&["tmix", "synth", "--duration", "0s"], "invalid value '0s' for '--duration <TIME>'"),
        (
            &["tmix", "synth", "--rate", "100000", "--duration", "1h"],
            "--rate times --duration: expected at most 1,000,000 connections",
        ),
    ] {
        let outcome = dir.run(args);
        assert_eq!(outcome.status, Some(2), "{args:?}");
        let line = outcome.stderr;
        assert!(line.contains(error) && line.lines().count() == 1, "{args:?}: {line}");
    }
}
