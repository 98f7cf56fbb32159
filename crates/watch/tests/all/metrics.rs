//! Metrics, as Prometheus takes them, and the packaged dashboard.

use crate::setup::{METRICS, PATIENCE, PROGRAM, Watched, has_programs, source, start};
use recoup_testing::Folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where Prometheus listens in the namespace.
const PROMETHEUS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 9090);

#[test]
fn an_address_that_cannot_be_had_is_one_clear_line() {
    let folder = Folder::new(PROGRAM);
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = taken.local_addr().unwrap().to_string();
    folder.refuses(&["--from", ".", "--prometheus", &at], &["--prometheus", &at, "in use"]);
    folder.refuses(&["--from", ".", "--prometheus", "9464"], &["--prometheus", "such as 127.0.0.1:9464"]);
}

#[test]
fn metrics_pass_promtool_and_are_those_of_the_documentation() {
    if !has_programs(&["setpriv", "promtool"]) {
        return;
    }
    let Some(watched) = Watched::start() else { return };
    let text = watched.get(METRICS, "/metrics").unwrap();
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = promtool.spawn().unwrap();
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*complaints), (Some(0), ""));
    let served: BTreeSet<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let docs = std::fs::read_to_string(source("docs/watch.md")).unwrap();
    let (_, section) = docs.split_once("\n## Metrics\n").unwrap();
    let (section, _) = section.split_once("\n### OpenTelemetry\n").unwrap();
    // Those of `--kernel-reasons` are there if it is given; a test of the metrics' text compares them.
    let usual = section.lines().filter(|line| !line.contains("`--kernel-reasons`"));
    let documented = usual.filter_map(|line| {
        let mut cells = line.strip_prefix("| `recoup_")?.split('|');
        Some((cells.next()?.trim().trim_end_matches('`'), cells.next()?.trim()))
    });
    let documented: Vec<(String, &str)> = documented.map(|(name, kind)| (format!("recoup_{name}"), kind)).collect();
    assert_eq!(documented.iter().map(|(name, kind)| (name.as_str(), *kind)).collect::<BTreeSet<_>>(), served);
}

#[test]
fn prometheus_answers_each_query_of_the_dashboard() {
    if !has_programs(&["setpriv", "prometheus"]) {
        return;
    }
    let Some(watched) = Watched::start() else { return };
    let scrape = std::fs::read_to_string(source("packaging/watch/prometheus.yml")).unwrap();
    watched.folder.write("prometheus.yml", format!("global:\n  scrape_interval: 500ms\n{scrape}"));
    let mut prometheus = Command::new("prometheus");
    prometheus.arg(format!("--config.file={}", watched.folder.path("prometheus.yml").display()));
    prometheus.arg(format!("--storage.tsdb.path={}", watched.folder.path("data").display()));
    prometheus.args(["--web.listen-address=127.0.0.1:9090", "--log.level=error"]).current_dir(watched.folder.dir());
    let _prometheus = start(&watched.namespace, &mut prometheus);
    // Rates need a sample from before.
    wait_for_result(&watched, "recoup_retransmissions_total{job=\"recoup\"}");
    let _open = watched.lose_packets();
    let dashboard: Value =
        serde_json::from_slice(&std::fs::read(source("packaging/watch/grafana-dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(panels.len() > 10 && queries.len() >= panels.len(), "{queries:?}");
    for query in queries {
        let query = query.replace("$__rate_interval", "1m").replace("$instance", ".*");
        assert!(!query.contains('$'), "{query}");
        for value in wait_for_result(&watched, &query) {
            assert!(value.is_finite() && value >= 0.0, "{query}: {value}");
        }
    }
    let value = |query: &str| wait_for_result(&watched, query).iter().sum::<f64>();
    assert!(value("sum(recoup_retransmissions_total)") > 0.0);
    assert!(value("sum(recoup_retransmission_verdicts_total{verdict=\"needed\"})") > 0.0);
    assert!(value("sum(recoup_lost_seconds_total)") > 0.0);
    assert!(value("recoup_frame_bytes_total") > 20_000_000.0);
    // The variable of the dashboard that chooses instances.
    assert_eq!(value("count by (instance) (recoup_watch_info{instance=\"127.0.0.1:9464\"})"), 1.0);
}

/// The values of a query, once it has some.
fn wait_for_result(watched: &Watched, query: &str) -> Vec<f64> {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = watched.get(PROMETHEUS, &format!("/api/v1/query?query={encoded}"));
        // Until Prometheus is ready it refuses, and then says so.
        let found = answer.as_ref().ok().map(|answer| {
            let answer: Value = serde_json::from_str(answer).unwrap();
            assert_eq!(answer["status"], "success", "{query}: {answer}");
            let result = answer["data"]["result"].as_array().unwrap();
            let values = result.iter().map(|series| series["value"][1].as_str().unwrap().parse().unwrap());
            values.collect::<Vec<f64>>()
        });
        if let Some(values) = found
            && !values.is_empty()
        {
            return values;
        }
        assert!(!answer.as_ref().is_err_and(|why| why.contains(" 400 ")), "{query}: {answer:?}");
        assert!(Instant::now() < end, "{query}: no result: {answer:?}");
        sleep(Duration::from_millis(200));
    }
}
