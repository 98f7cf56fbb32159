//! The command line of `recoup guard`: the program `recoup-guard`.

use crate::{copies, suggest, timers};
use clap::{Parser, Subcommand};
use recoup::Failure;
use recoup::program::{OutputArgs, parse};
use std::ffi::OsString;

/// Help connections of this host's kernel, which stays as it is: timers that their paths bear, and copies of the segments whose
/// loss costs most
#[derive(Parser)]
#[command(
    name = "recoup guard",
    bin_name = "recoup guard",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output_args: OutputArgs,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "one value a run")]
enum Command {
    /// Suggest timers for the destinations of a capture, and say what they would have changed
    Suggest(suggest::Args),
    /// Set timers for the new connections of a control group
    Timers(timers::Args),
    /// Send copies of SYNs, SYN-ACKs and last segments when their loss would cost most
    Copies(copies::Args),
}

/// Runs the command, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(status) => return status,
    };
    args.output_args.apply();
    let done = match &args.command {
        Command::Suggest(args) => {
            recoup::interrupt::watch();
            suggest::run(args)
        }
        Command::Timers(args) => timers::run(args),
        Command::Copies(args) => copies::run(args),
    };
    done.map_or_else(Failure::exit, |()| 0)
}
