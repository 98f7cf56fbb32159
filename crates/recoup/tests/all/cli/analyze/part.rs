//! `recoup analyze --filter`, `--from` and `--to`: a part of a capture.

use super::{SENDER, captured};
use recoup_testing::csv_rows;

const ROWS: [&str; 3] = ["--retransmissions", "--format", "csv"];

#[test]
fn a_part_keeps_the_numbers_of_the_whole() {
    let (dir, _) = captured("6");
    let whole = dir.run(&[&["analyze", SENDER][..], &ROWS].concat());
    let whole = whole.printed();
    let whole = csv_rows(&whole);
    // Flows begin one second apart, from ports 32768 on, and have two retransmissions each.
    for (part, kept, note) in [
        (&["--filter", "tcp port 32770 or 32771"][..], 5..9, "the filter selects 2 of 6 connections"),
        (&["--from", "4s"], 9..13, "packets are outside the time window"),
        (&["--from", "1s", "--to", "2000-01-01T00:00:02Z", "--join"], 3..5, "packets are outside the time window"),
        (&["--filter", "src 203.0.113.1"], 0..0, "the filter selects none of 6 connections"),
        (&["--from", "1h"], 0..0, "is in the time window"),
    ] {
        let outcome = dir.run(&[&["analyze", SENDER][..], &ROWS, part].concat());
        assert_eq!(outcome.status, Some(0), "{part:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(note), "{part:?}: {}", outcome.stderr);
        let rows = csv_rows(&outcome.stdout);
        assert_eq!(rows[1..].len(), kept.len(), "{part:?}: {rows:?}");
        for (row, expected) in rows[1..].iter().zip(&whole[kept]) {
            // A joined capture also names the file of each frame.
            assert_eq!(row[0], expected[0], "{part:?}");
            assert_eq!(row[row.len() - 9], expected[15], "{part:?}");
        }
    }
    let plot = ["analyze", SENDER, "--plot", "5", "--filter", "port 32770"];
    let outcome = dir.run(&plot);
    assert_eq!(outcome.status, Some(2));
    let line = "no connection 5: not in the part that the filter and the time window choose";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

#[test]
fn a_state_goes_on_with_its_own_part_only() {
    let (dir, _) = captured("2");
    let first = ["analyze", SENDER, "--state", "s", "--filter", "port 80"];
    dir.run(&first).printed();
    let second = ["analyze", SENDER, "--state", "s", "--filter", "port 80 or ip6"];
    let outcome = dir.run(&second);
    assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""));
    assert_eq!(outcome.stderr, "recoup: s: state made with --filter 'port 80': expected --filter 'port 80 or ip6'\n");
}
