//! `recoup run --sweep`.

use crate::cli::{folder, recoup, tail_loss};
use recoup_testing::csv_rows;
use serde_json::{Value, json};

fn words(args: &str) -> Vec<&str> {
    args.split_whitespace().collect()
}

#[test]
fn a_sweep_has_every_combination_as_a_run_of_its_own() {
    let args = "run tail-loss --flows 70 --seed 9 --sweep rtt=20ms,80ms --sweep drop=bernoulli:4%,none";
    let document = recoup(&[&words(args)[..], &["--format", "json"]].concat()).json();
    assert_eq!(document["seed"], 9);
    assert_eq!(document["keys"], json!(["rtt", "drop"]));
    assert_eq!(document["missing"], json!([]));
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 4);
    for (cell, (rtt, drop)) in
        cells.iter().zip([("20ms", "bernoulli:4%"), ("20ms", "none"), ("80ms", "bernoulli:4%"), ("80ms", "none")])
    {
        let swept = json!([{"key": "rtt", "value": rtt}, {"key": "drop", "value": drop}]);
        assert_eq!(cell["swept"], swept);
        let (rtt, drop) = (format!("rtt={rtt}"), format!("drop={drop}"));
        let alone = tail_loss(&["--flows=70", "--seed=9", "--set", &rtt, "--set", &drop]);
        assert_eq!(cell["settings"], alone["settings"]);
        assert_eq!(cell["results"], alone["results"]);
    }
    let csv = recoup(&[&words(args)[..], &["--format", "csv"]].concat()).printed();
    let rows = csv_rows(&csv);
    assert_eq!(rows.len(), 1 + 4 * 3);
    let column = |name: &str| rows[0].iter().position(|head| *head == name).expect("a column");
    for (row, number) in rows[1..].iter().zip(0..) {
        let cell = &cells[number / 3];
        let mean = cell["results"][number % 3]["fct_ms"]["mean"].as_f64();
        assert_eq!(row[column("cell")], (number / 3).to_string());
        assert_eq!(row[column("fct_ms_mean")].parse().ok(), mean);
        assert_eq!(cell["settings"]["rtt"], row[column("set_rtt")]);
    }
    let table = recoup(&words(args)).printed();
    let rows = table.lines().filter(|line| line.starts_with('|'));
    assert_eq!(rows.count(), 2 + 4 * 3, "{table}");
    assert!(table.starts_with("tail-loss flows=70 seed=9 "), "{table}");
}

#[test]
fn a_value_may_contain_commas() {
    for args in
        [&["--sweep", "drop=tail:1,up:ack:2;none"][..], &["--sweep", "drop=tail:1,up:ack:2;", "--sweep", "drop=none"]]
    {
        let all = [&["run", "tail-loss", "--format", "json"], args].concat();
        let document = recoup(&all).json();
        let cells = document["cells"].as_array().expect("cells");
        let drops = cells.iter().map(|cell| &cell["settings"]["drop"]);
        assert_eq!(drops.collect::<Vec<_>>(), ["tail:1,up:ack:2", "none"]);
    }
}

#[test]
fn a_world_is_swept_like_a_pair() {
    let args = "-q run dumbbell --set duration=1s --sweep links.bottleneck.queue=20,100";
    let document = recoup(&[&words(args)[..], &["--format", "json"]].concat()).json();
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2);
    for (cell, queue) in cells.iter().zip(["20", "100"]) {
        let set = format!("links.bottleneck.queue={queue}");
        let alone = "-q run dumbbell --set duration=1s --format json --set";
        let alone = recoup(&[&words(alone)[..], &[&set]].concat()).json();
        assert_eq!(cell["settings"], alone["settings"]);
        assert_eq!(cell["results"], alone["results"]);
    }
    let csv = recoup(&[&words(args)[..], &["--format", "csv"]].concat()).printed();
    let rows = csv_rows(&csv);
    assert_eq!(rows[0].last(), Some(&"set_links.bottleneck.queue"));
    let queues: Vec<_> = rows[1..].iter().filter_map(|row| row.last()).collect();
    assert_eq!(queues, [&"20", &"20", &"100", &"100"]);
    let table = recoup(&words(args)).printed();
    for part in ["| links.bottleneck.queue | workload", "\nLinks\n"] {
        assert!(table.contains(part), "{table}");
    }
}

#[test]
fn a_wrong_sweep_is_refused_before_any_run() {
    for (args, error) in [
        ("tail-loss --sweep rtt", "--sweep rtt: expected KEY=VALUE,VALUE"),
        ("tail-loss --sweep rtt=1ms,1ms", "--sweep rtt: 1ms is given twice"),
        ("tail-loss --sweep rtts=1ms", "--sweep unknown setting `rtts`, did you mean `rtt`?"),
        ("tail-loss --sweep rtt=1ms,2", "--sweep rtt: `2` is not a duration"),
        (
            "tail-loss --sweep segments=20,3 --sweep drop=tail:9,none",
            "--sweep segments=3 drop=tail:9: drop: `tail:9`: ",
        ),
        ("tail-loss --sweep rtt=1ms --set rtt=2ms", "--sweep rtt: --set rtt is given, too"),
        ("tail-loss --sweep rtt=1ms --pcap caps", "--pcap: expected without --sweep"),
        ("tail-loss --sweep rtt=1ms --plot p.svg --plot-kind box", "--plot-kind: expected without --sweep"),
        (
            "tail-loss --sweep rtt=1ms --sweep segments=1,2,3,4,5,6,7 --sweep mss=100,200,300 --plot p.svg",
            "--plot: expected at most 20 panels, one for each combination of the keys behind the first one, found 21",
        ),
        ("tail-loss --sweep rtt=1ms --events -", "--events: expected without --sweep"),
        ("tail-loss --sweep rtt=1ms --all-rows", "--all-rows: expected without --sweep"),
        (
            "dumbbell --sweep links.bottleneck.quee=1",
            "--sweep links.bottleneck.quee: unknown key `quee` of a link, did you mean `queue`?",
        ),
        ("dumbbell --sweep duration=1s,x", "--sweep duration: `x` is not a duration"),
    ] {
        let outcome = recoup(&[&["run"], &words(args)[..]].concat());
        assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""), "{args}");
        let expected = format!("recoup: {error}");
        assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}

/// After Ctrl-C, finished combinations are printed and the others named.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_sweep_prints_its_finished_combinations() {
    use crate::cli::folder;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    const SIGINT: i32 = 2;
    for (args, rest) in [
        ("run tail-loss --flows 1000 --format json --sweep segments=10,1000000", "segments=1000000"),
        ("-q run dumbbell --format json --sweep duration=100ms,4000s", "duration=4000s"),
    ] {
        let mut child = folder()
            .command(&words(args))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // The short combination takes much less than this processor time, the long one much more.
        let stat = format!("/proc/{}/stat", child.id());
        let ticks = || {
            let text = std::fs::read_to_string(&stat).unwrap_or_default();
            let fields = text.rsplit(')').next().unwrap_or("").split_whitespace();
            fields.skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum::<u64>()
        };
        while ticks() < 200 {
            let ended = child.try_wait().expect("the program's state");
            assert!(ended.is_none(), "{args}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let id = child.id().to_string();
        let kill = Command::new("kill").args(["-INT", &id]).status();
        assert!(kill.expect("kill").success());
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!(output.status.signal(), Some(SIGINT), "{output:?}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(document["cells"].as_array().map(Vec::len), Some(1));
        let (key, value) = rest.split_once('=').expect("a pair");
        assert_eq!(document["missing"], json!([[{"key": key, "value": value}]]));
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        let note = format!("interrupted: 1 combination is not finished: {rest}\n");
        assert!(stderr.ends_with(&note) || args.starts_with("-q"), "{stderr}");
    }
}

/// The mean of each profile at each value of the first key, with the interval that the results have.
#[test]
fn a_sweep_is_drawn_with_its_intervals() {
    let dir = folder();
    let args = "-q run tail-loss --flows 40 --set drop=bernoulli:0.1 --sweep rtt=20ms,80ms,320ms --sweep segments=5,20";
    let all = [&words(args)[..], &["--plot", "p.svg", "--format", "json"]].concat();
    let document = dir.run(&all).json();
    let svg = dir.read("p.svg");
    for text in ["tail-loss: mean flow completion times with 95 % intervals", "FCT mean (ms)", ">rtt<", ">320ms<"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert_eq!((svg.matches(">segments=5<").count(), svg.matches(">segments=20<").count()), (1, 1), "{svg}");
    let results = document["cells"].as_array().expect("cells").iter().flat_map(|cell| cell["results"].as_array());
    for result in results.flatten() {
        let four = |value: &Value| four_digits(value.as_f64().expect("a number"));
        let interval = &result["fct_interval_ms"]["mean"];
        let text =
            format!("{} [{}, {}]", four(&result["fct_ms"]["mean"]), four(&interval["low"]), four(&interval["high"]));
        assert!(svg.contains(&text), "{text}: {svg}");
    }
    let world = "-q run dumbbell --set duration=1s --sweep links.bottleneck.queue=20,100 --plot w.png";
    dir.run(&words(world)).printed();
    assert!(std::fs::read(dir.path("w.png")).expect("a file").starts_with(b"\x89PNG"));
}

/// A number as pictures have it.
fn four_digits(value: f64) -> String {
    match value {
        large if large >= 1000.0 => format!("{large:.0}"),
        small => format!("{small:.3e}").parse::<f64>().expect("a number").to_string(),
    }
}
