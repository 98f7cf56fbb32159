//! Tells the program what `recoup --version` prints: target, compiler and commit.
//!
//! The commit comes from the first of these sources that knows it: the variable `RECOUP_COMMIT`, the file that
//! `cargo package` puts into a package, and git. Without any, the program prints no commit. Nothing here depends
//! on the time or on the folder of the build, so that a build can be repeated.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    let sources = [given_commit, packaged_commit, checked_out_commit];
    let commit = sources.iter().find_map(|source| source());
    let rustc = env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    for (name, value) in [
        ("RECOUP_COMMIT", commit),
        ("RECOUP_TARGET", env::var("TARGET").ok()),
        ("RECOUP_RUSTC", rustc),
        ("RECOUP_OPTIMIZATION", env::var("OPT_LEVEL").ok()),
    ] {
        println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit that the packager names.
fn given_commit() -> Option<String> {
    println!("cargo::rerun-if-env-changed=RECOUP_COMMIT");
    env::var("RECOUP_COMMIT").ok().filter(|commit| !commit.is_empty())
}

/// The commit of a package made by `cargo package`.
fn packaged_commit() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let sha = rest.split('"').nth(1)?;
    let is_changed = text.contains("\"dirty\": true");
    Some(format!("{sha}{}", if is_changed { " with changes" } else { "" }))
}

/// The commit that is checked out. A repository that contains this folder without tracking it is another project's.
fn checked_out_commit() -> Option<String> {
    output("git", &["ls-files", "--error-unmatch", "build.rs"])?;
    // Both change with the commit: which branch is checked out, and what is committed to it.
    for name in ["HEAD", "logs/HEAD"] {
        let file = output("git", &["rev-parse", "--git-path", name])?;
        if Path::new(&file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    output("git", &["rev-parse", "HEAD"])
}

/// The first line that a command prints, if it succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next().map(str::to_owned);
    line.filter(|_| output.status.success())
}
