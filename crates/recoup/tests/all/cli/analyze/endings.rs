//! How `recoup analyze` ends after a closed pipe or an interrupt.

use super::{SENDER, captured};
use std::fs::File;
use std::process::Stdio;

#[cfg(unix)]
use {
    recoup_testing::Folder,
    serde_json::Value,
    std::fs,
    std::io::Write,
    std::os::unix::process::ExitStatusExt,
    std::process::{Child, Command, Output},
    std::time::{Duration, Instant},
};

/// A pipe may be closed before the first write or in the middle of the output. A full disk is an error.
#[test]
fn a_closed_pipe_is_no_error() {
    let (dir, _) = captured("1");
    for format in ["table", "json", "csv", "parquet"] {
        let args = ["analyze", SENDER, "--connections", "--format", format];
        let mut child =
            dir.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{format}");
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            continue;
        };
        let output = dir.command(&args).stdout(full).output();
        let output = output.expect("the program runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{format}: {stderr}");
        let line = "recoup: cannot write to standard output: ";
        assert!(stderr.starts_with(line) && stderr.lines().count() == 1, "{stderr}");
    }
}

/// The results of what was read are printed.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_reading() {
    let (dir, _) = captured("20");
    let output = interrupted(&dir, &["analyze", "-", "--format", "json"]);
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let note = "recoup: note: standard input: interrupted: only the first ";
    assert!(stderr.contains(note), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let summary = &json["captures"][0]["summary"];
    assert_eq!(summary["interrupted"], true);
    assert!(summary["connections"].as_u64() >= Some(1), "{summary}");
}

/// The interrupt comes once the program reads. On a busy machine it may come only when all is read, so there are some attempts.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_draws_the_packets_read_so_far() {
    let (dir, _) = captured("20");
    let whole = fs::read(dir.path(SENDER)).expect("a capture");
    dir.write("long.pcap", whole.repeat(200));
    let mut in_time = (0..10).map(|_| interrupted_in_file(&dir, whole.len()));
    let output = in_time.find(|output| output.status.signal() == Some(2)).expect("an interrupt in time");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let note = "recoup: note: long.pcap: interrupted: only the first ";
    assert!(stderr.contains(note), "{stderr}");
    assert!(dir.read("0.svg").contains("Connection 0: "));
}

/// Draws a connection of `long.pcap`, and interrupts the program once it has read so many bytes twice.
#[cfg(target_os = "linux")]
fn interrupted_in_file(dir: &Folder, bytes: usize) -> Output {
    let child = dir
        .command(&["analyze", "--plot", "0", "long.pcap", "-o", "0.svg"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let has_read = || {
        let io = fs::read_to_string(format!("/proc/{}/io", child.id())).expect("it is not waited for");
        let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
        let read: Option<usize> = read.and_then(|count| count.parse().ok());
        read.expect("a count") > 2 * bytes
    };
    let begun = Instant::now();
    while !has_read() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not read");
    }
    interrupt(&child);
    child.wait_with_output().expect("the program ends")
}

/// Runs a command that reads the sender's capture from standard input again and again, and interrupts it.
#[cfg(unix)]
pub fn interrupted(dir: &Folder, args: &[&str]) -> Output {
    // More than a pipe's buffer: once it is written, the program is reading.
    let capture = dir.bytes(SENDER);
    assert!(capture.len() > 1 << 17);
    let mut child = dir
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&capture).expect("it reads");
    interrupt(&child);
    // The input never ends.
    let begun = Instant::now();
    while input.write_all(&capture).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it reads on");
    }
    child.wait_with_output().expect("the program ends")
}

/// Sends the signal of Ctrl-C.
#[cfg(unix)]
pub fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}
