//! gVisor's netstack in virtual time: the Go program `peers/gvisor` in a child process. `gvisor/guest.go` says how.

use crate::senders::gvisor;
use recoup_guest::{Child, Failed, Setup};
use std::{path::PathBuf, process::Command, sync::OnceLock};

/// A host with this congestion control, by netstack's name. With a `coarse` clock, everything that happens at one instant has the
/// same time.
///
/// # Errors
/// When there is no Go, or netstack refuses the setup.
pub fn start(setup: &Setup, control: &str, coarse: bool) -> Result<Child, Failed> {
    let mut command = Command::new(program()?);
    command.args(["-guest", "-congestion", control]);
    if coarse {
        command.arg("-coarse-clock");
    }
    Child::start(command, setup)
}

/// The Go program, which is built once.
fn program() -> Result<&'static PathBuf, Failed> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = PROGRAM.get_or_init(|| gvisor::build().map_err(|error| error.to_string()));
    built.as_ref().map_err(Failed::new)
}
