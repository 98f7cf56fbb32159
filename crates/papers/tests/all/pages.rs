//! `recoup paper tail-loss fig4` with pages from files.

use super::only;
use crate::folder;
use recoup_testing::csv_rows;

const SITE: &str = "name = \"two\"\n[[objects]]\nsize = \"20kB\"\n[[objects]]\nsize = 3000\nsubdomain = \"images\"\n";

const HAR: &str = r#"{"log": {"entries": [
    {"request": {"url": "https://a.example/"}, "response": {"bodySize": 9000, "content": {"mimeType": "text/html"}}},
    {"request": {"url": "https://b.example/x"}, "response": {"bodySize": 5000}}
]}}"#;

#[test]
fn pages_come_from_files_and_have_no_claims_of_the_paper() {
    let dir = folder();
    dir.write("two.toml", SITE);
    dir.write("saved.har", HAR);
    let args = ["--site", "two.toml", "--har", "saved.har", "--downloads", "3"];
    let args = [&["tail-loss", "fig4"], &args[..]].concat();
    let json = dir.run(&[&args[..], &["--format", "json"]].concat()).printed();
    let figure = only(&json);
    assert_eq!(figure["claims"].as_array().map(Vec::len), Some(0));
    let cells = figure["cells"].as_array().expect("cells");
    // Two pages, three round-trip times, four mechanisms.
    assert_eq!(cells.len(), 24);
    for (cell, site) in [(0, "two"), (4, "saved"), (8, "two"), (23, "saved")] {
        assert_eq!(cells[cell]["site"], site, "{cell}");
        assert_eq!(cells[cell]["downloads"], 3, "{cell}");
    }
    let csv = dir.run(&[&args[..], &["--format", "csv"]].concat()).printed();
    assert_eq!(csv_rows(&csv).len(), 1 + 24);
    let table = dir.run(&args).printed();
    assert!(table.starts_with("tail-loss fig4: "), "{table}");
    assert_eq!(table, dir.run(&args).printed(), "twice");
}

#[test]
fn files_that_are_no_pages_are_refused() {
    let dir = folder();
    dir.write("empty.har", "{\"log\": {\"entries\": []}}");
    dir.write("bad.har", HAR.replace("5000", "\"many\""));
    dir.write("text.har", "\nHAR");
    dir.write("bad.toml", SITE.replace("3000", "0"));
    for (args, expected) in [
        (&["--har", "none.har"][..], "cannot read the page none.har: "),
        (&["--har", "empty.har"], "empty.har:$.log.entries: expected an entry with bytes"),
        (
            &["--har", "bad.har"],
            "bad.har:$.log.entries[1].response.bodySize: expected bytes, or -1 where unknown, found \"many\"",
        ),
        (&["--har", "text.har"], "text.har:2: expected JSON: expected value"),
        (
            &["--site", "bad.toml"],
            "bad.toml:5: size: expected bytes (1200) or a size (\"24kB\"), at least 1 byte, found 0",
        ),
        (&["--downloads", "0"], "invalid value '0'"),
        (&["--set", "ack=quick"], "--set ack: the cells of the figures set it"),
    ] {
        let outcome = dir.run(&[&["tail-loss", "fig4"], args].concat());
        let stderr = outcome.stderr.as_str();
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    }
}
