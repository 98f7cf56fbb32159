use super::*;

fn sweep(texts: &[&str]) -> Result<Sweep, String> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).into()).collect();
    Sweep::parse(&texts)
}

fn cells(texts: &[&str]) -> Vec<String> {
    let cells = sweep(texts).unwrap().cells();
    cells.iter().map(Cell::to_string).collect()
}

#[test]
fn the_cells_are_the_product_of_the_values() {
    for (texts, expected) in [
        (
            &["rtt=20ms,80ms", "drop=none,tail:1"][..],
            &["rtt=20ms drop=none", "rtt=20ms drop=tail:1", "rtt=80ms drop=none", "rtt=80ms drop=tail:1"][..],
        ),
        // Commas belong to the values where a semicolon separates them, or stands at the end.
        (&["drop=tail:1,up:ack:2;none"], &["drop=tail:1,up:ack:2", "drop=none"]),
        (&["drop=tail:1,up:ack:2;", "drop=none,tail:3"], &["drop=tail:1,up:ack:2", "drop=none", "drop=tail:3"]),
        (&[" rtt = 1ms , 2ms "], &["rtt=1ms", "rtt=2ms"]),
    ] {
        assert_eq!(cells(texts), expected, "{texts:?}");
    }
    assert!(sweep(&[]).unwrap().is_empty());
}

#[test]
fn a_wrong_sweep_is_refused() {
    let many = |key: &str| {
        let values: Vec<String> = (0..32).map(|i| i.to_string()).collect();
        format!("{key}={}", values.join(","))
    };
    let (a, b) = (many("segments"), many("request"));
    for (texts, expected) in [
        (&["rtt"][..], "rtt: expected KEY=VALUE,VALUE, such as "),
        (&["=1ms"], "=1ms: expected KEY=VALUE,VALUE, such as "),
        (&["rtt="], "rtt=: expected a value, found nothing"),
        (&["rtt=1ms,,2ms"], "rtt=1ms,,2ms: expected a value, "),
        (&["rtt=1ms,1ms"], "rtt: 1ms is given twice"),
        (&["rtt=1ms", "rtt=1ms"], "rtt: 1ms is given twice"),
        (&[&*a, &*b], "segments, request: expected at most 1000 combinations of values, found 1024"),
    ] {
        let error = sweep(texts).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn each_cell_has_its_settings_and_a_wrong_one_is_named() {
    let base = Scenario::load("tail-loss").unwrap();
    let swept = sweep(&["rtt=20ms,40ms", "segments=3,30"]).unwrap();
    let all = swept.scenarios(&base).unwrap();
    let settings = all.iter().map(|(_, scenario)| {
        let settings = &scenario.settings;
        (settings.rtt.as_millis(), settings.segments)
    });
    let expected = [(20, 3), (20, 30), (40, 3), (40, 30)];
    assert_eq!(settings.collect::<Vec<_>>(), expected);
    for (texts, expected) in [
        (&["rt=1ms"][..], "unknown setting `rt`, "),
        (&["rtt=1ms", "mss=x,1"], "mss: "),
        // The last 30 of 3 segments cannot be lost.
        (&["segments=40,3", "drop=tail:30,none"], "segments=3 drop=tail:30: "),
    ] {
        let error = sweep(texts).unwrap().scenarios(&base).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
