//! Tests of the command line. Each test runs the program in an empty folder of its own, and checks its
//! output, the files it leaves and its exit status.

mod analyze;
mod annotate;
mod anonymize;
mod compare;
mod documents;
mod drill;
mod drill_stack;
mod explain;
#[cfg(unix)]
mod files;
mod flows;
mod generate;
mod guard_log;
mod outputs;
mod plot;
mod refusals;
mod run;
mod scenarios;
mod sweep;
mod tmix;
mod whatif;
mod whatif_levers;
mod whatif_study;
mod world;

use recoup_testing::{Folder, Outcome};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// A folder to run the program in.
fn folder() -> Folder {
    Folder::new(env!("CARGO_BIN_EXE_recoup"))
}

/// Runs the program in a folder of its own.
fn recoup(args: &[&str]) -> Outcome {
    folder().run(args)
}

/// `recoup run tail-loss` with more arguments, as JSON.
fn tail_loss(args: &[&str]) -> Value {
    let mut all = vec!["run", "tail-loss", "--format", "json"];
    all.extend(args);
    recoup(&all).json()
}

#[test]
fn help_lists_every_command_and_every_option() {
    let help = recoup(&["--help"]).printed();
    for command in ["run", "mcp", "paper", "plot", "analyze", "drill", "scenario", "profiles"] {
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
        (&["anonymize"], &["--key", "--payload", "--output", "Exit status"]),
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
    for command in ["run", "analyze", "anonymize", "explain", "whatif", "emulate", "drill", "tmix"] {
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
fn commands_that_are_programs_of_their_own_are_called_or_named() {
    let folder = folder();
    // Neither beside the program nor on PATH.
    std::fs::copy(env!("CARGO_BIN_EXE_recoup"), folder.path("recoup")).expect("a copy");
    for (name, program) in [("paper", "recoup-papers"), ("mcp", "recoup-mcp")] {
        let run = |path: &str| {
            let output = std::process::Command::new(folder.path("recoup"))
                .args(["--quiet", name, "tail-loss", "--help", "fig1"])
                .env("PATH", path)
                .output();
            output.expect("the program starts")
        };
        let output = run("/nowhere");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let install = format!(
            "{name}: the program {program} is neither beside this program nor on PATH: install it with `cargo install {program}`"
        );
        assert!(stderr.contains(&install) && stderr.lines().count() == 1, "{stderr}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            folder.write(program, "#!/bin/sh\necho \"$@\"; exit 7\n");
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(folder.path(program), mode).expect("a mode");
            let output = run("/usr/bin:/bin");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "--quiet tail-loss --help fig1\n");
            assert_eq!(output.status.code(), Some(7));
        }
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    for args in [
        &["run", "tail-loss"][..],
        &["run", "tail-loss", "--flows", "50", "--events", "-"],
        &["scenario", "list"],
        &["scenario", "show", "tail-loss"],
        &["profiles"],
        &["drill", drill::PASSES],
    ] {
        let mut child =
            folder().command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
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
    for args in
        [&["run", "tail-loss"][..], &["run", "tail-loss", "--events", "-"], &["scenario", "list"], &["profiles"]]
    {
        let full = fs::File::options().write(true).open("/dev/full");
        let output = folder().command(args).stdout(full.expect("/dev/full")).output().expect("the program ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.starts_with("recoup: cannot write "), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}
