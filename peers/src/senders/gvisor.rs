//! gVisor's netstack: a Go program, `peers/gvisor`.
//!
//! This process opens the TUN device and becomes the Go program, which inherits the device. `gvisor/main.go` says how
//! netstack is configured.

use super::{Failed, Options, open_device};
use rustix::io::{FdFlags, fcntl_setfd};
use std::{
    ffi::OsStr,
    io::ErrorKind,
    os::{
        fd::{AsFd, AsRawFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

/// The Go module.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/gvisor");

/// The program that `go build` writes.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/gvisor/sender");

/// The module whose version the table names.
const MODULE: &str = "gvisor.dev/gvisor";

/// Becomes the Go program.
pub fn run(congestion_control: &str, options: &Options) -> Result<(), Failed> {
    let program = if Path::new(PROGRAM).exists() { PathBuf::from(PROGRAM) } else { build()? };
    let (device, address) = open_device(options)?;
    let fd = device.as_fd();
    fcntl_setfd(fd, FdFlags::empty())?;
    let mut command = Command::new(program);
    command
        .args(["-fd", &fd.as_raw_fd().to_string()])
        .args(["-mtu", &options.mtu.to_string()])
        .args(["-address", &address.to_string()])
        .args(["-congestion", congestion_control]);
    if options.offloads {
        command.arg("-offloads");
    }
    Err(format!("start the gVisor sender: {}", command.exec()).into())
}

/// Builds the Go program, unless the built one is up to date, and returns its path.
///
/// # Errors
/// In one line: there is no Go, or what Go says.
pub fn build() -> Result<PathBuf, Failed> {
    build_with(OsStr::new("go"), Path::new(SOURCE))
}

fn build_with(go: &OsStr, source: &Path) -> Result<PathBuf, Failed> {
    let built = Command::new(go)
        .args(["build", "-trimpath", "-o", PROGRAM, "."])
        .env("CGO_ENABLED", "0")
        .current_dir(source)
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => "Go is not installed".into(),
            _ => format!("go build: {error}"),
        })?;
    if !built.status.success() {
        let error = first_error(&built.stderr);
        return Err(format!("go build with {MODULE} {}: {error}", version()).into());
    }
    Ok(PROGRAM.into())
}

/// The first line of Go's output that names an error. Lines that start with `#` name packages.
fn first_error(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("go: downloading "));
    line.unwrap_or("failed without a message").into()
}

/// The version of gVisor that the program is built with, from `go.mod`.
pub fn version() -> &'static str {
    version_in(include_str!("../../gvisor/go.mod")).unwrap_or("unknown version")
}

fn version_in(go_mod: &str) -> Option<&str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|&word| word != MODULE);
        words.next().and(words.next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_the_word_after_the_module_in_both_forms_of_go_mod() {
        for go_mod in [
            "module peers/gvisor\n\nrequire (\n\tgolang.org/x/sys v0.43.0\n\tgvisor.dev/gvisor v0.0.0-1-a\n)\n",
            "module peers/gvisor\n\nrequire gvisor.dev/gvisor v0.0.0-1-a // indirect\n",
        ] {
            assert_eq!(version_in(go_mod), Some("v0.0.0-1-a"));
        }
        assert_eq!(version_in("module peers/gvisor\n"), None);
        assert!(version().starts_with('v'), "{}", version());
    }

    #[test]
    fn failed_build_is_one_line() {
        let error = |go: &str| build_with(OsStr::new(go), Path::new("/")).unwrap_err();
        assert_eq!(error("no-such-go").to_string(), "Go is not installed");
        let stderr = b"# peers/gvisor\n\tmain.go:1:2: undefined: x\nmore\n";
        assert_eq!(first_error(stderr), "main.go:1:2: undefined: x");
    }
}
