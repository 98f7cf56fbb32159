//! Commands that are programs of their own, built and installed by themselves: `recoup NAME` calls `recoup-NAME`, as git calls its
//! commands.

use crate::{Failure, console};
use std::env;
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::iter;
use std::path::PathBuf;
use std::process::Command;

/// Arguments that go to another program as they are.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What the command's own --help lists
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Calls `program`, which is the command `name`.
pub(crate) fn run(name: &str, program: &str, args: &Args) -> Result<(), Failure> {
    call(name, program, &args.arguments)
}

/// Calls `program`, of which the command `name` is one of several.
#[cfg(target_os = "linux")]
pub(crate) fn run_part(name: &str, program: &str, args: &Args) -> Result<(), Failure> {
    let arguments: Vec<OsString> = iter::once(name.into()).chain(args.arguments.iter().cloned()).collect();
    call(name, program, &arguments)
}

fn call(name: &str, program: &str, arguments: &[OsString]) -> Result<(), Failure> {
    let Some(path) = find(program) else {
        return Err(Failure::Wrong(format!(
            "{name}: the program {program} is neither beside this program nor on PATH: \
             install it with `cargo install {program}`, or build it in Recoup's source with \
             `cargo build --release --package {program}`"
        )));
    };
    let mut command = Command::new(&path);
    command.args(console::is_quiet().then_some("--quiet")).args(arguments);
    let failed = |e| Failure::Wrong(format!("cannot run `{}`: {e}", path.display()));
    replace_by(command).map_err(failed)
}

/// The program beside this one, or else the first of its name on PATH.
pub fn find(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.to_path_buf()));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = beside.into_iter().chain(env::split_paths(&path));
    folders.find_map(|folder| Some(folder.join(&name)).filter(|program| program.is_file()))
}

/// The program takes the place of this one, so that signals and the exit status are its own.
#[cfg(unix)]
fn replace_by(mut command: Command) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Other systems run it as a child.
#[cfg(not(unix))]
fn replace_by(mut command: Command) -> std::io::Result<()> {
    let status = command.status()?;
    std::process::exit(status.code().unwrap_or(2))
}
