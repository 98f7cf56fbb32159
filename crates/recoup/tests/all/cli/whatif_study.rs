//! `recoup whatif --study`.

use super::folder;
use recoup_testing::{Folder, csv_rows};
use serde_json::Value;
use std::fs;

const SENDER: &str = "caps/linux-2.4+minrttvar-sender.pcap";
const RECEIVER: &str = "caps/linux-2.4+minrttvar-receiver.pcap";

/// A folder with the captures of 60 lossy flows of `linux-2.4+minrttvar`, whose RTTs differ by queueing.
fn captured() -> Folder {
    let dir = folder();
    let args = "run tail-loss --profile linux-2.4+minrttvar --flows 60 --seed 3 --pcap caps --set segments=40 \
        --set rate=5Mbit --set queue=40 --set drop=bernoulli:0.04";
    dir.run(&args.split_whitespace().collect::<Vec<_>>()).printed();
    dir
}

fn study(dir: &Folder, args: &[&str]) -> Value {
    let args = [&["whatif", "--quiet", "--study"], args, &["--format", "json"]].concat();
    let document = dir.run(&args).json();
    assert_eq!(document["schema"], "recoup.parameters");
    document["captures"][0].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The results of all senders.
fn results(study: &Value) -> &[Value] {
    study["groups"][0]["results"].as_array().expect("rows")
}

#[test]
fn a_value_that_the_senders_have_changes_nothing_and_a_larger_k_waits_longer() {
    let dir = captured();
    let found =
        study(&dir, &[SENDER, "--k", "2,3,4,6,8", "--min-rto", "100ms,200ms,400ms,1s", "--a", "1/4", "--b", "1/8"]);
    assert!(number(&found["studied"]) > 30.0, "{found}");
    assert_eq!(found["groups"][1]["profile"], "linux-2.4+minrttvar");
    assert_eq!(
        results(&found),
        found["groups"][1]["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let mut row = row.clone();
                row["profile"] = "all".into();
                row
            })
            .collect::<Vec<_>>()
    );
    let singles = 5 + 4 + 1 + 1;
    assert_eq!(results(&found).len(), singles + 5 * 4);
    let row = |parameters: &str| {
        let found = results(&found).iter().find(|row| row["parameters"] == parameters);
        found.unwrap_or_else(|| panic!("{parameters}"))
    };
    for own in ["k = 4", "a = 1/4", "b = 1/8", "minRTO = 200 ms", "k = 4, minRTO = 200 ms, a = 1/4, b = 1/8"] {
        let row = row(own);
        assert_eq!(number(&row["sum_saved_ms"]), 0.0, "{row}");
        let mut events = row.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_events"));
        assert!(events.all(|(_, count)| *count == 0), "{row}");
    }
    let moved = |parameters: &str| number(&row(parameters)["timeout_moves_saved_ms"]);
    assert!(moved("k = 2") > 0.0);
    assert!(moved("k = 2") > moved("k = 3") && moved("k = 3") > 0.0);
    assert!(moved("k = 8") < moved("k = 6") && moved("k = 6") < 0.0);
    assert!(moved("minRTO = 1 s") < moved("minRTO = 400 ms"));
    assert_eq!(row("k = 8")["faster"], 0, "{}", row("k = 8"));
    // The best value is the one that saves most.
    let saved = |row: &Value| number(&row["sum_saved_ms"]);
    let best = found["groups"][0]["best_value"].as_u64().unwrap() as usize;
    let most = results(&found)[..singles].iter().map(saved).fold(0.0, f64::max);
    assert_eq!(saved(&results(&found)[best]), most);
}

#[test]
fn sums_rows_and_events_agree_in_every_format() {
    let dir = captured();
    let values = ["--k", "2,6", "--a", "profile", "--b", "profile", "--min-rto", "800ms", "--dupthresh", "1,5"];
    let run = |more: &[&str]| {
        let args = [&["whatif", SENDER, "--study", "--quiet"], &values[..], more].concat();
        dir.run(&args).printed()
    };
    let found = study(&dir, &[&[SENDER, "--connections"], &values[..]].concat());
    let instances = results(&found).len();
    assert_eq!(instances, 5 + 4);
    run(&["--events", "events.csv", "--connections", "-o", "changes.csv"]);
    run(&["--events", "events.jsonl", "--connections", "-o", "changes.parquet"]);
    let parquet = fs::read(dir.path("changes.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1"));
    let lines = dir.read("events.jsonl");
    let mut events = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    let header: Value = events.next().unwrap();
    assert_eq!(header["schema"], "recoup.parameters.events");
    let events: Vec<Value> = events.collect();
    let changes = found["connections"].as_array().unwrap();
    for (file, rows) in [("events.csv", events.len()), ("changes.csv", changes.len())] {
        assert_eq!(dir.read(file).lines().count(), rows + 1, "{file}");
    }
    for (instance, row) in results(&found).iter().enumerate() {
        for (column, total) in [("saved_ms", &row["sum_saved_ms"]), ("counted_saved_ms", &row["counted_sum_saved_ms"])]
        {
            for rows in [changes, &events] {
                let own = rows.iter().filter(|one| one["instance"] == instance);
                let sum: f64 = own.map(|one| number(&one[column])).sum();
                assert!((sum - number(total)).abs() < 1e-3, "{column}: {sum} of {row}");
            }
        }
        let own = events.iter().filter(|one| one["instance"] == instance);
        let moved = own.filter(|one| one["kind"] == "timeout_moves").count();
        assert_eq!(row["timeout_moves_events"], moved);
    }
    let text = run(&["--format", "csv"]);
    assert!(text.starts_with("profile,instance,parameters,k,"), "{text}");
    let single = [
        "whatif",
        SENDER,
        "--study",
        "--k",
        "2",
        "--a",
        "profile",
        "--b",
        "profile",
        "--min-rto",
        "profile",
        "--format",
        "csv",
    ];
    let single = dir.run(&single).printed();
    let rows = csv_rows(&single);
    assert_eq!((rows.len(), rows[1][2]), (3, "k = 2"));
}

#[test]
fn threads_streams_and_joined_files_change_nothing() {
    let dir = captured();
    let groups = |args: &[&str]| study(&dir, args)["groups"].clone();
    let one = groups(&[SENDER, "--threads", "1"]);
    assert_eq!(one, groups(&[SENDER, "--threads", "3"]));
    assert_eq!(one, groups(&["--join", SENDER]));
    let bytes = fs::File::open(dir.path(SENDER)).expect("a capture");
    let output =
        dir.command(&["whatif", "-", "--study", "--format", "json"]).stdin(bytes).output().expect("the program runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["captures"][0]["groups"], one);
}

#[test]
fn the_text_says_what_helps_most_and_what_it_is_compared_to() {
    let dir = captured();
    let text = dir.run(&["whatif", SENDER, "--study", "--quiet"]).printed();
    assert!(text.lines().count() <= 55, "{text}");
    // The name of the capture stands in the first line, and may be long.
    let mut lines = text.lines().skip(1);
    assert!(lines.all(|line| line.chars().count() <= 120), "{text}");
    for part in [
        "Of the 21 values tried, ",
        " saves most: connections would have ended ",
        "Ideal loss detection would have saved ",
        "Best of 720 combinations: ",
        ": no needed retransmission of data\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let worse = [
        "whatif",
        SENDER,
        "--study",
        "--quiet",
        "--k",
        "8",
        "--a",
        "profile",
        "--b",
        "profile",
        "--min-rto",
        "profile",
    ];
    let text = dir.run(&worse).printed();
    assert!(text.contains("The value tried does not shorten connections on average."), "{text}");
    assert!(!text.contains("combination"), "{text}");
}

/// The packets of a pcap file that were sent from this port.
fn sent_from(capture: &[u8], port: u16) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize;
    // Ethernet has a header of its own; raw IP has none.
    let ip = if word(20) == 1 { 14 } else { 0 };
    let mut kept = capture[..24].to_vec();
    let mut at = 24;
    while at < capture.len() {
        let end = at + 16 + word(at + 8);
        let packet = &capture[at + 16 + ip..end];
        let tcp = 4 * usize::from(packet[0] & 15);
        if packet[tcp..tcp + 2] == port.to_be_bytes() {
            kept.extend(&capture[at..end]);
        }
        at = end;
    }
    kept
}

#[test]
fn what_a_capture_cannot_show_is_named() {
    let dir = captured();
    let capture = fs::read(dir.path(SENDER)).unwrap();
    dir.write("empty.pcap", &capture[..24]);
    dir.write("one-way.pcap", sent_from(&capture, 80));
    for (args, reason) in
        [(&["empty.pcap"][..], None), (&[RECEIVER], Some("captured_at_receiver")), (&["one-way.pcap"], Some("one_way"))]
    {
        let found = study(&dir, args);
        assert_eq!(found["studied"], 0, "{found}");
        let mut reasons = found["refused"].as_array().unwrap().iter();
        match reason {
            None => assert!(reasons.next().is_none(), "{found}"),
            Some(name) => assert!(reasons.any(|reason| reason["reason"] == name), "{found}"),
        }
        let refused = found["refused"].as_array().unwrap().iter();
        let refused: f64 = refused.map(|reason| number(&reason["senders"])).sum();
        assert_eq!(refused, number(&found["sender_count"]), "{found}");
        let text = dir.run(&[&["whatif", "--study", "--quiet"], args].concat());
        assert_eq!(text.status, Some(0), "{}", text.stderr);
        assert!(text.stdout.contains("No sender could be studied."), "{}", text.stdout);
    }
}

#[test]
fn figures_are_drawn_for_each_parameter() {
    let dir = captured();
    let outcome = dir.run(&["whatif", SENDER, "--study", "--figures", "figs"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let files = dir.files();
    let drawn: Vec<_> = files.iter().filter(|name| name.ends_with(".svg")).collect();
    assert_eq!(drawn.len(), 4, "{files:?} {}", outcome.stderr);
    let picture = dir.read("figs/fig4-k-linux-2.4+minrttvar.svg");
    for title in [">k = 2<", ">k = 3<", ">k = 6<"] {
        assert!(picture.contains(title), "{title}");
    }
    // The senders' own k changes nothing.
    assert!(!picture.contains(">k = 4<"));
}

#[test]
fn wrong_values_take_one_line_and_leave_no_file() {
    let dir = captured();
    let before = dir.files();
    for (args, line) in [
        (&["--study", "--k", "two"][..], "`two`: expected a number from 0 to 1000"),
        (&["--study", "--k", "-1"], "`-1`: expected a number"),
        (&["--study", "--k", "profil"], "did you mean `profile`?"),
        (&["--study", "--a", "0"], "`0`: expected a number from 0.000001 to 1"),
        (&["--study", "--b", "1/3"], "not exact in millionths"),
        (&["--study", "--min-rto", "200"], "`200` is not a duration"),
        (&["--study", "--min-rto", "2min"], "expected at most 60s"),
        (&["--study", "--dupthresh", "0"], "expected a whole number from 1 to 1000"),
        (&["--study", "--min-rto-of", "srtt"], "--min-rto-of"),
        (&["--study", "--model", "count"], "counted"),
        (&["--study", "--try", "+tlp"], "--try"),
        (&["--study", "--seed", "2"], "--seed"),
        (&["--k", "2"], "--study"),
        (&["--study", "--events", "events.txt"], "expected a name that ends in .jsonl, .csv or .parquet"),
        (&["--study", "--events", "none/events.csv"], "none/events.csv"),
        (&["--study", "--m", "0,0.5,1,1.5,2", "--dupthresh", "1,2,3,4,5,6"], "21600 combinations"),
        (
            &["--study", "--k", "profile", "--a", "profile", "--b", "profile", "--min-rto", "profile"],
            "every parameter is profile",
        ),
        (&["--study", RECEIVER, "--figures", "figs"], "--figures: expected one capture, or --join"),
    ] {
        let outcome = dir.run(&[&["whatif", SENDER], args].concat());
        assert_eq!(outcome.status, Some(2), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(line), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
    assert_eq!(dir.files(), before);
}

#[test]
fn an_unreadable_capture_leaves_no_file_of_events() {
    let dir = folder();
    dir.write("text.pcap", "no capture");
    let args = ["whatif", "text.pcap", "--study", "--events", "events.csv", "-o", "out.json"];
    let outcome = dir.run(&args);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert_eq!(dir.files(), ["text.pcap"]);
}
