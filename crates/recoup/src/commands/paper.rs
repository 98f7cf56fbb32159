//! `recoup paper`: calls the program `recoup-papers`, which is built and installed by itself.

use crate::{Failure, console};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// The program that repeats the experiments.
const PROGRAM: &str = "recoup-papers";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The paper, and what `recoup paper PAPER --help` lists
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Some(program) = find() else {
        return Err(Failure::Wrong(format!(
            "paper: the program {PROGRAM} is neither beside this program nor on PATH: \
             install it with `cargo install {PROGRAM}`, or build it in Recoup's source with \
             `cargo build --release --package {PROGRAM}`"
        )));
    };
    let mut command = Command::new(&program);
    command.args(console::is_quiet().then_some("--quiet")).args(&args.arguments);
    let failed = |e| Failure::Wrong(format!("cannot run `{}`: {e}", program.display()));
    replace_by(command).map_err(failed)
}

/// The program beside this one, or else the first of its name on PATH.
fn find() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", env::consts::EXE_SUFFIX);
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
