//! `recoup scenario from`.

use crate::analysis_args::AnalysisArgs;
use crate::commands::analyze::progress::display_name;
use crate::commands::scenario::call::scenario_from;
use crate::commands::whatif::progress::RerunBar;
use crate::output::Output;
use crate::{Failure, console, interrupt};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  recoup scenario from server.pcap -o mine.toml    # infer a scenario from a capture at the server
  recoup run mine.toml                             # simulate it
  recoup run mine.toml --profile linux-6 --profile linux-6+tlpr --set rtt=120ms
  recoup scenario from server.pcap --filter 'host 198.51.100.7' | recoup run -

The connections have to be captured at (or near) the end that sends most data. A scenario has one value
of each setting for all its flows, so each is the typical one. Comments in the file say where each value
comes from, and how far the connections spread. docs/scenarios.md says how it is inferred.

Exit status: 0 inferred; 2 wrong use, a capture that cannot be read, or nothing to infer.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// A capture (pcap, pcapng; plain, gzip or zstd); - for standard input
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Read all files as one capture, in the order of their times
    #[arg(long)]
    join: bool,
    #[command(flatten)]
    analysis: AnalysisArgs,
    /// Write the scenario to this file; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.captures.len() > 1 && !args.join {
        return Err(Failure::Wrong("expected one capture, or --join".into()));
    }
    let settings = args.analysis.settings()?;
    if args.join && args.captures.iter().any(|path| path.as_os_str() == "-") {
        let line = "-: standard input cannot be joined with files: expected files only";
        return Err(Failure::Wrong(line.into()));
    }
    crate::commands::analyze::call::check(&args.captures)?;
    let output = Output::create(&args.output)?;
    interrupt::defer();
    let inferred = scenario_from(&args.captures, &settings, &RerunBar::new(false));
    if interrupt::stop_deferring() {
        interrupt::exit();
    }
    let inferred = inferred?;
    let first = args.captures.first();
    let capture = first.map_or(String::new(), |path| path.display().to_string());
    for note in &inferred.notes {
        console::note(format_args!("{}: {note}", display_name(&capture)));
    }
    let text = inferred.to_toml();
    output.write(|out| out.write_all(text.as_bytes()))
}
