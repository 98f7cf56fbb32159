//! Tests of the command line. Each test runs the program in an empty folder of its own, and checks its
//! output, the files it leaves and its exit status.

mod analyze;
mod documents;
mod drill;
mod explain;
mod generate;
mod outputs;
mod paper;
mod plot;
mod refusals;
mod run;
mod scenarios;
mod sweep;
mod tmix;
mod whatif;
mod whatif_study;
mod world;

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// An empty folder to run the program in.
struct Folder(TempDir);

/// The result of a run of the program.
struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// All files and subfolders, sorted.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.0.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let name = path.strip_prefix(self.0.path()).expect("inside");
                found.push(name.display().to_string());
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        found.sort();
        found
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recoup"));
        command.args(args).current_dir(&self.0);
        command
    }

    fn recoup(&self, args: &[&str]) -> Outcome {
        self.recoup_reading(args, "")
    }

    /// Runs the program with `input` on standard input.
    fn recoup_reading(&self, args: &[&str], input: &str) -> Outcome {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Writing fails if the program rejects its arguments without reading.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("the program ends");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Outcome { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Outcome {
    /// The standard output of a successful run without notes.
    fn printed(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    fn json(self) -> Value {
        let text = self.printed();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

/// Runs the program in a folder of its own.
fn recoup(args: &[&str]) -> Outcome {
    Folder::new().recoup(args)
}

/// `recoup run tail-loss` with more arguments, as JSON.
fn tail_loss(args: &[&str]) -> Value {
    let mut all = vec!["run", "tail-loss", "--format", "json"];
    all.extend(args);
    recoup(&all).json()
}

/// The cells of a CSV file. None of them contains a comma or a quote.
fn csv_rows(text: &str) -> Vec<Vec<&str>> {
    let rows: Vec<Vec<_>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert!(rows.iter().all(|r| r.len() == rows[0].len()), "{text}");
    rows
}

#[test]
fn help_lists_every_command_and_every_option() {
    let help = recoup(&["--help"]).printed();
    for command in ["run", "paper", "plot", "analyze", "drill", "scenario", "profiles"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    for (command, options) in [
        (
            &["run"][..],
            &[
                "--profile",
                "--flows",
                "--seed",
                "--set",
                "--pcap",
                "--events",
                "--format",
                "--report",
                "retransmissions:",
                "FCT is the flow completion time",
            ][..],
        ),
        (&["paper"], &["Exit status"]),
        (&["paper", "tail-loss"], &["--out", "--set", "--format", "FAILS (expected: holds)"]),
        (&["paper", "prr"], &["--out", "--set", "--format", "properties:", "Exit status"]),
        (
            &["plot"],
            &[
                "--output",
                "--format",
                "--profile",
                "--flow",
                "--connection",
                "--direction",
                "--from",
                "--to",
                "--title",
            ],
        ),
        (
            &["analyze"],
            &[
                "--summary",
                "--connections",
                "--retransmissions",
                "--format",
                "--output",
                "--figures",
                "--profile",
                "--idle",
                "--filter",
                "--from",
                "--to",
                "--threads",
                "--join",
                "--state",
                "--merge-state",
                "unknowable",
                "Exit status",
            ],
        ),
        (&["drill"], &["--profile", "--trace", "--verbose", "--format", "Exit status"]),
        (&["scenario"], &["list", "show"]),
        (&["profiles"], &["Usage"]),
        (&["generate"], &["~/.local"]),
    ] {
        let help = recoup(&[command, &["--help"]].concat()).printed();
        for option in options {
            assert!(help.contains(option), "{command:?}: {option}\n{help}");
        }
    }
}

/// Help is wrapped at 100 columns. A longer line of its source leaves a word or two on a line of their own,
/// followed by the rest of the paragraph.
#[test]
fn paragraphs_of_help_are_wrapped_once() {
    for command in ["run", "analyze", "explain", "whatif", "emulate", "drill", "tmix"] {
        let help = recoup(&[command, "--help"]).printed();
        let lines: Vec<&str> = help.lines().collect();
        for part in lines.windows(3) {
            let is_cut = part[0].len() > 85 && part[1].len() < 15 && !part[2].is_empty();
            let is_text = !part[1].starts_with(' ') && !part[1].is_empty();
            assert!(!(is_cut && is_text), "{command}: {part:?}");
        }
    }
}

#[test]
fn without_arguments_the_usage_is_printed_and_the_status_is_2() {
    for args in [&[][..], &["scenario"]] {
        let Outcome { status, stdout, stderr } = recoup(args);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(stderr.contains("Usage: recoup"), "{stderr}");
    }
}

#[test]
fn quiet_runs_print_no_notes() {
    let args = ["run", "tail-loss", "--set", "drop=ack:999"];
    let outcome = recoup(&args);
    assert!(outcome.stderr.starts_with("recoup: note: "), "{}", outcome.stderr);
    for quiet in ["-q", "--quiet"] {
        let printed = recoup(&[&args[..], &[quiet]].concat()).printed();
        assert_eq!(printed, outcome.stdout);
        assert_eq!(recoup(&[&[quiet], &args[..]].concat()).printed(), printed);
    }
    // Errors are still printed.
    let outcome = recoup(&["run", "tail-los", "-q"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("no scenario `tail-los`"));
}

#[test]
fn help_without_colours_is_the_same_text() {
    let help = recoup(&["run", "--help"]).printed();
    assert_eq!(recoup(&["--no-color", "run", "--help"]).printed(), help);
    assert!(!help.contains('\u{1b}'), "{help}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    for args in [
        &["run", "tail-loss"][..],
        &["run", "tail-loss", "--flows", "50", "--events", "-"],
        &["paper", "tail-loss", "fig1"],
        &["scenario", "list"],
        &["scenario", "show", "tail-loss"],
        &["profiles"],
        &["drill", drill::PASSES],
    ] {
        let mut child = Folder::new()
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{args:?}");
    }
}

/// A full disk is an error for every command.
#[test]
fn a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    for args in [
        &["run", "tail-loss"][..],
        &["run", "tail-loss", "--events", "-"],
        &["paper", "tail-loss", "fig1"],
        &["scenario", "list"],
        &["profiles"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full");
        let output = Folder::new().command(args).stdout(full.expect("/dev/full")).output().expect("the program ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.starts_with("recoup: cannot write "), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}
