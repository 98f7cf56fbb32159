//! `recoup scenario`.

mod from;

use crate::Failure;
use crate::output::print;
use clap::Subcommand;
use recoup_lab::scenario::{BUILT_IN, Experiment, ScenarioError};
use recoup_lab::settings::{self, drop_grammar};
use recoup_lab::world::{LINK_KEYS, WORKLOAD_KEYS};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the built-in scenarios, and the settings a scenario can have
    List,
    /// Print a built-in scenario: copy, change and run it as a file
    Show {
        /// A built-in scenario's name
        name: String,
    },
    /// Print a scenario like the network, traffic and hosts of a capture
    From(Box<from::Args>),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::List => list(),
        Command::Show { name } => {
            let found = BUILT_IN.iter().find(|(built_in, _)| built_in == name);
            let (_, text) = found.ok_or_else(|| ScenarioError::Unknown { name: name.clone() })?;
            print(text)
        }
        Command::From(args) => from::run(args),
    }
}

fn list() -> Result<(), Failure> {
    let mut text = String::from("Scenarios:\n");
    for (name, _) in BUILT_IN {
        let scenario = Experiment::load(name)?;
        text += &format!("  {name:<16} {}\n", scenario.about());
    }
    text += "\nSettings (--set KEY=VALUE, or under [settings] in a scenario file):\n";
    for setting in settings::all() {
        text += &format!("  {:<16} {}\n", setting.key, setting.help);
    }
    text += "\nA world (many flows over links that they share) has the keys seed, runs (of each profile), duration,\nlinks and workloads in place of flows and [settings].\n";
    text += "\nKeys of a link, under [links.NAME] (--set links.NAME.KEY=VALUE):\n";
    for key in LINK_KEYS {
        text += &format!("  {:<16} {}\n", key.name, key.help);
    }
    text += "\nKeys of a workload, under [workloads.NAME], besides the settings of traffic and hosts:\n";
    for key in WORKLOAD_KEYS {
        text += &format!("  {:<16} {}\n", key.name, key.help);
    }
    text += &format!("\nWhat drop takes: {}\n", drop_grammar());
    print(&text)
}
