//! `recoup whatif`.

use super::folder;
use recoup_testing::Folder;
use serde_json::Value;
use std::fs;

/// A folder with the captures of 12 flows of `linux-3.17` under this loss.
fn captured(drop: &str) -> Folder {
    let dir = folder();
    let profiles = ["--profile", "linux-3.17", "--pcap", "caps"];
    dir.run(&[&flows(drop)[..], &profiles].concat()).printed();
    dir
}

fn flows(drop: &str) -> [&str; 8] {
    ["run", "tail-loss", "--flows", "12", "--set", "segments=20", "--set", drop]
}

const SENDER: &str = "caps/linux-3.17-sender.pcap";

/// The only capture of an answer.
fn answer(dir: &Folder, args: &[&str]) -> Value {
    let args = [&["whatif", "--quiet"], args, &["--format", "json"]].concat();
    let document = dir.run(&args).json();
    assert_eq!(document["schema"], "recoup.whatif");
    document["captures"][0].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The mean completion time of the flows under a profile, in ms.
fn mean_fct(dir: &Folder, drop: &str, profile: &str) -> f64 {
    let more = ["--profile", profile, "--format", "json"];
    let document = dir.run(&[&flows(drop)[..], &more].concat()).json();
    number(&document["results"][0]["fct_ms"]["mean"])
}

#[test]
fn losses_by_position_need_no_draws_and_the_prediction_is_what_a_simulation_finds() {
    let drop = "drop=tail:1";
    let dir = captured(drop);
    let found = answer(&dir, &[SENDER, "--try", "+tlp", "--try", "linux-3.17"]);
    assert_eq!(found["rerun"], 12, "{found}");
    let [tlp, same] = [0, 1].map(|i| &found["results"][i]);
    let [before, after] = ["linux-3.17", "linux-3.17+tlp"].map(|p| mean_fct(&dir, drop, p));
    let change = number(&tlp["mean_change_ms"]);
    let truth = after - before;
    assert!(truth < 0.0 && (change - truth).abs() < 0.01 * -truth, "{change} {truth}");
    assert_eq!(number(&tlp["share_drawn"]), 0.0);
    assert_eq!(tlp["better"], 12);
    assert_eq!(number(&same["mean_change_ms"]), 0.0);
    assert_eq!(found["best"], "+tlp");
}

#[test]
fn fates_that_the_capture_does_not_hold_are_drawn_alike_on_any_number_of_threads() {
    let dir = captured("drop=bernoulli:0.1");
    let args = [SENDER, "--try", "rfc6675", "--connections", "--draws", "4"];
    let found = |more: &[&str]| answer(&dir, &[&args, more].concat());
    let one = found(&["--threads", "1"]);
    let drawn = number(&one["results"][0]["drawn_connections"]);
    assert!(drawn > 0.0, "{one}");
    assert_eq!(one["results"], found(&["--threads", "3"])["results"]);
    assert_eq!(one["connections"], found(&["--threads", "3"])["connections"]);
    let interval = &one["results"][0]["mean_change_ci95_ms"];
    let mean = number(&one["results"][0]["mean_change_ms"]);
    assert!(number(&interval[0]) < mean && mean < number(&interval[1]), "{one}");
}

#[test]
fn a_capture_at_the_receiver_is_refused_by_name() {
    let dir = captured("drop=tail:1");
    let capture = "caps/linux-3.17-receiver.pcap";
    let found = answer(&dir, &[capture]);
    assert_eq!(found["rerun"], 0);
    let refused = &found["refused"][0];
    assert_eq!(refused["reason"], "captured_at_receiver", "{found}");
    assert_eq!(refused["connections"], 12);
    let text = dir.run(&["whatif", capture, "--quiet"]).printed();
    assert!(text.contains("No connection could be run again."), "{text}");
    assert!(text.contains("captured at the receiver of its data (12)"), "{text}");
}

#[test]
fn wrong_arguments_take_one_line() {
    let dir = captured("drop=none");
    for (args, line) in [
        (&["--try", "+tplr"][..], "did you mean `tlpr`?"),
        (&["--try", "linux-7"], "did you mean `linux-6`?"),
        (&["--try", "tlpr"], "did you mean the mechanism `+tlpr`?"),
        (&["--try", "tail-loss-prob=3"], "did you mean `tail-loss-probe`?"),
        (&["--try", "initial-window"], "needs a value, such as initial-window=20"),
        (&["--try", "autocorking=0"], "a capture does not show what the lever `autocorking` would change"),
        (&["--draws", "1"], "1 is not in 2..=1000"),
        (&["missing.pcap"], "missing.pcap"),
    ] {
        let outcome = dir.run(&[&["whatif", SENDER], args].concat());
        assert_eq!(outcome.status, Some(2), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn all_formats_have_the_same_rows() {
    let dir = captured("drop=tail:1");
    let run = |more: &[&str]| dir.run(&[&["whatif", SENDER, "--try", "+tlp"], more].concat());
    let text = run(&[]).printed();
    assert!(text.contains("+tlp helps most: "), "{text}");
    let csv = run(&["--format", "csv"]).printed();
    assert!(csv.starts_with("mechanism,connections,mean_change_ms,"), "{csv}");
    assert_eq!(csv.lines().count(), 2);
    let csv = run(&["--format", "csv", "--connections"]).printed();
    assert!(csv.starts_with("connection,capture_point,src,dst,"), "{csv}");
    assert_eq!(csv.lines().count(), 13);
    for (file, begins) in [("out.parquet", &b"PAR1"[..]), ("out.csv", b"mechanism,")] {
        run(&["--output", file]).printed();
        let bytes = fs::read(dir.path(file)).expect("a file");
        assert!(bytes.starts_with(begins), "{file}");
    }
}

#[test]
fn a_stream_and_joined_files_say_the_same_as_a_file() {
    let dir = captured("drop=tail:1");
    let results = |found: Value| found["results"].clone();
    let of_file = results(answer(&dir, &[SENDER, "--try", "+tlp"]));
    let joined = results(answer(&dir, &["--join", SENDER, "--try", "+tlp"]));
    assert_eq!(of_file, joined);
    let bytes = fs::File::open(dir.path(SENDER)).expect("a capture");
    let output = dir
        .command(&["whatif", "-", "--try", "+tlp", "--format", "json"])
        .stdin(bytes)
        .output()
        .expect("the program runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["captures"][0]["results"], of_file);
}

#[test]
fn the_last_line_names_the_profile_to_try_or_none() {
    let dir = captured("drop=tail:1");
    let last = |args: &[&str]| {
        let text = dir.run(&[&["whatif", "--quiet"], args].concat()).printed();
        text.lines().last().unwrap_or_default().to_owned()
    };
    let found = answer(&dir, &[SENDER]);
    let named = &found["profile_to_try"];
    // A lost tail of a sender without probes: a probe that counts from the last transmission is the first to find it.
    assert_eq!(named["profile"], "linux-6+tlpr", "{named}");
    assert_eq!((&named["connections"], &named["sent_by_clients"]), (&12.into(), &0.into()));
    let [low, high] = [0, 1].map(|end| number(&named["mean_paired_change_ci95_ms"][end]));
    let mean = number(&named["mean_change_ms"]);
    assert!(low <= mean && mean <= high && high < 0.0, "{named}");
    // The prediction is what a simulation with the profile finds.
    let truth = mean_fct(&dir, "drop=tail:1", "linux-6+tlpr") - mean_fct(&dir, "drop=tail:1", "linux-3.17");
    assert!((mean - truth).abs() < 0.01 * -truth, "{mean} {truth}");
    let line = last(&[SENDER]);
    assert!(
        line.starts_with("Profile to try before the servers: linux-6+tlpr. It changes the sender alone: "),
        "{line}"
    );
    // Of what the user tries, what is not a sender's own profile is not named.
    assert_eq!(answer(&dir, &[SENDER, "--try", "rfc6675+tlp"])["profile_to_try"]["tried"][0], "rfc6675+tlp");
    assert!(answer(&dir, &[SENDER, "--try", "quickack-route=1"])["profile_to_try"].is_null());
    let worse = last(&[SENDER, "--try", "linux-3.17"]);
    assert!(worse.starts_with("Profile to try before the servers: none. linux-3.17 would not have made "), "{worse}");

    let dir = captured("drop=none");
    let text = dir.run(&["whatif", SENDER, "--quiet"]).printed();
    assert!(
        text.ends_with("Profile to try before the servers: none. No sender retransmitted or lost time.\n"),
        "{text}"
    );
}
