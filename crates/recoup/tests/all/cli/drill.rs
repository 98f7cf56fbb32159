//! `recoup drill`: scripts pass, fail with both packets side by side, or are refused.

use crate::cli::folder;

/// A script that passes.
pub const PASSES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../script/tests/scripts/tlp-needs-sack.pkt");

pub const SERVER: &str = "// profile: linux-3.17
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.3 > P. 1:1001(1000) ack 1
";

#[test]
fn a_script_passes_from_a_file_a_folder_and_standard_input() {
    let dir = folder();
    dir.write("a.pkt", SERVER);
    std::fs::create_dir_all(dir.path("more/deep")).expect("a folder");
    dir.write("more/deep/b.pkt", SERVER);
    dir.write("more/c.txt", "no script");
    let printed = dir.run(&["drill", "a.pkt", "more"]).printed();
    let expected = "pass  a.pkt  (linux-3.17)\npass  more/deep/b.pkt  (linux-3.17)\n2 scripts: 2 passed, 0 failed\n";
    assert_eq!(printed, expected);
    let printed = dir.run_reading(&["drill", "-"], SERVER).printed();
    assert_eq!(printed, "pass  -  (linux-3.17)\n1 script: 1 passed, 0 failed\n");
}

#[test]
fn a_failure_shows_both_packets_and_exits_1() {
    let dir = folder();
    dir.write("a.pkt", SERVER);
    dir.write("b.pkt", SERVER.replace("+.3 >", "+.25 >"));
    let outcome = dir.run(&["drill", "a.pkt", "b.pkt"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(1), ""));
    for part in [
        "pass  a.pkt",
        "FAIL  b.pkt  (linux-3.17)\nb.pkt:12: no packet left by then\n    12 | +.25 > P. 1:1001(1000) ack 1\n",
        "\nexpected 0.350000 > P. 1:1001(1000) ack 1\n  actual nothing; the next timer goes off at 0.400000\n",
        "\n2 scripts: 1 passed, 1 failed\n",
    ] {
        assert!(outcome.stdout.contains(part), "{part}\nnot in\n{}", outcome.stdout);
    }
}

#[test]
fn the_trace_the_notes_and_the_profile_are_printed() {
    let dir = folder();
    dir.write("a.pkt", SERVER);
    let outcome = dir.run(&["drill", "a.pkt", "--trace", "--verbose", "--profile", "linux-3.17+rtor"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("pass  a.pkt  (linux-3.17+rtor)\n"), "{}", outcome.stdout);
    let line = "\n      0.400000 > P. 1:1001(1000) ack 1 win 512\n";
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    let note = "recoup: note: a.pkt:3: SO_REUSEADDR has no effect: addresses do not matter\n";
    assert_eq!(outcome.stderr, note);
}

#[test]
fn results_as_json() {
    let dir = folder();
    dir.write("a.pkt", SERVER);
    dir.write("b.pkt", format!("{SERVER}+0 %{{ print(tcpi_snd_cwnd); assert tcpi_snd_cwnd == 2 }}%\n"));
    let json = dir.run(&["drill", "a.pkt", "--format", "json", "--trace"]).json();
    assert_eq!(json["scripts"][0]["script"], "a.pkt");
    assert_eq!(json["scripts"][0]["passed"], true);
    assert_eq!(json["scripts"][0]["trace"].as_array().map(Vec::len), Some(5));
    assert_eq!(json["scripts"][0]["notes"][0]["line"], 3);
    let outcome = dir.run(&["drill", "b.pkt", "--format", "json"]);
    assert_eq!(outcome.status, Some(1));
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(json["scripts"][0]["failure"]["line"], 13);
    assert_eq!(json["scripts"][0]["printed"][0]["text"], "1");
}

#[test]
fn unreadable_scripts_are_refused_and_the_others_run() {
    let dir = folder();
    dir.write("a.pkt", SERVER);
    dir.write("b.pkt", SERVER.replace("listen", "lisen"));
    dir.write("c.pkt", SERVER.replace("+0 write", "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n+0 write"));
    std::fs::create_dir(dir.path("empty")).expect("a folder");
    let misspelt = "recoup: b.pkt:5:4: unknown system call `lisen`, did you mean `listen`?\n";
    let unknown = "recoup: c.pkt:10:27: setsockopt of `TCP_CORK` is not supported";
    let outcome = dir.run(&["drill", "a.pkt", "b.pkt", "c.pkt"]);
    assert_eq!(outcome.status, Some(2));
    assert!(
        outcome.stdout.ends_with(
            "\nERROR b.pkt  (not run)\nERROR c.pkt  (not run)\n\
             3 scripts: 1 passed, 0 failed, 2 not run\n"
        ),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stderr.starts_with(&format!("{misspelt}{unknown}")), "{}", outcome.stderr);
    for (args, part) in [
        (&["drill", "a.pkt", "--profile", "linux-3.71"][..], "did you mean `linux-3.17`?"),
        (&["drill", "empty"], "`empty`: a folder without .pkt files"),
        (&["drill"], "FILE"),
    ] {
        let outcome = dir.run(args);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(outcome.stderr.contains(part), "{args:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}

#[test]
fn a_script_that_cannot_be_run_is_in_the_summary() {
    let dir = folder();
    dir.write("misspelt.pkt", SERVER.replace("listen", "lisen"));
    dir.write("nothing.pkt", "");
    dir.write("remarks.pkt", "// profile: linux-6\n`true`\n");
    dir.write("bytes.pkt", b"\xff\xfe");
    dir.write("udp.pkt", SERVER.replace("IPPROTO_TCP", "IPPROTO_UDP"));
    for (script, error) in [
        ("misspelt.pkt", "misspelt.pkt:5:4: unknown system call `lisen`"),
        ("nothing.pkt", "nothing.pkt:1:1: the script has no event"),
        ("remarks.pkt", "remarks.pkt:3:1: the script has no event"),
        ("bytes.pkt", "cannot read `bytes.pkt`: "),
        ("nowhere.pkt", "cannot read `nowhere.pkt`: "),
        ("-", "-:1:1: the script has no event"),
        ("udp.pkt", "udp.pkt:2:28: only TCP is supported"),
    ] {
        let outcome = dir.run(&["drill", script]);
        let summary = format!("ERROR {script}  (not run)\n1 script: 0 passed, 0 failed, 1 not run\n");
        assert_eq!((outcome.status, outcome.stdout), (Some(2), summary));
        let error = format!("recoup: {error}");
        assert!(outcome.stderr.starts_with(&error), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}

/// Status 2 takes precedence over 1, and every file is listed.
#[test]
fn the_status_distinguishes_passed_failed_and_not_run() {
    let dir = folder();
    dir.write("fails.pkt", SERVER.replace("+.3 >", "+.25 >"));
    dir.write("passes.pkt", SERVER);
    dir.write("wrong.pkt", SERVER.replace("listen", "lisen"));
    let files = ["nowhere.pkt", "fails.pkt", "wrong.pkt", "passes.pkt"];
    let args = [&["drill"][..], &files].concat();
    let outcome = dir.run(&args);
    assert_eq!(outcome.status, Some(2));
    let summary = "\n4 scripts: 1 passed, 1 failed, 2 not run\n";
    assert!(outcome.stdout.ends_with(summary), "{}", outcome.stdout);
    let outcome = dir.run(&[&args[..], &["--format", "json", "--trace"]].concat());
    assert_eq!(outcome.status, Some(2));
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(json["schema"], "recoup.drill");
    let scripts = json["scripts"].as_array().expect("an array");
    let keys = |object: &serde_json::Value| -> Vec<String> {
        object.as_object().expect("an object").keys().cloned().collect()
    };
    for (object, (name, passed, error, failure)) in scripts.iter().zip([
        (files[0], false, true, false),
        (files[1], false, false, true),
        (files[2], false, true, false),
        (files[3], true, false, false),
    ]) {
        assert_eq!(object["script"], name);
        assert_eq!(object["passed"], passed, "{name}");
        assert_eq!(object["error"].is_object(), error, "{name}");
        assert_eq!(object["failure"].is_object(), failure, "{name}");
        assert_eq!(object["profile"].is_null(), error, "{name}");
        assert_eq!(keys(object), keys(&scripts[0]), "{name}");
    }
    assert_eq!(scripts.len(), files.len());
    assert_eq!(scripts[0]["error"]["line"], serde_json::Value::Null);
    let message = scripts[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("cannot read `nowhere.pkt`"), "{message}");
    assert_eq!(scripts[2]["error"]["line"], 5);
    assert_eq!(scripts[2]["error"]["column"], 4);
}

#[test]
fn likely_mistakes_are_noted_by_default() {
    let dir = folder();
    dir.write("near.pkt", SERVER.replace("profile", "profle"));
    dir.write("late.pkt", format!("{SERVER}// profile: linux-6\n"));
    for (script, note) in [
        ("near.pkt", "near.pkt:1: `profle:` is taken for a comment; `profile:` would be a setting"),
        (
            "late.pkt",
            "late.pkt:13: `profile:` is taken for a comment; the setting `profile:` stands on a line \
             of its own before the first event",
        ),
    ] {
        let outcome = dir.run(&["drill", script]);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stdout);
        assert_eq!(outcome.stderr, format!("recoup: note: {note}\n"));
    }
}

/// The help and the manual name the default profile that really runs.
#[test]
fn the_default_profile_is_documented() {
    let dir = folder();
    // The time of the retransmission is the profile's.
    let script = SERVER.replace("// profile: linux-3.17\n", "").replace("+.3 > P. 1:1001(1000) ack 1\n", "");
    dir.write("a.pkt", script);
    let json = dir.run(&["drill", "a.pkt", "--format", "json"]).json();
    let default = json["scripts"][0]["profile"].as_str().expect("a name").to_owned();
    let help = dir.run(&["drill", "--help"]).printed();
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    assert!(help.contains(&format!("linux-3.17+tlp`, or {default}. ")), "{help}");
    for (manual, text) in [
        ("drill.md", include_str!("../../../../../docs/drill.md")),
        ("packetdrill.md", include_str!("../../../../../docs/packetdrill.md")),
    ] {
        let sentence = format!("`recoup drill`'s default is `{default}`");
        assert!(text.contains(&sentence), "{manual}");
    }
}
