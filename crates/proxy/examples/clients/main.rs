//! Real clients before `recoup proxy`, over emulated paths, and what the proxy gains and costs.
//!
//! ```text
//! cargo build --release -p recoup-proxy
//! cargo run --release -p recoup-proxy --example clients -- checks     # curl, wrk, ab, Chromium, ssh, rsync: checksums
//! cargo run --release -p recoup-proxy --example clients -- loads      # load times of a page, beside the kernel's
//! cargo run --release -p recoup-proxy --example clients -- cost       # latency, processor time, requests a second
//! cargo run --release -p recoup-proxy --example clients -- trial      # the summary of a trial of two profiles
//! ```
//!
//! Needs root and nginx. Each prints a Markdown table. A client that is not there is left out, with a line.
//!
//! ```text
//! clients ── emulated path ── router ── veth ── host of the proxy and of the servers
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `bed` | the hosts, the path, and processes on them |
//! | `programs` | the proxy, nginx, sshd, `recoup serve` |
//! | `checks` | what each client transfers, and whether it arrived |
//! | `page` | loads a page as browsers do |
//! | `loads`, `trial`, `cost` | the measurements |

#[cfg(target_os = "linux")]
mod bed;
#[cfg(target_os = "linux")]
mod checks;
#[cfg(target_os = "linux")]
mod cost;
#[cfg(target_os = "linux")]
mod loads;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod trial;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use super::{bed, checks, cost, loads, trial};
    use clap::{Parser, Subcommand};
    use std::path::PathBuf;
    use std::process::ExitCode;

    /// Measure `recoup proxy` with real clients
    #[derive(Debug, Parser)]
    struct Args {
        /// The program recoup-proxy [default: beside this one]
        #[arg(long, global = true)]
        program: Option<PathBuf>,
        #[command(subcommand)]
        command: Command,
    }

    #[derive(Debug, Subcommand)]
    enum Command {
        /// Whether everything arrives that real clients transfer
        Checks(checks::Args),
        /// Load times of a page beside the kernel's, and how they differ
        Loads(loads::Args),
        /// Latency, processor time and requests a second beside the kernel's
        Cost(cost::Args),
        /// The summary of a trial of two profiles
        Trial(trial::Args),
    }

    pub fn main() -> ExitCode {
        let done = run(&Args::parse());
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(why) => {
                println!("clients: {why}");
                ExitCode::from(2)
            }
        }
    }

    fn run(args: &Args) -> bed::Result<bool> {
        let beside = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("recoup-proxy"));
        let program = args.program.clone().or(beside).filter(|program| program.is_file());
        let program =
            program.ok_or("no program recoup-proxy: expected it from `cargo build --release -p recoup-proxy`")?;
        match &args.command {
            Command::Checks(args) => checks::run(args, &program),
            Command::Loads(args) => loads::run(args, &program),
            Command::Cost(args) => cost::run(args, &program),
            Command::Trial(args) => trial::run(args, &program),
        }
    }
}
