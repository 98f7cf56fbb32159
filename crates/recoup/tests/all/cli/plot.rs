//! `recoup plot`.

use crate::cli::folder;
use recoup_testing::{Folder, Outcome};
use std::collections::BTreeSet;
use std::process::Command;

/// A folder with the events and captures of the scenario `prr`, which has three profiles.
fn measured(more: &[&str]) -> Folder {
    let dir = folder();
    let args = ["run", "prr", "--events", "ev.jsonl", "--pcap", "caps"];
    dir.run(&[&args[..], more].concat()).printed();
    dir
}

const CAPTURE: &str = "caps/linux-2.6+reno-sender.pcap";

/// Counts the lines that begin with `word`.
fn lines_with(text: &str, word: &str) -> usize {
    text.lines().filter(|line| line.split(' ').next() == Some(word)).count()
}

#[test]
fn events_are_drawn_with_one_panel_per_profile() {
    let dir = measured(&[]);
    let all = dir.run(&["plot", "ev.jsonl"]).printed();
    assert!(all.starts_with("<svg ") && all.trim_end().ends_with("</svg>"));
    let names = ["linux-2.6+reno+prr", "linux-2.6+reno", "linux-2.6+reno+std"];
    for name in names {
        let heading = format!(">{name}</text>");
        assert_eq!(all.matches(&heading).count(), 1, "{name}");
    }
    assert_eq!(dir.run(&["plot", "ev.jsonl"]).printed(), all, "the second drawing is the same");
    // Files and pipes give the same drawing.
    let events = dir.read("ev.jsonl");
    assert_eq!(dir.run_reading(&["plot", "-"], &events).printed(), all);
    dir.run(&["plot", "ev.jsonl", "-o", "all.svg"]).printed();
    assert_eq!(dir.read("all.svg"), all);

    let one = ["plot", "ev.jsonl", "--profile", names[1], "--format", "xpl"];
    let xplot = dir.run(&one).printed();
    assert!(xplot.starts_with("timeval unsigned\ntitle\nlinux-2.6+reno, flow 0\n"), "{xplot}");
    assert_eq!(lines_with(&xplot, "fast"), 4, "each retransmission with its trigger");
    dir.run(&[&one[..4], &["--output", "one.xpl"]].concat()).printed();
    assert_eq!(dir.read("one.xpl"), xplot);
}

#[test]
fn a_capture_is_drawn_like_the_events_of_its_flow() {
    let dir = measured(&[]);
    let xplot = |file: &str, more: &[&str]| {
        let args = ["plot", file, "--format", "xpl", "--title", "t"];
        dir.run(&[&args[..], more].concat()).printed()
    };
    let events = xplot("ev.jsonl", &["--profile", "linux-2.6+reno"]);
    let capture = xplot(CAPTURE, &[]);
    for (word, times) in [("uarrow", 35), ("darrow", 35), ("red", 4), ("R", 0), ("fast", 4)] {
        assert_eq!(lines_with(&events, word), times, "{word}");
    }
    for word in ["uarrow", "darrow", "red", "purple", "dtick", "fast"] {
        assert_eq!(lines_with(&capture, word), lines_with(&events, word), "{word}");
    }
    let verdicts = capture.lines().filter(|line| *line == "fast needed");
    assert_eq!(verdicts.count(), 4, "each with its verdict");
    let part = xplot(CAPTURE, &["--from", "0.5s", "--to", "650ms"]);
    assert_eq!(lines_with(&part, "uarrow"), 2, "{part}");
}

#[test]
fn flows_and_connections_are_chosen() {
    let dir = measured(&["--flows", "3"]);
    let Outcome { status, stdout, stderr } = dir.run(&["plot", CAPTURE]);
    assert_eq!((status, stdout.as_str()), (Some(2), ""));
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{stderr}");
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        "1 198.51.100.1:32769 192.0.2.1:80 1 0 0 35 34000 4".split(' ').collect::<Vec<_>>()
    );
    assert_eq!(lines[4], format!("recoup: {CAPTURE}: there are 3 connections: choose one with --connection"));
    let second = dir.run(&["plot", CAPTURE, "--connection", "1"]).printed();
    assert!(second.contains("192.0.2.1:80 to 198.51.100.1:32769"));
    let flow = dir.run(&["plot", "ev.jsonl", "--flow", "2"]).printed();
    assert!(flow.contains(">flow 2</text>"));
    // The filter leaves one connection, which keeps its number.
    let filtered = dir.run(&["plot", CAPTURE, "--filter", "port 32769"]);
    // What the others show of the hosts is not known then, so the title may name other profiles.
    let drawn = |svg: &str| svg.lines().filter(|line| line.starts_with("<path")).map(String::from).collect::<Vec<_>>();
    assert_eq!(filtered.status, Some(0));
    assert_eq!(drawn(&filtered.stdout), drawn(&second));
}

#[test]
fn wrong_arguments_are_refused_in_one_line() {
    let dir = measured(&["--flows", "2"]);
    dir.write("table.csv", "time,seq\n1,2\n");
    dir.write("broken.jsonl", "{\"time_ms\":0}\n");
    dir.write("packed.pcap.gz", b"\x1f\x8b\x08\x00");
    std::fs::create_dir(dir.path("folder")).expect("a folder");
    for (args, expected) in [
        (&["none.pcap"][..], "cannot read none.pcap: No such file"),
        (&["folder"], "cannot read folder: Is a directory"),
        (&["table.csv"], "table.csv: neither events nor a capture: expected the JSON lines"),
        (&["broken.jsonl"], "broken.jsonl:1: column 13: missing field `profile`"),
        (&["ev.jsonl"], "ev.jsonl: there are flows 0 to 1: choose one with --flow"),
        (&["ev.jsonl", "--flow", "7"], "ev.jsonl: no flow 7: expected one from 0 to 1"),
        (
            &["ev.jsonl", "--flow", "0", "--profile", "linux-2.6+reno+pr"],
            "ev.jsonl: no profile `linux-2.6+reno+pr`: expected one of linux-2.6+reno+prr, ",
        ),
        (
            &["ev.jsonl", "--flow", "0", "-o", "x.xpl"],
            "an .xpl file holds one panel: choose one with --profile and --direction, of linux-2.6+reno+prr, ",
        ),
        (&["ev.jsonl", "--connection", "0"], "ev.jsonl: --connection is for captures"),
        (&[CAPTURE, "--flow", "0"], "caps/linux-2.6+reno-sender.pcap: --flow is for event streams"),
        (&[CAPTURE, "-o", "x.gif"], "--output x.gif: expected a name that ends in .svg, .png, .pdf or .xpl"),
        (&[CAPTURE, "--from", "2s", "--to", "1s"], "--from must be before --to"),
        (&["packed.pcap.gz"], "packed.pcap.gz: the capture ends within its header"),
        (
            &[CAPTURE, "--connection", "0", "--from", "10h"],
            "caps/linux-2.6+reno-sender.pcap: nothing to draw: there is data from 100.746ms to ",
        ),
        (&["ev.jsonl", "--flow", "0", "--to", "1ns", "-o", "x.svg"], "ev.jsonl: nothing to draw: there is data from "),
        (
            &[CAPTURE, "--connection", "0", "--direction", "up"],
            "caps/linux-2.6+reno-sender.pcap: nothing to draw: no data goes from client to server (--direction up)",
        ),
        (
            &["ev.jsonl", "--flow", "0", "--direction", "up"],
            "ev.jsonl: nothing to draw: no data goes from client to server (--direction up)",
        ),
        (
            &["ev.jsonl", "--flow", "0", "-o", "./ev.jsonl", "--format", "svg"],
            "cannot write `./ev.jsonl`: it is ev.jsonl, which is read",
        ),
        (&[CAPTURE, "--from", "soon"], "invalid value 'soon' for '--from <TIME>': `soon` is not a duration"),
        (&[CAPTURE, "--format", "gif"], "invalid value 'gif' for '--format <FORMAT>'"),
        (
            &[CAPTURE, "--width", "9mm"],
            "invalid value '9mm' for '--width <WIDTH>': expected a width from 300px to 8000px",
        ),
        (&[CAPTURE, "ev.jsonl"], "expected one file, or --join"),
        (&["--join", CAPTURE, "-"], "-: joined captures are read twice: expected a file"),
        (&[CAPTURE, "--connection", "0", "-o", "no/x.svg"], "cannot write `no/x.svg`: No such file"),
    ] {
        let before = dir.files();
        let outcome = dir.run(&[&["plot"], args].concat());
        let stderr = &outcome.stderr;
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        assert!(stderr.starts_with(&format!("recoup: {expected}")), "{args:?}: {stderr}");
        assert_eq!(dir.files(), before, "{args:?}");
    }
}

/// A truncated capture is drawn up to the truncation.
#[test]
fn a_truncated_capture_is_drawn_with_a_note() {
    let dir = measured(&[]);
    let whole = std::fs::read(dir.path(CAPTURE)).expect("a capture");
    dir.write("cut.pcap", &whole[..whole.len() / 2]);
    let outcome = dir.run(&["plot", "cut.pcap"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let (start, end) = ("recoup: note: cut.pcap: after frame ", ": the capture ends within a packet\n");
    assert!(outcome.stderr.starts_with(start) && outcome.stderr.ends_with(end));
    assert!(outcome.stdout.starts_with("<svg "));
}

/// A drawing has the same content in each format, and a capture is drawn alike from a file and from a
/// stream. `analyze --plot` is the same drawing.
#[test]
fn a_connection_is_drawn_in_every_format() {
    let dir = measured(&[]);
    let svg = dir.run(&["plot", CAPTURE]).printed();
    assert!(svg.starts_with("<svg ") && svg.contains("width=\"900px\""));
    let analyzed = dir.run(&["analyze", CAPTURE, "--plot", "0"]).printed();
    assert_eq!(analyzed, svg);
    let capture = std::fs::File::open(dir.path(CAPTURE)).expect("a capture");
    let piped = dir.command(&["plot", "-"]).stdin(capture).output();
    assert_eq!(piped.expect("the program runs").stdout, svg.as_bytes());
    for (ending, beginning) in [("png", &b"\x89PNG"[..]), ("pdf", b"%PDF-")] {
        for theme in ["light", "dark"] {
            let file = format!("{theme}.{ending}");
            let args = ["plot", CAPTURE, "--theme", theme, "--width", "84mm", "-o", &file];
            assert_eq!(dir.run(&args).printed(), "");
            let picture = std::fs::read(dir.path(&file)).expect("a picture");
            assert!(picture.starts_with(beginning), "{file}");
        }
    }
}

/// The arrows of an xplot file by colour: (time in microseconds, start, end).
fn arrows(xplot: &str, colour: &str) -> BTreeSet<(i64, i64, i64)> {
    let (mut now, mut foot, mut found) = ("", None, BTreeSet::new());
    for line in xplot.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            [word] if ["white", "red", "green", "purple", "yellow", "orange"].contains(word) => {
                now = word;
            }
            ["darrow", _, low] if now == colour => foot = low.parse::<f64>().ok(),
            // tcptrace draws a pushed segment with a diamond as head.
            ["uarrow" | "diamond", time, high, ..] if now == colour => {
                let time: f64 = time.parse().expect("a time");
                let high: f64 = high.parse().expect("a number");
                let low = foot.take().unwrap_or(high);
                // tcptrace draws a SYN as an arrow without a foot.
                if low < high {
                    found.insert(((time * 1e6).round() as i64, low as i64, high as i64));
                }
            }
            _ => {}
        }
    }
    found
}

/// Recoup's and tcptrace's files for xplot have the same arrows.
#[test]
fn tcptrace_draws_the_same() {
    let dir = measured(&["--set", "drop=data:1-4,data:11-16"]);
    let traced = Command::new("tcptrace").args(["-n", "-S", CAPTURE]).current_dir(dir.path("")).output();
    if let Err(error) = traced {
        return recoup_testing::skip(format!("tcptrace is not installed: {error}"));
    }
    let theirs = dir.read("b2a_tsg.xpl");
    let ours = dir.run(&["plot", CAPTURE, "--format", "xpl"]).printed();
    for colour in ["white", "red"] {
        let [ours, theirs] = [&ours, &theirs].map(|xplot| {
            let found = arrows(xplot, colour);
            let &(start, ..) = found.first().expect("arrows");
            let lowest = found.iter().map(|(_, low, _)| *low).min().expect("arrows");
            let relative = found.iter().map(|(at, low, high)| {
                // An f64 loses a digit of times in microseconds since 1970.
                ((at - start + 5) / 10, low - lowest, high - lowest)
            });
            relative.collect::<BTreeSet<_>>()
        });
        assert!(ours.len() >= 10, "{colour}: {ours:?}");
        assert_eq!(ours, theirs, "{colour}");
    }
}
