//! `recoup drill`: scripts pass, fail with both packets side by side, or are refused.

use crate::Folder;

/// A script that passes.
pub const PASSES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../script/tests/scripts/tlp-needs-sack.pkt"
);

const SERVER: &str = "// profile: linux-3.17
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
    let dir = Folder::new();
    dir.write("a.pkt", SERVER);
    std::fs::create_dir_all(dir.path("more/deep")).expect("a folder");
    dir.write("more/deep/b.pkt", SERVER);
    dir.write("more/c.txt", "no script");
    let printed = dir.recoup(&["drill", "a.pkt", "more"]).printed();
    let expected = "pass  a.pkt  (linux-3.17)\npass  more/deep/b.pkt  (linux-3.17)\n2 scripts: 2 passed, 0 failed\n";
    assert_eq!(printed, expected);
    let printed = dir.recoup_reading(&["drill", "-"], SERVER).printed();
    assert_eq!(
        printed,
        "pass  -  (linux-3.17)\n1 script: 1 passed, 0 failed\n"
    );
}

#[test]
fn a_failure_shows_both_packets_and_exits_1() {
    let dir = Folder::new();
    dir.write("a.pkt", SERVER);
    dir.write("b.pkt", SERVER.replace("+.3 >", "+.25 >"));
    let outcome = dir.recoup(&["drill", "a.pkt", "b.pkt"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(1), ""));
    for part in [
        "pass  a.pkt",
        "FAIL  b.pkt  (linux-3.17)\nb.pkt:12: no packet left by then\n    12 | +.25 > P. 1:1001(1000) ack 1\n",
        "\nexpected 0.350000 > P. 1:1001(1000) ack 1\n  actual nothing; the next timer goes off at 0.400000\n",
        "\n2 scripts: 1 passed, 1 failed\n",
    ] {
        assert!(
            outcome.stdout.contains(part),
            "{part}\nnot in\n{}",
            outcome.stdout
        );
    }
}

#[test]
fn the_trace_the_notes_and_the_profile() {
    let dir = Folder::new();
    dir.write("a.pkt", SERVER);
    let outcome = dir.recoup(&[
        "drill",
        "a.pkt",
        "--trace",
        "--verbose",
        "--profile",
        "linux-3.17+rtor",
    ]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(
        outcome
            .stdout
            .starts_with("pass  a.pkt  (linux-3.17+rtor)\n"),
        "{}",
        outcome.stdout
    );
    let line = "\n      0.400000 > P. 1:1001(1000) ack 1 win 512\n";
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    let note = "recoup: note: a.pkt:3: SO_REUSEADDR has no effect: addresses do not matter\n";
    assert_eq!(outcome.stderr, note);
}

#[test]
fn results_for_programs() {
    let dir = Folder::new();
    dir.write("a.pkt", SERVER);
    dir.write(
        "b.pkt",
        format!("{SERVER}+0 %{{ print(tcpi_snd_cwnd); assert tcpi_snd_cwnd == 2 }}%\n"),
    );
    let json = dir
        .recoup(&["drill", "a.pkt", "--format", "json", "--trace"])
        .json();
    assert_eq!(json[0]["script"], "a.pkt");
    assert_eq!(json[0]["passed"], true);
    assert_eq!(json[0]["trace"].as_array().map(Vec::len), Some(5));
    assert_eq!(json[0]["notes"][0]["line"], 3);
    let outcome = dir.recoup(&["drill", "b.pkt", "--format", "json"]);
    assert_eq!(outcome.status, Some(1));
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(json[0]["failure"]["line"], 13);
    assert_eq!(json[0]["printed"][0]["text"], "1");
}

#[test]
fn what_cannot_be_read_is_refused_and_the_rest_is_run() {
    let dir = Folder::new();
    dir.write("a.pkt", SERVER);
    dir.write("b.pkt", SERVER.replace("listen", "lisen"));
    dir.write(
        "c.pkt",
        SERVER.replace(
            "+0 write",
            "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n+0 write",
        ),
    );
    std::fs::create_dir(dir.path("empty")).expect("a folder");
    let misspelt = "recoup: b.pkt:5:4: unknown system call `lisen`, did you mean `listen`?\n";
    let unknown = "recoup: c.pkt:10:27: setsockopt of `TCP_CORK` is not supported";
    let outcome = dir.recoup(&["drill", "a.pkt", "b.pkt", "c.pkt"]);
    assert_eq!(outcome.status, Some(2));
    assert!(
        outcome.stdout.ends_with("1 script: 1 passed, 0 failed\n"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stderr.starts_with(&format!("{misspelt}{unknown}")),
        "{}",
        outcome.stderr
    );
    for (args, part) in [
        (&["drill", "b.pkt"][..], misspelt),
        (&["drill", "nowhere.pkt"], "cannot read `nowhere.pkt`"),
        (
            &["drill", "a.pkt", "--profile", "linux-3.71"],
            "did you mean `linux-3.17`?",
        ),
        (&["drill", "empty"], "`empty`: a folder without .pkt files"),
        (&["drill"], "FILE"),
    ] {
        let outcome = dir.recoup(args);
        assert_eq!(
            (outcome.status, outcome.stdout.as_str()),
            (Some(2), ""),
            "{args:?}"
        );
        assert!(
            outcome.stderr.contains(part),
            "{args:?}: {}",
            outcome.stderr
        );
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
}
