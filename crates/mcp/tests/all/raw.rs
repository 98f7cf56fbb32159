//! The program as a shell sees it: its help, and lines on its standard input.

use crate::session::folder;
use recoup_testing::Outcome;
use serde_json::{Value, json};

/// What a client says first.
fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } },
    })
}

/// Runs the program with these lines as its standard input.
fn run(args: &[&str], lines: &[String]) -> Outcome {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    folder().run_reading(args, &input)
}

#[test]
fn help_says_what_it_does_and_how_to_register_it() {
    let help = folder().run(&["--help"]).printed();
    for part in [
        "an assistant",
        "\"mcpServers\"",
        "\"args\": [\"mcp\", \"--root\"",
        "--root <DIR>",
        "--timeout <TIME>",
        "--max-answer <SIZE>",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[test]
fn wrong_options_are_named() {
    for (args, error) in [
        (&["--root", "nowhere"][..], "--root nowhere: "),
        (&["--timeout", "0s"], "expected"),
        (&["--max-answer", "1kB"], "expected a size from 16kB to 100MB"),
    ] {
        let outcome = folder().run(args);
        assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""));
        assert!(outcome.stderr.contains(error) && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    }
}

#[test]
fn the_program_ends_with_its_input_and_answers_before() {
    let call = json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": { "name": "explain_capture", "arguments": { "capture": "demo.pcap.zst" } },
    });
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let lines = [initialize(), initialized, call].map(|line| line.to_string());
    let outcome = run(&[], &lines);
    assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""));
    let answers: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 2, "{}", outcome.stdout);
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "recoup");
    assert_eq!(answers[1]["result"]["isError"], false);
    // Without any line, too.
    assert_eq!(run(&[], &[]).status, Some(0));
    assert_eq!(run(&[], &lines[..1]).status, Some(0));
}

#[test]
fn garbage_is_no_defect() {
    let garbage: [String; 9] = [
        "not JSON".into(),
        "{}".into(),
        "[]".into(),
        "null".into(),
        "\u{0}\u{1}\u{fffd}".into(),
        "[".repeat(100_000),
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":5}}"#.into(),
        r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"explain_capture","arguments":[1]}}"#.into(),
        r#"{"jsonrpc":"2.0","id":9,"method":"nonsense"}"#.into(),
    ];
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned();
    let ping = r#"{"jsonrpc":"2.0","id":99,"method":"ping"}"#.to_owned();
    let mut lines = vec![initialize().to_string(), initialized];
    lines.extend(garbage.clone());
    lines.push(ping);
    let outcome = run(&[], &lines);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("panic"), "{}", outcome.stderr);
    // The protocol alone is on standard output, and the server still answers.
    let answers: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"));
    assert!(answers.iter().any(|answer| answer["id"] == 99 && answer["result"].is_object()), "{}", outcome.stdout);
    // At the beginning, where a client has to introduce itself.
    for line in garbage {
        let outcome = run(&[], &[line]);
        assert!(!outcome.stderr.contains("panic") && outcome.status == Some(0), "{}", outcome.stderr);
    }
}
