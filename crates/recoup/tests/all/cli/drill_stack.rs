//! `recoup drill --stack`: scripts and vectors against other programs.

use crate::cli::folder;
use recoup_testing::skip;
use std::process::{Command, Stdio};

/// A stack that answers every line and sends nothing.
pub const SILENT: &str = concat!("python3 '", env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance/guest.py'");

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../recovery/vectors");

/// Whether a program is there. If it is not, the test is skipped, or fails where tools are required.
pub fn is_installed(program: &str) -> bool {
    let argument = if program == "go" { "version" } else { "--version" };
    let status = Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is = status.is_ok_and(|status| status.success());
    if !is {
        skip(format_args!("there is no {program}"));
    }
    is
}

#[test]
fn a_stack_that_sends_nothing_fails_what_it_must_do() {
    if !is_installed("python3") {
        return;
    }
    let dir = folder();
    let run = |args: &[&str]| dir.run(&[&["drill", "--stack", SILENT], args].concat());
    let outcome = run(&["a-segment-to-a-closed-port-is-reset", "a-refused-connection-ends"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(1), ""));
    for part in [
        "FAIL    a-segment-to-a-closed-port-is-reset  (RFC 9293 §3.10.7.1, MUST)\nRFC 9293 §3.10.7.1: \"If the ACK bit is on",
        "a-segment-to-a-closed-port-is-reset:7: no packet left by then\n",
        "expected 0.000000~0.200000 > R 100:100(0)\n  actual nothing; no timer runs\n",
        "\n2 scripts: 0 passed, 2 failed, 0 differ, 0 absent, 0 not applicable\n",
    ] {
        assert!(outcome.stdout.contains(part), "{part}\nnot in\n{}", outcome.stdout);
    }
}

#[test]
fn what_is_advised_differs_and_what_is_optional_is_absent() {
    if !is_installed("python3") {
        return;
    }
    let dir = folder();
    let server = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9\n";
    for (name, level) in [("must", "MUST"), ("should", "SHOULD"), ("may", "MAY")] {
        dir.write(
            &format!("{name}.pkt"),
            format!("// rfc: 9293\n// level: {level}\n{server}+0 > S. 0:0(0) ack 1 <...>\n"),
        );
    }
    dir.write("code.pkt", format!("{server}+0 %{{ print(1) }}%\n"));
    let run = |args: &[&str]| dir.run(&[&["drill", "--stack", SILENT], args].concat());
    let outcome = run(&["should.pkt", "may.pkt", "code.pkt"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("differs should.pkt  (RFC 9293, SHOULD)\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\nabsent  may.pkt  (RFC 9293, MAY)\n"), "{}", outcome.stdout);
    let code = "\nn/a     code.pkt\ncode.pkt:4: nothing looks into a guest: it has no TCP_INFO\n";
    assert!(outcome.stdout.contains(code), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with("\n3 scripts: 0 passed, 0 failed, 1 differ, 1 absent, 1 not applicable\n"));
    assert_eq!(run(&["should.pkt", "--strict"]).status, Some(1));
    assert_eq!(run(&["may.pkt", "--strict"]).status, Some(0));
    let json = serde_json::from_str::<serde_json::Value>(&run(&["must.pkt", "--format", "json"]).stdout).expect("JSON");
    assert_eq!(
        (&json["scripts"][0]["verdict"], &json["scripts"][0]["stack"]["name"]),
        (&"fail".into(), &"template".into())
    );
}

#[test]
fn a_stack_that_cannot_be_run_is_wrong_use() {
    let dir = folder();
    for (stack, part) in [
        ("recoup-no-such-program", "--stack: `recoup-no-such-program` is not installed"),
        ("sh 'x", "expected a program and its arguments, with closed quotes"),
        ("", "expected a program and its arguments"),
        ("false", "--stack: `false`: ended without an answer (exit status: 1)"),
        ("echo rubbish", "expected a line of JSON as in docs/conformance.md, found `rubbish`"),
    ] {
        dir.refuses(&["drill", "--stack", stack], &[part]);
    }
    dir.refuses(&["drill", "--seed", "2", "x.pkt"], &["--stack"]);
    dir.refuses(&["drill", "--stack", "cat", "--profile", "linux-6"], &["--profile"]);
}

/// Runs vectors, and returns the last line and the status.
fn vectors(stack: &str, files: &[&str]) -> (String, Option<i32>) {
    let dir = folder();
    let files: Vec<String> = files.iter().map(|file| format!("{VECTORS}/{file}.json")).collect();
    let mut args = vec!["drill", "--stack", stack];
    args.extend(files.iter().map(String::as_str));
    let outcome = dir.run(&args);
    (outcome.stdout.lines().last().unwrap_or_default().to_owned(), outcome.status)
}

#[test]
fn the_examples_pass_their_vectors() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance");
    for (program, stack) in
        [("python3", format!("python3 '{docs}/vectors.py'")), ("go", format!("go run '{docs}/vectors.go'"))]
    {
        if !is_installed(program) {
            continue;
        }
        let expected = "13 scripts: 13 passed, 0 failed, 0 differ, 0 absent, 0 not applicable".to_owned();
        assert_eq!(vectors(&stack, &["rtt-and-rto", "rto-backoff"]), (expected, Some(0)), "{program}");
    }
}

#[test]
fn vectors_fail_at_the_step_that_differs() {
    if !is_installed("python3") {
        return;
    }
    let stack = concat!("python3 '", env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance/vectors.py'");
    let (lacks, status) = vectors(stack, &["prr"]);
    assert_eq!(
        (lacks.ends_with("0 passed, 0 failed, 0 differ, 0 absent, 14 not applicable"), status),
        (true, Some(0)),
        "{lacks}"
    );
    let dir = folder();
    let text = std::fs::read_to_string(format!("{VECTORS}/rto-backoff.json")).expect("a file");
    dir.write("wrong.json", text.replacen("\"backoff\": 3", "\"backoff\": 4", 1));
    let outcome = dir.run(&["drill", "--stack", stack, "wrong.json"]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    assert!(outcome.stdout.contains(": backoff is 3 instead of 4\n"), "{}", outcome.stdout);
    dir.write("other.json", "{}");
    let outcome = dir.run(&["drill", "--stack", stack, "other.json"]);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(outcome.stderr, "recoup: `other.json`: expected test vectors (`recoup.vectors`, version 1)\n");
}
