//! The output of `recoup run`.

use crate::cli::{folder, recoup, tail_loss};
use recoup_testing::csv_rows;
use serde_json::{Value, json};

const TRIGGERS: [&str; 9] = ["fast", "early", "rto", "slow_start", "tlp", "pmtu", "mtu_probe", "syn", "syn_ack"];

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn json_has_the_documented_names() {
    let report = tail_loss(&["--set", "drop=tail:3", "--flows", "2", "--seed", "7"]);
    assert_eq!(report["scenario"], "tail-loss");
    assert_eq!(report["seed"], 7);
    let results = report["results"].as_array().expect("results");
    let profiles: Vec<_> = results.iter().map(|r| r["profile"].as_str()).collect();
    let expected = ["linux-3.17", "linux-6", "linux-6+tlpr"];
    assert_eq!(profiles, expected.map(Some));
    for result in results {
        assert_eq!((&result["flows"], &result["completed"]), (&json!(2), &json!(2)));
        for name in ["segments_sent", "bytes_sent", "duplicates", "spurious", "spurious_data", "unnecessary_bytes"] {
            assert!(result[name].is_u64(), "{name}: {result}");
        }
        let fct = &result["fct_ms"];
        let quantiles = ["p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"];
        assert_eq!(keys(fct), [&["min"], &quantiles[..], &["max", "mean"]].concat());
        assert!(keys(fct).iter().all(|name| fct[*name].as_f64() > Some(160.0)));
        // The server, which sends the data, is established after 1.5 round trips of 80 ms.
        let established = &result["fct_established_ms"];
        for name in keys(fct) {
            let [whole, part] = [fct, established].map(|times| times[name].as_f64().expect("ms"));
            assert!((whole - part - 120.0).abs() < 1e-6, "{name}: {result}");
        }
        assert!(result["fct_established_normalised"].is_f64(), "{result}");
        let again = &result["retransmissions"];
        assert_eq!(keys(again)[0], "total");
        assert_eq!(keys(again)[1..], TRIGGERS);
        let sum: u64 = TRIGGERS.iter().filter_map(|t| again[t].as_u64()).sum();
        assert_eq!(again["total"], sum);
        // Ten segments per flow, and the retransmissions.
        assert_eq!(result["segments_sent"], 20 + sum);
    }
}

#[test]
fn table_and_csv_have_the_values_of_json() {
    let report = tail_loss(&["--set", "drop=tail:2"]);
    let args = ["run", "tail-loss", "--set", "drop=tail:2", "--format"];
    let csv = recoup(&[&args[..], &["csv"]].concat()).printed();
    let rows = csv_rows(&csv);
    let table = recoup(&[&args[..], &["table"]].concat()).printed();
    assert_eq!(recoup(&args[..4]).printed(), table, "the usual format");
    assert!(table.contains("\ntail-loss flows=1 seed=1 rtt=80ms "), "{table}");
    let results = report["results"].as_array().expect("results");
    assert_eq!(rows.len(), 1 + results.len());
    for (row, result) in rows[1..].iter().zip(results) {
        let cell = |name| {
            let column = rows[0].iter().position(|n| *n == name);
            row[column.unwrap_or_else(|| panic!("{name}: {csv}"))]
        };
        assert_eq!(Some(cell("profile")), result["profile"].as_str(), "in order");
        assert_eq!(cell("seed"), "1");
        assert_eq!((cell("set_rtt"), cell("set_drop")), ("80ms", "tail:2"));
        for (column, value) in [
            ("completed", &result["completed"]),
            ("fct_ms_p50", &result["fct_ms"]["p50"]),
            ("fct_established_ms_p50", &result["fct_established_ms"]["p50"]),
            ("spurious_data", &result["spurious_data"]),
            ("bytes_sent", &result["bytes_sent"]),
            ("retransmissions_tlp", &result["retransmissions"]["tlp"]),
        ] {
            assert_eq!(cell(column).parse().ok(), value.as_f64(), "{column}");
        }
        let fct = format!(" {:.3} ", result["fct_ms"]["p50"].as_f64().expect("a time"));
        let line = table.lines().find(|l| l.starts_with("| FCT (ms) "));
        assert!(line.is_some_and(|l| l.contains(&fct)), "{fct}\n{table}");
    }
}

#[test]
fn given_profiles_replace_those_of_the_scenario() {
    let names = ["linux-3.17+rtor+tlp", "linux-3.17", "linux-3.17+tlpr+reno"];
    let args: Vec<_> = names.iter().flat_map(|name| ["--profile", name]).collect();
    let report = tail_loss(&args);
    let results = report["results"].as_array().expect("results");
    let found: Vec<_> = results.iter().map(|r| r["profile"].as_str()).collect();
    assert_eq!(found, names.map(Some));
}

/// 10 segments, the last one lost, RTT 80 ms.
#[test]
fn a_lost_tail_delays_the_flow_by_the_timer() {
    let profiles = ["", "+rtor", "+tlp", "+tlpr"].map(|on| format!("linux-3.17{on}"));
    let named = profiles.iter().flat_map(|name| ["--profile", name]);
    let report = tail_loss(&["--set", "ack=quick"].into_iter().chain(named).collect::<Vec<_>>());
    for (result, fct) in [520.0, 440.0, 520.0, 440.0].into_iter().enumerate() {
        let result = &report["results"][result];
        assert_eq!(result["fct_ms"]["max"], fct, "{}", result["profile"]);
        assert_eq!(result["retransmissions"]["total"], 1);
    }
}

/// The client's ACK of the SYN-ACK is lost, so the server retransmits the SYN-ACK for nothing.
#[test]
fn a_lost_handshake_costs_nothing_from_establishment() {
    let [clean, lossy] = ["none", "up:ack:1"].map(|drop| {
        let report = tail_loss(&["--set", &format!("drop={drop}")]);
        report["results"][0].clone()
    });
    assert_eq!(clean["fct_established_ms"], lossy["fct_established_ms"]);
    let fct = |result: &Value| result["fct_ms"]["mean"].as_f64().expect("ms");
    assert!(fct(&lossy) >= fct(&clean) + 1000.0, "{lossy}");
    assert_eq!((&lossy["spurious"], &lossy["spurious_data"]), (&json!(1), &json!(0)));
    let table = |more: &[&str]| recoup(&[&["run", "tail-loss"], more].concat()).printed();
    let row = "| FCT from establishment (ms)";
    assert!(table(&["--set", "drop=up:ack:1"]).contains(row));
    assert!(!table(&[]).contains(row));
    assert!(table(&["--all-rows"]).contains("| FCT from establishment p99 (ms)"));
}

/// Each setting appears in the report and changes the result.
#[test]
fn every_setting_has_an_effect() {
    let dir = folder();
    dir.write("slow.trace", "100\n");
    let run = |more: &[&str], sets: &[&str]| {
        let mut args = [&["run", "tail-loss"], more].concat();
        args.extend(sets.iter().flat_map(|set| ["--set", set]));
        dir.run(&args)
    };
    let report = |sets: &[&str]| run(&["--format", "json"], sets).json();
    let events = |sets: &[&str]| run(&["--events", "-"], sets).printed();
    let many = ["segments=200", "drop=data:20"];
    for (before, key, value, printed) in [
        (&[][..], "rtt", "0.16s", "160ms"),
        (&[], "rate", "up:none,down:1Mbit", "up:none,down:1Mbit"),
        (&["rate=1Mbit"], "queue", "3", "3p"),
        (&["rate=1Mbit"], "queue", "4kB", "4kB"),
        (&["rate=1Mbit"], "queue", "4096B", "4KiB"),
        (&[], "link", "slow.trace", "up:none,down:slow.trace"),
        (&[], "segments", "11", "11"),
        (&[], "mss", "536", "536"),
        (&[], "drop", "none", "none"),
        (&[], "drop", "up:syn:1,data:3-4@1", "up:syn:1,data:3-4"),
        (&[], "reorder", "up:0.5:20ms", "up:0.5:20ms,down:none"),
        (&[], "duplicate", "1", "1"),
        (&[], "corrupt", "0.2", "0.2"),
        (&["ack=quick"], "ack", "delayed", "delayed:200ms"),
        (&[], "ack", "linux:4", "linux:4"),
        (&[], "timers", "granularity:70ms", "granularity:70ms"),
        (&[], "timers", "linux-wheel:100", "linux-wheel:100"),
        (&many, "cc", "reno", "reno"),
        (&[], "close", "true", "true"),
        (&["drop=none"], "user_timeout", "50ms", "50ms"),
        (&[], "receive_buffer", "3000", "3000"),
    ] {
        let setting = format!("{key}={value}");
        let all = [before, &[&setting]].concat();
        assert_eq!(report(&all)["settings"][key], printed, "{setting}");
        assert_ne!(report(before)["settings"][key], printed, "{setting}");
        let same = events(&all) == events(before);
        assert!(!same, "{setting} changes nothing");
    }
    let settings = report(&[]);
    let listed = recoup(&["scenario", "list"]).printed();
    for key in keys(&settings["settings"]) {
        assert!(listed.contains(&format!("\n  {key} ")), "{key}: {listed}");
    }
}

#[test]
fn a_later_setting_wins() {
    let report = tail_loss(&["--set", "rtt=10ms", "--set", "rtt=20ms"]);
    assert_eq!(report["settings"]["rtt"], "20ms");
}

#[test]
fn a_flow_that_cannot_finish_is_a_result() {
    let report = tail_loss(&["--set", "drop=bernoulli:1", "--flows", "3"]);
    for result in report["results"].as_array().expect("results") {
        assert_eq!((&result["flows"], &result["completed"]), (&json!(3), &json!(0)));
        assert_eq!(result["fct_ms"], Value::Null);
    }
    let args = ["run", "tail-loss", "--set", "drop=bernoulli:1"];
    let table = recoup(&args).printed();
    assert!(table.contains("| 0 (0.0 %) |"), "{table}");
    csv_rows(&recoup(&[&args[..], &["--format", "csv"]].concat()).printed());
}

/// All randomness comes from the seed, and all profiles meet the same network.
#[test]
fn the_same_seed_gives_the_same_output() {
    let run = |seed: &str, format: &str, more: &[&str]| {
        let args = ["run", "tail-loss", "--flows", "300", "--seed", seed];
        let chance = ["--set", "drop=gilbert-elliott:0.05,0.4", "--set", "reorder=0.1:9ms"];
        let format = ["--format", format];
        recoup(&[&args[..], &chance, &format, more].concat()).printed()
    };
    for format in ["table", "json", "csv"] {
        assert_eq!(run("5", format, &[]), run("5", format, &[]));
        assert_ne!(run("5", format, &[]), run("6", format, &[]));
    }
    // With an observer, flows run one after another; otherwise on all cores.
    let watched = ["--events", "/dev/null"];
    assert_eq!(run("5", "json", &watched), run("5", "json", &[]));
    let twice = run("5", "csv", &["--profile", "linux-3.17", "--profile", "linux-3.17"]);
    let rows = twice.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let [header, first, second] = rows.collect::<Vec<_>>().try_into().expect("three lines");
    // Settings behind the results contain commas, and only the second profile has a difference.
    for (column, name) in header.iter().enumerate() {
        match name.strip_prefix("fct_difference_ms_mean_") {
            Some("verdict") => assert_eq!([first[column], second[column]], ["", "equal"]),
            None if !name.starts_with("fct_difference_ms") && !name.starts_with("fct_normalised_interval") => {
                assert_eq!(first[column], second[column], "{name}");
            }
            _ => {}
        }
    }
}

/// `--report` selects a table. JSON and CSV contain the figures of every table.
#[test]
fn reports_are_views_of_one_result() {
    let sets = ["--set", "segments=200", "--set", "drop=bernoulli:0.05"];
    let args = [&["run", "tail-loss", "--flows", "20"], &sets[..]].concat();
    let table = |report| recoup(&[&args[..], &["--report", report, "--all-rows"]].concat()).printed();
    let json = recoup(&[&args[..], &["--format", "json"]].concat()).json();
    let first = &json["results"][0];
    let (again, recovery) = (&first["retransmissions"], &first["recovery"]);
    let usual = recoup(&[&args[..], &["--report", "cost"]].concat()).printed();
    assert_eq!(usual, recoup(&args).printed(), "the default");
    let row = |table: &str, name: &str| {
        let line = table.lines().find(|l| l.starts_with(&format!("| {name} ")));
        let line = line.unwrap_or_else(|| panic!("{name}\n{table}"));
        let cell = line.split('|').nth(2).expect("a column");
        cell.trim().to_owned()
    };
    let share = |part: &Value, whole: &Value| {
        let [n, of] = [part, whole].map(|v| v.as_u64().expect("a count"));
        format!("{n} ({:.1} %)", 100.0 * n as f64 / of as f64)
    };
    let total = &again["total"];
    let retransmissions = table("retransmissions");
    for (name, expected) in [
        ("Retransmissions (segments)", total.to_string()),
        ("Retransmissions by fast (segments)", share(&again["fast"], total)),
        ("Retransmissions by rto (segments)", share(&again["rto"], total)),
        ("  by rto in state recovery (segments)", share(&recovery["timeouts"]["recovery"], total)),
        ("  by rto after back-off (segments)", share(&recovery["timeouts"]["loss"], total)),
        ("Fast recoveries", recovery["recoveries"].to_string()),
    ] {
        assert_eq!(row(&retransmissions, name), expected, "{name}");
    }
    let shown = table("recovery");
    for (name, value) in [
        ("pipe - ssthresh at entry min (segments)", &recovery["pipe_minus_ssthresh"]["min"]),
        ("cwnd - ssthresh before exit p5 (segments)", &recovery["cwnd_minus_ssthresh"]["p5"]),
        ("cwnd after recovery p5 (segments)", &recovery["cwnd_after"]["p5"]),
    ] {
        assert_eq!(row(&shown, name), value.to_string(), "{name}");
    }
    let responses = &first["responses"];
    let acknowledged = &responses["all"]["count"];
    let shown = table("latency");
    for (name, part) in [
        ("Responses acknowledged", acknowledged),
        ("Responses with a retransmission", &responses["retransmitted"]["count"]),
        ("Responses of several segments with a loss", &responses["lossy"]["count"]),
    ] {
        assert_eq!(row(&shown, name), share(part, acknowledged), "{name}");
    }
    let csv = recoup(&[&args[..], &["--format", "csv"]].concat()).printed();
    let rows = csv_rows(&csv);
    for (column, value) in [
        ("recovery_recoveries", &recovery["recoveries"]),
        ("recovery_timeouts_open", &recovery["timeouts"]["open"]),
        ("recovery_undone_dsack", &recovery["undone"]["dsack"]),
        ("recovery_pipe_minus_ssthresh_p99", &recovery["pipe_minus_ssthresh"]["p99"]),
        ("recovery_cwnd_after_p50", &recovery["cwnd_after"]["p50"]),
        ("recovery_time_ms_p90", &recovery["time_ms"]["p90"]),
        ("recovery_time_until_open_ms_p10", &recovery["time_until_open_ms"]["p10"]),
        ("responses_lossy_latency_ms_p5", &responses["lossy"]["latency_ms"]["p5"]),
    ] {
        let found = rows[0].iter().position(|n| *n == column);
        let found = found.unwrap_or_else(|| panic!("{column}: {csv}"));
        assert_eq!(rows[1][found].parse().ok(), value.as_f64(), "{column}");
    }
}

/// The heading lists the settings with an effect. Notes on standard error name the others.
#[test]
fn settings_without_effect_are_noted() {
    let dir = folder();
    dir.write("trace", "1\n");
    for (args, heading, note) in [
        ("prr", "prr flows=1 seed=1 rtt=100ms rate=", ""),
        (
            "prr --set segments=100",
            "prr flows=1 seed=1 rtt=100ms rate=",
            "segments=100 has no effect: writes sets what is sent",
        ),
        (
            "tail-loss --set link=up:trace,down:trace --set rate=1Mbit",
            "tail-loss flows=1 seed=1 rtt=80ms link=",
            "rate=1Mbit has no effect: a link replaces it",
        ),
        (
            "tail-loss --profile linux-6+cubic --set cc=reno",
            "tail-loss flows=1 seed=1 rtt=80ms rate=none segments=10 drop=tail:1 ack=delayed:200ms timers=exact cc=reno\n",
            "profile linux-6+cubic: +cubic has no effect: cc=reno is set",
        ),
        (
            "tail-loss --profile reno+tlp",
            "tail-loss flows=1 seed=1 ",
            "profile reno+tlp: +tlp has no effect: it needs SACK, which the profile does not use",
        ),
        (
            "tail-loss --profile linux-3.17+tlp+notlp",
            "tail-loss flows=1 seed=1 ",
            "profile linux-3.17+tlp+notlp: +tlp has no effect: +notlp replaces it",
        ),
        ("tail-loss --set drop=up:ack:999", "tail-loss flows=1 seed=1 ", "drop=up:ack:999 met no packet"),
        (
            "tail-loss --set drop=ack:999",
            "tail-loss flows=1 seed=1 ",
            "drop=ack:999 met no packet; without up: it applies to the server's packets",
        ),
    ] {
        let args: Vec<&str> = "run".split(' ').chain(args.split(' ')).collect();
        let outcome = dir.run(&args);
        let expected = match note {
            "" => String::new(),
            note => format!("recoup: note: {note}\n"),
        };
        assert_eq!((outcome.status, outcome.stderr), (Some(0), expected), "{args:?}");
        let mut parts = outcome.stdout.split("\n\n");
        let [finding, first] = [(); 2].map(|()| parts.next().expect("a paragraph"));
        assert!(finding.ends_with('.'), "{finding}");
        assert!(format!("{first}\n").starts_with(heading), "{args:?}: {first}");
        assert!(!first.contains("writes=") || !first.contains(" segments="), "{first}");
    }
    let profiles = recoup(&["profiles"]).printed();
    let (top, _) = profiles.split_once("\n\n").expect("a paragraph");
    assert!(top.ends_with("the last one wins."), "{top}");
}

#[test]
fn differences_have_intervals_and_verdicts() {
    let args = ["--flows=1000", "--set", "drop=bernoulli:3%"];
    let document = tail_loss(&args);
    let results = document["results"].as_array().expect("results");
    assert!(results[0]["fct_difference_ms"].is_null());
    for result in results {
        for statistic in ["mean", "p50", "p95", "p99"] {
            let one = &result["fct_interval_ms"][statistic];
            let [low, value, high] = ["low", "value", "high"].map(|end| one[end].as_f64());
            assert!(low.is_some() && low <= value && value <= high, "{one}");
        }
    }
    let difference = &results[1]["fct_difference_ms"];
    for (statistic, verdict) in [("mean", "shorter"), ("p50", "equal"), ("p99", "undecided")] {
        assert_eq!(difference[format!("{statistic}_verdict")], verdict, "{difference}");
    }
    assert!(difference["mean"]["high"].as_f64() < Some(0.0), "{difference}");
    let table = recoup(&[&["run", "tail-loss"], &args[..]].concat()).printed();
    let row = |start: &str| {
        let found = table.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {table}"))
    };
    assert!(!row("| FCT mean - first profile's (ms)").contains("undecided"));
    assert!(row("| FCT p99 - first profile's (ms)").contains("] undecided |"));
    // Six flows have intervals, five have none and say so.
    let few = recoup(&["run", "tail-loss", "--flows=5"]).printed();
    assert!(few.ends_with("\nIntervals need at least 6 flows: --flows 6.\n"), "{few}");
    let six = tail_loss(&["--flows=6"]);
    assert!(six["results"][0]["fct_interval_ms"]["mean"].is_object());
}

#[test]
fn intervals_of_a_world_are_over_its_runs() {
    let args = ["-q", "run", "dumbbell", "--set", "duration=500ms", "--set"];
    let json = |runs: &str| recoup(&[&args[..], &[runs, "--format", "json"]].concat()).json();
    let workload = |document: &Value, profile: usize| document["results"][profile]["workloads"][0].clone();
    let six = workload(&json("runs=6"), 1);
    assert!(six["fct_interval_ms"]["p99"].is_object(), "{six}");
    assert!(six["fct_difference_ms"]["mean_verdict"].is_string());
    let five = json("runs=5");
    assert!(workload(&five, 1)["fct_interval_ms"].is_null());
    let table = recoup(&[&args[..], &["runs=5"]].concat()).printed();
    assert!(table.contains("at least 6 runs (--set runs=6).\n"), "{table}");
}
