//! The command lines of `recoup proxy`, `recoup serve` and `recoup fetch`: the program `recoup-proxy`.

use crate::{fetch, proxy, serve};
use clap::{Parser, Subcommand};
use recoup::Failure;
use recoup::program::{OutputArgs, parse};
use std::ffi::OsString;

/// Recoup's loss recovery before ordinary servers
#[derive(Parser)]
#[command(name = "recoup", bin_name = "recoup", version, subcommand_required = true, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output_args: OutputArgs,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "one value a run")]
enum Command {
    /// Put Recoup's loss recovery before an ordinary server, and compare profiles on its clients
    Proxy(proxy::Args),
    /// Serve the files of a folder by HTTP, for trials
    Serve(serve::Args),
    /// Fetch URLs by HTTP, for trials
    Fetch(fetch::Args),
}

/// Runs the command, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(status) => return status,
    };
    args.output_args.apply();
    let done: Result<(), Failure> = match &args.command {
        Command::Proxy(args) => proxy::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Fetch(args) => fetch::run(args),
    };
    done.map_or_else(Failure::exit, |()| 0)
}
