use super::*;
use crate::run::run;
use std::path::Path;

fn report(settings: &[(&str, &str)]) -> Report {
    let mut scenario = Scenario::load("tail-loss").unwrap();
    for (key, value) in settings {
        scenario.settings.set(key, value, Path::new(".")).unwrap();
    }
    Report::new(&scenario, &run(&scenario, 1, |_| ()).unwrap())
}

#[test]
fn json_has_the_documented_names() {
    let json: Value = serde_json::from_str(&report(&[("drop", "tail:3"), ("ack", "quick")]).to_json()).unwrap();
    assert_eq!((&json["scenario"], &json["seed"]), (&json!("tail-loss"), &json!(1)));
    let first = &json["results"][0];
    for name in [
        "profile",
        "flows",
        "completed",
        "fct_ms",
        "segments_sent",
        "bytes_sent",
        "retransmissions",
        "duplicates",
        "duplicates_withheld",
        "duplicates_reported",
        "spurious",
        "spurious_data",
        "unnecessary_bytes",
    ] {
        assert!(!first[name].is_null(), "{name}");
    }
    for name in ["min", "p50", "p90", "p99", "max", "mean"] {
        assert_eq!(first["fct_ms"][name], json!(600.0), "{name}");
        // The server is established after one and a half round trips of 80 ms.
        assert_eq!(first["fct_established_ms"][name], json!(480.0), "{name}");
    }
    assert_eq!((&json["schema"], &json["version"]), (&json!("recoup.run"), &json!(1)));
    let expected = json!({"total": 3, "fast": 0, "early": 0, "rto": 1, "slow_start": 2,
        "tlp": 0, "pmtu": 0, "mtu_probe": 0, "syn": 0, "syn_ack": 0});
    assert_eq!(first["retransmissions"], expected);
    assert_eq!(first["segments_sent"], json!(13));
}

#[test]
fn csv_has_the_same_columns_if_no_flow_completes() {
    let header = |csv: String| csv.lines().next().unwrap().to_string();
    let dead = report(&[("drop", "bernoulli:1")]);
    assert_eq!(dead.results[0].result.cost.completed, 0);
    assert_eq!(header(dead.to_csv()), header(report(&[]).to_csv()));
    assert_eq!(dead.to_csv().lines().count(), 4);
}

#[test]
fn csv_has_every_setting_in_every_line() {
    let csv = report(&[("drop", "tail:1,up:ack:2"), ("rate", "10Mbit")]).to_csv();
    let mut lines = csv::Reader::from_reader(csv.as_bytes());
    let header = lines.headers().unwrap().clone();
    let expected: Vec<String> = settings::all().map(|s| format!("set_{}", s.key)).collect();
    let settings: Vec<&str> = header.iter().skip(header.len() - expected.len()).collect();
    assert_eq!(settings, expected);
    let mut count = 0;
    for line in lines.records() {
        let line = line.unwrap();
        count += 1;
        for (name, value) in
            [("set_rtt", "80ms"), ("set_rate", "10Mbit"), ("set_drop", "tail:1,up:ack:2"), ("set_ack", "delayed:200ms")]
        {
            let column = header.iter().position(|column| column == name).unwrap();
            assert_eq!(&line[column], value, "{name}");
        }
    }
    assert_eq!(count, 3);
}

#[test]
fn the_table_names_units_and_profiles() {
    let all = report(&[]).to_table(View::Cost, Keep::All);
    for part in [
        "linux-6+tlpr",
        "FCT p50 (ms)",
        "Retransmissions (segments)",
        "Retransmissions by slow_start",
        "Flows completed",
    ] {
        assert!(all.contains(part), "{part}\n{all}");
    }
}

#[test]
fn rows_of_zeros_or_equal_values_are_left_out() {
    let table = report(&[]).to_table(View::Cost, Keep::Telling);
    assert!(table.contains("--all-rows"), "{table}");
    assert!(table.contains("| FCT (ms)"), "{table}");
    for part in ["FCT p99", "slow_start", "Flows completed", "Extra copies"] {
        assert!(!table.contains(part), "{part}\n{table}");
    }
    // With one profile all values are equal, so only rows of zeros are left out.
    let mut scenario = Scenario::load("tail-loss").unwrap();
    scenario.profiles.truncate(1);
    let report = Report::new(&scenario, &run(&scenario, 1, |_| ()).unwrap());
    let table = report.to_table(View::Cost, Keep::Telling);
    assert!(table.contains("Data sent (segments)"), "{table}");
    assert!(!table.contains("Extra copies"), "{table}");
}

/// Without losses in the handshake, the time from establishment tells nothing new.
#[test]
fn the_time_from_establishment_stands_where_the_handshake_was_retransmitted() {
    let [established, of_data] = ["| FCT from establishment", "| Spurious retransmissions of data"];
    for (drop, keep, stands) in
        [("tail:1", Keep::Telling, false), ("tail:1", Keep::All, true), ("tail:1,up:ack:1", Keep::Telling, true)]
    {
        let table = report(&[("drop", drop)]).to_table(View::Cost, keep);
        assert_eq!(table.contains(established), stands, "{drop}: {table}");
    }
    let spurious = report(&[("drop", "up:ack:1")]);
    let cost = &spurious.results[0].result.cost;
    assert_eq!((cost.spurious, cost.spurious_data), (1, 0));
    let table = spurious.to_table(View::Cost, Keep::All);
    assert!(table.contains(of_data), "{table}");
}

/// Flows of 150 segments, 5 % of which are lost.
fn lossy() -> Report {
    report(&[("segments", "150"), ("drop", "bernoulli:0.05")])
}

#[test]
fn every_view_is_a_table_with_its_units() {
    let report = lossy();
    for (view, parts) in [
        (
            View::Retransmissions,
            &[
                "Retransmissions (segments)",
                "by rto after back-off",
                "never acknowledged",
                "Fast retransmits per recovery",
                "Recoveries with a DSACK",
                "DSACKs per retransmission (%)",
                "Lost retransmissions per recovery (%)",
                "Window reductions undone by frto",
                "Retransmissions per data segment (%)",
                "Network transmit time per flow (ms)",
                "in loss recovery (%)",
                "Data segments sent in recovery (%)",
                "Recoveries followed by slow start (%)",
            ][..],
        ),
        (
            View::Recovery,
            &[
                "Recoveries ended by a timeout",
                "Recoveries begun with pipe < ssthresh",
                "pipe - ssthresh at entry min (segments)",
                "cwnd - ssthresh before exit p5 (segments)",
                "cwnd after recovery p5 (segments)",
                "Time in recovery p99 (ms)",
                "Recovery time until Open p10 (ms)",
            ],
        ),
        (
            View::Latency,
            &[
                "Responses written",
                "Responses acknowledged",
                "TCP latency mean (ms)",
                "TCP latency p5 (ms)",
                "Responses with a retransmission",
                "TCP latency with a retransmission p99 (ms)",
                "Responses of several segments with a loss",
                "TCP latency with a loss p50 (ms)",
            ],
        ),
    ] {
        let table = report.to_table(view, Keep::All);
        for part in parts {
            assert!(table.contains(part), "{part}\n{table}");
        }
    }
}

/// Counts that are computed in two ways agree.
#[test]
fn the_senders_counts_agree_with_the_simulators() {
    let json: Value = serde_json::from_str(&lossy().to_json()).unwrap();
    for entry in json["results"].as_array().unwrap() {
        let recovery = &entry["recovery"];
        let count = |value: &Value| value.as_u64().unwrap();
        let sum = |object: &Value, names: [&str; 3]| -> u64 { names.iter().map(|name| count(&object[name])).sum() };
        let recoveries = count(&recovery["recoveries"]);
        assert!(recoveries > 0, "{entry}");
        let ended = sum(&recovery["ended"], ["complete", "undone", "timeout"]);
        assert_eq!(ended, recoveries);
        assert_eq!(recovery["timeouts"]["recovery"], recovery["ended"]["timeout"]);
        let pipe = &recovery["pipe_minus_ssthresh"];
        assert_eq!(sum(pipe, ["below", "equal", "above"]), recoveries);
        assert!(pipe["min"].as_i64() <= pipe["max"].as_i64());
        let retransmissions = &entry["retransmissions"];
        let fast = sum(retransmissions, ["fast", "early", "early"]) - count(&retransmissions["early"]);
        let ratios = &recovery["ratios"];
        let ratio = ratios["fast_retransmits_per_recovery"].as_f64();
        assert_eq!(ratio, Some(fast as f64 / recoveries as f64));
        let real = |value: &Value| value.as_f64().unwrap();
        let rate = real(&ratios["retransmission_rate_percent"]);
        let sent = rate * real(&entry["segments_sent"]) / 100.0;
        assert!((sent - real(&retransmissions["total"])).abs() < 1e-6);
        let recovering = real(&recovery["in_recovery_ms"]) + real(&recovery["in_loss_ms"]);
        assert!(recovering <= real(&recovery["transmit_time_ms"]));
    }
}

/// Server's RTT of 80 ms; two responses of ten segments, of which the second loses its first segment: a fast
/// retransmission, which takes one RTT more.
#[test]
fn responses_have_latencies_of_their_own() {
    let report = report(&[("exchanges", "300B>14480B,300B>14480B"), ("drop", "data:11"), ("ack", "quick")]);
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    for entry in json["results"].as_array().unwrap() {
        let responses = &entry["responses"];
        assert_eq!(responses["written"], json!(2));
        for (choice, count, p5, p95, mean) in [
            ("all", 2, 80.0, 160.0, 120.0),
            ("retransmitted", 1, 160.0, 160.0, 160.0),
            ("lossy", 1, 160.0, 160.0, 160.0),
        ] {
            let of = &responses[choice];
            assert_eq!(of["count"], json!(count), "{choice}");
            let latency = &of["latency_ms"];
            let found = (&latency["p5"], &latency["p95"], &latency["mean"]);
            assert_eq!(found, (&json!(p5), &json!(p95), &json!(mean)), "{choice}");
        }
    }
}

#[test]
fn without_a_loss_ratios_are_null() {
    let report = report(&[("drop", "none")]);
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let recovery = &json["results"][0]["recovery"];
    assert_eq!(recovery["recoveries"], json!(0));
    assert_eq!(recovery["ratios"]["fast_retransmits_per_recovery"], Value::Null);
    assert_eq!(recovery["ratios"]["retransmission_rate_percent"], json!(0.0));
    assert_eq!(recovery["cwnd_after"]["p50"], Value::Null);
    assert_eq!(recovery["time_ms"], Value::Null);
    let header = |csv: String| csv.lines().next().unwrap().to_string();
    assert_eq!(header(report.to_csv()), header(lossy().to_csv()));
    let responses = &json["results"][0]["responses"];
    assert_eq!(responses["lossy"]["count"], json!(0));
    assert_eq!(responses["lossy"]["latency_ms"], Value::Null);
    for view in [View::Cost, View::Retransmissions, View::Recovery, View::Latency] {
        let table = report.to_table(view, Keep::All);
        assert!(!table.contains("NaN") && !table.contains("null"), "{table}");
    }
}
