//! Recoup's TCP beside other TCP stacks, as senders to the kernel's TCP.
//!
//! `cargo run --release` measures every sender and prints the tables in Markdown. Each sender is a process of its
//! own: this program started again as `send NAME` (see [`senders`]).

mod senders;

use clap::{Parser, Subcommand};
use senders::{Failed, Options, Sender};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about, version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Answer requests with one TCP stack, in the network namespace of the caller, until the process is killed
    Send {
        /// The TCP stack
        sender: Sender,
        #[command(flatten)]
        options: Options,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Some(Command::Send { sender, options }) => senders::run(sender, &options),
        None => todo(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recoup-peers: {error}");
            ExitCode::from(2)
        }
    }
}

fn todo() -> Result<(), Failed> {
    Err("not yet".into())
}
