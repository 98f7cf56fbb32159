use super::*;

const LOST: Metric = Metric { name: "lost_seconds_total", kind: Kind::Counter, help: "Time lost" };
const BUILD: Metric = Metric { name: "build_info", kind: Kind::Info, help: "What runs" };
const OPEN: Metric = Metric { name: "open", kind: Kind::Gauge, help: "Open connections" };

fn page(format: Format) -> String {
    let mut page = Page::new(format);
    page.describe(&LOST);
    page.sample(&LOST, &[("cause", "burst"), ("side", "a\"b\\c\nd")], 1.5);
    page.describe(&BUILD);
    page.sample(&BUILD, &[("version", "1")], 1);
    page.describe(&OPEN);
    page.sample(&OPEN, &[], 7);
    page.finish()
}

#[test]
fn the_format_of_prometheus_names_counters_with_their_suffix() {
    let expected = r#"# HELP lost_seconds_total Time lost
# TYPE lost_seconds_total counter
lost_seconds_total{cause="burst",side="a\"b\\c\nd"} 1.5
# HELP build_info What runs
# TYPE build_info gauge
build_info{version="1"} 1
# HELP open Open connections
# TYPE open gauge
open 7
"#;
    assert_eq!(page(Format::Prometheus), expected);
}

#[test]
fn openmetrics_describes_families_without_suffix_has_units_and_an_end() {
    let expected = r#"# HELP lost_seconds Time lost
# TYPE lost_seconds counter
# UNIT lost_seconds seconds
lost_seconds_total{cause="burst",side="a\"b\\c\nd"} 1.5
# HELP build What runs
# TYPE build info
build_info{version="1"} 1
# HELP open Open connections
# TYPE open gauge
open 7
# EOF
"#;
    assert_eq!(page(Format::OpenMetrics), expected);
}

#[test]
fn a_histogram_has_buckets_a_sum_and_a_count() {
    let metric = Metric { name: "wait_seconds", kind: Kind::Histogram, help: "Waits" };
    let mut waits = Histogram::default();
    waits.add(std::time::Duration::from_millis(750));
    for format in [Format::Prometheus, Format::OpenMetrics] {
        let mut page = Page::new(format);
        page.describe(&metric);
        page.histogram(&metric, &[("group", "a")], &waits);
        let text = page.finish();
        let unit = if format == Format::OpenMetrics { "# UNIT wait_seconds seconds\n" } else { "" };
        let begin = format!("# HELP wait_seconds Waits\n# TYPE wait_seconds histogram\n{unit}wait_seconds_bucket{{");
        assert!(text.starts_with(&begin), "{text}");
        for line in [
            "wait_seconds_bucket{group=\"a\",le=\"0.5\"} 0",
            "wait_seconds_bucket{group=\"a\",le=\"1.0\"} 1",
            "wait_seconds_bucket{group=\"a\",le=\"+Inf\"} 1",
            "wait_seconds_sum{group=\"a\"} 0.75",
            "wait_seconds_count{group=\"a\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "no line {line} in:\n{text}");
        }
    }
}

#[test]
fn openmetrics_is_for_those_who_prefer_it() {
    for (accept, expected) in [
        ("", Format::Prometheus),
        ("*/*", Format::Prometheus),
        ("text/html,*/*;q=0.8", Format::Prometheus),
        ("application/openmetrics-text", Format::OpenMetrics),
        ("application/openmetrics-text;version=0.0.1", Format::Prometheus),
        ("application/openmetrics-text;version=1.0.0;q=0", Format::Prometheus),
        ("application/openmetrics-text;q=high", Format::Prometheus),
        ("text/plain, application/openmetrics-text;version=1.0.0;q=0.5", Format::Prometheus),
        // Prometheus 2.42.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
             text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            Format::OpenMetrics,
        ),
    ] {
        assert_eq!(Format::accepted(accept), expected, "{accept}");
    }
}
