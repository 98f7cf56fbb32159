//! Children are shell scripts.

use super::*;

/// What comes of one question to this script.
fn ask(script: &str, patience: Duration) -> Result<Value, Failed> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Process::with_patience(command, patience)?.ask(&"question", &["packets", "wake"])
}

fn error(script: &str) -> String {
    ask(script, PATIENCE).expect_err(script).0
}

#[test]
fn a_child_answers() {
    let answer = ask("read line; echo \"[$line, 1]\"", PATIENCE);
    assert_eq!(answer, Ok(serde_json::json!(["question", 1])));
}

#[test]
fn a_child_that_fails_is_reported_in_one_line() {
    for (script, expected) in [
        ("exit 3", "ended without an answer (exit status: 3)"),
        ("read line; kill -9 $$", "ended without an answer (signal: 9"),
        ("read line; echo rubbish", "found `rubbish`"),
        ("read line; echo '{\"error\": \"no such option\"}'", "`sh`: no such option"),
        ("read line; printf '\\377\\n'", "valid UTF-8"),
        ("read line; echo", "docs/conformance.md, found ``"),
    ] {
        let error = error(script);
        assert!(error.contains(expected) && !error.contains('\n'), "{script}: {error}");
    }
}

#[test]
fn a_child_that_hangs_is_given_up() {
    let error = ask("read line; exec sleep 60", Duration::from_millis(50)).unwrap_err().0;
    assert_eq!(error, "`sh`: no answer in 50ms");
}

#[test]
fn a_child_that_closes_its_output_and_goes_on_is_killed() {
    assert_eq!(error("exec sleep 60 >&-"), "`sh`: closed its output without an answer");
}

#[test]
fn a_line_without_end_is_refused() {
    let error = error("read line; head -c 70000000 /dev/zero | tr '\\0' a");
    assert!(error.starts_with("`sh`: a line of more than 67108864 bytes: it begins `aaaa"), "{error}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = Process::start(Command::new("recoup-no-such-program")).unwrap_err().0;
    assert_eq!(error, "`recoup-no-such-program` is not installed");
}
