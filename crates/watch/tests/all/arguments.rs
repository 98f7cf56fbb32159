//! What the command line refuses.

use recoup_testing::command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_recoup-watch");

fn refused(arguments: &[&str], expected: &str) {
    let output = command(PROGRAM).args(arguments).output().expect("the program runs");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.contains(expected), "{arguments:?}: {line}");
}

#[test]
fn wrong_use_is_one_line() {
    refused(&[], "INTERFACE");
    refused(&["any", "lo"], "any: expected no other interface beside it");
    refused(&["lo", "--memory", "1kB"], "expected a size from 1MB to 64GB");
    refused(&["lo", "--filter", "udp"], "--filter");
    refused(&["lo", "--profile", "linux-66"], "did you mean `linux-6`?");
    refused(&["lo", "--from", "."], "--from");
    refused(&["--from", "/no/such/folder"], "--from /no/such/folder: No such file or directory");
    refused(&["--from", "Cargo.toml"], "expected a folder");
    refused(&["lo", "--output", "/no/such/folder/x"], "--output /no/such/folder/x");
    refused(&["lo", "--pcap-ring", "5x", "ring"], "--pcap-ring 5x");
    refused(&["--from", ".", "--kernel-reasons"], "--kernel-reasons");
    refused(&["lo", "--format", "screen"], "--format screen: expected standard input and output to be a terminal");
    refused(&["lo", "--format", "screen", "-o", "x"], "--format screen: expected no --output");
}

#[test]
fn the_help_has_examples() {
    let output = command(PROGRAM).arg("--help").output().expect("the program runs");
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("recoup watch eth0\n") && help.contains("--pcap-ring <TIME> <DIR>"), "{help}");
}
