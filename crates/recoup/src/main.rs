//! The command line. It reads arguments, calls the laboratory and prints; it decides nothing.

mod analyze;
mod drill;
#[cfg(target_os = "linux")]
mod emulate;
mod interrupt;
mod output;
mod paper;
mod plot;
mod profiles;
#[cfg(target_os = "linux")]
mod receive;
mod run;
mod scenario;
#[cfg(target_os = "linux")]
mod send;
#[cfg(target_os = "linux")]
mod transfer;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Run TCP loss recovery over simulated paths, and check what papers claim of it.
///
/// Results go to standard output, progress and notes to standard error. Exit status: 0 success,
/// 1 a check failed, 2 wrong use or bad input.
#[derive(Parser)]
#[command(version, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario once per profile and print what it cost, side by side
    Run(run::Args),
    /// Regenerate a figure of a paper and check the paper's claims
    Paper(paper::Args),
    /// Explain every retransmission of packet captures: why it was sent, and whether it was needed
    Analyze(analyze::Args),
    /// Run packetdrill scripts against the engine, in virtual time and without tolerance
    Drill(drill::Args),
    /// Draw what a sender sent and heard over time, from events or a capture
    Plot(plot::Args),
    /// Run a command behind an emulated path, in a network namespace of its own
    #[cfg(target_os = "linux")]
    Emulate(emulate::Args),
    /// Send a stream of bytes to a TCP server, by Recoup's endpoint over a TUN device
    #[cfg(target_os = "linux")]
    Send(send::Args),
    /// Receive streams of bytes from TCP clients, by Recoup's endpoint over a TUN device
    #[cfg(target_os = "linux")]
    Receive(receive::Args),
    /// List the built-in scenarios or show one
    Scenario(scenario::Args),
    /// List profiles and mechanisms with every value and its source
    Profiles,
}

impl Command {
    /// Whether an experiment is to be run over real packets.
    fn has_real_packets(&self) -> bool {
        let on = match self {
            Self::Run(args) => args.on(),
            Self::Paper(args) => args.on(),
            _ => return false,
        };
        !on.real().is_empty()
    }
}

/// Why the program stops with a failure.
enum Failure {
    /// A check failed: exit status 1. The report says what.
    CheckFailed,
    /// Wrong use or bad input: exit status 2, and this line.
    Wrong(String),
    /// The same, and the user was told when it came up.
    Told,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Wrong(error.to_string())
    }
}

impl Failure {
    /// Tells of it.
    fn tell(&self) {
        if let Self::Wrong(line) = self {
            // What is quoted of the user's may span lines.
            eprintln!("recoup: {}", line.replace(['\n', '\r'], " "));
        }
    }

    /// Tells of it and gives the exit status.
    fn exit(self) -> ExitCode {
        self.tell();
        match self {
            Self::CheckFailed => ExitCode::from(1),
            Self::Wrong(_) | Self::Told => ExitCode::from(2),
        }
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e)
            if e.use_stderr()
                && e.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            eprintln!("recoup: {}", one_line(&e.to_string()));
            return ExitCode::from(2);
        }
        Err(help) => help.exit(),
    };
    // The emulator's command decides about signals.
    #[cfg(target_os = "linux")]
    if let Command::Emulate(args) = &cli.command {
        return emulate::run(args).unwrap_or_else(Failure::exit);
    }
    // Rights first: they may have to be taken while there is one thread.
    #[cfg(target_os = "linux")]
    if cli.command.has_real_packets()
        && let Err(e) = recoup_api::testbeds::prepare()
    {
        return Failure::from(e).exit();
    }
    interrupt::watch();
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Paper(args) => paper::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Drill(args) => drill::run(&args),
        Command::Plot(args) => plot::run(&args),
        #[cfg(target_os = "linux")]
        Command::Emulate(_) => Ok(()),
        #[cfg(target_os = "linux")]
        Command::Send(args) => send::run(&args),
        #[cfg(target_os = "linux")]
        Command::Receive(args) => receive::run(&args),
        Command::Scenario(args) => scenario::run(&args),
        Command::Profiles => profiles::run(),
    };
    result.map_or_else(Failure::exit, |()| ExitCode::SUCCESS)
}

/// What clap says of wrong use, without its usage and help lines.
fn one_line(message: &str) -> String {
    let said = message.lines().map(str::trim).filter(|line| {
        !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    let said: Vec<&str> = said
        .map(|line| line.trim_start_matches("error: "))
        .collect();
    said.join("; ")
        .replace("found:;", "found:")
        .replace(":; ", ": ")
}
