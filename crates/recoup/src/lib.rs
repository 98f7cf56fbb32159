//! The command line: it parses arguments, calls the libraries and prints results. The program `recoup` and
//! the Python package run it by [`run()`].

pub mod analysis_args;
pub mod commands;
pub mod console;
pub mod interrupt;
pub mod output;
pub mod program;
mod row_sink;
#[cfg(unix)]
pub mod signals;
#[cfg(target_os = "linux")]
pub mod testbeds;
pub mod version;

pub use program::Failure;

use clap::{CommandFactory, Parser, Subcommand};
use commands::{
    analyze, annotate, anonymize, compare, drill, explain, generate, plot, profiles, run, scenario, separate, tmix,
    whatif,
};
#[cfg(target_os = "linux")]
use commands::{emulate, receive, send};
use std::ffi::OsString;

/// Explain TCP retransmissions, and compare loss recovery mechanisms on simulated and real paths.
///
/// Results go to standard output, progress and notes to standard error. Exit status: 0 success,
/// 1 a check failed, 2 wrong use or bad input.
#[derive(Parser)]
#[command(version, long_version = version::long(), subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output: program::OutputArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario once per profile and compare what each profile cost
    Run(run::Args),
    /// Let an assistant ask about captures: a server of the Model Context Protocol
    #[command(disable_help_flag = true)]
    Mcp(separate::Args),
    /// Repeat the experiments of papers: figures, and the verdicts on their claims
    #[command(disable_help_flag = true)]
    Paper(separate::Args),
    /// Say where the time of a capture's connections went, and what made them lose time
    Explain(explain::Args),
    /// Run every connection of a capture again with other settings or loss recovery, and say what would have helped
    Whatif(whatif::Args),
    /// Explain connections while they are open: what is retransmitted, why, and what it costs
    #[cfg(target_os = "linux")]
    #[command(disable_help_flag = true)]
    Watch(separate::Args),
    /// Help connections of this host's kernel, by timers that their paths bear and by copies of what is worth it
    #[cfg(target_os = "linux")]
    #[command(disable_help_flag = true)]
    Guard(separate::Args),
    /// Put Recoup's loss recovery before an ordinary server, and compare profiles on its clients
    #[cfg(target_os = "linux")]
    #[command(disable_help_flag = true)]
    Proxy(separate::Args),
    /// Serve the files of a folder by HTTP, for trials
    #[cfg(target_os = "linux")]
    #[command(disable_help_flag = true)]
    Serve(separate::Args),
    /// Fetch URLs by HTTP, for trials
    #[cfg(target_os = "linux")]
    #[command(disable_help_flag = true)]
    Fetch(separate::Args),
    /// Compare two captures, before and after a change: what changed beyond chance, and whether a prediction came true
    Compare(compare::Args),
    /// Explain every retransmission of packet captures: why it was sent, and whether it was needed
    Analyze(analyze::Args),
    /// Write the capture again with comments on what was retransmitted, why, and what it cost: for Wireshark
    Annotate(annotate::Args),
    /// Make captures that can be sent: addresses replaced, payload and names left out, the same analysis
    Anonymize(anonymize::Args),
    /// Run packetdrill scripts against the engine, in virtual time and without tolerance
    Drill(drill::Args),
    /// Draw a time–sequence diagram of a flow, from events or a capture
    Plot(plot::Args),
    /// Run a command behind an emulated path, in a network namespace of its own
    #[cfg(target_os = "linux")]
    Emulate(emulate::Args),
    /// Send a stream of bytes to a TCP server, with Recoup's TCP over a TUN device
    #[cfg(target_os = "linux")]
    Send(send::Args),
    /// Receive streams of bytes from TCP clients, with Recoup's TCP over a TUN device
    #[cfg(target_os = "linux")]
    Receive(receive::Args),
    /// List the built-in scenarios, show one, or infer one from a capture
    Scenario(scenario::Args),
    /// Make Tmix connection vectors for worlds: from a capture, or synthetic
    Tmix(tmix::Args),
    /// Describe one profile, or list all profiles and mechanisms, with each value and its source
    Profiles(profiles::Args),
    /// Write manual pages and shell completions into a folder
    Generate(generate::Args),
}

impl Command {
    /// Whether the command runs a scenario over real packets.
    fn has_real_packets(&self) -> bool {
        let on = match self {
            Self::Run(args) => args.on(),
            _ => return false,
        };
        !on.real().is_empty()
    }
}

/// All commands with their options, for manual pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command that `arguments` name, the program's name first, and returns the exit status. It handles signals,
/// so a process calls it once, from its main thread.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli: Cli = match program::parse(arguments) {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    cli.output.apply();
    // The emulator passes signals on to its command.
    #[cfg(target_os = "linux")]
    if let Command::Emulate(args) = &cli.command {
        return emulate::run(args).unwrap_or_else(Failure::exit);
    }
    // User namespaces can be entered only while the process has one thread.
    #[cfg(target_os = "linux")]
    if cli.command.has_real_packets()
        && let Err(e) = testbeds::prepare()
    {
        return Failure::from(e).exit();
    }
    interrupt::watch();
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Mcp(args) => separate::run("mcp", "recoup-mcp", &args),
        Command::Paper(args) => separate::run("paper", "recoup-papers", &args),
        #[cfg(target_os = "linux")]
        Command::Watch(args) => separate::run("watch", "recoup-watch", &args),
        #[cfg(target_os = "linux")]
        Command::Guard(args) => separate::run("guard", "recoup-guard", &args),
        #[cfg(target_os = "linux")]
        Command::Proxy(args) => separate::run_part("proxy", "recoup-proxy", &args),
        #[cfg(target_os = "linux")]
        Command::Serve(args) => separate::run_part("serve", "recoup-proxy", &args),
        #[cfg(target_os = "linux")]
        Command::Fetch(args) => separate::run_part("fetch", "recoup-proxy", &args),
        Command::Explain(args) => explain::run(&args),
        Command::Whatif(args) => whatif::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Annotate(args) => annotate::run(&args),
        Command::Anonymize(args) => anonymize::run(&args),
        Command::Drill(args) => drill::run(&args),
        Command::Plot(args) => plot::run(&args),
        #[cfg(target_os = "linux")]
        Command::Emulate(_) => Ok(()),
        #[cfg(target_os = "linux")]
        Command::Send(args) => send::run(&args),
        #[cfg(target_os = "linux")]
        Command::Receive(args) => receive::run(&args),
        Command::Scenario(args) => scenario::run(&args),
        Command::Tmix(args) => tmix::run(&args),
        Command::Profiles(args) => profiles::run(&args),
        Command::Generate(args) => generate::run(&args),
    };
    result.map_or_else(Failure::exit, |()| 0)
}
