//! Recoup's TCP beside other TCP stacks, as senders to the kernel's TCP.
//!
//! `cargo run --release` measures every sender and prints the tables in Markdown. Each sender is a process of its
//! own: this program started again as `send NAME` (see [`senders`]).
//!
//! ```text
//! comparison ── every round: case × sender ──► measure ──┬► network    namespaces, path, loss
//!      │                                                 ├► process    the sender: `recoup-peers send NAME`
//!      └► report   medians, ranges, ratios               ├► receiver   the kernel's TCP, two ways of reading
//!                                                        └► clients    many of them, with short answers
//! ```

mod bench;
mod case;
mod clients;
mod comparison;
mod guests;
mod machine;
mod measure;
mod network;
mod process;
mod receiver;
mod referee;
mod report;
mod senders;
mod versions;

use clap::{Parser, Subcommand};
use comparison::Plan;
use guests::GuestName;
use senders::{Options, Sender};
use std::process::ExitCode;

/// Compare Recoup's TCP with other TCP stacks, as senders to the kernel's TCP (root)
///
/// Without a command it measures all senders in all cases, which takes about an hour, and prints tables in Markdown. Other
/// programs on the machine disturb the measurement.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    plan: Plan,
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
    /// Be a guest in virtual time: answer JSON lines on standard input (docs/conformance.md)
    Guest {
        /// The stack
        name: GuestName,
    },
    /// Put every stack through the same losses, reordering and delays in virtual time, and print what each did
    Referee(referee::RefereeArguments),
}

fn main() -> ExitCode {
    let Arguments { command, plan } = Arguments::parse();
    let done = match command {
        Some(Command::Send { sender, options }) => senders::run(sender, &options),
        Some(Command::Guest { name }) => name.serve(),
        Some(Command::Referee(arguments)) => referee::run(&arguments),
        None => comparison::run(&plan),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recoup-peers: {error}");
            ExitCode::from(2)
        }
    }
}
